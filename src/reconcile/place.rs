//! A memory that does not come from a conversation (typed, imported): what it does to the store.
//!
//! The same rules as for extracted ones: said twice is one entry, and a pair that disagrees waits for a person.

use super::conflict::clash;
use super::duplicate;
use super::neighbours::Neighbours;
use crate::model::{Change, Id, Memory};

/// What a memory by hand would do.
#[derive(Debug, Default)]
pub struct Placed {
    /// In order: a confirmation, or an addition and the pairs to decide.
    pub changes: Vec<Change>,
    /// The memory that says it already.
    pub twin: Option<Id>,
    /// The memories it disagrees with.
    pub disagrees: Vec<Id>,
}

/// The memories of a project, ready to be compared with many new ones.
#[derive(Debug)]
pub struct Shelf {
    memories: Vec<Memory>,
    neighbours: Neighbours,
}

impl Shelf {
    /// A shelf of what is stored.
    pub fn of(memories: impl IntoIterator<Item = Memory>) -> Self {
        let memories: Vec<Memory> = memories.into_iter().collect();
        Self { neighbours: Neighbours::of(&memories), memories }
    }

    /// Finds the place of a memory and puts it on the shelf, so that the next one is compared with it, too.
    pub fn place(&mut self, memory: &Memory) -> Placed {
        let near: Vec<&Memory> = self.neighbours.near(memory).into_iter().filter_map(|at| self.memories.get(at)).collect();
        let same_id = self.memories.iter().find(|m| m.id == memory.id);
        if let Some(twin) = same_id.or_else(|| near.iter().copied().find(|m| duplicate::same(m, memory))) {
            let id = twin.id.clone();
            return Placed { changes: vec![Change::Confirm { id: id.clone(), evidence: None }], twin: Some(id), disagrees: Vec::new() };
        }
        let mut placed = Placed { changes: vec![Change::Add(memory.clone())], ..Placed::default() };
        for (older, found) in near.iter().filter_map(|older| Some((older, clash(older, memory)?))) {
            placed.disagrees.push(older.id.clone());
            placed.changes.push(Change::Conflict {
                older: older.id.clone(),
                newer: memory.id.clone(),
                reason: found.reason,
                supersedes: found.changed,
            });
        }
        self.neighbours.add(memory);
        self.memories.push(memory.clone());
        placed
    }
}
