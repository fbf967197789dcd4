//! A short block for a CLAUDE.md: what holds as convention, preference or decision, between two marks.

use std::fmt::Write;

use super::select::{self, Known};
use super::{Request, escape};
use crate::model::{Kind, State};
use crate::store::Snapshot;
use crate::text::tags::{BLOCK_BEGIN, BLOCK_END};
use crate::text::{tokens, words};

/// Most tokens of the lines: the file is read in full at every start.
const MOST: u64 = 1_000;

/// Kinds that are worth being told every time, with their headings.
const KINDS: &[(Kind, &str)] = &[(Kind::Convention, "Conventions"), (Kind::Preference, "Preferences"), (Kind::Decision, "Decisions")];

/// The block and how many memories are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// With its marks and a line end.
    pub text: String,
    /// How many memories it says.
    pub memories: usize,
    /// Rules that came in a file and that nobody has confirmed here: they are not in it.
    pub unconfirmed: usize,
}

/// The block for these projects. Memories that disagree or that nobody has confirmed, and whatever does not hold on `today`, are
/// not in it: the file states what its owner wants.
pub fn text(snapshots: &[&Snapshot], today: &str) -> Block {
    let request = Request::new(today);
    let selection = select::select(snapshots, &request);
    let (mut room, mut unconfirmed) = (MOST, 0);
    let mut chosen: Vec<(Known<'_>, String)> = Vec::new();
    for pick in selection.picks.iter().filter(|p| !p.disputed()) {
        let Some(known) = pick.members.first().filter(|k| k.memory.state == State::Valid) else { continue };
        if !KINDS.iter().any(|(kind, _)| *kind == known.memory.kind) {
            continue;
        }
        if known.memory.is_unconfirmed() {
            unconfirmed += 1;
            continue;
        }
        let line = escape::line(&known.memory.summary, words::MAX_WIDTH, "as recorded: “{text}”").replace("<!--", "&lt;!--");
        let cost = tokens::estimate(&line) + 2;
        if cost > room {
            break;
        }
        room -= cost;
        chosen.push((*known, line));
    }
    chosen.sort_by_key(|(known, _)| (!known.memory.pinned, &known.memory.id));
    let mut out = format!("{BLOCK_BEGIN}\n");
    for (kind, heading) in KINDS {
        let mut lines = chosen.iter().filter(|(known, _)| known.memory.kind == *kind).peekable();
        if lines.peek().is_some() {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "## {heading} (kept by claude-mem)\n");
            lines.for_each(|(_, line)| {
                let _ = writeln!(out, "- {line}");
            });
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    let _ = write!(out, "\n{BLOCK_END}\n");
    Block { text: out, memories: chosen.len(), unconfirmed }
}

/// The file with the block between its marks; at its end if it has none. Every other byte stays, line ends included.
///
/// # Errors
/// If the marks are not one pair.
pub fn splice(old: &str, block: &str) -> Result<String, String> {
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let block = block.trim_end().replace('\n', end);
    let (mut begins, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
    for line in old.split_inclusive('\n') {
        let bare = line.trim_start_matches('\u{feff}').trim();
        let start = at + (line.len() - line.trim_start_matches('\u{feff}').len());
        if bare == BLOCK_BEGIN {
            begins.push(start);
        } else if bare == BLOCK_END {
            ends.push(at + line.trim_end().len());
        }
        at += line.len();
    }
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => {
            let gap = match old.trim_start_matches('\u{feff}') {
                "" => String::new(),
                text if text.ends_with(&end.repeat(2)) => String::new(),
                text if text.ends_with('\n') => end.to_owned(),
                _ => end.repeat(2),
            };
            let last = if old.is_empty() || old.ends_with('\n') { end } else { "" };
            Ok(format!("{old}{gap}{block}{last}"))
        }
        ([begin], [stop]) if begin < stop => {
            let (head, tail) = (old.get(..*begin).unwrap_or_default(), old.get(*stop..).unwrap_or_default());
            Ok(format!("{head}{block}{tail}"))
        }
        ([], _) => Err(format!("{BLOCK_END} stands there without {BLOCK_BEGIN}")),
        (_, []) => Err(format!("{BLOCK_BEGIN} stands there without {BLOCK_END}")),
        ([_], [_]) => Err(format!("{BLOCK_END} stands before {BLOCK_BEGIN}")),
        _ => Err("the marks of the block stand there more than once".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(words: &str) -> String {
        format!("{BLOCK_BEGIN}\n- {words}\n{BLOCK_END}\n")
    }

    #[test]
    fn broken_marks_are_an_error() {
        for bad in [
            format!("a\n{BLOCK_BEGIN}\nb\n"),
            format!("{BLOCK_END}\n"),
            format!("{BLOCK_END}\n{BLOCK_BEGIN}\n"),
            format!("{0}{0}", block("x")),
            format!("{BLOCK_BEGIN}\n{BLOCK_BEGIN}\n{BLOCK_END}\n"),
        ] {
            assert!(splice(&bad, &block("y")).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_new_file_is_the_block() {
        assert_eq!(splice("", &block("x")), Ok(block("x")));
        assert_eq!(splice("a", &block("x")), Ok(format!("a\n\n{}", block("x").trim_end())));
    }

    proptest! {
        #[test]
        fn only_what_is_between_the_marks_changes(
            head in "(\u{feff})?([a#中-]{0,6}(\r\n|\n)){0,4}", tail in "([a#中]{0,6}(\n)){0,3}[a中]{0,3}", crlf: bool
        ) {
            let flip = |text: String| if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.replace("\r\n", "\n") };
            let old = flip(format!("{head}{}{tail}", block("old")));
            let new = splice(&old, &block("new"));
            prop_assert_eq!(new.as_ref(), Ok(&flip(format!("{head}{}{tail}", block("new")))));
            prop_assert_eq!(new.and_then(|new| splice(&new, &block("new"))), Ok(flip(format!("{head}{}{tail}", block("new")))));
            // Without marks: what was there comes first, untouched; a second time changes nothing.
            let plain = flip(format!("{head}{tail}"));
            let once = splice(&plain, &block("x")).map_err(TestCaseError::fail)?;
            prop_assert!(once.starts_with(&plain));
            prop_assert_eq!(splice(&once, &block("x")), Ok(once));
        }
    }
}
