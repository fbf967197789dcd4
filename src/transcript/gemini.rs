//! Gemini CLI sessions: JSONL with a first line about the session, or the older one JSON document. A repeated id
//! replaces a message, `$rewindTo` takes messages back: both keep their numbers.

use serde::Deserialize;

use super::content::Content;
use super::gather::{Problems, WITHDRAWN, clip, one, push};
use super::lenient::{List, Maybe, Text};
use super::sniff::{Shape, Sketch};
use super::values::each_object;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// The format.
#[derive(Debug)]
pub struct Gemini;

/// A message, the first line, or a whole document.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    /// Of the first line: `main`, or `subagent`.
    #[serde(borrow, rename = "kind")]
    session_kind: Text<'a>,
    #[serde(borrow)]
    start_time: Text<'a>,
    #[serde(borrow)]
    directories: Content<'a>,
    #[serde(borrow)]
    messages: List<Maybe<Item<'a>>>,
    #[serde(borrow)]
    tool_calls: List<Maybe<Call<'a>>>,
    #[serde(borrow, rename = "$rewindTo")]
    rewind_to: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Call<'a> {
    /// What the person saw of the result; the raw result may be any JSON.
    #[serde(borrow)]
    result_display: Text<'a>,
}

impl Format for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn detect(&self, head: &str) -> bool {
        let ours = |o: &Sketch| {
            let session = o.has("sessionId") && (o.has("projectHash") || o.has_all(&["startTime", "messages"]));
            session || (o.has_all(&["id", "content"]) && matches!(o.get("type"), Some("gemini")))
        };
        Shape::of(head).objects.iter().any(ours)
    }

    fn read(&self, input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut conversation = Conversation::default();
        let mut subagent = false;
        let offset = each_object(input, &mut problems, &mut |bytes| {
            let item: Item<'_> = serde_json::from_slice(bytes)?;
            subagent |= item.session_kind.str() == "subagent";
            if !subagent || options.sidechains {
                take(&mut conversation, &item);
            }
            Ok(())
        })?;
        if subagent {
            problems.add("subagent", None, "a subagent's session: its prompts are the model's");
        }
        Ok(one(self.name(), conversation, problems, offset, out))
    }
}

fn take(conversation: &mut Conversation, item: &Item<'_>) {
    if conversation.session.is_empty() {
        conversation.session = item.session_id.owned().unwrap_or_default();
    }
    if conversation.date.is_none() {
        conversation.date = item.start_time.owned();
    }
    if conversation.cwd.is_none() {
        conversation.cwd = item.directories.0.first().and_then(|b| b.text.owned());
    }
    if let Some(id) = item.rewind_to.get() {
        let from = conversation.turns.iter().position(|t| t.uuid.as_deref() == Some(id)).unwrap_or(usize::MAX);
        for turn in conversation.turns.iter_mut().skip(from) {
            turn.speaker = Speaker::Harness;
            WITHDRAWN.clone_into(&mut turn.text);
        }
    }
    let speaker = match item.kind.str() {
        "user" => Some(Speaker::User),
        "gemini" | "model" => Some(Speaker::Assistant),
        _ => None,
    };
    if let Some(speaker) = speaker {
        message(conversation, item, speaker);
    }
    item.messages.0.iter().filter_map(|m| m.0.as_ref()).for_each(|m| take(conversation, m));
}

fn message(conversation: &mut Conversation, item: &Item<'_>, speaker: Speaker) {
    let text = item.content.words();
    let id = item.id.get();
    // The same message again, with more in it: a snapshot while it was written.
    if let Some(old) = conversation.turns.iter_mut().rev().find(|t| id.is_some() && t.uuid.as_deref() == id && t.speaker == speaker) {
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut old.text);
        }
        return;
    }
    push(conversation, speaker, &text, item.timestamp.owned(), item.id.owned());
    for call in item.tool_calls.0.iter().filter_map(|c| c.0.as_ref()) {
        push(conversation, Speaker::Tool, &clip(call.result_display.str()), item.timestamp.owned(), None);
    }
}
