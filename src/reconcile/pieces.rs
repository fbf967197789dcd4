//! The text of a claim cut up: clauses at marks, and in them words, runs of CJK letters and marks. What a piece means is
//! told in `units`.

use super::dates::in_figures;
use crate::text::words::{is_cjk, unify};

/// A piece of the text: a word with what can stand inside one, a run of CJK letters, a mark.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Word(String),
    Letters(Vec<char>),
    Mark(char),
}

/// A text with plain marks, and with days and times in one spelling.
pub(super) fn plain(text: &str) -> String {
    in_figures(&unify(text)).into_owned()
}

/// Clauses: cut at marks, not inside numbers.
pub(super) fn clauses(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let next = letters.peek().map(|(_, n)| *n);
        let ends = matches!(c, ';' | '(' | ')' | '!' | '?' | '。' | '、' | '\n')
            || matches!(c, ',' | '.') && next.is_none_or(|n| n.is_whitespace() || is_cjk(n))
            || c == '-' && next.is_some_and(char::is_whitespace);
        if ends {
            out.push(text[from..at + c.len_utf8()].trim());
            from = at + c.len_utf8();
        }
    }
    out.push(text[from..].trim());
    out.retain(|clause| clause.chars().any(char::is_alphanumeric));
    out
}

/// The pieces of a clause.
pub(super) fn pieces(clause: &str) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let letters: Vec<char> = clause.chars().collect();
    let mut at = 0;
    while let Some(c) = letters.get(at).copied() {
        if is_cjk(c) {
            let run: Vec<char> = letters.iter().skip(at).copied().take_while(|c| is_cjk(*c)).collect();
            at += run.len();
            out.push(Piece::Letters(run));
        } else if c.is_alphanumeric() || c == '\'' {
            let inner = |i: usize| {
                let inside = matches!(letters[i], '_' | '-' | '.' | '/' | ':' | '\'' | ',' | '@');
                let digits = |i: usize| letters.get(i).is_some_and(char::is_ascii_digit);
                let inside = inside && (letters[i] != ',' || digits(i - 1) && digits(i + 1));
                inside && letters.get(i + 1).is_some_and(|n| n.is_alphanumeric() && !is_cjk(*n))
            };
            let from = at;
            while at < letters.len()
                && (letters[at].is_alphanumeric() && !is_cjk(letters[at]) || inner(at) || matches!(letters[at], '+' | '#' | '%'))
            {
                at += 1;
            }
            at = at.max(from + 1);
            out.push(Piece::Word(letters[from..at].iter().collect()));
        } else {
            if !c.is_whitespace() {
                out.push(Piece::Mark(c));
            }
            at += 1;
        }
    }
    out
}
