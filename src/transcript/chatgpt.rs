//! The ChatGPT export: a list of conversations (also split into pieces) or one object. A conversation is a tree; only
//! the path from the root to `current_node` was said. Tool calls, hidden notes and thinking are left out.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::content::Content;
use super::export::{self, Node};
use super::gather::{clip, push, push_or_join};
use super::lenient::{Flag, Maybe, Text, Time};
use super::sniff::Shape;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// The format.
#[derive(Debug)]
pub struct ChatGpt;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chat<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    conversation_id: Text<'a>,
    #[serde(borrow)]
    title: Text<'a>,
    #[serde(borrow)]
    create_time: Time<'a>,
    #[serde(borrow)]
    current_node: Text<'a>,
    #[serde(borrow)]
    mapping: Maybe<Mapping<'a>>,
}

/// Messages by id; the map has no order of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct Mapping<'a>(#[serde(borrow)] BTreeMap<String, Maybe<Turn<'a>>>);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Turn<'a> {
    #[serde(borrow)]
    parent: Text<'a>,
    #[serde(borrow)]
    message: Maybe<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    author: Maybe<Author<'a>>,
    #[serde(borrow)]
    create_time: Time<'a>,
    #[serde(borrow)]
    content: Maybe<Parts<'a>>,
    #[serde(borrow)]
    recipient: Text<'a>,
    #[serde(borrow)]
    channel: Text<'a>,
    metadata: Maybe<Metadata>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Author<'a> {
    #[serde(borrow)]
    role: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Parts<'a> {
    #[serde(borrow)]
    content_type: Text<'a>,
    #[serde(borrow)]
    parts: Content<'a>,
    #[serde(borrow)]
    text: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    is_visually_hidden_from_conversation: Flag,
}

impl Format for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn detect(&self, head: &str) -> bool {
        Shape::of(head).objects.iter().any(|o| o.has("mapping") && (o.has("current_node") || o.has("title") || head.contains("\"author\"")))
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        export::read(self.name(), input, out, chat)
    }
}

fn chat(json: &[u8]) -> serde_json::Result<Conversation> {
    let chat: Chat<'_> = serde_json::from_slice(json)?;
    let mut conversation = Conversation {
        session: chat.conversation_id.get().or(chat.id.get()).unwrap_or_default().to_owned(),
        title: chat.title.owned(),
        date: chat.create_time.get(),
        ..Conversation::default()
    };
    let mapping = chat.mapping.0.unwrap_or_default().0;
    let mut turns: Vec<(&str, &Turn<'_>)> = mapping.iter().filter_map(|(id, t)| Some((id.as_str(), t.0.as_ref()?))).collect();
    // Where the current node is unknown the newest message ends the conversation.
    let time = |t: &Turn<'_>| t.message.0.as_ref().map_or(0.0, |m| m.create_time.number());
    turns.sort_by(|a, b| time(a.1).total_cmp(&time(b.1)));
    let nodes: Vec<Node<'_>> = turns.iter().map(|(id, turn)| Node { id, parent: turn.parent.get() }).collect();
    for at in export::live_path(&nodes, chat.current_node.get()) {
        if let Some(message) = turns.get(at).and_then(|(_, turn)| turn.message.0.as_ref()) {
            say(&mut conversation, message);
        }
    }
    Ok(conversation)
}

fn say(conversation: &mut Conversation, message: &Message<'_>) {
    let hidden = message.metadata.0.as_ref().is_some_and(|m| m.is_visually_hidden_from_conversation.0);
    let thinking = matches!(message.channel.str(), "analysis" | "commentary");
    if hidden || thinking || !matches!(message.recipient.str(), "" | "all") {
        return;
    }
    let Some(content) = &message.content.0 else { return };
    let role = message.author.0.as_ref().map_or("", |a| a.role.str());
    let (at, uuid) = (message.create_time.get(), message.id.owned());
    let spoken = matches!(content.content_type.str(), "" | "text" | "multimodal_text");
    match role {
        "user" if spoken => {
            push(conversation, Speaker::User, &without_marks(&content.parts.words()), at, uuid);
        }
        // One answer may come in several messages around its tool calls.
        "assistant" if spoken => push_or_join(conversation, Speaker::Assistant, &without_marks(&content.parts.words()), at, uuid),
        "tool" => {
            let text = content.text.get().map_or_else(|| content.parts.words(), str::to_owned);
            push(conversation, Speaker::Tool, &clip(&text), at, uuid);
        }
        _ => {}
    }
}

/// Without citation marks: `U+E200 … U+E201` with private separators inside.
fn without_marks(text: &str) -> String {
    let mut depth = 0u32;
    text.chars()
        .filter(|c| match c {
            '\u{e200}' => {
                depth += 1;
                false
            }
            '\u{e201}' => {
                depth = depth.saturating_sub(1);
                false
            }
            '\u{e202}'..='\u{e20f}' => false,
            _ => depth == 0,
        })
        .collect()
}
