//! The claude.ai export: `conversations.json` (a list), its split pieces, or one conversation object; the exporters of
//! browsers use the same shape. Content blocks are the words; the flat `text` is only used where there are none.

use serde::Deserialize;

use super::content::Content;
use super::export;
use super::gather::{TOOL_BYTES, clip, push};
use super::lenient::{List, Maybe, Text};
use super::sniff::Shape;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// The format.
#[derive(Debug)]
pub struct ClaudeAi;

/// One conversation of the export.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chat<'a> {
    #[serde(borrow)]
    uuid: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    created_at: Text<'a>,
    #[serde(borrow)]
    current_leaf_message_uuid: Text<'a>,
    #[serde(borrow)]
    chat_messages: List<Maybe<Message<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    uuid: Text<'a>,
    #[serde(borrow)]
    parent_message_uuid: Text<'a>,
    #[serde(borrow)]
    sender: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    created_at: Text<'a>,
    #[serde(borrow)]
    attachments: List<Maybe<Attachment<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow)]
    file_name: Text<'a>,
    #[serde(borrow)]
    extracted_content: Text<'a>,
}

/// What the flat text says in place of a block it cannot show.
const PLACEHOLDER: &str = "This block is not supported on your current device yet.";

/// Bytes kept of one attached text: a paste can be a whole book.
const PASTE_BYTES: usize = 16_000;

impl Format for ClaudeAi {
    fn name(&self) -> &'static str {
        "claude-ai"
    }

    fn detect(&self, head: &str) -> bool {
        Shape::of(head).objects.iter().any(|o| o.has("chat_messages"))
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        export::read(self.name(), input, out, chat)
    }
}

fn chat(json: &[u8]) -> serde_json::Result<Conversation> {
    let chat: Chat<'_> = serde_json::from_slice(json)?;
    let mut conversation = Conversation {
        session: chat.uuid.str().to_owned(),
        title: chat.name.owned(),
        date: chat.created_at.owned(),
        ..Conversation::default()
    };
    let messages: Vec<&Message<'_>> = chat.chat_messages.0.iter().filter_map(|m| m.0.as_ref()).collect();
    let nodes: Vec<export::Node<'_>> =
        messages.iter().map(|m| export::Node { id: m.uuid.str(), parent: m.parent_message_uuid.get() }).collect();
    for at in export::live_path(&nodes, chat.current_leaf_message_uuid.get()) {
        if let Some(message) = messages.get(at) {
            say(&mut conversation, message);
        }
    }
    Ok(conversation)
}

fn say(conversation: &mut Conversation, message: &Message<'_>) {
    let speaker = match message.sender.str() {
        "human" | "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return,
    };
    let (at, uuid) = (message.created_at.owned(), message.uuid.owned());
    let mut text = message.content.words();
    if text.trim().is_empty() && message.content.0.is_empty() {
        text = message.text.str().replace(&format!("```\n{PLACEHOLDER}\n```"), "").replace(PLACEHOLDER, "");
    }
    for attachment in message.attachments.0.iter().filter_map(|a| a.0.as_ref()) {
        let Some(pasted) = attachment.extracted_content.get() else { continue };
        let pasted = super::gather::head(pasted, PASTE_BYTES);
        let name = attachment.file_name.str().replace('"', "'");
        // The same tag as Claude Code uses, so that one rule lowers the weight of what was only pasted.
        text.push_str(&["\n\n<pasted_content file=\"", &name, "\">\n", pasted, "\n</pasted_content>"].concat());
    }
    for result in message.content.0.iter().filter(|b| b.kind.str() == "tool_result") {
        push(conversation, Speaker::Tool, &clip(&result.content.clipped(TOOL_BYTES)), at.clone(), None);
    }
    push(conversation, speaker, &text, at, uuid);
}
