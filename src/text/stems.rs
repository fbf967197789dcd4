//! English stems for search: irregular forms first (`went` is `go`), then the Porter2 rules.
//!
//! Source of the rules: M. Porter, "The English (Porter2) stemming algorithm", snowballstem.org. Stems are keys, not words:
//! nothing is shown to people. The light stem that compares claims is `words::stem`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One line per word: its base, then its irregular forms.
const FORMS: &str = "go went gone|buy bought|run ran|meet met|eat ate eaten|see saw seen|take took taken|give gave given|get got gotten|\
make made|find found|think thought|teach taught|catch caught|bring brought|fight fought|feel felt|keep kept|leave left|lose lost|\
send sent|spend spent|build built|sell sold|tell told|say said|lead led|win won|begin began begun|swim swam swum|sing sang sung|\
drink drank drunk|ring rang rung|drive drove driven|ride rode ridden|write wrote written|rise rose risen|choose chose chosen|\
break broke broken|speak spoke spoken|wake woke woken|steal stole stolen|freeze froze frozen|wear wore worn|tear tore torn|\
fly flew flown|grow grew grown|know knew known|throw threw thrown|draw drew drawn|blow blew blown|fall fell fallen|\
forget forgot forgotten|hide hid hidden|bite bit bitten|come came|become became|sit sat|stand stood|understand understood|hold held|\
hear heard|sleep slept|sweep swept|deal dealt|mean meant|dream dreamt|learn learnt|burn burnt|lend lent|bend bent|pay paid|lay laid|\
shoot shot|shine shone|hang hung|dig dug|stick stuck|strike struck|swing swung|feed fed|breed bred|bleed bled|slide slid|\
child children|person people|man men|woman women|foot feet|tooth teeth|mouse mice|goose geese|wife wives|knife knives|leaf leaves|\
half halves|big bigger biggest|good better best|bad worse worst|rebuild rebuilt|overwrite overwrote overwritten|\
rewrite rewrote rewritten|withdraw withdrew withdrawn|index indices|matrix matrices|vertex vertices|schema schemata";

static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    FORMS
        .split('|')
        .flat_map(|line| {
            let mut words = line.split_whitespace();
            let base = words.next().unwrap_or_default();
            words.map(move |form| (form, base))
        })
        .collect()
});

/// Words that the rules would take for other words.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that stop after the plural step.
const KEPT: &[&str] = &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

/// The stem of a word in lower case; a word that is not plain English letters is its own stem.
pub fn stem(word: &str) -> String {
    let word = IRREGULAR.get(word).copied().unwrap_or(word);
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(w, _)| *w == word) {
        return (*stem).to_owned();
    }
    let mut w = Word::new(word);
    w.plural();
    if KEPT.contains(&w.text().as_str()) {
        return w.text();
    }
    w.past();
    w.final_y();
    w.replace(STEP2);
    w.replace(STEP3);
    w.residual();
    w.final_e();
    w.text().to_lowercase()
}

/// Suffix, what replaces it. Longest first within an ending.
const STEP2: &[(&str, &str)] = &[
    ("ization", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];

const STEP3: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ative", ""),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const STEP4: &[&str] =
    &["ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "al", "er", "ic"];

/// A word on its way to its stem; `Y` is a y that counts as a consonant.
struct Word {
    b: Vec<u8>,
    r1: usize,
    r2: usize,
}

fn vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Word {
    fn new(word: &str) -> Self {
        let mut b = word.as_bytes().to_vec();
        for i in 0..b.len() {
            if b[i] == b'y' && (i == 0 || vowel(b[i - 1])) {
                b[i] = b'Y';
            }
        }
        let region = |from: usize| {
            let after = |i: &usize| vowel(b[*i]) && b.get(i + 1).is_some_and(|n| !vowel(*n));
            (from..b.len()).find(after).map_or(b.len(), |i| i + 2)
        };
        let head = ["gener", "commun", "arsen"].iter().find(|h| word.starts_with(**h));
        let r1 = head.map_or_else(|| region(0), |h| h.len());
        let r2 = region(r1);
        Self { b, r1, r2 }
    }

    fn text(&self) -> String {
        self.b.iter().map(|b| char::from(*b)).collect()
    }

    fn ends(&self, suffix: &str) -> bool {
        self.b.ends_with(suffix.as_bytes())
    }

    /// Length without a suffix that it ends with.
    fn without(&self, suffix: &str) -> usize {
        self.b.len() - suffix.len()
    }

    fn has_vowel(&self, end: usize) -> bool {
        self.b.iter().take(end).any(|b| vowel(*b))
    }

    fn put(&mut self, keep: usize, tail: &str) {
        self.b.truncate(keep);
        self.b.extend_from_slice(tail.as_bytes());
    }

    /// A vowel between consonants at the end (not before w, x, Y), or a vowel and a consonant that are the whole word.
    fn short_syllable(&self, end: usize) -> bool {
        match self.b.get(..end) {
            Some([a, c]) => vowel(*a) && !vowel(*c),
            Some([.., x, v, c]) => !vowel(*x) && vowel(*v) && !vowel(*c) && !matches!(c, b'w' | b'x' | b'Y'),
            _ => false,
        }
    }

    fn plural(&mut self) {
        if self.ends("sses") {
            self.put(self.without("es"), "");
        } else if self.ends("ied") || self.ends("ies") {
            let keep = self.b.len() - 3;
            self.put(keep, if keep > 1 { "i" } else { "ie" });
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") && self.b.len() > 2 && self.has_vowel(self.b.len() - 2) {
            self.put(self.without("s"), "");
        }
    }

    fn past(&mut self) {
        if let Some(suffix) = ["eedly", "eed"].iter().find(|s| self.ends(s)) {
            if self.without(suffix) >= self.r1 {
                self.put(self.without(suffix), "ee");
            }
            return;
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"].iter().find(|s| self.ends(s)) else { return };
        let keep = self.without(suffix);
        if !self.has_vowel(keep) {
            return;
        }
        self.put(keep, "");
        let doubled = matches!(self.b.as_slice(), [.., x, y] if x == y && b"bdfgmnprt".contains(x));
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.put(keep, "e");
        } else if doubled {
            self.b.pop();
        } else if self.r1 >= self.b.len() && self.short_syllable(self.b.len()) {
            self.put(keep, "e");
        }
    }

    fn final_y(&mut self) {
        if let [_, .., x, y @ (b'y' | b'Y')] = self.b.as_mut_slice()
            && !vowel(*x)
        {
            *y = b'i';
        }
    }

    /// The longest suffix of a table decides, if it stands in R1 (and `ative` in R2).
    fn replace(&mut self, table: &[(&str, &str)]) {
        let Some((suffix, tail)) = table.iter().find(|(s, _)| self.ends(s)) else { return };
        let keep = self.without(suffix);
        let before = keep.checked_sub(1).and_then(|i| self.b.get(i)).copied().unwrap_or(b' ');
        let fits = match *suffix {
            "ogi" => before == b'l',
            "li" => b"cdeghkmnrt".contains(&before),
            "ative" => keep >= self.r2,
            _ => true,
        };
        if keep >= self.r1 && fits {
            self.put(keep, tail);
        }
    }

    fn residual(&mut self) {
        let Some(suffix) = STEP4.iter().find(|s| self.ends(s)) else { return };
        let keep = self.without(suffix);
        let before = keep.checked_sub(1).and_then(|i| self.b.get(i)).copied().unwrap_or(b' ');
        if keep >= self.r2 && (*suffix != "ion" || matches!(before, b's' | b't')) {
            self.put(keep, "");
        }
    }

    fn final_e(&mut self) {
        let Some(last) = self.b.last().copied() else { return };
        let keep = self.b.len() - 1;
        let drop = match last {
            b'e' => keep >= self.r2 || (keep >= self.r1 && !self.short_syllable(keep)),
            b'l' => keep >= self.r2 && self.b.get(keep.wrapping_sub(1)) == Some(&b'l'),
            _ => false,
        };
        if drop {
            self.put(keep, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_share_a_stem() {
        for group in [
            "deploy deploys deployed deploying",
            "cache caches cached caching",
            "retry retries retried retrying",
            "configuration configurations configure configured",
            "run runs running ran",
            "index indexes indices indexing indexed",
            "write writes writing wrote written",
            "good better best",
            "test tests testing tested",
            "database databases",
            "migrate migrates migration migrations migrating",
        ] {
            let stems: std::collections::BTreeSet<String> = group.split(' ').map(stem).collect();
            assert_eq!(stems.len(), 1, "{group}: {stems:?}");
        }
    }

    #[test]
    fn known_stems() {
        for (word, wanted) in [
            ("generously", "generous"),
            ("happiness", "happi"),
            ("national", "nation"),
            ("relational", "relat"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("ties", "tie"),
            ("cries", "cri"),
            ("gas", "gas"),
            ("kiwis", "kiwi"),
            ("consistently", "consist"),
            ("controlled", "control"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("say", "say"),
            ("by", "by"),
            ("cry", "cri"),
            ("conditional", "condit"),
            ("electricity", "electr"),
            ("probate", "probat"),
            ("adoption", "adopt"),
            ("redis", "redi"),
            ("os", "os"),
            ("v2", "v2"),
            ("naïve", "naïve"),
        ] {
            assert_eq!(stem(word), wanted, "{word}");
        }
    }
}
