//! What all formats share when they build a conversation: numbering, clipping, derived session ids, counted problems.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Reading;
use crate::error::{Error, Kind, Problem};
use crate::model::{Conversation, Cursor, Speaker, Turn};

/// Bytes kept of one tool output; the rest is only counted, so that memory does not grow with the file.
pub const TOOL_BYTES: usize = 2_000;

/// Bytes kept of one turn. Nobody says more at once; what is longer was pasted, or a format was misread.
pub const TURN_BYTES: usize = 1 << 20;

/// Text of a turn that its author took back: a cancelled prompt or an abandoned branch. The number stays taken.
pub const WITHDRAWN: &str = "[withdrawn]";

/// Most problems of one code that are listed one by one; the others are one summing line.
const LISTED: u64 = 50;

/// The longest beginning of `text` of at most `limit` bytes that ends between two characters.
pub fn head(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Tool output shortened to [`TOOL_BYTES`] with a mark that says so.
pub fn clip(text: &str) -> String {
    if text.len() <= TOOL_BYTES {
        return text.to_owned();
    }
    format!("{}\n[… cut]", head(text, TOOL_BYTES))
}

/// Adds a line to the text of a turn, up to [`TURN_BYTES`].
pub fn add_line(text: &mut String, line: &str) {
    if text.len() < TURN_BYTES {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(head(line, TURN_BYTES));
    }
}

/// Adds a turn with the next number; blank text adds nothing. Says whether one was added.
pub fn push(conversation: &mut Conversation, speaker: Speaker, text: &str, at: Option<String>, uuid: Option<String>) -> bool {
    let text = head(text, TURN_BYTES).trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if text.is_empty() {
        return false;
    }
    let number = u32::try_from(conversation.turns.len()).unwrap_or(u32::MAX).saturating_add(1);
    // NUL cannot be stored by some databases and never carries meaning.
    let text = if text.contains('\0') { text.replace('\0', "") } else { text.to_owned() };
    if conversation.date.is_none() {
        conversation.date.clone_from(&at);
    }
    conversation.turns.push(Turn { number, speaker, text, at, uuid });
    true
}

/// Adds to the last turn if it is of the same speaker, else begins a new one.
pub fn push_or_join(conversation: &mut Conversation, speaker: Speaker, text: &str, at: Option<String>, uuid: Option<String>) {
    let text = text.trim();
    match conversation.turns.last_mut() {
        Some(last) if last.speaker == speaker && !text.is_empty() && last.text.len() < TURN_BYTES => {
            last.text.push_str("\n\n");
            last.text.push_str(text);
        }
        _ => {
            push(conversation, speaker, text, at, uuid);
        }
    }
}

/// The finished conversation, with a session id. Nothing if nobody said anything.
pub fn finish(mut conversation: Conversation, format: &'static str) -> Option<Conversation> {
    if conversation.turns.is_empty() {
        return None;
    }
    conversation.format = format;
    if conversation.session.is_empty() {
        conversation.session = derived_session(&conversation);
    }
    Some(conversation)
}

/// Gives the one conversation of a file and what is to be reported of it. A file in which nobody speaks is a problem.
pub fn one(
    format: &'static str,
    conversation: Conversation,
    mut problems: Problems,
    offset: u64,
    out: &mut dyn FnMut(Conversation),
) -> Reading {
    let turns = u32::try_from(conversation.turns.len()).unwrap_or(u32::MAX);
    match finish(conversation, format) {
        Some(conversation) => out(conversation),
        None => problems.add("no_turns", None, "nobody says anything in this file"),
    }
    Reading { format, problems: problems.list(), cursor: Cursor { offset, turns, last_uuid: None } }
}

/// A session id made of the first user turns: 16 hex digits. It stays the same when the transcript grows, because it
/// stops as soon as it has 48 letters; only a chat that has said less than that can change its id.
fn derived_session(conversation: &Conversation) -> String {
    let mut hash = Sha256::new();
    hash.update(conversation.date.as_deref().unwrap_or_default());
    let mut letters = 0;
    for turn in conversation.turns.iter().filter(|t| t.speaker == Speaker::User) {
        hash.update([0]);
        hash.update(&turn.text);
        letters += turn.text.chars().count();
        if letters >= 48 {
            break;
        }
    }
    hex(&hash.finalize(), 8)
}

/// The first `bytes` bytes as lower-case hexadecimal digits.
fn hex(digest: &[u8], bytes: usize) -> String {
    digest.iter().take(bytes).flat_map(|b| [b >> 4, b & 15]).filter_map(|n| char::from_digit(u32::from(n), 16)).collect()
}

/// Problems as they are met; many of one kind end in one line with their number.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    counts: BTreeMap<&'static str, u64>,
}

impl Problems {
    /// Notes one problem.
    pub fn add(&mut self, code: &'static str, line: Option<u64>, detail: impl Into<String>) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= LISTED {
            self.list.push(Problem { code, file: String::new(), line, detail: detail.into() });
        }
    }

    /// The list, with one summing line for each kind that was too many.
    pub fn list(mut self) -> Vec<Problem> {
        for (&code, &count) in self.counts.iter().filter(|(_, count)| **count > LISTED) {
            let detail = format!("{} more of this kind", count - LISTED);
            self.list.push(Problem { code, file: String::new(), line: None, detail });
        }
        self.list
    }
}

/// An input that gives no bytes, in the words of a user.
pub fn unreadable(cause: &std::io::Error) -> Error {
    Error::new(Kind::NoTranscript, format!("the transcript cannot be read: {cause}")).hint("check the file and run the same command again")
}
