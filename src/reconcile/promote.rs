//! What the user said again in later conversations: memories that may be lasting, and memories that did not help.
//!
//! Promotion is only ever a proposal: a person accepts it. Not here: asking, and writing.

use std::collections::BTreeSet;

use super::proposals::mark;
use crate::model::{Change, Kind, Layer, Memory, Speaker, State, Validity};
use crate::store::Snapshot;

/// Conversations in which a working memory was said before it is proposed for long-term memory.
pub const CONVERSATIONS: usize = 3;

/// A working memory that may be a lasting one.
#[derive(Clone, Debug, PartialEq)]
pub struct Promotion {
    /// Stable name: what was turned down is not proposed again while the entry says the same.
    pub key: String,
    /// The memory as it is now.
    pub memory: Memory,
    /// Conversations in which it was said.
    pub said: usize,
}

impl Promotion {
    /// The answer of its owner as a change.
    pub fn answer(&self, accept: bool) -> Change {
        match accept {
            true => Change::Amend(Memory { layer: Layer::LongTerm, ..self.memory.clone() }),
            false => Change::Decline { keys: vec![self.key.clone()] },
        }
    }
}

/// Preferences, conventions and facts without an end that were said in several conversations. What is in dispute waits.
pub fn promotions(snapshot: &Snapshot) -> Vec<Promotion> {
    let pending = snapshot.catalogue.conflicts.iter().filter(|c| c.state == "pending");
    let disputed: BTreeSet<&str> = pending.flat_map(|c| [c.older.as_str(), c.newer.as_str()]).collect();
    let lasting = |m: &&Memory| {
        m.layer == Layer::Working
            && m.state == State::Valid
            && m.validity == Validity::Lasting
            && matches!(m.kind, Kind::Preference | Kind::Convention | Kind::Fact)
            && !disputed.contains(m.id.as_str())
    };
    let promotion =
        |m: &Memory| Promotion { key: format!("promote-{}", mark(m)), said: 1 + said_again(snapshot, m).len(), memory: m.clone() };
    let all = snapshot.entries.iter().map(|e| &e.memory).filter(lasting).map(promotion);
    all.filter(|p| p.said >= CONVERSATIONS && !snapshot.catalogue.declined.contains(&p.key)).collect()
}

/// A memory that its user had to say again although it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Retaught<'a> {
    /// The memory.
    pub memory: &'a Memory,
    /// The later conversations in which it was said, oldest first.
    pub sessions: Vec<&'a str>,
}

/// Preferences and conventions that were said again on a day after the one on which they were stored, most often first.
/// Conversations of the same day do not count: they may have been held before.
pub fn retaught(snapshot: &Snapshot) -> Vec<Retaught<'_>> {
    let wanted = |m: &&Memory| m.state == State::Valid && matches!(m.kind, Kind::Preference | Kind::Convention);
    let mut all: Vec<Retaught<'_>> = snapshot
        .entries
        .iter()
        .map(|e| &e.memory)
        .filter(wanted)
        .map(|memory| {
            let stored = stored_on(snapshot, memory);
            let later = |session: &&str| session.get(..10).zip(stored).is_some_and(|(day, stored)| day > stored);
            Retaught { memory, sessions: said_again(snapshot, memory).into_iter().filter(later).collect() }
        })
        .filter(|r| !r.sessions.is_empty())
        .collect();
    all.sort_by(|a, b| b.sessions.len().cmp(&a.sessions.len()).then_with(|| a.memory.id.cmp(&b.memory.id)));
    all
}

/// Other conversations in which the user said it: those that the catalogue counted, and those that quotes name.
fn said_again<'a>(snapshot: &'a Snapshot, memory: &'a Memory) -> BTreeSet<&'a str> {
    let counted = snapshot.catalogue.memories.get(memory.id.as_str()).into_iter().flat_map(|m| &m.said_again);
    let quoted = memory.evidence.iter().filter(|e| e.speaker == Speaker::User).filter_map(|e| e.session.as_ref());
    counted.chain(quoted).map(String::as_str).filter(|s| Some(*s) != memory.session.as_deref()).collect()
}

/// The day on which a memory came into the store: that of reading its conversation, else its own.
fn stored_on<'a>(snapshot: &'a Snapshot, memory: &'a Memory) -> Option<&'a str> {
    let read = |name: &String| snapshot.catalogue.sessions.iter().find(|s| s.session == *name).map(|s| s.ingested.as_str());
    memory.session.as_ref().and_then(read).or(memory.created.as_deref())?.get(..10)
}
