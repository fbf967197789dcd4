//! Undo and redo as a stack: back, further back, forth; over what was typed by hand; per project; never over a hand edit.
#![expect(clippy::disallowed_methods, reason = "tests play the user who edits files by hand")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use claude_mem::error::Kind;
use claude_mem::model::{Change, Id, Memory, Relation, RelationType};
use claude_mem::store::{ADOPT, Blocked, Snapshot, Store, Walked, Way, Which};

use crate::store::{AT, commit, content, id, ids, memory, open};

fn add(store: &Store, project: &str, n: u64) {
    commit(store, project, vec![Change::Add(memory(n, "a", &format!("number {n}")))]);
}

/// The numbers of the memories that are there.
fn there(store: &Store, project: &str) -> Vec<String> {
    let s = store.snapshot(project).unwrap();
    assert!(s.problems.is_empty(), "{:?}", s.problems);
    s.entries.iter().map(|e| e.memory.summary.trim_start_matches("number ").to_owned()).collect()
}

#[test]
fn undo_walks_back_and_redo_forth_until_something_new() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let mut states = vec![content(home.path())];
    for n in 1..=4 {
        add(&store, "p", n);
        states.push(content(home.path()));
    }
    let walked = store.undo(1, false, None).unwrap();
    let back = walked.steps[0].takes_back.clone().unwrap();
    assert_eq!((back.seq, back.command.as_str(), walked.steps[0].title.as_str()), (4, "test", "number 4"));
    assert_eq!(content(home.path()), states[3]);
    store.undo(1, false, None).unwrap();
    assert_eq!(content(home.path()), states[2], "undo twice goes back twice");
    store.redo(1, false, None).unwrap();
    assert_eq!(content(home.path()), states[3]);
    store.undo(3, false, None).unwrap();
    assert!(content(home.path()).is_empty());
    assert_eq!(store.undo(1, false, None).unwrap_err().message, "there are 0 changes to undo, not 1");
    store.redo(4, false, None).unwrap();
    assert_eq!(content(home.path()), states[4]);
    assert!(store.redo(1, false, None).is_err());
    // Something new ends redo, and undo goes behind what was undone before.
    store.undo(2, false, None).unwrap();
    add(&store, "p", 9);
    assert!(store.steps(true, None).unwrap().is_empty());
    store.undo(2, false, None).unwrap();
    assert_eq!(content(home.path()), states[1]);
}

#[test]
fn twenty_steps_back_and_forth_after_much_undoing() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    for n in 1..=30 {
        add(&store, "p", n);
        if n % 3 == 0 {
            store.undo(1, false, None).unwrap();
            store.redo(1, false, None).unwrap();
            store.undo(1, false, None).unwrap();
            add(&store, "p", 100 + n);
        }
    }
    assert_eq!(store.steps(false, None).unwrap().len(), 20);
    assert!(store.history().unwrap().len() <= 40);
    let last = content(home.path());
    store.undo(20, false, None).unwrap();
    assert_eq!(there(&store, "p").len(), 10);
    assert_eq!(store.steps(true, None).unwrap().len(), 20);
    store.redo(20, false, None).unwrap();
    assert_eq!(content(home.path()), last);
}

#[test]
fn each_project_has_its_own_way_back() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let only = |name: &str| vec![name.to_owned(), "_global".to_owned()];
    add(&store, "p", 1);
    add(&store, "p", 2);
    add(&store, "q", 3);
    let walked = store.undo(1, false, Some(&only("p"))).unwrap();
    assert_eq!(walked.steps[0].title, "number 2");
    assert_eq!((there(&store, "p"), there(&store, "q")), (vec!["1".to_owned()], vec!["3".to_owned()]));
    // A change elsewhere does not end what can be redone here.
    add(&store, "q", 4);
    store.redo(1, false, Some(&only("p"))).unwrap();
    assert_eq!((there(&store, "p").len(), there(&store, "q").len()), (2, 2));
    assert!(store.undo(3, false, Some(&only("p"))).unwrap_err().message.contains("there are 2 changes"));
}

#[test]
fn what_was_typed_by_hand_is_walked_over_and_keeps_its_id() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    add(&store, "p", 1);
    add(&store, "p", 2);
    let file = home.path().join("p/working-memory.md");
    let typed = fs::read_to_string(&file).unwrap() + "\n### 手写的\n随手写的\n";
    fs::write(&file, typed).unwrap();
    let mut look = |s: &Snapshot| Ok(claude_mem::model::Plan::new("p", s.base.clone(), "list", AT));
    let receipt = store.update("p", AT, &ids(), &mut look).unwrap();
    let adopted = receipt.adopted[0].clone();
    assert_eq!(store.history().unwrap()[0].command, ADOPT);
    store.undo(1, false, None).unwrap();
    assert_eq!(there(&store, "p"), ["1", "手写的"]);
    assert!(store.snapshot("p").unwrap().entry(&adopted).is_some());
    assert_eq!(store.snapshot("p").unwrap().hand_edits, std::slice::from_ref(&adopted), "its owner has not looked at it");
    assert_eq!(store.update("p", AT, &ids(), &mut look).unwrap().adopted, []);
    store.undo(1, false, None).unwrap();
    assert_eq!(there(&store, "p"), ["手写的"]);
    store.redo(2, false, None).unwrap();
    assert_eq!(there(&store, "p").len(), 3);
    // Typed and committed in one go: the way back leaves it as well.
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\n### another one\n").unwrap();
    add(&store, "p", 5);
    let typed = store.history().unwrap()[1].ids[0].clone();
    store.undo(2, false, None).unwrap();
    let s = store.snapshot("p").unwrap();
    assert!(s.entry(&typed).is_some() && s.entry(&adopted).is_some() && s.entry(&id(2)).is_none());
    assert_eq!(store.verify().unwrap(), []);
}

#[test]
fn a_hand_edit_stops_undo_unless_forced_and_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    add(&store, "p", 1);
    add(&store, "p", 2);
    let file = home.path().join("p/working-memory.md");
    let edited = fs::read_to_string(&file).unwrap().replace("number 2", "number two");
    fs::write(&file, &edited).unwrap();
    assert_eq!(store.undo(1, false, None).unwrap_err().kind, Kind::Busy);
    assert_eq!(store.undo(2, false, None).unwrap_err().kind, Kind::Busy);
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    // Also when the edit was taken in: the entry is not as the commit left it.
    add(&store, "p", 3);
    store.undo(1, false, None).unwrap();
    assert_eq!(store.undo(1, false, None).unwrap_err().kind, Kind::Busy);
    let before = fs::read(&file).unwrap();
    store.undo(2, true, None).unwrap();
    assert!(!file.exists());
    store.redo(2, false, None).unwrap();
    assert_eq!(fs::read(&file).unwrap(), before, "the forced undo kept the edited file");
}

fn take(store: &Store, seq: u64, force: bool) -> Walked {
    store.walk(Way { redo: false, which: Which::Commit(seq), force, dry_run: false }).unwrap()
}

/// Numbers of the commits in the way, with the entries they are about.
fn later(blocked: &Blocked) -> Vec<(u64, Vec<Id>)> {
    blocked.later.iter().map(|(m, ids)| (m.seq, ids.clone())).collect()
}

#[test]
fn a_commit_that_later_ones_stand_on_is_not_taken_out() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    add(&store, "p", 1);
    let link = Relation { id: id(1), kind: RelationType::DependsOn };
    commit(&store, "p", vec![Change::Add(Memory { relations: vec![link], ..memory(2, "a", "number 2") })]);
    add(&store, "p", 3);
    let before = content(home.path());
    // Another entry refers to it.
    let blocked = take(&store, 1, false).blocked.unwrap();
    assert_eq!(later(&blocked), [(2, vec![id(2)])]);
    assert!(blocked.error().message.contains("commit 1 (test) cannot be undone: commit 2 (test) with 0000000002 stands on it"));
    assert_eq!(take(&store, 1, true).blocked.map(|b| b.later.len()), Some(1), "force is for hands, not for commits");
    // A change of topic leaves the words of an entry as they are.
    commit(&store, "p", vec![Change::Amend(memory(3, "another topic", "number 3"))]);
    assert_eq!(later(&take(&store, 3, false).blocked.unwrap()), [(4, vec![id(3)])]);
    assert_eq!(take(&store, 4, false).blocked, None);
    assert_eq!(content(home.path()), before);
    // A project under another name.
    store.rename("p", "q").unwrap();
    let renamed = content(home.path());
    assert_eq!(later(&take(&store, 3, false).blocked.unwrap()), [(6, vec![])]);
    assert_eq!(content(home.path()), renamed);
    take(&store, 6, false);
    // In any order that is free. The first one made the project, which others needed by then: an empty one is left.
    for seq in [2, 1, 3] {
        assert_eq!(take(&store, seq, false).blocked, None, "{seq}");
    }
    assert!(content(home.path()).into_keys().eq(["p/index.json"]) && store.snapshot("p").unwrap().catalogue.is_blank());
    store.redo(4, false, None).unwrap();
    assert_eq!(content(home.path()), renamed);
    for (seq, says) in [(5, "is an undo"), (77, "is not in the history")] {
        let way = Way { redo: false, which: Which::Commit(seq), force: false, dry_run: true };
        assert!(store.walk(way).unwrap_err().message.contains(says), "{seq}");
    }
}

#[test]
fn words_typed_by_hand_and_not_taken_in_yet_stay() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    add(&store, "p", 1);
    add(&store, "p", 2);
    let file = home.path().join("p/working-memory.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\n### 手写的\n随手写的\n").unwrap();
    store.undo(1, false, None).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("手写的") && text.contains("number 1") && !text.contains("number 2"), "{text}");
    // It is still something new, and the project cannot go under it.
    assert!(store.snapshot("p").unwrap().problems.iter().any(|p| p.code == "no_id"));
    assert_eq!(store.undo(1, false, None).unwrap_err().kind, Kind::Busy);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    store.undo(1, true, None).unwrap();
    assert!(!file.exists());
    let kept = store.history().unwrap().iter().find(|m| m.command == "undo").map(|m| m.seq).unwrap();
    assert_eq!(fs::read_to_string(home.path().join(format!(".state/history/{kept:06}/0-working-memory.md"))).unwrap(), text);
}
