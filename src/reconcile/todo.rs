//! Which open todo a finished piece of work closes: only one clear match, else a person is asked.

use std::collections::BTreeSet;

use crate::model::{Kind, Memory, State};
use crate::text::stems::stem;
use crate::text::words::token_set;

/// Share of the smaller set of words that must be common.
const MATCH: f64 = 0.4;

/// The runner-up must be this much worse than the best.
const CLEAR: f64 = 0.6;

/// What was found among the open todos.
pub(super) enum Closes<'a> {
    /// This one.
    One(&'a Memory),
    /// Several could be meant.
    Unclear,
    /// None.
    Nothing,
}

/// The open todo among `open` that `done` speaks of.
pub(super) fn closed_by<'a>(done: &Memory, open: impl Iterator<Item = &'a Memory>) -> Closes<'a> {
    let mut ranked: Vec<(f64, &Memory)> =
        open.filter(|m| is_open(m)).map(|todo| (likeness(done, todo), todo)).filter(|(s, _)| *s >= MATCH).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    match ranked.as_slice() {
        [] => Closes::Nothing,
        [(_, only)] => Closes::One(only),
        [(best, todo), rivals @ ..] if rivals.iter().all(|(s, rival)| *s <= CLEAR * best || told_apart(done, todo, rival)) => {
            Closes::One(todo)
        }
        _ => Closes::Unclear,
    }
}

/// Whether the finished work names what one todo has and the other has not, and nothing of the reverse.
fn told_apart(done: &Memory, todo: &Memory, rival: &Memory) -> bool {
    let (done, todo, rival) = (words(done), words(todo), words(rival));
    let named = |own: &BTreeSet<String>, other: &BTreeSet<String>| own.difference(other).filter(|w| done.contains(*w)).count();
    named(&todo, &rival) > 0 && named(&rival, &todo) == 0
}

/// Whether a memory is a todo that is still open.
pub(super) fn is_open(memory: &Memory) -> bool {
    memory.kind == Kind::Todo && memory.state == State::Valid
}

/// Whether a pointer of the extractor to this todo is believable: it shares a content word.
pub(super) fn speaks_of(done: &Memory, todo: &Memory) -> bool {
    words(done).intersection(&words(todo)).next().is_some()
}

fn likeness(done: &Memory, todo: &Memory) -> f64 {
    let (a, b) = (words(done), words(todo));
    let common = a.intersection(&b).count();
    if common < 2 { 0.0 } else { common as f64 / a.len().min(b.len()) as f64 }
}

fn words(memory: &Memory) -> BTreeSet<String> {
    let quotes: String = memory.evidence.iter().map(|e| format!("{}\n", e.quote)).collect();
    let mut set = token_set(&memory.summary);
    if memory.state == State::Done {
        set.extend(token_set(&quotes));
    }
    // Written closes "write".
    set.iter().map(|word| stem(word)).collect()
}
