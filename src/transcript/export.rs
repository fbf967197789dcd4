//! What exports of whole accounts share: a list of conversations read one at a time, each a tree of messages of which
//! one path is the conversation as it stands.

use std::collections::{HashMap, HashSet};

use super::gather::{Problems, finish};
use super::values::each_object;
use super::{Input, Reading};
use crate::error::Result;
use crate::model::{Conversation, Cursor};
use crate::text::words::count;

/// Reads every conversation of a list, or the one that is the whole file.
///
/// # Errors
/// Those of the input.
pub fn read(
    format: &'static str,
    input: &mut dyn Input,
    out: &mut dyn FnMut(Conversation),
    build: fn(&[u8]) -> serde_json::Result<Conversation>,
) -> Result<Reading> {
    let mut problems = Problems::default();
    let (mut turns, mut blank) = (0usize, 0usize);
    let offset = each_object(input, &mut problems, &mut |bytes| {
        let conversation = build(bytes)?;
        let count = conversation.turns.len();
        match finish(conversation, format) {
            Some(conversation) => {
                turns += count;
                out(conversation);
            }
            None => blank += 1,
        }
        Ok(())
    })?;
    if blank > 0 {
        problems.add(
            "no_turns",
            None,
            count(blank, "conversation without any words was skipped", "conversations without any words were skipped"),
        );
    }
    let cursor = Cursor { offset, turns: u32::try_from(turns).unwrap_or(u32::MAX), last_uuid: None };
    Ok(Reading { format, problems: problems.list(), cursor })
}

/// A message in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its id.
    pub id: &'a str,
    /// Id of the message it answers.
    pub parent: Option<&'a str>,
}

/// The indices of the messages from the root to `leaf`, or to the last message if that is unknown. Where no message
/// names a parent that exists, all messages in the order they stand. Cycles end the walk.
pub fn live_path(nodes: &[Node<'_>], leaf: Option<&str>) -> Vec<usize> {
    let by_id: HashMap<&str, usize> = nodes.iter().enumerate().filter(|(_, n)| !n.id.is_empty()).map(|(at, n)| (n.id, at)).collect();
    if !nodes.iter().any(|n| n.parent.is_some_and(|p| by_id.contains_key(p))) {
        return (0..nodes.len()).collect();
    }
    let mut at = leaf.and_then(|l| by_id.get(l).copied()).or(nodes.len().checked_sub(1));
    let (mut path, mut met) = (Vec::new(), HashSet::new());
    while let Some(here) = at.filter(|here| met.insert(*here)) {
        path.push(here);
        at = nodes.get(here).and_then(|n| n.parent).and_then(|p| by_id.get(p).copied());
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &'static str, parent: &'static str) -> Node<'static> {
        Node { id, parent: (!parent.is_empty()).then_some(parent) }
    }

    #[test]
    fn only_the_path_to_the_leaf_is_live() {
        let tree = [node("a", "0"), node("b", "a"), node("c", "a"), node("d", "c")];
        assert_eq!(live_path(&tree, Some("d")), [0, 2, 3]);
        assert_eq!(live_path(&tree, Some("b")), [0, 1]);
        assert_eq!(live_path(&tree, Some("gone")), [0, 2, 3]);
        assert_eq!(live_path(&[node("a", ""), node("b", "")], None), [0, 1]);
        assert_eq!(live_path(&[node("a", "b"), node("b", "a")], None), [0, 1]);
        assert_eq!(live_path(&[], None), Vec::<usize>::new());
    }
}
