//! Which turns were taken back. Rewinding leaves the abandoned branch in the file with nothing to mark it; only the
//! parent pointers tell. File order stays the truth: the tree may only remove what is proven abandoned.
//!
//! Each prompt opens a zone; records belong to the zone of their parent. A new prompt whose parent lies in an earlier
//! zone abandons the zones between, unless that earlier zone went on growing meanwhile: then the program itself made
//! the fork (parallel tools, retries, queued prompts), and nothing is dropped. Unknown and absent parents mean "goes on".

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A prompt and everything that hangs below it.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// The zone this prompt was asked in.
    above: usize,
    /// Position of the record that opened it, and of the last record that spoke in it.
    opened: u64,
    last: u64,
    live: bool,
}

/// The tree so far. Holds 16 bytes for each record, never text.
#[derive(Debug)]
pub struct Branches {
    zones: Vec<Zone>,
    zone_of: HashMap<u64, u32>,
    current: usize,
    position: u64,
}

impl Default for Branches {
    fn default() -> Self {
        Self { zones: vec![Zone { above: 0, opened: 0, last: 0, live: true }], zone_of: HashMap::new(), current: 0, position: 0 }
    }
}

/// A 64-bit name of anything hashable: enough to tell records of one file apart.
pub fn key(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Branches {
    /// The zone a record with this parent belongs to.
    fn zone(&self, parent: Option<&str>) -> usize {
        parent.and_then(|p| self.zone_of.get(&key(p))).map_or(self.current, |z| *z as usize)
    }

    /// A record that is no prompt. `speaks`: it is of the user or the assistant. Gives its zone.
    pub fn record(&mut self, uuid: Option<&str>, parent: Option<&str>, speaks: bool) -> usize {
        self.position += 1;
        let zone = self.zone(parent);
        if let Some(uuid) = uuid {
            self.zone_of.insert(key(uuid), zone as u32);
        }
        if let Some(z) = self.zones.get_mut(zone).filter(|_| speaks) {
            z.last = self.position;
        }
        zone
    }

    /// A prompt. Gives its new zone, and whether earlier zones died of it.
    pub fn prompt(&mut self, uuid: Option<&str>, parent: Option<&str>) -> (usize, bool) {
        self.position += 1;
        let above = self.zone(parent);
        let mut killed = false;
        if let Some(frozen) = self.zones.get(above).map(|z| z.last) {
            for at in above + 1..self.zones.len() {
                // Zones are in file order, so a zone above has always been judged before the ones below it.
                let Some(zone) = self.zones.get(at).copied() else { break };
                let below_dead = zone.above != above && self.zones.get(zone.above).is_some_and(|z| !z.live);
                let sibling = zone.above == above && zone.opened > frozen;
                if zone.live && (sibling || below_dead) {
                    if let Some(zone) = self.zones.get_mut(at) {
                        zone.live = false;
                    }
                    killed = true;
                }
            }
        }
        let zone = self.zones.len();
        self.zones.push(Zone { above, opened: self.position, last: self.position, live: true });
        self.current = zone;
        if let Some(uuid) = uuid {
            self.zone_of.insert(key(uuid), zone as u32);
        }
        (zone, killed)
    }

    /// Whether the zone is part of the conversation as it stands.
    pub fn is_live(&self, zone: usize) -> bool {
        self.zones.get(zone).is_none_or(|z| z.live)
    }

    /// Whether a record with this id was met.
    pub fn knows(&self, uuid: &str) -> bool {
        self.zone_of.contains_key(&key(uuid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_asked_again_from_an_earlier_answer_abandons_the_branch() {
        let mut tree = Branches::default();
        let (first, _) = tree.prompt(Some("1"), None);
        tree.record(Some("2"), Some("1"), true);
        let (second, _) = tree.prompt(Some("3"), Some("2"));
        tree.record(Some("4"), Some("3"), true);
        let (third, killed) = tree.prompt(Some("5"), Some("2"));
        assert!(killed);
        assert_eq!([first, second, third].map(|z| tree.is_live(z)), [true, false, true]);
    }

    #[test]
    fn forks_of_the_program_and_unknown_parents_drop_nothing() {
        let mut tree = Branches::default();
        let (first, _) = tree.prompt(Some("1"), None);
        tree.record(Some("2"), Some("1"), true);
        let (queued, _) = tree.prompt(Some("3"), Some("2"));
        // The answer in flight goes on in the older zone: the fork is the program's.
        tree.record(Some("4"), Some("2"), true);
        let (next, killed) = tree.prompt(Some("5"), Some("4"));
        let (orphan, killed_too) = tree.prompt(Some("6"), Some("unknown"));
        assert!(!killed && !killed_too);
        assert!([first, queued, next, orphan].iter().all(|z| tree.is_live(*z)));
    }
}
