//! When two memories are one: the same claim about the same place, in the same state, for the same time.
//!
//! What makes two texts the same claim stands in `text::alike`; what happens to a duplicate, in `reconcile`.

use std::collections::HashMap;

use crate::model::{Id, Memory};
use crate::store::catalogue::Tombstone;
use crate::text::alike::{Fingerprint, key};
pub use crate::text::alike::{LEAST_SIMILAR, alike, similarity};
use crate::text::words::fold;

/// Whether two memories make the same claim about the same place, in the same state, for the same time.
pub fn same(a: &Memory, b: &Memory) -> bool {
    let ends = |m: &Memory| (m.validity.until_date().map(str::to_owned), m.lapses_when.as_deref().map(fold));
    a.state == b.state && scope_of(a) == scope_of(b) && ends(a) == ends(b) && alike(&a.summary, &b.summary)
}

/// Finds the memory that makes the same claim among thousands: only those with the same words are compared.
#[derive(Debug, Default)]
pub struct Twins {
    memories: Vec<Memory>,
    by_words: HashMap<String, Vec<usize>>,
    by_id: HashMap<Id, usize>,
}

impl Twins {
    /// What is there.
    pub fn of(memories: impl IntoIterator<Item = Memory>) -> Self {
        let mut twins = Self::default();
        for memory in memories {
            twins.add(memory);
        }
        twins
    }

    /// One more, to be found from now on.
    pub fn add(&mut self, memory: Memory) {
        let place = self.memories.len();
        self.by_words.entry(key(&memory.summary)).or_default().push(place);
        self.by_id.insert(memory.id.clone(), place);
        self.memories.push(memory);
    }

    /// The memory that makes the same claim, or has the same id.
    pub fn find(&self, memory: &Memory) -> Option<&Memory> {
        let by_id = self.by_id.get(&memory.id).and_then(|place| self.memories.get(*place));
        by_id.or_else(|| {
            let places = self.by_words.get(&key(&memory.summary))?;
            places.iter().filter_map(|place| self.memories.get(*place)).find(|m| same(m, memory))
        })
    }
}

/// The scope in one spelling.
pub fn scope_of(memory: &Memory) -> String {
    memory.scope.as_deref().map(|s| fold(s.trim().trim_matches('/').trim_start_matches("./"))).unwrap_or_default()
}

/// Hashes that recognise a claim without keeping its text; `at` is empty.
pub fn fingerprint(summary: &str) -> Tombstone {
    let Fingerprint { hash, tokens, exact } = Fingerprint::of(summary);
    Tombstone { hash, tokens, exact, ..Tombstone::default() }
}

/// The tombstone of a memory that a person turned down at `at` (RFC 3339).
pub fn tombstone_of(memory: &Memory, at: &str) -> Tombstone {
    Tombstone { at: at.to_owned(), ..fingerprint(&memory.summary) }
}

/// The tombstone of a memory that lost against another one at `at` (RFC 3339).
pub fn lost(memory: &Memory, at: &str) -> Tombstone {
    Tombstone { lost: true, ..tombstone_of(memory, at) }
}

/// Whether a claim is the one under the stone.
pub fn buried(summary: &str, stone: &Tombstone) -> bool {
    let there = Fingerprint { hash: stone.hash.clone(), tokens: stone.tokens.clone(), exact: stone.exact.clone() };
    Fingerprint::of(summary).is(&there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_know_the_claim_without_its_text() {
        let stone = fingerprint("Always squash before merging into main");
        assert!(buried("always squash before merging into main.", &stone));
        assert!(!buried("Never rebase before merging into main", &stone));
        assert!(!buried("Cap retries at 6", &fingerprint("Cap retries at 5")));
        assert!(!stone.tokens.iter().any(|t| t.contains("squash")));
    }
}
