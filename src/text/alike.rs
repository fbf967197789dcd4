//! When two texts make the same claim: only if nothing that matters differs. A merge loses an entry, so every doubt is a no.
//!
//! Same means: the same words in the end, whatever glue stands between them, with equal numbers, names, paths,
//! versions, dates and negations. Not here: memories, with their state and scope (`reconcile::duplicate`).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

use super::words::{exact, fold, is_cjk, jaccard, stem, token_set};
use super::{amounts, phrases, polarity};

/// Below this share of common words nothing is ever merged (design: section 4.5).
pub const LEAST_SIMILAR: f64 = 0.7;

/// Share of a tombstone's word hashes that a candidate must have to be the same claim.
const BURIED: f64 = 0.8;

/// Words that change nothing about what is claimed.
const FILLERS: &[&str] = &[
    "a", "all", "also", "an", "are", "be", "been", "i", "is", "it", "its", "just", "let", "my", "now", "ok", "our", "please", "really",
    "shall", "that", "the", "their", "these", "they", "this", "those", "us", "use", "very", "was", "we", "were", "will", "you", "your",
];

/// Chinese, Japanese and Korean letters that change nothing.
const GLUE: &str = "的了吧呢啊吗就都也还请要会将已被在是用に";

/// Words that give an order to what stands around them: with one of them, the whole order counts.
const DIRECTED: &[&str] = &[
    "from", "to", "into", "before", "after", "than", "over", "under", "by", "for", "not", "instead", "until", "then", "if", "when", "从",
    "到", "比", "给", "向", "对", "把", "为", "换成", "改成", "前", "后", "先", "再", "から", "まで", "より", "を", "が", "에서", "보다",
    "을", "를", "이", "가",
];

/// Whether two summaries make the same claim.
pub fn alike(a: &str, b: &str) -> bool {
    // The words alone rule most pairs out, at a tenth of the price.
    if key(a) != key(b) {
        return false;
    }
    let (x, y) = (Meaning::of(a), Meaning::of(b));
    x.exact == y.exact
        && x.numbers == y.numbers
        && x.denials == y.denials
        && (x.words == y.words || (x.free && y.free && x.fixed == y.fixed))
        && similarity(a, b) >= LEAST_SIMILAR
}

/// What two summaries must have in common to be [`alike`]: their words without fillers, sorted. Equal keys are no proof.
pub fn key(text: &str) -> String {
    let mut words = words_of(&fold(text));
    words.sort_unstable();
    words.join(" ")
}

/// Share of common content words, 0 to 1 (Jaccard over stems and CJK bigrams).
pub fn similarity(a: &str, b: &str) -> f64 {
    if fold(a) == fold(b) { 1.0 } else { jaccard(&token_set(a), &token_set(b)) }
}

/// What may not differ between two texts that say the same.
struct Meaning {
    /// Stems and CJK letters without fillers, in order.
    words: Vec<String>,
    exact: BTreeSet<String>,
    /// Digits in order, and numbers in words.
    numbers: (Vec<String>, BTreeSet<u64>),
    denials: usize,
    /// Names and numbers in their order.
    fixed: Vec<String>,
    /// Whether nothing in it depends on the order of the words.
    free: bool,
}

impl Meaning {
    fn of(text: &str) -> Self {
        let folded = fold(text);
        let denials = phrases::clauses(text).iter().map(|c| polarity::polarity(c).denials).sum();
        Self {
            words: words_of(&folded),
            exact: exact(text),
            numbers: (amounts::digits(text), amounts::counts(&folded)),
            denials,
            fixed: fixed_of(text),
            free: !phrases::has_any(&folded, DIRECTED),
        }
    }
}

fn words_of(folded: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    for c in folded.chars().chain(std::iter::once(' ')) {
        if c.is_alphanumeric() && !is_cjk(c) || c == '\'' && !word.is_empty() {
            word.push(c);
            continue;
        }
        let bare = word.trim_end_matches('\'');
        if !bare.is_empty() && FILLERS.binary_search(&&*stem(bare)).is_err() && FILLERS.binary_search(&bare).is_err() {
            out.push(stem(bare).into_owned());
        }
        word.clear();
        if is_cjk(c) && !GLUE.contains(c) {
            out.push(c.to_string());
        } else if matches!(c, '+' | '#' | '*' | '<' | '>' | '=' | '%' | '$' | '/' | '\\' | '&' | '@' | '~' | '^' | '|') {
            // C and C++, < and >, 5 and 5 %: marks that carry meaning.
            out.push(c.to_string());
        }
    }
    out
}

/// Words with a digit, a capital or an inner mark, in their order.
fn fixed_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || is_cjk(c) || matches!(c, ',' | '，' | '。' | ';' | '；'));
    let inner =
        |w: &str| w.trim_end_matches(['.', ':', '!']).chars().any(|c| c.is_ascii_digit() || c.is_uppercase() || "_-./:".contains(c));
    words.filter(|w| inner(w)).map(fold).collect()
}

/// Parts that differ between two mentions of one thing: homes, moments, uuids, long hashes.
static VOLATILE: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"(?:/users/|/home/|[a-z]:[\\/]users[\\/])[^/\\\s]+", "~"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
        (r"\b[0-9a-f]{32,64}\b", "<hash>"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?(?:z|[+-][0-9]{2}:?[0-9]{2})?)?", "<date>"),
    ]
    .into_iter()
    .filter_map(|(pattern, mark)| Some((Regex::new(pattern).ok()?, mark)))
    .collect()
});

/// The form that is hashed: folded, volatile parts replaced, without fillers.
fn normalised(summary: &str) -> String {
    let folded = VOLATILE.iter().fold(fold(summary), |text, (pattern, mark)| pattern.replace_all(&text, *mark).into_owned());
    words_of(&folded).join(" ")
}

/// A claim recognised without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// SHA-256 (hex) of the folded claim, volatile parts (homes, moments, uuids) replaced.
    pub hash: String,
    /// Short hashes (8 hex) of the content words, sorted.
    pub tokens: Vec<String>,
    /// Short hashes (8 hex) of numbers, names and paths, sorted.
    pub exact: Vec<String>,
}

impl Fingerprint {
    /// Of a summary.
    pub fn of(summary: &str) -> Self {
        let short = |set: BTreeSet<String>| -> Vec<String> {
            let hashes: BTreeSet<String> = set.iter().map(|t| hex(t).chars().take(8).collect()).collect();
            hashes.into_iter().collect()
        };
        Self { hash: hex(&normalised(summary)), tokens: short(token_set(summary)), exact: short(exact(summary)) }
    }

    /// Whether both are one claim: the same hash, or 80 % of the same words with the same exact tokens.
    pub fn is(&self, other: &Self) -> bool {
        let set = |tokens: &[String]| tokens.iter().cloned().collect::<BTreeSet<_>>();
        let close = || !self.tokens.is_empty() && self.exact == other.exact && jaccard(&set(&self.tokens), &set(&other.tokens)) >= BURIED;
        self.hash == other.hash || close()
    }
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_claim_in_other_glue() {
        for (a, b) in [
            ("Table names are plural.", "All table names are plural"),
            ("缓存过期时间统一 15 分钟。", "缓存的过期时间统一15分钟"),
            ("Timestamps are stored as UTC", "timestamps stored as UTC!"),
            ("Use “tabs” in Makefiles", "We use 'tabs' in Makefiles"),
        ] {
            assert!(alike(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn whatever_matters_keeps_them_apart() {
        for (a, b) in [
            ("Retry 3 times after 5 s", "Retry 5 times after 3 s"),
            ("The cache is Redis for sessions", "The cache is Valkey for sessions"),
            ("Move data from a to b", "Move data from b to a"),
            ("订单调用库存", "库存调用订单"),
            ("We use yarn for all scripts", "We do not use yarn for all scripts"),
            ("缓存三主三从", "缓存五主五从"),
            ("Write it in C", "Write it in C++"),
        ] {
            assert!(!alike(a, b), "{a} / {b}");
        }
    }
}
