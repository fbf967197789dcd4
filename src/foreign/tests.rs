//! What each store says, and that nothing makes a reader fall over.

use proptest::prelude::*;

use super::*;

#[test]
fn each_store_is_known_by_its_content() {
    for (file, text, name) in [
        ("x", "[{\"conversations_memory\":\"**Work**\\n\\nx\",\"account_uuid\":\"a\"}]", Some("claude-ai")),
        ("x", "{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"t\",\"observations\":[]}\n", Some("mcp-memory")),
        ("x", "{\"entities\":[],\"relations\":[]}", Some("mcp-memory")),
        ("x", "---\ntitle: A\ntype: note\n---\n- [fact] b\n", Some("basic-memory")),
        ("x", "# A\n- [idea] b #c\n- [method] d\n", Some("basic-memory")),
        ("sub/CLAUDE.md", "# Rules\n\n- Use tabs\n", Some("claude-md")),
        ("CONTRIBUTING.md", "# Rules\n\n- Use tabs\n", None),
        ("agents.md", "- [ ] a task\n- [x] done\n- [link](http://x)\n", Some("claude-md")),
        ("x", "{\"table\":\"observations\",\"id\":1}\n", Some("claude-mem-db")),
        ("x", "{\"summary\":\"ours\"}\n", None),
        ("x", "plain words", None),
    ] {
        assert_eq!(detect(file, text).map(Foreign::name), name, "{file}: {text}");
    }
}

#[test]
fn a_claude_md_gives_its_lines() {
    let text = "# CLAUDE.md\r\n\r\nThis file provides guidance to Claude Code.\r\n\r\n@docs/style.md\r\n\r\n## 约定\r\n\r\n- 提交前先跑单测\r\n<private>\r\n- Use tabs\r\n</private>\r\n- Use tabs\r\n\r\n<!-- claude-mem:begin -->\r\n- ours\r\n<!-- claude-mem:end -->\r\n\r\n- Last\r\n";
    let found = claude_md::ClaudeMd.read(text);
    let lines: Vec<_> = found.items.iter().map(|i| (i.line, i.text.as_str(), i.topic.as_deref())).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], (9, "提交前先跑单测", Some("约定")));
    assert_eq!((lines[1].1, lines[2].1), ("Use tabs", "Last"));
    assert_eq!(lines[2].0, 19);
    assert_eq!(found.notes, ["1 @import left alone"]);
}

#[test]
fn a_note_gives_observations_and_relations() {
    let text = "---\ntitle: Auth Design\ntype: note\ntags: [security]\npermalink: auth\n---\n# Auth Design\n\nSome prose.\n\n- [decision] Use JWT for sessions #auth #jwt (stateless)\n- [] empty\n- [fact]\n- [tech] Tokens last 15 minutes #auth (seen in prod)\n- depends_on [[API Security]] (hard)\n- a longer sentence that mentions [[Something]] here\n```\n- [code] not this\n```\n";
    let found = basic_memory::BasicMemory.read(text);
    let said: Vec<_> = found.items.iter().map(|i| (i.line, i.kind, i.text.as_str(), i.more.as_deref())).collect();
    assert_eq!(
        said,
        [
            (11, Kind::Decision, "Use JWT for sessions", Some("stateless")),
            (12, Kind::Todo, "empty", None),
            (14, Kind::Fact, "Tokens last 15 minutes", Some("seen in prod")),
            (15, Kind::Fact, "Auth Design depends on API Security", Some("hard")),
        ]
    );
    assert_eq!(found.items[0].keywords, ["auth", "jwt", "security"]);
    assert_eq!(found.notes, ["3 lines of free text left alone"]);
}

#[test]
fn a_graph_names_its_entities() {
    let text = "{\"type\":\"entity\",\"name\":\"John_Smith\",\"entityType\":\"person\",\"observations\":[\"Speaks Spanish\",\"John Smith leads ops\",7]}\nnot json\n{\"type\":\"relation\",\"from\":\"John_Smith\",\"to\":\"Acme\",\"relationType\":\"works_at\"}\n{\"type\":\"relation\",\"from\":\"x\"}\n";
    let found = knowledge_graph::KnowledgeGraph.read(text);
    let said: Vec<_> = found.items.iter().map(|i| (i.line, i.text.as_str())).collect();
    assert_eq!(said, [(1, "John Smith: Speaks Spanish"), (1, "John Smith leads ops"), (3, "John Smith works at Acme")]);
    assert_eq!(found.problems.iter().map(|p| p.line).collect::<Vec<_>>(), [Some(1), Some(2), Some(4)]);
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_fall_over(text in "([-#*+>`\\[\\]()@<!{}:\"\n ]|a|中|type|entity|---|- \\[x\\] |private>|<!-- claude-mem:begin -->){0,60}") {
        for store in STORES {
            store.fits("x.md", &text);
            for item in store.read(&text).items {
                prop_assert!(item.line >= 1);
                let _ = statement::split(&item.text);
            }
        }
    }
}
