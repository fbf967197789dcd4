//! A memory as search sees it: what decides whether and where it is shown, and its terms field by field. Pure; made from a
//! snapshot or read from the index. What it says in full is only read of what is shown.

use std::collections::BTreeSet;

use crate::model::State;
use crate::model::plan::MemoryRecord;
use crate::store::{Entry, Snapshot};
use crate::text::terms;

/// How many fields are searched.
pub const FIELDS: usize = 5;

/// Their names, in the order of [`Doc::fields`].
pub const FIELD_NAMES: [&str; FIELDS] = ["topic", "keywords", "summary", "reason", "evidence"];

/// What counts of a memory besides its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its id.
    pub id: String,
    /// Appeared or changed outside, and its owner has not adopted it (matters with `trust_hand_edits = false`).
    pub held: bool,
    /// Name of its state.
    pub state: String,
    /// `YYYY-MM-DD`: the last day on which it holds.
    pub until: Option<String>,
    /// Name of its layer.
    pub layer: String,
    /// Name of its kind.
    pub kind: String,
    /// `YYYY-MM-DD`: when it was noted.
    pub day: Option<String>,
    /// Times used or confirmed.
    pub hits: u64,
    /// 0 to 1; what a person wrote has none.
    pub confidence: Option<f64>,
}

impl Facts {
    /// Its state on a day.
    pub fn state_on(&self, day: &str) -> State {
        let state = State::ALL.iter().find(|state| state.name() == self.state);
        state.map_or(State::Valid, |state| state.on(self.until.as_deref(), day))
    }
}

/// One memory, ready to be searched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Where its corpus keeps the record.
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
            state: record.state.clone(),
            until: record.until_date.clone(),
            layer: record.layer.clone(),
            kind: record.kind.clone(),
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

    /// Terms of each field. `reason` also has what was turned down and how to apply.
    pub fn fields(&self) -> [Vec<&str>; FIELDS] {
        let mut lines = self.terms.split('\n');
        std::array::from_fn(|_| words(lines.next().unwrap_or_default()).collect())
    }

    /// The terms of all fields.
    pub fn all_terms(&self) -> impl Iterator<Item = &str> {
        self.terms.split('\n').flat_map(words)
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

/// The day a memory was noted: when it was made, else that of its session.
fn day_of(record: &MemoryRecord) -> Option<&str> {
    let is_dated = |text: &&str| text.get(..10).is_some_and(|d| d.parse::<jiff::civil::Date>().is_ok());
    [&record.created, &record.session].into_iter().filter_map(|text| text.as_deref()).find(is_dated).and_then(|text| text.get(..10))
}
