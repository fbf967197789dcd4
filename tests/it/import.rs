//! Stores of other tools, in and out. What `tests/cases/import` means stands in its README.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::support::World;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    file: String,
    from: String,
    stored: usize,
    review: usize,
    says: Vec<String>,
    #[serde(default)]
    waits: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    refused: Vec<String>,
    #[serde(default)]
    quotes: Vec<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default = "yes")]
    edit: bool,
}

fn yes() -> bool {
    true
}

#[test]
fn foreign_stores() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/import");
    let mut names: Vec<_> = std::fs::read_dir(&root).expect("cases").flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    names.sort();
    assert!(!names.is_empty());
    for folder in names {
        let text = std::fs::read_to_string(folder.join("case.toml")).expect("a case");
        let case: Case = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        play(&folder, &case);
    }
}

/// A case in a world of its own.
fn play(folder: &Path, case: &Case) {
    let world = World::new();
    copy(folder, &world.cwd());
    if let Ok(sql) = std::fs::read_to_string(folder.join("rows.sql")) {
        database(&world.cwd().join(&case.file), &sql);
    }
    let about = &case.about;
    let before = world.tree();
    let dry = world.run(&["import", &case.file, "--dry-run"]).ok();
    assert!(dry.out.contains("would import"), "{about}: {}", dry.out);
    assert_eq!(world.tree(), before, "{about}: a dry run wrote something");

    let ran = world.run(&["--json", "import", &case.file]).ok();
    let json = ran.json();
    assert_eq!(json["from"], case.from.as_str(), "{about}");
    let counted = |key: &str| json["memories"].as_array().expect("rows").iter().filter(|m| m[key] == true).count();
    let refused: Vec<String> = json["refused"].as_array().expect("a list").iter().map(place).collect();
    assert_eq!(refused, case.refused, "{about}: {json:#}");
    let listed = world.run(&["--json", "list"]).ok().json();
    let summaries: Vec<&str> = listed["memories"].as_array().expect("memories").iter().filter_map(|m| m["summary"].as_str()).collect();
    assert_eq!((counted("new"), counted("review")), (case.stored, case.review), "{about}: {summaries:#?}");
    for says in &case.says {
        assert!(summaries.contains(&says.as_str()), "{about}: lacks {says:?} in {summaries:#?}");
    }
    for memory in listed["memories"].as_array().expect("memories") {
        assert_eq!(memory["origin"], "import", "{about}");
        if let Some(kind) = &case.kind {
            assert_eq!(&memory["kind"], kind.as_str(), "{about}");
        } else if case.from != "jsonl" {
            assert!(["fact", "todo"].contains(&memory["kind"].as_str().expect("a kind")), "{about}: {memory:#}");
            assert_eq!(memory["confidence"], 0.3, "{about}");
        }
    }
    waiting(&world, case);
    let files = everything(&world);
    for never in &case.never {
        assert!(!files.contains(never.as_str()), "{about}: {never:?} is in the store");
    }
    for quote in &case.quotes {
        assert!(files.contains(quote.as_str()), "{about}: no line {quote:?} in {files}");
    }
    assert!(world.run(&["verify"]).ok().out.contains("in order"), "{about}");
    let ids = |memories: &Value, key: &str| -> Vec<String> {
        let wanted = memories.as_array().expect("rows").iter().filter(|m| key.is_empty() || m[key] == true);
        wanted.map(|m| m["id"].as_str().expect("an id").to_owned()).collect()
    };
    again(&world, case, &ids(&listed["memories"], ""), &ids(&json["memories"], "review"));
}

/// What reads as somebody's rule waits, and no conversation is told.
fn waiting(world: &World, case: &Case) {
    let review = world.run(&["--json", "review"]).out;
    let injected = world.run(&["inject", "--print", "--mode", "deep"]).ok().out;
    for waits in &case.waits {
        assert!(review.contains(waits.as_str()), "{}: {waits:?} does not wait in {review}", case.about);
        assert!(!injected.contains(waits.as_str()), "{}: {waits:?} is injected", case.about);
    }
}

/// The same once more brings nothing: at once, after an edit, after a `forget`, after a yes and a no in review.
fn again(world: &World, case: &Case, stored: &[String], waiting: &[String]) {
    let import = || {
        let before = world.tree();
        let json = world.run(&["--json", "import", &case.file]).ok().json();
        let rows = json["memories"].as_array().expect("rows");
        assert!(rows.iter().all(|m| m["new"] == false && m["review"] == false), "{}: {json:#}", case.about);
        assert_eq!(world.tree(), before, "{}: a second import wrote something", case.about);
        json
    };
    import();
    if !case.edit {
        return;
    }
    world.run(&["edit", &stored[0], "--summary", "Said in other words by a person"]).ok();
    import();
    world.run(&["--yes", "forget", &stored[1]]).ok();
    assert_eq!(import()["turned_down"], 1, "{}", case.about);
    if let [yes, no, ..] = waiting {
        world.run(&["resolve", yes, "--keep", "new"]).ok();
        world.run(&["resolve", no, "--keep", "old"]).ok();
        assert_eq!(import()["turned_down"], 2, "{}", case.about);
        // What its owner confirmed is the owner's own.
        assert!(world.run(&["--json", "show", yes]).ok().out.contains("\"origin\":\"manual\""), "{}", case.about);
    }
}

fn place(problem: &Value) -> String {
    let line = problem["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", problem["file"].as_str().expect("a file"))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("readable").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

fn database(path: &Path, sql: &str) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(path).expect("a database");
    db.execute_batch(sql).expect("rows");
    db
}

/// Every file of the store as one text.
fn everything(world: &World) -> String {
    world.tree().into_values().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Names and bytes of a folder.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).expect("readable").flatten().filter(|e| e.path().is_file());
    files.map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read(e.path()).expect("bytes"))).collect()
}

#[test]
fn a_database_in_use_is_read_and_not_touched() {
    let world = World::new();
    let folder = world.cwd().join("their #folder%");
    std::fs::create_dir_all(&folder).expect("a folder");
    let sql = include_str!("../cases/import/claude-mem-db/rows.sql");
    let db = database(&folder.join("claude-mem.db"), "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
    db.execute_batch(sql).expect("rows");
    let before = snapshot(&folder);
    assert!(before.contains_key("claude-mem.db-wal"), "{:?}", before.keys());
    let json = world.run(&["--json", "import", "their #folder%"]).ok().json();
    assert_eq!(json["memories"].as_array().map(Vec::len), Some(6), "{json:#}");
    assert_eq!(snapshot(&folder), before, "files beside the database changed");
    drop(db);

    // Closed by its owner: everything is in the one file, and no other appears.
    let before = snapshot(&folder);
    assert!(!before.contains_key("claude-mem.db-wal"), "{:?}", before.keys());
    world.run(&["--json", "import", "their #folder%/claude-mem.db", "--only", "blog"]).ok();
    assert_eq!(snapshot(&folder), before);
    world.run(&["import", "their #folder%/claude-mem.db", "--only", "nope"]).fails(2, "no project `nope`");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_database_in_use_is_read_with_its_newest_rows() {
    let world = World::new();
    let folder = world.cwd().join("theirs");
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = database(&folder.join("claude-mem.db"), "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
    db.execute_batch(include_str!("../cases/import/claude-mem-db/rows.sql")).expect("rows");
    std::os::unix::fs::symlink(folder.join("claude-mem.db"), world.cwd().join("link.db")).expect("a link");
    let json = world.run(&["--json", "import", "link.db"]).ok().json();
    assert_eq!(json["memories"].as_array().map(Vec::len), Some(6), "{json:#}");
}

#[test]
fn a_foreign_database_is_no_store() {
    let world = World::new();
    database(&world.cwd().join("x.db"), "CREATE TABLE a (b);");
    world.run(&["import", "x.db"]).fails(2, "not one of the other claude-mem");
    world.file("cut.db", b"SQLite format 3\0 and no more");
    world.run(&["import", "cut.db"]).fails(1, "cannot be read");
    world.run(&["import", "x.db", "--from", "obsidian"]).fails(2, "no format to import from");
    world.run(&["import", "nothing-here"]).fails(1, "cannot read");
    std::fs::create_dir_all(world.cwd().join("empty")).expect("a folder");
    world.run(&["import", "empty"]).fails(4, "holds no store");
    world.file("latin.md", b"# caf\xe9\n- a rule\n");
    world.run(&["import", "latin.md"]).fails(1, "no UTF-8 text");
}

#[test]
fn our_own_lines_are_all_checked_first() {
    let world = World::new();
    world.file("rows.jsonl", "{\"summary\":\"One\"}\n\n{\"summary\":\"Two\",\"kind\":\"thought\"}\n");
    world.run(&["import", "rows.jsonl"]).fails(1, "rows.jsonl:3: kind");
    world.file("rows.jsonl", "{\"summary\":\"One\"}\nnot json\n");
    world.run(&["import", "rows.jsonl"]).fails(1, "rows.jsonl:2: not a memory");
    assert!(world.tree().is_empty(), "something was stored");
}

#[test]
fn what_disagrees_stands_beside_what_was_there() {
    let world = World::new();
    world.run(&["remember", "Use pnpm for all packages", "--kind", "convention"]).ok();
    world.file("CLAUDE.md", "# Rules\n\n- Use npm for all packages\n");
    let ran = world.run(&["import", "CLAUDE.md"]).ok();
    assert!(ran.err.contains("both are kept"), "{}", ran.err);
    let injected = world.run(&["inject", "--print"]).ok().out;
    assert!(injected.contains("Unresolved"), "{injected}");
}

#[test]
fn one_id_in_two_projects_is_said() {
    let world = World::new();
    let row = "{\"id\":\"7k3f9qxa2m\",\"summary\":\"Retries stop after five tries\"}\n";
    world.file("rows.jsonl", row);
    for project in ["one", "other"] {
        world.run(&["project", "init", project]).ok();
        world.run(&["import", "rows.jsonl", "--project", project]).ok();
    }
    world.run(&["show", "7k3f9qxa2m"]).fails(2, "is in 2 projects");
    assert!(world.run(&["show", "7k3f9qxa2m", "--project", "other"]).ok().out.contains("five tries"));
}

#[test]
fn topics_are_written_once_and_foreign_files_stay() {
    let world = World::new();
    world.run(&["remember", "订单号做唯一索引", "--kind", "decision", "--topic", "支付", "--why", "回调可能重复"]).ok();
    world.run(&["remember", "Write a test for retries", "--kind", "todo", "--topic", "Payments / retries"]).ok();
    world.run(&["remember", "Uploads end at 20 MB"]).ok();
    world.file("pages/notes.md", "mine\n");
    world.run(&["export", "--format", "topics"]).fails(2, "topics go into a folder");
    world.run(&["export", "pages", "--format", "topics", "--dry-run"]).ok();
    assert_eq!(snapshot(&world.cwd().join("pages")).len(), 1);
    world.run(&["export", "pages", "--format", "topics"]).ok();
    let first = snapshot(&world.cwd().join("pages"));
    let page = String::from_utf8_lossy(&first["支付.md"]).into_owned();
    for part in [
        "# 支付",
        "## Summary\n\nNone.",
        "## Keywords",
        "## Key Decisions\n\n- 订单号做唯一索引",
        "Why: 回调可能重复",
        "## TODO",
        "## Raw Excerpts",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    assert!(String::from_utf8_lossy(&first["index.md"]).contains("[支付](<支付.md>)"));
    world.run(&["export", "pages", "--format", "topics"]).ok();
    assert_eq!(snapshot(&world.cwd().join("pages")), first, "a second export changed something");

    // A page that a person changed stays; one whose memories are gone goes.
    world.file("pages/general.md", "my own words\n");
    let id = world.run(&["--json", "list", "--topic", "支付"]).json()["memories"][0]["id"].as_str().expect("an id").to_owned();
    world.run(&["--yes", "forget", &id]).ok();
    let ran = world.run(&["export", "pages", "--format", "topics"]).ok();
    let second = snapshot(&world.cwd().join("pages"));
    assert!(!second.contains_key("支付.md"), "{}", ran.err);
    assert_eq!((&second["general.md"][..], &second["notes.md"][..]), (&b"my own words\n"[..], &b"mine\n"[..]));
    assert!(ran.err.contains("general.md was written or changed by somebody else"), "{}", ran.err);
}

#[test]
fn the_block_of_a_claude_md_is_kept_between_its_marks() {
    let world = World::new();
    world.run(&["remember", "Use tabs in Go files", "--kind", "convention"]).ok();
    world.run(&["remember", "Uploads end at 20 MB"]).ok();
    let path = world.file("CLAUDE.md", "\u{feff}# Mine\r\n\r\nno line end");
    world.run(&["export", "--format", "claude-md", "--write", "CLAUDE.md"]).ok();
    let once = std::fs::read_to_string(&path).expect("text");
    assert!(once.starts_with("\u{feff}# Mine\r\n\r\nno line end\r\n\r\n<!-- claude-mem:begin -->\r\n"), "{once:?}");
    assert!(
        once.contains("- Use tabs in Go files\r\n") && !once.contains("20 MB") && once.ends_with("<!-- claude-mem:end -->"),
        "{once:?}"
    );
    world.run(&["remember", "提交信息用英文", "--kind", "convention"]).ok();
    world.run(&["export", "--format", "claude-md", "--write", "CLAUDE.md"]).ok();
    let twice = std::fs::read_to_string(&path).expect("text");
    assert!(twice.contains("- 提交信息用英文\r\n") && twice.matches("claude-mem:begin").count() == 1, "{twice:?}");
    let ran = world.run(&["export", "--format", "claude-md", "--write", "CLAUDE.md"]).ok();
    assert!(ran.out.contains("had it already"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(&path).expect("text"), twice);
    // Reading the file back brings its own words only.
    let json = world.run(&["--json", "import", "CLAUDE.md"]).ok().json();
    assert_eq!(json["memories"].as_array().map(Vec::len), Some(1), "{json:#}");

    // It is a file like any other of the repository, and its folder is not for us to make.
    let dry = world.run(&["export", "--format", "claude-md", "--write", "NEW.md", "--dry-run"]).ok();
    assert!(dry.out.contains("+- Use tabs in Go files"), "{}", dry.out);
    assert!(!world.cwd().join("NEW.md").exists());
    world.run(&["export", "--format", "claude-md", "--write", "NEW.md"]).ok();
    let (new, like) = (world.cwd().join("NEW.md"), world.file("LIKE.md", ""));
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions();
    assert_eq!(mode(&new), mode(&like));
    world.run(&["export", "--format", "claude-md", "--write", "none/NEW.md"]).fails(2, "the folder of none/NEW.md is not there");

    let broken = world.file("BROKEN.md", "a\n<!-- claude-mem:begin -->\nb\n");
    world.run(&["export", "--format", "claude-md", "--write", "BROKEN.md"]).fails(1, "without <!-- claude-mem:end -->");
    assert_eq!(std::fs::read_to_string(broken).expect("text"), "a\n<!-- claude-mem:begin -->\nb\n");
    world.run(&["export", "--write", "CLAUDE.md"]).fails(2, "--write goes with");
}
