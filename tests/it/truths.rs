//! The detector without a model on a whole store with planted contradictions, repetitions and stale entries.

#![expect(clippy::print_stdout, reason = "figures are for people")]

mod planted;

use std::collections::{BTreeMap, BTreeSet};

use claude_mem::model::{Id, Memory};
use claude_mem::reconcile::lint::{self, lint};
use planted::{Fault, FULL, SMALL, TODAY, Truths};

/// What was found and what was there.
#[derive(Debug, Default)]
struct Score {
    wanted: usize,
    found: usize,
    right: usize,
}

impl Score {
    fn recall(&self) -> f64 {
        self.right as f64 / self.wanted.max(1) as f64
    }

    fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }
}

fn found(truths: &Truths) -> Vec<(Fault, BTreeSet<Id>)> {
    let mut found = Vec::new();
    for proposal in lint(&truths.snapshot, TODAY) {
        match proposal.kind {
            lint::Kind::Merge { .. } => found.push((Fault::Duplicate, proposal.ids.into_iter().collect())),
            lint::Kind::Lapse | lint::Kind::Finish { .. } => found.push((Fault::Stale, proposal.ids.into_iter().collect())),
            lint::Kind::Conflict => found.push((Fault::Conflict, proposal.ids.into_iter().collect())),
            _ => {}
        }
    }
    found
}

/// Scores of the held-out shapes and of those tuned on, by fault. A pair that names a replaced version counts as stale.
fn score(truths: &Truths, verbose: bool) -> BTreeMap<(bool, Fault), Score> {
    let mut scores: BTreeMap<(bool, Fault), Score> = BTreeMap::new();
    let held = |ids: &BTreeSet<Id>| ids.iter().any(|id| truths.held_out.contains(id));
    let mut open: BTreeMap<BTreeSet<Id>, (Fault, &str)> =
        truths.planted.iter().map(|p| (p.ids.iter().cloned().collect(), (p.fault, p.kind.as_str()))).collect();
    for (ids, (fault, _)) in &open {
        scores.entry((held(ids), *fault)).or_default().wanted += 1;
    }
    let words = |ids: &BTreeSet<Id>| -> Vec<String> {
        let mut all: Vec<&Memory> = ids.iter().filter_map(|id| truths.snapshot.entry(id)).map(|e| &e.memory).collect();
        all.sort_by_key(|m| &m.created);
        all.iter().map(|m| m.summary.clone()).collect()
    };
    for (fault, ids) in found(truths) {
        let planted = open.get(&ids).map(|(planted, _)| *planted);
        let counts = if planted == Some(Fault::Stale) && fault == Fault::Conflict { Fault::Stale } else { fault };
        let score = scores.entry((held(&ids), counts)).or_default();
        score.found += 1;
        if planted == Some(counts) {
            score.right += 1;
            open.remove(&ids);
        } else if verbose && !held(&ids) {
            println!("false {fault:?}: {:?}", words(&ids));
        }
    }
    for (ids, (fault, kind)) in open.iter().filter(|(ids, _)| verbose && !held(ids)) {
        println!("missed {fault:?} ({kind}): {:?}", words(ids));
    }
    scores
}

#[test]
fn measure() {
    let verbose = std::env::var_os("VERBOSE").is_some();
    let size = if std::env::var_os("FULL").is_some() { FULL } else { SMALL };
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut total: BTreeMap<(bool, Fault), Score> = BTreeMap::new();
    for seed in 1..=seeds {
        let truths = Truths::new(seed, &size);
        if seed == 1 {
            println!("{} entries, {} planted", truths.snapshot.entries.len(), truths.planted.len());
        }
        for (key, score) in score(&truths, verbose) {
            let sum = total.entry(key).or_default();
            sum.wanted += score.wanted;
            sum.found += score.found;
            sum.right += score.right;
        }
    }
    for ((held, fault), score) in &total {
        let half = if *held { "held out" } else { "tuned on" };
        println!("{half} {fault:?}: recall {:.3} precision {:.3} {score:?}", score.recall(), score.precision());
    }
}
