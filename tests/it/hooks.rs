//! Hooks as Claude Code calls them: JSON in, JSON or nothing out, exit 0 whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Ran, World, fixture, on_a_full_disk, shared};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    args: Vec<String>,
    #[serde(default)]
    stdin: String,
    hex: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    before: String,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    silent: bool,
    /// A line in `hook-errors.jsonl`.
    #[serde(default)]
    noted: bool,
}

/// A world with one memory of its repository, and a transcript.
pub fn world() -> World {
    let world = World::new();
    world.run(&["remember", "Deploys go out on Tuesdays only", "--kind", "convention"]).ok();
    fs::copy(fixture("checkout-service.jsonl"), world.cwd().join("t.jsonl")).expect("a transcript");
    fs::create_dir_all(world.cwd().join("deep/down")).expect("a folder");
    world
}

/// Disturbs a world; gives what must be held until the end.
fn disturb(world: &World, what: &str, command: &mut Command) -> Option<fs::File> {
    let store = world.store();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(store.join(name).parent().expect("a parent")).expect("a folder");
        fs::write(store.join(name), text).expect("written");
    };
    match what {
        "" => {}
        "no home" => drop(command.env_remove("HOME")),
        "broken settings" => write("config.toml", "[hooks]\nauto_ingest = \"sometimes\"\n"),
        "broken catalogue" => write("shop/index.json", "{ broken"),
        "broken search" => write(".state/search.db", "this is no database"),
        "newer catalogue" => {
            let text = fs::read_to_string(store.join("shop/index.json")).expect("the catalogue");
            write("shop/index.json", &text.replacen("\"version\": 1", "\"version\": 2", 1));
        }
        // `PRAGMA user_version`, bytes 60 to 63 of an SQLite file: the format of the index.
        "newer search" => {
            world.run(&["search", "deploys"]).ok();
            let mut bytes = fs::read(store.join(".state/search.db")).expect("the index");
            bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
            fs::write(store.join(".state/search.db"), bytes).expect("written");
        }
        "ignored" => drop(world.file(".claude-memignore", "")),
        "locked" | "stuck commit" => {
            let lock = fs::File::open(store.join(".state/lock")).expect("the lock file");
            lock.lock().expect("the lock");
            if what == "stuck commit" {
                write(".state/journal/commit.json", "{}");
            }
            return Some(lock);
        }
        "home is a file" => {
            fs::remove_dir_all(&store).expect("removed");
            fs::write(&store, "no folder").expect("written");
        }
        "state is a file" => {
            fs::remove_dir_all(store.join(".state")).expect("removed");
            fs::write(store.join(".state"), "no folder").expect("written");
        }
        "full disk" => {}
        other => panic!("no such disturbance: {other}"),
    }
    None
}

/// Runs a command with this on stdin.
pub fn feed(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    // A hook that is switched off may end before it has read anything.
    drop(child.stdin.take().expect("stdin").write_all(input));
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Calls a hook with this input, `cwd` filled in.
pub fn hook(world: &World, mut input: Value) -> Ran {
    if input.get("cwd").is_none() {
        input["cwd"] = json!(world.cwd());
    }
    let ran = world.pipe(&["hook"], &input.to_string()).ok();
    well_formed(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.out));
    assert_eq!(ran.err, "");
    ran
}

/// The injected text; empty if there is none.
pub fn context(ran: &Ran) -> String {
    if ran.out.is_empty() {
        return String::new();
    }
    ran.json().pointer("/hookSpecificOutput/additionalContext").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the client accepts: nothing, or an object with context under the name of the event, and a line for the person.
pub fn well_formed(out: &str) -> Result<(), String> {
    if out.is_empty() {
        return Ok(());
    }
    let json: Value = serde_json::from_str(out).map_err(|e| e.to_string())?;
    let object = json.as_object().ok_or("no object")?;
    for (key, value) in object {
        match key.as_str() {
            "systemMessage" if value.as_str().is_some_and(|t| !t.is_empty() && !t.contains('\n')) => {}
            "hookSpecificOutput" => {
                let text = value["additionalContext"].as_str().ok_or("no context")?;
                let name = value["hookEventName"].as_str().ok_or("no event")?;
                if !["SessionStart", "UserPromptSubmit"].contains(&name) || value.as_object().is_none_or(|o| o.len() != 2) {
                    return Err(format!("odd: {value}"));
                }
                if text.encode_utf16().count() > 9500 {
                    return Err("too long: the client would cut it".to_owned());
                }
            }
            other => return Err(format!("the client does not know {other}")),
        }
    }
    Ok(())
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[i * 2..i * 2 + 2], 16).expect("hex")).collect()
}

#[test]
fn whatever_comes_the_client_is_not_disturbed() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hooks/bad-input.toml")).expect("cases");
    let table: Table = toml::from_str(&text).expect("a table");
    let mut failed = Vec::new();
    for case in &table.case {
        let mut world = world();
        for (name, value) in &case.env {
            world = world.with(name, value);
        }
        let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
        let mut command = world.command(&args);
        if case.before == "full disk" {
            command = on_a_full_disk(&command);
        }
        let held = disturb(&world, &case.before, &mut command);
        let input = case.hex.as_deref().map_or_else(|| case.stdin.replace("$CWD", &world.cwd().to_string_lossy()).into_bytes(), unhex);
        let ran = feed(command, &input);
        drop(held);
        let mut wrong = |what: &str| failed.push(format!("{}: {what}\n  stdout: {}\n  stderr: {}", case.about, ran.out, ran.err));
        if ran.code != 0 {
            wrong("not exit 0");
        }
        if let Err(e) = well_formed(&ran.out) {
            wrong(&e);
        }
        if case.silent && !ran.out.is_empty() {
            wrong("not silent");
        }
        if let Some(word) = case.says.iter().find(|w| !ran.out.contains(*w)) {
            wrong(&format!("does not say {word}"));
        }
        if case.noted && !world.store().join(".state/hook-errors.jsonl").exists() {
            wrong("not noted");
        }
        // Nothing is ever written into a work tree, and nothing beside the store.
        let left: Vec<_> =
            fs::read_dir(world.home()).expect("home").flatten().map(|e| e.file_name()).filter(|n| n != ".claude-mem").collect();
        if !left.is_empty() {
            wrong(&format!("left {left:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_start_gives_the_memories_of_the_project_and_the_global_ones() {
    let world = world();
    world.run(&["remember", "提交信息用中文写", "--kind", "preference", "--global"]).ok();
    for source in ["startup", "resume", "clear", "compact", "fork"] {
        let ran = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source}));
        let text = context(&ran);
        assert!(text.contains("Deploys go out on Tuesdays") && text.contains("提交信息用中文写"), "{source}: {text}");
        assert!(text.starts_with("<claude-mem>") && text.trim_end().ends_with("</claude-mem>"), "{text}");
    }
    // The same store gives the same bytes; another project gets the global ones only.
    let again = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "other", "source": "startup"}));
    let first = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}));
    assert_eq!(again.out, first.out);
    let elsewhere = world.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    let text = context(&hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "t", "cwd": elsewhere})));
    assert!(!text.contains("Tuesdays") && text.contains("提交信息用中文写"), "{text}");
}

#[test]
fn a_change_is_given_at_the_next_start_also_one_by_hand() {
    let world = world();
    let start = || context(&hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s"})));
    assert!(start().contains("Tuesdays"));
    world.run(&["remember", "The queue is Redis", "--kind", "decision"]).ok();
    assert!(start().contains("Redis"));
    let file = world.store().join("shop/working-memory.md");
    let text = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, text.replace("Redis", "NATS") + "\n## 部署\n\n### 手写的一条：发布前先跑冒烟测试\n").expect("written");
    let ran = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s"}));
    let text = context(&ran);
    assert!(text.contains("NATS") && !text.contains("Redis") && text.contains("发布前先跑冒烟测试"), "{text}");
    assert!(ran.json()["systemMessage"].as_str().expect("announced").contains("outside"), "{}", ran.out);
}

#[test]
fn a_prompt_gets_what_matches_once_and_else_nothing() {
    let world = world();
    for (text, kind) in [("部署脚本必须先备份数据库", "convention"), ("The invoice numbers come from a Postgres sequence", "decision")]
    {
        world.run(&["remember", text, "--kind", kind]).ok();
    }
    let ask = |session: &str, prompt: &str| {
        context(&hook(&world, json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt})))
    };
    let given = ask("s", "How are invoice numbers generated, is there a Postgres sequence?");
    assert!(given.contains("invoice numbers") && !given.contains("Tuesdays") && given.lines().count() <= 5, "{given}");
    assert_eq!(ask("s", "How are invoice numbers generated, is there a Postgres sequence?"), "", "given twice");
    assert!(ask("s", "部署脚本要不要先备份数据库？").contains("部署脚本必须先备份数据库"));
    for idle in ["thanks, go on", "好的，继续", "fix the typo in the README", "/clear", "ok"] {
        assert_eq!(ask("t", idle), "", "{idle}");
    }
    // What was pasted is not what the person asks.
    let paste = "look at this\n<pasted_content id=\"7\">\nThe invoice numbers come from a Postgres sequence\nline two\nline three\nline four\nline five\n</pasted_content id=\"7\">\n";
    assert_eq!(ask("t", paste), "");
    // What the start has given is not said again; after a compaction it may be.
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "u", "source": "startup"}));
    assert_eq!(ask("u", "How are invoice numbers generated, is there a Postgres sequence?"), "");
}

#[test]
fn prompts_can_be_switched_off() {
    let world = world().with("CLAUDE_MEM_HOOKS_PROMPT_MEMORIES", "0");
    let ran =
        hook(&world, json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Should deploys happen on Tuesdays?"}));
    assert_eq!(ran.out, "");
}

#[test]
fn the_text_never_grows_past_what_the_client_takes() {
    let world = world();
    let file = world.file("many.jsonl", "");
    let mut rows = String::new();
    for n in 0..400 {
        let text = format!("规则 {n}: 模块 {n} 的接口必须先经过评审，再合并到主干分支 🚀 {}", "说明".repeat(n % 9));
        rows += &(json!({"kind": "convention", "summary": text, "topic": format!("模块 {}", n % 30)}).to_string() + "\n");
    }
    fs::write(&file, rows).expect("written");
    world.run(&["import", &file.to_string_lossy()]).ok();
    let text = context(&hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s"})));
    let units = text.encode_utf16().count();
    assert!((8000..=9500).contains(&units), "{units}");
    assert!(text.trim_end().ends_with("</claude-mem>"));
}

/// The payloads of the real client.
#[test]
fn the_real_clients_input_is_understood() {
    let Some(shared) = shared() else { return };
    let world = world();
    let mut seen = 0;
    for entry in fs::read_dir(shared.join("mock/captures/hooks")).expect("captures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".stdin.json") {
            continue;
        }
        let mut input: Value = serde_json::from_slice(&fs::read(entry.path()).expect("readable")).expect("JSON");
        input["cwd"] = json!(world.cwd());
        input["transcript_path"] = json!(world.cwd().join("t.jsonl"));
        let ran = hook(&world, input);
        let speaks = name.starts_with("SessionStart");
        assert_eq!(!context(&ran).is_empty(), speaks, "{name}: {}", ran.out);
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

fn queued(world: &World) -> Vec<String> {
    let items = fs::read_dir(world.store().join(".state/queue")).into_iter().flatten().flatten();
    let mut names: Vec<String> = items.map(|i| i.file_name().to_string_lossy().into_owned()).filter(|n| n != "lock").collect();
    names.sort();
    names
}

/// Waits for a condition that another process brings about; the time is only how long a failure takes.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn end(world: &World, session: &str) {
    let transcript = world.cwd().join("t.jsonl");
    hook(world, json!({"hook_event_name": "SessionEnd", "session_id": session, "transcript_path": transcript, "reason": "other"}));
}

#[test]
fn without_consent_a_conversation_only_waits() {
    let world = world();
    hook(
        &world,
        json!({"hook_event_name": "PreCompact", "session_id": "a", "transcript_path": world.cwd().join("t.jsonl"), "trigger": "auto"}),
    );
    end(&world, "a");
    assert_eq!(queued(&world), ["a.json"]);
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), ["a.json"], "read without consent");
    let start = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b"}));
    assert!(start.out.contains("auto_ingest"), "the failure of the worker is not said: {}", start.out);
    assert!(!hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b"})).out.contains("auto_ingest"), "said twice");
}

#[test]
fn with_consent_the_conversation_is_read_in_the_background() {
    let world = world().with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    end(&world, "a");
    until("the queue is empty", || queued(&world).is_empty());
    let listed = world.run(&["list", "--all-projects", "--json"]).out;
    let index = fs::read_to_string(world.store().join("shop/index.json")).unwrap_or_default();
    let all = fs::read_dir(world.store()).expect("the store").flatten().filter(|p| p.file_name() != ".state");
    let read = all.filter_map(|p| fs::read_to_string(p.path().join("index.json")).ok()).any(|t| t.contains("\"transcript\":"));
    assert!(read, "no session is recorded: {listed} {index}");
    // A second end of the same session changes nothing.
    let before: BTreeMap<_, _> = world.tree().into_iter().filter(|(p, _)| p.extension().is_some_and(|e| e == "md")).collect();
    end(&world, "a");
    until("the queue is empty again", || queued(&world).is_empty());
    let after: BTreeMap<_, _> = world.tree().into_iter().filter(|(p, _)| p.extension().is_some_and(|e| e == "md")).collect();
    assert_eq!(before, after);
}

#[test]
fn one_reader_at_a_time_and_what_a_killed_one_left_is_read() {
    let world = world();
    end(&world, "a");
    let world = world.with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    let queue = world.store().join(".state/queue");
    let lock = fs::File::create(queue.join("lock")).expect("the lock");
    lock.lock().expect("locked");
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), ["a.json"], "two readers at once");
    drop(lock);
    fs::rename(queue.join("a.json"), queue.join("a.claimed")).expect("renamed");
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_tried_again_then_put_aside_and_said() {
    let world = world();
    fs::write(world.cwd().join("t.jsonl"), b"\x00\x01\x02 this is no transcript").expect("written");
    end(&world, "a");
    let world = world.with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    for n in 1..=5 {
        world.run(&["hook-worker"]).ok();
        assert_eq!(queued(&world), [if n < 5 { "a.json" } else { "a.failed" }], "after {n} tries");
    }
    let start = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b"}));
    assert!(start.json()["systemMessage"].as_str().expect("said").contains("worker failed"), "{}", start.out);
}

#[test]
fn a_vanished_transcript_leaves_the_queue_with_a_word() {
    let world = world();
    end(&world, "a");
    fs::remove_file(world.cwd().join("t.jsonl")).expect("removed");
    let world = world.with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), Vec::<String>::new());
    let start = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b"}));
    assert!(start.out.contains("is gone"), "{}", start.out);
}

#[test]
fn the_daily_cap_stops_the_reader_before_a_request() {
    let world = world();
    end(&world, "a");
    let line = json!({"at": "2026-06-15T08:00:00+00:00", "project": "shop", "session": "x", "model": "m"});
    fs::write(world.store().join(".state/ledger.jsonl"), format!("{line}\n{line}\n")).expect("written");
    let world = world.with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules").with("CLAUDE_MEM_HOOKS_DAILY_CALLS", "2");
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), ["a.json"]);
    let world = world.with("CLAUDE_MEM_HOOKS_DAILY_CALLS", "3");
    world.run(&["hook-worker"]).ok();
    assert_eq!(queued(&world), Vec::<String>::new());
}

#[test]
fn a_session_without_an_end_is_caught_up_with() {
    let world = world().with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    let transcript = world.cwd().join("t.jsonl");
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "a", "transcript_path": transcript}));
    let touched = |at: &str| {
        let second = at.parse::<jiff::Timestamp>().expect("a time").as_second();
        let at = std::time::UNIX_EPOCH + Duration::from_secs(second.unsigned_abs());
        fs::File::options().write(true).open(&transcript).expect("open").set_modified(at).expect("set");
    };
    let sessions = |world: &World| {
        world.tree().iter().any(|(p, t)| p.ends_with("index.json") && String::from_utf8_lossy(t).contains("\"transcript\":"))
    };
    // Still going on, as far as anybody can tell.
    touched("2026-06-15T11:50:00Z");
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b", "transcript_path": transcript}));
    assert!(queued(&world).is_empty() && !sessions(&world));
    touched("2026-06-15T11:00:00Z");
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "b", "transcript_path": transcript}));
    until("it is read", || sessions(&world) && queued(&world).is_empty());
}

#[test]
fn what_was_given_counts_as_used_when_the_session_ends() {
    let world = world();
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "a"}));
    let hits = |world: &World| world.run(&["list", "--json"]).ok().json()["memories"][0]["hits"].as_u64();
    let before = hits(&world);
    end(&world, "a");
    // Noted without a commit; the next one counts it.
    world.run(&["remember", "The queue is NATS", "--layer", "transient"]).ok();
    let counted = world.run(&["list", "--json"]).ok().json();
    let all = counted["memories"].as_array().expect("memories").clone();
    let hits_now = all.iter().find(|m| m["summary"].as_str().is_some_and(|s| s.contains("Tuesdays"))).and_then(|m| m["hits"].as_u64());
    assert_eq!(hits_now, before.map(|n| n + 1));
    assert_eq!(fs::read_dir(world.store().join(".state/sessions")).expect("sessions").count(), 0);
    let receipts = fs::read_to_string(world.store().join(".state/injections.jsonl")).expect("receipts");
    assert!(receipts.contains("SessionStart") && receipts.contains("\"hook\""), "{receipts}");
}

/// A client that leaves its end of the pipe open gets its answer, or silence, in time.
#[test]
fn an_open_pipe_is_not_waited_for() {
    let world = world();
    let mut child = world.command(&["hook", "SessionStart"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    let held = child.stdin.take();
    let status = child.wait().expect("it ends by itself");
    assert!(status.success());
    drop(held);
    until("it is noted", || world.store().join(".state/hook-errors.jsonl").exists());
}
