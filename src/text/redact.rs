//! Redaction: secrets, mail addresses and phone numbers become `[REDACTED:kind]`, in every field, before anything
//! leaves the process or is stored.
//!
//! The rules are rows of `secrets.toml`; a new rule needs no code. A rule is tried only where one of its hints (plain
//! strings) occurs, and its pattern is compiled at its first use, so that a start costs nothing.
//! Not here: what counts as a value of a secret (`redact_value`).

use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde::Deserialize;

use crate::text::redact_value::{Shape, bare, looks_secret};

const RULES: &str = include_str!("secrets.toml");
const OPEN: &str = "[REDACTED:";

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The text, each secret replaced by `[REDACTED:kind]`.
    pub text: String,
    /// The kind (rule id) of every replacement, in the order of the rules.
    pub found: Vec<&'static str>,
}

/// One row of `secrets.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Kind, as shown in `[REDACTED:kind]`.
    id: String,
    /// What it finds, for readers of the table.
    #[cfg_attr(not(test), expect(dead_code, reason = "documentation inside the table, checked by a test"))]
    about: String,
    /// Strings one of which every match contains; letters match in either case.
    hints: Vec<String>,
    /// What is replaced: the first group if there is one, else the whole match.
    pattern: String,
    /// How the value must look beyond the pattern.
    #[serde(default)]
    shape: Shape,
    /// Examples in parts, so that no whole secret stands in the repository; read by the test.
    #[cfg_attr(not(test), expect(dead_code, reason = "cases of the test"))]
    positive: Vec<Vec<String>>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "cases of the test"))]
    negative: Vec<Vec<String>>,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

#[derive(Deserialize)]
struct Table {
    rule: Vec<Rule>,
}

/// The rules, and for each first byte (lower case) the hints that begin with it.
struct Rules {
    rules: Vec<Rule>,
    hints: Vec<Vec<(Vec<u8>, usize)>>,
}

static TABLE: LazyLock<Option<Rules>> = LazyLock::new(|| {
    let rules = toml::from_str::<Table>(RULES).ok()?.rule;
    let mut hints = vec![Vec::new(); 256];
    for (index, rule) in rules.iter().enumerate() {
        for hint in &rule.hints {
            let hint = hint.to_ascii_lowercase().into_bytes();
            if let Some(slot) = hint.first().and_then(|&first| hints.get_mut(usize::from(first))) {
                slot.push((hint, index));
            }
        }
    }
    Some(Rules { rules, hints })
});

/// Replaces every secret. Idempotent: what is redacted already stays as it is.
pub fn redact(text: &str) -> Redacted {
    // The table is part of the program and tested; were it unreadable all the same, nothing may get out.
    let Some(table) = TABLE.as_ref() else {
        return Redacted { text: format!("{OPEN}unreadable-rules]"), found: vec!["unreadable-rules"] };
    };
    let mut out = Redacted { text: text.to_owned(), found: Vec::new() };
    for rule in table.hinted(text) {
        if let Some(clean) = rule.apply(&out.text, &mut out.found) {
            out.text = clean;
        }
    }
    out
}

/// Whether [`redact`] would change the text.
pub fn has_secret(text: &str) -> bool {
    !redact(text).found.is_empty()
}

impl Rules {
    /// The rules of which a hint occurs in the text, in the order of the table.
    fn hinted(&'static self, text: &str) -> impl Iterator<Item = &'static Rule> {
        let bytes = text.as_bytes();
        let mut hit = vec![false; self.rules.len()];
        for (at, byte) in bytes.iter().enumerate() {
            for (hint, index) in self.hints.get(usize::from(byte.to_ascii_lowercase())).into_iter().flatten() {
                if !hit[*index] && bytes.get(at..at + hint.len()).is_some_and(|found| found.eq_ignore_ascii_case(hint)) {
                    hit[*index] = true;
                }
            }
        }
        self.rules.iter().zip(hit).filter_map(|(rule, hit)| hit.then_some(rule))
    }
}

impl Rule {
    /// The text without this rule's secrets; `None` if it has none.
    fn apply(&'static self, text: &str, found: &mut Vec<&'static str>) -> Option<String> {
        let Some(pattern) = self.compiled.get_or_init(|| compile(&self.pattern)) else {
            found.push(&self.id);
            return Some(format!("{OPEN}{}]", self.id));
        };
        let (mut out, mut copied, mut from) = (String::new(), 0, 0);
        while let Some(groups) = pattern.captures_at(text, from) {
            let Some(whole) = groups.get(0) else { break };
            let value = groups.iter().skip(1).flatten().next().unwrap_or(whole);
            // After a value that is harmless, look again right behind its beginning: `password: token=…`.
            let harmless = value.as_str().contains(OPEN) || inside_mark(text, value.start()) || !looks_secret(value.as_str(), self.shape);
            if harmless {
                from = next_char(text, value.start().max(whole.start()));
            } else {
                out.push_str(text.get(copied..value.start()).unwrap_or_default());
                out.extend([OPEN, &self.id, "]"]);
                found.push(&self.id);
                copied = if self.shape == Shape::Any { value.end() } else { value.start() + bare(value.as_str()).len() };
                from = copied.max(whole.start() + 1);
            }
            if from > text.len() {
                break;
            }
        }
        (copied > 0).then(|| out + text.get(copied..).unwrap_or_default())
    }
}

/// Patterns see word boundaries as ASCII does: in `密钥是sk-…` the key begins a word.
fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).ok()
}

/// Whether a position lies inside an earlier `[REDACTED:…]`; a mark is short, so a short look back is enough.
fn inside_mark(text: &str, at: usize) -> bool {
    let from = (at.saturating_sub(64)..=at).find(|&i| text.is_char_boundary(i)).unwrap_or(at);
    let before = text.get(from..at).unwrap_or_default();
    before.rfind(OPEN).is_some_and(|start| !before.get(start..).unwrap_or_default().contains(']'))
}

/// The next character boundary behind `at`.
fn next_char(text: &str, at: usize) -> usize {
    (at + 1..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table() -> &'static Rules {
        TABLE.as_ref().expect("secrets.toml parses")
    }

    #[test]
    fn every_rule_is_well_formed() {
        let mut ids: Vec<_> = table().rules.iter().map(|r| r.id.as_str()).collect();
        assert!(ids.len() >= 25);
        for rule in &table().rules {
            assert!(compile(&rule.pattern).is_some(), "{}: the pattern compiles", rule.id);
            assert!(!rule.about.is_empty() && !rule.hints.is_empty() && !rule.positive.is_empty(), "{}", rule.id);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), table().rules.len(), "ids are unique");
    }

    /// All cases that go wrong, so that one run of the tests shows them all.
    fn wrong(cases: impl Fn(&'static Rule) -> &'static [Vec<String>], judge: impl Fn(&Rule, &str, &Redacted) -> bool) -> Vec<String> {
        let each = table().rules.iter().flat_map(|rule| cases(rule).iter().map(move |parts| (rule, parts.concat())));
        each.filter_map(|(rule, case)| {
            let got = redact(&case);
            (!judge(rule, &case, &got)).then(|| format!("{}: {case} gave {} {:?}", rule.id, got.text, got.found))
        })
        .collect()
    }

    #[test]
    fn every_positive_case_is_redacted() {
        let wrong = wrong(|rule| &rule.positive, |rule, _, got| got.found == [rule.id.as_str()] && redact(&got.text).found.is_empty());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_negative_case_survives() {
        let wrong = wrong(|rule| &rule.negative, |_, case, got| got.text == case);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    proptest! {
        #[test]
        fn redacting_twice_is_redacting_once(text in "(?:password|token|api_key|密码|sk-|AKIA|://u:|@|\\[REDACTED:|\\]|[=: ]|是|[a-zA-Z0-9!]{1,12}|\\PC){0,24}") {
            let once = redact(&text).text;
            prop_assert_eq!(&redact(&once).text, &once);
        }

        #[test]
        fn never_panics(text in any::<String>()) {
            redact(&text);
        }
    }
}
