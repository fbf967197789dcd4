//! The Messages API, case by case: what is stored, what the user reads, exit code, requests, ledger.
//! The cases are files in `tests/cases/api`; see the README there.
#![expect(clippy::unwrap_used, clippy::panic, clippy::format_push_string, reason = "helpers of tests fail loudly")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use claude_mem::env::Env;
use claude_mem::extract::{Claude, ClaudeSettings, Extraction, Extractor, Job, Key, Policy, Timeouts, Unfinished, ledger};
use claude_mem::model::{Conversation, Speaker, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    model: Option<String>,
    turns: Option<Vec<(String, String)>>,
    #[serde(default)]
    settings: Settings,
    #[serde(default)]
    spent: Vec<Spent>,
    #[serde(default)]
    reply: Vec<Reply>,
    expect: Expect,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    retries: Option<u32>,
    max_cost: Option<f64>,
    daily_cap: Option<f64>,
    max_input_tokens: Option<u64>,
    idle_ms: Option<u64>,
    total_ms: Option<u64>,
    #[serde(default)]
    no_key: bool,
}

#[derive(Deserialize)]
struct Spent {
    at: String,
    cost_usd: f64,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Reply {
    answer: Option<String>,
    stop: Option<String>,
    model: Option<String>,
    usage: Option<BTreeMap<String, u64>>,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    wire: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    memories: Option<Vec<String>>,
    error: Option<String>,
    hint: Option<String>,
    exit: Option<u8>,
    unfinished: Option<String>,
    skipped: Option<String>,
    #[serde(default)]
    refused: Vec<String>,
    requests: usize,
    ledger: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

/// A key that is whole nowhere in the repository.
fn key() -> String {
    ["sk-", "ant-", "test-", "0123456789abcdef"].concat()
}

impl Reply {
    fn status(&self) -> u16 {
        self.status.unwrap_or(200)
    }

    fn body(&self) -> String {
        if let Some(body) = &self.body {
            return body.replace("KEY", &key());
        }
        let usage = self.usage.clone().unwrap_or_else(|| [("input_tokens".into(), 1000), ("output_tokens".into(), 200)].into());
        json!({
            "type": "message", "role": "assistant", "model": self.model.as_deref().unwrap_or("claude-haiku-5-5"),
            "content": [{"type": "text", "text": self.answer.as_deref().unwrap_or_default()}],
            "stop_reason": self.stop.as_deref().unwrap_or("end_turn"), "usage": usage,
        })
        .to_string()
    }
}

/// Bodies of the requests that came, with their header lines.
type Seen = Arc<Mutex<Vec<(String, Value)>>>;

/// A server made of nothing but a socket: for connections that misbehave.
fn bare(replies: Vec<Reply>, seen: Seen) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    if replies.iter().any(|r| r.wire.as_deref() == Some("refused")) {
        return address;
    }
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for reply in replies {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let (head, length) = read_head(&mut stream);
            if reply.wire.as_deref() == Some("reset") {
                seen.lock().unwrap().push((head, Value::Null));
                // Closing with unread bytes makes the kernel send a reset.
                continue;
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            seen.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap()));
            let text = reply.body();
            let head = |length: usize| {
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")
            };
            match reply.wire.as_deref() {
                None => write!(stream, "{}{text}", head(text.len())).unwrap(),
                Some("cut") => write!(stream, "{}{text}", head(text.len() + 500)).unwrap(),
                Some("stall") => held.push(stream),
                Some("trickle") => {
                    let _ = write!(stream, "{}", head(100_000));
                    while stream.write_all(b" ").is_ok() {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
                Some(other) => panic!("unknown wire {other}"),
            }
        }
        // A stalled connection stays open until the client gives up.
        for mut stream in held {
            let _ = stream.read(&mut [0]);
        }
    });
    address
}

/// Reads up to the empty line, byte by byte so that the body stays unread.
fn read_head(stream: &mut TcpStream) -> (String, usize) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap().trim().parse().unwrap();
    (head, length)
}

async fn mocked(replies: Vec<Reply>, seen: Seen) -> MockServer {
    let server = MockServer::start().await;
    let left = Mutex::new(replies.into_iter());
    let respond = move |request: &wiremock::Request| {
        let head: String = request.headers.iter().map(|(n, v)| format!("{n}: {}\n", v.to_str().unwrap_or(""))).collect();
        seen.lock().unwrap().push((head, serde_json::from_slice(&request.body).unwrap()));
        let Some(reply) = left.lock().unwrap().next() else { return ResponseTemplate::new(418).set_body_string("no reply left") };
        let mut response = ResponseTemplate::new(reply.status()).set_body_string(reply.body());
        for (name, value) in &reply.headers {
            response = response.insert_header(name.as_str(), value.as_str());
        }
        response
    };
    Mock::given(method("POST")).and(path("/v1/messages")).respond_with(respond).mount(&server).await;
    server
}

pub fn job(turns: &[(String, String)]) -> Job {
    let speaker = |name: &str| match name {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => Speaker::Tool,
    };
    let turn = |(i, (who, text)): (usize, &(String, String))| Turn {
        number: i as u32 + 1,
        speaker: speaker(who),
        text: text.clone(),
        at: None,
        uuid: None,
    };
    let turns = turns.iter().enumerate().map(turn).collect();
    Job {
        conversation: Conversation { session: "s1".into(), turns, ..Conversation::default() },
        after_turn: 0,
        known: vec![],
        day: "2026-03-30".into(),
        scope: "shop".into(),
    }
}

pub fn env() -> Env {
    let vars = [("CLAUDE_MEM_NOW".to_owned(), "2026-03-30T10:00:00Z".to_owned())].into();
    Env::of(vars, "/".into(), jiff::tz::TimeZone::UTC).unwrap()
}

/// Runs one case; the complaints.
fn run(case: &Case) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let (book, record) = (dir.path().join("ledger.jsonl"), dir.path().join("record"));
    for spent in &case.spent {
        let line = ledger::Line {
            at: spent.at.clone(),
            cost_usd: Some(spent.cost_usd),
            status: 200,
            outcome: "end_turn".into(),
            ..Default::default()
        };
        ledger::append(&book, &line).unwrap();
    }
    let seen = Seen::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut server, mut address) = (None, String::new());
    if case.reply.iter().any(|r| r.wire.is_some()) {
        address = bare(case.reply.clone(), seen.clone());
    } else {
        let mock = runtime.block_on(mocked(case.reply.clone(), seen.clone()));
        address.push_str(&mock.uri());
        server = Some(mock);
    }
    let given = &case.settings;
    let long = Duration::from_secs(60);
    let millis = |ms: Option<u64>| ms.map_or(long, Duration::from_millis);
    let settings = ClaudeSettings {
        base_url: address,
        model: case.model.clone().unwrap_or_else(|| "claude-haiku-5-5".into()),
        key: Key::new(&key()).filter(|_| !given.no_key),
        max_cost: given.max_cost,
        daily_cap: given.daily_cap.or(Some(1.0)),
        max_input_tokens: given.max_input_tokens.unwrap_or(24_000),
        timeouts: Timeouts { connect: long, idle: millis(given.idle_ms), total: millis(given.total_ms) },
        retry: Policy {
            retries: given.retries.unwrap_or(4),
            first: Duration::from_millis(1),
            longest: Duration::from_millis(5),
            elapsed: long,
        },
        ..ClaudeSettings::default()
    };
    let usual = [("user", "Please run CI on pull requests only."), ("assistant", "Done.")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let job = job(case.turns.as_deref().unwrap_or(&usual));
    let env = env();
    let claude = Claude::new(settings, &env, book.clone(), Some(record)).unwrap();
    let result = runtime.block_on(claude.extract(&job));
    drop(server);
    let mut wrong = compare(&case.expect, &result, &book);
    requests(case, &seen.lock().unwrap(), &mut wrong);
    canary(dir.path(), &mut wrong);
    if format!("{result:?}{:?}", Key::new(&key())).contains(&key()) {
        wrong.push("the key shows in the result".into());
    }
    wrong
}

fn compare(expect: &Expect, result: &claude_mem::error::Result<Extraction>, book: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut want = |what: &str, ok: bool, got: String| {
        if !ok {
            wrong.push(format!("{what}: {got}"));
        }
    };
    let lines: Vec<String> = ledger::read(book).unwrap().0.iter().map(|l| format!("{} {}", l.status, l.outcome)).collect();
    want("ledger", lines == expect.ledger, format!("{lines:?}"));
    match result {
        Err(e) => {
            want("error", expect.error.as_ref().is_some_and(|part| e.message.contains(part)), format!("{e:?}"));
            want("hint", e.hint.as_deref().is_some_and(|h| h.contains(expect.hint.as_deref().unwrap_or(""))), format!("{e:?}"));
            want("exit", Some(e.kind.exit_code()) == expect.exit, format!("{:?}", e.kind));
        }
        Ok(got) => {
            want("error", expect.error.is_none(), format!("none, but {got:?}"));
            let memories: Vec<String> = got.candidates.iter().map(|c| format!("{} {}", c.state, c.summary)).collect();
            want("memories", memories == expect.memories.clone().unwrap_or_default(), format!("{memories:?} {got:?}"));
            let put_aside = matches!(got.unfinished, Some(Unfinished::Quarantine(_)));
            want("unfinished", put_aside == (expect.unfinished.as_deref() == Some("quarantine")), format!("{:?}", got.unfinished));
            let fits = match (&expect.skipped, &got.skipped) {
                (Some(part), Some(got)) => got.contains(part),
                (want, got) => want.is_none() && got.is_none(),
            };
            want("skipped", fits, format!("{:?}", got.skipped));
            let codes: Vec<_> = got.refused.iter().map(|r| r.code.name()).collect();
            want("refused", codes == expect.refused, format!("{codes:?}"));
            for part in &expect.notes {
                want(part, got.notes.iter().any(|n| n.contains(part)), format!("{:?}", got.notes));
            }
            want("calls", got.usage.calls as usize == expect.requests, format!("{:?}", got.usage));
        }
    }
    wrong
}

fn requests(case: &Case, seen: &[(String, Value)], wrong: &mut Vec<String>) {
    if seen.len() != case.expect.requests {
        wrong.push(format!("requests: {}", seen.len()));
    }
    for (head, _) in seen {
        let sent = head.contains(&format!("x-api-key: {}", key()));
        if sent == case.settings.no_key || !head.contains("anthropic-version: 2023-06-01") || head.contains("anthropic-beta") {
            wrong.push("headers".into());
        }
    }
    for (rows, wanted) in [(&case.expect.has, true), (&case.expect.lacks, false)] {
        for row in rows {
            let (number, pointer) = row.split_once(' ').unwrap();
            let body = &seen.get(number.parse::<usize>().unwrap() - 1).map(|s| &s.1).unwrap_or(&Value::Null);
            if body.is_null() || body.pointer(pointer).is_some() != wanted {
                wrong.push(format!("{row}: has it {}", !wanted));
            }
        }
    }
}

/// No file that came into being holds the key.
fn canary(dir: &Path, wrong: &mut Vec<String>) {
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(&key()) {
                wrong.push(format!("the key is in {}", entry.path().display()));
            }
        }
    }
}

#[test]
fn every_case() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/api");
    let mut failed = String::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten().filter(|e| e.path().extension().is_some_and(|e| e == "toml")) {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let case: Case = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", entry.path().display()));
        count += 1;
        for complaint in run(&case) {
            failed += &format!("{:?} ({}): {complaint}\n", entry.file_name(), case.about);
        }
    }
    assert!(count >= 35, "only {count} cases were found");
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn settings_that_cannot_work_are_configuration_errors() {
    let env = env();
    let open = |base_url: &str, with_key: bool, max_cost: Option<f64>, model: &str| {
        let key = Key::new(&key()).filter(|_| with_key);
        let settings = ClaudeSettings { base_url: base_url.into(), key, max_cost, model: model.into(), ..ClaudeSettings::default() };
        Claude::new(settings, &env, "/nowhere/ledger.jsonl".into(), None).map(|_| ())
    };
    let haiku = "claude-haiku-5-5";
    for (result, part) in [
        (open("https://api.anthropic.com", false, None, haiku), "no API key"),
        (open("http://example.com", true, None, haiku), "not encrypted"),
        (open("ftp://example.com", true, None, haiku), "not an http"),
        (open("https://me:pass@example.com", true, None, haiku), "user name or password"),
        (open("http://localhost:11434", false, Some(1.0), "qwen3:8b"), "price of qwen3:8b is not known"),
    ] {
        let error = result.unwrap_err();
        assert!(error.kind.exit_code() == 3 && error.message.contains(part) && error.hint.is_some(), "{error:?}");
        assert!(!format!("{error:?}").contains(&key()));
    }
    assert_eq!(open("http://localhost:11434/v1/", false, None, "qwen3:8b"), Ok(()));
}

#[test]
fn an_interrupted_request_is_in_the_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let book = dir.path().join("ledger.jsonl");
    let seen = Seen::default();
    let stall = Reply { wire: Some("stall".into()), ..Reply::default() };
    let settings = ClaudeSettings { base_url: bare(vec![stall], seen.clone()), ..ClaudeSettings::default() };
    let env = env();
    let claude = Claude::new(settings, &env, book.clone(), None).unwrap();
    let job = job(&[("user".into(), "用 MySQL 吧".into())]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let arrived = async {
            while seen.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            answer = claude.extract(&job) => panic!("answered: {answer:?}"),
            () = arrived => {}
        }
    });
    let (lines, _) = ledger::read(&book).unwrap();
    assert_eq!(lines.iter().map(|l| l.outcome.as_str()).collect::<Vec<_>>(), ["interrupted"]);
}
