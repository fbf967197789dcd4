//! Faults that users of other memory tools complain of: `tests/cases/faults.tsv` says for each where it stands here, by the
//! name of a test or by why it cannot occur. The tests below are those that belong to no other area.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::hooks::{context, hook, world};
use crate::support::World;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below these folders of the project whose name ends so.
fn files(folders: &[&str], ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|f| root().join(f)).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("readable").flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn every_row_stands_on_a_test_or_a_reason() {
    let table = fs::read_to_string(root().join("tests/cases/faults.tsv")).expect("the table");
    let sources: String = files(&["src", "tests/it"], ".rs").into_iter().map(|(_, text)| text).collect();
    let client = fs::read_to_string(root().join("tests/real-client.sh")).expect("the script");
    let (mut rows, mut wrong) = (BTreeSet::new(), Vec::new());
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let [row, fault, tests, why] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("not four fields: {line}") };
        assert!(rows.insert(row) && !fault.is_empty(), "{line}");
        if tests.is_empty() && why.is_empty() {
            wrong.push(format!("{row} stands on nothing"));
        }
        for test in tests.split_whitespace() {
            let there = match test.split_once('=') {
                Some(("case", path)) => root().join("tests/cases").join(path).exists(),
                Some(("client", words)) => client.contains(&format!("check \"{}", words.replace('_', " "))),
                _ => sources.contains(&format!("fn {}(", test.rsplit("::").next().expect("a name"))),
            };
            if !there {
                wrong.push(format!("{row}: there is no {test}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() >= 60, "{} rows", rows.len());
}

/// A clock in the text would make the client pay for its whole prefix again.
#[test]
fn the_same_day_gives_the_same_bytes() {
    let mut world = world();
    let mut said = BTreeSet::new();
    for time in ["00:01:00", "12:07:31", "23:59:59"] {
        world = world.with("CLAUDE_MEM_NOW", &format!("2026-06-15T{time}Z"));
        let start = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": format!("s{time}"), "source": "startup"}));
        let prompt =
            hook(&world, json!({"hook_event_name": "UserPromptSubmit", "session_id": time, "prompt": "Do deploys go out on Tuesdays?"}));
        assert!(context(&prompt).contains("Tuesdays"), "{}", prompt.out);
        said.insert((start.out, prompt.out));
        fs::remove_dir_all(world.store().join(".state/cache")).expect("the kept text");
    }
    assert_eq!(said.len(), 1, "{said:?}");
}

/// A whole session, reader included: nothing new and nothing changed beside the memory folder.
#[test]
fn hooks_leave_the_work_tree_alone() {
    fn names(folder: &Path, out: &mut BTreeSet<PathBuf>) {
        for path in fs::read_dir(folder).expect("readable").flatten().map(|e| e.path()) {
            if path.is_dir() {
                names(&path, out);
            }
            out.insert(path);
        }
    }
    let tree = |world: &World| {
        let mut found = BTreeSet::new();
        names(&world.cwd(), &mut found);
        found
    };
    let world = world().with("CLAUDE_MEM_HOOKS_AUTO_INGEST", "rules");
    let before = tree(&world);
    for event in ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"] {
        let transcript = world.cwd().join("t.jsonl");
        hook(&world, json!({"hook_event_name": event, "session_id": "a", "prompt": "Tuesdays?", "transcript_path": transcript}));
    }
    world.run(&["hook-worker"]).ok();
    assert_eq!(tree(&world), before);
}

#[test]
fn the_index_is_bounded_by_what_it_indexes() {
    let world = World::new();
    let rows: String = (0..400)
        .map(|n| {
            json!({"kind": "fact", "summary": format!("Machine {n} of row {} serves the tenants {}", n % 17, n * 31), "topic": "machines"})
                .to_string()
                + "\n"
        })
        .collect();
    let file = world.file("rows.jsonl", rows);
    world.run(&["import", &file.to_string_lossy()]).ok();
    world.run(&["search", "machine"]).ok();
    let size = |name: &str| fs::metadata(world.store().join(name)).map_or(0, |m| m.len());
    let (markdown, first) = (size("shop/working-memory.md"), size(".state/search.db"));
    assert!(first < markdown * 8 + (1 << 18), "{first} bytes for {markdown}");
    for n in 0..12 {
        let file = world.store().join("shop/working-memory.md");
        let text = fs::read_to_string(&file).expect("memories");
        let (from, to) = if n % 2 == 0 { ("serves", "feeds all") } else { ("feeds all", "serves") };
        fs::write(&file, text.replace(from, to)).expect("written");
        world.run(&["search", "machine"]).ok();
    }
    assert!(size(".state/search.db") <= first * 2, "it grew from {first} to {} bytes", size(".state/search.db"));
}

#[test]
fn nothing_listens() {
    for (path, text) in files(&["src"], ".rs") {
        for word in ["TcpListener", "UdpSocket", "UnixListener", "UnixDatagram"] {
            assert!(!text.contains(word), "{} has {word}", path.display());
        }
    }
}

/// Whoever unpacks the project must not get orders for their own Claude with it.
#[test]
fn no_orders_for_agents_are_shipped() {
    let shipped = ["src", "plugin", "prompts", "schemas", "tests/it", "tests/real-client", ".ci"];
    for name in ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".cursorrules", "MEMORY.md"] {
        assert!(!root().join(name).exists() && files(&shipped, name).is_empty(), "{name}");
    }
    assert!(!root().join(".claude").exists());
}

/// The client has a memory of its own; our words do not talk the model out of it.
#[test]
fn our_words_do_not_fight_the_clients_memory() {
    for (path, text) in files(&["prompts/inject", "prompts/mcp", "plugin"], "") {
        for word in ["MEMORY.md", "CLAUDE.md", "auto memory", "auto-memory"] {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn importing_twice_changes_nothing() {
    let world = world();
    world.run(&["remember", "发票编号取自数据库序列", "--kind", "decision"]).ok();
    world.run(&["export", "all.jsonl"]).ok();
    let markdown = |world: &World| world.tree().into_iter().filter(|(p, _)| p.extension().is_some_and(|e| e == "md")).collect::<Vec<_>>();
    let before = markdown(&world);
    for _ in 0..2 {
        world.run(&["import", "all.jsonl"]).ok();
        assert_eq!(markdown(&world), before);
    }
}

#[test]
fn the_end_of_a_long_memory_is_found() {
    let world = world();
    let file = world.store().join("shop/working-memory.md");
    let long = "the queue was looked at once more and nothing came of it ".repeat(900);
    let text = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, format!("{text}\n### Why the queue is what it is\n\n**Why:** {long} zyxomma\n")).expect("written");
    let found = world.run(&["--json", "search", "zyxomma"]).ok().json();
    assert_eq!(found["memories"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn a_short_id_that_fits_two_is_refused() {
    let world = world();
    let file = world.store().join("shop/working-memory.md");
    let entry = |id: &str| format!("\n### The entry {id}\n```yaml\nid: {id}\nkind: fact\n```\n");
    let text = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, text + &entry("7k3f9qxa2m") + &entry("7k3f9qxa3n")).expect("written");
    for command in [["show", "7k3f"], ["forget", "7k3f9qxa"]] {
        world.run(&command).fails(2, "is the beginning of 2 ids");
    }
    assert!(world.run(&["show", "7k3f9qxa2"]).ok().out.contains("The entry 7k3f9qxa2m"));
}

/// Two folders of one name, one after the other in one session: neither sees the other's memories.
#[test]
fn no_foreign_project_is_given() {
    let world = world();
    let twin = world.home().join("elsewhere/shop");
    fs::create_dir_all(twin.join(".git")).expect("a repository");
    fs::write(twin.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a repository");
    for event in ["SessionStart", "UserPromptSubmit"] {
        let ask = |cwd: &Path| {
            context(&hook(
                &world,
                json!({"hook_event_name": event, "session_id": format!("{event}{}", cwd.display()), "cwd": cwd, "prompt": "Do deploys go out on Tuesdays?"}),
            ))
        };
        assert!(ask(&world.cwd()).contains("Tuesdays"));
        assert_eq!(ask(&twin), "");
    }
}

/// An answer of a hook never touches what the client does: no permission, no changed input, no other event's context.
#[test]
fn four_events_and_no_power_over_tools() {
    let world = World::new();
    world.run(&["install", "--yes"]).ok();
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(world.home().join(".claude/settings.json")).expect("settings")).expect("JSON");
    let events: Vec<&String> = settings["hooks"].as_object().expect("hooks").keys().collect();
    assert_eq!(events, ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"]);
    for (path, text) in files(&["src/claude_code", "src/cli"], ".rs") {
        for word in ["updatedInput", "permissionDecision"] {
            assert!(!text.contains(word), "{} has {word}", path.display());
        }
    }
}
