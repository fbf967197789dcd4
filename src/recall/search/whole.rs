//! A project in memory as a corpus, and why a memory was not found.

use std::collections::BTreeMap;

use super::memories::{CANDIDATES, find};
use super::{Corpus, Gate, SearchOptions, bm25, gate, gate_by_text};
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
    holders: BTreeMap<String, usize>,
}

impl Whole {
    /// Analyses a project.
    pub fn of(snapshot: &Snapshot) -> Self {
        let (records, held): (Vec<MemoryRecord>, Vec<bool>) = index::records(snapshot).unzip();
        let docs: Vec<Doc> = records.iter().zip(held).zip(0..).map(|((record, held), place)| Doc::of(record, held, place)).collect();
        let mut holders: BTreeMap<String, usize> = BTreeMap::new();
        for doc in &docs {
            let mut terms: Vec<&str> = doc.all_terms().collect();
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                match holders.get_mut(term) {
                    Some(n) => *n += 1,
                    None => {
                        holders.insert(term.to_owned(), 1);
                    }
                }
            }
        }
        Self { length: docs.iter().map(|d| d.length).sum(), docs, records, holders }
    }
}

impl Corpus for Whole {
    fn size(&self) -> (usize, usize) {
        (self.docs.len(), self.length)
    }

    fn holders(&self, terms: &[&str]) -> Result<Vec<usize>> {
        Ok(terms.iter().map(|term| self.holders.get(*term).copied().unwrap_or(0)).collect())
    }

    fn near(&self, term: &str) -> Result<Vec<String>> {
        let first: String = term.chars().take(1).collect();
        let from = self.holders.range(first.clone()..).map(|(t, _)| t.as_str());
        Ok(near::nearest(term, from.take_while(|t| t.starts_with(&first))))
    }

    fn candidates(&self, terms: &[String], most: usize, accept: &dyn Fn(&Doc) -> Result<bool>) -> Result<Vec<Doc>> {
        let average = self.length as f64 / self.docs.len().max(1) as f64;
        let mut ranked: Vec<(f64, &Doc)> = Vec::new();
        for doc in &self.docs {
            let count = |term: &String| doc.all_terms().filter(|t| t == term).count() as f64;
            let length = doc.length as f64;
            let mut score = 0.0;
            for term in terms {
                let frequency = count(term);
                if frequency > 0.0 {
                    let holders = self.holders.get(term).copied().unwrap_or(0);
                    score += bm25::plain(frequency, length, average, self.docs.len(), holders);
                }
            }
            if score > 0.0 {
                ranked.push(((score * 1e6).round(), doc));
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.facts.id.cmp(&b.1.facts.id)));
        let mut found = Vec::new();
        for (_, doc) in ranked {
            if found.len() < most && accept(doc)? {
                found.push(doc.clone());
            }
        }
        Ok(found)
    }

    fn records(&self, docs: &[&Doc]) -> Result<Vec<MemoryRecord>> {
        let record = |doc: &&Doc| usize::try_from(doc.place).ok().and_then(|place| self.records.get(place)).cloned();
        docs.iter().map(|doc| record(doc).ok_or_else(|| Error::failure(format!("{} is not in memory", doc.facts.id)))).collect()
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
        None if asked.iter().any(|(t, _)| doc.all_terms().any(|d| d == t)) => WhyNot::Crowded(CANDIDATES),
        None => WhyNot::NoSharedWord(asked.into_iter().map(|(t, _)| t).collect()),
    }
}
