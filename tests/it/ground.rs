//! Grounding by cases: a talk, a candidate, what becomes of it. A new case is a new entry of a file in `tests/cases/ground`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail and tell")]

use std::path::Path;

use claude_mem::extract::Known;
use claude_mem::extract::ground::{Context, Outcome, Verdict, ground};
use claude_mem::model::candidate::Voice;
use claude_mem::model::{Candidate, Conversation, Id, Kind, Layer, Memory, Pointer, Quote, RelationType, Speaker, State, Strength, Turn};
use claude_mem::reconcile::duplicate::fingerprint;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "some_day")]
    day: String,
    talk: Vec<String>,
    #[serde(default)]
    known: Vec<String>,
    #[serde(default)]
    buried: Vec<String>,
    kind: String,
    #[serde(default)]
    layer: Option<String>,
    #[serde(default)]
    voice: Option<Voice>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    weak: bool,
    says: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    points: Vec<(String, String)>,
    quotes: Vec<(u32, String)>,
    expect: String,
    #[serde(default)]
    notes: Vec<String>,
}

fn some_day() -> String {
    "2026-03-02".to_owned()
}

/// A key in parts, so that no whole secret stands in the repository.
const SECRET: [&str; 2] = ["ghp_16C7e42F292c69", "12E7710c838347Ae178B4a"];

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/ground");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).unwrap().replace("{{SECRET}}", &SECRET.concat());
        serde_saphyr::from_str::<Vec<Case>>(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    files.iter().flat_map(read).collect()
}

fn run(case: &Case) -> Verdict {
    let turn = |(at, line): (usize, &String)| {
        let (who, text) = line.split_once(": ").unwrap();
        let speaker = match who {
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            "tool" => Speaker::Tool,
            other => panic!("no speaker {other}"),
        };
        Turn { number: at as u32 + 1, speaker, text: text.to_owned(), at: None, uuid: None }
    };
    let talk = Conversation { turns: case.talk.iter().enumerate().map(turn).collect(), ..Conversation::default() };
    let memory = |at: usize, text: &String| Memory::new(Id::from_bits(at as u64), Layer::Working, Kind::Fact, text.as_str());
    let known: Vec<Known> =
        case.known.iter().enumerate().map(|(at, text)| Known { alias: format!("m{:02}", at + 1), memory: memory(at, text) }).collect();
    let stones: Vec<_> = case.buried.iter().map(|text| fingerprint(text)).collect();
    let layer = case.layer.as_deref().map_or(Layer::Working, |l| Layer::parse(l).unwrap());
    let mut candidate = Candidate::new("n1", Kind::parse(&case.kind).unwrap(), layer, case.says.as_str());
    candidate.reason.clone_from(&case.reason);
    candidate.topic.clone_from(&case.topic);
    candidate.scope.clone_from(&case.scope);
    candidate.until_event.clone_from(&case.event);
    candidate.until_date.clone_from(&case.until);
    candidate.state = case.state.as_deref().map_or(State::Valid, |s| State::parse(s).unwrap());
    candidate.voice = case.voice.unwrap_or_default();
    candidate.strength = if case.weak { Strength::Weak } else { Strength::Strong };
    candidate.relations =
        case.points.iter().map(|(id, kind)| Pointer { id: id.clone(), kind: RelationType::parse(kind).unwrap() }).collect();
    candidate.evidence = case.quotes.iter().map(|(turn, quote)| Quote { turn: *turn, quote: quote.clone() }).collect();
    let context = Context { conversation: &talk, known: &known, tombstones: &stones, day: &case.day };
    ground(vec![candidate], &context).remove(0)
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Keep => "keep".to_owned(),
        Outcome::Drop(code) => format!("drop {code}"),
        Outcome::Review(codes) => format!("review {}", codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
    }
}

#[test]
fn every_case_gets_its_verdict() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let verdict = run(case);
        let notes: Vec<String> = verdict.notes.iter().map(|(code, _)| code.to_string()).collect();
        if told(&verdict.outcome) != case.expect || !case.notes.iter().all(|n| notes.contains(n)) {
            wrong.push(format!("{}: {} {:?}", case.name, told(&verdict.outcome), verdict.notes));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_code_has_cases_of_both_kinds_in_both_languages() {
    let cases = cases();
    let wide = |case: &Case| case.says.chars().any(claude_mem::text::words::is_cjk);
    for code in [
        "E_QUOTE",
        "E_SHORT",
        "E_ROLE",
        "E_NUMBER",
        "E_COVER",
        "E_NEG",
        "E_OVERTURNED",
        "E_ECHO",
        "E_SECRET",
        "E_INJECT",
        "E_LITERAL_NULL",
        "E_LONG",
        "E_DATE",
        "E_TOMBSTONE",
        "WEAK",
    ] {
        for chinese in [false, true] {
            assert!(cases.iter().any(|c| c.expect.contains(code) && wide(c) == chinese), "{code}, chinese: {chinese}");
        }
    }
    assert!(cases.iter().filter(|c| c.expect == "keep" && wide(c)).count() >= 10);
    assert!(cases.iter().filter(|c| c.expect == "keep" && !wide(c)).count() >= 10);
}

#[test]
fn no_verdict_holds_a_secret_and_every_kept_one_has_keywords() {
    for case in cases() {
        let verdict = run(&case);
        assert!(!format!("{verdict:?}").contains(&SECRET.concat()), "{}", case.name);
        let keywords = verdict.candidate.keywords.len();
        assert!(verdict.outcome != Outcome::Keep || (2..=5).contains(&keywords), "{}: {:?}", case.name, verdict.candidate.keywords);
    }
}

#[test]
fn foreign_text_never_panics() {
    let pieces = [
        "",
        " ",
        "不",
        "n't",
        "'",
        "10k",
        "2026-02-30",
        "日",
        "\u{0}",
        "é",
        "👩‍👩‍👧",
        "[[",
        "</claude-mem",
        "３",
        "一二三",
        "～/",
        "A::b",
        "9999999999999999999999",
        "万亿",
        "İ",
        "ß",
    ];
    for a in pieces {
        for b in pieces {
            let text = format!("{a}{b} {b}{a}");
            let case = Case {
                name: text.clone(),
                day: a.to_owned(),
                talk: vec![format!("user: {text}"), format!("assistant: {b}{text}")],
                known: vec![text.clone()],
                buried: vec![b.to_owned()],
                kind: "decision".to_owned(),
                layer: None,
                voice: None,
                state: None,
                weak: false,
                says: text.clone(),
                reason: Some(b.to_owned()),
                topic: None,
                scope: None,
                event: None,
                until: Some(a.to_owned()),
                points: Vec::new(),
                quotes: vec![(1, text.trim().to_owned())],
                expect: String::new(),
                notes: Vec::new(),
            };
            run(&case);
        }
    }
}
