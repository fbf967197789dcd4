//! Text in, text out: what stays, what goes, and that out is the reverse of in.

use proptest::prelude::*;

use super::*;

fn program() -> Program {
    Program { command: "/opt/bin/claude-mem".into(), extra: Vec::new(), former: vec!["/old/memory-tool".into()] }
}

const ALL: &[Part] = &[Part::Hooks, Part::Permissions, Part::Server];

#[test]
fn in_keeps_comments_order_and_spacing() {
    let text = "{\n    // mine\n    \"model\" : \"opus\",\n    \"hooks\": {\n        \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}] // theirs\n    },\n}\n";
    let new = with(text, &[Part::Hooks], &program()).unwrap();
    for kept in ["// mine", "\"model\" : \"opus\"", "\"command\": \"date\"", "// theirs"] {
        assert!(new.contains(kept), "{new}");
    }
    let value = read(&new).unwrap();
    assert_eq!(handlers(&value).len(), 1 + HOOKS.len());
    assert!(complete(&value, &[Part::Hooks], &program()));
    assert!(!complete(&value, ALL, &program()));
}

#[test]
fn ours_and_others() {
    let p = program();
    let ours = [
        json!({"command": "/opt/bin/claude-mem", "args": ["hook", "SessionStart"]}),
        json!({"command": "C:\\tools\\claude-mem.exe", "args": ["hook", "SessionEnd", "--home", "x"]}),
        json!({"command": "/old/memory-tool", "args": ["hook", "PreCompact"]}),
        json!({"command": "\"/a b/claude-mem\" hook SessionStart"}),
        json!({"command": "claude-mem hook UserPromptSubmit"}),
    ];
    for handler in ours {
        assert!(p.of_handler(&handler).is_some(), "{handler}");
    }
    let others = [
        json!({"command": "claude-mem hook claude-code context"}),
        json!({"command": "claude-mem", "args": ["context"]}),
        json!({"command": "node", "args": ["/x/claude-mem/hook.js", "SessionStart"]}),
        json!({"command": "my-claude-mem hook SessionStart"}),
        json!({"command": "echo claude-mem hook SessionStart"}),
        json!({"type": "http", "url": "x"}),
    ];
    for handler in others {
        assert!(p.of_handler(&handler).is_none(), "{handler}");
    }
}

#[test]
fn what_has_no_place_is_refused_in_words() {
    for (text, says) in [
        ("[]", "not an object"),
        ("{\"a\": 1,, }", "not JSON"),
        ("{\"a\" 1}", "not JSON"),
        ("{\"hooks\": []}", "`hooks`"),
        ("{\"hooks\": {\"SessionStart\": {}}}", "`SessionStart`"),
        ("{\"hooks\": {}, \"hooks\": {}}", "twice"),
        ("{\"permissions\": 3}", "`permissions`"),
        ("{\"permissions\": {\"allow\": \"all\"}}", "`permissions.allow`"),
        ("{\"mcpServers\": {\"claude-mem\": {\"command\": \"npx\"}}}", "not ours"),
    ] {
        let error = with(text, ALL, &program()).unwrap_err();
        assert!(error.message.contains(says) && error.hint.is_some(), "{text}: {error:?}");
    }
}

#[test]
fn blank_files_marks_and_line_ends() {
    for text in ["", " \n", "{}", "\u{feff}{\r\n  \"a\": 1\r\n}\r\n"] {
        let new = with(text, ALL, &program()).unwrap();
        assert!(complete(&read(&new).unwrap(), ALL, &program()), "{new}");
        assert_eq!(new.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        assert_eq!(new.contains("\r\n"), text.contains("\r\n"));
    }
}

#[test]
fn out_takes_older_wiring_and_leaves_the_rest_of_a_group() {
    let text = r#"{"hooks": {"Stop": [{"matcher": "*", "hooks": [{"command": "say done"}, {"command": "claude-mem hook Stop"}]}], "SessionStart": [{"hooks": [{"command": "claude-mem hook SessionStart", "timeout": 1}]}]}}"#;
    let new = read(&without(text, None, &program()).unwrap()).unwrap();
    assert_eq!(new, json!({"hooks": {"Stop": [{"matcher": "*", "hooks": [{"command": "say done"}]}]}}));
}

#[test]
fn containers_that_were_there_stay() {
    let text = r#"{"hooks": {"SessionStart": []}, "mcpServers": {}, "permissions": {"allow": ["mcp__claude-mem__read_memory"]}}"#;
    let new = with(text, ALL, &program()).unwrap();
    assert_eq!(read(&without(&new, Some(text), &program()).unwrap()).unwrap(), read(text).unwrap());
}

/// Settings as they occur: scalars, foreign hooks in several events, servers, permissions.
fn any_settings() -> impl Strategy<Value = Value> {
    let handler = "[a-z]{1,6}".prop_map(|c| json!({"type": "command", "command": c}));
    let group = prop::collection::vec(handler, 0..3).prop_map(|h| json!({"matcher": "*", "hooks": h}));
    let event = prop::sample::select(vec!["SessionStart", "Stop", "SessionEnd", "PostToolUse"]);
    let hooks = prop::collection::hash_map(event, prop::collection::vec(group, 0..3), 0..3);
    let rules = prop::option::of(prop::collection::vec("[A-Z][a-z]{1,4}\\(\\*\\)", 0..3));
    let servers = prop::option::of(prop::collection::hash_map("[a-z]{1,5}", Just(json!({"command": "x", "args": []})), 0..3));
    (prop::option::of(hooks), rules, servers, prop::option::of("\\PC{0,12}")).prop_map(|(hooks, rules, servers, model)| {
        let mut all = serde_json::Map::new();
        model.map(|m| all.insert("model".into(), json!(m)));
        hooks.map(|h| all.insert("hooks".into(), json!(h)));
        rules.map(|r| all.insert("permissions".into(), json!({"allow": r})));
        servers.map(|s| all.insert("mcpServers".into(), json!(s)));
        Value::Object(all)
    })
}

proptest! {
    #[test]
    fn out_is_the_reverse_of_in(value in any_settings(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let wired = with(&text, ALL, &program()).unwrap();
        prop_assert!(complete(&read(&wired).unwrap(), ALL, &program()), "{}", wired);
        let out = without(&wired, Some(&text), &program()).unwrap();
        prop_assert_eq!(read(&out).unwrap(), value, "{}", out);
    }

    #[test]
    fn any_text_is_an_answer_or_an_error(text in "\\PC{0,60}") {
        let _ = with(&text, ALL, &program());
        let _ = without(&text, None, &program());
    }
}
