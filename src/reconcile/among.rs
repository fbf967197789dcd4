//! Which of many claims disagree: what all of them teach together tells which pairs are about one thing.

use std::collections::HashMap;

use super::claim::Claim;
use super::conflict::{Clash, Found, clash_of, comparable, told};
use super::makes::VARIES;
use super::parallels::Parallels;
use super::reworded::Beside;
use crate::model::State;

/// Pairs of one make each from which on they are no contradictions.
const OFTEN: usize = 3;

/// The same where the newer says that something changed: many things can change at once, but hardly in the same words.
const CHANGED_OFTEN: usize = 2 * OFTEN;

/// A pair that disagrees: the older, the newer, and why.
pub(super) type Pair = (usize, usize, Clash);

/// A new claim against those around it: the place of each that disagrees, and why.
///
/// What has many fillers at one place among them is taken for a list of statements of one make, so it is best asked with
/// all of them at once. With fewer than four it is [`super::conflict::between`] of each.
pub fn clashes(older: &[&Claim], newer: &Claim) -> Vec<(usize, Clash)> {
    let told: Vec<Option<Found>> = older.iter().map(|older| told(older, newer)).collect();
    let asked = told.iter().enumerate().filter(|(_, told)| told.is_some()).map(|(at, _)| at + 1);
    let heads = std::iter::once(newer).chain(older.iter().copied()).map(|c| c.head.as_str());
    let parallels = Parallels::around(heads, asked);
    let pairs = older.iter().zip(told).enumerate().filter_map(|(at, (older, told))| {
        let at = at + 1;
        Some((at, 0, one(&parallels, (older, newer), (at, 0), || told)?))
    });
    sifted(&parallels, pairs.collect()).into_iter().map(|(at, _, clash)| (at - 1, clash)).collect()
}

/// Of these pairs of claims, those that disagree.
pub(super) fn disagreeing(claims: &[Claim], pairs: impl Iterator<Item = (usize, usize)>) -> Vec<Pair> {
    let parallels = Parallels::of(claims.iter().map(|c| c.head.as_str()));
    let found = pairs.filter_map(|(a, b)| {
        let pair = (claims.get(a)?, claims.get(b)?);
        Some((a, b, one(&parallels, pair, (a, b), || told(pair.0, pair.1))?))
    });
    sifted(&parallels, found.collect())
}

/// Whether two claims disagree: only those about one thing can.
fn one(parallels: &Parallels, (older, newer): (&Claim, &Claim), at: (usize, usize), told: impl FnOnce() -> Option<Found>) -> Option<Clash> {
    let beside = Beside { parallels, at, older, newer };
    let hold = || [older, newer].iter().all(|claim| claim.state == State::Valid);
    let found = match parallels.agree(at.0, at.1) {
        Some(false) => None,
        Some(true) if hold() && comparable(older, newer) => told().filter(|found| beside.holds(found)).or_else(|| beside.reworded()),
        _ => told(),
    };
    clash_of(older, newer, found?)
}

/// Without pairs that are too many to be contradictions.
fn sifted(parallels: &Parallels, mut pairs: Vec<Pair>) -> Vec<Pair> {
    // Two makes of statement that give many things two values each are about two properties.
    let makes = |a: usize, b: usize| {
        let (x, y) = (parallels.make_of(a), parallels.make_of(b));
        if x <= y { (x, y) } else { (y, x) }
    };
    let mut often: HashMap<(Vec<u32>, Vec<u32>), usize> = HashMap::new();
    // A claim of which it is not known what it is about, against many of which it is not known either.
    let mut unknown: HashMap<usize, usize> = HashMap::new();
    for (a, b, _) in &pairs {
        *often.entry(makes(*a, *b)).or_default() += 1;
        for at in [a, b].into_iter().filter(|_| parallels.agree(*a, *b).is_none()) {
            *unknown.entry(*at).or_default() += 1;
        }
    }
    let many = |at: usize| unknown.get(&at).is_some_and(|n| *n >= VARIES);
    pairs.retain(|(a, b, clash)| {
        let pair = makes(*a, *b);
        let most = if clash.changed { CHANGED_OFTEN } else { OFTEN };
        let two = pair.0 != pair.1 && often.get(&pair).is_some_and(|n| *n >= most);
        let list = parallels.agree(*a, *b).is_none() && (many(*a) || many(*b));
        !two && (clash.changed || !list)
    });
    pairs
}
