//! Hooks as Claude Code calls them: JSON in, JSON or nothing out, exit 0 whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Ran, World, fixture, on_a_full_disk, ran, shared};

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
    ran(child.wait_with_output().expect("the program ends"))
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
    // The same for a prompt, whatever the owner allows and however long a reason is.
    let reason = "因为评审能早点发现问题。".repeat(3000);
    let long = format!("\n### 发票编号取自 Postgres 序列\n\n**Why:** {reason}\n");
    fs::write(world.store().join("shop/working-memory.md"), long).expect("written");
    let world = world.with("CLAUDE_MEM_HOOKS_PROMPT_MEMORIES", "1000");
    hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "t"}));
    let ask = json!({"hook_event_name": "UserPromptSubmit", "session_id": "u", "prompt": "发票编号是不是取自 Postgres 序列？"});
    assert!(!context(&hook(&world, ask)).is_empty());
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

/// Waits for a condition that another process brings about; the time is only how long a failure takes.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A deadline that is none is said, and the usual one holds.
#[test]
fn a_deadline_that_is_no_number_is_said() {
    let world = world().with("CLAUDE_MEM_HOOK_MS", "soon");
    let ran = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}));
    assert!(ran.out.contains("CLAUDE_MEM_HOOK_MS") && ran.out.contains("soon"), "{}", ran.out);
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
