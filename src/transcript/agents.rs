//! Logs of other agents that wrap ordinary messages: pi sessions, Kimi CLI wire logs, SWE-agent trajectories.

use serde::Deserialize;

use super::claude_code::words::{self, Words};
use super::content::Content;
use super::gather::{Problems, TOOL_BYTES, clip, one, push, push_or_join};
use super::lenient::{List, Maybe, Text, Time};
use super::roles;
use super::sniff::{Shape, Sketch};
use super::values::each_object;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// One of these logs: they differ in how they are told apart, not in how they are read.
#[derive(Debug)]
pub struct Agent {
    /// Name of the format.
    pub name: &'static str,
    /// Keys that an object among the first ones has, and its type where that matters.
    pub keys: &'static [&'static str],
    /// Type of that object.
    pub kind: Option<&'static str>,
}

/// pi.
pub static PI: Agent = Agent { name: "pi", keys: &["version", "id", "cwd"], kind: Some("session") };
/// Kimi CLI.
pub static KIMI: Agent = Agent { name: "kimi", keys: &["protocol_version"], kind: Some("metadata") };
/// SWE-agent.
pub static SWE_AGENT: Agent = Agent { name: "swe-agent", keys: &["trajectory"], kind: None };

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    timestamp: Time<'a>,
    #[serde(borrow)]
    time: Time<'a>,
    #[serde(borrow)]
    message: Maybe<Message<'a>>,
    #[serde(borrow)]
    event: Maybe<Event<'a>>,
    #[serde(borrow)]
    history: List<Maybe<Message<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    origin: Maybe<Origin<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Origin<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    part: Content<'a>,
    #[serde(borrow)]
    result: Maybe<Output<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output<'a> {
    #[serde(borrow)]
    output: Content<'a>,
}

impl Format for Agent {
    fn name(&self) -> &'static str {
        self.name
    }

    fn detect(&self, head: &str) -> bool {
        let ours = |o: &Sketch| o.has_all(self.keys) && self.kind.is_none_or(|k| o.get("type") == Some(k));
        Shape::of(head).objects.first().is_some_and(ours)
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut conversation = Conversation::default();
        let offset = each_object(input, &mut problems, &mut |bytes| {
            take(&mut conversation, &serde_json::from_slice(bytes)?);
            Ok(())
        })?;
        Ok(one(self.name, conversation, problems, offset, out))
    }
}

fn take(conversation: &mut Conversation, item: &Item<'_>) {
    if item.kind.str() == "session" {
        item.id.str().clone_into(&mut conversation.session);
        conversation.cwd = item.cwd.owned();
    }
    let at = item.timestamp.get().or_else(|| item.time.get());
    if conversation.date.is_none() {
        conversation.date.clone_from(&at);
    }
    if let Some(message) = &item.message.0 {
        say(conversation, message, at.clone(), false);
    }
    if let Some(event) = &item.event.0 {
        push_or_join(conversation, Speaker::Assistant, &event.part.words(), at.clone(), None);
        if let Some(result) = &event.result.0 {
            push(conversation, Speaker::Tool, &clip(&result.output.clipped(TOOL_BYTES)), at, None);
        }
    }
    // A trajectory has one task from a person; later `user` messages are what the tools say.
    for message in item.history.0.iter().filter_map(|m| m.0.as_ref()) {
        let later = conversation.turns.iter().any(|t| t.speaker == Speaker::User);
        say(conversation, message, None, later);
    }
}

fn say(conversation: &mut Conversation, message: &Message<'_>, at: Option<String>, from_tools: bool) {
    let text = message.content.words();
    let injected = message.origin.0.as_ref().and_then(|o| o.kind.get()).is_some_and(|k| k != "user" && k != "human");
    match message.role.get().and_then(roles::speaker) {
        Some(Speaker::User) if injected => {}
        Some(Speaker::User) if !from_tools => {
            if let Words::Person(own) = words::read(&text) {
                push(conversation, Speaker::User, &own, at, None);
            }
        }
        Some(Speaker::Assistant) => {
            push(conversation, Speaker::Assistant, &text, at, None);
        }
        Some(Speaker::User | Speaker::Tool) => {
            push(conversation, Speaker::Tool, &clip(&text), at, None);
        }
        Some(Speaker::Harness) | None => {}
    }
}
