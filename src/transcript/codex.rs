//! Codex CLI rollouts: lines `{timestamp, type, payload}`, the older bare items, and the oldest one document
//! `{session, items}`. Each message stands twice (item and event); the item is read. Instructions and environment notes
//! come in the user role and are dropped; so are thinking and calls.

use serde::Deserialize;

use super::content::Content;
use super::gather::{Problems, TOOL_BYTES, clip, one, push};
use super::lenient::{List, Maybe, Text};
use super::sniff::{Shape, Sketch};
use super::values::each_object;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// The format.
#[derive(Debug)]
pub struct Codex;

/// Envelope, bare item and first line in one: each has only some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    payload: Maybe<Box<Item<'a>>>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    /// Of a tool result: a string, or `{content: …}`.
    #[serde(borrow)]
    output: Content<'a>,
    /// Of an event: the words once more.
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    instructions: Text<'a>,
    #[serde(borrow)]
    git: Maybe<Git<'a>>,
    source: Maybe<Source>,
    #[serde(borrow)]
    session: Maybe<Box<Item<'a>>>,
    #[serde(borrow)]
    items: List<Maybe<Item<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Git<'a> {
    #[serde(borrow)]
    branch: Text<'a>,
}

/// Who started the session, if not a person.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    subagent: Option<serde::de::IgnoredAny>,
}

/// Types of lines with an envelope.
const ENVELOPES: &[&str] = &["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];

/// Beginnings of user-role texts that the program wrote.
const MACHINE_BEGINNINGS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_action>",
    "<skill>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
];

/// What an editor puts before the person's words.
const IDE_CONTEXT: &str = "# Context from my IDE setup:";
const IDE_REQUEST: &str = "## My request for Codex:";

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn detect(&self, head: &str) -> bool {
        let ours = |o: &Sketch| {
            let kind = o.get("type").unwrap_or_default();
            let enveloped = ENVELOPES.contains(&kind) && o.has("payload");
            let bare = o.has_all(&["id", "timestamp", "instructions"]) || o.get("record_type") == Some("state");
            enveloped || bare || o.has_all(&["session", "items"])
        };
        Shape::of(head).objects.iter().any(ours) || super::gather::head(head, 400).contains("\"type\":\"session_meta\",\"payload\":{")
    }

    fn read(&self, input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut rollout = Rollout { with_subagents: options.sidechains, ..Rollout::default() };
        let offset = each_object(input, &mut problems, &mut |bytes| {
            rollout.take(&serde_json::from_slice(bytes)?, None);
            Ok(())
        })?;
        if rollout.subagent {
            problems.add("subagent", None, "a subagent's session: its prompts are the model's and were skipped");
        }
        Ok(one(self.name(), rollout.conversation, problems, offset, out))
    }
}

/// The state of one reading.
#[derive(Debug, Default)]
struct Rollout {
    conversation: Conversation,
    with_subagents: bool,
    /// The session was started by the model, not by a person.
    subagent: bool,
    /// The first session line owns the file; a fork copies its parent's below it.
    owned: bool,
}

impl Rollout {
    fn take(&mut self, item: &Item<'_>, at: Option<&str>) {
        let at = item.timestamp.get().or(at);
        if let Some(session) = &item.session.0 {
            self.own(session, at);
            item.items.0.iter().filter_map(|i| i.0.as_ref()).for_each(|i| self.take(i, at));
            return;
        }
        match (item.kind.str(), &item.payload.0) {
            ("session_meta", Some(meta)) => self.own(meta, at),
            ("response_item", Some(payload)) => self.item(payload, at),
            ("", None) if !item.id.str().is_empty() && item.role.get().is_none() => self.own(item, at),
            (_, None) => self.item(item, at),
            _ => {}
        }
    }

    /// The first line about the session.
    fn own(&mut self, meta: &Item<'_>, at: Option<&str>) {
        if self.owned {
            return;
        }
        self.owned = true;
        self.conversation.session = meta.id.str().to_owned();
        self.conversation.cwd = meta.cwd.owned();
        self.conversation.date = meta.timestamp.get().or(at).map(str::to_owned);
        self.conversation.branch = meta.git.0.as_ref().and_then(|g| g.branch.owned());
        self.subagent = !self.with_subagents && meta.source.0.as_ref().is_some_and(|s| s.subagent.is_some());
    }

    fn item(&mut self, item: &Item<'_>, at: Option<&str>) {
        if self.subagent {
            return;
        }
        let at = at.map(str::to_owned);
        match (item.kind.str(), item.role.str()) {
            ("message", "user") => {
                let text = item.content.0.iter().filter_map(|b| b.words()).filter_map(own_words).collect::<Vec<_>>().join("\n\n");
                push(&mut self.conversation, Speaker::User, &text, at, item.id.owned());
            }
            ("message", "assistant") => {
                push(&mut self.conversation, Speaker::Assistant, &item.content.words(), at, item.id.owned());
            }
            ("function_call_output" | "custom_tool_call_output", _) => {
                push(&mut self.conversation, Speaker::Tool, &clip(&output(&item.output)), at, None);
            }
            _ => {}
        }
    }
}

/// Words of a tool result: plain, or JSON text with the output inside.
fn output(content: &Content<'_>) -> String {
    let text = content.clipped(TOOL_BYTES * 2);
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Wrapped {
        output: Option<String>,
    }
    match serde_json::from_str::<Wrapped>(&text) {
        Ok(Wrapped { output: Some(output) }) => output,
        _ if text.is_empty() => content.0.iter().map(|b| b.content.clipped(TOOL_BYTES)).collect(),
        _ => text,
    }
}

/// The person's own words in a user-role text, if there are any.
fn own_words(text: &str) -> Option<&str> {
    let start = text.trim_start();
    if MACHINE_BEGINNINGS.iter().any(|b| start.starts_with(b)) {
        return None;
    }
    if start.starts_with(IDE_CONTEXT) {
        return start.split_once(IDE_REQUEST).map(|(_, request)| request.trim());
    }
    Some(text)
}
