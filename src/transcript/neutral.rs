//! Our own neutral form, and any list of messages: a JSON array or JSONL of `{role, content, timestamp?}`, with an
//! optional first object `{session_id, date, project}`; also one object `{messages: […]}` as API logs have it.

use serde::Deserialize;

use super::content::Content;
use super::gather::{Problems, clip, one, push};
use super::lenient::{List, Maybe, Text, Time};
use super::roles;
use super::sniff::{Shape, Sketch};
use super::values::each_object;
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::{Conversation, Speaker};

/// The format.
#[derive(Debug)]
pub struct Neutral;

/// A message or the first object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    timestamp: Time<'a>,
    #[serde(borrow)]
    created_at: Time<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    date: Text<'a>,
    #[serde(borrow)]
    project: Text<'a>,
    #[serde(borrow)]
    title: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    messages: List<Maybe<Item<'a>>>,
}

impl Format for Neutral {
    fn name(&self) -> &'static str {
        "neutral"
    }

    fn detect(&self, head: &str) -> bool {
        let message = |o: &Sketch| o.has("role") && (o.has("content") || o.has("tool_calls"));
        let objects = Shape::of(head).objects;
        objects.iter().take(4).any(message) || objects.first().is_some_and(|o| o.has("messages") && head.contains("\"role\""))
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut conversation = Conversation::default();
        let offset = each_object(input, &mut problems, &mut |bytes| {
            take(&mut conversation, &serde_json::from_slice(bytes)?);
            Ok(())
        })?;
        Ok(one(self.name(), conversation, problems, offset, out))
    }
}

/// Takes a message, the first object, or a list of messages with its surroundings.
fn take(conversation: &mut Conversation, item: &Item<'_>) {
    if conversation.session.is_empty() {
        conversation.session = item.session_id.owned().unwrap_or_default();
    }
    let about = [
        (&mut conversation.date, &item.date),
        (&mut conversation.project, &item.project),
        (&mut conversation.title, &item.title),
        (&mut conversation.cwd, &item.cwd),
    ];
    for (field, found) in about.into_iter().filter(|(field, _)| field.is_none()) {
        *field = found.owned();
    }
    let at = item.timestamp.get().or_else(|| item.created_at.get());
    match item.role.get().and_then(roles::speaker) {
        Some(Speaker::Tool) => {
            push(conversation, Speaker::Tool, &clip(&item.content.words()), at, None);
        }
        // System prompts and developer notes are the program's, not the person's.
        Some(Speaker::Harness) | None => {}
        Some(speaker) => {
            for block in item.content.0.iter().filter(|b| b.kind.str() == "tool_result") {
                push(conversation, Speaker::Tool, &clip(&block.content.words()), at.clone(), None);
            }
            push(conversation, speaker, &item.content.words(), at, None);
        }
    }
    item.messages.0.iter().filter_map(|m| m.0.as_ref()).for_each(|m| take(conversation, m));
}
