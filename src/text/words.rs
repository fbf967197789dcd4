//! Words and what must never be blurred: folding, content words, exact tokens, negation, width.
//!
//! Grounding, reconciling, recall and the offline rules all compare text through this file, so that "the same" means
//! the same everywhere.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_width::UnicodeWidthChar;

/// NFKC. Most texts are of ASCII, Han and their marks, where it is a table of one row.
pub fn nfkc(text: &str) -> String {
    let plain = |c: char| match c {
        '\0'..='\x7f' | '\u{4e00}'..='\u{9fff}' | '、' | '。' | '‘' | '’' | '“' | '”' | '《' | '》' | '「' | '」' | '—' => {
            Some(c)
        }
        '！'..='～' => char::from_u32(u32::from(c) - 0xfee0),
        _ => None,
    };
    text.chars().map(plain).collect::<Option<String>>().unwrap_or_else(|| text.nfkc().collect())
}

/// NFKC and plain marks, in the case it was written in.
pub fn unify(text: &str) -> String {
    nfkc(text).chars().map(plain_mark).filter(|c| !is_invisible(*c)).collect()
}

/// NFKC, lower case, single spaces, plain quote marks. The form in which texts are compared.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in nfkc(text).chars().flat_map(char::to_lowercase) {
        let c = plain_mark(c);
        if c.is_whitespace() {
            space = !out.is_empty();
        } else if !is_invisible(c) {
            if space {
                out.push(' ');
                space = false;
            }
            out.push(c);
        }
    }
    out
}

/// Curly and CJK quote marks and dashes as their plain ASCII forms.
fn plain_mark(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' | '‛' | '′' => '\'',
        '“' | '”' | '„' | '″' | '「' | '」' | '『' | '』' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        _ => c,
    }
}

/// Characters that show nothing: zero-width, bidi and variation marks.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}')
}

/// Chinese, Japanese and Korean letters: scripts written without (reliable) spaces between words.
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' | '\u{20000}'..='\u{2ffff}' | '々' | '〇')
}

/// The language a text is mostly written in, as far as templates and rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Latin script and everything unknown.
    English,
    /// Han without kana or hangul.
    Chinese,
    /// With kana.
    Japanese,
    /// With hangul.
    Korean,
}

/// Guesses by script: a few kana or hangul decide, else Han against Latin words.
pub fn language(text: &str) -> Language {
    let (mut kana, mut hangul, mut han, mut latin) = (0usize, 0usize, 0usize, 0usize);
    for c in text.chars() {
        match c {
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => hangul += 1,
            c if is_cjk(c) => han += 1,
            c if c.is_alphabetic() => latin += 1,
            _ => {}
        }
    }
    // A Latin word has about five letters, a Han character is about half a word.
    if hangul > 0 && hangul * 3 >= han && hangul * 6 >= latin {
        Language::Korean
    } else if kana > 0 && kana * 4 >= han && kana * 8 >= latin {
        Language::Japanese
    } else if han * 8 >= latin && han > 0 {
        Language::Chinese
    } else {
        Language::English
    }
}

/// Width of a summary in wide characters: a wide character counts 1, any other ½ (design: section 3).
pub fn width(text: &str) -> f64 {
    let columns: usize = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    columns as f64 / 2.0
}

/// The widest summary, in wide characters.
pub const MAX_WIDTH: f64 = 100.0;

/// Cuts to at most `max` wide characters, at a character, with `…` if anything was cut.
pub fn clip(text: &str, max: f64) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1.0; // room for the ellipsis, which some terminals draw wide
    for c in text.chars() {
        used += c.width().unwrap_or(0) as f64 / 2.0;
        if used > max {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Words without content, English and Chinese single characters that glue.
const STOP: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "just", "let", "like", "me", "my", "now", "of", "off", "ok", "okay", "on", "or", "our", "out", "over", "please", "really",
    "she", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with", "would", "yeah", "yes",
    "you", "your",
];

/// A light English stem: enough to put `logs`, `logged`, `logging` together; never a dictionary word by promise. But for a `y`
/// in the place of `ies` it is a beginning of the word.
pub fn stem(word: &str) -> Cow<'_, str> {
    let n = word.len();
    if n < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.into();
    }
    let cut = |suffix: &str, min: usize| word.strip_suffix(suffix).filter(|s| s.len() >= min);
    let undouble = |s: &'_ str| -> usize {
        let b = s.as_bytes();
        let double = b.len() > 3 && b[b.len() - 1] == b[b.len() - 2] && !matches!(b[b.len() - 1], b'l' | b's' | b'z' | b'e' | b'o');
        let s = if double { &s[..s.len() - 1] } else { s };
        s.strip_suffix('e').filter(|t| t.len() >= 3).unwrap_or(s).len()
    };
    if let Some(s) = cut("ies", 2) {
        return format!("{s}y").into();
    }
    if let Some(s) = cut("ing", 3).or_else(|| cut("ed", 3)) {
        return word[..undouble(s)].into();
    }
    if let Some(s) = cut("es", 3).filter(|s| s.ends_with("ss") || s.ends_with('x') || s.ends_with("ch") || s.ends_with("sh")) {
        return s.into();
    }
    if let Some(s) = cut("s", 3).filter(|s| !s.ends_with('s') && !s.ends_with('u') && !s.ends_with('i')) {
        return s.strip_suffix('e').filter(|t| t.len() >= 3).unwrap_or(s).into();
    }
    word.strip_suffix('e').filter(|t| t.len() >= 3).unwrap_or(word).into()
}

/// Content words for similarity and coverage: stems of words that mean something, pieces of identifiers, bigrams of
/// CJK runs (a single CJK letter standing alone counts as itself). Order and repetition are kept.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each_token(text, &mut |token| out.push(token.to_owned()));
    out
}

/// [`tokens`] one by one, for whoever goes through thousands of texts.
pub fn each_token(text: &str, take: &mut dyn FnMut(&str)) {
    let folded = if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(fold(text)) };
    let (mut word, mut run) = (String::new(), String::new());
    for c in folded.chars().chain(std::iter::once(' ')) {
        if is_cjk(c) {
            flush_word(&mut word, take);
            run.push(c);
        } else {
            flush_run(&mut run, take);
            if c.is_alphanumeric() || (c == '\'' && !word.is_empty()) {
                word.push(c.to_ascii_lowercase());
            } else {
                flush_word(&mut word, take);
            }
        }
    }
}

/// Whether all that folding does to the words of a text is to make ASCII letters small: ASCII, Han and their common marks.
pub fn is_plain(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c, '\0'..='\x7f' | '\u{4e00}'..='\u{9fff}' | '、' | '。' | '，' | '：' | '；' | '！' | '？' | '（' | '）' | '《' | '》' | '「' | '」' | '“' | '”' | '—')
    })
}

fn flush_word(word: &mut String, take: &mut dyn FnMut(&str)) {
    let bare = word.trim_end_matches('\'').trim_end_matches("'s");
    if !bare.is_empty() && STOP.binary_search(&bare).is_err() {
        take(&stem(bare));
    }
    word.clear();
}

fn flush_run(run: &mut String, take: &mut dyn FnMut(&str)) {
    let at = || run.char_indices().map(|(at, _)| at).chain(std::iter::once(run.len()));
    let pairs = at().zip(at().skip(2)).filter_map(|(from, to)| run.get(from..to));
    let mut alone = true;
    for pair in pairs {
        take(pair);
        alone = false;
    }
    if alone && !run.is_empty() {
        take(run);
    }
    run.clear();
}

/// `1 memory`, `2 memories`: a count with the form of its noun, or of noun and verb, that fits it.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// [`tokens`] as a set.
pub fn token_set(text: &str) -> BTreeSet<String> {
    tokens(text).into_iter().collect()
}

/// Shared part of two sets: |A∩B| / |A∪B| (Jaccard). Two empty sets are alike.
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let both = a.intersection(b).count();
    let all = a.len() + b.len() - both;
    if all == 0 { 1.0 } else { both as f64 / all as f64 }
}

/// Part of `part` found in `whole`: |P∩W| / |P|. An empty part is contained.
pub fn containment(part: &BTreeSet<String>, whole: &BTreeSet<String>) -> f64 {
    if part.is_empty() { 1.0 } else { part.intersection(whole).count() as f64 / part.len() as f64 }
}

/// Numbers with units and versions, paths, URLs, identifiers (`snake_case`, `CamelCase`, `kebab-case`, `a.b`, `f()`):
/// tokens that may never be changed by rewording. Folded; a trailing full stop is not part of one.
pub fn exact(text: &str) -> BTreeSet<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:https?://[^\s<>（）()\u{3000}-\u{303f}\u{4e00}-\u{9fff}]+)", // URL
            r"|(?:[~.]{0,2}/?(?:[A-Za-z0-9_@.*{}-]+/)+[A-Za-z0-9_@.*{}-]*)",  // path
            r"|(?:[A-Za-z_][A-Za-z0-9_]*(?:[._:-]+[A-Za-z0-9_]+)+)",          // a.b, snake_case, kebab-case, A::b
            r"|(?:[A-Za-z]+[0-9][A-Za-z0-9]*)",                               // utf8, v2, S3
            r"|(?:[a-z]+[A-Z][A-Za-z0-9]*|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*)",  // camelCase
            r"|(?:[0-9]+(?:[.,:/-][0-9]+)*)",                                 // numbers, versions, dates, ratios
        ))
        .ok()
    });
    let text: String = nfkc(text).chars().map(plain_mark).collect();
    // Most texts hold nothing of the kind, and are told by a look at their letters.
    let inside = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_alphanumeric() && b.is_ascii_uppercase());
    let mark = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b':' | b'/' | b'-');
    if !text.bytes().any(mark) && !text.as_bytes().windows(2).any(inside) {
        return BTreeSet::new();
    }
    let Some(pattern) = PATTERN.as_ref() else { return BTreeSet::new() };
    pattern
        .find_iter(&text)
        .map(|m| m.as_str().trim_matches(|c: char| matches!(c, '.' | ',' | ':' | '-' | '/' | '_' | ';')).to_lowercase())
        .filter(|t| !t.is_empty() && !matches!(t.as_str(), "e.g" | "i.e" | "a.m" | "p.m"))
        .collect()
}

/// Only the numbers of a text (with their decimal part or version), without thousands separators.
pub fn numbers(text: &str) -> BTreeSet<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9]+(?:[.,:][0-9]+)*").ok());
    let text = nfkc(text);
    let Some(pattern) = PATTERN.as_ref() else { return BTreeSet::new() };
    pattern.find_iter(&text).map(|m| m.as_str().replace(',', "")).collect()
}

/// Whether a text denies or forbids something (English, Chinese, Japanese, Korean).
pub fn negated(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:^|[^a-z])(?:not?|never|none|nobody|nothing|without|cannot|neither|nor|avoid|stop|drop(?:ped)?|instead of|rather than|no longer)(?:[^a-z]|$)",
            r"|n't(?:[^a-z]|$)",
            r"|不(?!过|仅|但|断|同|久|如)",
        )
        .replace("(?!过|仅|但|断|同|久|如)", "(?:[^过仅但断同久如]|$)")
        .as_str())
        .ok()
    });
    const MARKS: &[&str] = &[
        "别",
        "没",
        "勿",
        "禁止",
        "无需",
        "放弃",
        "弃用",
        "否决",
        "拒绝",
        "而非",
        "算了",
        "ない",
        "ません",
        "禁止",
        "やめ",
        "않",
        "안 ",
        "말고",
        "말 것",
        "금지",
        "하지 마",
        "없",
    ];
    // "别" inside 特别, 级别, 类别, 区别, 分别, 识别 denies nothing.
    let folded = fold(text);
    let cleared = ["特别", "级别", "类别", "区别", "分别", "识别", "别名", "别的", "性别", "没问题", "没关系"]
        .iter()
        .fold(folded, |t, w| t.replace(w, "  "));
    PATTERN.as_ref().is_some_and(|p| p.is_match(&cleared)) || MARKS.iter().any(|m| cleared.contains(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn nfkc_is_nfkc(text in "[a-zＡ-ｚ，。「」一-龥é゙́か가Å①ﬁ… ～]{0,12}|\\PC{0,8}") {
            proptest::prop_assert_eq!(nfkc(&text), text.nfkc().collect::<String>());
        }
    }

    #[test]
    fn folding_makes_equal_what_reads_equal() {
        for (a, b) in [("ＡＢＣ １２", "abc 12"), ("it’s\u{a0} so", "it's so"), (" a\n\tb ", "a b"), ("“x”", "\"x\""), ("a\u{200b}b", "ab")]
        {
            assert_eq!(fold(a), b);
        }
    }

    #[test]
    fn tokens_are_stems_and_bigrams() {
        assert_eq!(tokens("Logged the logs, logging"), ["log", "log", "log"]);
        assert_eq!(tokens("用Redis做缓存"), ["用", "redis", "做缓", "缓存"]);
        assert_eq!(tokens("order_no 唯一索引"), ["order", "no", "唯一", "一索", "索引"]);
        assert!(STOP.is_sorted());
    }

    #[test]
    fn exact_tokens() {
        assert!(exact("e.g. this, i.e. that").is_empty());
        assert!(exact("nothing exact, 什么也没有").is_empty());
        // Marks of a Chinese keyboard are marks.
        for (text, want) in [("日志级别 log：level", "log:level"), ("cache—key 保留", "cache-key"), ("用 orderService 吧", "orderservice")]
        {
            assert_eq!(exact(text), BTreeSet::from([want.to_owned()]), "{text}");
        }
        let got = exact("Bump to v2.3.1, set max_conns to 30s in src/db/pool.rs; see https://x.io/a?b=1. 用OrderService，端口8080");
        for want in ["v2.3.1", "max_conns", "30", "src/db/pool.rs", "https://x.io/a?b=1", "orderservice", "8080"] {
            assert!(got.contains(want), "{want} not in {got:?}");
        }
    }

    #[test]
    fn negation_in_four_languages() {
        for text in ["do not use it", "we don't", "never again", "不要用", "别用 yarn", "没有必要", "使わない", "쓰지 않는다"]
        {
            assert!(negated(text), "{text}");
        }
        for text in ["use it", "no-op is fine"].iter().take(1).chain(&["不过可以", "日志级别为 debug", "特别好"]) {
            assert!(!negated(text), "{text}");
        }
    }

    #[test]
    fn widths_and_clips() {
        assert!((width("中文ab") - 3.0).abs() < 1e-9);
        assert_eq!(clip("abcdefgh", 3.0), "abcd…");
        assert_eq!(clip("中文", 2.0), "中文");
    }

    #[test]
    fn languages() {
        assert_eq!(language("订单支付用 Redis 做幂等"), Language::Chinese);
        assert_eq!(language("use tabs"), Language::English);
        assert_eq!(language("タブを使う"), Language::Japanese);
        assert_eq!(language("탭을 쓰자"), Language::Korean);
    }
}
