//! Which words of a query a memory has, and in which fields: one walk over its terms.

use crate::store::index::{Doc, FIELDS};

/// The words of a query that are looked for.
pub(super) struct Words<'a> {
    /// Each once, the shorter ones first.
    words: Vec<&'a str>,
    /// By word: the terms of the query that it counts for.
    counts_for: Vec<Vec<usize>>,
    /// One bit for each last byte that they have, modulo 64: nearly all terms of a memory are told from them by that.
    ends: u64,
    /// Neighbours in the query, as places in `words`.
    pairs: Vec<(usize, usize)>,
    terms: usize,
}

/// What a memory has of them.
#[derive(Default)]
pub(super) struct Shared {
    /// By term of the query: how often it is in each field.
    pub(super) counts: Vec<[u32; FIELDS]>,
    /// By pair of the query: the first field in which the two are neighbours.
    pub(super) pairs: Vec<Option<usize>>,
}

fn end(word: &str) -> u64 {
    1 << (word.bytes().last().unwrap_or_default() & 63)
}

fn order(word: &str) -> (usize, &str) {
    (word.len(), word)
}

impl<'a> Words<'a> {
    /// Takes the forms of each term, and the pairs.
    pub(super) fn of(forms: &[&'a [String]], pairs: &'a [(String, String)]) -> Self {
        let both = pairs.iter().flat_map(|(a, b)| [a, b]);
        let mut words: Vec<&str> = forms.iter().copied().flatten().chain(both).map(String::as_str).collect();
        words.sort_unstable_by_key(|word| order(word));
        words.dedup();
        let counts_for = words.iter().map(|word| (0..forms.len()).filter(|n| forms[*n].iter().any(|form| form == word)).collect());
        let ends = words.iter().fold(0, |ends, word| ends | end(word));
        let mut all = Self { counts_for: counts_for.collect(), ends, words, pairs: Vec::new(), terms: forms.len() };
        all.pairs = pairs.iter().filter_map(|(a, b)| all.find(a).zip(all.find(b))).collect();
        all
    }

    fn find(&self, term: &str) -> Option<usize> {
        if self.ends & end(term) == 0 {
            return None;
        }
        self.words.binary_search_by_key(&order(term), |word| order(word)).ok()
    }

    /// Looks through a memory; `shared` is what was found in the one before.
    pub(super) fn look(&self, doc: &Doc, shared: &mut Shared) {
        shared.counts.clear();
        shared.counts.resize(self.terms, [0; FIELDS]);
        shared.pairs.clear();
        shared.pairs.resize(self.pairs.len(), None);
        for (at, field) in (0..FIELDS).zip(doc.fields()) {
            let mut last = None;
            for term in field {
                let found = self.find(term);
                for n in found.iter().flat_map(|word| &self.counts_for[*word]) {
                    shared.counts[*n][at] += 1;
                }
                if let Some(here) = last.zip(found) {
                    for (_, first) in self.pairs.iter().zip(&mut shared.pairs).filter(|(pair, _)| **pair == here) {
                        first.get_or_insert(at);
                    }
                }
                last = found;
            }
        }
    }
}
