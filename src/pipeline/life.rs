//! The life of one memory, as far as the history keeps it: what each commit, and each hand, did to it.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::model::{Difference, Evidence, Id, differences};
use crate::store::catalogue::ConflictRecord;
use crate::store::past::{Past, Side, State};
use crate::store::{By, Manifest, layout};

/// What became of a memory in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was there when the history begins.
    Known,
    /// It is new.
    Came,
    /// It was gone, and is there again.
    Back,
    /// It went.
    Gone,
    /// It says something else.
    Changed,
    /// It has other words of proof.
    Confirmed,
    /// It went to another layer or project.
    Moved,
    /// It went into the archive.
    Archived,
    /// It left the archive.
    Unarchived,
    /// It disagrees with another one.
    Conflict,
    /// A disagreement was decided.
    Settled,
}

impl What {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Came => "came",
            Self::Back => "back",
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::Confirmed => "confirmed",
            Self::Moved => "moved",
            Self::Archived => "archived",
            Self::Unarchived => "unarchived",
            Self::Conflict => "conflict",
            Self::Settled => "settled",
        }
    }
}

/// How two moments of a memory differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// In short; empty if they do not.
    pub what: Vec<What>,
    /// Fields that say something else.
    pub fields: Vec<Difference>,
    /// Quotes that came.
    pub quotes: Vec<Evidence>,
}

impl Step {
    /// What lies between two sides.
    pub fn between(before: &Side, after: &Side) -> Self {
        let mut step = Self::default();
        let (Some((old_project, old_file)), Some((project, file))) = (before.place(), after.place()) else {
            step.what.extend(match (before, after) {
                (Side::Absent, Side::Absent) => None,
                (Side::Absent, _) => Some(What::Came),
                _ => Some(What::Gone),
            });
            step.quotes.extend(after.version().into_iter().flat_map(|v| v.memory.evidence.iter().cloned()));
            return step;
        };
        match (layout::is_archive(old_file), layout::is_archive(file)) {
            (false, true) => step.what.push(What::Archived),
            (true, false) => step.what.push(What::Unarchived),
            _ if old_project != project || layout::layer_of(old_file) != layout::layer_of(file) => step.what.push(What::Moved),
            _ => {}
        }
        let (Some(old), Some(new)) = (before.version(), after.version()) else {
            step.what.push(What::Changed);
            return step;
        };
        let was = |e: &&Evidence| !old.memory.evidence.contains(e);
        step.quotes = new.memory.evidence.iter().filter(was).cloned().collect();
        step.fields = differences(&old.memory, &new.memory);
        step.fields.retain(|d| d.field != "layer" && (d.field != "quotes" || step.quotes.is_empty()));
        if !step.quotes.is_empty() {
            step.what.push(What::Confirmed);
        }
        if !step.fields.is_empty() || (step.what.is_empty() && old.text != new.text) {
            step.what.push(What::Changed);
        }
        step
    }
}

/// One step in a life.
#[derive(Clone, Debug)]
pub struct Event {
    /// The commit; `None`: by hand since the last one.
    pub commit: Option<Manifest>,
    /// What it did.
    pub step: Step,
    /// The disagreement that came or was decided.
    pub conflict: Option<ConflictRecord>,
    /// Before it.
    pub before: Side,
    /// Behind it.
    pub after: Side,
}

/// A life.
#[derive(Clone, Debug)]
pub struct Life {
    /// Whose.
    pub id: Id,
    /// The history knows nothing of what was before this commit; 0: it is whole.
    pub begins: u64,
    /// Oldest first.
    pub events: Vec<Event>,
    /// As it is now.
    pub now: Side,
}

impl Life {
    /// The last that is known of what it said.
    pub fn last(&self) -> Option<&crate::store::past::Version> {
        let sides = self.events.iter().rev().flat_map(|e| [&e.after, &e.before]);
        std::iter::once(&self.now).chain(sides).find_map(Side::version)
    }
}

/// Every id that is there, or that the history knows of.
///
/// # Errors
/// If the files cannot be read.
pub fn ids(past: &Past, now: &State) -> BTreeSet<Id> {
    now.entries.keys().map(|(_, id)| id.clone()).chain(past.commits().iter().flat_map(|m| m.ids.iter().cloned())).collect()
}

/// The life of a memory. `now`: the present state.
///
/// # Errors
/// If a copy in the history is damaged.
pub fn life(past: &Past, now: &State, id: &Id) -> Result<Life> {
    let mut events: Vec<Event> = Vec::new();
    let mut before = past.state(past.begins())?;
    let mut side = of(past, &before, id)?;
    if side != Side::Absent {
        let step = Step { what: vec![What::Known], ..Step::between(&Side::Absent, &side) };
        events.push(Event { commit: None, step, conflict: None, before: Side::Absent, after: side.clone() });
    }
    for manifest in past.commits() {
        let after = past.state(manifest.seq)?;
        let next = of(past, &after, id)?;
        let mut step = Step::between(&side, &next);
        if step.what == [What::Came] && !events.is_empty() {
            step.what = vec![What::Back];
        }
        if step.what.is_empty() && is_seen_again(manifest, &before, &after, id) {
            step.what.push(What::Confirmed);
        }
        let conflict = conflict(&before, &after, id);
        if conflict.is_some() && step.fields.iter().all(|d| matches!(d.field, "links" | "state")) {
            // The flags of the disagreement, which is told by itself.
            step.what.retain(|what| *what != What::Changed);
        }
        step.what.extend(conflict.as_ref().map(|c| if c.state == "pending" { What::Conflict } else { What::Settled }));
        if !step.what.is_empty() {
            events.push(Event { commit: Some(manifest.clone()), step, conflict, before: side, after: next.clone() });
        }
        (before, side) = (after, next);
    }
    let next = of(past, now, id)?;
    let step = Step::between(&side, &next);
    if !step.what.is_empty() {
        events.push(Event { commit: None, step, conflict: None, before: side, after: next.clone() });
    }
    Ok(Life { id: id.clone(), begins: past.begins(), events, now: next })
}

fn of(past: &Past, state: &State, id: &Id) -> Result<Side> {
    let key = state.entries.keys().find(|(_, other)| other == id);
    key.map_or(Ok(Side::Absent), |key| past.side(state, key))
}

/// Whether a commit only counted it as said or wanted again.
fn is_seen_again(manifest: &Manifest, before: &State, after: &State, id: &Id) -> bool {
    let used = |state: &State| state.catalogues.values().find_map(|c| c.memories.get(id.as_str()).cloned());
    let confirms = By::of(&manifest.command) == By::Ingest || manifest.command == "remember";
    matches!((used(before), used(after)), (Some(old), Some(new))
        if confirms && new.hits > old.hits && new.last_access.as_ref() == Some(&manifest.at))
}

/// A disagreement of the memory that a step brought or decided.
fn conflict(before: &State, after: &State, id: &Id) -> Option<ConflictRecord> {
    let all = |state: &State| {
        let own = |c: &&ConflictRecord| c.older == id.as_str() || c.newer == id.as_str();
        state.catalogues.values().flat_map(|c| c.conflicts.iter().filter(own).cloned()).collect::<Vec<_>>()
    };
    let old = all(before);
    all(after).into_iter().find(|c| !old.contains(c))
}
