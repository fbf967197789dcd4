//! Cutting a conversation into as few requests as fit the budget. Pure; no request is made here.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::{Speaker, Turn};
use crate::text::tokens::estimate;

/// Turns that are shown again before a piece, at most.
pub const OVERLAP_TURNS: usize = 6;
/// Tokens that are shown again before a piece, at most.
pub const OVERLAP_TOKENS: u64 = 1_500;

/// One request's part of a conversation, as ranges of its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Shown, marked as read before.
    pub context: Range<usize>,
    /// To extract from.
    pub body: Range<usize>,
}

/// Tokens of a turn as shown, its mark included.
fn size(turn: &Turn) -> u64 {
    estimate(&turn.text) + 6
}

/// Pieces that cover every turn behind number `after`, in order, each of at most `budget` tokens where turns allow it.
///
/// Cut before user turns only, and not where that user turn may answer a proposal; if no such place fits, before the last
/// user turn that fits (the overlap then still shows the proposal), and only a run without user turns is cut elsewhere.
pub fn cut(turns: &[Turn], after: u32, budget: u64) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut start = turns.iter().position(|t| t.number > after).unwrap_or(turns.len());
    while start < turns.len() {
        let context = before(turns, start);
        let used: u64 = turns[context.clone()].iter().map(size).sum();
        let end = fitting(turns, start, budget.saturating_sub(used));
        chunks.push(Chunk { context, body: start..end });
        start = end;
    }
    chunks
}

/// The two halves of a piece whose answer did not fit, cut by the same rules; `None` for a single turn.
pub fn halve(turns: &[Turn], chunk: &Chunk) -> Option<[Chunk; 2]> {
    let body = &turns[chunk.body.clone()];
    if body.len() < 2 {
        return None;
    }
    let half = body.iter().map(size).sum::<u64>() / 2;
    let middle = fitting(&turns[..chunk.body.end], chunk.body.start, half.max(1));
    let middle = if middle == chunk.body.end { middle - 1 } else { middle };
    Some([
        Chunk { context: chunk.context.clone(), body: chunk.body.start..middle },
        Chunk { context: before(turns, middle), body: middle..chunk.body.end },
    ])
}

/// The overlap in front of `start`.
fn before(turns: &[Turn], start: usize) -> Range<usize> {
    let mut from = start;
    let mut used = 0;
    while from > 0 && start - from < OVERLAP_TURNS {
        used += size(&turns[from - 1]);
        if used > OVERLAP_TOKENS {
            break;
        }
        from -= 1;
    }
    from..start
}

/// End of the piece that begins at `start`.
fn fitting(turns: &[Turn], start: usize, budget: u64) -> usize {
    let mut used = 0;
    let (mut good, mut poor) = (None, None);
    for (i, turn) in turns.iter().enumerate().skip(start) {
        if i > start && turn.speaker == Speaker::User {
            poor = Some(i);
            if !proposed(turns, i) {
                good = Some(i);
            }
        }
        used += size(turn);
        if used > budget && i > start {
            // Half a budget given away is too much for a clean cut.
            let clean = good.filter(|&at| turns[start..at].iter().map(size).sum::<u64>() * 2 >= budget);
            return clean.or(poor).or(good).unwrap_or(i);
        }
    }
    turns.len()
}

/// Whether what stands between the user turn at `at` and the one before it, that one included, may be a proposal.
fn proposed(turns: &[Turn], at: usize) -> bool {
    static CUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)[?？]\s*$|\b(?:shall i|should we|do you want|would you like|how about|i(?:'d| would)? (?:suggest|recommend|propose)|let's|option \d|could (?:use|also))\b|建议|要不|是否|推荐|不如|可以考虑|方案|ましょうか|提案|할까요",
        )
        .ok()
    });
    let Some(cue) = CUE.as_ref() else { return false };
    let from = turns[..at].iter().rposition(|t| t.speaker == Speaker::User).unwrap_or(0);
    turns[from..at].iter().any(|t| matches!(t.speaker, Speaker::User | Speaker::Assistant) && cue.is_match(&t.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(texts: &[&str]) -> Vec<Turn> {
        let speaker = |text: &str| match text.split_once(": ").map(|(who, _)| who) {
            Some("u") => Speaker::User,
            Some("t") => Speaker::Tool,
            _ => Speaker::Assistant,
        };
        let turn = |(i, text): (usize, &&str)| Turn {
            number: i as u32 + 1,
            speaker: speaker(text),
            text: text.split_once(": ").map_or("", |(_, t)| t).to_owned(),
            at: None,
            uuid: None,
        };
        texts.iter().enumerate().map(turn).collect()
    }

    #[test]
    fn a_talk_that_fits_is_one_piece() {
        let turns = talk(&["u: one", "a: two", "u: three"]);
        assert_eq!(cut(&turns, 0, 1000), [Chunk { context: 0..0, body: 0..3 }]);
        assert_eq!(cut(&turns, 2, 1000), [Chunk { context: 0..2, body: 2..3 }]);
        assert_eq!(cut(&turns, 3, 1000), []);
        assert_eq!(cut(&[], 0, 1000), []);
    }

    #[test]
    fn cuts_stand_before_user_turns_and_not_before_an_answer_to_a_proposal() {
        let filler = "x".repeat(200);
        let lines: Vec<String> = (0..30)
            .map(|i| match i % 3 {
                0 => format!("u: {filler}"),
                1 => format!("a: {filler}{}", if i % 2 == 0 { " Shall I?" } else { "" }),
                _ => format!("t: {filler}"),
            })
            .collect();
        let turns = talk(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let chunks = cut(&turns, 0, 900);
        assert!(chunks.len() > 2);
        for pair in chunks.windows(2) {
            let at = pair[1].body.start;
            assert_eq!(pair[0].body.end, at, "no turn lost or doubled");
            assert_eq!(turns[at].speaker, Speaker::User);
            assert!(!proposed(&turns, at), "cut at {at}");
            assert!(pair[1].context.len() <= OVERLAP_TURNS && pair[1].context.end == at);
        }
    }

    #[test]
    fn huge_single_turns_still_make_progress() {
        let turns = talk(&["u: 一二三四五六七八九十", "a: 一二三四五六七八九十", "t: 一二三四五六七八九十"]);
        let bodies: Vec<_> = cut(&turns, 0, 1).into_iter().map(|c| c.body).collect();
        assert_eq!(bodies, [0..1, 1..2, 2..3]);
    }

    #[test]
    fn halving_ends() {
        let turns = talk(&["u: one", "a: two", "u: three", "a: four"]);
        let mut queue = vec![Chunk { context: 0..0, body: 0..4 }];
        let mut single = 0;
        while let Some(chunk) = queue.pop() {
            match halve(&turns, &chunk) {
                Some([a, b]) => {
                    assert!(!a.body.is_empty() && !b.body.is_empty() && a.body.end == b.body.start);
                    queue.extend([a, b]);
                }
                None => single += 1,
            }
        }
        assert_eq!(single, 4);
    }
}
