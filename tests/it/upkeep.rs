//! What time and use do to a store: decay, coming back, promotion, what had to be said again, and the figures about it.

use serde_json::{Value, json};

use crate::support::World;

const NOW: &str = "CLAUDE_MEM_NOW";

/// A conversation of one day in which the user says something.
fn conversation(world: &World, day: &str, said: &str) -> String {
    let turns = json!([
        {"session_id": format!("{}0000", day.replace('-', "")), "date": day},
        {"role": "user", "content": said, "timestamp": format!("{day}T09:00:00Z")},
        {"role": "assistant", "content": "Understood.", "timestamp": format!("{day}T09:00:10Z")},
    ]);
    world.file(&format!("talks/{day}.json"), turns.to_string());
    format!("talks/{day}.json")
}

fn remember(world: &World, args: &[&str]) -> String {
    let made = world.run(&[&["--json", "remember"], args].concat()).ok().json();
    made.pointer("/memories/0/id").and_then(Value::as_str).expect("an id").to_owned()
}

/// A memory of the first of January, then 31 days of work, then the tenth of February.
fn after_a_month() -> (World, String) {
    let world = World::new().with(NOW, "2026-01-01T12:00:00Z");
    let id = remember(&world, &["The staging database is a copy of last night", "--kind", "fact"]);
    for day in 1..=31 {
        conversation(&world, &format!("2026-01-{day:02}"), "Good morning, how are you today?");
    }
    conversation(&world, "2026-02-01", "Thanks, that is all.");
    let world = world.with(NOW, "2026-02-10T12:00:00Z");
    world.run(&["ingest", "--extractor", "rules", "talks"]).ok();
    (world, id)
}

#[test]
fn what_is_not_used_goes_comes_back_and_does_not_flap() {
    let (world, id) = after_a_month();
    world.run(&["prune", "--dry-run"]).ok();
    let pruned = world.run(&["--yes", "prune"]).ok();
    assert!(pruned.out.contains("(archive: not used on 31 days of work)"), "{pruned:?}");
    assert!(!world.run(&["list"]).ok().out.contains(&id));
    assert!(world.run(&["prune", "--archived"]).ok().out.contains(&id));
    world.run(&["--yes", "prune"]).ok().err.find("nothing to prune").expect("it goes once");

    // A session that had been given it ends, and notes the use.
    let noted = json!({"at": "2026-02-11T08:00:00+00:00", "ids": [id]}).to_string() + "\n";
    let access = world.store().join(".state/access");
    std::fs::create_dir_all(&access).expect("a folder");
    std::fs::write(access.join("shop.jsonl"), noted).expect("a note");
    let world = world.with(NOW, "2026-02-12T12:00:00Z");
    let back = world.run(&["--yes", "prune"]).ok();
    assert!(back.out.contains("(come back: used again on 2026-02-11)"), "{back:?}");
    let list = world.run(&["--json", "list"]).ok().json();
    assert_eq!(list.pointer("/memories/0/layer"), Some(&json!("working")));
    world.run(&["--yes", "prune"]).ok().err.find("nothing to prune").expect("it stays");
    world.run(&["verify"]).ok();
}

#[test]
fn a_use_that_was_only_noted_counts() {
    let (world, id) = after_a_month();
    assert!(world.run(&["search", "staging database"]).ok().out.contains(&id));
    world.run(&["--yes", "prune"]).ok().err.find("nothing to prune").expect("it was used today");
    let stats = world.run(&["--json", "stats"]).ok().json();
    assert_eq!(stats.pointer("/projects/0/hits"), Some(&json!(1)));
}

#[test]
fn a_person_brings_back_what_is_in_the_archive() {
    let (world, id) = after_a_month();
    world.run(&["--yes", "prune"]).ok();
    world.run(&["prune", "--bring-back", "zzzz"]).fails(2, "the archive has no memory `zzzz`");
    let before = world.tree();
    world.run(&["prune", "--bring-back", &id[..5], "--dry-run"]).ok();
    assert!(world.tree() == before, "a dry run changed the store");
    let back = world.run(&["prune", "--bring-back", &id[..5]]).ok();
    assert!(back.out.contains("brought back") && back.out.contains("staging database"), "{back:?}");
    world.run(&["--yes", "prune"]).ok().err.find("nothing to prune").expect("coming back is use");
    world.run(&["undo"]).ok();
    assert!(world.run(&["prune", "--archived"]).ok().out.contains(&id));
}

/// Two rules that are said again on later days, in English and Chinese.
fn said_three_times() -> (World, [String; 2]) {
    let world = World::new();
    let english = remember(&world, &["Always answer in English and keep the answers short", "--kind", "preference", "--layer", "working"]);
    let chinese = remember(&world, &["提交信息一律用英文写", "--kind", "convention", "--layer", "working"]);
    for day in ["2026-06-18", "2026-06-20"] {
        let said = "From now on, always answer in English and keep the answers short. 约定：提交信息一律用英文写。";
        let file = conversation(&world, day, said);
        world.run(&["ingest", "--extractor", "rules", &file]).ok();
    }
    (world, [english, chinese])
}

#[test]
fn what_is_said_again_is_counted_and_proposed_but_never_promoted_by_itself() {
    let (world, ids) = said_three_times();
    let before = world.tree();
    let stats = world.run(&["--json", "stats"]).ok().json();
    let figures = stats.pointer("/projects/0").expect("a project");
    for list in ["retaught", "promotions"] {
        let found: Vec<&str> = figures[list].as_array().expect("a list").iter().filter_map(|a| a["id"].as_str()).collect();
        assert!(ids.iter().all(|id| found.contains(&id.as_str())), "{list}: {figures:#}");
    }
    assert_eq!(figures["retaught"][0]["said"], json!(2));
    assert_eq!(figures["retaught"][0]["last"], json!("2026-06-20-20260620"));
    assert_eq!(figures["promotions"][0]["said"], json!(3));
    let pruned = world.run(&["--yes", "prune"]).ok();
    assert!(pruned.out.contains("lasting?") && pruned.out.contains("(said in 3 conversations)"), "{pruned:?}");
    assert!(pruned.err.contains("edit ID --layer long-term"), "{pruned:?}");
    assert!(world.tree() == before, "something was promoted");

    world.run(&["edit", &ids[1], "--layer", "long-term"]).ok();
    let after = world.run(&["--json", "prune"]).ok().json();
    assert_eq!(after["proposed"].as_array().map(Vec::len), Some(1), "{after}");
}

#[test]
fn reading_a_conversation_again_teaches_nothing() {
    let (world, _) = said_three_times();
    let stats = world.run(&["--json", "stats"]).ok().json();
    world.run(&["ingest", "--extractor", "rules", "talks"]).ok();
    assert_eq!(world.run(&["--json", "stats"]).ok().json()["projects"], stats["projects"]);
}

#[test]
fn figures_fit_a_screen_in_every_script() {
    let world = World::new();
    world.run(&["project", "init", "订单支付"]).ok();
    for n in 0..12 {
        let text = format!("订单支付的第{n}条约定：回调接口必须做幂等校验，采用订单号唯一索引并记录重复请求的来源");
        world.run(&["--project", "订单支付", "remember", &text, "--kind", "convention"]).ok();
    }
    for locale in ["C.UTF-8", "POSIX"] {
        let shown = world.command(&["stats"]).env("LC_ALL", locale).output().expect("it runs");
        let shown = String::from_utf8(shown.stdout).expect("UTF-8");
        assert!(shown.contains("订单支付") && shown.contains("12 convention"), "{shown}");
        assert_eq!(shown.contains('█'), locale == "C.UTF-8", "{shown}");
        let own = shown.lines().filter(|l| !l.contains("条约定"));
        assert!(own.clone().all(|l| l.chars().count() <= 80), "{shown}");
        assert!(shown.contains("growth") && shown.contains("2026-06-15") && shown.contains("size"), "{shown}");
    }
    let json = world.run(&["--json", "stats"]).ok().json();
    let figures = json.pointer("/projects/0").expect("a project");
    assert_eq!((figures["memories"].clone(), figures["never_used"].clone()), (json!(12), json!(12)));
    assert_eq!(figures["injections"].as_array().map(Vec::len), Some(3));
    assert_eq!(figures["growth"].as_array().map(Vec::len), Some(12));
    assert!(json.pointer("/bytes/memories").and_then(Value::as_u64).is_some_and(|n| n > 1000), "{json}");
}
