//! A memory as search sees it: what decides whether and where it is shown, and its terms field by field. Pure; made from a
//! snapshot or read from the index. What it says in full is only read of what is shown.

use std::collections::BTreeSet;

use crate::model::plan::MemoryRecord;
use crate::model::{Id, Kind, Layer, State};
use crate::store::{Entry, Snapshot};
use crate::text::terms;

/// How many fields are searched.
pub const FIELDS: usize = 5;

/// So many of them are what a memory says first; what stands behind gives reasons and proof.
const FIRST: usize = 3;

/// Their names, in the order of [`Doc::fields`].
pub const FIELD_NAMES: [&str; FIELDS] = ["topic", "keywords", "summary", "reason", "evidence"];

/// What counts of a memory besides its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its id.
    pub id: String,
    /// Appeared or changed outside, and its owner has not adopted it (matters with `trust_hand_edits = false`).
    pub held: bool,
    /// As stored; what it is on a day: [`Facts::state_on`].
    pub state: State,
    /// `YYYY-MM-DD`: the last day on which it holds. One line.
    pub until: Option<String>,
    /// The layer it is in.
    pub layer: Layer,
    /// What it says.
    pub kind: Kind,
    /// `YYYY-MM-DD`: when it was noted.
    pub day: Option<String>,
    /// Times used or confirmed.
    pub hits: u64,
    /// 0 to 1; what a person wrote has none.
    pub confidence: Option<f64>,
}

impl Facts {
    /// A number that is the higher the later it was noted, then by id: 13 bits for the days since 2015, 50 for the id.
    pub fn when(&self) -> i64 {
        let from = jiff::civil::date(2015, 1, 1);
        let day = self.day.as_deref().and_then(|day| day.parse::<jiff::civil::Date>().ok());
        let days = day.and_then(|day| from.until(day).ok()).map_or(0, |span| i64::from(span.get_days()).clamp(0, (1 << 13) - 1));
        days << 50 | Id::parse(&self.id).map_or(0, |id| id.bits().cast_signed())
    }

    /// Its state on a day.
    pub fn state_on(&self, day: &str) -> State {
        self.state.on(self.until.as_deref(), day)
    }
}

/// One memory, ready to be searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Doc {
    /// Where its corpus keeps it.
    pub place: i64,
    /// All but the words.
    pub facts: Facts,
    /// Terms in the order of the text, a blank between two; a line for each field.
    pub terms: String,
    /// How many terms it has in all.
    pub length: usize,
}

/// Every memory of a project, in the order of the files, and whether it is [`Facts::held`]. The line is left out, for an entry
/// moves with every change above it: see [`crate::store::Store::lines_of`].
pub fn records(snapshot: &Snapshot) -> impl Iterator<Item = (MemoryRecord, bool)> {
    let held: BTreeSet<_> = snapshot.hand_edits.iter().collect();
    let record = |e: &Entry| MemoryRecord { line: None, ..snapshot.record(e) };
    snapshot.entries.iter().map(move |e| (record(e), held.contains(&e.memory.id)))
}

impl Facts {
    /// What a record says of itself.
    pub fn of(record: &MemoryRecord, held: bool) -> Self {
        Self {
            id: record.id.clone(),
            held,
            state: State::parse(&record.state).unwrap_or(State::Valid),
            until: record.until_date.as_ref().map(|day| day.replace(char::is_control, " ")),
            layer: Layer::parse(&record.layer).unwrap_or(Layer::Working),
            kind: Kind::parse(&record.kind).unwrap_or(Kind::Fact),
            day: day_of(record).map(str::to_owned),
            hits: record.hits,
            confidence: record.confidence,
        }
    }
}

impl Doc {
    /// Takes a record's words apart. Nothing but the record counts, so the same record has the same terms.
    pub fn of(record: &MemoryRecord, held: bool, place: i64) -> Self {
        let texts: [Vec<&str>; FIELDS] = [
            record.topic.iter().map(String::as_str).collect(),
            record.keywords.iter().map(String::as_str).collect(),
            vec![&record.summary],
            [&record.reason, &record.rejected, &record.how_to_apply].into_iter().flatten().map(String::as_str).collect(),
            record.evidence.iter().map(|e| e.quote.as_str()).collect(),
        ];
        let fields = texts.map(|list| list.iter().flat_map(|text| terms::of_text(text)).collect::<Vec<String>>());
        let length = fields.iter().map(Vec::len).sum();
        Self { place, facts: Facts::of(record, held), terms: fields.map(|field| field.join(" ")).join("\n"), length }
    }

    /// The terms of what it says first (topic, keywords, summary), and of what stands behind that.
    pub(super) fn halves(&self) -> (&str, &str) {
        let third = self.terms.match_indices('\n').nth(FIRST - 1);
        third.map_or((self.terms.as_str(), ""), |(at, _)| self.terms.split_at(at))
    }

    /// The terms of all fields, each once, sorted, and whether it is in what the memory says first.
    pub fn vocabulary(&self) -> Vec<(&str, bool)> {
        let fields = self.fields().enumerate();
        let mut terms: Vec<(&str, bool)> = fields.flat_map(|(at, field)| field.map(move |term| (term, at < FIRST))).collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
        terms.dedup_by_key(|(term, _)| *term);
        terms
    }

    /// Terms of each field. `reason` also has what was turned down and how to apply.
    pub fn fields(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        self.terms.split('\n').map(words)
    }

    /// As the index keeps it: a line of facts, then a line of terms for each field.
    pub(super) fn to_row(&self) -> String {
        let Facts { id, held, state, until, layer, kind, day, hits, confidence } = &self.facts;
        let (held, length) = (u8::from(*held), self.length);
        let confidence = confidence.map_or_else(|| NONE.to_owned(), |c| c.to_string());
        let [day, until] = [day, until].map(|text| text.as_deref().unwrap_or(NONE));
        format!("{id} {held} {state} {layer} {kind} {hits} {length} {confidence} {day} {until}\n{}", self.terms)
    }

    /// The opposite of [`Doc::to_row`]; `None` if it is no such row.
    pub(super) fn of_row(place: i64, row: &str) -> Option<Self> {
        let (facts, terms) = row.split_once('\n')?;
        let mut parts = facts.splitn(10, ' ');
        let mut next = || parts.next();
        let some = |text: &str| (text != NONE).then(|| text.to_owned());
        let (id, held) = (next()?.to_owned(), next()? == "1");
        let state = State::parse(next()?)?;
        let layer = Layer::parse(next()?)?;
        let kind = Kind::parse(next()?)?;
        let (hits, length) = (next()?.parse().ok()?, next()?.parse().ok()?);
        let confidence = match next()? {
            NONE => None,
            figure => Some(figure.parse().ok()?),
        };
        let (day, until) = (some(next()?), some(next()?));
        let facts = Facts { id, held, state, until, layer, kind, day, hits, confidence };
        Some(Self { place, facts, terms: terms.to_owned(), length })
    }
}

/// Stands in a row for what is not there.
const NONE: &str = "-";

fn words(line: &str) -> impl Iterator<Item = &str> {
    // By bytes: a search takes hundreds of lines apart.
    let mut rest = line;
    std::iter::from_fn(move || {
        let end = rest.bytes().position(|b| b == b' ').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind.get(1..).unwrap_or_default();
        (!word.is_empty()).then_some(word)
    })
}

/// The day a memory was noted: when it was made, else that of its session.
fn day_of(record: &MemoryRecord) -> Option<&str> {
    let is_dated = |text: &&str| text.get(..10).is_some_and(|d| d.parse::<jiff::civil::Date>().is_ok());
    [&record.created, &record.session].into_iter().filter_map(|text| text.as_deref()).find(is_dated).and_then(|text| text.get(..10))
}
