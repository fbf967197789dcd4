//! Which stored memories a new one could be the same as, or disagree with: those that share its words.
//!
//! Comparing two memories costs a hundred times more than looking up a word; with thousands of memories that decides.

use std::collections::{BTreeSet, HashMap};

use crate::model::Memory;
use crate::text::words::tokens;

/// A word that stands in more memories than this, and in more than one of twenty, does not make a neighbour by itself.
const COMMON: usize = 200;

/// Memories by the words of their summaries.
#[derive(Debug, Default)]
pub struct Neighbours {
    places: HashMap<String, Vec<usize>>,
    count: usize,
}

impl Neighbours {
    /// Memories in the order in which [`Neighbours::near`] names them.
    pub fn of<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let mut all = Self::default();
        for memory in memories {
            all.add(memory);
        }
        all
    }

    /// Only as much as it takes to ask for the neighbours of one memory, once.
    pub fn around<'a>(memory: &Memory, memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let mut all = Self { places: keys(memory).into_iter().map(|word| (word, Vec::new())).collect(), count: 0 };
        for other in memories {
            for word in tokens(&other.summary) {
                if let Some(places) = all.places.get_mut(short(&word)).filter(|p| p.last() != Some(&all.count)) {
                    places.push(all.count);
                }
            }
            all.count += 1;
        }
        all
    }

    /// One more, behind the others.
    pub fn add(&mut self, memory: &Memory) {
        for word in keys(memory) {
            self.places.entry(word).or_default().push(self.count);
        }
        self.count += 1;
    }

    /// Positions, ascending, of those that share one uncommon word or any two.
    pub fn near(&self, memory: &Memory) -> Vec<usize> {
        let common = COMMON.max(self.count / 20);
        let mut shared: HashMap<usize, (usize, bool)> = HashMap::new();
        for word in keys(memory) {
            let Some(places) = self.places.get(&word) else { continue };
            for place in places {
                let (words, uncommon) = shared.entry(*place).or_default();
                *words += 1;
                *uncommon |= places.len() <= common;
            }
        }
        let mut near: Vec<usize> =
            shared.into_iter().filter(|(_, (words, uncommon))| *uncommon || *words >= 2).map(|(place, _)| place).collect();
        near.sort_unstable();
        near
    }
}

fn keys(memory: &Memory) -> BTreeSet<String> {
    tokens(&memory.summary).iter().map(|word| short(word).to_owned()).collect()
}

/// A word by its first seven letters: the detector takes `timestamp` and `timestamptz` for near.
fn short(word: &str) -> &str {
    word.get(..7).filter(|_| word.is_ascii()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Kind, Layer};

    #[test]
    fn shared_words_make_neighbours() {
        let make = |n: u64, summary: &str| Memory::new(Id::from_bits(n), Layer::Working, Kind::Fact, summary);
        let stored = [make(1, "New tables use timestamptz"), make(2, "缓存用 Redis 哨兵"), make(3, "Deploy on Tuesdays")];
        let neighbours = Neighbours::of(&stored);
        for asked in ["timestamps are epoch millis", "Redis 改为一主两从", "nothing of that"] {
            let asked = make(4, asked);
            assert_eq!(Neighbours::around(&asked, &stored).near(&asked), neighbours.near(&asked));
        }
        assert_eq!(neighbours.near(&make(4, "timestamps are epoch millis")), [0]);
        assert_eq!(neighbours.near(&make(5, "Redis 改为一主两从")), [1]);
        assert_eq!(neighbours.near(&make(6, "nothing of that")), [0usize; 0]);
    }
}
