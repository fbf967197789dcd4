//! `E_NUMBER`: every number, version, path, address, identifier and name of the claim was said near the quotes.
//!
//! Hard tokens (numbers, paths, `snake_case`, `CamelCase`, versions) that nobody said drop the candidate. Soft ones (a name
//! with a capital, a Latin word in CJK text, a hyphenated word) may be a paraphrase, so they only raise a doubt.

use std::collections::BTreeSet;

use jiff::ToSpan;
use jiff::civil::Date;

use super::cues::RELATIVE_DAYS;
use super::{Draft, Finding, Scene};
use crate::model::Code;
use crate::text::phrases::has_any;
use crate::text::words::{Language, exact, fold, is_cjk, language, stem, token_set};
use crate::text::{amounts, phrases};

/// A resolved date lies within this many days of the conversation.
const NEAR_DAYS: i32 = 200;

/// A bare year may be the next or the last one only this close to its turn.
const YEAR_DAYS: i32 = 62;

/// Turns around the quotes in which a number must stand, and a name: an object is named once and then meant.
const NUMBER_REACH: usize = 1;
const NAME_REACH: usize = 2;

/// Turns around the quotes in which a word of time may stand: "until Friday" often comes two turns after the plan.
const TIME_REACH: usize = 3;

/// First parts of hyphenated words that are grammar, not names.
const PREFIXES: &[&str] = &[
    "re", "pre", "un", "non", "in", "de", "co", "anti", "auto", "multi", "semi", "sub", "self", "post", "cross", "follow", "so", "well",
    "all", "one", "two", "mid", "end", "per", "opt", "back", "over", "up", "on", "off", "long", "short", "first", "third", "full", "high",
    "low", "built", "ad", "user", "team",
];

/// Last parts of hyphenated words that are grammar, not names.
const SUFFIXES: &[&str] = &[
    "side",
    "only",
    "based",
    "free",
    "level",
    "facing",
    "term",
    "time",
    "wide",
    "safe",
    "specific",
    "like",
    "style",
    "off",
    "up",
    "in",
    "out",
    "first",
    "on",
    "by",
    "to",
    "case",
    "related",
    "ready",
    "new",
    "existing",
    "sensitive",
    "friendly",
    "through",
    "party",
    "house",
    "driven",
    "line",
];

/// Checks summary and reason against the quoted turns, their neighbours and the memories pointed to.
pub(super) fn were_said(draft: &mut Draft, scene: &Scene) -> Finding {
    let claim = without_redactions(&draft.claim());
    let pointed = scene.pointed(draft);
    let around = |reach| format!("{}\n{pointed}", scene.sheet.window(&draft.evidence, reach));
    let talk = Talk::of(&around(NUMBER_REACH), &around(NAME_REACH), &around(TIME_REACH), scene.context.day);
    let hard = exact(&claim).into_iter().filter(|token| !talk.said(token)).collect::<Vec<_>>();
    if let Some(token) = hard.iter().find(|token| is_hard(token)) {
        draft.note(Code::ENumber, format!("{token:?} was not said"));
        return Finding::Refuse(Code::ENumber);
    }
    let Some(token) = hard.into_iter().chain(names(&claim)).find(|token| !talk.said_loosely(token)) else { return Finding::Fine };
    draft.note(Code::ENumber, format!("{token:?} was not said"));
    Finding::Doubt(Code::ENumber)
}

/// A claim without the marks of redaction, which nobody says.
fn without_redactions(claim: &str) -> String {
    let mut parts = claim.split("[REDACTED");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(']').map_or(part, |(_, rest)| rest))
}

/// What was said near the quotes, prepared for look-ups.
struct Talk<'a> {
    exact: BTreeSet<String>,
    numbers: BTreeSet<String>,
    stems: BTreeSet<String>,
    /// Runs of letters and digits, for tokens too short to be looked for inside others.
    runs: BTreeSet<String>,
    /// Letters and digits only: `session-end`, `SessionEnd` and "session end" are one.
    squashed: String,
    /// Words of time in the wider window.
    timed: bool,
    day: &'a str,
}

impl<'a> Talk<'a> {
    fn of(near: &str, around: &str, wide: &str, day: &'a str) -> Self {
        let folded = fold(around);
        let runs = folded.split(|c: char| !c.is_alphanumeric() || is_cjk(c)).filter(|r| !r.is_empty());
        Self {
            numbers: amounts::said(near).into_iter().chain(exact(near).into_iter().filter(|t| is_number(t))).collect(),
            exact: exact(around).iter().map(|t| bare(t)).filter(|t| !is_number(t)).map(str::to_owned).collect(),
            stems: token_set(around),
            runs: runs.map(str::to_owned).collect(),
            squashed: squash(around),
            timed: has_time(wide),
            day,
        }
    }

    /// Whether an exact token was said, in any spelling.
    fn said(&self, token: &str) -> bool {
        let token = bare(token);
        if self.exact.contains(token) {
            return true;
        }
        if is_number(token) {
            return self.said_number(token);
        }
        let squashed = squash(token);
        // A short token could stand inside any word.
        self.runs.contains(&squashed) || (squashed.chars().count() >= 4 && self.squashed.contains(&squashed))
    }

    fn said_number(&self, token: &str) -> bool {
        let plain = token.replace(',', "");
        let short = plain.trim_start_matches('0');
        if self.numbers.contains(&plain) || self.numbers.contains(if short.is_empty() { "0" } else { short }) {
            return true;
        }
        if self.resolved(&plain) {
            return true;
        }
        // 3/4, 10-20, 16:30: said if each part was said.
        let parts: Vec<&str> = plain.split([':', '/', '-']).collect();
        parts.len() > 1 && !plain.contains('.') && is_day(&plain).is_none() && parts.iter().all(|part| self.said_number(part))
    }

    /// A date worked out from a word of time ("Friday", 月底): a real day near the conversation. Also its year or month.
    fn resolved(&self, token: &str) -> bool {
        // The day of the conversation itself is no invention.
        if token == self.day {
            return true;
        }
        if !self.timed {
            return false;
        }
        let Ok(today) = self.day.parse::<Date>() else { return false };
        let years = [-YEAR_DAYS, 0, YEAR_DAYS].map(|days| today.saturating_add(days.days()).year());
        if token.len() == 4 && token.parse::<i16>().is_ok_and(|year| years.contains(&year)) {
            return true;
        }
        let day = is_day(token).or_else(|| is_day(&format!("{token}-01"))).or_else(|| is_day(&format!("{}-{token}", today.year())));
        day.is_some_and(|day| (day - today).get_days().abs() <= NEAR_DAYS)
    }

    /// Whether a name or hyphenated word was said, in parts or in another form.
    fn said_loosely(&self, token: &str) -> bool {
        let token = bare(token);
        let folded = fold(token);
        if self.said(token) || self.squashed.contains(&squash(token)) || (self.timed && RELATIVE_DAYS.contains(&folded.as_str())) {
            return true;
        }
        let parts: Vec<&str> = folded.split(|c: char| !c.is_alphanumeric()).filter(|p| !p.is_empty()).collect();
        let grammar = parts.first().is_some_and(|p| PREFIXES.contains(p)) || parts.last().is_some_and(|p| SUFFIXES.contains(p));
        let known = |part: &&str| {
            let stem = stem(part);
            self.stems.contains(stem.as_ref())
                || stem.get(..4).is_some_and(|head| self.stems.range(head.to_owned()..).next().is_some_and(|s| s.starts_with(head)))
        };
        (parts.len() > 1 && grammar) || parts.iter().all(known)
    }
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit()) && token.chars().all(|c| c.is_ascii_digit() || ".,:/-".contains(c))
}

/// Without the `v` of a version and the `~/` of a path.
fn bare(token: &str) -> &str {
    let token = token.strip_prefix("~/").unwrap_or(token);
    match token.strip_prefix('v') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => token,
    }
}

fn squash(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

fn is_day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// Whether a text holds a word of time.
pub(super) fn has_time(text: &str) -> bool {
    let folded = fold(text);
    // "the 8th", "1st": the ending stands behind a digit, which is no word's edge.
    let ordinal = ["1st", "2nd", "3rd"].iter().any(|o| folded.contains(o))
        || folded.match_indices("th").any(|(at, _)| folded[..at].ends_with(|c: char| c.is_ascii_digit()));
    ordinal || has_any(&folded, RELATIVE_DAYS) || exact(text).iter().any(|t| is_day(t).is_some())
}

/// Tokens that no paraphrase changes: with digits, `_`, an extension, two slashes, a leading slash, an inner capital.
fn is_hard(token: &str) -> bool {
    let letters_and = |allowed: &str| token.chars().all(|c| c.is_alphabetic() || allowed.contains(c));
    !(letters_and("-") && token.contains('-') || letters_and("-/") && token.matches('/').count() == 1 && !token.starts_with('/'))
}

/// Names: capitalised words inside an English sentence, Latin words in CJK text. Acronyms are spelt as people like.
fn names(claim: &str) -> Vec<String> {
    let cjk = language(claim) != Language::English;
    let mut out = Vec::new();
    for sentence in phrases::sentences(claim) {
        let words = sentence.split(|c: char| !(c.is_alphanumeric() && !is_cjk(c) || c == '\'')).filter(|w| !w.is_empty());
        for (at, word) in words.enumerate() {
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            let capital = word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase);
            if letters >= 3
                && letters == word.chars().count()
                && (capital && (cjk || at > 0) || cjk && word.chars().any(char::is_lowercase))
            {
                out.push(word.to_owned());
            }
        }
    }
    out
}
