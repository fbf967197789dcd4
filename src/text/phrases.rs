//! Set phrases, sentences and clauses: how the checks look for cue words without cutting words in two.
//!
//! Not here: which phrases mean what; those tables stand beside the checks that use them.

use std::ops::Range;

/// The first place of `phrase` in `folded` (see [`super::words::fold`]). A phrase that begins or ends with an ASCII
/// letter or digit must do so at a word's edge; CJK phrases are found anywhere.
pub fn find(folded: &str, phrase: &str) -> Option<Range<usize>> {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    let first = phrase.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let last = phrase.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
    folded
        .match_indices(phrase)
        .map(|(at, found)| at..at + found.len())
        .find(|range| (!first || edge(folded[..range.start].chars().next_back())) && (!last || edge(folded[range.end..].chars().next())))
}

/// The bytes that occur in a text: they rule most phrases out without a search.
struct Bytes([bool; 256]);

impl Bytes {
    fn of(text: &str) -> Self {
        let mut there = [false; 256];
        text.bytes().for_each(|byte| there[usize::from(byte)] = true);
        Self(there)
    }

    fn may_hold(&self, phrase: &str) -> bool {
        phrase.bytes().all(|byte| self.0[usize::from(byte)])
    }
}

/// Whether one of the phrases occurs.
pub fn has_any(folded: &str, phrases: &[&str]) -> bool {
    let bytes = Bytes::of(folded);
    phrases.iter().any(|phrase| bytes.may_hold(phrase) && find(folded, phrase).is_some())
}

/// How often the phrases occur, each found place counted once.
pub fn count(folded: &str, phrases: &[&str]) -> usize {
    let mut rest = folded.to_owned();
    let mut found = 0;
    let bytes = Bytes::of(folded);
    for phrase in phrases.iter().filter(|phrase| bytes.may_hold(phrase)) {
        while let Some(range) = find(&rest, phrase) {
            // A mark in its place keeps the neighbours apart and is never part of a phrase.
            rest.replace_range(range, "\u{0}");
            found += 1;
        }
    }
    found
}

/// The text without the phrases.
pub fn without(folded: &str, phrases: &[&str]) -> String {
    let mut rest = folded.to_owned();
    let mut bytes = Bytes::of(folded);
    bytes.0[usize::from(b' ')] = true; // stands where a phrase was
    for phrase in phrases.iter().filter(|phrase| bytes.may_hold(phrase)) {
        while let Some(range) = find(&rest, phrase) {
            rest.replace_range(range, " ");
        }
    }
    rest
}

/// A piece of a sentence with one thing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its words, folded.
    pub text: String,
    /// Whether its sentence ends with a question mark.
    pub question: bool,
}

/// Sentences of a text, trimmed, with their end mark. A full stop ends one only before a space or the end.
pub fn sentences(text: &str) -> Vec<&str> {
    cut(text, |c, next| matches!(c, '!' | '?' | '。' | '！' | '？' | '\n' | '…') || (c == '.' && next.is_none_or(char::is_whitespace)))
}

/// Words that begin a new clause, with the space before them.
const JOINTS: &[&str] = &[
    " but ",
    " because ",
    " which ",
    " since ",
    " while ",
    " although ",
    " though ",
    " so that ",
    " whereas ",
    "因为",
    "所以",
    "但是",
    "而不是",
    "，但",
    "ので",
    "から、",
    "けど",
    "지만",
    "때문에",
];

/// Clauses of a text: sentences cut at commas, colons, brackets, dashes with spaces, and at joints like "because".
pub fn clauses(text: &str) -> Vec<Clause> {
    let mut out = Vec::new();
    for sentence in sentences(text) {
        let question = sentence.ends_with(['?', '？']) && !proposes(sentence);
        let parts = cut(sentence, |c, next| {
            matches!(c, '，' | '；' | '：' | '（' | '）' | '(' | ')' | ';')
                || (c == ',' && next.is_none_or(|n| !n.is_ascii_digit()))
                || (c == ':' && next.is_none_or(char::is_whitespace))
        });
        for part in parts {
            let mut folded = super::words::fold(part);
            for joint in JOINTS {
                folded = folded.replace(joint, "\n");
            }
            folded = folded.replace(" - ", "\n");
            out.extend(
                folded
                    .split('\n')
                    .map(str::trim)
                    .filter(|t| t.chars().any(char::is_alphanumeric))
                    .map(|t| Clause { text: t.to_owned(), question }),
            );
        }
    }
    out
}

/// Questions that state or propose: "…, right?", "Can't we …?", 对吧？
fn proposes(sentence: &str) -> bool {
    const ENDS: &[&str] = &["right", "ok", "okay", "yes", "correct", "对吧", "是吧", "好吧", "好吗", "よね", "でしょ", "죠", "지"];
    const STARTS: &[&str] = &["can't we", "couldn't we", "shouldn't we", "why don't we", "how about we"];
    let folded = super::words::fold(sentence);
    let body = folded.trim_end_matches(['?', ' ']);
    STARTS.iter().any(|start| body.starts_with(start)) || ENDS.iter().any(|end| body.ends_with(end))
}

/// Pieces that end where `ends(character, the next one)` says, trimmed, without the empty ones.
fn cut(text: &str, ends: impl Fn(char, Option<char>) -> bool) -> Vec<&str> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if ends(c, chars.peek().map(|(_, next)| *next)) {
            let to = at + c.len_utf8();
            out.push(text[from..to].trim());
            from = to;
        }
    }
    out.push(text[from..].trim());
    out.retain(|piece| !piece.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_end_at_word_edges() {
        assert!(find("we do not know", "no").is_none());
        assert_eq!(find("no, we do", "no"), Some(0..2));
        assert_eq!(count("never, no, not now", &["never", "not", "no"]), 3);
        assert!(has_any("还是不用了", &["不用"]));
        assert_eq!(without("no problem, go", &["no problem"]).trim(), ", go");
    }

    #[test]
    fn texts_come_apart_at_sentences_and_clauses() {
        assert_eq!(sentences("Use v1.2. Really? 好的。走"), ["Use v1.2.", "Really?", "好的。", "走"]);
        let got: Vec<String> = clauses("Use pnpm, not npm: it is 1,000 times faster (really).").into_iter().map(|c| c.text).collect();
        assert_eq!(got, ["use pnpm,", "not npm:", "it is 1,000 times faster (", "really)"]);
        assert!(clauses("用吗？").iter().all(|c| c.question));
    }
}
