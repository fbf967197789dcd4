//! Whatever was done, undo of all of it gives the first bytes again: sequences of ingest, hand edits, resolving, refining,
//! pruning, importing and forgetting, in English and Chinese.
//!
//! What is compared: every Markdown file byte for byte, and `index.json` without access counts (`hits`, `last_access`). Where
//! hands edited files in between, each edit is taken back by hand in its turn, and then the marks that only edits by hand
//! leave (`edited`, `held`, the time of a file, the order under a keyword) do not count either.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::Path;

use claude_mem::error::Kind;
use claude_mem::store::{ADOPT, Catalogue, Store, Way, Which};
use proptest::prelude::*;

use crate::history_steps::{Play, Step};
use crate::store::{content, open};

/// Sequences in a normal run; `CLAUDE_MEM_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("CLAUDE_MEM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

/// The files as they are compared.
type Files = BTreeMap<String, String>;

/// `by_hand`: files were edited by hand in between.
fn compared(home: &Path, by_hand: bool) -> Files {
    let one = |(path, bytes): (String, Vec<u8>)| {
        let text = String::from_utf8(bytes).unwrap();
        if !path.ends_with("index.json") {
            return (path, text);
        }
        let mut catalogue: Catalogue = serde_json::from_str(&text).unwrap();
        let ids: Vec<String> = catalogue.memories.keys().map(str::to_owned).collect();
        for id in ids {
            let known = catalogue.memories.get_mut(&id).unwrap();
            (known.hits, known.last_access) = (0, None);
            known.edited &= !by_hand;
            known.held &= !by_hand;
            known.announced &= !by_hand;
        }
        if by_hand {
            catalogue.files.values_mut().for_each(|f| f.written.clear());
            let keywords: Vec<String> = catalogue.keywords.keys().map(str::to_owned).collect();
            keywords.iter().for_each(|keyword| catalogue.keywords.get_mut(keyword).unwrap().sort());
        }
        (path, catalogue.to_json().unwrap())
    };
    content(home).into_iter().map(one).collect()
}

/// The entries, whatever their order and whatever else is in the files.
fn entries(store: &Store) -> BTreeMap<String, String> {
    let past = store.past().unwrap();
    let now = past.now().unwrap();
    let text = |key| {
        past.side(&now, key).unwrap().version().map(|v| format!("{}/{} {:?}\n{}", v.project, v.file, v.memory.topic, v.text)).unwrap()
    };
    now.entries.keys().map(|key| (key.1.to_string(), text(key))).collect()
}

fn done(store: &Store) -> usize {
    store.steps(false, None).unwrap().len()
}

/// Forth, and back step by step; a hand edit is taken back by hand in its turn.
fn there_and_back(steps: &[Step]) {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::begin(home.path());
    let store = open(home.path());
    let by_hand = steps.iter().any(Step::is_by_hand);
    let first = compared(home.path(), by_hand);
    let mut made = Vec::new();
    for step in steps {
        let (before, commits) = (content(home.path()), done(&store));
        play.step(step);
        made.push((step, before, done(&store) - commits));
    }
    let last = compared(home.path(), by_hand);
    let mut undone = 0;
    for (step, before, commits) in made.into_iter().rev() {
        if step.is_by_hand() {
            play.put_back(&before);
        } else if commits > 0 {
            store.undo(commits, false, None).unwrap();
            undone += commits;
        }
    }
    assert_eq!(compared(home.path(), by_hand), first, "undo of all");
    if by_hand {
        return;
    }
    if undone > 0 {
        store.redo(undone, false, None).unwrap();
    }
    assert_eq!(compared(home.path(), by_hand), last, "redo of all");
}

/// Back in any order: what is refused names later commits, the newest can always go, and at the end all is as it was.
fn in_any_order(steps: &[Step], order: &[usize]) {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::begin(home.path());
    let store = open(home.path());
    let (first, commits) = (entries(&store), done(&store));
    steps.iter().filter(|s| !s.is_by_hand()).for_each(|step| play.step(step));
    let last = compared(home.path(), false);
    let mut taken = 0;
    for choice in order.iter().cycle().take(200) {
        let there = store.steps(false, None).unwrap();
        let there = &there[..there.len() - commits];
        if there.is_empty() {
            break;
        }
        let way = |which| Way { redo: false, which, force: false, dry_run: false };
        let walked = store.walk(way(Which::Commit(there[choice % there.len()].seq))).unwrap();
        if let Some(blocked) = walked.blocked {
            assert!(!blocked.later.is_empty() && blocked.by_hand.is_empty() && blocked.files.is_empty(), "{blocked:?}");
            assert!(blocked.later.iter().all(|(m, _)| there.iter().any(|t| t.seq == m.seq) && m.seq > blocked.commit.seq));
            assert_eq!(blocked.error().kind, Kind::Decision);
            store.undo(1, false, None).unwrap();
        }
        taken += 1;
    }
    assert_eq!(entries(&store), first, "undo in any order");
    if taken > 0 {
        store.redo(taken, false, None).unwrap();
    }
    assert_eq!(compared(home.path(), false), last, "redo of all");
    assert_eq!(store.verify().unwrap(), []);
}

/// Straight back over hand edits: each undo keeps every word typed by hand, or is refused and changes nothing.
fn over_hand_edits(steps: &[Step]) {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::begin(home.path());
    let store = open(home.path());
    steps.iter().for_each(|step| play.step(step));
    let typed: Vec<String> = play.typed.iter().filter(|word| everything(home.path()).contains(*word)).cloned().collect();
    while done(&store) > 0 {
        let before = content(home.path());
        match store.undo(1, false, None) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind, Kind::Busy, "{error:?}");
                assert_eq!(content(home.path()), before);
                break;
            }
        }
        let text = everything(home.path());
        let lost: Vec<&String> = typed.iter().filter(|word| !text.contains(*word)).collect();
        assert!(lost.is_empty(), "{lost:?} went with an undo");
    }
    // What undo does not take back is no step of it.
    assert!(store.steps(false, None).unwrap().iter().all(|m| m.command != ADOPT));
}

fn everything(home: &Path) -> String {
    content(home).into_iter().filter(|(path, _)| path.ends_with(".md")).map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undo_of_all_gives_the_first_bytes(steps in prop::collection::vec(Step::any(), 1..=8)) {
        there_and_back(&steps);
    }

    #[test]
    fn undo_in_any_order_gives_the_first_entries(
        steps in prop::collection::vec(Step::any(), 1..=8),
        order in prop::collection::vec(0usize..64, 1..8),
    ) {
        in_any_order(&steps, &order);
    }

    #[test]
    fn undo_takes_back_no_word_that_was_typed_by_hand(steps in prop::collection::vec(Step::any(), 1..=8)) {
        over_hand_edits(&steps);
    }
}
