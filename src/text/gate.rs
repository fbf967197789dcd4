//! The gate: a conversation that cannot hold a memory costs no call, and its receipt says why.
//!
//! Closing must never lose a decision, so it needs proof: every user turn must be empty, a known phrase of small talk, or
//! free of any content word. One doubtful turn opens.

use crate::model::{Conversation, Speaker};
use crate::text::strip::is_stub_line;

/// Whether a conversation goes on to extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It does.
    Open,
    /// It does not, for this reason (shown in the receipt).
    Closed(&'static str),
}

/// Judges a cleaned conversation.
pub fn gate(cleaned: &Conversation) -> Gate {
    if cleaned.turns.is_empty() {
        return Gate::Closed("nothing left after cleaning");
    }
    let mut words = cleaned
        .turns
        .iter()
        .filter(|turn| turn.speaker == Speaker::User)
        .flat_map(|turn| turn.text.lines())
        .filter(|line| !line.trim().is_empty() && !is_stub_line(line));
    if words.next().is_none() { Gate::Closed("no words of the user") } else { Gate::Open }
}
