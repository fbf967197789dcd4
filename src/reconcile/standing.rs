//! What disagrees among the memories that are there, without a new one: pairs of claims, and todos that a later entry says
//! are done. Proposals for `lint`; a person decides.

use std::collections::HashSet;

use super::among::disagreeing;
use super::claim::Claim;
use super::lint::{Kind, Proposal, proposal};
use super::neighbours::Neighbours;
use super::todo::{Closes, closed_by, is_open};
use crate::model::{Id, Memory, State};
use crate::store::Snapshot;

/// Pairs that cannot both be followed, the older first, unless they are linked or were settled before.
pub(super) fn conflicts(snapshot: &Snapshot, memories: &[Memory]) -> Vec<Proposal> {
    let mut all: Vec<&Memory> = memories.iter().collect();
    all.sort_by_key(|m| (m.day(), &m.id));
    let claims = Claim::all(&all);
    let known: HashSet<(&str, &str)> = snapshot.catalogue.conflicts.iter().map(|c| (c.older.as_str(), c.newer.as_str())).collect();
    let settled = |a: &Memory, b: &Memory| {
        let linked = |x: &Memory, y: &Id| x.relations.iter().any(|r| r.id == *y);
        let pair = (a.id.as_str(), b.id.as_str());
        linked(a, &b.id) || linked(b, &a.id) || known.contains(&pair) || known.contains(&(pair.1, pair.0))
    };
    let mut seen = Neighbours::default();
    let mut pairs = Vec::new();
    for (now, newer) in all.iter().enumerate() {
        pairs.extend(seen.near(newer).into_iter().map(|at| (at, now)));
        seen.add(newer);
    }
    let found = disagreeing(&claims, pairs.into_iter()).into_iter().filter_map(|(a, b, clash)| Some((*all.get(a)?, *all.get(b)?, clash)));
    let open = found.filter(|(older, newer, _)| !settled(older, newer));
    open.map(|(older, newer, clash)| proposal(&[older, newer], Kind::Conflict, clash.reason)).collect()
}

/// Open todos of which a later entry says that they are done.
pub(super) fn finished(snapshot: &Snapshot) -> Vec<Proposal> {
    let all = || snapshot.entries.iter().map(|e| &e.memory);
    let mut open: Vec<&Memory> = all().filter(|m| is_open(m)).collect();
    open.sort_by_key(|m| &m.id);
    let mut done: Vec<&Memory> = all().filter(|m| m.state == State::Done && m.relations.is_empty()).collect();
    done.sort_by_key(|m| &m.id);
    let mut found: Vec<Proposal> = Vec::new();
    for entry in done {
        let before = open.iter().copied().filter(|todo| todo.day() <= entry.day());
        if let Closes::One(todo) = closed_by(entry, before)
            && !found.iter().any(|p| p.ids.contains(&todo.id))
        {
            found.push(proposal(&[todo, entry], Kind::Finish { todo: todo.id.clone() }, "the later one says that it is done"));
        }
    }
    found
}
