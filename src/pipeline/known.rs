//! Which stored memories a conversation is shown with: few, and always what is still open.

use std::collections::{BTreeSet, HashSet};

use crate::cores::on_all_cores;
use crate::extract::Known;
use crate::model::{Conversation, Kind, Memory, Speaker, State};
use crate::store::{Entry, Snapshot};
use crate::text::words;

/// At most this many are shown (facts: users-and-extraction §2.8).
pub const MAX_KNOWN: usize = 40;

/// Memories for which a thread pays.
const SHARE: usize = 1000;

/// Selects by shared content words and exact tokens with what was said behind `after_turn`; open todos and pending
/// conflicts always come along. The order and the aliases depend only on the memories and the words.
pub fn select<'a>(snapshots: &[&'a Snapshot], conversation: &Conversation, after_turn: u32) -> Vec<Known> {
    let mut said: HashSet<String> = HashSet::new();
    for turn in conversation.turns.iter().filter(|t| t.number > after_turn && matches!(t.speaker, Speaker::User | Speaker::Assistant)) {
        said.extend(words::tokens(&turn.text));
        said.extend(words::exact(&turn.text));
    }
    let disputed: BTreeSet<&str> = snapshots
        .iter()
        .flat_map(|snapshot| &snapshot.catalogue.conflicts)
        .filter(|c| c.state == "pending")
        .flat_map(|c| [c.older.as_str(), c.newer.as_str()])
        .collect();
    let rank = |entry: &'a Entry| {
        let memory = &entry.memory;
        let open = memory.kind == Kind::Todo && memory.state == State::Valid;
        let always = if open || disputed.contains(memory.id.as_str()) { MAX_KNOWN } else { 0 };
        let rank = shared(memory, &said) + always;
        (rank > 0).then_some((rank, memory))
    };
    let entries: Vec<&'a Entry> = snapshots.iter().flat_map(|snapshot| &snapshot.entries).collect();
    let mut ranked: Vec<(usize, &Memory)> = on_all_cores(&entries, SHARE, &|part| part.iter().filter_map(|entry| rank(entry)).collect());
    ranked.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| y.day().cmp(&x.day())).then_with(|| x.summary.cmp(&y.summary)));
    ranked.truncate(MAX_KNOWN);
    let known = |(i, (_, memory)): (usize, (usize, &Memory))| Known { alias: format!("m{:02}", i + 1), memory: memory.clone() };
    ranked.into_iter().enumerate().map(known).collect()
}

/// How many words of a memory were said.
fn shared(memory: &Memory, said: &HashSet<String>) -> usize {
    let text = format!("{} {} {}", memory.topic.as_deref().unwrap_or_default(), memory.summary, memory.keywords.join(" "));
    let mut shared: Vec<String> = Vec::new();
    let mut take = |word: &str| {
        if said.contains(word) && !shared.iter().any(|s| s == word) {
            shared.push(word.to_owned());
        }
    };
    words::each_token(&text, &mut take);
    words::exact(&text).iter().for_each(|word| take(word));
    shared.len()
}
