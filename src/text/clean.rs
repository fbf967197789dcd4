//! The cleaning of a whole conversation: injected text, secrets, code, tables and logs go; the words stay.
//!
//! Order within a turn: injected blocks (`tags`), secrets (`redact`), then blocks (`strip`). Secrets go before blocks
//! so that a stub that quotes an error line can never hold half of a secret that no pattern knows any more.

use std::collections::BTreeMap;

use crate::model::{Conversation, Speaker, Turn};
use crate::text::redact::redact;
use crate::text::strip::{self, Stripped};
use crate::text::{sanitise, tags, tokens};

/// Characters of a tool turn that are kept: enough for a result line or an error, which may prove a fact.
const TOOL_CHARS: usize = 600;

/// What cleaning took out. Counts are of blocks, not lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Estimated tokens of all turns as read.
    pub tokens_before: u64,
    /// Estimated tokens of all turns that are left.
    pub tokens_after: u64,
    /// Code blocks.
    pub blocks: u32,
    /// Tables.
    pub tables: u32,
    /// Pasted logs, stack traces and terminal output.
    pub logs: u32,
    /// Quotes (`>`) and long pastes of foreign text.
    pub quotes: u32,
    /// Blocks injected by a program: reminders, hooks, memories (ours too), `<private>` passages, harness turns.
    pub injected: u32,
    /// Redactions by kind.
    pub redactions: BTreeMap<String, u32>,
}

/// Cleans every turn and the title. Turn numbers stay as they are; turns without words left are left out, so numbers
/// may have gaps. Harness turns go; tool turns stay in a short form. Cleaning twice changes nothing.
pub fn clean(conversation: &Conversation) -> (Conversation, CleanReport) {
    let mut report = CleanReport::default();
    let mut turns = Vec::with_capacity(conversation.turns.len());
    for turn in &conversation.turns {
        report.tokens_before += tokens::estimate(&turn.text);
        if turn.speaker == Speaker::Harness {
            report.injected += 1;
            continue;
        }
        let mut text = clean_text(&turn.text, &mut report);
        if turn.speaker == Speaker::Tool {
            text = shorten(&text);
        }
        if !text.is_empty() {
            report.tokens_after += tokens::estimate(&text);
            turns.push(Turn { text, ..turn.clone() });
        }
    }
    let title = conversation.title.as_deref().map(|title| clean_title(title, &mut report)).filter(|title| !title.is_empty());
    (Conversation { turns, title, ..conversation.clone() }, report)
}

/// Cleans one text as a turn's text is cleaned, and adds what was taken out to the report (its token counts excepted).
pub fn clean_text(text: &str, report: &mut CleanReport) -> String {
    // What one round uncovers (a tag put together by a removal, a paragraph that now looks like a block) the next one
    // takes; text settles after one or two rounds, the bound only guards against the unforeseen.
    let mut text = round(text, report);
    for _ in 0..6 {
        let next = round(&text, report);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn round(text: &str, report: &mut CleanReport) -> String {
    let (text, injected) = tags::remove(text);
    let redacted = redact(&text);
    let Stripped { text, blocks, tables, logs, quotes } = strip::strip(&redacted.text);
    report.injected += injected;
    report.blocks += blocks;
    report.tables += tables;
    report.logs += logs;
    report.quotes += quotes;
    for kind in redacted.found {
        *report.redactions.entry(kind.to_owned()).or_default() += 1;
    }
    text
}

/// A title is a line: no blocks to look for, but tags and secrets.
fn clean_title(title: &str, report: &mut CleanReport) -> String {
    let (text, injected) = tags::remove(title);
    report.injected += injected;
    let redacted = redact(&text);
    for kind in redacted.found {
        *report.redactions.entry(kind.to_owned()).or_default() += 1;
    }
    sanitise::line(&redacted.text).trim().to_owned()
}

/// The beginning of a tool's output, cut at a line or a character, with a stub for the rest.
fn shorten(text: &str) -> String {
    // Some room for the stub, so that a shortened text is not shortened again.
    if text.chars().nth(TOOL_CHARS + 40).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().nth(TOOL_CHARS).map_or(text.len(), |(end, _)| end);
    let kept = text.get(..end).unwrap_or_default();
    let kept = kept.rfind('\n').and_then(|at| kept.get(..at)).filter(|lines| !lines.trim().is_empty()).unwrap_or(kept);
    let left_out = text.get(kept.len()..).unwrap_or_default().trim().chars().count();
    format!("{}\n{}", kept.trim_end(), strip::stub("cut", &format!("{left_out} characters")))
}
