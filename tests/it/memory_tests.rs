//! Memory tests as the gate of changes: what breaks one is not kept, and the store keeps every byte.

use serde_json::{Value, json};

use crate::support::World;

/// A shop whose owner expects two facts, and the ids of both memories.
fn shop(expected: &str) -> (World, Vec<String>) {
    let world = World::new();
    let remember = |text: &str| {
        let made = world.run(&["--json", "remember", text, "--kind", "decision"]).ok().json();
        made.pointer("/memories/0/id").and_then(Value::as_str).expect("an id").to_owned()
    };
    let ids = vec![remember("Uploads may have up to 50 MB, at most 5 files at once"), remember("支付回调必须幂等，订单号做唯一索引")];
    std::fs::write(world.store().join("shop/tests.toml"), expected).expect("a file of tests");
    (world, ids)
}

const EXPECTED: &str = "
# Mine: do not touch.
[[test]]
name = \"the limit names the files\"
inject = \"standard\"
must = [\"5 files\"]

[[test]]
name = \"回调幂等\"
search = \"重复的支付回调\"
must = [\"唯一索引\"]

[[test]]
name = \"was never true\"
inject = \"standard\"
must = [\"quantum\"]
";

/// Answers the one request that `refine` would send with these operations.
fn answered(world: &World, operations: &Value) {
    world.run(&["refine", "--dump-requests", "answers", "--dry-run"]).ok();
    let answers = world.cwd().join("answers");
    let request = std::fs::read_dir(&answers).expect("dumped").flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    let key = request.filter_map(|n| n.strip_suffix(".request.json").map(str::to_owned)).next().expect("one request");
    let answer = json!({"operations": operations}).to_string();
    world.file(&format!("answers/{key}.answer.json"), answer);
}

fn rewrite(alias: &str, text: &str) -> Value {
    json!({"op": "rewrite", "ids": [alias], "text": text, "until_date": null, "reason": "shorter"})
}

#[test]
fn a_refine_that_drops_a_fact_is_not_kept() {
    let (world, _) = shop(EXPECTED);
    answered(&world, &json!([rewrite("m01", "Uploads may have up to 50 MB"), rewrite("m02", "支付回调必须幂等")]));
    let before = world.tree();
    let refused = world.run(&["--yes", "refine", "--replay", "answers"]);
    let refused = refused.fails(1, "this would break 2 memory tests, so nothing was changed");
    for said in ["the limit names the files", "“5 files” is not given: no memory says it", "回调幂等", "--no-test"] {
        assert!(refused.err.contains(said), "stderr lacks {said:?}:\n{}", refused.err);
    }
    assert!(!refused.err.contains("quantum"), "what failed before does not count:\n{}", refused.err);
    assert!(world.tree() == before, "the store changed");
    world.run(&["verify"]).ok();

    let kept = world.run(&["--yes", "refine", "--replay", "answers", "--no-test"]).ok();
    assert!(kept.out.contains("50 MB") || kept.err.contains("2 of 2 accepted"), "{kept:?}");
    assert_eq!(world.run(&["test"]).code, 1);
    world.run(&["undo"]).ok();
    let tests = std::fs::read_to_string(world.store().join("shop/tests.toml")).expect("the owner's file");
    assert_eq!(tests, EXPECTED);
}

#[test]
fn a_refine_that_keeps_the_facts_is_kept_and_names_what_fails_as_before() {
    let (world, _) = shop(EXPECTED);
    answered(&world, &json!([rewrite("m01", "At most 5 files at once and 50 MB for uploads")]));
    let kept = world.run(&["--yes", "refine", "--replay", "answers"]).ok();
    assert!(kept.err.contains("1 memory test fails as before: shop: was never true"), "{}", kept.err);
    assert!(world.run(&["list"]).ok().out.contains("At most 5 files at once"));
}

#[test]
fn a_decision_about_a_pair_is_tested_first() {
    let (world, _) = shop("[[test]]\nname = \"50 stays\"\nsearch = \"upload MB\"\nmust = [\"50 MB\"]\n");
    world.run(&["remember", "Uploads may have up to 20 MB, at most 5 files at once", "--kind", "decision"]).ok();
    let queue = world.run(&["--json", "review"]).ok().json();
    let newer = queue.pointer("/conflicts/0/newer").and_then(Value::as_str).expect("a conflict").to_owned();
    let before = world.tree();
    world.run(&["resolve", &newer, "--keep", "new"]).fails(1, "this would break a memory test");
    world.run(&["resolve", &newer, "--keep", "new", "--dry-run"]).fails(1, "50 stays");
    assert!(world.tree() == before, "the store changed");
    world.run(&["resolve", &newer, "--keep", "both"]).ok();
}

#[test]
fn tests_that_cannot_be_read_stop_the_change() {
    let (world, ids) = shop("[[test]\n");
    answered(&world, &json!([rewrite("m01", "Uploads may have up to 50 MB")]));
    let before = world.run(&["list"]).ok().out;
    world.run(&["--yes", "refine", "--replay", "answers"]).fails(3, "shop/tests.toml:1");
    assert_eq!(world.run(&["list"]).ok().out, before);
    // Commands that no test guards go on.
    world.run(&["--yes", "forget", &ids[0]]).ok();
}

/// The file lives in the project's folder and is no part of the project.
#[test]
fn the_file_is_nobodys_project() {
    let world = World::new();
    std::fs::create_dir_all(world.store().join("shop")).expect("a folder");
    std::fs::write(world.store().join("shop/tests.toml"), EXPECTED).expect("a file");
    assert!(!world.run(&["project", "list"]).ok().out.contains("shop"));
    world.run(&["remember", "Deploys go out on Tuesdays only"]).ok();
    world.run(&["undo"]).ok();
    world.run(&["remember", "Deploys go out on Wednesdays only"]).ok();
    let kept = std::fs::read_to_string(world.store().join("shop/tests.toml")).expect("it stays");
    assert_eq!(kept, EXPECTED);
    world.run(&["verify"]).ok();
    let removed = world.run(&["--yes", "project", "remove", "shop"]).ok();
    assert!(removed.err.contains("your memory tests stay in"), "{}", removed.err);
    assert!(!removed.err.contains("not ours"), "{}", removed.err);
}

/// What was read and declined is kept, and what was refused is read again.
#[test]
fn a_refine_that_is_refused_keeps_what_was_declined() {
    let (world, _) = shop(EXPECTED);
    world.run(&["remember", "Fix it later"]).ok();
    answered(&world, &json!([rewrite("m01", "Uploads may have up to 50 MB")]));
    world.run(&["--yes", "refine", "--replay", "answers"]).fails(1, "this would break a memory test");
    // Nobody answered the question, so it is not asked again; the rewrite is not lost.
    let left = world.run(&["--json", "refine", "--extractor", "rules"]).ok().json();
    assert_eq!(left["proposals"], json!([]));
    world.run(&["refine", "--dump-requests", "again", "--dry-run"]).ok();
    let request = std::fs::read_dir(world.cwd().join("again")).expect("dumped").flatten().next().expect("one request").path();
    let request = std::fs::read_to_string(request).expect("a request");
    assert!(request.contains("5 files") && !request.contains("支付回调"), "{request}");
    world.run(&["verify"]).ok();
}

/// A backup made before there were tests takes none away.
#[test]
fn a_backup_without_tests_leaves_them() {
    let (world, _) = shop(EXPECTED);
    let file = world.store().join("shop/tests.toml");
    std::fs::remove_file(&file).expect("it is there");
    world.run(&["backup", "old.zip"]).ok();
    std::fs::write(&file, EXPECTED).expect("a file of tests");
    world.run(&["--yes", "restore", "old.zip"]).ok();
    assert_eq!(std::fs::read_to_string(&file).expect("it stays"), EXPECTED);
}

/// Whoever writes meanwhile loses nothing, and what is refused is refused for the state that is there.
#[test]
fn refusing_disturbs_no_other_writer() {
    let (world, _) = shop("[[test]]\nname = \"50 stays\"\nsearch = \"upload MB\"\nmust = [\"50 MB\"]\n");
    world.run(&["remember", "Uploads may have up to 20 MB, at most 5 files at once", "--kind", "decision"]).ok();
    let queue = world.run(&["--json", "review"]).ok().json();
    let newer = queue.pointer("/conflicts/0/newer").and_then(Value::as_str).expect("a conflict").to_owned();
    let noted = [
        "Deploys go out on Tuesdays only",
        "Timestamps are UTC epoch milliseconds",
        "日志保留三十天后删除",
        "Every endpoint has an owner in the service catalogue",
    ];
    let mut running = Vec::new();
    for text in noted {
        for (code, args) in [(0, &["-q", "remember", text][..]), (1, &["resolve", &newer, "--keep", "new"])] {
            running.push((code, world.command(args).stderr(std::process::Stdio::null()).spawn().expect("it runs")));
        }
    }
    for (code, mut child) in running {
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
    }
    let list = world.run(&["list"]).ok().out;
    assert!(noted.iter().all(|text| list.contains(text)), "{list}");
    assert_eq!(world.run(&["--json", "review"]).ok().json()["conflicts"].as_array().map(Vec::len), Some(1));
    world.run(&["verify"]).ok();
}

/// The model may decide a pair by MCP; the tests of the owner bind it, too.
#[test]
fn a_decision_by_mcp_is_tested_first() {
    let (world, _) = shop("[[test]]\nname = \"50 stays\"\nsearch = \"upload MB\"\nmust = [\"50 MB\"]\n");
    world.run(&["remember", "Uploads may have up to 20 MB, at most 5 files at once", "--kind", "decision"]).ok();
    let queue = world.run(&["--json", "review"]).ok().json();
    let newer = queue.pointer("/conflicts/0/newer").and_then(Value::as_str).expect("a conflict").to_owned();
    let before = std::fs::read(world.store().join("shop/working-memory.md")).expect("memories");
    let ask = |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let call = json!({"name": "resolve_conflict", "arguments": {"id": newer, "keep": "new"}});
    let lines = [ask(1, "initialize", client), initialized, ask(2, "tools/call", call)].join("\n") + "\n";
    let said = world.pipe(&["mcp"], &lines).ok().out;
    assert!(said.contains("this would break a memory test") && said.contains("50 stays"), "{said}");
    assert_eq!(std::fs::read(world.store().join("shop/working-memory.md")).expect("memories"), before);
}
