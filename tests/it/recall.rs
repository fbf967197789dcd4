//! Recall, lint and decay: stores as JSON rows, expected texts and changes as files; budgets and orders as properties.
//!
//! `tests/cases/recall/CASE/store.json` holds memories and requests; each request has its expected `NAME.txt` and
//! `NAME.explain`. A new case needs no code. `BLESS=1` writes what is expected from what is there, to be read and judged.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use claude_mem::model::plan::{MemoryRecord, SessionRecord};
use claude_mem::model::{Change, Id, Memory, Relation, RelationType, State};
use claude_mem::recall::{Budget, Mode, Request, explain, inject};
use claude_mem::reconcile::decay::{Settings, come_back, decay, subject};
use claude_mem::reconcile::lint::{Kind, Proposal, changes, lint};
use claude_mem::store::catalogue::{Catalogue, ConflictRecord, MemoryUse};
use claude_mem::store::{Entry, GLOBAL, Snapshot};
use claude_mem::text::{tags, words::Language};
use proptest::prelude::*;
use serde::Deserialize;

fn cases(area: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(area)
}

/// What a case asks of `inject`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    mode: Option<String>,
    keywords: Vec<String>,
    tokens: Option<usize>,
    utf16: Option<usize>,
    language: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    today: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    memories: Vec<MemoryRecord>,
    #[serde(default)]
    global: Vec<MemoryRecord>,
    #[serde(default)]
    conflicts: Vec<ConflictRecord>,
    /// Sessions by name and day of ingestion.
    #[serde(default)]
    sessions: BTreeMap<String, String>,
    #[serde(default)]
    requests: BTreeMap<String, Asked>,
    /// For lint and decay: the outcome, one line each.
    #[serde(default)]
    expect: Vec<String>,
}

fn read_case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A record as an extractor would have left it, where the case does not say.
fn said_here(record: &MemoryRecord) -> MemoryRecord {
    let origin = if record.origin.is_empty() { "claude" } else { &record.origin };
    MemoryRecord { origin: origin.to_owned(), ..record.clone() }
}

fn snapshot(project: &str, records: &[MemoryRecord]) -> Snapshot {
    let mut catalogue = Catalogue::default();
    let entry = |record: &MemoryRecord| {
        let id = Id::parse(&record.id).unwrap_or_else(|| panic!("no id: {:?}", record.id));
        let uses = MemoryUse { hits: record.hits, last_access: record.last_access.clone(), ..MemoryUse::default() };
        catalogue.memories.insert(record.id.clone(), uses);
        Entry::new(said_here(record).to_memory(id).unwrap(), format!("{project}/working-memory.md"))
    };
    let entries = records.iter().map(entry).collect();
    Snapshot { project: project.to_owned(), entries, catalogue, ..Snapshot::default() }
}

impl Case {
    fn snapshots(&self) -> [Snapshot; 2] {
        let mut project = snapshot(&self.project, &self.memories);
        project.catalogue.conflicts.clone_from(&self.conflicts);
        let session =
            |(name, day): (&String, &String)| SessionRecord { session: name.clone(), ingested: day.clone(), ..SessionRecord::default() };
        project.catalogue.sessions = self.sessions.iter().map(session).collect();
        [project, snapshot(GLOBAL, &self.global)]
    }

    fn request(&self, asked: &Asked) -> Request {
        let mut request = Request::new(&self.today);
        request.mode = asked.mode.as_deref().map_or(Mode::Standard, |m| Mode::parse(m).unwrap());
        request.keywords.clone_from(&asked.keywords);
        request.budget = match (asked.tokens, asked.utf16) {
            (Some(n), None) => Budget::Tokens(n),
            (None, Some(n)) => Budget::Utf16(n),
            _ => Budget::STANDARD,
        };
        request.language = asked.language.as_deref().map(|l| match l {
            "zh" => Language::Chinese,
            "en" => Language::English,
            other => panic!("language {other}"),
        });
        request
    }
}

/// Compares byte for byte, or writes what is expected if `BLESS` is set.
#[expect(clippy::disallowed_methods, reason = "the test's own switch and its own case files")]
fn golden(path: &Path, actual: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}; BLESS=1 writes it", path.display()));
    assert!(expected == actual, "{}\n--- expected\n{expected}\n--- actual\n{actual}", path.display());
}

#[test]
fn injections_are_as_written() {
    let mut seen = 0;
    for folder in std::fs::read_dir(cases("recall")).unwrap() {
        let folder = folder.unwrap().path();
        let case = read_case(&folder.join("store.json"));
        let [project, global] = case.snapshots();
        for (name, asked) in &case.requests {
            let request = case.request(asked);
            let injection = inject(&[&project, &global], &request);
            assert!(injection.size() <= request.budget.most(), "{} {name} is over its budget", folder.display());
            golden(&folder.join(format!("{name}.txt")), &injection.text);
            let rows: String = explain(&injection).iter().map(|row| format!("{row}\n")).collect();
            let pairs: String = injection.conflicts.iter().map(|(a, b)| format!("? {a} or {b}\n")).collect();
            golden(&folder.join(format!("{name}.explain")), &(rows + &pairs));
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} requests were found");
}

#[test]
fn an_injected_text_leaves_nothing_to_ingest() {
    for folder in std::fs::read_dir(cases("recall")).unwrap() {
        let case = read_case(&folder.unwrap().path().join("store.json"));
        let [project, global] = case.snapshots();
        let request = Request { mode: Mode::Deep, budget: Budget::Tokens(100_000), ..Request::new(&case.today) };
        let text = inject(&[&project, &global], &request).text;
        assert_eq!(text.matches(tags::CLOSE).count(), usize::from(!text.is_empty()), "{text}");
        // Pasted whole, and pasted without the tags.
        for pasted in [text.clone(), text.replace(tags::OPEN, "").replace(tags::CLOSE, "")] {
            let left = tags::remove(&format!("before\n{pasted}after")).0;
            assert_eq!(left.split_whitespace().collect::<Vec<_>>(), ["before", "after"]);
        }
    }
}

#[test]
fn no_field_brings_a_secret_into_the_text() {
    let secret = ["AKIA", "Q7XZ", "3MNP", "L5RT", "8WVB"].concat();
    let hidden: String = secret.chars().flat_map(|c| [c, '\u{200b}']).collect();
    for (n, text) in [format!("the key is {secret}"), format!("the key is {hidden}")].iter().enumerate() {
        let mut record = MemoryRecord { id: Id::from_bits(n as u64).to_string(), summary: text.clone(), ..MemoryRecord::default() };
        for field in [&mut record.topic, &mut record.reason, &mut record.rejected, &mut record.until_event, &mut record.scope] {
            *field = Some(text.clone());
        }
        let store = snapshot("payment-api", &[record]);
        let text = inject(&[&store], &Request::new("2025-06-12")).text;
        assert!(!text.contains(&secret) && text.matches("[REDACTED:").count() >= 4, "{text}");
    }
}

/// Rows of every case, for properties over real-looking text, hostile rows included.
fn all_rows() -> Vec<MemoryRecord> {
    let all = ["recall", "lint", "decay"].map(|area| std::fs::read_dir(cases(area)).unwrap().map(|f| f.unwrap().path()));
    let mut files: Vec<PathBuf> = all.into_iter().flatten().map(|p| if p.is_dir() { p.join("store.json") } else { p }).collect();
    files.sort();
    let cases = files.iter().map(|f| read_case(f));
    let rows: Vec<MemoryRecord> = cases.flat_map(|c| c.memories.into_iter().chain(c.global)).collect();
    // Cases may use the same ids; a home may not.
    let rename = |(i, mut row): (usize, MemoryRecord)| {
        row.id = Id::from_bits(i as u64).to_string();
        row.relations.clear();
        row
    };
    rows.into_iter().enumerate().map(rename).collect()
}

fn any_store() -> impl Strategy<Value = (Snapshot, Vec<usize>)> {
    let rows = all_rows();
    let n = rows.len();
    let parts = (
        proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 0..=n),
        proptest::collection::vec((0u64..9, 0usize..n, 0usize..n), 0..6),
    );
    parts.prop_flat_map(move |(kept, links)| {
        let mut store = snapshot("payment-api", &kept.iter().map(|i| rows[*i].clone()).collect::<Vec<_>>());
        for (what, a, b) in links {
            let (a, b) = (Id::from_bits(a as u64), Id::from_bits(b as u64));
            let kinds = [RelationType::Supersedes, RelationType::SupersededBy, RelationType::Conflicts];
            if let Some(kind) = kinds.get(what as usize)
                && let Some(entry) = store.entries.iter_mut().find(|e| e.memory.id == a && a != b)
            {
                entry.memory.relations.push(Relation { id: b, kind: *kind });
            } else {
                let record =
                    ConflictRecord { older: a.to_string(), newer: b.to_string(), state: "pending".to_owned(), ..ConflictRecord::default() };
                store.catalogue.conflicts.push(record);
            }
        }
        let order = Just((0..store.entries.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(store), order)
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    let mode = prop_oneof![Just(Mode::Standard), Just(Mode::Light), Just(Mode::Deep)];
    let budget = prop_oneof![(0usize..1500).prop_map(Budget::Tokens), (0usize..4000).prop_map(Budget::Utf16)];
    (mode, budget).prop_map(|(mode, budget)| Request { mode, budget, ..Request::new("2025-06-12") })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn budget_order_and_use((store, order) in any_store(), request in any_request()) {
        let injection = inject(&[&store], &request);
        prop_assert!(injection.size() <= request.budget.most());
        prop_assert_eq!(injection.text.is_empty(), injection.items.is_empty());
        prop_assert_eq!(injection.items.len() + injection.left_out.len(), store.entries.len());

        // The order of the files' entries does not matter.
        let mut shuffled = store.clone();
        shuffled.entries = order.iter().map(|i| store.entries[*i].clone()).collect();
        shuffled.catalogue.conflicts.reverse();
        prop_assert_eq!(&inject(&[&shuffled], &request), &injection);

        // An injection counts as a use, and that changes nothing in the next one.
        let mut used = store.clone();
        for item in &injection.items {
            let mut uses = used.catalogue.memories.get(item.id.as_str()).cloned().unwrap_or_default();
            uses.hits += 1;
            uses.last_access = Some("2025-06-12T10:00:00Z".to_owned());
            used.catalogue.memories.insert(item.id.to_string(), uses);
        }
        prop_assert_eq!(&inject(&[&used], &request).text, &injection.text);

        // Nothing is said without what supersedes it, and both sides of a dispute or none.
        let said = |id: &Id| injection.items.iter().any(|i| i.id == *id);
        for entry in &store.entries {
            for newer in entry.memory.related(RelationType::SupersededBy) {
                prop_assert!(!said(&entry.memory.id) || said(newer) || store.catalogue.conflicts.iter().any(|c| c.older == newer.as_str() || c.newer == newer.as_str()));
            }
        }
    }

    #[test]
    fn refining_twice_proposes_nothing_new((store, _) in any_store()) {
        let first = lint(&store, "2025-06-12");
        let refined = apply(&store, &first);
        let second = lint(&refined, "2025-06-12");
        for proposal in &second {
            let known = first.iter().any(|p| p.key == proposal.key);
            prop_assert!(known && matches!(proposal.kind, Kind::Question { .. }), "new: {:?}", proposal);
        }
    }

    #[test]
    fn decaying_twice_changes_nothing((store, _) in any_store()) {
        let first = decay(&store, "2025-06-12", &Settings::default());
        let mut after = store.clone();
        let archived = |e: &&Entry| first.iter().any(|d| matches!(&d.change, Change::Archive { id } if *id == e.memory.id));
        let gone: Vec<Entry> = store.entries.iter().filter(archived).cloned().collect();
        prop_assert_eq!(come_back(&after, &gone, "2025-06-12", &Settings::default()), vec![]);
        for decayed in &first {
            put(&mut after, &decayed.change);
        }
        prop_assert_eq!(decay(&after, "2025-06-12", &Settings::default()), vec![]);
    }
}

/// What a commit would make of a change, as far as these tests need it.
fn put(store: &mut Snapshot, change: &Change) {
    match change {
        Change::Amend(memory) => {
            let entry = store.entries.iter_mut().find(|e| e.memory.id == memory.id).unwrap();
            entry.memory = memory.clone();
        }
        Change::Archive { id } | Change::Forget { id, .. } => store.entries.retain(|e| e.memory.id != *id),
        Change::Conflict { older, newer, .. } => {
            let link = Relation { id: older.clone(), kind: RelationType::Conflicts };
            store.entries.iter_mut().find(|e| e.memory.id == *newer).unwrap().memory.relations.push(link);
        }
        other => panic!("unexpected {other:?}"),
    }
}

/// All proposals carried out one after another, each on what the one before left.
fn apply(store: &Snapshot, proposals: &[Proposal]) -> Snapshot {
    let mut store = store.clone();
    for proposal in proposals {
        for change in changes(&store, proposal) {
            put(&mut store, &change);
        }
    }
    store
}

fn each_case(area: &str, actual: impl Fn(&Case, &Snapshot) -> Vec<String>) {
    let mut seen = 0;
    for file in std::fs::read_dir(cases(area)).unwrap() {
        let path = file.unwrap().path();
        let case = read_case(&path);
        let [store, _] = case.snapshots();
        assert_eq!(actual(&case, &store), case.expect, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} cases in {area}");
}

#[test]
fn lint_finds_what_is_expected() {
    each_case("lint", |case, store| {
        let line = |p: Proposal| {
            let ids: Vec<&str> = p.ids.iter().map(Id::as_str).collect();
            let ids = ids.join(" ");
            match p.kind {
                Kind::Rewrite { summary } => format!("{ids} rewrite: {summary}"),
                Kind::Conflict => format!("{ids} conflict"),
                Kind::Finish { todo } => format!("{ids} finish {todo}"),
                Kind::Doubt { question } => format!("{ids} doubt {question}"),
                Kind::Merge { into } => format!("{ids} merge into {into}"),
                Kind::Lapse => format!("{ids} lapse"),
                Kind::SetUntil { day } => format!("{ids} until {day}"),
                Kind::Question { ask } => format!("{ids} ask {ask:?}"),
            }
        };
        lint(store, &case.today).into_iter().map(line).collect()
    });
}

#[test]
fn decay_changes_what_is_expected() {
    each_case("decay", |case, store| {
        let line = |change: &Change| match change {
            Change::Amend(memory) => memory.state.name(),
            Change::Archive { .. } => "archive",
            Change::Forget { tombstone: None, .. } => "forget",
            _ => "?",
        };
        let all = decay(store, &case.today, &Settings::default());
        all.iter().map(|d| format!("{} {}: {}", subject(&d.change).unwrap(), line(&d.change), d.reason)).collect()
    });
}

#[test]
fn merging_keeps_quotes_and_stays_readable() {
    let case = read_case(&cases("lint").join("english.json"));
    let [store, _] = case.snapshots();
    let merge = lint(&store, &case.today).into_iter().find(|p| matches!(p.kind, Kind::Merge { .. })).unwrap();
    let after = apply(&store, std::slice::from_ref(&merge));
    let Kind::Merge { into } = &merge.kind else { panic!("not a merge") };
    let kept: &Memory = &after.entry(into).unwrap().memory;
    for id in &merge.ids {
        let before = &store.entry(id).unwrap().memory;
        assert!(before.evidence.iter().all(|e| kept.evidence.iter().any(|k| k.quote == e.quote)));
        assert_eq!(after.entry(id).unwrap().memory.state == State::Superseded, id != into);
    }
}
