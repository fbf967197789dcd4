//! Which stored memories a new one could be the same as, or disagree with: those that share its words.
//!
//! Comparing two memories costs a hundred times more than looking up a word; with thousands of memories that decides.

use std::collections::{BTreeSet, HashMap};

use regex::bytes::{Regex, RegexBuilder};

use crate::cores::on_all_cores;
use crate::model::Memory;
use crate::text::words::{each_token, is_plain};

/// A word that stands in more memories than this, and in more than one of twenty, does not make a neighbour by itself.
const COMMON: usize = 200;

/// At most so many neighbours are compared: the detector takes a tenth of a millisecond for each.
const MOST: usize = 300;

/// Summaries for which a thread pays.
const SHARE: usize = 2000;

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

    /// Only as much as it takes to ask for the neighbours of these `new` memories among the stored ones with these summaries.
    pub fn around<'a, 'b>(new: impl IntoIterator<Item = &'a Memory>, summaries: impl IntoIterator<Item = &'b str>) -> Self {
        let sieve = Sieve::of(new);
        let mut places: HashMap<String, Vec<usize>> = sieve.keys.iter().map(|word| (word.clone(), Vec::new())).collect();
        let summaries: Vec<(usize, &str)> = summaries.into_iter().enumerate().collect();
        let shared = on_all_cores(&summaries, SHARE, &|part| {
            let mut shared: Vec<(&str, usize)> = Vec::new();
            for (place, summary) in part.iter().filter(|(_, summary)| sieve.may_share(summary)) {
                each_token(summary, &mut |word| shared.extend(sieve.keys.get(short(word)).map(|key| (key.as_str(), *place))));
            }
            shared
        });
        for (key, place) in shared {
            if let Some(places) = places.get_mut(key).filter(|p| p.last() != Some(&place)) {
                places.push(place);
            }
        }
        Self { places, count: summaries.len() }
    }

    /// One more, behind the others.
    pub fn add(&mut self, memory: &Memory) {
        for word in keys(memory) {
            self.places.entry(word).or_default().push(self.count);
        }
        self.count += 1;
    }

    /// Positions, ascending, of those that share one uncommon word or any two; of very many, the [`MOST`] that share the rarest.
    pub fn near(&self, memory: &Memory) -> Vec<usize> {
        let common = COMMON.max(self.count / 20);
        let mut shared: HashMap<usize, (usize, bool, f64)> = HashMap::new();
        for word in keys(memory) {
            let Some(places) = self.places.get(&word) else { continue };
            for place in places {
                let (words, uncommon, rarity) = shared.entry(*place).or_default();
                *words += 1;
                *uncommon |= places.len() <= common;
                *rarity += 1.0 / places.len() as f64;
            }
        }
        let near = shared.into_iter().filter(|(_, (words, uncommon, _))| *uncommon || *words >= 2);
        let mut near: Vec<(usize, f64)> = near.map(|(place, (.., rarity))| (place, rarity)).collect();
        if near.len() > MOST {
            near.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
            near.truncate(MOST);
        }
        let mut near: Vec<usize> = near.into_iter().map(|(place, _)| place).collect();
        near.sort_unstable();
        near
    }
}

/// Tells summaries that may share a word with some memories from those that cannot, many times faster than taking them apart.
#[derive(Debug)]
struct Sieve {
    keys: BTreeSet<String>,
    /// `None` lets everything through.
    words: Option<Regex>,
}

impl Sieve {
    /// For the words of these memories.
    fn of<'a>(new: impl IntoIterator<Item = &'a Memory>) -> Self {
        let keys: BTreeSet<String> = new.into_iter().flat_map(keys).collect();
        let patterns: Vec<String> = keys.iter().map(|key| pattern(key)).collect();
        let words = RegexBuilder::new(&patterns.join("|")).case_insensitive(true).unicode(false).build();
        Self { keys, words: words.ok() }
    }

    /// Whether a summary may share a word; if not, it does not.
    fn may_share(&self, summary: &str) -> bool {
        !self.keys.is_empty() && (!is_plain(summary) || self.words.as_ref().is_none_or(|words| words.is_match(summary.as_bytes())))
    }
}

/// Where a word with this key may stand. A stem ends in a `y` where the word goes on with `ies`; otherwise the word begins with
/// it. A number is the whole word, unless it was cut.
fn pattern(key: &str) -> String {
    if !key.is_ascii() {
        return regex::escape(key);
    }
    let begin = regex::escape(key.strip_suffix('y').unwrap_or(key));
    let end = if key.len() < SHORT && key.bytes().all(|b| b.is_ascii_digit()) { "(?:[^0-9A-Za-z]|$)" } else { "" };
    format!("(?:^|[^0-9A-Za-z]){begin}{end}")
}

fn keys(memory: &Memory) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    each_token(&memory.summary, &mut |word| {
        keys.insert(short(word).to_owned());
    });
    keys
}

/// Letters of a word that count.
const SHORT: usize = 7;

/// A word by its first letters: the detector takes `timestamp` and `timestamptz` for near.
fn short(word: &str) -> &str {
    word.get(..SHORT).filter(|_| word.is_ascii()).unwrap_or(word)
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
            assert_eq!(Neighbours::around([&asked], stored.iter().map(|m| m.summary.as_str())).near(&asked), neighbours.near(&asked));
        }
        assert_eq!(neighbours.near(&make(4, "timestamps are epoch millis")), [0]);
        assert_eq!(neighbours.near(&make(5, "Redis 改为一主两从")), [1]);
        assert_eq!(neighbours.near(&make(6, "nothing of that")), [0usize; 0]);
    }

    #[test]
    fn a_sieve_lets_through_whatever_shares_a_word() {
        let texts = [
            "Retries are capped at 5",
            "we RETRY the query twice",
            "The policy says so",
            "policies, queries",
            "Ｒｅｔｒｙ it",
            "re\u{200b}try",
            "支付回调要重试",
            "支 付",
            "支付",
            "「支付」",
            "naïve Retry",
            "the user's stories",
            "K8s on Łódź",
            "再試行は５回",
            "재시도 5회",
            "snake_case and CamelCase",
            "Straße",
            "it's ours",
            "Entry",
            "entries",
        ];
        let memories: Vec<Memory> =
            texts.iter().zip(1..).map(|(t, n)| Memory::new(Id::from_bits(n), Layer::Working, Kind::Fact, *t)).collect();
        for new in &memories {
            let sieve = Sieve::of([new]);
            for old in memories.iter().filter(|old| !keys(old).is_disjoint(&keys(new))) {
                assert!(sieve.may_share(&old.summary), "{:?} shares a word with {:?}", old.summary, new.summary);
            }
        }
        assert!(!Sieve::of([&memories[0]]).may_share("Deploy on Tuesdays"));
        assert!(!Sieve::of([&memories[6]]).may_share("缓存用 Redis"));
    }
}
