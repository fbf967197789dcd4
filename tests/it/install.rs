//! Wiring into Claude Code's files: install, again, what others do meanwhile, uninstall.
//!
//! A case of `tests/cases/install` is a HOME (`files`, path = content; `repo/…` is the working folder), options of
//! `install`, and what must hold. Without `exit`, install succeeds, changes nothing the second time, has the `wired` words
//! in each file and none of `absent`; then `edits` are made by somebody else, and after uninstall every file is as before,
//! byte for byte, except those in `after`.

#![expect(clippy::disallowed_methods, clippy::expect_used, clippy::panic, reason = "a test plays the user and the client, who write files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::support::World;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    wired: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    edits: Vec<Edit>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    after: BTreeMap<String, String>,
    #[serde(default)]
    exit: i32,
}

/// Somebody else's change of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    from: String,
    to: String,
}

fn place(world: &World, name: &str) -> PathBuf {
    name.strip_prefix("repo/").map_or_else(|| world.home().join(name), |inside| world.cwd().join(inside))
}

/// Every file outside the memory folder, by its name in a case.
fn files(world: &World) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, prefix: &str, out: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.ends_with(".claude-mem") || path.ends_with(".git") {
                continue;
            }
            if path.is_dir() {
                walk(root, &path, prefix, out);
            } else {
                let name = format!("{prefix}{}", path.strip_prefix(root).expect("inside").display());
                out.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(&world.home(), &world.home(), "", &mut out);
    walk(&world.cwd(), &world.cwd(), "repo/", &mut out);
    out
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/install");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("cases").flatten().map(|e| e.path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let case: Case = toml::from_str(&std::fs::read_to_string(&path).expect("a case")).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let name = format!("{} ({})", path.file_stem().expect("a name").display(), case.about);
        play(&name, &case);
    }
}

fn play(name: &str, case: &Case) {
    let world = World::new();
    let fill = |text: &str| text.replace("$PROGRAM", env!("CARGO_BIN_EXE_claude-mem"));
    for (file, content) in &case.files {
        let path = place(&world, file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, fill(content)).expect("a file");
    }
    let before = files(&world);
    let mut args = vec!["install", "--yes"];
    args.extend(case.options.iter().map(String::as_str));
    let dry: Vec<&str> = args.iter().copied().filter(|a| *a != "--yes").chain(["--dry-run"]).collect();
    let _ = world.run(&dry);
    assert_eq!(files(&world), before, "{name}: a dry run writes");

    let ran = world.run(&args);
    assert_eq!(ran.code, case.exit, "{name}: {}", ran.err);
    if case.exit != 0 {
        assert!(ran.err.contains("hint: "), "{name}: {}", ran.err);
        case.says.iter().for_each(|word| assert!(ran.err.contains(word.as_str()), "{name}: {word:?} is not in {}", ran.err));
        assert_eq!(files(&world), before, "{name}: a refused install writes");
        return;
    }
    let wired = files(&world);
    for (file, words) in &case.wired {
        let text = wired.get(file).unwrap_or_else(|| panic!("{name}: no {file}"));
        words.iter().for_each(|word| assert!(text.contains(&fill(word)), "{name}: {file} lacks {word:?}:\n{text}"));
    }
    for word in &case.absent {
        wired.iter().for_each(|(file, text)| assert!(!text.contains(word.as_str()), "{name}: {file} has {word:?}:\n{text}"));
    }
    let again = world.run(&args).ok();
    assert!(again.err.contains("in place already"), "{name}: {}", again.err);
    assert_eq!(files(&world), wired, "{name}: the second install writes");
    world.run(&["doctor"]).ok();

    for edit in &case.edits {
        let path = place(&world, &edit.file);
        let text = std::fs::read_to_string(&path).expect("a wired file");
        assert!(text.contains(&edit.from), "{name}: {} lacks {:?}", edit.file, edit.from);
        std::fs::write(path, text.replacen(&edit.from, &edit.to, 1)).expect("a file");
    }
    let out = world.run(&["uninstall", "--yes"]).ok();
    case.says.iter().for_each(|word| assert!(out.err.contains(word.as_str()), "{name}: {word:?} is not in {}", out.err));
    let mut wanted = before;
    wanted.extend(case.after.iter().map(|(file, text)| (file.clone(), fill(text))));
    assert_eq!(files(&world), wanted, "{name}: after uninstall");
    assert!(world.run(&["uninstall", "--yes"]).ok().err.contains("not wired"), "{name}");
}

#[test]
fn a_moved_program_is_found_and_mended() {
    let world = World::new();
    world.run(&["install", "--yes"]).ok();
    let settings = world.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).expect("settings");
    std::fs::write(&settings, text.replace(env!("CARGO_BIN_EXE_claude-mem"), "/old/place/claude-mem")).expect("written");
    world.run(&["doctor"]).fails(1, "/old/place/claude-mem, which is not there");
    world.run(&["upgrade", "--yes"]).ok();
    assert_eq!(std::fs::read_to_string(&settings).expect("settings"), text);
    world.run(&["doctor"]).ok();
    world.run(&["uninstall", "--yes"]).ok();
    assert!(world.run(&["upgrade", "--yes"]).ok().err.contains("not wired"));
}

#[test]
fn another_memory_folder_is_passed_on() {
    let world = World::new();
    let elsewhere = world.home().join("notes");
    world.run(&["--home", &elsewhere.to_string_lossy(), "install", "--yes"]).ok();
    let text = std::fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings");
    assert!(text.contains(&format!("\"--home\", \"{}\"", elsewhere.display())), "{text}");
}

#[test]
fn auto_ingest_is_a_setting_that_install_shows_and_writes() {
    let world = World::new();
    let ran = world.run(&["install", "--yes", "--auto-ingest", "claude"]).ok();
    assert!(ran.out.contains("+auto_ingest = \"claude\"") && ran.err.contains("your API key pays"), "{}\n{}", ran.out, ran.err);
    let shown = world.run(&["--json", "config", "show"]).ok().json();
    assert_eq!(shown.pointer("/settings/hooks.auto_ingest/value"), Some(&"claude".into()));
    world.run(&["doctor"]).fails(1, "no API key");
    let world = world.with("ANTHROPIC_API_KEY", "dummy");
    assert!(world.run(&["doctor"]).ok().out.contains("read by claude; the API key ANTHROPIC_API_KEY pays"));
    let world = world.with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "claude-code");
    assert!(world.run(&["doctor"]).ok().out.contains("read by claude-code; your subscription pays"));
    assert_eq!(world.run(&["install", "--auto-ingest", "everything"]).code, 2);
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_written() {
    let world = World::new();
    let ran = world.run(&["install"]).fails(6, "needs an answer");
    assert!(ran.out.contains("+++ "), "the diff comes first: {}", ran.out);
    assert!(files(&world).is_empty());
    let json = world.run(&["--json", "--dry-run", "install"]).ok().json();
    assert_eq!(json.pointer("/files/0/change"), Some(&"create".into()));
}

#[test]
fn doctor_names_what_is_wrong_and_what_to_do() {
    let world = World::new().with("CLAUDE_MEM_OFF", "1");
    let write = |name: &str, text: &str| {
        let path = place(&world, name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write(".claude-mem/claude-mem.db", "theirs");
    write(".claude-mem/.state/queue/a.json", "{\"session\":\"a\"}\n");
    write(".claude-mem/.state/queue/b.failed", "{\"session\":\"b\",\"error\":\"it is gone\"}\n");
    write(
        ".claude-mem/.state/hook-errors.jsonl",
        "{\"at\":\"2026-06-01T00:00:00Z\",\"event\":\"SessionEnd\",\"message\":\"the disk is full\"}\n",
    );
    write(".claude-mem/.state/search.db", "no database");
    write(
        ".claude/settings.json",
        r#"{"cleanupPeriodDays": 3, "env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, "disableAllHooks": true, "enabledPlugins": {"claude-mem@market": true},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "npx claude-mem hook claude-code summarize"}]}]}}"#,
    );
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    for word in [
        "CLAUDE_MEM_OFF is set",
        "claude-mem.db",
        "1 conversation could not be read",
        "the disk is full",
        "search.db is damaged",
        "turns all hooks off",
        "after 3 days",
        "own memory is switched off (CLAUDE_CODE_DISABLE_AUTO_MEMORY)",
        "plugin claude-mem@market",
        "belong to another tool",
        "does not know claude-mem",
    ] {
        assert!(ran.out.contains(word), "no {word:?} in\n{}", ran.out);
    }
    let findings = world.run(&["--json", "doctor"]).json();
    let findings = findings["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|f| f["level"] == "ok" || f["hint"].as_str().is_some_and(|h| h.len() > 5)), "{findings:?}");
    world.run(&["install", "--yes"]).ok();
    assert!(std::fs::read_to_string(place(&world, ".claude/settings.json")).expect("settings").contains("claude-code summarize"));
}

#[test]
fn selftest_passes() {
    let world = World::new();
    let json = world.run(&["--json", "selftest", "--quick"]).ok().json();
    assert_eq!(json["ok"], true, "{json}");
    assert!(!world.store().exists(), "the selftest touched the store");
}

#[test]
fn the_plugin_calls_what_install_calls() {
    let read = |name: &str| -> serde_json::Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin").join(name);
        serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
    };
    let manifest = read(".claude-plugin/plugin.json");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    // The client refuses these beginnings for plugins of third parties.
    let name = manifest["name"].as_str().expect("a name");
    assert!(["claude-", "anthropic-", "anthropics-", "cc-plugin-"].iter().all(|p| !name.starts_with(p)));
    let world = World::new();
    world.run(&["install", "--yes"]).ok();
    let text = std::fs::read_to_string(place(&world, ".claude/settings.json")).expect("settings");
    let wired: serde_json::Value = serde_json::from_str(&text.replace(env!("CARGO_BIN_EXE_claude-mem"), "claude-mem")).expect("JSON");
    assert_eq!(read("hooks/hooks.json")["hooks"], wired["hooks"]);
    // Seconds, not milliseconds.
    let handlers = wired["hooks"].as_object().expect("hooks").values().map(|groups| &groups[0]["hooks"][0]);
    handlers.for_each(|h| assert!(h["timeout"].as_u64().is_some_and(|t| (1..=10).contains(&t)), "{h}"));
}

#[cfg(unix)]
#[test]
fn links_modes_and_read_only_files() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    let target = world.home().join("dotfiles/claude.json");
    std::fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
    std::fs::create_dir_all(world.home().join(".claude")).expect("a folder");
    std::fs::write(&target, "{\"model\": \"opus\"}\n").expect("a file");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    let link = world.home().join(".claude/settings.json");
    symlink(&target, &link).expect("a link");
    world.run(&["install", "--yes"]).ok();
    assert!(link.is_symlink() && std::fs::read_to_string(&target).expect("text").contains("SessionStart"));
    assert_eq!(target.metadata().expect("there").permissions().mode() & 0o777, 0o640);
    world.run(&["uninstall", "--yes"]).ok();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&target).expect("text"), "{\"model\": \"opus\"}\n");

    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o440)).expect("a mode");
    world.run(&["install", "--yes"]).fails(1, "is read-only");
    assert_eq!(std::fs::read_to_string(&target).expect("text"), "{\"model\": \"opus\"}\n");
    assert!(!world.home().join(".claude.json").exists(), "one file without the other");
}
