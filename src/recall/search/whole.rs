//! A project in memory as a corpus, and why a memory was not found.

use std::collections::BTreeMap;

use super::memories::{CANDIDATES, find};
use super::{Corpus, Gate, SearchOptions, gate, gate_by_text};
use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::plan::MemoryRecord;
use crate::store::Snapshot;
use crate::store::index::{self, Doc, near};

/// Every memory of one project, searched without an index.
#[derive(Debug)]
pub struct Whole {
    docs: Vec<Doc>,
    records: Vec<MemoryRecord>,
    length: usize,
    /// By term: the places of those that hold it, and whether in what they say first.
    holders: BTreeMap<String, Vec<(i64, bool)>>,
}

impl Whole {
    /// Analyses a project.
    pub fn of(snapshot: &Snapshot) -> Self {
        let (records, held): (Vec<MemoryRecord>, Vec<bool>) = index::records(snapshot).unzip();
        let docs: Vec<Doc> = records.iter().zip(held).zip(0..).map(|((record, held), place)| Doc::of(record, held, place)).collect();
        let mut holders: BTreeMap<String, Vec<(i64, bool)>> = BTreeMap::new();
        for doc in &docs {
            for (term, first) in doc.vocabulary() {
                match holders.get_mut(term) {
                    Some(places) => places.push((doc.place, first)),
                    None => drop(holders.insert(term.to_owned(), vec![(doc.place, first)])),
                }
            }
        }
        Self { length: docs.iter().map(|d| d.length).sum(), docs, records, holders }
    }
}

/// What is at a place.
fn at<T>(all: &[T], place: i64) -> Result<&T> {
    let found = usize::try_from(place).ok().and_then(|place| all.get(place));
    found.ok_or_else(|| Error::failure(format!("memory {place} of the project is not there")))
}

impl Corpus for Whole {
    fn size(&self) -> (usize, usize) {
        (self.docs.len(), self.length)
    }

    fn holders(&self, terms: &[&str]) -> Result<Vec<usize>> {
        Ok(terms.iter().map(|term| self.holders.get(*term).map_or(0, Vec::len)).collect())
    }

    fn near(&self, term: &str) -> Result<Vec<String>> {
        let first: String = term.chars().take(1).collect();
        let from = self.holders.range(first.clone()..).map(|(t, _)| t.as_str());
        Ok(near::nearest(term, from.take_while(|t| t.starts_with(&first))))
    }

    fn having(&self, term: &str) -> Result<Vec<(i64, bool)>> {
        Ok(self.holders.get(term).cloned().unwrap_or_default())
    }

    fn sort(&self, places: &mut [i64]) -> Result<()> {
        places.sort_by_cached_key(|place| std::cmp::Reverse(at(&self.docs, *place).map(|doc| doc.facts.when()).unwrap_or_default()));
        Ok(())
    }

    fn docs(&self, places: &[i64]) -> Result<Vec<Doc>> {
        places.iter().map(|place| at(&self.docs, *place).cloned()).collect()
    }

    fn records(&self, docs: &[&Doc]) -> Result<Vec<MemoryRecord>> {
        docs.iter().map(|doc| at(&self.records, doc.place).cloned()).collect()
    }
}

/// Why a search did not show a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum WhyNot {
    /// It did: its place, 1-based.
    Shown(usize),
    /// None of the projects that were searched has it.
    Elsewhere,
    /// A filter or its state keeps it out.
    Gate(Gate),
    /// It shares no word with the query: the words that were looked for.
    NoSharedWord(Vec<String>),
    /// Others that share more words filled the list of candidates (its size).
    Crowded(usize),
    /// It was found, below the limit: its place, and the limit.
    BelowLimit(usize, usize),
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shown(at) => write!(f, "it is shown, as hit {at}"),
            Self::Elsewhere => f.write_str("it is in a project that was not searched"),
            Self::Gate(gate) => gate.fmt(f),
            Self::NoSharedWord(words) => write!(f, "it shares no word with the query (looked for: {})", words.join(", ")),
            Self::Crowded(n) => write!(f, "{n} memories share rarer words with the query, and it is not among them"),
            Self::BelowLimit(at, limit) => write!(f, "it is hit {at}, and {limit} are shown: --limit {at}"),
        }
    }
}

/// The gate that kept a memory out of [`super::search`] with the same arguments.
pub fn why_not(snapshots: &[&Snapshot], id: &Id, query: &str, options: &SearchOptions) -> WhyNot {
    let found = snapshots.iter().flat_map(|s| index::records(s)).find(|(record, _)| record.id == id.as_str());
    let Some((record, held)) = found else { return WhyNot::Elsewhere };
    let doc = Doc::of(&record, held, 0);
    if let Some(gate) = gate(&doc.facts, options).or_else(|| gate_by_text(&record, options)) {
        return WhyNot::Gate(gate);
    }
    let whole: Vec<Whole> = snapshots.iter().map(|s| Whole::of(s)).collect();
    let corpora: Vec<&dyn Corpus> = whole.iter().map(|w| w as &dyn Corpus).collect();
    let all = SearchOptions { limit: usize::MAX, ..options.clone() };
    let hits = find(&corpora, query, &all).unwrap_or_default();
    let asked = super::query::Query::of(query).terms;
    match hits.iter().position(|h| h.id == *id) {
        Some(at) if at < options.limit => WhyNot::Shown(at + 1),
        Some(at) => WhyNot::BelowLimit(at + 1, options.limit),
        None if doc.fields().flatten().any(|term| asked.iter().any(|(t, _)| t == term)) => WhyNot::Crowded(CANDIDATES),
        None => WhyNot::NoSharedWord(asked.into_iter().map(|(t, _)| t).collect()),
    }
}
