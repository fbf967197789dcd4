//! The gate: a conversation that cannot hold a memory costs no call, and its receipt says why.
//!
//! Closing must never lose a decision, so it needs proof: either the user says nothing, or everything the user says is
//! made of `small_talk.txt`, and the assistant proposes nothing that a "yes" could have accepted. Any doubt opens.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::model::{Conversation, Speaker};
use crate::text::strip::is_stub_line;
use crate::text::words::{exact, fold, is_cjk};

/// Whether a conversation goes on to extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It does.
    Open,
    /// It does not, for this reason (shown in the receipt).
    Closed(&'static str),
}

/// Characters of all assistant turns up to which they can be small talk as well.
const CHAT_CHARS: usize = 600;

/// Small talk by first character, longest entry first.
static SMALL_TALK: LazyLock<BTreeMap<char, Vec<&'static str>>> = LazyLock::new(|| {
    let mut by_first: BTreeMap<char, Vec<&'static str>> = BTreeMap::new();
    for entry in include_str!("small_talk.txt").lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(first) = entry.chars().next() {
            by_first.entry(first).or_default().push(entry);
        }
    }
    by_first.values_mut().for_each(|entries| entries.sort_by_key(|entry| std::cmp::Reverse(entry.len())));
    by_first
});

/// Judges a cleaned conversation.
pub fn gate(cleaned: &Conversation) -> Gate {
    if cleaned.turns.is_empty() {
        return Gate::Closed("nothing left after cleaning");
    }
    let lines_of = |speaker: Speaker| cleaned.turns.iter().filter(move |turn| turn.speaker == speaker).flat_map(|turn| turn.text.lines());
    let mut words = lines_of(Speaker::User).filter(|line| line.contains(char::is_alphanumeric) && !is_stub_line(line)).peekable();
    if words.peek().is_none() {
        return Gate::Closed("no words of the user");
    }
    // A picture or a paste may be what "ok" is about, and so may a tool's result.
    let shows = lines_of(Speaker::User).any(is_stub_line) || lines_of(Speaker::Tool).next().is_some();
    let proposes = lines_of(Speaker::Assistant).map(|line| line.chars().count()).sum::<usize>() > CHAT_CHARS
        || lines_of(Speaker::Assistant).any(|line| line.contains('`') || is_stub_line(line) || !exact(line).is_empty());
    if !shows && !proposes && words.all(is_small_talk) { Gate::Closed("small talk only") } else { Gate::Open }
}

/// Whether a text is made of small talk and nothing else. Numbers are content.
fn is_small_talk(text: &str) -> bool {
    let folded = fold(text);
    let mut rest = folded.as_str();
    while let Some(first) = rest.chars().next() {
        if !first.is_alphanumeric() {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let entry = SMALL_TALK.get(&first).into_iter().flatten().find(|entry| {
            // A Latin word ends where no letter follows; CJK has no such mark.
            rest.strip_prefix(**entry).is_some_and(|after| {
                entry.chars().next_back().is_some_and(is_cjk)
                    || !after.starts_with(|c: char| (c.is_alphanumeric() && !is_cjk(c)) || c == '\'')
            })
        });
        match entry {
            Some(entry) => rest = rest.get(entry.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}
