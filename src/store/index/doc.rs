//! A memory as search sees it: its record, and its terms field by field. Pure; made from a snapshot or read from the index.

use crate::model::plan::MemoryRecord;
use crate::store::{Entry, Snapshot};
use crate::text::terms;

/// How many fields are searched.
pub const FIELDS: usize = 5;

/// Their names, in the order of [`Doc::terms`].
pub const FIELD_NAMES: [&str; FIELDS] = ["topic", "keywords", "summary", "reason", "evidence"];

/// One memory, ready to be searched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// What it says, with use and place.
    pub record: MemoryRecord,
    /// Appeared or changed outside, and its owner has not adopted it (matters with `trust_hand_edits = false`).
    pub held: bool,
    /// Terms of each field in the order of the text. `reason` also has what was turned down and how to apply.
    pub terms: [Vec<String>; FIELDS],
}

impl Doc {
    /// Every memory of a project, in the order of the files, without terms: see [`Doc::analyse`]. The line is left out, for an
    /// entry moves with every change above it: see [`crate::store::Store::lines_of`].
    pub fn all(snapshot: &Snapshot) -> Vec<Self> {
        let held: std::collections::BTreeSet<_> = snapshot.hand_edits.iter().collect();
        let record = |e: &Entry| MemoryRecord { line: None, ..snapshot.record(e) };
        let doc = |e: &Entry| Self { record: record(e), held: held.contains(&e.memory.id), ..Self::default() };
        snapshot.entries.iter().map(doc).collect()
    }

    /// Takes the record's words apart. Nothing but the record counts, so the same record has the same terms.
    pub fn analyse(&mut self) {
        let record = &self.record;
        let texts: [Vec<&str>; FIELDS] = [
            record.topic.iter().map(String::as_str).collect(),
            record.keywords.iter().map(String::as_str).collect(),
            vec![&record.summary],
            [&record.reason, &record.rejected, &record.how_to_apply].into_iter().flatten().map(String::as_str).collect(),
            record.evidence.iter().map(|e| e.quote.as_str()).collect(),
        ];
        self.terms = texts.map(|list| list.iter().flat_map(|text| terms::of_text(text)).collect());
    }

    /// How many terms it has in all.
    pub fn length(&self) -> usize {
        self.terms.iter().map(Vec::len).sum()
    }
}
