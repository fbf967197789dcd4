//! Whole projects: identity, init, bind, rename, remove, verify, backup, restore, the catalogue's schema, injection receipts.
#![expect(clippy::disallowed_methods, reason = "tests play the user who edits files by hand")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use claude_mem::error::Kind;
use claude_mem::model::plan::{MemoryRecord, SessionRecord};
use claude_mem::model::{Change, Code, Id, Layer, Origin, ReviewItem, Tombstone};
use claude_mem::store::identity::{plain_name, root_of};
use claude_mem::store::{GLOBAL, Injection, Severity, Store};

use crate::store::{commit, content, id, memory, open, tree};

/// A repository as git lays it out, without git: a work tree, one more worktree of it, a submodule.
fn repository(folder: &Path) {
    for dir in ["app/.git/worktrees/fix", "app/.git/modules/lib", "app/src/deep", "app/lib", "fix/src", "docs"] {
        fs::create_dir_all(folder.join(dir)).unwrap();
    }
    fs::write(folder.join("app/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join("app/.git/worktrees/fix/commondir"), "../..\n").unwrap();
    fs::write(folder.join("app/lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
    fs::write(folder.join("fix/.git"), format!("gitdir: {}\n", folder.join("app/.git/worktrees/fix").display())).unwrap();
}

#[test]
fn worktrees_share_a_project_and_namesakes_do_not() {
    let scratch = tempfile::tempdir().unwrap();
    let base = scratch.path().canonicalize().unwrap();
    for client in ["one", "two"] {
        repository(&base.join(client));
    }
    let store = open(&base.join("home"));
    let main = root_of(&base.join("one/app/src/deep"));
    assert_eq!((main.path.as_path(), main.folder.as_path()), (base.join("one/app/.git").as_path(), base.join("one/app").as_path()));
    assert_eq!(root_of(&base.join("one/fix/src")).path, main.path);
    assert_eq!(plain_name(&root_of(&base.join("one/fix"))), "app", "a worktree is named after the main one");
    assert_eq!(plain_name(&root_of(&base.join("one/app/lib"))), "lib");
    assert_eq!(root_of(&base.join("one/docs")).path, base.join("one/docs"));

    assert_eq!(store.default_name(&main).unwrap(), "app");
    store.init("app", Some(&main.path)).unwrap();
    assert_eq!(store.project_of(&base.join("one/fix/src")).unwrap().as_deref(), Some("app"));
    // The other repository of the same name is another project.
    let other = root_of(&base.join("two/app"));
    assert_eq!(store.project_of(&base.join("two/app")).unwrap(), None);
    assert_eq!(store.default_name(&other).unwrap(), "app-2");
    store.init("app-2", Some(&other.path)).unwrap();
    assert_eq!(store.project_of(&base.join("two/app/src")).unwrap().as_deref(), Some("app-2"));
    assert_eq!(store.project_of(&base.join("one/app/lib")).unwrap(), None, "a submodule is its own");

    // A folder that is bound by itself goes before its repository; one above does not reach into it.
    store.init("deep", Some(&base.join("one/app/src"))).unwrap();
    store.init("all", Some(&base)).unwrap();
    assert_eq!(store.project_of(&base.join("one/app/src/deep")).unwrap().as_deref(), Some("deep"));
    assert_eq!(store.project_of(&base.join("one/app")).unwrap().as_deref(), Some("app"));
    assert_eq!(store.project_of(&base.join("one/docs")).unwrap().as_deref(), Some("all"));

    assert_eq!(store.bind("app-2", &main.path).unwrap_err().kind, Kind::Usage);
    store.unbind("app", &main.path).unwrap();
    store.bind("app-2", &main.path).unwrap();
    assert_eq!(store.project_of(&base.join("one/app")).unwrap().as_deref(), Some("app-2"));
    assert_eq!(store.init("APP", None).unwrap_err().kind, Kind::Usage, "names differ by more than case");
}

fn filled(home: &Path) -> Store {
    let store = open(home);
    let mut scoped = memory(2, "订单", "two");
    scoped.scope = Some("p".to_owned());
    scoped.origin = Origin::Claude;
    let mut note = memory(3, "部署", "three");
    note.layer = Layer::Transient;
    commit(&store, "p", vec![Change::Add(memory(1, "订单", "one")), Change::Add(scoped), Change::Add(note)]);
    commit(&store, "p", vec![Change::Archive { id: id(1) }]);
    store
}

#[test]
fn a_project_is_renamed_and_removed_as_one_and_both_can_be_undone() {
    let home = tempfile::tempdir().unwrap();
    let store = filled(home.path());
    let start = content(home.path());
    store.rename("p", "支付").unwrap();
    assert_eq!(store.projects().unwrap(), ["支付"]);
    assert!(!home.path().join("p").exists());
    let s = store.snapshot("支付").unwrap();
    assert!(s.problems.is_empty(), "{:?}", s.problems);
    assert_eq!((s.entries.len(), s.entry(&id(2)).unwrap().memory.scope.as_deref()), (2, Some("支付")));
    assert!(home.path().join("支付/transient/archive/2025-06.md").exists());
    assert!(store.verify().unwrap().is_empty());
    store.undo(1, false, None).unwrap();
    assert_eq!(content(home.path()), start);

    fs::write(home.path().join("p/mine.txt"), "mine").unwrap();
    let receipt = store.remove("p").unwrap();
    assert!(receipt.notices[0].contains("not ours"));
    assert_eq!(tree(home.path()).keys().filter(|n| n.starts_with("p/")).collect::<Vec<_>>(), ["p/mine.txt"]);
    assert!(store.projects().unwrap().is_empty());
    store.undo(1, false, None).unwrap();
    assert_eq!(store.snapshot("p").unwrap().entries.len(), 2);
    for (from, to) in [("nothing", "x"), ("p", "../x"), ("p", GLOBAL), ("p", "p")] {
        assert_eq!(store.rename(from, to).unwrap_err().kind, Kind::Usage, "{from} {to}");
    }
}

#[test]
fn verify_names_what_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    let store = filled(home.path());
    assert!(store.verify().unwrap().is_empty());
    let file = home.path().join("p/working-memory.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("> 就这么定了 (T12, user)\n", "depends [[zzzzzzzzzz]] and [[a note]]\n")
            .replace("kind: decision", "kind: decision\ndepends_on: [yyyyyyyyyy]"),
    )
    .unwrap();
    let archive = home.path().join("p/transient/archive/2025-06.md");
    fs::write(&archive, fs::read_to_string(&archive).unwrap() + "\nmore\n").unwrap();
    let copy = home.path().join(".state/history/000002/0-working-memory.md");
    let copy = if copy.exists() { copy } else { home.path().join(".state/history/000002/1-working-memory.md") };
    fs::write(&copy, "damaged").unwrap();
    let found = store.verify().unwrap();
    let mut codes: Vec<_> = found.iter().map(|f| (f.problem.code, f.severity)).collect();
    codes.sort_unstable();
    let expected = [
        ("damaged_copy", Severity::Error),
        ("dead_link", Severity::Warning),
        ("dead_link", Severity::Warning),
        ("edited_quotes", Severity::Note),
        ("foreign_link", Severity::Note),
        ("hand_edit", Severity::Note),
        ("hand_edit", Severity::Note),
        ("no_quote", Severity::Warning),
    ];
    assert_eq!(codes, expected, "{found:#?}");
    assert!(found.iter().any(|f| f.problem.to_string().contains("yyyyyyyyyy")));
    let before = content(home.path());
    assert!(store.undo(1, true, None).unwrap_err().message.contains("is damaged"));
    assert_eq!(content(home.path()), before);
}

#[test]
fn a_backup_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let store = filled(&home.path().join("memory"));
    let zip = home.path().join("backup.zip");
    assert_eq!(store.backup(&zip).unwrap(), 4);
    assert!(store.backup(&zip).is_err(), "never over another file");
    let start = content(store.home());
    assert_eq!(store.restore(&zip, false).unwrap().seq, None, "nothing differs, nothing to do");
    commit(&store, "p", vec![Change::Add(memory(4, "x", "four"))]);
    commit(&store, "q", vec![Change::Add(memory(5, "x", "five"))]);
    let later = content(store.home());
    let error = store.restore(&zip, false).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (Kind::Decision, "the backup would replace p"));
    assert_eq!(content(store.home()), later);
    store.restore(&zip, true).unwrap();
    let now = content(store.home());
    assert!(start.iter().all(|(name, bytes)| now.get(name) == Some(bytes)) && now.contains_key("q/index.json"));
    store.undo(1, false, None).unwrap();
    assert_eq!(content(store.home()), later);

    let fresh = open(&home.path().join("fresh"));
    fresh.restore(&zip, false).unwrap();
    assert_eq!(content(fresh.home()), start);
    for (name, inside) in [("../evil.md", "x"), ("p/../../evil.md", "x"), ("p/run.sh", "x"), ("p/working-memory.md", "no catalogue")] {
        let bad = home.path().join("bad.zip");
        let mut writer = zip::ZipWriter::new(fs::File::create(&bad).unwrap());
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, inside.as_bytes()).unwrap();
        writer.finish().unwrap();
        assert!(fresh.restore(&bad, true).is_err(), "{name}");
        assert_eq!(content(fresh.home()), start);
    }
}

#[test]
fn the_catalogue_keeps_to_its_schema() {
    let home = tempfile::tempdir().unwrap();
    let store = filled(home.path());
    let item = ReviewItem { id: id(9), codes: vec![Code::ECover], memory: MemoryRecord::of(&memory(9, "a", "weak"), "p") };
    let session = SessionRecord { session: "2025-06-10-1234abcd".into(), transcript: "t".into(), ..SessionRecord::default() };
    let tombstone = Some(Tombstone { hash: "ab".into(), ..Tombstone::default() });
    commit(
        &store,
        "p",
        vec![
            Change::Add(memory(4, "a", "four")),
            Change::Conflict { older: id(2), newer: id(4), reason: "r".into(), supersedes: false },
            Change::Ask(Box::new(item)),
            Change::Session(session),
            Change::Forget { id: id(3), tombstone },
        ],
    );
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../schemas/index.schema.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&fs::read(home.path().join("p/index.json")).unwrap()).unwrap();
    let errors: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&index).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // A key of a later program of the same version stays.
    let path = home.path().join("p/index.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{},\n\"colour\": {{\"a\": [1]}}\n}}\n", text.trim_end().trim_end_matches('}').trim_end())).unwrap();
    commit(&store, "p", vec![Change::Answer { id: id(9), tombstone: None }]);
    let s = store.snapshot("p").unwrap();
    assert!(s.catalogue.review.is_empty() && s.catalogue.extra.contains_key("colour"));
}

#[test]
fn injections_are_written_down() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    assert_eq!(store.injections().unwrap(), (Vec::new(), 0));
    let injection = Injection { project: "p".into(), mode: "standard".into(), ids: vec![id(1)], tokens: 12, ..Injection::default() };
    store.record_injection(&injection).unwrap();
    let path = home.path().join(".state/injections.jsonl");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "{\"at\": \"2025").unwrap();
    assert_eq!(store.injections().unwrap(), (vec![injection], 1));
    assert!(Id::parse(id(1).as_str()).is_some() && store.projects().unwrap().is_empty());
}
