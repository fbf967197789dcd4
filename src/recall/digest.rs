//! A few lines for one prompt: the memories that it matched, best first, without what a session has been told already.

use std::collections::{BTreeMap, BTreeSet};

use super::{Aged, Budget, Injection, Mode, Request, render, report, select};
use crate::model::Id;
use crate::store::{Catalogue, Snapshot};
use crate::text::words::Language;

/// Memories that are looked at for one prompt; most of the best may have been given already.
pub const MATCHES: usize = 30;

/// The most a prompt gets.
pub const BUDGET: Budget = Budget::Utf16(2000);

/// What a prompt gets.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Memories that match, best first.
    pub ids: &'a [Id],
    /// Lines at most.
    pub most: usize,
    /// `YYYY-MM-DD`: decides what has lapsed.
    pub today: &'a str,
    /// Language of the opening; `None`: that of the memories.
    pub language: Option<Language>,
    /// What the repository says against memories.
    pub aged: BTreeMap<Id, Aged>,
}

/// The text for a prompt; no bytes if nothing that matches still holds. What is in dispute is shown with its other side.
pub fn digest(snapshots: &[&Snapshot], wanted: &Wanted<'_>) -> Injection {
    let few: Vec<Snapshot> = snapshots.iter().map(|s| around(s, wanted.ids)).collect();
    let few: Vec<&Snapshot> = few.iter().collect();
    let (language, aged) = (wanted.language, wanted.aged.clone());
    let request = Request { mode: Mode::Matching, budget: BUDGET, language, aged, ..Request::new(wanted.today) };
    let mut selection = select::select(&few, &request);
    let rank = |pick: &select::Pick<'_>| {
        let places = pick.members.iter().filter_map(|k| wanted.ids.iter().position(|id| *id == k.memory.id));
        places.min()
    };
    selection.picks.retain(|p| rank(p).is_some());
    selection.picks.sort_by_key(|p| rank(p));
    selection.left_out.retain(|l| wanted.ids.contains(&l.id));

    let words = render::Words::of(request.language.unwrap_or_else(|| render::language_of(&selection.picks)));
    let frame = render::Frame { words: &words, project: "", mode: Mode::Matching };
    let mut used = BUDGET.size(&frame.digest(&[]));
    let mut chosen = Vec::new();
    for line in selection.picks.iter().filter_map(|p| frame.line(p, BUDGET)) {
        if chosen.len() == wanted.most {
            break;
        }
        if used + line.size <= BUDGET.most() {
            used += line.size;
            chosen.push(line);
        }
    }
    let text = if chosen.is_empty() { String::new() } else { frame.digest(&chosen) };
    report(&selection, &chosen, text, BUDGET)
}

/// The part of a snapshot that decides about these memories: they themselves, and those they are tied to.
fn around(snapshot: &Snapshot, ids: &[Id]) -> Snapshot {
    let mut near: BTreeSet<&str> = ids.iter().map(Id::as_str).collect();
    let mine = |id: &str| ids.iter().any(|i| i.as_str() == id);
    for record in snapshot.catalogue.conflicts.iter().filter(|r| mine(&r.older) || mine(&r.newer)) {
        near.extend([record.older.as_str(), record.newer.as_str()]);
    }
    for entry in &snapshot.entries {
        let memory = &entry.memory;
        for relation in &memory.relations {
            if mine(relation.id.as_str()) {
                near.insert(memory.id.as_str());
            }
            if mine(memory.id.as_str()) {
                near.insert(relation.id.as_str());
            }
        }
    }
    let kept = |id: &str| near.contains(id);
    let conflicts = snapshot.catalogue.conflicts.iter().filter(|r| kept(&r.older) && kept(&r.newer)).cloned().collect();
    let memories = &snapshot.catalogue.memories;
    let memories = near.iter().filter_map(|id| Some(((*id).to_owned(), memories.get(id)?.clone()))).collect();
    Snapshot {
        project: snapshot.project.clone(),
        entries: snapshot.entries.iter().filter(|e| kept(e.memory.id.as_str())).cloned().collect(),
        catalogue: Catalogue { conflicts, memories, ..Catalogue::default() },
        ..Snapshot::default()
    }
}
