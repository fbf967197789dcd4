//! What hooks gave comes back in the next transcript, and is not taken for something new.

use serde_json::{Value, json};

use crate::hooks::{context, hook, world};

/// Our own words come back in the next transcript: as attachments of 2.1, as a user record of 1.0, and quoted by hand.
#[test]
fn injected_text_that_comes_back_gives_nothing_new() {
    let world = world();
    world.run(&["remember", "We decided to use Redis for the session cache", "--kind", "decision", "--why", "it is there already"]).ok();
    world.run(&["remember", "以后一律用 pnpm，不要用 npm", "--kind", "preference"]).ok();
    let start = hook(&world, json!({"hook_event_name": "SessionStart", "session_id": "s"}));
    let prompt =
        hook(&world, json!({"hook_event_name": "UserPromptSubmit", "session_id": "t", "prompt": "Do we use Redis for the session cache?"}));
    let (text, digest) = (context(&start), context(&prompt));
    assert!(text.contains("Redis") && digest.contains("Redis"), "{text}\n{digest}");
    let record = |n: usize, kind: &str, rest: Value| {
        let mut record = json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "5e551011-0000-4000-8000-00000000aaaa", "cwd": world.cwd(),
            "version": "2.1.332", "timestamp": format!("2026-06-15T10:00:0{n}.000Z"), "isSidechain": false});
        record.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        record.to_string()
    };
    let attached = |text: &str, event: &str| {
        json!({"attachment": {"type": "hook_additional_context", "content": [text], "hookEvent": event},
            "rendered": [{"content": format!("<system-reminder>\n{event} hook additional context: {text}\n</system-reminder>")}], "renderedRole": "system"})
    };
    let user = |text: &str| json!({"message": {"role": "user", "content": text}});
    let lines = [
        record(
            0,
            "attachment",
            json!({"attachment": {"type": "hook_success", "hookEvent": "SessionStart", "stdout": start.out, "content": ""}}),
        ),
        record(1, "attachment", attached(&text, "SessionStart")),
        record(2, "user", user(&format!("<session-start-hook>{text}</session-start-hook>"))),
        record(3, "user", user("How far are we with the session cache?")),
        record(4, "attachment", attached(&digest, "UserPromptSubmit")),
        record(
            5,
            "api-request-blob",
            json!({"message": {"role": "user", "content": [{"type": "text", "text": format!("UserPromptSubmit hook additional context: {digest}")}]}}),
        ),
        record(6, "user", user(&format!("this is what you were told:\n{text}\nand this:\n{digest}\nis it still right?"))),
        record(7, "user", user(&text.replace("<claude-mem>", "").replace("</claude-mem>", ""))),
        record(8, "user", user(&digest.replace("<claude-mem>", "").replace("</claude-mem>", ""))),
        record(9, "assistant", json!({"message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Let me look."}]}})),
    ];
    let file = world.file("second.jsonl", lines.join("\n") + "\n");
    let ran = world.run(&["ingest", &file.to_string_lossy(), "--extractor", "rules", "--json"]).ok();
    let report = ran.json();
    for list in ["added", "confirmed", "conflicts", "superseded", "review"] {
        assert_eq!(report[list], json!([]), "{list}: {}", ran.out);
    }
    assert_eq!(report["sessions"][0]["rejected"], json!([]), "{}", ran.out);
}
