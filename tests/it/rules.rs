//! The offline rules: one case per rule, held-out dialogues with a floor, the shared gold set's traps, and random text.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail loudly")]

use std::path::{Path, PathBuf};

use claude_mem::extract::rules::{Explained, explain};
use claude_mem::extract::{Job, Known};
use claude_mem::model::{Conversation, Id, Kind, Layer, Memory, Speaker, Strength, Turn};
use claude_mem::text::clean;
use proptest::prelude::*;
use serde_json::Value;

fn cases(folder: &str) -> Vec<(String, Vec<Value>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/rules").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&root).expect("cases").flatten().map(|e| e.path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("UTF-8");
        let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), rows)
    };
    files.iter().map(read).collect()
}

fn turn(number: usize, speaker: &str, text: &str) -> Turn {
    let speaker = match speaker {
        "u" | "user" => Speaker::User,
        "a" | "assistant" => Speaker::Assistant,
        _ => Speaker::Tool,
    };
    Turn { number: u32::try_from(number + 1).expect("small"), speaker, text: text.to_owned(), at: None, uuid: None }
}

fn job(turns: Vec<Turn>, day: &str, known: Vec<Known>) -> Job {
    let (conversation, _) = clean(&Conversation { session: "s".into(), date: Some(day.to_owned()), turns, ..Conversation::default() });
    Job { conversation, after_turn: 0, known, day: day.to_owned(), scope: "shop".into() }
}

/// What would be stored without asking.
fn strong(job: &Job) -> Vec<Explained> {
    explain(job).into_iter().filter(|e| e.candidate.strength == Strength::Strong).collect()
}

fn said(e: &Explained) -> String {
    format!("{} {}", e.candidate.summary, e.candidate.reason.as_deref().unwrap_or_default()).to_lowercase()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn has_all(text: &str, anchors: &Value) -> bool {
    strings(anchors).iter().all(|a| a.split('|').any(|one| text.contains(&one.to_lowercase())))
}

fn has_any(text: &str, anchors: &Value) -> bool {
    strings(anchors).iter().any(|a| text.contains(&a.to_lowercase()))
}

fn is(row: &Value, key: &str, got: &str) -> bool {
    row[key].as_str().is_none_or(|wanted| wanted == got)
}

#[test]
fn each_rule_on_one_case() {
    let mut wrong = Vec::new();
    for (file, rows) in cases("one") {
        for row in rows {
            let name = format!("{file}/{}", row["name"].as_str().expect("a name"));
            let turns = strings(&row["turns"]).iter().enumerate().map(|(i, t)| turn(i, &t[..1], &t[2..])).collect();
            let known = row["known"].as_array().into_iter().flatten().enumerate().map(|(i, k)| {
                let kind = Kind::parse(k["kind"].as_str().expect("a kind")).expect("a kind");
                let memory = Memory::new(Id::from_bits(i as u64 + 1), Layer::Working, kind, k["summary"].as_str().expect("a summary"));
                Known { alias: format!("m{:02}", i + 1), memory }
            });
            let mut job = job(turns, row["day"].as_str().unwrap_or("2026-04-14"), known.collect());
            job.after_turn = u32::try_from(row["after"].as_u64().unwrap_or(0)).expect("small");
            let got = strong(&job);
            let expected = row["expect"].as_array().expect("a list");
            let brief: Vec<_> = got.iter().map(|e| format!("{} {} {:?} | {:?}", e.rule, e.points, e.candidate.state, said(e))).collect();
            if got.len() != expected.len() {
                wrong.push(format!("{name}: {} wanted, got {brief:#?}", expected.len()));
                continue;
            }
            for want in expected {
                let fits = |e: &&Explained| {
                    let c = &e.candidate;
                    has_all(&said(e), &want["has"])
                        && !has_any(&said(e), &want["lacks"])
                        && is(want, "kind", c.kind.name())
                        && is(want, "layer", c.layer.name())
                        && c.state.name() == want["state"].as_str().unwrap_or("valid")
                        && is(want, "until", c.until_date.as_deref().unwrap_or("none"))
                        && is(want, "scope", c.scope.as_deref().unwrap_or("none"))
                        && is(want, "relation", c.relations.first().map_or("none", |r| r.kind.name()))
                        && want["reason"].as_str().is_none_or(|r| c.reason.as_deref().is_some_and(|why| why.contains(r)))
                        && want["quotes"].as_u64().is_none_or(|n| n == c.evidence.len() as u64)
                        && want["voice"].as_str().is_none_or(|v| serde_json::to_value(c.voice).expect("a name") == v)
                };
                if !got.iter().any(|e| fits(&e)) {
                    wrong.push(format!("{name}: no {want} in {got:#?}"));
                }
            }
            hold_together(&job, &name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every candidate: quotes verbatim, a summary that fits, two to five keywords, at most twelve in all.
fn hold_together(job: &Job, name: &str) {
    let all = explain(job);
    assert!(all.len() <= 12, "{name}");
    for e in &all {
        let c = &e.candidate;
        assert!((1..=3).contains(&c.evidence.len()), "{name}: {c:?}");
        for quote in &c.evidence {
            let turn = job.conversation.turn(quote.turn).unwrap_or_else(|| panic!("{name}: no turn {}", quote.turn));
            assert!(turn.text.contains(&quote.quote) && quote.quote.chars().count() <= 160, "{name}: {quote:?}");
            assert!(matches!(turn.speaker, Speaker::User | Speaker::Assistant), "{name}: {quote:?}");
        }
        let by_user = |q: &claude_mem::model::Quote| job.conversation.turn(q.turn).is_some_and(|t| t.speaker == Speaker::User);
        assert!(c.evidence.iter().any(by_user), "{name}: {c:?}");
        assert!(claude_mem::text::words::width(&c.summary) <= 100.0 && !c.summary.contains('\n'), "{name}: {c:?}");
        assert!(c.keywords.len() <= 5, "{name}: {c:?}");
    }
}

/// The least part of what is stored on dialogues nobody tuned for that must be right, and of what is wanted that must be found.
/// On first sight the second set gave P .84 and R .55, the third P .84 and R .59, the fourth P .89 and R .70.
const FLOOR: (f64, f64) = (0.9, 0.85);

#[test]
fn held_out_dialogues() {
    for (file, rows) in cases("heldout") {
        let (mut stored, mut right, mut wanted, mut found) = (0, 0, 0, 0);
        for row in &rows {
            let name = format!("{file}/{}", row["id"].as_str().expect("an id"));
            let turns = row["turns"].as_array().expect("turns").iter().enumerate();
            let turns = turns.map(|(i, t)| turn(i, t[0].as_str().expect("a speaker"), t[1].as_str().expect("a text"))).collect();
            let job = job(turns, row["day"].as_str().expect("a day"), Vec::new());
            let got = strong(&job);
            assert!(row["silent"].is_null() || got.is_empty(), "{name}: {got:#?}");
            for (e, trap) in got.iter().flat_map(|e| row["avoid"].as_array().into_iter().flatten().map(move |a| (e, a))) {
                let c = &e.candidate;
                let applies = is(trap, "state", c.state.name()) && is(trap, "kind", c.kind.name()) && is(trap, "layer", c.layer.name());
                let fires = applies && has_all(&said(e), &trap["has"]) && !has_any(&said(e), &trap["unless"]);
                assert!(!fires, "{name}: leaks {trap}: {}", c.summary);
            }
            let mut open: Vec<&Value> = row["want"].as_array().expect("a list").iter().collect();
            wanted += open.iter().filter(|w| w["optional"].is_null()).count();
            for e in &got {
                let state = e.candidate.state.name();
                let hit = open.iter().position(|w| w["state"].as_str().unwrap_or("valid") == state && has_all(&said(e), &w["has"]));
                stored += 1;
                if let Some(want) = hit.map(|at| open.remove(at)) {
                    right += 1;
                    found += usize::from(want["optional"].is_null());
                }
            }
            hold_together(&job, &name);
        }
        let (precision, recall) = (f64::from(right) / f64::from(stored), found as f64 / wanted as f64);
        println!("{file}: {stored} stored, precision {precision:.2}, recall {recall:.2}");
        assert!(precision >= FLOOR.0 && recall >= FLOOR.1, "{file}: precision {precision:.2}, recall {recall:.2}");
    }
}

/// Traps that no wording of a rule may ever fall into.
const STRUCTURAL: &[&str] =
    &["secret", "injection", "memory_echo", "synthetic_turn", "code_noise", "tool_noise", "assistant_suggestion", "joke", "hallucination"];

#[test]
fn no_trap_of_the_shared_set_springs() {
    let Some(shared) = crate::support::shared() else {
        println!("skipped: no shared data beside the crate");
        return;
    };
    for folder in ["cases", "real"] {
        let files = std::fs::read_dir(shared.join("gold").join(folder)).expect("the gold set");
        for path in files.flatten().map(|e| e.path()) {
            let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("UTF-8")).expect("JSON");
            for session in case["sessions"].as_array().expect("sessions") {
                let turns = session["turns"].as_array().expect("turns").iter().enumerate();
                let turns = turns.map(|(i, t)| turn(i, t["role"].as_str().expect("a role"), t["text"].as_str().expect("a text"))).collect();
                let job = job(turns, session["date"].as_str().expect("a day"), Vec::new());
                let got = strong(&job);
                assert!(case["max_memories"].as_u64().is_none_or(|most| got.len() as u64 <= most), "{}: {got:#?}", path.display());
                for trap in case["forbidden"]
                    .as_array()
                    .expect("traps")
                    .iter()
                    .filter(|t| STRUCTURAL.contains(&t["type"].as_str().unwrap_or_default()))
                {
                    for e in &got {
                        let words = |group: &Value| strings(group).iter().any(|a| said(e).contains(a.trim_matches(['=', '*'])));
                        let applies = |key: &str, name: &str| trap[key].is_null() || strings(&trap[key]).contains(&name);
                        let fires = trap["contains_all"].as_array().expect("groups").iter().all(words)
                            && !has_any(&said(e), &trap["unless_any"])
                            && applies("when_state", e.candidate.state.name())
                            && applies("when_kind", e.candidate.kind.name());
                        assert!(!fires, "{}: {trap}: {}", path.display(), e.candidate.summary);
                    }
                }
                hold_together(&job, &path.display().to_string());
            }
        }
    }
}

proptest! {
    /// Whatever people type: no panic, quotes verbatim, the same twice.
    #[test]
    fn any_text_is_survived(texts in prop::collection::vec("[a-z用不要改成还是。，,\\.\\?! \\n0-9s:：`'’\"）(]{0,60}|always use [A-Z]{1,4} instead|不对，改成 [0-9]{1,3}s|wait, no\\. [a-z ]{0,20}|[1-3]\\) x", 1..8)) {
        let turns = texts.iter().enumerate().map(|(i, t)| turn(i, ["u", "a"][i % 2], t)).collect();
        let job = job(turns, "2026-04-14", Vec::new());
        hold_together(&job, "random");
        prop_assert_eq!(explain(&job), explain(&job));
    }
}
