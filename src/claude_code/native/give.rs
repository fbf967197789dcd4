//! Memories into a memory folder: one file of ours each, and one index line, within what the client delivers.
//!
//! Only files and lines that are as we wrote them are touched. What somebody changed or removed stays that way, and is said.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::folder::Folder;
use super::record::Written;
use super::{INDEX, PREFIX, file, index, own_file, take};
use crate::claude_code::wiring::Edit;
use crate::model::{Id, Layer, Memory};
use crate::store::Snapshot;

/// What export would do.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The files, the index last.
    pub edits: Vec<Edit>,
    /// What is ours in the folder afterwards.
    pub written: BTreeMap<String, Written>,
    /// Memories written anew.
    pub added: Vec<Id>,
    /// Memories whose file or line changes.
    pub updated: Vec<Id>,
    /// Files of ours that go: their memory is gone, or does not hold any more.
    pub removed: Vec<String>,
    /// Memories whose file is as it should be.
    pub same: Vec<Id>,
    /// Files, or index lines, that somebody changed or removed: left alone.
    pub edited: Vec<String>,
    /// Memories that found no room in the index.
    pub no_room: Vec<Id>,
    /// Memories that wait for a decision, to be confirmed, or to be accepted.
    pub waiting: Vec<Id>,
}

/// How to export.
#[derive(Debug)]
pub struct Wish<'a> {
    /// Today, `YYYY-MM-DD`.
    pub today: &'a str,
    /// What we wrote into this folder.
    pub written: &'a BTreeMap<String, Written>,
    /// Write files again that somebody removed.
    pub again: bool,
    /// Whether hand edits of our store count before they are accepted.
    pub trust_hand_edits: bool,
}

/// Which memories of these projects belong into the folder, pinned and newest first, and which wait.
fn choose(folder: &Folder, snapshots: &[Snapshot], wish: &Wish<'_>) -> (Vec<(Memory, String)>, Vec<Id>) {
    let (mut chosen, mut waiting) = (Vec::new(), Vec::new());
    for snapshot in snapshots {
        let pending = snapshot.catalogue.conflicts.iter().filter(|c| c.state == "pending");
        let disputed: BTreeSet<&str> = pending.flat_map(|c| [c.older.as_str(), c.newer.as_str()]).collect();
        for memory in snapshot.entries.iter().map(|e| &e.memory) {
            let lasts = memory.layer != Layer::Transient && memory.holds_on(wish.today);
            if !lasts || take::is_from(memory, snapshot, &folder.path) {
                continue;
            }
            let held = !wish.trust_hand_edits && snapshot.hand_edits.contains(&memory.id);
            // Without secrets, wherever they came from.
            let mut clean = memory.clone();
            take::scrub(&mut clean);
            // A rule that nobody confirmed would come to the client as the user's word.
            if held || memory.is_unconfirmed() || disputed.contains(memory.id.as_str()) || clean.summary.is_empty() {
                waiting.push(memory.id.clone());
            } else {
                chosen.push((clean, snapshot.project.clone()));
            }
        }
    }
    chosen.sort_by_key(|(m, _)| (!m.pinned, Reverse(m.day()), m.id.clone()));
    (chosen, waiting)
}

/// Plans to export projects (this one first, then the global one) into a folder.
pub fn plan(folder: &Folder, snapshots: &[Snapshot], wish: &Wish<'_>) -> Given {
    let mut given = Given::default();
    let projects: BTreeSet<&str> = snapshots.iter().map(|s| s.project.as_str()).collect();
    let ours: BTreeMap<&String, &Written> = wish.written.iter().filter(|(_, w)| projects.contains(w.project.as_str())).collect();
    let (chosen, waiting) = choose(folder, snapshots, wish);
    given.waiting = waiting;

    // What somebody changed keeps its place in the index, so only the others compete for room.
    let mut candidates = Vec::new();
    for (memory, project) in chosen {
        let name = own_file(&memory.id);
        let text = file::print(&memory);
        let there = folder.file(&name).map(|f| f.text.as_str());
        let untouched = match (there, wish.written.get(&name)) {
            (Some(there), written) => file::digest(there) == file::digest(&text) || written.is_some_and(|w| w.is(there)),
            (None, Some(_)) => wish.again,
            // A name that is taken by what cannot be read is not ours.
            (None, None) => !folder.problems.iter().any(|p| p.file == name),
        };
        if untouched { candidates.push((memory, project, name, text)) } else { given.edited.push(name) }
    }
    let lines: Vec<String> = candidates.iter().map(|(memory, ..)| index::line_for(memory)).collect();
    // The line of a file that somebody changed stays with it.
    let as_written =
        |name: &String, w: &Written| folder.file(name).is_none_or(|f| w.is(&f.text)) || candidates.iter().any(|(.., n, _)| n == name);
    let mut known: BTreeMap<&str, &str> =
        ours.iter().filter(|(name, w)| as_written(name, w)).map(|(name, w)| (name.as_str(), w.line.as_str())).collect();
    // A line that reads as we would write it is ours, also where the record was lost.
    for ((.., name, _), line) in candidates.iter().zip(&lines).filter(|(_, line)| folder.index_text().contains(*line)) {
        known.entry(name).or_insert(line);
    }
    let others = index::without_ours(folder.index_text(), &known);
    let room = index::fitting(&others, &lines);
    given.no_room = candidates.iter().skip(room).map(|(memory, ..)| memory.id.clone()).collect();
    let wanted: Vec<(String, String)> =
        candidates.iter().zip(&lines).take(room).map(|((.., name, _), line)| (name.clone(), line.clone())).collect();
    let set = index::set(folder.index_text(), &known, &wanted);

    for ((memory, project, name, text), line) in candidates.iter().zip(&lines).take(room) {
        let now = folder.file(name).map(|f| f.text.clone());
        // The date that the client adds is no change.
        let keeps = now.as_ref().is_some_and(|now| file::digest(now) == file::digest(text));
        let after = if keeps { now.clone() } else { Some(text.clone()) };
        let same = keeps && (set.edited.contains(name) || folder.index_text().contains(line));
        let list = if now.is_none() {
            &mut given.added
        } else if same {
            &mut given.same
        } else {
            &mut given.updated
        };
        list.push(memory.id.clone());
        given.edits.push(edit(folder, name, now, after));
        let line = if set.edited.contains(name) { wish.written.get(name).map_or(line, |w| &w.line) } else { line };
        given.written.insert(name.clone(), Written::of(project, text, line));
    }
    given.edited.extend(set.edited.iter().filter(|f| given.written.contains_key(*f)).map(|f| format!("{INDEX}: the line of {f}")));
    retire(folder, &ours, &mut given);
    // An index of nothing but our lines goes with them.
    let after = Some(set.text).filter(|text| !text.is_empty());
    given.edits.push(edit(folder, INDEX, folder.index.clone(), after));
    given.edits.retain(Edit::changes);
    // What others of our projects have there stays in the record.
    given.written.extend(wish.written.iter().filter(|(_, w)| !projects.contains(w.project.as_str())).map(|(f, w)| (f.clone(), w.clone())));
    given
}

/// Takes files of ours out that are wanted no more, unless somebody changed them.
fn retire(folder: &Folder, ours: &BTreeMap<&String, &Written>, given: &mut Given) {
    for (name, written) in ours {
        if given.written.contains_key(*name) || !name.starts_with(PREFIX) {
            continue;
        }
        match folder.file(name) {
            Some(there) if written.is(&there.text) => {
                given.removed.push((*name).clone());
                given.edits.push(edit(folder, name, Some(there.text.clone()), None));
            }
            there => {
                if there.is_some() && !given.edited.contains(name) {
                    given.edited.push((*name).clone());
                }
                // Remembered as long as it is there or its memory is: else it would come back.
                if given.edited.contains(name) {
                    given.written.insert((*name).clone(), (*written).clone());
                }
            }
        }
    }
}

fn edit(folder: &Folder, name: &str, now: Option<String>, after: Option<String>) -> Edit {
    Edit { path: folder.path.join(name), before: now.clone(), now, after, note: None }
}
