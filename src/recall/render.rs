//! Words for what was chosen: lines, headings, the frame around them. Templates are in `prompts/inject/`.
//!
//! The order of the text depends on what memories are, never on how often they were used.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::civil::Date;

use super::escape;
use super::select::{Known, Pick, Section};
use super::{Budget, Mode};
use crate::model::{Id, Layer, Validity};
use crate::text::tags::{CLOSE, OPEN};
use crate::text::words::{self, Language};

const ENGLISH: &str = include_str!("../../prompts/inject/en.md");
const CHINESE: &str = include_str!("../../prompts/inject/zh.md");

/// A reason wider than this (wide characters) is not short: the line goes without it.
const SHORT_REASON: f64 = 60.0;
/// A turned-down option needs its reason, so it is cut instead.
const REJECTED_REASON: f64 = 100.0;
/// Widest topic.
const TOPIC: f64 = 40.0;
/// Widest scope, branch or lapse condition.
const DETAIL: f64 = 24.0;
/// The language of the headings is voted by the best so many memories.
const VOTERS: usize = 200;

/// The phrases of one language: parts of a template file, by name.
#[derive(Clone, Debug)]
pub struct Words(BTreeMap<&'static str, &'static str>);

impl Words {
    /// The phrases for a language. Japanese and Korean have English ones.
    pub fn of(language: Language) -> Self {
        let file = match language {
            Language::Chinese => CHINESE,
            Language::English | Language::Japanese | Language::Korean => ENGLISH,
        };
        Self::parse(file)
    }

    /// A template file: `## name`, then the phrase up to the next such line; a space at its ends is kept as `|`.
    fn parse(file: &'static str) -> Self {
        let parts = file.split("\n## ").skip(1).filter_map(|part| part.split_once('\n'));
        Self(parts.map(|(name, phrase)| (name.trim(), phrase.trim().trim_matches('|'))).collect())
    }

    /// A phrase as it stands.
    fn phrase(&self, name: &str) -> &'static str {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// A phrase with its `{names}` replaced. What is put in is not read again.
    fn fill(&self, name: &str, values: &[(&str, &str)]) -> String {
        let mut out = String::new();
        let mut rest = self.phrase(name);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((key, tail)) = after.split_once('}') else { break };
            out.extend(values.iter().find(|(k, _)| *k == key).map(|(_, v)| *v));
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    /// Foreign text as one harmless line.
    fn safe(&self, text: &str, max: f64) -> String {
        escape::line(text, max, self.phrase("recorded"))
    }

    /// A summary without its full stop, since a line goes on behind it.
    fn summary(&self, text: &str) -> String {
        let text = self.safe(text, words::MAX_WIDTH);
        text.strip_suffix('。').or_else(|| text.strip_suffix('.').filter(|t| !t.ends_with('.'))).unwrap_or(&text).to_owned()
    }

    /// `summary — why: reason (2025-06-10, until 2026-03-06)`
    fn memory(&self, known: &Known<'_>) -> String {
        let memory = known.memory;
        let mut line = self.summary(&memory.summary);
        if let Some(reason) = memory.reason.as_deref().filter(|r| is_short(r)) {
            line.push_str(&self.fill("why", &[("reason", &self.safe(reason, SHORT_REASON))]));
        }
        line + &self.details(known)
    }

    /// `not X: why (2025-06-10)`
    fn rejected(&self, known: &Known<'_>, what: &str, reason: Option<&str>) -> String {
        let what = self.summary(affirmed(what));
        let line = match reason {
            Some(reason) => self.fill("not_why", &[("what", &what), ("reason", &self.safe(reason, REJECTED_REASON))]),
            None => self.fill("not", &[("what", &what)]),
        };
        line + &self.details(known)
    }

    /// `A (date) or B (date)?`
    fn disputed(&self, members: &[Known<'_>]) -> String {
        let side = |known: &Known<'_>| {
            let day = known.day.map_or_else(|| self.phrase("undated").to_owned(), |d| d.to_string());
            self.summary(&known.memory.summary) + &self.fill("details", &[("details", &day)])
        };
        let sides: Vec<String> = members.iter().map(side).collect();
        self.fill("disputed_line", &[("sides", &sides.join(self.phrase("or")))])
    }

    /// When and where a memory holds, in brackets; empty if nothing is known.
    fn details(&self, known: &Known<'_>) -> String {
        let memory = known.memory;
        let mut details: Vec<String> = known.day.iter().map(Date::to_string).collect();
        let mut add = |name: &str, value: Option<&str>| {
            let value =
                value.map(|v| v.trim_end_matches(STOPS)).map(escape::visible).filter(|v| !v.is_empty() && words::width(v) <= DETAIL);
            details.extend(value.map(|v| self.fill(name, &[("value", &self.safe(&v, DETAIL))])));
        };
        if let Validity::Until(day) = &memory.validity {
            add("until", Some(day.as_str()).filter(|d| d.parse::<Date>().is_ok()));
        }
        add("lapses_when", memory.lapses_when.as_deref());
        add("scope", memory.scope.as_deref().filter(|s| *s != "global" && *s != known.project));
        add("branch", memory.branch.as_deref().filter(|_| memory.layer == Layer::Transient));
        if let Some(aged) = known.aged {
            let phrase = if aged.gone { "aged_gone" } else { "aged" };
            details.push(self.fill(phrase, &[("days", &aged.days.to_string()), ("name", &self.safe(&aged.name, TOPIC))]));
        }
        if details.is_empty() {
            return String::new();
        }
        self.fill("details", &[("details", &details.join(self.phrase("comma")))])
    }
}

/// Ends of a sentence, which have no place inside a line.
const STOPS: &[char] = &['.', '。', ',', '，', ';', '；', '、', ' '];

/// Beginnings of a summary that already say no, in lower case, longest first.
const DENIALS: &[&str] = &[
    "we do not use ",
    "we don't use ",
    "do not use ",
    "don't use ",
    "not using ",
    "do not ",
    "don't ",
    "without ",
    "not ",
    "no ",
    "不再使用",
    "不再采用",
    "不要使用",
    "不要用",
    "不使用",
    "不采用",
    "不用",
    "不要",
    "别用",
    "使わない",
    "쓰지 않는",
];

/// What was turned down, without the "no" that the line says itself.
fn affirmed(what: &str) -> &str {
    let denial = DENIALS.iter().find(|d| what.get(..d.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(d)));
    let rest = denial.and_then(|d| what.get(d.len()..)).map(str::trim_start).filter(|rest| !rest.is_empty());
    rest.unwrap_or(what)
}

fn is_short(reason: &str) -> bool {
    let reason = escape::visible(reason);
    !reason.is_empty() && words::width(&reason) <= SHORT_REASON
}

/// The language that most of the best memories are written in; the best one's own if that is undecided.
pub fn language_of(picks: &[Pick<'_>]) -> Language {
    let spoken = picks.iter().flat_map(|p| &p.members).take(VOTERS).map(|k| words::language(&k.memory.summary));
    let spoken: Vec<Language> = spoken.collect();
    let votes = |language: Language| spoken.iter().filter(|l| **l == language).count();
    // `max_by_key` keeps the last of equals, hence from the worst to the best.
    spoken.iter().rev().copied().max_by_key(|l| votes(*l)).unwrap_or(Language::English)
}

/// Where a row stands inside its section, and the section among others: pinned, layer, newest first.
type Order<'a> = (bool, Reverse<Layer>, Reverse<Option<Date>>, &'a Id);

fn order<'a>(known: &Known<'a>) -> Order<'a> {
    (!known.memory.pinned, Reverse(known.memory.layer), Reverse(known.day), &known.memory.id)
}

/// One line of the text.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    section: Section,
    /// Safe heading under [`Section::Topic`]; empty for memories without a topic and in other sections.
    topic: String,
    order: Order<'a>,
    text: String,
}

impl<'a> Row<'a> {
    /// Rows with the same key stand under the same heading; those without a topic come behind the others.
    pub fn key(&self) -> (Section, bool, String) {
        (self.section, self.topic.is_empty(), words::fold(&self.topic))
    }

    /// The row under the general heading: where a topic stands whose only entry it is.
    pub fn general(&self) -> Self {
        Self { topic: String::new(), ..self.clone() }
    }
}

/// A pick in words: its own line, and for what it was preferred to, a second one.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// What it says.
    pub pick: &'a Pick<'a>,
    /// Its rows.
    pub rows: Vec<Row<'a>>,
    /// Size of the rows without headings, in the budget's unit.
    pub size: usize,
}

/// The block around the lines.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Phrases.
    pub words: &'a Words,
    /// Name shown in the opening; `_global` and the empty name are not shown.
    pub project: &'a str,
    /// [`Mode::Light`] leaves out what was turned down.
    pub mode: Mode,
}

impl Frame<'_> {
    /// A pick in words.
    pub fn line<'p>(&self, pick: &'p Pick<'p>, budget: Budget) -> Option<Line<'p>> {
        let words = self.words;
        let first = pick.members.first()?;
        let memory = first.memory;
        let section = Section::of(pick);
        let order = pick.members.iter().map(order).min()?;
        let text = match section {
            // A prompt's few lines have no headings.
            Section::Unconfirmed if self.mode == Mode::Matching => words.fill("unconfirmed_line", &[("text", &words.memory(first))]),
            Section::Topic | Section::Todos | Section::Unconfirmed => words.memory(first),
            Section::Rejected => words.rejected(first, &memory.summary, memory.reason.as_deref()),
            Section::Disputed => words.disputed(&pick.members),
        };
        let topic = match section {
            Section::Topic => memory.topic.as_deref().map(|t| words.safe(t, TOPIC)).unwrap_or_default(),
            _ => String::new(),
        };
        let mut rows = vec![Row { section, topic, order, text }];
        if let Some(what) = memory.rejected.as_deref().filter(|r| is_short(r) && self.mode != Mode::Light && !pick.disputed()) {
            let text = words.rejected(first, what, None);
            rows.push(Row { section: Section::Rejected, topic: String::new(), order, text });
        }
        let size = rows.iter().map(|row| budget.size(&format!("- {}\n", row.text))).sum();
        Some(Line { pick, rows, size })
    }

    /// The heading above a row, with the blank line before it.
    pub fn heading(&self, row: &Row<'_>) -> String {
        let name = match row.section {
            Section::Topic if row.topic.is_empty() => self.words.phrase("untitled"),
            Section::Topic => &row.topic,
            Section::Todos => self.words.phrase("todos"),
            Section::Rejected => self.words.phrase("rejected"),
            Section::Unconfirmed => self.words.phrase("unconfirmed"),
            Section::Disputed => self.words.phrase("disputed"),
        };
        format!("\n## {name}\n")
    }

    /// The lines alone, in their own order, under one opening: what a prompt gets.
    pub fn digest(&self, lines: &[Line<'_>]) -> String {
        let mut out = format!("{OPEN}\n{}\n", self.words.phrase("opening_prompt"));
        for row in lines.iter().flat_map(|l| &l.rows) {
            out.push_str("- ");
            out.push_str(&row.text);
            out.push('\n');
        }
        out.push_str(CLOSE);
        out.push('\n');
        out
    }

    /// The whole block. `left_out`: how many more there would have been; 0 says nothing.
    pub fn text(&self, lines: &[Line<'_>], left_out: usize) -> String {
        let mut groups: BTreeMap<_, Vec<&Row<'_>>> = BTreeMap::new();
        for row in lines.iter().flat_map(|l| &l.rows) {
            groups.entry(row.key()).or_default().push(row);
        }
        // A heading for a single line says less than it takes.
        let single: Vec<_> = groups.extract_if(.., |key, rows| !key.1 && key.0 == Section::Topic && rows.len() == 1).collect();
        let general: Vec<Row<'_>> = single.iter().flat_map(|(_, rows)| rows).map(|row| row.general()).collect();
        for row in &general {
            groups.entry(row.key()).or_default().push(row);
        }
        let mut groups: Vec<Vec<&Row<'_>>> = groups.into_values().collect();
        for group in &mut groups {
            group.sort_by_key(|row| (row.order, &row.text));
        }
        groups.sort_by_key(|group| group.first().map(|row| (row.section, row.topic.is_empty(), row.order)));

        let named = !self.project.is_empty() && self.project != crate::store::GLOBAL;
        let opening = if named { "opening" } else { "opening_global" };
        let mut out = format!("{OPEN}\n{}\n", self.words.fill(opening, &[("project", &self.words.safe(self.project, TOPIC))]));
        for group in groups {
            // Topics that differ only in case share the heading that sorts first.
            out.extend(group.iter().min_by_key(|row| &row.topic).map(|row| self.heading(row)));
            for row in group {
                out.push_str("- ");
                out.push_str(&row.text);
                out.push('\n');
            }
        }
        out.push('\n');
        out.push_str(self.words.phrase("closing"));
        out.push('\n');
        if left_out > 0 {
            out.push_str(&self.words.fill("left_out", &[("count", &left_out.to_string())]));
            out.push('\n');
        }
        out.push_str(CLOSE);
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_have_the_same_phrases() {
        let (english, chinese) = (Words::parse(ENGLISH), Words::parse(CHINESE));
        assert_eq!(english.0.keys().collect::<Vec<_>>(), chinese.0.keys().collect::<Vec<_>>());
        let placeholders = |text: &str| {
            let mut names: Vec<String> = text.split('{').skip(1).filter_map(|t| t.split_once('}')).map(|(n, _)| n.to_owned()).collect();
            names.sort();
            names
        };
        for (name, phrase) in &english.0 {
            assert!(!phrase.is_empty(), "{name}");
            assert_eq!(placeholders(phrase), placeholders(chinese.0[name]), "{name}");
        }
    }

    #[test]
    fn the_opening_is_one_that_ingestion_knows() {
        for file in [ENGLISH, CHINESE] {
            for opening in ["opening", "opening_global", "opening_prompt"] {
                let phrase = Words::parse(file).phrase(opening);
                assert!(crate::text::tags::HEADERS.iter().any(|h| phrase.starts_with(h)), "{phrase}");
            }
        }
    }

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let words = Words::of(Language::English);
        assert!(words.fill("not_why", &[("what", "{reason}"), ("reason", "r")]).contains("{reason}: r"));
    }
}
