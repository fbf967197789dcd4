//! Claude Code's own memory folder: stories of `tests/cases/native`, and what only code can set up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use claude_mem::claude_code::native::folder::Folder;
use claude_mem::claude_code::native::{consolidate, file, index, place};
use claude_mem::model::{Evidence, Id, Kind, Layer, Memory, Origin, Relation, RelationType, Speaker, Validity};
use claude_mem::store::markdown::tidy;
use proptest::prelude::*;

use crate::cli;
use crate::support::{World, shared};

#[test]
fn stories() {
    cli::play("native");
}

fn note(folder: &Path, name: &str, description: &str, body: &str) {
    std::fs::create_dir_all(folder).expect("a folder");
    let stem = name.trim_end_matches(".md");
    let text = format!("---\nname: {stem}\ndescription: {description}\nmetadata:\n  type: project\n---\n\n{body}\n");
    std::fs::write(folder.join(name), text).expect("a file");
}

/// The folder of a repository is named after its main work tree, also seen from a subfolder and from another work tree.
#[test]
fn the_folder_of_a_repository() {
    let world = World::new();
    let real = world.cwd().canonicalize().expect("a folder");
    let folder = world.home().join(".claude/projects").join(place::key(&real.to_string_lossy())).join("memory");
    note(&folder, "port.md", "The gateway listens on port 9090", "");
    let tree = real.parent().expect("a parent").join("other-tree");
    std::fs::create_dir_all(&tree).expect("a folder");
    std::fs::create_dir_all(real.join(".git/worktrees/other")).expect("a folder");
    std::fs::write(real.join(".git/worktrees/other/commondir"), "../..").expect("a file");
    std::fs::write(real.join(".git/worktrees/other/HEAD"), "ref: refs/heads/x\n").expect("a file");
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", real.join(".git/worktrees/other").display())).expect("a file");
    std::fs::create_dir_all(real.join("src")).expect("a folder");
    for cwd in [real.clone(), real.join("src"), tree] {
        let output = world.command(&["--json", "native", "status"]).current_dir(&cwd).output().expect("it runs");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["folder"], folder.to_string_lossy().as_ref(), "{}", cwd.display());
        assert_eq!((&json["files"]["project"], &json["import"]["new"]), (&1.into(), &1.into()));
    }
    std::fs::write(world.home().join(".claude/settings.json"), r#"{"autoMemoryEnabled": false, "autoMemoryDirectory": "~/elsewhere"}"#)
        .expect("a file");
    let status = world.run(&["native", "status"]).ok();
    assert!(status.out.contains("home/elsewhere") && status.err.contains("autoMemoryEnabled is false"), "{status:?}");
}

/// A repository may say where its memory is read, never where it is written.
#[test]
fn a_repository_does_not_choose_where_we_write() {
    for settings in [".claude/settings.json", ".claude/settings.local.json"] {
        let world = World::new();
        world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
        let notes = world.home().join("notes");
        note(&notes, "a.md", "Logs are kept for 14 days", "");
        note(&notes, "b.md", "Logs are kept for 14 days", "");
        world.file(settings, r#"{"autoMemoryDirectory": "~/notes"}"#);
        let before = std::fs::read_dir(&notes).expect("a folder").count();
        for args in [&["native", "export"][..], &["--yes", "native", "consolidate"]] {
            let ran = world.run(args);
            assert!(ran.err.contains(settings) && ran.err.contains("--dir"), "{}", ran.err);
            ran.fails(2, "may have come with the repository");
        }
        assert_eq!(std::fs::read_dir(&notes).expect("a folder").count(), before);
        assert!(world.run(&["native", "status"]).ok().err.contains("nothing is written there without --dir"));
        world.run(&["native", "export", "--dir", &notes.to_string_lossy()]).ok();
        // The user's own settings may name the same folder.
        std::fs::create_dir_all(world.home().join(".claude")).expect("a folder");
        std::fs::write(world.home().join(".claude/settings.json"), r#"{"autoMemoryDirectory": "~/notes"}"#).expect("a file");
        world.run(&["native", "export"]).ok();
    }
}

#[cfg(unix)]
#[test]
fn a_folder_name_cannot_drive_the_terminal() {
    let world = World::new();
    world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
    let name = "no\u{1b}]0;owned\u{7}tes";
    note(&world.cwd().join(name), "a.md", "Logs are kept for 14 days", "");
    for action in ["status", "export", "import", "check", "consolidate"] {
        let ran = world.run(&["--yes", "--color", "always", "native", action, "--dir", name]);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains("\u{1b}]") && !said.contains('\u{7}'), "{action}: {said:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_read_only_files_are_not_written() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
    world.file("real/MEMORY.md", "- [A](a.md) — a\n");
    symlink(world.cwd().join("real"), world.cwd().join("linked")).expect("a link");
    world.run(&["native", "export", "--dir", "linked"]).fails(1, "is a link");
    std::fs::create_dir_all(world.cwd().join("notes")).expect("a folder");
    symlink(world.cwd().join("real/MEMORY.md"), world.cwd().join("notes/MEMORY.md")).expect("a link");
    world.run(&["native", "export", "--dir", "notes"]).fails(1, "is a link");
    symlink(world.cwd().join("real/MEMORY.md"), world.cwd().join("real/x.md")).expect("a link");
    assert!(world.run(&["native", "import", "--dir", "real"]).ok().err.contains("x.md: is a link"));
    std::fs::remove_file(world.cwd().join("real/x.md")).expect("removed");
    let index = world.cwd().join("real/MEMORY.md");
    std::fs::set_permissions(&index, std::fs::Permissions::from_mode(0o444)).expect("read-only");
    world.run(&["native", "export", "--dir", "real"]).fails(1, "read-only");
    // What had been written before the failure went back.
    assert_eq!(std::fs::read_dir(world.cwd().join("real")).expect("a folder").count(), 1);
    assert_eq!(std::fs::read_to_string(index).expect("text"), "- [A](a.md) — a\n");
}

/// The index stays within what the client delivers, with room for the model; the pinned and newest have a line.
#[test]
fn a_full_index() {
    let world = World::new();
    let rows: Vec<String> = (0..260)
        .map(|n| {
            format!(r#"{{"summary": "Service number {n} answers on port {}", "created": "2026-01-01T00:{:02}:00Z"}}"#, 9000 + n, n % 60)
        })
        .collect();
    world.file("rows.jsonl", rows.join("\n"));
    world.run(&["import", "rows.jsonl"]).ok();
    world.file("notes/MEMORY.md", "- [Own](own.md) — the model's\n".repeat(20));
    let json = world.run(&["--json", "native", "export", "--dir", "notes"]).ok().json();
    let text = std::fs::read_to_string(world.cwd().join("notes/MEMORY.md")).expect("text");
    let size = index::size(&text);
    assert!(size.cut_from.is_none() && size.lines == 180, "{size:?}");
    assert_eq!((json["added"].as_array().map(Vec::len), json["no_room"].as_array().map(Vec::len)), (Some(160), Some(100)));
    let wide = index::size(&format!("{}\n", "忆".repeat(300)).repeat(100));
    assert_eq!((wide.lines, wide.units, wide.cut_from), (100, 30_100, Some(84)));
    let again = world.run(&["native", "export", "--dir", "notes"]).ok();
    assert!(again.out.contains("0 new, 0 changed, 0 removed, 160 as before"), "{}", again.out);
}

/// An import can be taken back, byte for byte, and so can what was exported.
#[test]
fn import_and_export_leave_no_trace_when_undone() {
    let world = World::new();
    world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
    let projects = |world: &World| -> BTreeMap<_, _> {
        world.tree().into_iter().filter(|(path, _)| path.starts_with("shop") && path.extension().is_none_or(|e| e != "bak")).collect()
    };
    let before = projects(&world);
    let notes = world.cwd().join("notes");
    note(&notes, "a.md", "支付超时 30 秒", "");
    note(&notes, "b.md", "Always squash", "");
    world.run(&["native", "import", "--dir", "notes"]).ok();
    world.run(&["native", "export", "--dir", "notes"]).ok();
    assert_ne!(projects(&world), before);
    world.run(&["undo"]).ok();
    assert_eq!(projects(&world), before);
}

/// Every native folder of the corpus comes in, goes out into an empty one, and comes in again: nothing new, nothing changed.
#[test]
fn folders_of_the_corpus() {
    let Some(shared) = shared() else { return };
    let folders = ["actorforth-inline-en", "bga-assistant-en", "opensa-en"];
    for name in folders {
        let world = World::new();
        let source = shared.join("corpus/memory-dirs").join(name);
        let source = source.to_string_lossy();
        let files = Folder::read(Path::new(&*source)).expect("a folder").files.len();
        let args = ["--json", "native", "import", "--trust", "--notes", "--dir", &source];
        let first = world.run(&args).ok().json();
        let new = first["new"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        assert!(new >= files && (new > files) == (name != "opensa-en"), "{name}: {new} of {files} files");
        assert_eq!(first["review"], 0, "{name}");
        std::fs::create_dir_all(world.cwd().join("out")).expect("a folder");
        let out = world.run(&["--json", "native", "export", "--dir", "out"]).ok().json();
        let added = out["added"].as_array().map_or(0, Vec::len);
        assert_eq!((added, out["waiting"].as_array().map(Vec::len)), (new, Some(0)), "{name}");
        let before = world.tree();
        for dir in [&*source, "out"] {
            let again = world.run(&["--json", "native", "import", "--notes", "--dir", dir]).ok().json();
            assert_eq!((&again["new"], &again["changed"], &again["review"]), (&0.into(), &0.into(), &0.into()), "{name} {dir}");
        }
        let again = world.run(&["native", "export", "--dir", "out"]).ok();
        assert!(again.out.contains(&format!("0 new, 0 changed, 0 removed, {added} as before")), "{}", again.out);
        assert_eq!(world.tree(), before, "{name}");
    }
}

/// The real faults of the corpus, and others planted into a copy of it.
#[test]
fn faults_of_the_corpus() {
    let Some(shared) = shared() else { return };
    let world = World::new();
    let found = |dir: &str| -> BTreeSet<String> {
        let json = world.run(&["--json", "native", "check", "--dir", dir]).json();
        let rows = json["findings"].as_array().cloned().unwrap_or_default();
        let faults = rows.iter().filter(|r| r["severity"] != "note");
        faults
            .map(|r| format!("{} {} {}", r["code"].as_str().unwrap_or_default(), r["file"].as_str().unwrap_or_default(), r["line"]))
            .collect()
    };
    let corpus = shared.join("corpus/memory-dirs");
    let set = |rows: &[&str]| -> BTreeSet<String> { rows.iter().map(|r| (*r).to_owned()).collect() };
    let real: &[(&str, &[&str])] = &[
        ("actorforth-inline-en", &[]),
        ("opensa-en", &["contradicts MEMORY.md 22", "contradicts MEMORY.md 32", "dead_link renderware-loader.md 22"]),
        (
            "bga-assistant-en",
            &[
                "cut_description project_bga_player_metadata.md 3",
                "dead_link project_bga_mode_detection.md 20",
                "dead_link project_innovation_cities_images.md 15",
                "dead_link project_innovation_opponent_merge.md 16",
                "dead_link project_settings_surface.md 13",
            ],
        ),
    ];
    for (name, wanted) in real {
        assert_eq!(found(&corpus.join(name).to_string_lossy()), set(wanted), "{name}");
    }

    let copy = world.cwd().join("copy");
    std::fs::create_dir_all(&copy).expect("a folder");
    for entry in std::fs::read_dir(corpus.join("opensa-en")).expect("a folder").flatten() {
        std::fs::copy(entry.path(), copy.join(entry.file_name())).expect("a copy");
    }
    let plant = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(copy.join(name)).expect("text");
        assert!(text.contains(from), "{name} lacks {from}");
        std::fs::write(copy.join(name), text.replacen(from, to, 1)).expect("a file");
    };
    std::fs::remove_file(copy.join("timecyc.md")).expect("removed");
    plant("MEMORY.md", "plan 026 (DONE)", "plan 062 (DONE)");
    plant("MEMORY.md", "- [HUD layer](hud-layer.md)", "- [HUD layer](hud_layer.md)");
    plant("hud-layer.md", "  type: project", "  type: plan");
    plant("vehicle-glass.md", "description: Vehicle", "description: Note: Vehicle");
    std::fs::copy(copy.join("vehicle-lod-plan.md"), copy.join("vehicle-lod-copy.md")).expect("a copy");
    let planted = found("copy");
    let wanted = set(&[
        "dead_index MEMORY.md 30",
        "contradicts MEMORY.md 28",
        "dead_index MEMORY.md 29",
        "not_in_index hud-layer.md null",
        "bad_type hud-layer.md 2",
        "bad_frontmatter vehicle-glass.md 3",
        "duplicate vehicle-lod-plan.md null",
        "not_in_index vehicle-lod-copy.md null",
        "dead_link graphics.md 161",
        "dead_link test-fixtures.md 32",
    ]);
    let missed: Vec<&String> = wanted.difference(&planted).collect();
    assert!(missed.is_empty(), "missed {missed:?}, found {planted:#?}");
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 ,.:#\"'(){}\\[\\]|>&*!%@`~=/_-]{0,12}[a-z支付订单の가]{1,6}[ -~超时]{0,10}"
}

fn memory() -> impl Strategy<Value = Memory> {
    let names = (0..Layer::ALL.len(), 0..Kind::ALL.len(), any::<u32>(), any::<bool>());
    let texts =
        (text(), proptest::option::of(text()), proptest::option::of(text()), proptest::option::of(text()), proptest::option::of(text()));
    let more = (proptest::collection::vec("[a-z支付]{1,8}", 0..4), proptest::option::of(text()), proptest::collection::vec(text(), 0..3));
    (names, texts, more).prop_map(|((layer, kind, bits, pinned), (summary, topic, reason, rejected, how), (keywords, lapses, quotes))| {
        let mut memory = Memory::new(Id::from_bits(u64::from(bits)), Layer::ALL[layer], Kind::ALL[kind], summary);
        (memory.topic, memory.reason, memory.rejected, memory.how_to_apply, memory.lapses_when) = (topic, reason, rejected, how, lapses);
        (memory.keywords, memory.pinned) = (keywords, pinned);
        memory.created = Some("2026-06-15T12:00:00+08:00".to_owned());
        if bits % 3 == 0 {
            memory.session = Some("2026-06-01-1234abcd".to_owned());
            memory.origin = Origin::Rules;
            memory.confidence = Some(0.75);
            memory.validity = Validity::Until("2026-12-31".to_owned());
            memory.relations = vec![Relation { id: Id::from_bits(u64::from(bits) + 1), kind: RelationType::Supersedes }];
        }
        let quote = |quote: String| Evidence { session: None, turn: 3, speaker: Speaker::User, quote };
        memory.evidence = quotes.into_iter().map(quote).collect();
        tidy(&memory)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Our memory, a file, our memory: nothing is lost.
    #[test]
    fn a_file_of_ours_comes_back(memory in memory()) {
        // What the store's own Markdown cannot hold is not this test's.
        let mut plain = claude_mem::store::markdown::Document::parse("", memory.layer);
        plain.insert(&memory);
        prop_assume!(plain.reads_as(&plain.render()) && plain.entries().count() == 1 && !memory.summary.is_empty());
        let text = file::print(&memory);
        let read = file::File::read(&format!("claude-mem-{}.md", memory.id), &text, None);
        prop_assert_eq!(&read.faults, &vec![]);
        prop_assert_eq!(file::parse(&read, None), Some(memory), "{}", text);
        prop_assert_eq!(file::digest(&text.replacen("\n---\n\n", "\nmodified: 2026-06-15T13:00:00Z\n---\n\n", 1)), file::digest(&text));
    }

    /// Our lines in and out again: the index is as it was.
    #[test]
    fn an_index_keeps_its_bytes(head in "(\u{feff})?(- \\[A\\]\\(a.md\\) — x|# T|  |日志|\r?\n){0,8}", memories in proptest::collection::vec(memory(), 0..5)) {
        let memories: BTreeMap<Id, Memory> = memories.into_iter().map(|m| (m.id.clone(), m)).collect();
        let wanted: Vec<(String, String)> = memories.values().map(|m| (format!("claude-mem-{}.md", m.id), index::line_for(m))).collect();
        let full = index::set(&head, &BTreeMap::new(), &wanted);
        let read = index::Index::read(&full.text);
        for (file, line) in &wanted {
            prop_assert_eq!(read.line_of(file).map(|l| l.text.as_str()), Some(line.as_str()));
        }
        let written: BTreeMap<&str, &str> = wanted.iter().map(|(file, line)| (file.as_str(), line.as_str())).collect();
        prop_assert_eq!(&index::set(&full.text, &written, &wanted).text, &full.text);
        prop_assert_eq!(index::without_ours(&full.text, &written), head);
    }

    /// Merges and corrections lose no paragraph and no hook.
    #[test]
    fn consolidating_loses_nothing(
        files in proptest::collection::vec(("[ab]_[cd]", "(logs|日志) (stay|保留) (14|30) (days|天)", proptest::collection::vec("[a-c支付 ]{1,6}", 0..4)), 1..6),
        hooks in proptest::collection::vec(("[ab][-_][cd]", "[x-z]{1,3}"), 0..6),
    ) {
        let mut folder = Folder { path: "/notes".into(), ..Folder::default() };
        let files: BTreeMap<String, (String, Vec<String>)> = files.into_iter().map(|(name, d, body)| (name, (d, body))).collect();
        for (name, (description, body)) in &files {
            let text = format!("---\nname: {name}\ndescription: {description}\nmetadata:\n  type: project\n---\n\n{}\n", body.join("\n\n"));
            folder.files.push(file::File::read(&format!("{name}.md"), &text, None));
        }
        folder.index = Some(hooks.iter().map(|(name, hook)| format!("- [T]({name}.md) — {hook}\n")).collect());
        let proposed = consolidate::propose(&folder);
        let mut after: BTreeMap<String, String> = folder.files.iter().map(|f| (f.name.clone(), f.text.clone())).collect();
        after.insert("MEMORY.md".to_owned(), folder.index_text().to_owned());
        for edit in proposed.edits {
            let name = edit.path.file_name().expect("a name").to_string_lossy().into_owned();
            match edit.after { Some(text) => drop(after.insert(name, text)), None => drop(after.remove(&name)) }
        }
        let all: String = after.values().cloned().collect::<Vec<_>>().join("\n");
        let words = |t: &str| t.split_whitespace().collect::<Vec<_>>().join(" ");
        for paragraph in files.values().flat_map(|(d, body)| body.iter().chain([d])) {
            prop_assert!(words(&all).contains(&words(paragraph)), "{paragraph:?} is gone from\n{all}");
        }
        for (_, hook) in &hooks {
            prop_assert!(after["MEMORY.md"].contains(hook.as_str()), "{hook} is gone from\n{}", after["MEMORY.md"]);
        }
    }
}
