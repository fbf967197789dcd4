//! When two memories are one: the same claim about the same place, in the same state, for the same time.
//!
//! What makes two texts the same claim stands in `text::alike`; what happens to a duplicate, in `reconcile`.

use crate::model::Memory;
use crate::store::catalogue::Tombstone;
use crate::text::alike::Fingerprint;
pub use crate::text::alike::{LEAST_SIMILAR, alike, similarity};
use crate::text::words::fold;

/// Whether two memories make the same claim about the same place, in the same state, for the same time.
pub fn same(a: &Memory, b: &Memory) -> bool {
    let ends = |m: &Memory| (m.validity.until_date().map(str::to_owned), m.lapses_when.as_deref().map(fold));
    a.state == b.state && scope_of(a) == scope_of(b) && ends(a) == ends(b) && alike(&a.summary, &b.summary)
}

/// The scope in one spelling.
pub fn scope_of(memory: &Memory) -> String {
    memory.scope.as_deref().map(|s| fold(s.trim().trim_matches('/').trim_start_matches("./"))).unwrap_or_default()
}

/// Hashes that recognise a claim without keeping its text; `at` is empty.
pub fn fingerprint(summary: &str) -> Tombstone {
    let Fingerprint { hash, tokens, exact } = Fingerprint::of(summary);
    Tombstone { hash, tokens, exact, at: String::new() }
}

/// The tombstone of a memory that a person turned down at `at` (RFC 3339).
pub fn tombstone_of(memory: &Memory, at: &str) -> Tombstone {
    Tombstone { at: at.to_owned(), ..fingerprint(&memory.summary) }
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
