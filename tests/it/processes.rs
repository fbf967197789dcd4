//! Eight at once on one store: four write, two search, two are the client's hooks, while the search index is removed and
//! damaged under them. What was acknowledged must be there afterwards, and be found.
//!
//! Each does a fixed number of rounds. `PROCESSES_SECONDS=60 cargo test --test it processes -- --nocapture` goes by the
//! clock instead, and prints the figures.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hooks::{feed, well_formed};
use crate::mcp::Talk;
use crate::support::{Ran, World};

/// Rounds of each where no time is set.
const ROUNDS: usize = 8;

/// How one of the eight does one round; `Err` says what went wrong. A writer gives back the mark that it was told is stored.
type Round = fn(&World, &mut Option<Talk>, usize) -> Result<Option<String>, String>;

/// The eight: name and what it does.
const EIGHT: [(&str, Round); 8] = [
    ("remember", |world, _, n| by_command(world, "ra", n)),
    ("remember, Chinese", |world, _, n| by_command(world, "rb", n)),
    ("ingest", ingest),
    ("MCP remember", by_tool),
    ("search", search),
    ("MCP look-up", look_up),
    ("hooks of a session", |world, _, n| session(world, "ha", n)),
    ("hooks of another", |world, _, n| session(world, "hb", n)),
];

/// Words that make the statements unlike each other.
const WORDS: [&str; 12] = ["ledger", "crane", "velvet", "订单", "harbour", "发票", "copper", "meadow", "仓库", "lantern", "quartz", "支付"];

fn words(n: usize) -> String {
    let word = |k: usize| WORDS[(n * 7 + k * (n / 5 + 3)) % WORDS.len()];
    format!("{} {} {}", word(1), word(2), word(5))
}

fn must(ran: &Ran) -> Result<(), String> {
    if ran.code == 0 { Ok(()) } else { Err(format!("exit {}: {}{}", ran.code, ran.out, ran.err)) }
}

/// Runs by the real clock: the index compares the times of files with it.
fn run(world: &World, args: &[&str], input: &str) -> Result<Ran, String> {
    let mut command = world.command(args);
    command.env_remove("CLAUDE_MEM_NOW");
    let ran = feed(command, input.as_bytes());
    must(&ran).map(|()| ran)
}

fn by_command(world: &World, who: &str, n: usize) -> Result<Option<String>, String> {
    let mark = format!("{who}{n}x");
    let text =
        if who == "rb" { format!("{}的编号固定写作 {mark}", words(n)) } else { format!("The {} has the label {mark}", words(n)) };
    run(world, &["remember", &text, "--kind", "fact"], "").map(|_| Some(mark))
}

fn ingest(world: &World, _: &mut Option<Talk>, n: usize) -> Result<Option<String>, String> {
    let mark = format!("gamma{n}x");
    let talk = json!([{"session_id": format!("3a7e0000-{n:04}"), "date": "2026-06-01"},
        {"role": "user", "content": format!("Decision: we use {mark} for the {}, because it was tried before.", words(n))}]);
    let ran = run(world, &["--project", "shop", "--json", "ingest", "-", "--extractor", "rules"], &talk.to_string())?;
    if ran.out.contains(&mark) { Ok(Some(mark)) } else { Err(format!("not stored: {}", ran.out)) }
}

/// A tool of a server that lives as long as the test; it is begun with the first call.
fn call(world: &World, talk: &mut Option<Talk>, n: usize, tool: &str, arguments: &Value) -> Result<String, String> {
    if talk.is_none() {
        let mut new = Talk::start(world);
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        new.say(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).to_string());
        new.answer(&json!("hello"))?;
        new.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        *talk = Some(new);
    }
    let talk = talk.as_mut().expect("a server");
    let params = json!({"name": tool, "arguments": arguments});
    talk.say(&json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}).to_string());
    let answer = talk.answer(&json!(n))?;
    if answer["result"]["isError"] == json!(false) {
        Ok(answer["result"]["content"][0]["text"].to_string())
    } else {
        Err(answer.to_string())
    }
}

fn by_tool(world: &World, talk: &mut Option<Talk>, n: usize) -> Result<Option<String>, String> {
    let mark = format!("mc{n}x");
    let said = call(world, talk, n, "manual_remember", &json!({"content": format!("{} goes by the name {mark}", words(n))}))?;
    if said.contains("Remembered as") { Ok(Some(mark)) } else { Err(said) }
}

fn search(world: &World, _: &mut Option<Talk>, n: usize) -> Result<Option<String>, String> {
    let found: Value = serde_json::from_str(&run(world, &["--json", "search", &words(n)], "")?.out).map_err(|e| e.to_string())?;
    found["memories"].is_array().then_some(None).ok_or_else(|| format!("no memories in {found}"))
}

fn look_up(world: &World, talk: &mut Option<Talk>, n: usize) -> Result<Option<String>, String> {
    call(world, talk, n, "get_relevant_memories", &json!({"query": words(n)})).map(|_| None)
}

/// A session from its start to its end, each hook a process of its own.
fn session(world: &World, who: &str, n: usize) -> Result<Option<String>, String> {
    let session = format!("{who}-{n}");
    for event in ["SessionStart", "UserPromptSubmit", "SessionEnd"] {
        let input = json!({"hook_event_name": event, "session_id": session, "cwd": world.cwd(), "prompt": format!("Where is the {}?", words(n)),
            "transcript_path": world.cwd().join("t.jsonl"), "source": "startup"});
        let ran = run(world, &["hook"], &input.to_string())?;
        well_formed(&ran.out)?;
    }
    Ok(None)
}

/// What one of the eight did.
#[derive(Default)]
struct Did {
    took: Vec<Duration>,
    stored: Vec<String>,
    wrong: Vec<String>,
}

impl Did {
    fn percentile(&self, hundredth: usize) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort();
        sorted.get((sorted.len() * hundredth / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Harms the index without making it shorter, as a bad disk would.
fn tear(db: &Path) {
    let Ok(mut file) = fs::File::options().write(true).open(db) else { return };
    let size = file.metadata().map_or(0, |m| m.len());
    let hole = vec![0xa5; usize::try_from(size / 3).unwrap_or(0)];
    drop(file.seek(SeekFrom::Start(size / 3)).and_then(|_| file.write_all(&hole)));
}

#[test]
fn eight_at_once_lose_nothing() {
    let seconds = std::env::var("PROCESSES_SECONDS").ok().and_then(|s| s.parse().ok()).map(Duration::from_secs);
    let world = World::new();
    run(&world, &["remember", "Deploys go out on Tuesdays only"], "").expect("a first memory");
    world.file("t.jsonl", "{}\n");
    let db = world.store().join(".state/search.db");
    let (begun, rounds) = (Instant::now(), AtomicUsize::new(0));
    let goes_on = |n: usize| seconds.map_or(n < ROUNDS, |s| begun.elapsed() < s);
    // How far it has come, in thirds.
    let thirds = || match seconds {
        Some(s) => begun.elapsed().as_millis() * 3 / s.as_millis().max(1),
        None => (rounds.load(Ordering::Relaxed) * 3 / (ROUNDS * EIGHT.len())) as u128,
    };
    let done: Vec<Did> = std::thread::scope(|threads| {
        let all = EIGHT.map(|(_, round)| {
            let (world, rounds, goes_on) = (&world, &rounds, &goes_on);
            threads.spawn(move || {
                let (mut did, mut talk, mut n) = (Did::default(), None, 0);
                while goes_on(n) {
                    let at = Instant::now();
                    match round(world, &mut talk, n) {
                        Ok(mark) => did.stored.extend(mark),
                        Err(what) => did.wrong.push(what),
                    }
                    did.took.push(at.elapsed());
                    rounds.fetch_add(1, Ordering::Relaxed);
                    n += 1;
                }
                did
            })
        });
        let wait = |third: u128| {
            while thirds() < third {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        wait(1);
        drop(fs::remove_file(&db));
        wait(2);
        tear(&db);
        all.into_iter().map(|t| t.join().expect("a thread")).collect()
    });
    report(&done, begun.elapsed(), &world);
    let wrong: Vec<_> =
        EIGHT.iter().zip(&done).flat_map(|((name, _), did)| did.wrong.iter().map(move |w| format!("{name}: {w}"))).collect();
    assert!(wrong.is_empty(), "{} rounds failed, such as {}", wrong.len(), wrong[0]);
    nothing_is_lost(&world, &db, &done);
}

fn nothing_is_lost(world: &World, db: &Path, done: &[Did]) {
    world.run(&["verify"]).ok();
    let listed = world.run(&["list", "--all-projects", "--json"]).ok().json();
    let there: Vec<&str> = listed["memories"].as_array().expect("memories").iter().filter_map(|m| m["summary"].as_str()).collect();
    let stored: BTreeSet<&String> = done.iter().flat_map(|d| &d.stored).collect();
    let lost: Vec<_> = stored.iter().filter(|mark| !there.iter().any(|summary| summary.contains(mark.as_str()))).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
    let results = || (0..12).map(|n| world.run(&["--json", "search", &words(n)]).ok().json()["memories"].clone()).collect::<Vec<_>>();
    let with_the_old = results();
    let sound: String = rusqlite::Connection::open(db)
        .and_then(|c| c.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .expect("the index can be read");
    assert_eq!(sound, "ok");
    fs::remove_file(db).expect("removed");
    assert!(with_the_old.iter().any(|r| r.as_array().is_some_and(|r| !r.is_empty())), "nothing is found");
    assert_eq!(results(), with_the_old, "a new index finds something else");
}

#[expect(clippy::print_stdout, reason = "figures for whoever asks for them")]
fn report(done: &[Did], took: Duration, world: &World) {
    println!("{:<20} {:>7} {:>9} {:>9} {:>9} {:>7}", "", "rounds", "p50 ms", "p95 ms", "most ms", "failed");
    for ((name, _), did) in EIGHT.iter().zip(done) {
        let [p50, p95, most] = [50, 95, 100].map(|p| did.percentile(p).as_millis());
        println!("{name:<20} {:>7} {p50:>9} {p95:>9} {most:>9} {:>7}", did.took.len(), did.wrong.len());
    }
    let notes = fs::read_to_string(world.store().join(".state/hook-errors.jsonl")).unwrap_or_default();
    println!("{:.1} s, {} hook failures noted\n{notes}", took.as_secs_f64(), notes.lines().count());
}

/// Nothing of ours outlives a command: no pipe is held, no process stays behind.
#[test]
fn a_killed_client_leaves_no_process() {
    let world = World::new();
    let mut child = world.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
    // The client is gone: its ends of the pipes close.
    drop((child.stdin.take(), child.stdout.take()));
    assert!(child.wait().expect("it ends by itself").success());
}
