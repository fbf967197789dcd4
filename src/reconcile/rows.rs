//! Claims as rows of words, laid beside each other: which words two rows have in the same order, and what stands between.

use std::collections::HashMap;
use std::ops::Range;

use super::claim::Look;
use super::looks::{look_of, number_of, wide_value};
use super::pieces::{Piece, clauses, pieces, plain};
use super::roles::{self, Role};
use crate::text::stems::stem;
use crate::text::words::is_cjk;

/// Longest row that is laid beside others; the words of one fit into the bits of a number.
pub(super) const LONGEST: usize = 63;

/// Longest phrase that can be a name, in words and in letters of a script without spaces.
pub(super) const LONGEST_NAME: (usize, usize) = (5, 10);

/// Words by their numbers.
pub(super) type Phrase = Vec<u32>;

/// A row of words.
pub(super) type Row = Vec<Word>;

/// A word of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word {
    /// Words that can stand for each other in a row of the same make: numbers are one, days are one, else the stem.
    pub like: u32,
    /// The word itself.
    pub text: u32,
    /// Does its work between other words.
    pub small: bool,
    /// Has a role between other words, or says what is done: no part of a name.
    pub verb: bool,
    /// A number, a day, a path: a value by itself.
    pub valued: bool,
    /// A letter of a script without spaces.
    pub wide: bool,
    /// What the word looks like.
    pub sort: Sort,
}

/// What a word looks like: values of one place look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sort {
    Plain,
    /// With a capital, a sign or a digit inside.
    Name,
    /// A number, a day, a time.
    Amount,
}

/// Words by number.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Numbered {
    fn of(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// The number of a word that is known.
    pub fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The word of a number.
    pub fn text(&self, number: u32) -> &str {
        usize::try_from(number).ok().and_then(|at| self.texts.get(at)).map_or("", String::as_str)
    }

    /// The row of a claim.
    pub fn row(&mut self, head: &str) -> Row {
        let mut row = Vec::new();
        let text = plain(head);
        for clause in clauses(&text) {
            let pieces = pieces(clause);
            let mut number = false;
            for (at, piece) in pieces.iter().enumerate() {
                match piece {
                    Piece::Word(word) => {
                        let lower = word.to_lowercase();
                        let next = if let Some(Piece::Word(next)) = pieces.get(at + 1) { next.to_lowercase() } else { String::new() };
                        number = lower.starts_with(|c: char| c.is_ascii_digit());
                        let first = row.is_empty();
                        row.push(self.word(if first { &lower } else { word }, &lower, &next));
                    }
                    Piece::Letters(run) => {
                        self.letters(run, number, &mut row);
                        number = false;
                    }
                    Piece::Mark(_) => {}
                }
            }
        }
        row.truncate(LONGEST);
        row
    }

    fn word(&mut self, word: &str, lower: &str, next: &str) -> Word {
        let look = number_of(lower).map(|_| Look::Number(None)).or_else(|| look_of(lower, next));
        let like = match &look {
            Some(Look::Day) => Some("@day"),
            Some(Look::Number(_) | Look::Date | Look::Time) => Some("#"),
            // 4b and 2nd are names, 22.1 is a number.
            Some(Look::Name) if lower.bytes().all(|b| !b.is_ascii_alphabetic()) => Some("#"),
            _ => None,
        };
        let role = if look.is_some() { None } else { roles::of_word(lower) };
        let text = self.of(&stem(lower.trim_end_matches("'s")));
        Word {
            like: like.map_or(text, |like| self.of(like)),
            text,
            small: role.is_some_and(|r| !says(r, lower)),
            verb: role.is_some_and(|r| r != Role::Glue),
            valued: look.is_some(),
            wide: false,
            sort: match look {
                Some(Look::Name | Look::Path) => Sort::Name,
                Some(_) => Sort::Amount,
                None if word.contains(char::is_uppercase) || word.contains(['_', '.', '@', '#']) => Sort::Name,
                None => Sort::Plain,
            },
        }
    }

    fn letters(&mut self, run: &[char], after_number: bool, row: &mut Row) {
        let mut at = 0;
        while let Some(rest) = run.get(at..).filter(|r| !r.is_empty()) {
            let before = at.checked_sub(1).and_then(|b| run.get(b)).copied();
            if let Some((look, n, text)) = wide_value(rest, before, after_number && at == 0) {
                let like = self.of(if look == Look::Day { "@day" } else { "#" });
                row.push(Word { like, text: self.of(&text), small: false, verb: false, valued: true, wide: false, sort: Sort::Amount });
                at += n;
                continue;
            }
            let (role, n) = roles::of_letters(rest).unwrap_or((None, 1));
            for c in rest.iter().take(n) {
                let text = self.of(c.encode_utf8(&mut [0; 4]));
                let (small, verb) = (role.is_some_and(|r| !says(r, "")), role.is_some_and(|r| r != Role::Glue));
                row.push(Word { like: text, text, small, verb, valued: false, wide: is_cjk(*c), sort: Sort::Plain });
            }
            at += n;
        }
    }
}

/// The words of a place without the small ones at its ends.
pub(super) fn phrase(words: &[Word]) -> Phrase {
    let inside = |w: &Word| words.len() > 1 && (w.wide || words.first().is_some_and(|first| first.text != w.text));
    let says = |w: &Word| !(w.small || w.verb && w.wide) || !w.verb && inside(w);
    let from = words.iter().position(says).unwrap_or(words.len());
    let to = words.iter().rposition(says).map_or(from, |at| at + 1);
    words.get(from..to).unwrap_or_default().iter().map(|w| w.text).collect()
}

/// All phrases of a row.
pub(super) fn phrases(texts: &[u32]) -> impl Iterator<Item = &[u32]> {
    (1..=texts.len().min(LONGEST_NAME.1)).flat_map(|n| texts.windows(n))
}

/// Whether a row has all words of a phrase, letters together.
pub(super) fn contains(row: &[Word], phrase: &Phrase) -> bool {
    let wide = row.iter().any(|w| w.wide && phrase.contains(&w.text));
    if wide {
        return row.windows(phrase.len().max(1)).any(|w| w.iter().map(|w| w.text).eq(phrase.iter().copied()));
    }
    phrase.iter().all(|id| row.iter().any(|w| w.text == *id))
}

/// Whether a role is that of words which still say something by themselves.
fn says(role: Role, word: &str) -> bool {
    matches!(role, Role::Uses | Role::Owns) || role == Role::Changes && !matches!(word, "" | "now" | "since")
}

/// Pairs of places at which two rows have the same words in the same order; words that stand together count for more.
pub(super) fn beside(a: &[Word], b: &[Word]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let (mut ends, mut best) = (vec![0u16; (a.len() + 1) * width], vec![0u16; (a.len() + 1) * width]);
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let (here, back) = ((i + 1) * width + j + 1, i * width + j);
            if x.like == y.like {
                let worth = if x.small { 2 } else { 4 };
                ends[here] = (best[back] + worth).max(if ends[back] > 0 { ends[back] + worth + 1 } else { 0 });
            }
            best[here] = ends[here].max(best[here - 1]).max(best[here - width]);
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut pairs = Vec::new();
    let mut joined = false;
    while i > 0 && j > 0 {
        let here = i * width + j;
        if joined || ends[here] > 0 && ends[here] == best[here] {
            pairs.push((i - 1, j - 1));
            let back = here - width - 1;
            let worth = if a[i - 1].small { 2 } else { 4 };
            joined = ends[back] > 0 && ends[here] == ends[back] + worth + 1;
            (i, j) = (i - 1, j - 1);
        } else if best[here - 1] == best[here] {
            j -= 1;
        } else {
            i -= 1;
        }
    }
    pairs.reverse();
    pairs
}

/// What stands between those pairs, and behind the last: places in the one row, and in the other.
pub(super) fn gaps<'a>(
    a: &[Word],
    b: &[Word],
    pairs: &'a [(usize, usize)],
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<'a> {
    let starts = std::iter::once((0, 0)).chain(pairs.iter().map(|(i, j)| (i + 1, j + 1)));
    let ends = pairs.iter().copied().chain(std::iter::once((a.len(), b.len())));
    starts.zip(ends).map(|((i, j), (p, q))| (i..p, j..q))
}
