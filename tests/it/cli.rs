//! Commands as a user meets them: each file of `tests/cases/cli` is one story of steps.
//!
//! A step writes a file (`write`, `content`, or `copy` of a fixture), removes one (`remove`), or runs a command (`run`,
//! optionally `stdin`) and says what must hold: `exit` (0), words on stdout (`out`) and stderr (`err`), words that may not be
//! there (`not_out`, `not_err`), `hint = true` on errors by itself, `unchanged = true` if the store keeps every byte, `json`
//! as pointer = value pairs, `reads` as file = content pairs (empty: not there), and `save` = { NAME = pointer } to use `$NAME` in later steps.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::support::{self, World, fixture};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it is about.
    about: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    step: Vec<Step>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Step {
    write: Option<String>,
    content: Option<String>,
    /// Bytes as hexadecimal digits, for what is not text.
    bytes: Option<String>,
    copy: Option<String>,
    remove: Option<String>,
    run: Option<Vec<String>>,
    stdin: Option<String>,
    exit: i32,
    out: Vec<String>,
    err: Vec<String>,
    not_out: Vec<String>,
    not_err: Vec<String>,
    unchanged: bool,
    json: BTreeMap<String, toml::Value>,
    reads: BTreeMap<String, String>,
    save: BTreeMap<String, String>,
}

#[test]
fn stories() {
    play("cli");
}

/// Plays the stories of a folder.
pub fn play(folder: &str) {
    support::cases(folder, |name, text| {
        let case: Case = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        tell(&case).map_err(|what| format!("({}): {what}", case.about))
    });
}

/// What others have written tries to become a rule.
#[test]
fn poisoning() {
    support::cases("poison", |name, text| {
        let case: Case = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        tell(&case).map_err(|what| format!("({}): {what}", case.about))
    });
}

/// Plays one story; the error says which step failed and shows what was printed.
fn tell(case: &Case) -> Result<(), String> {
    // What a hook says is looked at here, not how soon: on a busy machine its deadline would leave stdout empty.
    let mut world = World::new().with("CLAUDE_MEM_HOOK_MS", "60000");
    for (name, value) in &case.env {
        world = world.with(name, value);
    }
    let mut saved: BTreeMap<String, String> = BTreeMap::new();
    for (number, step) in case.step.iter().enumerate() {
        let fill = |text: &str| {
            let text = text.replace("$STORE", &world.store().to_string_lossy()).replace("$CWD", &world.cwd().to_string_lossy());
            saved.iter().fold(text, |t, (name, value)| t.replace(&format!("${name}"), value))
        };
        if let Some(name) = &step.write {
            let bytes = match (&step.content, &step.bytes, &step.copy) {
                (Some(text), ..) => fill(text).into_bytes(),
                (None, Some(hex), _) => unhex(hex),
                (None, None, Some(from)) => std::fs::read(fixture(from)).map_err(|e| format!("{from}: {e}"))?,
                (None, None, None) => Vec::new(),
            };
            world.file(&fill(name), bytes);
        }
        if let Some(name) = &step.remove {
            let path = world.cwd().join(fill(name));
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.map_err(|e| e.to_string())?;
        }
        let Some(run) = &step.run else { continue };
        let before = world.tree();
        let args: Vec<String> = run.iter().map(|a| fill(a)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = match &step.stdin {
            Some(text) => world.pipe(&args, text),
            None => world.run(&args),
        };
        let wrong =
            |what: String| Err(format!("step {} `{}`: {what}\nstdout:\n{}\nstderr:\n{}", number + 1, args.join(" "), ran.out, ran.err));
        if ran.code != step.exit {
            return wrong(format!("exit {} instead of {}", ran.code, step.exit));
        }
        if ran.code != 0 && ran.code != 2 && !ran.err.contains("hint: ") {
            return wrong("an error without a hint".to_owned());
        }
        for (text, wanted, name) in [(&ran.out, &step.out, "stdout"), (&ran.err, &step.err, "stderr")] {
            if let Some(word) = wanted.iter().find(|w| !text.contains(&fill(w))) {
                return wrong(format!("{name} lacks {word:?}"));
            }
        }
        for (text, unwanted, name) in [(&ran.out, &step.not_out, "stdout"), (&ran.err, &step.not_err, "stderr")] {
            if let Some(word) = unwanted.iter().find(|w| text.contains(&fill(w))) {
                return wrong(format!("{name} has {word:?}"));
            }
        }
        for (name, wanted) in &step.reads {
            let there = std::fs::read_to_string(world.cwd().join(fill(name))).unwrap_or_default();
            if there != fill(wanted) {
                return wrong(format!("{name} reads\n{there:?}\nnot\n{:?}", fill(wanted)));
            }
        }
        if step.unchanged && world.tree() != before {
            return wrong("the store changed".to_owned());
        }
        if !step.json.is_empty() || !step.save.is_empty() {
            let json = ran.json();
            for (pointer, value) in &step.json {
                let wanted = match value {
                    toml::Value::String(text) => serde_json::Value::from(fill(text)),
                    other => serde_json::to_value(other).map_err(|e| e.to_string())?,
                };
                // What is null or not there equals the empty string.
                let nothing = wanted == "" && json.pointer(pointer).is_none_or(serde_json::Value::is_null);
                if json.pointer(pointer) != Some(&wanted) && !nothing {
                    return wrong(format!("{pointer} is {:?}, not {wanted}", json.pointer(pointer)));
                }
            }
            for (name, pointer) in &step.save {
                let Some(found) = json.pointer(pointer) else { return wrong(format!("{pointer} is not there")) };
                saved.insert(name.clone(), found.as_str().map_or_else(|| found.to_string(), str::to_owned));
            }
        }
    }
    Ok(())
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |n, d| n * 16 + d)).collect()
}

/// A disk that is full is said; a reader who left is not an error.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test opens a device that is always full")]
fn what_cannot_be_written_is_an_error() {
    let world = World::new();
    world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
    for args in [&["list"][..], &["export"], &["inject", "--print"], &["--json", "list"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let ended = world.command(args).stdout(full).output().expect("the program runs");
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    let mut child = world.command(&["export"]).stdout(std::process::Stdio::piped()).spawn().expect("the program runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

/// The help of a command fits a screen.
#[test]
fn help_fits_a_screen() {
    let world = World::new();
    for command in ["list", "inject", "ingest", "remember", "edit", "prune", "config", "project"] {
        let help = world.run(&[command, "--help"]).ok().out;
        let lines = help.lines().count();
        assert!(lines <= 36, "{command} has {lines} lines of help:\n{help}");
    }
}
