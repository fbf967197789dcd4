//! The store on a real disk: commits, hand edits, lost catalogues, undo, foreign files, permissions, many writers.
#![expect(clippy::disallowed_methods, reason = "tests play the user who edits files by hand")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use claude_mem::error::{Kind, Result};
use claude_mem::model::plan::SessionRecord;
use claude_mem::model::{Change, Evidence, Id, Layer, Memory, Plan, RelationType, Speaker, State, Tombstone};
use claude_mem::store::{GLOBAL, Receipt, Snapshot, Store};

pub const AT: &str = "2025-06-10T14:03:22+08:00";

pub fn open(home: &Path) -> Store {
    Store::open(home, AT).unwrap().store
}

/// Ids `aaaaaaaa00`, `…01`, …
pub fn ids() -> impl Fn() -> Result<Id> {
    let next = Cell::new(0x0294_a529_4a52_9400_u64);
    move || {
        next.set(next.get() + 1);
        Ok(Id::from_bits(next.get()))
    }
}

pub fn id(n: u64) -> Id {
    Id::from_bits(n)
}

pub fn memory(n: u64, topic: &str, summary: &str) -> Memory {
    let mut memory = Memory::new(id(n), Layer::Working, claude_mem::model::Kind::Decision, summary);
    memory.topic = Some(topic.to_owned());
    memory.keywords = vec!["支付".to_owned(), format!("k{n}")];
    memory.session = Some("2025-06-10-1234abcd".to_owned());
    memory.created = Some(AT.to_owned());
    memory.evidence = vec![Evidence { session: None, turn: 12, speaker: Speaker::User, quote: "就这么定了".to_owned() }];
    memory
}

pub fn commit(store: &Store, project: &str, changes: Vec<Change>) -> Receipt {
    let snapshot = store.snapshot(project).unwrap();
    let plan = Plan { changes, ..Plan::new(project, snapshot.base, "test", AT) };
    store.commit(&plan, &ids()).unwrap()
}

/// Every file below a folder with its bytes.
pub fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(path) = todo.pop() {
        for item in fs::read_dir(&path).into_iter().flatten().flatten() {
            if item.file_type().unwrap().is_dir() {
                todo.push(item.path());
            } else {
                let name = item.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                out.insert(name, fs::read(item.path()).unwrap());
            }
        }
    }
    out
}

/// The projects' files without backups: what must be old or new.
pub fn content(home: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(home).into_iter().filter(|(name, _)| !name.starts_with(".state") && !name.ends_with(".bak")).collect()
}

fn summaries(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.entries.iter().map(|e| e.memory.summary.as_str()).collect()
}

#[test]
fn reading_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let inner = home.path().join("memory");
    let store = open(&inner);
    assert!(store.projects().unwrap().is_empty());
    assert_eq!(store.snapshot("payment-api").unwrap().entries.len(), 0);
    assert!(store.history().unwrap().is_empty());
    assert!(!inner.exists());
}

#[test]
fn every_change_has_its_effect() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let mut note = memory(3, "部署", "本周内完成迁移");
    note.layer = Layer::Transient;
    let receipt = commit(
        &store,
        "p",
        vec![Change::Add(memory(1, "订单", "用唯一索引")), Change::Add(memory(2, "订单", "用防抖")), Change::Add(note)],
    );
    assert_eq!(receipt.files, ["p/transient/2025-06-10-1234abcd.md", "p/working-memory.md", "p/index.json"]);
    assert_eq!(store.projects().unwrap(), ["p"]);

    commit(&store, "p", vec![Change::Conflict { older: id(1), newer: id(2), reason: "不能都对".into(), supersedes: true }]);
    let s = store.snapshot("p").unwrap();
    assert_eq!(s.entry(&id(1)).unwrap().memory.related(RelationType::Conflicts).collect::<Vec<_>>(), [&id(2)]);
    assert_eq!((s.catalogue.conflicts[0].state.as_str(), s.catalogue.conflicts[0].supersedes), ("pending", true));
    assert_eq!(s.catalogue.keywords.get("支付").unwrap().len(), 3);

    commit(&store, "p", vec![Change::Settle { older: id(1), newer: id(2), how: "new".into(), tombstone: None }]);
    let s = store.snapshot("p").unwrap();
    let old = &s.entry(&id(1)).unwrap().memory;
    assert_eq!((old.state, old.relations[0].kind), (State::Superseded, RelationType::SupersededBy));
    assert_eq!(s.entry(&id(2)).unwrap().memory.relations[0].kind, RelationType::Supersedes);
    assert_eq!(s.catalogue.conflicts[0].state, "new");

    let evidence = Evidence { session: Some("2026-02-01-abcd1234".into()), turn: 3, speaker: Speaker::User, quote: "还是这样".into() };
    commit(&store, "p", vec![Change::Confirm { id: id(2), evidence: Some(evidence) }]);
    let s = store.snapshot("p").unwrap();
    assert_eq!(s.entry(&id(2)).unwrap().memory.evidence.len(), 2);
    assert_eq!(s.catalogue.memories.get(id(2).as_str()).unwrap().hits, 1);
    assert!(fs::read_to_string(home.path().join("p/working-memory.md")).unwrap().contains("> 还是这样 (2026-02-01-abcd1234#T3, user)"));

    let receipt = commit(&store, "p", vec![Change::Touch { ids: vec![id(2)] }]);
    assert_eq!((receipt.seq, receipt.files), (None, vec!["p/index.json".to_owned()]));

    commit(&store, "p", vec![Change::Archive { id: id(1) }]);
    let s = store.snapshot("p").unwrap();
    assert!(s.entry(&id(1)).is_none());
    assert!(fs::read_to_string(home.path().join("p/transient/archive/2025-06.md")).unwrap().contains("用唯一索引"));

    let tombstone = Some(Tombstone { hash: "ab".into(), ..Tombstone::default() });
    commit(&store, "p", vec![Change::Forget { id: id(3), tombstone }]);
    let s = store.snapshot("p").unwrap();
    assert_eq!((s.catalogue.tombstones.len(), summaries(&s)), (1, vec!["用防抖"]));
    assert!(!home.path().join("p/transient/2025-06-10-1234abcd.md").exists(), "an empty file goes");

    // From the archive back to working life, and gone from there.
    let mut back = memory(1, "订单", "用唯一索引");
    back.state = State::Superseded;
    commit(&store, "p", vec![Change::Amend(back)]);
    assert_eq!(store.snapshot("p").unwrap().entries.len(), 2);

    let session = SessionRecord { session: "2025-06-10-1234abcd".into(), transcript: "t".into(), ..SessionRecord::default() };
    commit(&store, "p", vec![Change::Session(session.clone())]);
    let before = tree(home.path());
    let receipt = commit(&store, "p", vec![Change::Session(session)]);
    assert_eq!(receipt, Receipt::default());
    assert_eq!(tree(home.path()), before, "the same again changes no byte");
}

#[test]
fn a_plan_for_another_state_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let old = store.snapshot("p").unwrap().base;
    commit(&store, "p", vec![Change::Add(memory(1, "a", "one"))]);
    let before = content(home.path());
    let plan = Plan { changes: vec![Change::Add(memory(2, "a", "two"))], ..Plan::new("p", old, "test", AT) };
    let error = store.commit(&plan, &ids()).unwrap_err();
    assert_eq!(error.kind, Kind::Busy);
    assert_eq!(content(home.path()), before);
    // Nor is a plan carried out in part.
    let base = store.snapshot("p").unwrap().base;
    let changes = vec![Change::Add(memory(2, "a", "two")), Change::Archive { id: id(99) }];
    assert!(store.commit(&Plan { changes, ..Plan::new("p", base, "test", AT) }, &ids()).is_err());
    assert_eq!(content(home.path()), before);
}

#[test]
fn hand_edits_are_taken_over_and_named() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(home.path());
    commit(&store, "p", vec![Change::Add(memory(1, "a", "one")), Change::Add(memory(2, "a", "two")), Change::Add(memory(3, "b", "three"))]);
    let file = home.path().join("p/working-memory.md");
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("### two").unwrap();
    let three = text.find("## b").unwrap();
    let edited =
        format!("My notes\r\n{}### 手写的\n**Why:** 因为\n\n{}", text[..at].replace("### one", "### one and only"), &text[three..]);
    fs::write(&file, &edited).unwrap();

    let s = store.snapshot("p").unwrap();
    assert_eq!(s.hand_edits, [id(1)], "the new one has no id yet");
    let said: Vec<_> = s.problems.iter().map(|p| (p.code, p.detail.as_str())).collect();
    assert!(said.contains(&("hand_edit", "2 entries were added or changed outside claude-mem")), "{said:?}");
    assert!(said.contains(&("hand_edit", "1 entry was taken out outside claude-mem")), "{said:?}");
    assert!(said.iter().any(|(code, _)| *code == "no_id"));

    store.trust_hand_edits = false;
    let receipt = commit(&store, "p", vec![Change::Add(memory(4, "b", "four"))]);
    assert_eq!((receipt.adopted.len(), receipt.hand_edits.len()), (1, 2));
    let s = store.snapshot("p").unwrap();
    assert_eq!(s.hand_edits.len(), 2, "held back until accepted");
    assert_eq!(summaries(&s), ["one and only", "手写的", "three", "four"]);
    assert_eq!(s.catalogue.memories.len(), 4);
    assert_eq!(s.entry(&receipt.adopted[0]).unwrap().memory.reason.as_deref(), Some("因为"));
    assert!(fs::read_to_string(&file).unwrap().starts_with("My notes\r\n"));

    commit(&store, "p", vec![Change::Accept { ids: s.hand_edits }]);
    let s = store.snapshot("p").unwrap();
    assert!(s.hand_edits.is_empty() && s.problems.is_empty(), "{:?}", s.problems);
}

#[test]
fn an_entry_moved_by_hand_keeps_its_id_and_a_copy_gets_its_own() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let mut note = memory(1, "a", "one");
    note.layer = Layer::Transient;
    commit(&store, "p", vec![Change::Add(note), Change::Add(memory(2, "a", "two"))]);
    let transient = home.path().join("p/transient/2025-06-10-1234abcd.md");
    let working = home.path().join("p/working-memory.md");
    let moved = fs::read_to_string(&transient).unwrap();
    let text = fs::read_to_string(&working).unwrap();
    let copy = text.replace("### two", "### two copied");
    fs::write(&working, format!("{text}\n{moved}\n{copy}")).unwrap();
    fs::remove_file(&transient).unwrap();
    let receipt = commit(&store, "p", vec![Change::Touch { ids: vec![id(1)] }]);
    let s = store.snapshot("p").unwrap();
    assert_eq!(s.entry(&id(1)).unwrap().memory.layer, Layer::Working);
    assert_eq!(s.entry(&receipt.adopted[0]).unwrap().memory.summary, "two copied");
    assert_eq!((s.entries.len(), s.catalogue.memories.len(), s.catalogue.files.len()), (3, 3, 1));
}

#[test]
fn a_broken_block_is_left_alone_and_still_there_as_text() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    commit(&store, "p", vec![Change::Add(memory(1, "a", "one")), Change::Add(memory(2, "a", "two"))]);
    let file = home.path().join("p/working-memory.md");
    let text = fs::read_to_string(&file).unwrap().replacen("kind: decision", "kind: [decision", 1);
    fs::write(&file, &text).unwrap();
    let s = store.snapshot("p").unwrap();
    assert_eq!((s.entries.len(), s.unreadable.len()), (1, 1));
    let bad = s.problems.iter().find(|p| p.code == "bad_yaml").unwrap();
    assert!(bad.file == "p/working-memory.md" && bad.line.is_some_and(|l| (4..9).contains(&l)), "{bad}");
    commit(&store, "p", vec![Change::Add(memory(3, "z", "three"))]);
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(&text), "{after}");
    assert!(store.snapshot("p").unwrap().catalogue.memories.contains_key(id(1).as_str()), "its use is still known");
}

#[test]
fn a_lost_or_broken_catalogue_is_made_anew() {
    for broken in [None, Some(""), Some("{\"version\": 1, \"mem"), Some("{\"a\": 1}")] {
        for backup in [true, false] {
            let home = tempfile::tempdir().unwrap();
            let store = open(home.path());
            commit(&store, "p", vec![Change::Add(memory(1, "a", "one")), Change::Add(memory(2, "a", "two"))]);
            commit(&store, "p", vec![Change::Touch { ids: vec![id(1)] }]);
            commit(&store, "p", vec![Change::Conflict { older: id(1), newer: id(2), reason: "r".into(), supersedes: false }]);
            let index = home.path().join("p/index.json");
            match broken {
                Some(text) => fs::write(&index, text).unwrap(),
                None => fs::remove_file(&index).unwrap(),
            }
            if !backup {
                fs::remove_file(home.path().join("p/index.json.bak")).unwrap();
            }
            assert_eq!(store.projects().unwrap(), ["p"]);
            let s = store.snapshot("p").unwrap();
            assert_eq!((s.problems[0].code, s.hand_edits.len()), ("catalogue_rebuilt", 0));
            assert_eq!((s.catalogue.memories.len(), s.catalogue.conflicts.len()), (2, 1));
            assert_eq!(s.catalogue.memories.get(id(1).as_str()).unwrap().hits, u64::from(backup));
            commit(&store, "p", vec![Change::Add(memory(3, "a", "three"))]);
            let s = store.snapshot("p").unwrap();
            assert!(s.problems.is_empty(), "{:?}", s.problems);
            assert_eq!(s.catalogue.memories.len(), 3);
        }
    }
}

#[test]
fn a_newer_format_is_read_only() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    commit(&store, "p", vec![Change::Add(memory(1, "a", "one"))]);
    let index = home.path().join("p/index.json");
    for text in [
        fs::read_to_string(&index).unwrap().replace("\"version\": 1", "\"version\": 2"),
        "{\"version\": 2, \"project\": {}, \"memories\": 7}".to_owned(),
    ] {
        fs::write(&index, text).unwrap();
        let s = store.snapshot("p").unwrap();
        assert_eq!(s.entries.len(), 1);
        let plan = Plan { changes: vec![Change::Touch { ids: vec![id(1)] }], ..Plan::new("p", s.base, "test", AT) };
        let error = store.commit(&plan, &ids()).unwrap_err();
        assert!(error.message.contains("newer claude-mem (format 2)"), "{error}");
    }
}

#[test]
fn history_keeps_the_last_twenty() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    for n in 1..=25 {
        commit(&store, "p", vec![Change::Add(memory(n, "a", &format!("number {n}")))]);
    }
    let history = store.history().unwrap();
    assert_eq!((history.len(), history[0].seq, history[19].seq), (20, 25, 6));
    assert_eq!(history[0].ids, [id(25)]);
    store.undo(20, false, None).unwrap();
    assert_eq!(store.snapshot("p").unwrap().entries.len(), 5);
}

#[test]
fn what_is_not_ours_is_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let foreign = [
        ("claude-mem.db", "x"),
        ("logs/a.log", "x"),
        ("chroma/index.json", "{\"a\": 1}"),
        ("p/notes.txt", "mine"),
        ("p/transient/x.txt", "mine"),
    ];
    for (name, text) in foreign {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let store = open(home.path());
    assert!(store.projects().unwrap().is_empty());
    for project in ["chroma", "logs", "p"] {
        let plan = Plan {
            changes: vec![Change::Add(memory(1, "a", "one"))],
            ..Plan::new(project, store.snapshot(project).unwrap().base, "test", AT)
        };
        let error = store.commit(&plan, &ids()).unwrap_err();
        assert!(error.message.contains("is no project of claude-mem"), "{project}: {error}");
    }
    commit(&store, "q", vec![Change::Add(memory(1, "a", "one"))]);
    for (name, text) in foreign {
        assert_eq!(fs::read_to_string(home.path().join(name)).unwrap(), text);
    }
    for bad in ["../x", "a/b", "", ".state", "_other"] {
        assert_eq!(store.snapshot(bad).unwrap_err().kind, Kind::Usage, "{bad}");
    }
}

#[cfg(unix)]
#[test]
fn private_and_without_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("memory"));
    let home = store.home().to_path_buf();
    let outside = tempfile::tempdir().unwrap();
    commit(&store, GLOBAL, vec![Change::Add(memory(1, "a", "one"))]);
    commit(&store, GLOBAL, vec![Change::Add(memory(2, "a", "two"))]);
    let mut todo = vec![home.clone()];
    while let Some(path) = todo.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            todo.extend(fs::read_dir(&path).unwrap().flatten().map(|i| i.path()));
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
    // A link to the outside is not read and not written, as a file, a folder or a whole project.
    fs::write(outside.path().join("secret.md"), "### secret\n").unwrap();
    fs::create_dir_all(home.join("p/transient")).unwrap();
    symlink(outside.path().join("secret.md"), home.join("p/transient/2025-01-01-x.md")).unwrap();
    symlink(outside.path().join("secret.md"), home.join("p/long-term-preferences.md")).unwrap();
    symlink(outside.path(), home.join("linked")).unwrap();
    let s = store.snapshot("p").unwrap();
    assert_eq!((s.entries.len(), s.problems.len(), s.problems[0].code), (0, 2, "symlink"));
    let mut preference = memory(3, "a", "three");
    preference.layer = Layer::LongTerm;
    for project in ["p", "linked"] {
        let plan = Plan {
            changes: vec![Change::Add(preference.clone())],
            ..Plan::new(project, store.snapshot(project).unwrap().base, "test", AT)
        };
        assert!(store.commit(&plan, &ids()).is_err());
    }
    assert_eq!(tree(outside.path()).len(), 1);
}

#[test]
fn many_writers_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (threads, each) = (8, 10);
    std::thread::scope(|scope| {
        for t in 0..threads {
            let home = home.path();
            scope.spawn(move || {
                for n in 0..each {
                    let add = Change::Add(memory(t * 1000 + n + 1, "a", &format!("from {t}, number {n}")));
                    let mut plan = |s: &Snapshot| Ok(Plan { changes: vec![add.clone()], ..Plan::new("p", s.base.clone(), "remember", AT) });
                    open(home).update("p", AT, &ids(), &mut plan).unwrap();
                }
            });
        }
    });
    let s = open(home.path()).snapshot("p").unwrap();
    assert_eq!((s.entries.len() as u64, s.catalogue.memories.len() as u64), (threads * each, threads * each));
    assert!(s.problems.is_empty());
}

#[test]
fn a_foreign_lock_is_a_clear_error() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(home.path());
    commit(&store, "p", vec![Change::Add(memory(1, "a", "one"))]);
    let lock = fs::File::open(home.path().join(".state/lock")).unwrap();
    lock.lock().unwrap();
    store.wait = std::time::Duration::from_millis(20);
    let plan = Plan { changes: vec![Change::Touch { ids: vec![id(1)] }], ..Plan::new("p", store.snapshot("p").unwrap().base, "test", AT) };
    let error = store.commit(&plan, &ids()).unwrap_err();
    assert!(error.kind == Kind::Busy && error.hint.unwrap().ends_with(".state/lock"));
    assert_eq!(store.snapshot("p").unwrap().entries.len(), 1, "reading goes on");
}
