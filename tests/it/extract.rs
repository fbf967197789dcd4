//! Extraction without a network: pieces and carry-over, recording, replaying, dumping, estimating.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail loudly")]

use std::cell::RefCell;
use std::path::Path;

use claude_mem::extract::estimate::estimate;
use claude_mem::extract::ladder::{self, About, Asked, Reply, Stop, Wire};
use claude_mem::extract::prompt::Request;
use claude_mem::extract::{ClaudeSettings, Extraction, Extractor, Job, Replay, Unfinished, Usage};
use claude_mem::model::State;
use serde_json::{Value, json};

use crate::api::job;

/// Answers made by a function of the request, which are counted.
struct Script<F: Fn(&str) -> Value>(F, RefCell<Vec<String>>);

impl<F: Fn(&str) -> Value> Wire for Script<F> {
    fn ask<'a>(&'a self, _: About<'a>, request: &'a Request) -> Asked<'a> {
        let text = &request.messages[0].1;
        self.1.borrow_mut().push(text.clone());
        let answer = (self.0)(text).to_string();
        let reply = Reply { text: answer, stop: Stop::End, usage: Usage { calls: 1, ..Usage::default() }, model: None, notes: vec![] };
        Box::pin(async { Ok(Some(reply)) })
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn entry(kind: &str, summary: &str, state: &str, quotes: &[(u32, &str)], relations: &[(&str, &str)]) -> Value {
    let evidence: Vec<Value> = quotes.iter().map(|(turn, quote)| json!({"turn": turn, "quote": quote})).collect();
    let relations: Vec<Value> = relations.iter().map(|(id, kind)| json!({"id": id, "type": kind})).collect();
    json!({"ref": "n1", "topic": "x", "kind": kind, "layer": "working", "summary": summary, "reason": null, "state": state, "until_date": null,
        "until_event": null, "scope": null, "speaker": "user", "keywords": ["x", "y"], "evidence": evidence, "relations": relations})
}

fn answer(entries: Vec<Value>) -> Value {
    json!({"memories": entries, "open_threads": []})
}

/// A talk with an early choice that is taken back far behind it.
fn long_talk() -> Job {
    let mut turns: Vec<(String, String)> = Vec::new();
    let mut say = |who: &str, text: &str| turns.push((who.to_owned(), text.to_owned()));
    say("user", "搜索就用 Elasticsearch 吧，团队熟。");
    say("assistant", "好，按 Elasticsearch 来。");
    say("user", "Results are cached for 15 minutes.");
    say("assistant", "Cached for 15 minutes.");
    for i in 0..12 {
        say("user", &format!("Now move on with step {i}, and keep the output short please."));
        say("assistant", &format!("Step {i} is done, all checks are green, moving on as you asked."));
    }
    say("user", "Elasticsearch 不用了，机器内存不够，换成 SQLite FTS5。");
    say("assistant", "改成 SQLite FTS5。");
    say("user", "The 15 minutes stay.");
    job(&turns)
}

/// What a careful model says about the part of [`long_talk`] it is shown.
fn careful(text: &str) -> Value {
    let own = |quote: &str| text.lines().any(|l| l.contains(quote) && !l.contains("context]"));
    let carried = |summary: &str| text.lines().find(|l| l.starts_with("[c") && l.contains(summary)).map(|l| l[1..4].to_owned());
    let mut entries = Vec::new();
    let (first, last) = ("搜索就用 Elasticsearch 吧", "Elasticsearch 不用了，机器内存不够");
    let taken_back = own(last);
    if own(first) {
        let quotes = if taken_back { vec![(1, first), (29, last)] } else { vec![(1, first)] };
        entries.push(entry("decision", "搜索用 Elasticsearch", if taken_back { "rejected" } else { "valid" }, &quotes, &[]));
    }
    if own("cached for 15 minutes") {
        entries.push(entry(
            "decision",
            "Search results are cached for 15 minutes",
            "valid",
            &[(3, "Results are cached for 15 minutes.")],
            &[],
        ));
    } else if own("The 15 minutes stay.") {
        let c = carried("cached for 15 minutes").expect("carried over");
        entries.push(entry(
            "decision",
            "Search results stay cached for 15 minutes",
            "valid",
            &[(31, "The 15 minutes stay.")],
            &[(&c, "duplicate")],
        ));
    }
    if taken_back {
        let c = carried("搜索用 Elasticsearch");
        let pointer: Vec<_> = c.iter().map(|c| (c.as_str(), "supersedes")).collect();
        entries.push(entry("decision", "搜索用 SQLite FTS5", "valid", &[(29, "换成 SQLite FTS5")], &pointer));
    }
    for (i, entry) in entries.iter_mut().enumerate() {
        entry["ref"] = json!(format!("n{}", i + 1));
    }
    answer(entries)
}

/// What would be stored, without the order and the second quotes.
fn state(got: &Extraction) -> Vec<(String, State, u32)> {
    let mut all: Vec<_> = got.candidates.iter().map(|c| (c.summary.clone(), c.state, c.evidence[0].turn)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn a_long_talk_ends_in_the_same_state_whole_and_in_pieces() {
    let job = long_talk();
    let whole = Script(careful, RefCell::default());
    let expected = block(ladder::run(&whole, &job, 100_000)).unwrap();
    assert_eq!(whole.1.borrow().len(), 1);
    assert_eq!(expected.candidates.len(), 3);
    for budget in [900, 1200, 1600] {
        let cut = Script(careful, RefCell::default());
        let got = block(ladder::run(&cut, &job, budget)).unwrap();
        assert!(cut.1.borrow().len() > 1, "budget {budget} did not cut");
        assert_eq!(state(&got), state(&expected), "budget {budget}");
        let dropped = got.candidates.iter().find(|c| c.state == State::Rejected).unwrap();
        assert!(dropped.evidence.iter().any(|q| q.turn == 29), "{dropped:?}");
        assert!(dropped.reason.as_deref().is_some_and(|r| r.contains("FTS5")), "{dropped:?}");
        let references: std::collections::BTreeSet<_> = got.candidates.iter().map(|c| &c.reference).collect();
        assert_eq!(references.len(), got.candidates.len());
    }
}

#[test]
fn only_turns_behind_the_cursor_are_extracted() {
    let mut job = long_talk();
    job.after_turn = 28;
    let script =
        Script(|_| answer(vec![entry("fact", "Said before", "valid", &[(26, "Now move on with step 11")], &[])]), RefCell::default());
    let got = block(ladder::run(&script, &job, 100_000)).unwrap();
    assert!(got.candidates.is_empty() && got.notes.iter().any(|n| n.contains("turns read before")), "{got:?}");
    let text = &script.1.borrow()[0];
    assert!(text.contains("[T28 assistant context]") && text.contains("[T29 user] Elastic") && !text.contains("[T21 "), "{text}");
    job.after_turn = 31;
    assert_eq!(block(ladder::run(&script, &job, 100_000)).unwrap(), Extraction::default());
    assert_eq!(script.1.borrow().len(), 1, "nothing new is no call");
}

fn replay(answers: Option<&Path>, dump: Option<&Path>) -> Replay {
    Replay { answers: answers.map(Path::to_owned), dump: dump.map(Path::to_owned), budget: 24_000 }
}

#[test]
fn dumped_requests_are_answered_by_files_named_after_them() {
    let dir = tempfile::tempdir().unwrap();
    let job = long_talk();
    let dumped = block(replay(None, Some(dir.path())).extract(&job)).unwrap();
    let Some(Unfinished::Dumped(key)) = dumped.unfinished else { panic!("{dumped:?}") };
    let request: Value = serde_json::from_slice(&std::fs::read(dir.path().join(format!("{key}.request.json"))).unwrap()).unwrap();
    let text = request.pointer("/messages/0/content").unwrap().as_str().unwrap();
    assert!(request.pointer("/schema/properties/memories").is_some() && request.get("model").is_none());

    let missing = block(replay(Some(dir.path()), None).extract(&job)).unwrap_err();
    assert_eq!(missing.kind.exit_code(), 3);
    assert!(missing.message.contains(&format!("{key}.answer.json")), "{missing}");

    let answers = [
        careful(text).to_string(),
        json!({"type": "message", "model": "m", "content": [{"type": "text", "text": careful(text).to_string()}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 5}})
        .to_string(),
    ];
    for (answer, model) in answers.iter().zip([None, Some("m")]) {
        claude_mem::store::disk::write(&dir.path().join(format!("{key}.answer.json")), answer.as_bytes()).unwrap();
        let got = block(replay(Some(dir.path()), None).extract(&job)).unwrap();
        assert_eq!((got.candidates.len(), got.model.as_deref(), got.usage), (3, model, Usage::default()));
    }
}

#[test]
fn an_estimate_counts_calls_and_dollars_before_any_call() {
    let job = long_talk();
    let settings = ClaudeSettings::default();
    let one = estimate(std::slice::from_ref(&job), &settings);
    assert_eq!(one.calls, 1);
    assert!(one.cost_usd.unwrap() > 0.0 && one.most_usd.unwrap() > one.cost_usd.unwrap(), "{one:?}");
    let cut = estimate(&[job.clone(), job.clone()], &ClaudeSettings { max_input_tokens: 1200, ..settings.clone() });
    assert!(cut.calls > 2 && cut.input_tokens > 2 * one.input_tokens, "{cut:?}");
    let local = estimate(std::slice::from_ref(&job), &ClaudeSettings { model: "qwen3:8b".into(), ..settings });
    assert_eq!((local.calls, local.cost_usd), (1, None));
}
