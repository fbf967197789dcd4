//! Reconciling by pairs (`tests/cases/reconcile/pairs.yaml`), by generated pairs, and by small runs against a store.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and tell")]

use std::path::Path;

use claude_mem::extract::Known;
use claude_mem::extract::ground::{Outcome as Judged, Verdict};
use claude_mem::model::{
    Candidate, Change, Code, Evidence, Id, Kind, Layer, Memory, Origin, Pointer, Relation, RelationType, Speaker, State, Validity,
};
use claude_mem::reconcile::conflict::clash;
use claude_mem::reconcile::duplicate::{same, similarity};
use claude_mem::reconcile::{Outcome, ReconcileContext, reconcile};
use claude_mem::store::{Entry, Snapshot};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    expect: String,
    older: String,
    newer: String,
    #[serde(default)]
    quote: Option<String>,
    #[serde(default)]
    kinds: Option<(String, String)>,
    #[serde(default)]
    scopes: Option<(String, String)>,
    #[serde(default)]
    states: Option<(String, String)>,
}

fn memory(at: u64, summary: &str) -> Memory {
    let mut memory = Memory::new(Id::from_bits(at), Layer::Working, Kind::Decision, summary);
    memory.session = Some("2026-01-05-aaaaaaaa".to_owned());
    memory.created = Some("2026-01-05T09:00:00Z".to_owned());
    memory
}

fn said(turn: u32, quote: &str) -> Evidence {
    Evidence { session: None, turn, speaker: Speaker::User, quote: quote.to_owned() }
}

fn both(pair: &Pair) -> (Memory, Memory) {
    let (mut a, mut b) = (memory(1, &pair.older), memory(2, &pair.newer));
    b.evidence.extend(pair.quote.as_deref().map(|q| said(1, q)));
    if let Some((x, y)) = &pair.kinds {
        (a.kind, b.kind) = (Kind::parse(x).unwrap(), Kind::parse(y).unwrap());
    }
    if let Some((x, y)) = &pair.scopes {
        (a.scope, b.scope) = (Some(x.clone()), Some(y.clone()));
    }
    if let Some((x, y)) = &pair.states {
        (a.state, b.state) = (State::parse(x).unwrap(), State::parse(y).unwrap());
    }
    (a, b)
}

fn pairs(file: &str) -> Vec<Pair> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/reconcile").join(file)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[test]
fn the_detector_finds_conflicts_and_only_those() {
    for file in ["pairs.yaml", "heldout.yaml", "heldout2.yaml"] {
        detect(file);
    }
}

fn detect(file: &str) {
    let (mut wanted, mut found, mut right, mut wrong) = (0, 0, 0, Vec::new());
    for pair in pairs(file) {
        let (a, b) = both(&pair);
        let clash = clash(&a, &b);
        let expected = pair.expect == "conflict";
        wanted += usize::from(expected);
        found += usize::from(clash.is_some());
        right += usize::from(expected && clash.is_some());
        if expected != clash.is_some() {
            wrong.push(format!("{}: {} / {} {clash:?}", pair.expect, pair.older, pair.newer));
        }
        assert_eq!(same(&a, &b), pair.expect == "same", "same: {} / {}", pair.older, pair.newer);
    }
    println!("{file}: conflicts wanted {wanted}, found {found}, right {right}\n{}", wrong.join("\n"));
    assert!(right as f64 >= 0.9 * wanted as f64 && right as f64 >= 0.9 * found as f64, "{file}:\n{}", wrong.join("\n"));
}

/// Sentences with slots; each slot has values that differ in what may never be merged.
const FRAMES: &[&str] = &[
    "{name} owns the {thing} and keeps it at version {version} in {path}",
    "The {thing} of {name} retries {number} times until {date}",
    "We deploy the {thing} to {path} on {date} with {number} workers",
    "Always ask {name} before the {thing} goes to {version}",
    "{thing} 由 {name} 负责，版本 {version}，放在 {path}",
    "{name} 说 {thing} 最多重试 {number} 次，{date} 前有效",
    "{thing} は {name} が担当し、バージョンは {version}、上限は {number}",
    "{thing} 담당은 {name}, 버전은 {version}, 경로는 {path}",
];
const NAMES: &[&str] = &["Maria", "Dario", "Keycloak", "Auth0", "redis", "valkey", "小王", "小李", "yarn", "bun", "pnpm", "npm"];
const THINGS: &[&str] = &["gateway", "importer", "ledger", "网关", "账本", "billing service", "order queue", "レポート"];

fn slot(frame: &str, name: &str) -> bool {
    frame.contains(&format!("{{{name}}}"))
}

/// Values for a slot, the second one different from the first.
fn two(slot: &str, n: u32, m: u32) -> (String, String) {
    let m = m % 97 + 1; // never 0: the values differ
    let at = |list: &[&str], i: u32| list[i as usize % list.len()].to_owned();
    match slot {
        "name" => (at(NAMES, n), at(NAMES, n + 1 + m % (NAMES.len() as u32 - 1))),
        "thing" => (at(THINGS, n), at(THINGS, n + 1 + m % (THINGS.len() as u32 - 1))),
        "version" => (format!("{}.{}.{}", n % 9, n % 31, n % 17), format!("{}.{}.{}", n % 9, n % 31, n % 17 + m)),
        "path" => (format!("src/mod{}/file{}.rs", n % 7, n % 40), format!("src/mod{}/file{}.rs", n % 7, n % 40 + m)),
        "number" => (format!("{}", n % 500), format!("{}", n % 500 + m)),
        _ => (format!("2026-{:02}-{:02}", n % 12 + 1, n % 27 + 1), format!("2027-{:02}-{:02}", m % 12 + 1, n % 27 + 1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No pair that differs in one number, name, path, version, date or negation is ever the same.
    #[test]
    fn what_matters_is_never_merged(frame in 0..FRAMES.len(), which in 0..7usize, n in 0u32..100_000, m in 0u32..100_000) {
        let frame = FRAMES[frame];
        let slots = ["name", "thing", "version", "path", "number", "date"];
        let damaged = slots.get(which).copied().filter(|s| slot(frame, s));
        let (mut a, mut b) = (frame.to_owned(), frame.to_owned());
        for (i, name) in slots.iter().enumerate() {
            let (x, y) = two(name, n.wrapping_add(i as u32 * 7), m);
            a = a.replace(&format!("{{{name}}}"), &x);
            b = b.replace(&format!("{{{name}}}"), if damaged == Some(name) { &y } else { &x });
        }
        if damaged.is_none() {
            // No such slot, or the seventh kind of damage: the sign.
            b = match frame.chars().next() {
                _ if frame.contains("담당") => format!("{b} 아니다"),
                _ if frame.contains('は') => format!("{b} ではない"),
                _ if frame.contains('由') || frame.contains('说') => format!("不是 {b}"),
                _ => format!("It is not true that {b}"),
            };
        }
        prop_assert!(!same(&memory(1, &a), &memory(2, &b)), "{a} / {b}");
        prop_assert!(same(&memory(1, &a), &memory(2, &a)), "{a}");
    }

    /// Whatever the words: what is the same is at least 0.7 similar, and the same the other way round.
    #[test]
    fn same_is_similar_and_symmetric(a in "[a-c不用 ]{0,12}", b in "[a-c不用 ]{0,12}") {
        let (x, y) = (memory(1, &a), memory(2, &b));
        prop_assert_eq!(same(&x, &y), same(&y, &x));
        prop_assert!(!same(&x, &y) || similarity(&a, &b) >= 0.7);
    }
}

// ---- small runs against a store ----

struct Store(Snapshot);

impl Store {
    fn with(memories: Vec<Memory>) -> Self {
        let entries = memories.into_iter().map(|memory| Entry::new(memory, "")).collect();
        Self(Snapshot { entries, ..Snapshot::default() })
    }

    fn run(&self, verdicts: Vec<Verdict>) -> Outcome {
        self.run_with(verdicts, 5)
    }

    fn run_with(&self, verdicts: Vec<Verdict>, max_supersedes: usize) -> Outcome {
        let known: Vec<Known> =
            self.0.entries.iter().enumerate().map(|(at, e)| Known { alias: format!("m{:02}", at + 1), memory: e.memory.clone() }).collect();
        let next = std::cell::Cell::new(1000);
        let new_id = || {
            next.set(next.get() + 1);
            Ok(Id::from_bits(next.get()))
        };
        let context = ReconcileContext {
            known: &known,
            global: None,
            project: "shop",
            session: "2026-02-20-bbbbbbbb",
            at: "2026-02-20T10:00:00Z",
            origin: Origin::Claude,
            branch: Some("main"),
            day: "2026-02-20",
            max_supersedes,
            new_id: &new_id,
        };
        reconcile(verdicts, &self.0, &context).unwrap()
    }
}

fn kept(summary: &str, quote: &str, points: &[(&str, RelationType)]) -> Verdict {
    let mut candidate = Candidate::new(format!("n-{summary}"), Kind::Decision, Layer::Working, summary);
    candidate.relations = points.iter().map(|(id, kind)| Pointer { id: (*id).to_owned(), kind: *kind }).collect();
    Verdict { candidate, evidence: vec![said(1, quote)], outcome: Judged::Keep, notes: Vec::new() }
}

fn added(outcome: &Outcome) -> Vec<&Memory> {
    outcome.changes.iter().filter_map(|c| if let Change::Add(m) = c { Some(m) } else { None }).collect()
}

fn amended(outcome: &Outcome) -> Vec<&Memory> {
    outcome.changes.iter().filter_map(|c| if let Change::Amend(m) = c { Some(m) } else { None }).collect()
}

#[test]
fn a_new_claim_is_added_with_all_it_carries() {
    let mut verdict = kept("The flag stays on until Friday.", "The flag stays on until Friday", &[]);
    verdict.candidate.layer = Layer::Transient;
    verdict.candidate.until_date = Some("2026-02-27".to_owned());
    verdict.candidate.reason = Some("the demo".to_owned());
    let out = Store::with(vec![]).run(vec![verdict]);
    let memory = added(&out)[0];
    assert_eq!(memory.validity, Validity::Until("2026-02-27".to_owned()));
    assert_eq!((memory.session.as_deref(), memory.branch.as_deref()), (Some("2026-02-20-bbbbbbbb"), Some("main")));
    assert_eq!((memory.origin, memory.evidence.len()), (Origin::Claude, 1));
    assert_eq!(out.added, std::slice::from_ref(&memory.id));
}

#[test]
fn what_is_there_already_is_confirmed() {
    for (old, new) in
        [("Table names are plural.", "All table names are plural"), ("缓存过期时间统一 15 分钟。", "缓存的过期时间统一15分钟")]
    {
        let out = Store::with(vec![memory(1, old)]).run(vec![kept(new, new, &[])]);
        assert_eq!(out.confirmed, [Id::from_bits(1)]);
        assert!(added(&out).is_empty());
        let confirm =
            out.changes.iter().find_map(|c| if let Change::Confirm { evidence, .. } = c { evidence.clone() } else { None }).unwrap();
        assert_eq!((confirm.quote.as_str(), confirm.session.as_deref()), (new, Some("2026-02-20-bbbbbbbb")));
    }
}

#[test]
fn said_twice_in_one_conversation_is_one_memory() {
    let out = Store::with(vec![]).run(vec![
        kept("Table names are plural.", "table names are plural", &[]),
        kept("All table names are plural", "plural, as I said", &[]),
    ]);
    assert_eq!(added(&out).len(), 1);
    assert_eq!(added(&out)[0].evidence.len(), 2);
}

#[test]
fn a_pointed_duplicate_with_another_number_is_no_duplicate() {
    let out = Store::with(vec![memory(1, "The gateway timeout is 30s.")]).run(vec![kept(
        "The gateway timeout is 45s.",
        "timeout 45s",
        &[("m01", RelationType::Duplicate)],
    )]);
    assert!(out.confirmed.is_empty());
    assert_eq!(out.conflicts.len(), 1);
}

#[test]
fn a_conflict_keeps_both_and_flags_both() {
    let out = Store::with(vec![memory(1, "CI runs on Buildkite.")]).run(vec![kept(
        "CI runs on GitHub Actions.",
        "CI runs on GitHub Actions",
        &[],
    )]);
    assert_eq!(out.conflicts, [(Id::from_bits(1), added(&out)[0].id.clone())]);
    assert!(amended(&out).is_empty() && out.superseded.is_empty());
    assert!(added(&out)[0].relations.contains(&Relation { id: Id::from_bits(1), kind: RelationType::Conflicts }));
}

#[test]
fn the_users_own_words_on_a_later_day_settle_it() {
    for (old, new, quote) in [
        ("The gateway timeout is 30s.", "The gateway timeout is 45s.", "the gateway timeout is changed to 45s"),
        ("网关超时为 30s。", "网关超时为 45s。", "网关超时改成 45s"),
    ] {
        let pointed = &[("m01", RelationType::Supersedes)];
        let out = Store::with(vec![memory(1, old)]).run(vec![kept(new, quote, pointed)]);
        assert_eq!(out.superseded, [Id::from_bits(1)], "{new}");
        let loser = amended(&out)[0];
        assert_eq!((loser.state, loser.summary.as_str()), (State::Superseded, old));
        assert!(loser.relations.iter().any(|r| r.kind == RelationType::SupersededBy && r.id == added(&out)[0].id));
        // Without a word of change, on the same day, or if pinned, a person decides.
        let out = Store::with(vec![memory(1, old)]).run(vec![kept(new, "45s", pointed)]);
        assert!(out.superseded.is_empty() && out.conflicts.len() == 1, "{new}");
        let pinned = Memory { pinned: true, ..memory(1, old) };
        let out = Store::with(vec![pinned]).run(vec![kept(new, quote, pointed)]);
        assert!(out.superseded.is_empty() && out.conflicts.len() == 1, "{new}");
        let today = Memory { session: Some("2026-02-20-cccccccc".to_owned()), ..memory(1, old) };
        let out = Store::with(vec![today]).run(vec![kept(new, quote, pointed)]);
        assert!(out.superseded.is_empty() && out.conflicts.len() == 1, "{new}");
    }
}

#[test]
fn inside_one_conversation_the_last_word_wins() {
    let first = kept("The session cache is Redis.", "put it in Redis", &[]);
    let mut second = kept(
        "The session cache is an LRU in the process.",
        "on second thought, an LRU",
        &[("n-The session cache is Redis.", RelationType::Supersedes)],
    );
    second.candidate.reason = Some("one pod only".to_owned());
    let out = Store::with(vec![]).run(vec![first, second]);
    let memories = added(&out);
    assert_eq!((memories[0].state, memories[0].reason.as_deref()), (State::Rejected, Some("one pod only")));
    assert_eq!(memories[1].state, State::Valid);
    assert!(out.conflicts.is_empty());
}

#[test]
fn a_todo_is_closed_only_on_one_clear_match() {
    let todo = |at, text: &str| Memory { kind: Kind::Todo, ..memory(at, text) };
    let store = Store::with(vec![
        todo(1, "Write the 0.9 migration note."),
        todo(2, "Rotate the signing key."),
        todo(3, "给 user_profile 表补索引。"),
    ]);
    let done = |text: &str, quote: &str, points: &[(&str, RelationType)]| {
        let mut verdict = kept(text, quote, points);
        (verdict.candidate.kind, verdict.candidate.state) = (Kind::Todo, State::Done);
        verdict
    };
    let out = store.run(vec![done("The 0.9 migration note is merged.", "the 0.9 migration note is merged", &[])]);
    assert_eq!(out.completed, [Id::from_bits(1)]);
    assert_eq!(amended(&out)[0].state, State::Done);
    let out = store.run(vec![done("user_profile 表索引已补完。", "user_profile 索引补完了", &[])]);
    assert_eq!(out.completed, [Id::from_bits(3)]);
    let out = store.run(vec![done("The key is rotated.", "rotated", &[("m02", RelationType::Completes)])]);
    assert_eq!(out.completed, [Id::from_bits(2)]);
    let twins = Store::with(vec![todo(1, "Write the migration note for web."), todo(2, "Write the migration note for infra.")]);
    let out = twins.run(vec![done("The migration note is written.", "the migration note is written", &[])]);
    assert!(out.completed.is_empty());
    assert_eq!(out.review.len(), 1);
}

#[test]
fn weak_and_doubtful_candidates_wait_for_a_person_once() {
    let mut verdict = kept("Table names are plural.", "plural", &[]);
    verdict.outcome = Judged::Review(vec![Code::Weak]);
    let mut store = Store::with(vec![]);
    let out = store.run(vec![verdict.clone()]);
    assert_eq!(out.review.len(), 1);
    let item = out.changes.into_iter().find_map(|c| if let Change::Ask(item) = c { Some(*item) } else { None }).unwrap();
    assert_eq!((item.id.to_string(), item.codes.as_slice()), (item.memory.id.clone(), &[Code::Weak][..]));
    store.0.catalogue.review.push(item);
    assert!(store.run(vec![verdict]).changes.is_empty());
}

#[test]
fn dropped_candidates_are_told_and_nothing_else() {
    let mut verdict = kept("Table names are plural.", "plural", &[]);
    verdict.outcome = Judged::Drop(Code::ETombstone);
    let out = Store::with(vec![]).run(vec![verdict]);
    assert_eq!(out.dropped, [(Code::ETombstone, "Table names are plural.".to_owned())]);
    assert!(out.changes.is_empty());
}

#[test]
fn what_leans_on_a_superseded_memory_is_asked_about() {
    let mut leaning = memory(2, "The client gives up after the gateway.");
    leaning.relations.push(Relation { id: Id::from_bits(1), kind: RelationType::DependsOn });
    let linking = Memory { reason: Some(format!("see [[{}]]", Id::from_bits(1))), ..memory(3, "Alarms ring late.") };
    let out = Store::with(vec![memory(1, "The gateway timeout is 30s."), leaning, linking]).run(vec![kept(
        "The gateway timeout is 45s.",
        "the gateway timeout is changed to 45s",
        &[("m01", RelationType::Supersedes)],
    )]);
    assert_eq!(out.review.len(), 2);
}

#[test]
fn too_many_replacements_stop_the_run() {
    let names = ["gateway", "ledger", "importer"];
    let old = names.iter().enumerate().map(|(at, n)| memory(at as u64 + 1, &format!("The {n} timeout is 30s."))).collect();
    let new = || {
        let verdict = |(at, n): (usize, &&str)| {
            let alias = format!("m{:02}", at + 1);
            kept(&format!("The {n} timeout is 45s."), "all timeouts are changed to 45s", &[(alias.as_str(), RelationType::Supersedes)])
        };
        names.iter().enumerate().map(verdict).collect::<Vec<_>>()
    };
    let store = Store::with(old);
    assert!(store.run_with(new(), 3).stop.is_none());
    let stop = store.run_with(new(), 2).stop.unwrap();
    assert_eq!(stop.kind.exit_code(), 6);
}

#[test]
fn only_global_preferences_leave_the_project() {
    let mut verdict = kept("Answers are short.", "keep answers short", &[]);
    verdict.candidate.kind = Kind::Preference;
    verdict.candidate.layer = Layer::LongTerm;
    verdict.candidate.scope = Some("global".to_owned());
    let mut fact = verdict.clone();
    fact.candidate.kind = Kind::Fact;
    fact.candidate.summary = "The API listens on port 8080.".to_owned();
    let out = Store::with(vec![]).run(vec![verdict, fact]);
    assert_eq!((out.global_changes.len(), out.changes.len()), (1, 1));
}
