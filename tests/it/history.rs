//! History as a user meets it, beyond the stories in `tests/cases/cli`: others who write while a model is asked, the colours,
//! many commits, damage.

use std::process::Command;
use std::sync::Mutex;

use claude_mem::model::plan::MemoryRecord;
use claude_mem::model::{Change, Code, Id, Plan, ReviewItem};
use claude_mem::store::Store;
use serde_json::json;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::store::content;
use crate::support::{Ran, World};

fn id_of(ran: &Ran) -> String {
    ran.json()["memories"][0]["id"].as_str().expect("an id").to_owned()
}

fn remember(world: &World, text: &str) -> String {
    id_of(&world.run(&["--json", "remember", text, "--kind", "convention"]).ok())
}

/// A model that takes its time: before it answers, others change the store.
#[test]
fn answers_of_refine_outlive_what_others_write_meanwhile() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = runtime.block_on(MockServer::start());
    let world = World::new().with("ANTHROPIC_API_KEY", "dummy").with("CLAUDE_MEM_CLAUDE_BASE_URL", &server.uri());
    let one = remember(&world, "Deployments happen to go out on Tuesdays");
    let two = remember(&world, "数据库迁移要先在测试环境跑一遍");
    let others: Vec<Command> = [
        vec!["inject", "--print"],
        vec!["edit", &two, "--summary", "数据库迁移要先在预发环境跑一遍"],
        vec!["remember", "The queue is Redis"],
    ]
    .iter()
    .map(|args| world.command(args))
    .collect();
    let others = Mutex::new(others);
    let operation =
        |alias: &str, text: &str| json!({"op": "rewrite", "ids": [alias], "text": text, "until_date": null, "reason": "shorter"});
    let answer = json!({"operations": [operation("m01", "Deployments go out on Tuesdays"), operation("m02", "数据库迁移先在测试环境跑")]});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": answer.to_string()}], "usage": {"input_tokens": 700, "output_tokens": 60}});
    let reply = move |_: &wiremock::Request| {
        for mut command in others.lock().expect("not poisoned").drain(..) {
            let ran = command.output().expect("the program runs");
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
        ResponseTemplate::new(200).set_body_json(message.clone())
    };
    runtime.block_on(Mock::given(method("POST")).and(path("/v1/messages")).respond_with(reply).expect(1).mount(&server));
    let ran = world.run(&["--yes", "refine"]).ok();
    assert!(ran.err.contains("1 of 2 proposals accepted"), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains(&format!("{two} was changed meanwhile")), "{}", ran.err);
    let listed = world.run(&["list"]).ok().out;
    for text in ["Deployments go out on Tuesdays", "预发环境", "Redis"] {
        assert!(listed.contains(text), "{text} is not in\n{listed}");
    }
    let life = world.run(&["--json", "history", &one]).ok().json();
    let by: Vec<&str> = life["events"].as_array().expect("events").iter().filter_map(|e| e["by"].as_str()).collect();
    assert_eq!((by.first(), by.last()), (Some(&"person"), Some(&"refine")), "{life}");
    // What was read is not paid for again; only the entry that changed, and the new one, are.
    let dump = world.cwd().join("requests");
    world.run(&["refine", "--dump-requests", dump.to_str().expect("UTF-8"), "--dry-run"]).ok();
    let request: String =
        std::fs::read_dir(dump).expect("requests").flatten().map(|e| std::fs::read_to_string(e.path()).expect("text")).collect();
    assert!(request.contains("预发环境") && request.contains("Redis") && !request.contains("Tuesdays"), "{request}");
    runtime.block_on(server.verify());
}

/// Colour marks the same words that brackets mark, and carries nothing alone.
#[test]
fn a_word_diff_reads_the_same_without_colour() {
    let world = World::new();
    let id = remember(&world, "Deploys go out on Tuesdays only");
    world.run(&["edit", &id, "--summary", "Deploys go out on Thursdays only"]).ok();
    for args in [vec!["history", &id], vec!["diff", "2"]] {
        let plain = world.run(&args).ok().out;
        assert!(plain.contains("- Deploys go out on [Tuesdays] only") && plain.contains("+ Deploys go out on [Thursdays] only"), "{plain}");
        let colour = world.run(&[&["--color", "always"], args.as_slice()].concat()).ok().out;
        assert!(colour.contains("\u{1b}[31m[Tuesdays]") && colour.contains("\u{1b}[32m[Thursdays]"), "{colour}");
        assert_eq!(bare(&colour), plain);
    }
}

/// Text without its escape sequences.
fn bare(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// More commits than are kept: the life says where the history ends, and so does diff.
#[test]
fn the_end_of_the_history_is_said() {
    let world = World::new();
    let id = remember(&world, "数据库用 PostgreSQL");
    for n in 0..24 {
        world.run(&["edit", &id, "--why", &format!("原因 {n}")]).ok();
    }
    let life = world.run(&["history", &id]).ok().out;
    assert!(life.contains("was there already") && life.contains("the history begins behind commit 6"), "{life}");
    assert!(life.contains("why: 原因 [22]") && !life.contains("[2]"), "{life}");
    world.run(&["diff", "3"]).fails(2, "the history begins behind commit 6");
    let since = world.run(&["diff", "2026-01-01"]).ok();
    assert!(since.err.contains("it is shown from there") && since.out.contains("原因 [3]"), "{}{}", since.out, since.err);
    world.run(&["undo", "--commit", "4"]).fails(2, "commit 4 is not in the history");
    world.run(&["history", "zzzz"]).fails(2, "there is no memory `zzzz`");
}

/// A damaged copy is named, and nothing is changed for it.
#[test]
fn a_damaged_copy_is_no_old_text() {
    let world = World::new();
    let id = remember(&world, "Deploys go out on Tuesdays only");
    world.run(&["edit", &id, "--summary", "Deploys go out on Thursdays only"]).ok();
    std::fs::write(world.store().join(".state/history/000003/0-long-term-preferences.md"), "something else").expect("written");
    let before = world.tree();
    for args in [vec!["undo"], vec!["undo", "--commit", "3"], vec!["history", &id], vec!["blame", &id], vec!["diff", "2"]] {
        world.run(&args).fails(1, "is damaged");
    }
    assert_eq!(world.tree(), before);
}

/// The words of a quote with what was said around it, as long as the transcript, or a kept turn, is there.
#[test]
fn blame_looks_into_the_transcript_then_into_kept_turns() {
    let world = World::new().with("CLAUDE_MEM_SEARCH_KEEP_TURNS", "true");
    let talk = json!([{"session_id": "abcdef01-1", "date": "2026-06-01"},
        {"role": "user", "content": "上传太大了，服务器撑不住。"}, {"role": "assistant", "content": "要不要限制大小？"},
        {"role": "user", "content": "Decision: uploads are limited to 20 MB. The key is sk-ant-REDACTME-0123456789abcdef0123456789abcdef0123456789.\nThat is all."},
        {"role": "assistant", "content": "Noted, 20 MB it is."}]);
    let file = world.file("talk.json", talk.to_string());
    world.run(&["ingest", "talk.json"]).ok();
    let id = world.run(&["--json", "list"]).ok().json()["memories"][0]["id"].as_str().expect("an id").to_owned();
    let told = world.run(&["blame", &id]).ok().out;
    for text in [
        "uploads are limited to 20 MB",
        "(turn 3, user)",
        "conversation 2026-06-01-abcdef01",
        "talk.json",
        "要不要限制大小",
        "Noted, 20 MB it is",
    ] {
        assert!(told.contains(text), "{text} is not in\n{told}");
    }
    assert!(!told.contains("0123456789abcdef0123"), "a secret is shown:\n{told}");
    let json = world.run(&["--json", "blame", &id]).ok().json();
    assert_eq!((json["words"][0]["from"].as_str(), json["words"][0]["turn"].as_u64()), (Some("transcript"), Some(3)));
    std::fs::remove_file(&file).expect("removed");
    let kept = world.run(&["blame", &id]).ok().out;
    assert!(kept.contains("not there any more") && kept.contains("from the kept turns") && kept.contains("要不要限制大小"), "{kept}");
    world.file("talk.json", "User: something else\nAssistant: yes\n");
    world.run(&["--yes", "forget", "--session", "2026-06-01-abcdef01"]).ok();
    let gone = world.run(&["blame", &id]).ok().out;
    assert!(gone.contains("it is gone") && gone.contains("not in that turn of the file any more"), "{gone}");
}

/// A conversation that is forgotten leaves nothing to come back: no candidate, nothing in the archive. Undo brings all back.
#[test]
fn forgetting_a_conversation_takes_candidates_and_the_archive() {
    let world = World::new();
    let talk = json!([{"session_id": "dddddddd-1", "date": "2026-01-05"},
        {"role": "user", "content": "Decision: uploads are limited to 20 MB."}, {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "测试环境的支付网关端口是 8443。"}, {"role": "assistant", "content": "好的。"}]);
    world.file("talk.json", talk.to_string());
    world.run(&["ingest", "talk.json"]).ok();
    remember(&world, "Deploys go out on Tuesdays only");
    let store = Store::open(&world.store(), "2026-06-15T12:00:00Z").expect("a store").store;
    let now = store.snapshot("shop").expect("a project");
    let session = "2026-01-05-dddddddd";
    let archived = now.entries.iter().find(|e| e.memory.session.as_deref() == Some(session)).expect("an entry").memory.id.clone();
    let memory = MemoryRecord {
        summary: "缓存也许保留一个小时".into(),
        kind: "fact".into(),
        session: Some(session.into()),
        ..MemoryRecord::default()
    };
    let item = ReviewItem { id: Id::from_bits(77), codes: vec![Code::Weak], memory };
    let changes = vec![Change::Ask(Box::new(item)), Change::Archive { id: archived.clone() }];
    let plan = Plan { changes, ..Plan::new("shop", now.base, "prune", "2026-06-15T12:00:00Z") };
    store.commit(&plan, &|| Ok(Id::from_bits(78))).expect("a commit");

    let before = content(&world.store());
    let would = world.run(&["--json", "forget", "--session", session, "--dry-run"]).ok().json();
    assert_eq!((would["forgotten"].as_array().map(Vec::len), would["candidates"].as_array().map(Vec::len)), (Some(2), Some(1)), "{would}");
    assert_eq!(content(&world.store()), before);
    let told = world.run(&["--yes", "forget", "--session", session]).ok().out;
    assert!(told.contains("forgot 2 memories and 1 candidate") && told.contains("缓存也许保留一个小时"), "{told}");
    let left = store.snapshot("shop").expect("a project");
    assert_eq!((left.entries.len(), left.catalogue.review.len(), left.catalogue.tombstones.len()), (1, 0, 3));
    assert!(store.archived("shop").expect("an archive").is_empty());
    let life = world.run(&["history", archived.as_str()]).ok().out;
    assert!(life.contains("put into the archive") && life.contains("person: forget"), "{life}");
    world.run(&["undo"]).ok();
    assert_eq!(content(&world.store()), before);
}
