//! Terms: what a search index is made of, and what a query asks for. Any text in, the same terms in the index and in the query.
//!
//! English words without function words, by stem (`stems`); identifiers split and whole, whatever their spelling
//! (`order_no`, `orderNo`); versions whole; Chinese, Japanese and Korean as single characters and overlapping pairs, which
//! needs no dictionary and still finds words of two characters. Not here: weights and ranks (`recall::search`).

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::stems;
use super::words::{is_cjk, is_invisible, nfkc};

/// English function words: they carry no topic.
static STOP: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a an the and or but if then else of at by for with about against between into through during before after above below \
     to from up down in out on off over under again further once here there all any both each few more most other some such \
     no nor not only own same so than too very can will just don dont should now i me my myself we our ours ourselves you \
     your yours yourself he him his himself she her hers herself it its itself they them their theirs themselves this that \
     these those am is are was were be been being have has had having do does did doing would could shall may might must \
     ought what which who whom whose when where why how ive im id ill youre hes shes theyre isnt arent wasnt werent didnt \
     doesnt wont cant couldnt shouldnt wouldnt also as because until while let us"
        .split_whitespace()
        .collect()
});

/// Chinese characters that ask or glue: a query term made of nothing else says nothing.
static GLUE: LazyLock<HashSet<char>> = LazyLock::new(|| {
    "我你您他她它们咱的地得了着吗呢吧啊呀哦嘛是在过和跟与及给有没什么哪谁怎样为因何几多少曾经还记这那个一些某不也都就又再才到从\
     向对把被让请问说道叫关于或而且但如果时候之其所以于来去会能可要想上下里中后前最很第"
        .chars()
        .collect()
});

/// Chinese characters that are never inside a word worth a pair.
static APART: LazyLock<HashSet<char>> =
    LazyLock::new(|| "我你您他她它咱们的了着吗呢吧啊呀哦嘛么这那哪些谁怎把被给跟与及或而且".chars().collect());

/// Whether an English word (lower case) is a function word.
pub fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

/// Whether a term is of Chinese, Japanese or Korean characters.
pub fn is_cjk_term(term: &str) -> bool {
    term.chars().next().is_some_and(is_cjk)
}

/// One piece of a text, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// A word in lower case, as written.
    Word(String),
    /// A run without spaces between its words.
    Run(Vec<char>),
    /// A part of an identifier, or an identifier as a whole: beside the words, not among them.
    Extra(String),
}

/// What a text says, as the index keeps it: terms in order, function words left out, extra forms of identifiers at the end.
pub fn of_text(text: &str) -> Vec<String> {
    let (mut out, mut extra) = (Vec::new(), Vec::new());
    for piece in pieces(text) {
        match piece {
            Piece::Word(word) | Piece::Extra(word) if is_stop(&word) => {}
            Piece::Word(word) => out.push(stems::stem(&word)),
            Piece::Run(run) => run_terms(&run, &mut out),
            Piece::Extra(word) => extra.push(stems::stem(&word)),
        }
    }
    out.extend(extra);
    out
}

/// A term and its weight.
pub type Weighted = (String, f64);

/// What a text asks for: each term once, with its weight (1; less for a single character and for parts of identifiers).
/// Chinese function characters are left out, and only if nothing else remains they are all that is asked.
pub fn of_query(text: &str) -> Vec<Weighted> {
    let (mut terms, mut glue): (Vec<Weighted>, Vec<Weighted>) = (Vec::new(), Vec::new());
    for piece in pieces(text) {
        match piece {
            Piece::Word(word) => add(if is_stop(&word) { &mut glue } else { &mut terms }, stems::stem(&word), 1.0),
            Piece::Extra(word) if !is_stop(&word) => add(&mut terms, stems::stem(&word), 0.5),
            Piece::Extra(_) => {}
            Piece::Run(run) => {
                let mut all = Vec::new();
                run_terms(&run, &mut all);
                for term in all {
                    let letters: Vec<char> = term.chars().collect();
                    let weight = if letters.len() == 1 { 0.5 } else { 1.0 };
                    add(if says_nothing(&letters) { &mut glue } else { &mut terms }, term, weight);
                }
            }
        }
    }
    if terms.is_empty() { glue } else { terms }
}

/// The words of a text in lower case, as written, function words included: for names and set phrases.
pub fn plain_words(text: &str) -> Vec<String> {
    let word = |piece| match piece {
        Piece::Word(word) => Some(word),
        _ => None,
    };
    pieces(text).into_iter().filter_map(word).collect()
}

/// Whether a text has Chinese, Japanese or Korean characters.
pub fn has_cjk(text: &str) -> bool {
    text.chars().any(is_cjk)
}

fn add(list: &mut Vec<Weighted>, term: String, weight: f64) {
    match list.iter_mut().find(|(t, _)| *t == term) {
        Some((_, old)) => *old = old.max(weight),
        None => list.push((term, weight)),
    }
}

fn says_nothing(letters: &[char]) -> bool {
    let kana = |c: &char| matches!(c, '\u{3040}'..='\u{309f}');
    letters.iter().all(|c| GLUE.contains(c) || kana(c)) || (letters.len() == 2 && letters.iter().any(|c| APART.contains(c)))
}

/// Characters, then overlapping pairs, of a run.
fn run_terms(run: &[char], out: &mut Vec<String>) {
    out.extend(run.iter().map(char::to_string));
    out.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// NFKC; marks taken off Latin letters (`café` is `cafe`), not off kana, whose marks make other letters.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in nfkc(text).chars() {
        match c {
            c if c.is_ascii() || is_cjk(c) => out.push(c),
            '’' | '‘' | 'ʼ' => out.push('\''),
            c if is_invisible(c) => {}
            c => out.extend(std::iter::once(c).nfd().filter(|d| !is_combining_mark(*d))),
        }
    }
    out
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let (mut chunk, mut run) = (Vec::new(), Vec::new());
    for c in normal(text).chars().chain(std::iter::once(' ')) {
        if is_cjk(c) {
            split_chunk(&mut chunk, &mut out);
            run.push(c);
            continue;
        }
        if !run.is_empty() {
            out.push(Piece::Run(std::mem::take(&mut run)));
        }
        if c.is_alphanumeric() || matches!(c, '_' | '\'' | '.' | '+' | '#') {
            chunk.push(c);
        } else {
            split_chunk(&mut chunk, &mut out);
        }
    }
    out
}

/// Takes apart what stands between blanks and marks: `order_no`, `OrderService`, `v2.3.1`, `don't`, `C++`.
fn split_chunk(chunk: &mut Vec<char>, out: &mut Vec<Piece>) {
    if chunk.is_empty() {
        return;
    }
    let chunk = std::mem::take(chunk);
    let lower = |letters: &[char]| letters.iter().flat_map(|c| c.to_lowercase()).collect::<String>();
    let version: &[char] = match chunk.as_slice() {
        [v, d, ..] if matches!(v, 'v' | 'V') && d.is_ascii_digit() => &chunk[1..],
        all => all,
    };
    let end = version.iter().rposition(|c| c.is_alphanumeric()).map_or(0, |at| at + 1);
    let version = &version[..end];
    if version.contains(&'.') && version.first().is_some_and(char::is_ascii_digit) && !version.contains(&'_') {
        out.push(Piece::Extra(lower(version)));
    }
    for part in chunk.split(|c| matches!(c, '.' | '+' | '#')).filter(|p| p.iter().any(|c| c.is_alphanumeric())) {
        let words: Vec<&[char]> = part.split(|c| *c == '_').filter(|w| !w.is_empty()).collect();
        for word in &words {
            split_word(word, out);
        }
        if words.len() > 1 {
            out.push(Piece::Extra(words.iter().map(|w| lower(w)).collect()));
        }
    }
    // C++, C#, F#: a language, not a letter.
    let letters = chunk.iter().position(|c| !c.is_alphanumeric()).unwrap_or(chunk.len());
    if (1..=2).contains(&letters) && matches!(chunk.get(letters..), Some(['+', '+'] | ['#'])) {
        out.push(Piece::Extra(lower(&chunk)));
    }
}

/// A word without marks but the apostrophe; `OrderService` is a word and two parts.
fn split_word(word: &[char], out: &mut Vec<Piece>) {
    let bare: String = word.iter().collect();
    let bare = bare.trim_matches('\'').to_lowercase();
    let plain = match bare.split_once('\'') {
        None => bare,
        Some((head, "s" | "d" | "ll" | "m" | "re" | "ve")) => head.to_owned(),
        Some(_) => bare.replace('\'', ""),
    };
    if plain.is_empty() {
        return;
    }
    out.push(Piece::Word(plain));
    let mut parts: Vec<String> = vec![String::new()];
    for (i, c) in word.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|at| word.get(at));
        let next_lower = word.get(i + 1).is_some_and(|n| n.is_lowercase());
        // fooBar breaks before B, HTTPServer before S.
        let breaks = c.is_uppercase() && before.is_some_and(|b| b.is_lowercase() || (b.is_uppercase() && next_lower));
        if breaks {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
    }
    if parts.len() > 1 {
        out.extend(parts.into_iter().filter(|p| p.chars().count() > 1).map(Piece::Extra));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> String {
        of_text(text).join(" ")
    }

    #[test]
    fn words_identifiers_and_characters() {
        for (text, wanted) in [
            ("The children went running", "child go run"),
            ("用Redis做缓存", "用 redi 做 缓 存 做缓 缓存"),
            ("order_no and orderNo", "order orderno orderno order"),
            ("HTTPServer", "httpserver http server"),
            ("src/db/pool.rs", "src db pool rs"),
            ("v2.3.1.", "v2 3 1 2.3.1"),
            ("C++ or C#", "c c c++ c#"),
            ("Café ＡＢＣ", "cafe abc"),
            ("it's John's, don't", "john"),
            ("が か", "が か"),
            ("", ""),
        ] {
            assert_eq!(terms(text), wanted, "{text}");
        }
    }

    #[test]
    fn queries_leave_out_what_says_nothing() {
        let asked = |text: &str| of_query(text).into_iter().map(|(t, w)| format!("{t}:{w}")).collect::<Vec<_>>().join(" ");
        assert_eq!(asked("我们的缓存是什么？"), "缓:0.5 存:0.5 缓存:1 存是:1");
        assert_eq!(asked("什么"), "什:0.5 么:0.5 什么:1");
        assert_eq!(asked("where is it"), "where:1 is:1 it:1");
    }
}
