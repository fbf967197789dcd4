//! One entry: where its parts stand and what memory they say.

use std::ops::Range;

use super::scan::{Unclosed, bare, block_end, heading, is_blank, lines, opens_yaml};
use super::yaml::{self, Fields};
use crate::error::Problem;
use crate::model::{Evidence, Id, Kind, Layer, Memory, Origin, Relation, RelationType, Speaker, State, Validity};

/// Keys under which relations stand.
pub(super) const RELATIONS: &[(&str, RelationType)] = &[
    ("supersedes", RelationType::Supersedes),
    ("superseded_by", RelationType::SupersededBy),
    ("conflicts_with", RelationType::Conflicts),
    ("depends_on", RelationType::DependsOn),
    ("refines", RelationType::Refines),
    ("completes", RelationType::Completes),
    ("duplicate_of", RelationType::Duplicate),
];

/// A labelled text of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Why,
    Rejected,
    How,
}

impl Label {
    pub(super) const ALL: [Self; 3] = [Self::Why, Self::Rejected, Self::How];

    /// As written by us.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Why => "Why",
            Self::Rejected => "Rejected",
            Self::How => "How to apply",
        }
    }

    /// The YAML key that may stand for it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Why => "reason",
            Self::Rejected => "rejected",
            Self::How => "how_to_apply",
        }
    }

    /// The field of a memory.
    pub(super) fn of(self, memory: &Memory) -> Option<&str> {
        match self {
            Self::Why => memory.reason.as_deref(),
            Self::Rejected => memory.rejected.as_deref(),
            Self::How => memory.how_to_apply.as_deref(),
        }
    }
}

/// Labels a person may type.
const LABELS: &[(&str, Label)] = &[
    ("why", Label::Why),
    ("reason", Label::Why),
    ("原因", Label::Why),
    ("为什么", Label::Why),
    ("理由", Label::Why),
    ("이유", Label::Why),
    ("rejected", Label::Rejected),
    ("否决", Label::Rejected),
    ("已否决", Label::Rejected),
    ("却下", Label::Rejected),
    ("how to apply", Label::How),
    ("如何应用", Label::How),
    ("做法", Label::How),
];

/// Where the parts of an entry stand, as line numbers within it.
pub(super) struct Parts<'a> {
    pub(super) lines: Vec<&'a str>,
    /// Lines inside the YAML fence, without the fence lines.
    pub(super) yaml: Option<Range<usize>>,
    /// A YAML fence that does not end.
    pub(super) open_yaml: bool,
    pub(super) labels: Vec<(Label, Range<usize>, String)>,
    pub(super) quotes: Vec<(Range<usize>, Evidence)>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let lines = lines(text);
        let mut parts = Self { lines, yaml: None, open_yaml: false, labels: Vec::new(), quotes: Vec::new() };
        let mut unclosed = Unclosed::default();
        let mut at = 1;
        while parts.lines.get(at).is_some_and(|l| is_blank(l)) {
            at += 1;
        }
        if parts.lines.get(at).is_some_and(|l| opens_yaml(l)) {
            match block_end(&parts.lines, at, &mut unclosed) {
                Some(end) => {
                    parts.yaml = Some(at + 1..end);
                    at = end + 1;
                }
                None => parts.open_yaml = true,
            }
        }
        while at < parts.lines.len() {
            let line = bare(parts.lines[at]);
            if let Some(end) = block_end(&parts.lines, at, &mut unclosed) {
                at = end + 1;
            } else if let Some((label, first)) = label(line) {
                let end = parts.paragraph_end(at + 1, &mut unclosed);
                let rest = parts.lines[at + 1..end].iter().map(|l| l.trim());
                let text = std::iter::once(first.trim()).chain(rest).collect::<Vec<_>>().join(" ");
                parts.labels.push((label, at..end, text.trim().to_owned()));
                at = end;
            } else if line.starts_with('>') {
                at = parts.quotes_from(at);
            } else {
                at += 1;
            }
        }
        parts
    }

    /// Behind the last line that continues a labelled text.
    fn paragraph_end(&self, from: usize, unclosed: &mut Unclosed) -> usize {
        let mut at = from;
        while let Some(line) = self.lines.get(at) {
            let ends = is_blank(line) || line.starts_with('>') || label(bare(line)).is_some() || heading(line).is_some();
            if ends || block_end(&self.lines, at, unclosed).is_some() {
                break;
            }
            at += 1;
        }
        at
    }

    /// Takes the quotes of a run of `>` lines; each ends in its place, such as `(T12, user)`.
    fn quotes_from(&mut self, start: usize) -> usize {
        let (mut at, mut first, mut text) = (start, start, String::new());
        while let Some(line) = self.lines.get(at).filter(|l| l.starts_with('>')) {
            let words = bare(line).trim_start_matches('>').trim();
            if !text.is_empty() && !words.is_empty() {
                text.push(' ');
            }
            text.push_str(words);
            at += 1;
            if let Some(evidence) = evidence(&text) {
                self.quotes.push((first..at, evidence));
                (first, text) = (at, String::new());
            } else if words.is_empty() {
                (first, text) = (at, String::new());
            }
        }
        at
    }
}

/// The label that a line begins with, such as `**Why:**` or `**原因**：`, and what follows it.
fn label(line: &str) -> Option<(Label, &str)> {
    let (inner, rest) = line.strip_prefix("**")?.split_once("**")?;
    let colon = |c: char| matches!(c, ':' | '：');
    let name = inner.trim().trim_end_matches(colon).trim_end();
    let rest = if inner.trim_end().ends_with(colon) { rest } else { rest.trim_start().strip_prefix(colon)? };
    let name = name.to_lowercase();
    LABELS.iter().find(|(n, _)| *n == name).map(|(_, label)| (*label, rest))
}

/// `words (T12, user)` or `words (2026-02-01-abcd1234#T3, user)`.
fn evidence(text: &str) -> Option<Evidence> {
    let (quote, place) = text.strip_suffix(')')?.rsplit_once('(')?;
    let (turn, speaker) = place.split_once(',')?;
    let speaker = match speaker.trim() {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "tool" => Speaker::Tool,
        "harness" => Speaker::Harness,
        _ => return None,
    };
    let (session, turn) = match turn.trim().rsplit_once('#') {
        Some((session, turn)) => (Some(session.to_owned()).filter(|s| !s.is_empty()), turn),
        None => (None, turn.trim()),
    };
    let turn = turn.strip_prefix('T')?.parse().ok()?;
    Some(Evidence { session, turn, speaker, quote: quote.trim().to_owned() })
}

/// One entry as read.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id; `None` if it was typed by hand and not adopted yet.
    pub id: Option<Id>,
    /// What it says. Without an id, `memory.id` means nothing; of a block that cannot be read, only the heading is known.
    pub memory: Memory,
    /// Whether the YAML block could be read. An unreadable one is left as it is.
    pub readable: bool,
    /// What was odd, with lines counted from the heading (1).
    pub problems: Vec<Problem>,
}

fn problem(code: &'static str, line: usize, detail: String) -> Problem {
    Problem { code, file: String::new(), line: Some(line as u64), detail }
}

/// What kind an entry is if it does not say.
pub(super) fn default_kind(layer: Layer) -> Kind {
    if layer == Layer::LongTerm { Kind::Preference } else { Kind::Fact }
}

/// Where an entry comes from if it does not say: what has a source was extracted, the rest was typed.
pub(super) fn default_origin(session: Option<&str>) -> Origin {
    if session.is_some() { Origin::Claude } else { Origin::Manual }
}

impl Entry {
    /// Reads the text of an entry, from its `###` line on.
    pub(super) fn read(text: &str, topic: Option<&str>, layer: Layer) -> Self {
        let parts = Parts::of(text);
        let summary = parts.lines.first().and_then(|l| heading(l)).map_or("", |(_, text)| text);
        let mut memory = Memory::new(Id::from_bits(0), layer, default_kind(layer), summary);
        memory.topic = topic.map(str::to_owned);
        let mut entry = Self { id: None, memory, readable: true, problems: Vec::new() };
        let block = match &parts.yaml {
            Some(range) => parts.lines[range.clone()].concat(),
            None => String::new(),
        };
        let first = parts.yaml.as_ref().map_or(1, |r| r.start);
        let mut keys = Vec::new();
        let fields = if parts.open_yaml { Err((1, "the YAML block does not end".to_owned())) } else { yaml::read(&block) };
        match fields {
            Ok(fields) => {
                keys.extend(Label::ALL.into_iter().filter(|l| fields.one(l.key()).is_some()));
                entry.take(&fields, first);
            }
            Err((line, detail)) => {
                entry.readable = false;
                entry.problems.push(problem("bad_yaml", first + line as usize, format!("the YAML block cannot be read: {detail}")));
            }
        }
        for (label, _, text) in parts.labels {
            let slot = match label {
                Label::Why => &mut entry.memory.reason,
                Label::Rejected => &mut entry.memory.rejected,
                Label::How => &mut entry.memory.how_to_apply,
            };
            // A label that stands twice says both; a key of the YAML block goes before it.
            if keys.contains(&label) || text.is_empty() {
                continue;
            }
            *slot = Some(slot.take().map_or(text.clone(), |first| format!("{first} {text}")));
        }
        let session = entry.memory.session.clone();
        entry.memory.evidence = parts.quotes.into_iter().map(|(_, e)| e).collect();
        for evidence in &mut entry.memory.evidence {
            evidence.session = evidence.session.take().filter(|s| Some(s) != session.as_ref());
        }
        if entry.memory.summary.is_empty() {
            entry.readable = false;
            entry.problems.push(problem("no_summary", 1, "the entry has no summary".to_owned()));
        }
        entry
    }

    /// Puts the fields of the block into the memory; values that mean nothing are reported and left out.
    fn take(&mut self, fields: &Fields, first: usize) {
        let memory = &mut self.memory;
        let mut bad = |key: &str, value: &str| {
            self.problems.push(problem("bad_value", first, format!("{key} has the value {value:?}, which means nothing here")));
        };
        let text = |key: &str| fields.one(key).map(str::to_owned);
        if let Some(value) = fields.one("id") {
            self.id = Id::parse(value);
            match &self.id {
                Some(id) => memory.id = id.clone(),
                None => bad("id", value),
            }
        }
        memory.session = fields.one("source").map(|s| s.rsplit_once("#T").map_or(s, |(session, _)| session).to_owned());
        memory.origin = default_origin(memory.session.as_deref());
        let mut named = |key: &str, set: &mut dyn FnMut(&str) -> bool| {
            if let Some(value) = fields.one(key)
                && !set(value)
            {
                bad(key, value);
            }
        };
        named("kind", &mut |v| Kind::parse(v).map(|k| memory.kind = k).is_some());
        named("state", &mut |v| State::parse(v).map(|s| memory.state = s).is_some());
        named("origin", &mut |v| Origin::parse(v).map(|o| memory.origin = o).is_some());
        named("confidence", &mut |v| v.parse().map(|c| memory.confidence = Some(c)).is_ok());
        named("pinned", &mut |v| truth(v).map(|p| memory.pinned = p).is_some());
        named("validity", &mut |v| validity(v).map(|x| memory.validity = x).is_some() || (v == "until" && fields.one("until").is_some()));
        named("until", &mut |v| day(v).map(|d| memory.validity = Validity::Until(d)).is_some());
        memory.lapses_when = text("lapses_when");
        memory.scope = text("scope");
        memory.branch = text("branch");
        memory.created = text("created");
        memory.reason = text("reason");
        memory.rejected = text("rejected");
        memory.how_to_apply = text("how_to_apply");
        memory.keywords = fields.many("keywords").to_vec();
        for (key, kind) in RELATIONS {
            for value in fields.many(key) {
                match Id::parse(value) {
                    Some(id) => memory.relations.push(Relation { id, kind: *kind }),
                    None => bad(key, value),
                }
            }
        }
    }
}

fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// `lasting`, `session`, `until 2026-03-06`, `until: 2026-03-06` or only the date. We write the third.
fn validity(value: &str) -> Option<Validity> {
    match value {
        "lasting" => Some(Validity::Lasting),
        "session" => Some(Validity::Session),
        _ => day(value.strip_prefix("until").unwrap_or(value).trim_start_matches([':', '：', ' '])).map(Validity::Until),
    }
}

/// A calendar day, `YYYY-MM-DD`.
fn day(value: &str) -> Option<String> {
    let date: jiff::civil::Date = value.trim().parse().ok()?;
    (value.trim().len() == 10).then(|| date.to_string())
}
