//! The one queue of what only a person can decide: pairs that disagree, candidates that are not sure, entries that lean on
//! something replaced, entries that appeared or changed outside, rules out of a file, entries that name nothing.
//!
//! Riskiest first: what conversations are given most and what is least certain. Not here: what a decision does (`decide`), the
//! queue as a file (`sheet`), asking and printing.

pub mod decide;
pub mod sheet;

pub use decide::{Decision, Keep, Voice};

use std::collections::BTreeSet;

use crate::model::plan::{MemoryRecord, ReviewItem};
use crate::model::{Code, Id, Layer, Memory, RelationType, State};
use crate::reconcile::lint::{self, Ask};
use crate::reconcile::{duplicate, links};
use crate::store::{Snapshot, Store};

/// Why something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Two stored memories disagree; the other one is the older.
    Conflict,
    /// A proposed memory that is not sure, and not stored.
    Candidate(Vec<Code>),
    /// A stored memory that leans on one that was replaced, which is the other one.
    Dependant {
        /// Name of the question, for not asking again.
        key: String,
    },
    /// It appeared in a file without us.
    Added,
    /// It was changed in a file without us; the other one is what it said before, where a copy is left.
    Changed,
    /// It would be a rule, and came out of a file.
    Imported,
    /// It names nothing that could be found.
    Vague {
        /// Name of the question, for not asking again.
        key: String,
    },
}

impl Matter {
    /// Every name.
    pub const NAMES: [&str; 7] = ["conflict", "candidate", "dependant", "added", "changed", "imported", "vague"];

    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Candidate(_) => "candidate",
            Self::Dependant { .. } => "dependant",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Imported => "imported",
            Self::Vague { .. } => "vague",
        }
    }

    /// How much there is to doubt, from 0 to 1.
    fn doubt(&self, memory: &Memory) -> f64 {
        match self {
            // Nobody is known to have said it.
            Self::Added | Self::Changed => 1.0,
            Self::Conflict => 0.9,
            Self::Dependant { .. } | Self::Imported => 0.6,
            Self::Candidate(_) => memory.confidence.map_or(0.5, |sure| 1.0 - sure),
            Self::Vague { .. } => 0.3,
        }
    }
}

/// One thing to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Project it is in.
    pub project: String,
    /// The name it is decided by: that of the memory, or for a dependant its own.
    pub id: Id,
    /// Why it waits.
    pub matter: Matter,
    /// The claim that is asked about.
    pub memory: Memory,
    /// What stands beside it, if anything does.
    pub other: Option<Memory>,
    /// Why it is asked, in one line; empty where the matter says it all.
    pub reason: String,
    /// What an error costs: how much the memory is given, times how doubtful it is.
    pub risk: f64,
}

impl Item {
    fn new(snapshot: &Snapshot, id: Id, matter: Matter, memory: Memory, other: Option<Memory>, reason: String) -> Self {
        let most = [Some(&memory), other.as_ref()].into_iter().flatten().map(|m| exposure(snapshot, m)).fold(0.0, f64::max);
        let risk = (most * matter.doubt(&memory) * 100.0).round() / 100.0;
        Self { project: snapshot.project.clone(), id, matter, memory, other, reason, risk }
    }

    /// Whether it has this id, or this beginning of one (4 characters or more): of the question or of a memory in it.
    pub fn is_called(&self, id: &str) -> bool {
        let wanted = id.trim().to_ascii_lowercase();
        let asked_about = self.other.as_ref().filter(|_| self.matter == Matter::Conflict);
        let ids = [Some(&self.id), Some(&self.memory.id), asked_about.map(|m| &m.id)];
        wanted.len() >= 4 && ids.into_iter().flatten().any(|id| id.as_str().starts_with(&wanted))
    }

    /// The two ids of a pair, older first.
    pub fn pair(&self) -> Option<(&Id, &Id)> {
        self.other.as_ref().filter(|_| self.matter == Matter::Conflict).map(|older| (&older.id, &self.memory.id))
    }
}

/// How much a memory is given to conversations: its layer, and how often it was used. What is not stored is not given.
fn exposure(snapshot: &Snapshot, memory: &Memory) -> f64 {
    let layer = match memory.layer {
        Layer::LongTerm => 3.0,
        Layer::Working => 2.0,
        Layer::Transient => 1.0,
    };
    if snapshot.entry(&memory.id).is_none() {
        return layer / 2.0;
    }
    let hits = snapshot.catalogue.memories.get(memory.id.as_str()).map_or(0, |known| known.hits);
    let pinned = if memory.pinned { 2.0 } else { 1.0 };
    layer * pinned * (1.0 + (hits as f64).ln_1p())
}

/// What waits in a project on `today` (`YYYY-MM-DD`), riskiest first.
pub fn queue(snapshot: &Snapshot, today: &str) -> Vec<Item> {
    let mut items = pairs(snapshot);
    items.extend(snapshot.catalogue.review.iter().filter_map(|item| asked(snapshot, item)));
    items.extend(snapshot.hand_edits.iter().filter_map(|id| hand_edit(snapshot, id)));
    items.extend(dependants(snapshot, &items));
    // An entry that is asked about already is not asked about in other words.
    let seen: BTreeSet<Id> = items.iter().map(|i| i.memory.id.clone()).collect();
    items.extend(imported(snapshot).filter(|i| !seen.contains(&i.memory.id)));
    items.extend(vague(snapshot, today).filter(|i| !seen.contains(&i.memory.id) && !i.memory.is_unconfirmed()));
    sort(&mut items);
    items
}

/// The queue of a project, with what a changed entry said before, where a copy of that is left.
pub fn open(store: &Store, snapshot: &Snapshot, today: &str) -> Vec<Item> {
    let mut items = queue(snapshot, today);
    for item in items.iter_mut().filter(|i| i.matter == Matter::Changed) {
        item.other = store.earlier(snapshot, &item.id);
    }
    items
}

/// The same question in a queue that was looked up anew.
pub fn again(items: Vec<Item>, item: &Item) -> Option<Item> {
    let same = |i: &Item| i.id == item.id && i.matter.name() == item.matter.name() && i.pair() == item.pair();
    items.into_iter().find(same)
}

/// What an id, or the beginning of one, is asked about, if need be by the name of the matter; of several questions that about
/// a pair.
pub fn find(items: &[Item], id: &str, kind: Option<&str>) -> Option<Item> {
    let called = || items.iter().filter(|item| item.is_called(id) && kind.is_none_or(|kind| item.matter.name() == kind));
    called().find(|item| item.matter == Matter::Conflict).or_else(|| called().next()).cloned()
}

/// Riskiest first; equals in the order of their ids.
pub fn sort(items: &mut [Item]) {
    items.sort_by(|a, b| b.risk.total_cmp(&a.risk).then_with(|| a.id.cmp(&b.id)));
}

/// The pairs that wait for a decision.
pub fn pairs(snapshot: &Snapshot) -> Vec<Item> {
    let find = |id: &str| Id::parse(id).and_then(|id| snapshot.entry(&id)).map(|e| e.memory.clone());
    let open = snapshot.catalogue.conflicts.iter().filter(|c| c.state == "pending");
    let item = |c: &crate::store::catalogue::ConflictRecord| {
        let (older, newer) = (find(&c.older)?, find(&c.newer)?);
        Some(Item::new(snapshot, newer.id.clone(), Matter::Conflict, newer, Some(older), c.reason.clone()))
    };
    open.filter_map(item).collect()
}

/// A pair or candidate under an id: what a model may decide once its user has said how. Not what appeared outside: taking that
/// over is its owner's own act.
pub fn find_asked(snapshot: &Snapshot, id: &str) -> Option<Item> {
    let reviewed = snapshot.catalogue.review.iter().filter_map(|item| asked(snapshot, item));
    reviewed.chain(pairs(snapshot)).find(|item| item.is_called(id))
}

/// A question that an earlier run has left. One about a stored memory (a dependant) asks whether that still holds.
fn asked(snapshot: &Snapshot, item: &ReviewItem) -> Option<Item> {
    let about = Id::parse(&item.memory.id).filter(|id| *id != item.id);
    let Some(about) = about else {
        let memory = item.memory.to_memory(item.id.clone()).ok()?;
        return Some(Item::new(snapshot, item.id.clone(), Matter::Candidate(item.codes.clone()), memory, None, String::new()));
    };
    let memory = snapshot.entry(&about)?.memory.clone();
    let replaced = snapshot.entries.iter().map(|e| &e.memory).find(|m| m.state == State::Superseded && links::leans_on(&memory, m));
    Some(dependant(snapshot, item.id.clone(), &memory, replaced))
}

fn dependant(snapshot: &Snapshot, id: Id, memory: &Memory, replaced: Option<&Memory>) -> Item {
    let both: Vec<&Memory> = std::iter::once(memory).chain(replaced).collect();
    let matter = Matter::Dependant { key: lint::key("dependant", &both) };
    Item::new(snapshot, id, matter, memory.clone(), replaced.cloned(), "what it leans on was replaced".to_owned())
}

/// Memories that lean on one that was replaced by something else, whoever replaced it.
fn dependants(snapshot: &Snapshot, asked: &[Item]) -> Vec<Item> {
    let all = || snapshot.entries.iter().map(|e| &e.memory);
    let links = |m: &&Memory| {
        let texts = [m.reason.as_deref(), m.how_to_apply.as_deref(), Some(&m.summary)];
        m.related(RelationType::DependsOn).next().is_some() || texts.into_iter().flatten().any(|text| text.contains("[["))
    };
    let said_again = |gone: &Memory| {
        let mut by = gone.related(RelationType::SupersededBy).filter_map(|id| snapshot.entry(id));
        by.any(|e| duplicate::alike(&e.memory.summary, &gone.summary))
    };
    let gone: Vec<&Memory> = all().filter(|m| m.state == State::Superseded && !said_again(m)).collect();
    let leaning = all().filter(|m| m.state == State::Valid).filter(links);
    let known = |m: &&Memory| asked.iter().any(|i| i.memory.id == m.id && i.matter.name() == "dependant");
    let found = leaning.filter(|m| !known(m)).filter_map(|memory| {
        let replaced = gone.iter().find(|gone| links::leans_on(memory, gone))?;
        Some(dependant(snapshot, memory.id.clone(), memory, Some(replaced)))
    });
    found.filter(|i| !matches!(&i.matter, Matter::Dependant { key } if snapshot.catalogue.declined.contains(key))).collect()
}

fn hand_edit(snapshot: &Snapshot, id: &Id) -> Option<Item> {
    let memory = snapshot.entry(id)?.memory.clone();
    let matter = if snapshot.is_added(id) { Matter::Added } else { Matter::Changed };
    Some(Item::new(snapshot, id.clone(), matter, memory, None, String::new()))
}

fn imported(snapshot: &Snapshot) -> impl Iterator<Item = Item> {
    let rules = snapshot.entries.iter().map(|e| &e.memory).filter(|m| m.state == State::Valid && m.is_unconfirmed());
    rules.map(|m| Item::new(snapshot, m.id.clone(), Matter::Imported, m.clone(), None, String::new()))
}

fn vague(snapshot: &Snapshot, today: &str) -> impl Iterator<Item = Item> {
    let open = lint::lint(snapshot, today).into_iter();
    let open = open.filter(|p| p.kind == lint::Kind::Question { ask: Ask::Vague } && !snapshot.catalogue.declined.contains(&p.key));
    open.filter_map(|proposal| {
        let memory = snapshot.entry(proposal.ids.first()?)?.memory.clone();
        let matter = Matter::Vague { key: proposal.key };
        Some(Item::new(snapshot, memory.id.clone(), matter, memory, None, proposal.reason.into_owned()))
    })
}

/// The record of a memory in the queue: with use and place if it is stored.
pub fn record(snapshot: &Snapshot, memory: &Memory) -> MemoryRecord {
    let stored = snapshot.entry(&memory.id).filter(|e| e.memory == *memory);
    stored.map_or_else(|| MemoryRecord::of(memory, &snapshot.project), |entry| snapshot.record(entry))
}
