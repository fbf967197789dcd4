//! The example this tool is judged by: a Chinese talk about double payment becomes one working decision.

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::World;

const TALK: &str = r#"[
 {"session_id": "1234abcd-0000-4000-8000-000000000000", "date": "2026-06-10"},
 {"role": "user", "content": "我有点担心，用户点两次支付按钮会不会产生两个订单？"},
 {"role": "assistant", "content": "会的。前端可以给按钮加防抖，后端可以在支付回调里做幂等校验。"},
 {"role": "user", "content": "要不我们给支付回调加一个幂等校验，用订单号做唯一索引吧。"},
 {"role": "assistant", "content": "可以，在 payment_event 表上给订单号建唯一索引，重复回调直接返回成功。"},
 {"role": "user", "content": "好，就这么定了。另外用户 ID 也要一起校验。"},
 {"role": "assistant", "content": "没问题，回调里同时校验用户 ID。"}
]"#;

/// Requires one working decision with everything that a person would look for.
fn judge(report: &Value) -> Value {
    let memories = report["sessions"][0]["memories"].as_array().expect("memories");
    let decisions: Vec<&Value> = memories.iter().filter(|m| m["kind"] == "decision" && m["layer"] == "working").collect();
    assert_eq!(decisions.len(), 1, "{report:#}");
    let decision = decisions[0].clone();
    let summary = decision["summary"].as_str().expect("a summary");
    assert!(summary.contains("幂等") && summary.contains("订单号"), "{report:#}");
    assert!(claude_mem::text::words::width(summary) <= 100.0, "{summary}");
    assert!(decision["topic"].as_str().is_some_and(|t| !t.is_empty()), "{decision:#}");
    assert_eq!(decision["validity"], "lasting");
    let keywords = decision["keywords"].as_array().expect("keywords").len();
    assert!((2..=5).contains(&keywords), "{decision:#}");
    let quotes = decision["evidence"].as_array().expect("evidence");
    assert!(quotes.iter().any(|q| q["speaker"] == "user"), "{decision:#}");
    decision
}

#[test]
fn through_rules() {
    let world = World::new();
    let talk = world.file("支付 讨论.json", TALK);
    let ran = world.run(&["--json", "ingest", talk.to_str().expect("UTF-8"), "--extractor", "rules"]).ok();
    judge(&ran.json());
    let text = world.run(&["inject", "--print"]).ok().out;
    assert!(text.contains("幂等") && text.contains("以往对话的笔记"), "{text}");
}

#[test]
fn through_a_mock_claude() {
    let answer = json!({
        "memories": [{
            "ref": "n1", "topic": "订单支付", "kind": "decision", "layer": "working",
            "summary": "支付回调接口做幂等校验，用订单号作唯一索引，并同时校验用户 ID",
            "reason": "用户点两次支付按钮会产生两个订单", "state": "valid", "until_date": null, "until_event": "数据库索引变更",
            "scope": null, "speaker": "user", "keywords": ["支付幂等", "订单号唯一索引", "支付回调", "用户 ID"],
            "evidence": [{"turn": 3, "quote": "给支付回调加一个幂等校验，用订单号做唯一索引吧"}, {"turn": 5, "quote": "另外用户 ID 也要一起校验"}, {"turn": 1, "quote": "用户点两次支付按钮会不会产生两个订单"}],
            "relations": []
        }],
        "open_threads": []
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": answer.to_string()}], "usage": {"input_tokens": 2100, "output_tokens": 260}});
        let reply = ResponseTemplate::new(200).set_body_json(message);
        Mock::given(method("POST")).and(path("/v1/messages")).respond_with(reply).expect(1).mount(&server).await;
        server
    });
    let world = World::new().with("ANTHROPIC_API_KEY", "dummy").with("CLAUDE_MEM_CLAUDE_BASE_URL", &server.uri());
    let talk = world.file("talk.json", TALK);
    let ran = world.run(&["--json", "ingest", talk.to_str().expect("UTF-8")]).ok();
    let decision = judge(&ran.json());
    assert_eq!(decision["until_event"], "数据库索引变更");
    assert_eq!(decision["reason"], "用户点两次支付按钮会产生两个订单");
    assert_eq!(decision["session"], "2026-06-10-1234abcd");
    let file = std::fs::read_to_string(world.store().join("shop/working-memory.md")).expect("the file");
    for line in ["## 订单支付", "validity: lasting", "lapses_when: 数据库索引变更", "source: 2026-06-10-1234abcd#T3"] {
        assert!(file.contains(line), "{line} is not in\n{file}");
    }
    // The same again: no call, not a byte.
    let before = world.tree();
    world.run(&["ingest", talk.to_str().expect("UTF-8")]).ok();
    assert_eq!(world.tree(), before);
    drop(server);
}
