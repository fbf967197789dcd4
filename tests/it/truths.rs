//! The detector without a model on a whole store with planted contradictions, repetitions and stale entries.

#![expect(clippy::print_stdout, reason = "figures are for people")]

mod planted;

use std::collections::{BTreeMap, BTreeSet};

use claude_mem::model::{Id, Memory};
use claude_mem::reconcile::duplicate::same;
use claude_mem::reconcile::lint::{self, lint};
use planted::{FULL, Fault, KNOWN, SMALL, STRANGE, STRANGERS, TODAY, Truths};

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

fn found(truths: &Truths) -> Vec<(Fault, BTreeSet<Id>, String)> {
    let mut found = Vec::new();
    for proposal in lint(&truths.snapshot, TODAY) {
        match proposal.kind {
            lint::Kind::Merge { .. } => found.push((Fault::Duplicate, proposal.ids.into_iter().collect(), proposal.reason.into_owned())),
            lint::Kind::Lapse | lint::Kind::Finish { .. } => {
                found.push((Fault::Stale, proposal.ids.into_iter().collect(), proposal.reason.into_owned()));
            }
            lint::Kind::Conflict => found.push((Fault::Conflict, proposal.ids.into_iter().collect(), proposal.reason.into_owned())),
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
    for (fault, ids, reason) in found(truths) {
        let planted = open.get(&ids).map(|(planted, _)| *planted);
        let counts = if planted == Some(Fault::Stale) && fault == Fault::Conflict { Fault::Stale } else { fault };
        let score = scores.entry((held(&ids), counts)).or_default();
        score.found += 1;
        if planted == Some(counts) {
            score.right += 1;
            open.remove(&ids);
        } else if verbose {
            println!("false {fault:?} (held out: {}): {:?}: {reason}", held(&ids), words(&ids));
        }
    }
    for (ids, (fault, kind)) in open.iter().filter(|_| verbose) {
        println!("missed {fault:?} ({kind}): {:?}", words(ids));
    }
    scores
}

/// The least recall and precision for each fault; of conflicts for shapes that it was tuned on, and for others.
struct Floors {
    conflict: [(f64, f64); 2],
    duplicate: (f64, f64),
    stale: (f64, f64),
}

/// What the detector finds of what was planted, on shapes that it was tuned on and on others.
#[test]
fn planted_faults_are_found_and_only_those() {
    // The aim is 0.9 for both. These floors only catch a step back.
    let (tuned, held) = ((0.9, 0.85), (0.85, 0.90));
    play(KNOWN, &Floors { conflict: [tuned, held], duplicate: (0.5, 0.98), stale: (0.7, 0.98) });
}

/// The same in words that nobody had in mind: c as tuned on, d as held out. At first sight recall was .44 and precision .41 on c,
/// .47 and .68 on d, which came later.
#[test]
fn strange_words_are_found_less_often() {
    play(STRANGE, &Floors { conflict: [(0.45, 0.70); 2], duplicate: (0.35, 0.98), stale: (0.5, 0.98) });
}

/// And in the words that people use most often for such things, by somebody else who knew neither the detector nor the other shapes.
/// At first sight recall was .88 and precision .83.
#[test]
fn plain_words_of_a_stranger() {
    play(STRANGERS, &Floors { conflict: [(0.75, 0.78); 2], duplicate: (0.35, 0.98), stale: (0.65, 0.98) });
}

/// Looks through stores of these files and holds what is found against the least recall and precision.
fn play(files: &[(&str, bool)], floors: &Floors) {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default);
    let full = number("CLAUDE_MEM_TRUTHS", 0) >= 2000;
    let mut total: BTreeMap<(bool, Fault), Score> = BTreeMap::new();
    for seed in 1..=number("CLAUDE_MEM_SEEDS", 1) {
        let truths = Truths::new(seed, if full { &FULL } else { &SMALL }, files);
        println!("seed {seed}: {} entries, {} planted", truths.snapshot.entries.len(), truths.planted.len());
        assert_eq!(truths.planted.len(), 50 * files.len());
        for (key, score) in score(&truths, std::env::var_os("VERBOSE").is_some()) {
            let sum = total.entry(key).or_default();
            (sum.wanted, sum.found, sum.right) = (sum.wanted + score.wanted, sum.found + score.found, sum.right + score.right);
        }
    }
    for ((held, fault), score) in &total {
        let half = if *held { "held out" } else { "tuned on" };
        println!("{half} {fault:?}: recall {:.3} precision {:.3} {score:?}", score.recall(), score.precision());
    }
    for ((held, fault), score) in &total {
        let (recall, precision) = match fault {
            Fault::Conflict => floors.conflict[usize::from(*held)],
            Fault::Duplicate => floors.duplicate,
            Fault::Stale => floors.stale,
        };
        assert!(score.recall() >= recall && score.precision() >= precision, "{fault:?}, held out {held}: {score:?}");
    }
}

/// What differs in a value or in its sign is never merged, whatever the shape.
#[test]
fn what_differs_is_never_merged() {
    let cases = std::env::var("CLAUDE_MEM_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(2000);
    let mut seen = 0;
    for seed in 1.. {
        let before = seen;
        for planted in Truths::new(seed, &SMALL, if seed % 2 == 1 { KNOWN } else { STRANGE }).contradictions() {
            let (older, newer) = planted;
            assert!(!same(&older, &newer), "{} / {}", older.summary, newer.summary);
            seen += 1;
        }
        assert!(seen > before);
        if seen >= cases {
            break;
        }
    }
    println!("{seen} pairs");
}

/// Remembering with the memories that are near finds what it finds with all of them.
#[test]
fn what_is_near_is_all_that_remembering_has_to_know() {
    use claude_mem::pipeline::by_hand::{near, remember};
    use claude_mem::store::Snapshot;
    let truths = Truths::new(1, &SMALL, KNOWN);
    let whole = truths.snapshot.clone();
    let summaries: Vec<&str> = whole.entries.iter().map(|e| e.memory.summary.as_str()).collect();
    let (mut found, mut read) = (0, 0);
    let pairs = truths.contradictions();
    for (_, new) in pairs.iter().step_by(pairs.len() / 80) {
        let entries: Vec<_> = near(new, &summaries).into_iter().map(|at| whole.entries[at].clone()).collect();
        let part = Snapshot { is_part: true, entries, ..whole.clone() };
        let (all, few) = (remember(&whole, new, TODAY), remember(&part, new, TODAY));
        assert_eq!((&all.known, &all.disagrees), (&few.known, &few.disagrees), "{}", new.summary);
        assert_eq!(all.plan.changes, few.plan.changes, "{}", new.summary);
        found += all.disagrees.len();
        read += part.entries.len();
    }
    assert!(found > 20 && read < 80 * whole.entries.len() / 2, "{found} found, {read} read");
}

/// What is typed is held against what is near with all that this teaches, as an ingest does: what is planted is found there, too.
#[test]
fn what_is_typed_learns_from_what_is_near() {
    use claude_mem::pipeline::by_hand::remember;
    let truths = Truths::new(1, &FULL, KNOWN);
    let (mut wanted, mut found, mut right) = (0, 0, 0);
    for planted in truths.planted.iter().filter(|p| p.fault == Fault::Conflict).step_by(4) {
        let [older, newer] = planted.ids.as_slice() else { continue };
        let mut before = truths.snapshot.clone();
        let Some(new) = before.entry(newer).map(|e| e.memory.clone()) else { continue };
        before.entries.retain(|e| e.memory.id != *newer);
        let noted = remember(&before, &new, TODAY);
        (wanted, found, right) = (wanted + 1, found + noted.disagrees.len(), right + usize::from(noted.disagrees.contains(older)));
    }
    println!("typed: {wanted} planted, {found} found, {right} right");
    assert!(right * 10 >= wanted * 8 && right * 10 >= found * 9, "{wanted} planted, {found} found, {right} right");
}
