//! Search: cases in four languages (`tests/cases/search`), sums of scores, the same with and without index, and an index that
//! is lost or damaged in the middle.

use std::path::Path;

use claude_mem::error::Result;
use claude_mem::model::{Change, Evidence, Id, Kind, Layer, Memory, Plan, Speaker, State};
use claude_mem::pipeline::search::Searcher;
use claude_mem::recall::search::{Hit, SearchOptions, is_match, search};
use claude_mem::store::index::{Index, Refreshed};
use claude_mem::store::{Snapshot, Store};
use serde::Deserialize;

const NOW: &str = "2026-06-15T12:00:00Z";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    memory: Vec<Said>,
    ask: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    name: String,
    summary: String,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    quotes: Vec<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    state: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    query: String,
    #[serde(default)]
    first: Option<String>,
    #[serde(default)]
    none: bool,
    #[serde(default, rename = "match")]
    clear: Option<bool>,
}

fn memory(number: usize, said: &Said) -> Memory {
    let kind = said.kind.as_deref().and_then(Kind::parse).unwrap_or(Kind::Decision);
    let mut memory = Memory::new(Id::from_bits(number as u64 * 7919 + 1), Layer::Working, kind, &said.summary);
    memory.topic.clone_from(&said.topic);
    memory.reason.clone_from(&said.reason);
    memory.keywords.clone_from(&said.keywords);
    memory.state = said.state.as_deref().and_then(State::parse).unwrap_or(State::Valid);
    memory.created = Some(format!("2026-05-{:02}T10:00:00Z", number % 28 + 1));
    let quote = |quote: &String| Evidence { session: None, turn: 1, speaker: Speaker::User, quote: quote.clone() };
    memory.evidence = said.quotes.iter().map(quote).collect();
    memory
}

/// A store with these memories in project `shop`.
fn stored(home: &Path, memories: &[Memory]) -> Store {
    let store = Store::open(home, NOW).expect("a store").store;
    let base = store.snapshot("shop").expect("a snapshot").base;
    let mut plan = Plan::new("shop", base, "test", NOW);
    plan.changes = memories.iter().cloned().map(Change::Add).collect();
    store.commit(&plan, &|| Ok(Id::from_bits(99))).expect("a commit");
    store
}

fn with_index(store: &Store, query: &str, options: &SearchOptions) -> Vec<Hit> {
    let searcher = Searcher::open(store, &["shop".to_owned()], 0).expect("a searcher");
    assert!(searcher.is_indexed(), "{:?}", searcher.notes());
    searcher.find(query, options).expect("hits")
}

fn without(store: &Store, query: &str, options: &SearchOptions) -> Result<Vec<Hit>> {
    let snapshot: Snapshot = store.snapshot("shop")?;
    Ok(search(&[&snapshot], query, options))
}

#[test]
fn cases_in_four_languages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/search");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("cases").flatten().map(|e| e.path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for path in files {
        let case: Case = toml::from_str(&std::fs::read_to_string(&path).expect("a case")).expect("a case");
        let home = tempfile::tempdir().expect("a folder");
        let memories: Vec<Memory> = case.memory.iter().enumerate().map(|(i, said)| memory(i, said)).collect();
        let store = stored(home.path(), &memories);
        let options = SearchOptions::new("2026-06-15");
        for ask in &case.ask {
            let hits = without(&store, &ask.query, &options).expect("hits");
            let named = |hit: &Hit| memories.iter().position(|m| m.id == hit.id).map(|i| case.memory[i].name.as_str()).unwrap_or("?");
            let found: Vec<String> =
                hits.iter().map(|h| format!("{} {:.1} strength {:.1} coverage {:.2}", named(h), h.score, h.strength, h.coverage)).collect();
            let first = hits.first().map(named);
            let clear = hits.first().is_some_and(is_match);
            let bad = (ask.none && !hits.is_empty())
                || ask.first.is_some() && first != ask.first.as_deref()
                || ask.clear.is_some_and(|c| c != clear);
            if bad {
                wrong.push(format!("{} “{}”: {found:?}", case.about, ask.query));
            }
            assert_eq!(with_index(&store, &ask.query, &options), hits, "index: {}", ask.query);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Many memories out of few words, so that scores tie and candidates are cut.
fn crowd(n: usize) -> Vec<Memory> {
    let words = ["deploy", "cache", "retry", "部署", "缓存", "重试", "order_no", "HTTPServer", "v1.2.3", "worker", "テスト", "배포"];
    let mut state = 7_u64;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    (0..n)
        .map(|i| {
            let text: Vec<&str> = (0..2 + next(4)).map(|_| words[next(words.len())]).collect();
            let said = Said {
                name: String::new(),
                summary: format!("{} {i}", text.join(" ")),
                topic: Some(words[next(words.len())].to_owned()),
                reason: (next(3) == 0).then(|| words[next(words.len())].to_owned()),
                keywords: vec![words[next(words.len())].to_owned()],
                quotes: vec![text.join(" and ")],
                kind: None,
                state: (next(9) == 0).then(|| "superseded".to_owned()),
            };
            memory(i, &said)
        })
        .collect()
}

const QUERIES: [&str; 8] =
    ["deploy cache", "部署", "缓存重试 worker", "orderNo retry", "wroker", "テスト 배포", "v1.2.3", "http server deploy 部署 缓存"];

#[test]
fn the_index_finds_what_the_whole_finds_and_parts_add_up() {
    let home = tempfile::tempdir().expect("a folder");
    let store = stored(home.path(), &crowd(600));
    for limit in [5, 500] {
        let options = SearchOptions { limit, ..SearchOptions::new("2026-06-15") };
        for query in QUERIES {
            let hits = with_index(&store, query, &options);
            assert!(!hits.is_empty(), "{query}");
            assert_eq!(hits, without(&store, query, &options).expect("hits"), "{query}");
            for hit in &hits {
                let b = hit.breakdown;
                let sum = b.topic + b.keywords + b.summary + b.reason + b.evidence + b.recency + b.usage;
                assert!((sum - b.total).abs() < 1e-9 && b.total.is_finite() && b.total == hit.score, "{query}: {b:?}");
            }
        }
    }
}

#[test]
fn a_lost_or_damaged_index_changes_no_result() {
    let home = tempfile::tempdir().expect("a folder");
    let store = stored(home.path(), &crowd(120));
    let options = SearchOptions::new("2026-06-15");
    let db = home.path().join(".state/search.db");
    let all = || QUERIES.iter().map(|q| with_index(&store, q, &options)).collect::<Vec<_>>();
    let before = all();
    let harm: [(&str, &dyn Fn()); 6] = [
        ("removed", &|| std::fs::remove_file(&db).expect("removed")),
        ("emptied", &|| std::fs::write(&db, b"").expect("written")),
        ("another file", &|| std::fs::write(&db, b"not a database at all, but long enough to be looked at".repeat(99)).expect("written")),
        ("cut", &|| {
            let bytes = std::fs::read(&db).expect("read");
            std::fs::write(&db, &bytes[..bytes.len() / 2]).expect("written");
        }),
        ("torn in the middle", &|| {
            let mut bytes = std::fs::read(&db).expect("read");
            let n = bytes.len();
            bytes[n / 4..n * 3 / 4].fill(0xa5);
            std::fs::write(&db, &bytes).expect("written");
        }),
        ("of another format", &|| {
            let mut bytes = std::fs::read(&db).expect("read");
            bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
            std::fs::write(&db, &bytes).expect("written");
        }),
    ];
    for (what, harm) in harm {
        harm();
        // The first search may have to do without the index; its results are the same.
        let searcher = Searcher::open(&store, &["shop".to_owned()], 0).expect("a searcher");
        let once: Vec<Vec<Hit>> = QUERIES.iter().map(|q| searcher.find(q, &options).expect("hits")).collect();
        drop(searcher);
        assert_eq!(once, before, "{what}");
        assert_eq!(all(), before, "{what}: made anew");
    }
    // While a searcher is open.
    let searcher = Searcher::open(&store, &["shop".to_owned()], 0).expect("a searcher");
    std::fs::remove_file(&db).expect("removed");
    let under: Vec<Vec<Hit>> = QUERIES.iter().map(|q| searcher.find(q, &options).expect("hits")).collect();
    assert_eq!(under, before);
}

#[test]
fn hand_edits_are_noticed_without_a_command() {
    let home = tempfile::tempdir().expect("a folder");
    let store = stored(home.path(), &crowd(5));
    let options = SearchOptions::new("2026-06-15");
    assert!(with_index(&store, "zebra", &options).is_empty());
    let file = home.path().join("shop/working-memory.md");
    let text = std::fs::read_to_string(&file).expect("read");
    for (from, to) in [("deploy", "zebra!"), ("zebra!", "deploy")] {
        // The same length and, if the clock is coarse, the same time: only the content tells.
        let now = std::fs::read_to_string(&file).expect("read");
        std::fs::write(&file, now.replace(from, to)).expect("written");
        assert_eq!(with_index(&store, "zebra", &options).is_empty(), to == "deploy", "{to}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("read"), text);
    std::fs::remove_file(&file).expect("removed");
    for query in QUERIES {
        assert_eq!(with_index(&store, query, &options), without(&store, query, &options).expect("hits"));
    }
}

#[test]
fn the_index_follows_every_commit() {
    let home = tempfile::tempdir().expect("a folder");
    let store = stored(home.path(), &crowd(40));
    let ids: Vec<Id> = crowd(40).into_iter().map(|m| m.id).collect();
    let options = SearchOptions { any_state: true, limit: 100, ..SearchOptions::new("2026-06-15") };
    with_index(&store, "deploy", &options);
    let mut reworded = crowd(40).remove(3);
    reworded.summary = "zebra 斑马 crossing".to_owned();
    reworded.topic = Some("Animals".to_owned());
    let changes = [
        Change::Add(crowd(41).remove(40)),
        Change::Amend(reworded),
        Change::Confirm { id: ids[5].clone(), evidence: None },
        Change::Conflict { older: ids[6].clone(), newer: ids[7].clone(), reason: "they disagree".into(), supersedes: false },
        Change::Settle { older: ids[6].clone(), newer: ids[7].clone(), how: "new".into(), tombstone: None },
        Change::Archive { id: ids[8].clone() },
        Change::Forget { id: ids[9].clone(), tombstone: None },
        Change::Touch { ids: vec![ids[1].clone(), ids[2].clone()] },
    ];
    for change in changes {
        // What a reader noted meanwhile is counted by the same commit.
        store.note_access("shop", NOW, &[ids[4].clone()]).expect("noted");
        let name = format!("{change:?}");
        let mut plan = Plan::new("shop", store.snapshot("shop").expect("a snapshot").base, "test", NOW);
        plan.changes.push(change);
        store.commit(&plan, &|| Ok(Id::from_bits(99))).expect("a commit");
        let refreshed = Index::open(home.path()).and_then(|index| index.refresh(&store, "shop", 0)).expect("an index");
        assert_eq!(refreshed, Refreshed::default(), "{name}: there was nothing left to do");
        for query in QUERIES.into_iter().chain(["zebra", "斑马"]) {
            assert_eq!(with_index(&store, query, &options), without(&store, query, &options).expect("hits"), "{name}: {query}");
        }
    }
    store.remove("shop").expect("removed");
    assert_eq!(Index::open(home.path()).and_then(|index| index.place("shop")).expect("an index"), None);
}

#[test]
fn many_readers_and_a_writer_see_one_truth() {
    let home = tempfile::tempdir().expect("a folder");
    let memories = crowd(60);
    let store = stored(home.path(), &memories[..30]);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for (i, memory) in memories[30..].iter().enumerate() {
                let add = &mut |now: &Snapshot| {
                    let mut plan = Plan::new("shop", now.base.clone(), "test", NOW);
                    plan.changes.push(Change::Add(memory.clone()));
                    Ok(plan)
                };
                store.update("shop", NOW, &|| Ok(Id::from_bits(99)), add).expect("a commit");
                if i == 12 {
                    Index::renew(home.path()).expect("a new index");
                }
            }
        });
        for _ in 0..3 {
            threads.spawn(|| {
                for query in QUERIES.iter().cycle().take(40) {
                    let searcher = Searcher::open(&store, &["shop".to_owned()], 0).expect("a searcher");
                    searcher.find(query, &SearchOptions::new("2026-06-15")).expect("hits");
                }
            });
        }
    });
    let options = SearchOptions::new("2026-06-15");
    for query in QUERIES {
        assert_eq!(with_index(&store, query, &options), without(&store, query, &options).expect("hits"), "{query}");
    }
}
