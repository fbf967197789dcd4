//! What time does to memories: dates pass, transient notes go to history, unused working memories go to the archive.
//!
//! Nothing is ever called done and nothing is lost. Nothing flaps: a working memory goes after `decay_days` days of work without
//! use, and one in the archive comes back by itself only when it was used less than half as many ago. What came back starts
//! from the day of its return. Not here: when this runs (`prune`), and writing.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::model::{Change, Id, Kind, Layer, Memory, State};
use crate::store::{Entry, Snapshot};
use crate::text::words::count;

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Transient notes older than this many days go.
    pub prune_days: u32,
    /// A working memory goes to the archive after this many days of project activity without access.
    pub decay_days: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { prune_days: 7, decay_days: 30 }
    }
}

/// One change with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Decayed {
    /// To be put into a plan.
    pub change: Change,
    /// In a few words, for people.
    pub reason: String,
}

/// What has to go or change on `today` (`YYYY-MM-DD`), in the order of the files. A day that cannot be read changes nothing.
pub fn decay(snapshot: &Snapshot, today: &str, settings: &Settings) -> Vec<Decayed> {
    let Ok(now) = today.parse::<Date>() else { return Vec::new() };
    let active = active_days(snapshot, now);
    let disputed = disputed(snapshot);
    let fate = |entry: &Entry| {
        let memory = &entry.memory;
        // Silence decides no dispute.
        if disputed.contains(memory.id.as_str()) {
            return lapse(memory, today);
        }
        prune(entry, now, settings.prune_days).or_else(|| lapse(memory, today)).or_else(|| {
            let unused = unused_days(snapshot, entry, &active)?;
            archive(memory, unused, settings.decay_days)
        })
    };
    snapshot.entries.iter().filter_map(fate).collect()
}

/// What is never let go for its age, in any layer.
fn stays(memory: &Memory) -> bool {
    memory.pinned || matches!(memory.kind, Kind::Preference | Kind::Convention)
}

/// A transient note past its days goes; history keeps it, and it may come back.
fn prune(entry: &Entry, now: Date, days: u32) -> Option<Decayed> {
    let memory = &entry.memory;
    let age = memory.day()?.until(now).ok()?.get_days();
    let old = memory.layer == Layer::Transient && !stays(memory) && i64::from(age) > i64::from(days);
    let change = || Change::Forget { id: memory.id.clone(), tombstone: None };
    old.then(|| Decayed {
        change: change(),
        reason: format!("transient, {} old", count(usize::try_from(age).unwrap_or_default(), "day", "days")),
    })
}

/// A date that has passed.
fn lapse(memory: &Memory, today: &str) -> Option<Decayed> {
    let until = memory.validity.until_date()?;
    if memory.state != State::Valid || until >= today {
        return None;
    }
    let mut lapsed = memory.clone();
    lapsed.state = State::Lapsed;
    Some(Decayed { change: Change::Amend(lapsed), reason: format!("held until {until}") })
}

/// A working memory that nobody used while the project went on.
fn archive(memory: &Memory, unused: usize, days: u32) -> Option<Decayed> {
    let old = memory.layer == Layer::Working && !stays(memory) && unused >= days as usize;
    let change = || Change::Archive { id: memory.id.clone() };
    old.then(|| Decayed { change: change(), reason: format!("not used on {} of work", count(unused, "day", "days")) })
}

fn date(text: &str) -> Option<Date> {
    text.get(..10)?.parse().ok()
}

/// Days on which the project had a conversation or a memory was used, up to today.
fn active_days(snapshot: &Snapshot, now: Date) -> BTreeSet<Date> {
    let sessions = snapshot.catalogue.sessions.iter().map(|s| s.session.as_str());
    let accesses = snapshot.catalogue.memories.values().filter_map(|m| m.last_access.as_deref());
    sessions.chain(accesses).filter_map(date).filter(|day| *day <= now).collect()
}

/// Active days since a memory was last used, or came into the store. `None` if neither day is known.
fn unused_days(snapshot: &Snapshot, entry: &Entry, active: &BTreeSet<Date>) -> Option<usize> {
    let memory = &entry.memory;
    let used = snapshot.catalogue.memories.get(memory.id.as_str()).and_then(|u| u.last_access.as_deref()).and_then(date);
    // After a backfill of old conversations the days that count begin with the backfill.
    let session = |name: &String| snapshot.catalogue.sessions.iter().find(|s| s.session == *name);
    let ingested = memory.session.as_ref().and_then(session).and_then(|s| date(&s.ingested));
    let since = [used, ingested, memory.day()].into_iter().flatten().max()?;
    Some(active.iter().filter(|day| **day > since).count())
}

/// Ids in a dispute that waits for a person.
fn disputed(snapshot: &Snapshot) -> BTreeSet<&str> {
    let pending = snapshot.catalogue.conflicts.iter().filter(|c| c.state == "pending");
    pending.flat_map(|c| [c.older.as_str(), c.newer.as_str()]).collect()
}

/// Archived memories that were used again. `archived`: the entries of the archive.
pub fn come_back(snapshot: &Snapshot, archived: &[Entry], today: &str, settings: &Settings) -> Vec<Decayed> {
    let Ok(now) = today.parse::<Date>() else { return Vec::new() };
    let active = active_days(snapshot, now);
    let back = |entry: &Entry| {
        let memory = &entry.memory;
        let used = date(snapshot.catalogue.memories.get(memory.id.as_str())?.last_access.as_deref()?)?;
        let unused = active.iter().filter(|day| **day > used).count();
        let again = memory.state == State::Valid && unused < settings.decay_days as usize / 2;
        again.then(|| Decayed { change: brought_back(memory), reason: format!("used again on {used}") })
    };
    archived.iter().filter_map(back).collect()
}

/// The change that brings an archived memory back to working life.
pub fn brought_back(memory: &Memory) -> Change {
    Change::Amend(Memory { layer: Layer::Working, ..memory.clone() })
}

/// The entry a change is about.
pub fn subject(change: &Change) -> Option<&Id> {
    match change {
        Change::Amend(memory) => Some(&memory.id),
        Change::Archive { id } | Change::Forget { id, .. } => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Kind};

    #[test]
    fn one_day_is_a_day() {
        let memory = Memory::new(Id::from_bits(1), Layer::Working, Kind::Fact, "Deploys go out on Tuesdays");
        let reason = |unused| archive(&memory, unused, 1).map(|decayed| decayed.reason);
        assert_eq!(reason(1).as_deref(), Some("not used on 1 day of work"));
        assert_eq!(reason(2).as_deref(), Some("not used on 2 days of work"));
    }
}
