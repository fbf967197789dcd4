//! A query taken apart: terms with weights, neighbouring words, the time it names, whom it asks about.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;
use regex::Regex;

use crate::text::{stems, terms};

/// A query is cut to this many terms, the first ones: a pasted book is no question.
const MOST: usize = 2000;

/// One query, parsed once.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Each term with its weight.
    pub terms: Vec<(String, f64)>,
    /// Neighbouring words that carry content.
    pub pairs: Vec<(String, String)>,
    /// The words as written, in lower case.
    pub words: Vec<String>,
    /// Whether it has Chinese, Japanese or Korean characters.
    pub cjk: bool,
    /// Folded text.
    pub folded: String,
}

impl Query {
    /// Takes a query apart.
    pub fn of(text: &str) -> Self {
        let words = terms::plain_words(text);
        let content: Vec<String> = words.iter().filter(|w| !terms::is_stop(w)).map(|w| stems::stem(w)).collect();
        let pairs = content.iter().zip(content.iter().skip(1)).take(MOST).map(|(a, b)| (a.clone(), b.clone())).collect();
        let mut asked = terms::of_query(text);
        asked.truncate(MOST);
        Self { terms: asked, pairs, words, cjk: terms::has_cjk(text), folded: crate::text::words::fold(text) }
    }

    /// Whether it asks when or how long.
    pub fn asks_when(&self) -> bool {
        static WHEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"^(when|how long|how many (days|weeks|months|years)|what (date|day|month|year|time)|which (day|month|year))").ok()
        });
        WHEN.as_ref().is_some_and(|r| r.is_match(&self.folded))
    }

    /// The time that it names; `days` are those of the corpus, for what it leaves open (the year, mostly).
    pub fn range(&self, days: &[Date]) -> Option<Range> {
        if self.cjk { chinese_range(&self.folded, days) } else { english_range(&self.folded, days) }
    }
}

/// How many terms one average word of a query is: a Chinese word of two characters is two or three.
pub fn terms_per_word(asked: &[(String, f64)]) -> f64 {
    let of_words = asked.iter().filter(|(t, _)| !terms::is_cjk_term(t)).count() as f64;
    let characters: std::collections::BTreeSet<char> =
        asked.iter().filter(|(t, _)| terms::is_cjk_term(t)).flat_map(|(t, _)| t.chars()).collect();
    let words = (characters.len() as f64 / 2.0 + of_words).max(1.0);
    (asked.len() as f64 / words).max(1.0)
}

/// From a day up to, but not including, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First day.
    pub from: Date,
    /// The day behind the last one.
    pub to: Date,
}

impl Range {
    /// How well a day fits: 1 inside; 0.6 up to three weeks later, since things are told after they happen; 0 elsewhere.
    pub fn fit(&self, day: Date) -> f64 {
        if self.from <= day && day < self.to {
            1.0
        } else if self.to <= day && self.to.checked_add(21.days()).is_ok_and(|end| day < end) {
            0.6
        } else {
            0.0
        }
    }

    /// Whether it is one day.
    pub fn is_day(&self) -> bool {
        self.from.checked_add(1.day()).is_ok_and(|next| next == self.to)
    }
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];

fn day(year: i16, month: i8, day: i8) -> Option<Range> {
    let from = Date::new(year, month, day).ok()?;
    Some(Range { from, to: from.checked_add(1.day()).ok()? })
}

fn month(year: i16, month: i8) -> Option<Range> {
    let from = Date::new(year, month, 1).ok()?;
    Some(Range { from, to: from.checked_add(1.month()).ok()? })
}

fn years(days: &[Date]) -> Vec<i16> {
    let mut years: Vec<i16> = days.iter().map(|d| d.year()).collect();
    years.sort_unstable();
    years.dedup();
    years
}

fn chinese_range(text: &str, days: &[Date]) -> Option<Range> {
    static PATTERN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:((?:19|20)[0-9][0-9])年)?([0-9]{1,2})月(?:份|([0-9]{1,2})[日号])?").ok());
    if !text.contains('月') {
        return None;
    }
    let found = PATTERN.as_ref()?.captures(text)?;
    let number = |i: usize| found.get(i).and_then(|m| m.as_str().parse::<i16>().ok());
    let m = i8::try_from(number(2)?).ok()?;
    let d = number(3).and_then(|d| i8::try_from(d).ok());
    let years = number(1).map_or_else(|| years(days), |y| vec![y]);
    years.into_iter().find_map(|y| d.map_or_else(|| month(y, m), |d| day(y, m, d)))
}

fn english_range(text: &str, days: &[Date]) -> Option<Range> {
    static YEAR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(?:19|20)[0-9][0-9]\b").ok());
    static MONTH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let names: Vec<String> = MONTHS.iter().map(|m| format!("{m}|{}", &m[..3])).collect();
        Regex::new(&format!(r"\b({})\b", names.join("|"))).ok()
    });
    static MAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\b(?:in|on|of|since|during|early|late|mid|until|by) (?:early |late |mid-?)?may\b|may [0-9]",
            r"|[0-9](?:st|nd|rd|th)? (?:of )?may\b"
        ))
        .ok()
    });
    static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b([0-9]{1,2})(?:st|nd|rd|th)? (?:of )?$").ok());
    static BEHIND: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\.? ([0-9]{1,2})(?:st|nd|rd|th)?\b").ok());
    // Most queries name no time, and making the patterns takes longer than ranking.
    if !text.contains(|c: char| c.is_ascii_digit()) && !MONTHS.iter().any(|month| text.contains(&month[..3])) {
        return None;
    }
    let year = YEAR.as_ref()?.find(text).and_then(|m| m.as_str().parse::<i16>().ok());
    let name = MONTH.as_ref()?.find(text).filter(|m| m.as_str() != "may" || MAY.as_ref().is_some_and(|r| r.is_match(text)));
    let Some(name) = name else {
        let from = Date::new(year?, 1, 1).ok()?;
        return Some(Range { from, to: from.checked_add(1.year()).ok()? });
    };
    let m = i8::try_from(MONTHS.iter().position(|m| m.starts_with(&name.as_str()[..3]))? + 1).ok()?;
    let around = |pattern: &Option<Regex>, text: &str| {
        pattern.as_ref().and_then(|r| r.captures(text)).and_then(|c| c.get(1)).and_then(|m| m.as_str().parse::<i8>().ok())
    };
    let d = around(&BEFORE, &text[..name.start()]).or_else(|| around(&BEHIND, &text[name.end()..]));
    let told = |y: i16| Date::new(y, m, 15).is_ok_and(|mid| days.iter().any(|d| (mid - *d).get_days().abs() < 60));
    let candidates = year.map_or_else(|| years(days).into_iter().filter(|y| told(*y)).collect(), |y| vec![y]);
    candidates.into_iter().find_map(|y| d.map_or_else(|| month(y, m), |d| day(y, m, d)))
}
