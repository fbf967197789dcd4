//! The queue of finished conversations and the reader in the background: with consent, one at a time, bounded, nothing lost.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::hooks::{context, hook, until, world};
use crate::support::{Ran, World};

fn queued(world: &World) -> Vec<String> {
    let items = fs::read_dir(world.store().join(".state/queue")).into_iter().flatten().flatten();
    let mut names: Vec<String> = items.map(|i| i.file_name().to_string_lossy().into_owned()).filter(|n| n != "lock").collect();
    names.sort();
    names
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

#[test]
fn what_ingest_has_read_waits_no_more() {
    let world = world();
    let other = world.file("odd.jsonl", "\0\u{1} no transcript");
    end(&world, "a");
    hook(&world, json!({"hook_event_name": "SessionEnd", "session_id": "b", "transcript_path": other, "reason": "other"}));
    let failed = world.store().join(".state/queue/c.failed");
    let item = json!({"session": "c", "transcript": world.cwd().join("t.jsonl"), "at": "2026-06-01T00:00:00+00:00", "error": "no"});
    fs::write(&failed, item.to_string() + "\n").expect("written");
    // Looking changes nothing, reading a part neither; and what is queued while it is read waits on.
    world.run(&["ingest", "t.jsonl", "--dry-run"]).ok();
    world.run(&["ingest", "t.jsonl", "--since", "2026-06-01"]).ok();
    assert_eq!(queued(&world), ["a.json", "b.json", "c.failed"]);
    world.run(&["ingest", "t.jsonl"]).ok();
    assert_eq!(queued(&world), ["a.json", "b.json"], "one at the same second could be news");
    let world = world.with("CLAUDE_MEM_NOW", "2026-06-15T12:00:01Z");
    world.run(&["ingest", "t.jsonl", "odd.jsonl"]).ok();
    assert_eq!(queued(&world), ["b.json"]);
}

/// A store with one memory and so much prose around it that reading it takes a while.
fn large(bytes: usize) -> World {
    let world = World::new();
    world.run(&["remember", "Ports begin at 7400"]).ok();
    let file = world.store().join("shop/working-memory.md");
    let text = fs::read_to_string(&file).expect("a file of memories");
    let prose = "Notes that are nobody's memory. \u{5907}\u{6ce8}\n".repeat(bytes / 40);
    fs::write(&file, format!("{prose}\n{text}")).expect("written");
    world.run(&["remember", "Deploys are on Tuesdays"]).ok();
    world
}

fn start(world: &World, session: &str) -> Ran {
    hook(world, json!({"hook_event_name": "SessionStart", "session_id": session, "source": "startup"}))
}

/// What is remembered in a session is ready for the next one when that begins.
#[test]
fn the_end_of_a_session_makes_the_next_start_ready() {
    let world = large(300 << 10);
    assert!(context(&start(&world, "a")).contains("7400"));
    let kept = world.store().join(".state/cache/start-shop.json");
    let before = fs::read(&kept).expect("kept");
    world.run(&["remember", "日志保留 14 天"]).ok();
    hook(&world, json!({"hook_event_name": "SessionEnd", "session_id": "a", "transcript_path": "", "reason": "other"}));
    until("it is made again", || fs::read(&kept).is_ok_and(|now| now != before));
    assert!(String::from_utf8_lossy(&fs::read(&kept).expect("kept")).contains("14 天"));
    assert!(context(&start(&world, "b")).contains("14 天"));
}

/// More than a hook can read in its time is read by a process of its own, and what that has made is there the next time.
#[test]
fn of_very_many_memories_the_next_session_is_told_for_sure() {
    let world = large(17 << 20);
    let first = start(&world, "a");
    let said = context(&first).contains("7400") || first.out.contains("still being made ready");
    assert!(said, "{}", first.out);
    until("it is made", || world.store().join(".state/cache/start-shop.json").exists());
    let second = start(&world, "b");
    assert!(context(&second).contains("7400") && context(&second).contains("Tuesdays"), "{}", second.out);
}
