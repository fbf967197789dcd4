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
    /// Every memory of a project, in the order of the files.
    pub fn all(snapshot: &Snapshot) -> Vec<Self> {
        let held: std::collections::BTreeSet<_> = snapshot.hand_edits.iter().collect();
        snapshot.entries.iter().map(|e| Self { held: held.contains(&e.memory.id), ..Self::of(snapshot, e) }).collect()
    }

    fn of(snapshot: &Snapshot, entry: &Entry) -> Self {
        let memory = &entry.memory;
        let texts: [Vec<&str>; FIELDS] = [
            memory.topic.iter().map(String::as_str).collect(),
            memory.keywords.iter().map(String::as_str).collect(),
            vec![&memory.summary],
            [&memory.reason, &memory.rejected, &memory.how_to_apply].into_iter().flatten().map(String::as_str).collect(),
            memory.evidence.iter().map(|e| e.quote.as_str()).collect(),
        ];
        let terms = texts.map(|list| list.iter().flat_map(|text| terms::of_text(text)).collect());
        Self { record: snapshot.record(entry), held: false, terms }
    }

    /// How many terms it has in all.
    pub fn length(&self) -> usize {
        self.terms.iter().map(Vec::len).sum()
    }
}
