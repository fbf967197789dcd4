//! `E_COVER` and `E_NEG`: the summary says no more than the talk, and not its opposite. Both only raise a doubt.

use std::collections::BTreeSet;

use super::{Draft, Finding, Scene};
use crate::model::{Code, State};
use crate::text::phrases::{Clause, clauses};
use crate::text::polarity::{agree, polarity};
use crate::text::words::{Language, is_cjk, language, token_set};

/// Part of the summary's words that must stand in the window.
const COVERED: f64 = 0.4;

/// At least 40 % of the content words stand in the quoted turns and their neighbours, if both are in one script.
pub(super) fn covered(draft: &mut Draft, scene: &Scene) -> Finding {
    let window = format!("{}\n{}", scene.sheet.window(&draft.evidence, 1), scene.pointed(draft));
    let script = |text: &str| language(text) == Language::English;
    // A Chinese summary of English talk shares no words with it, and is no worse for that.
    if script(&draft.candidate.summary) != script(&draft.quoted()) {
        return Finding::Fine;
    }
    let said = stems(&window);
    let claimed = stems(&draft.candidate.summary);
    let found = claimed.iter().filter(|token| said.contains(*token) || near(token, &said)).count();
    if claimed.is_empty() || found as f64 >= COVERED * claimed.len() as f64 { Finding::Fine } else { Finding::Doubt(Code::ECover) }
}

fn stems(text: &str) -> BTreeSet<String> {
    token_set(text)
}

/// Whether a word with the same first five letters was said: `filtering` for `filter`, `configured` for `configuration`.
fn near(token: &str, said: &BTreeSet<String>) -> bool {
    let Some(head) = token.get(..5).filter(|_| !token.chars().any(is_cjk)) else { return false };
    said.range(head.to_owned()..).next().is_some_and(|other| other.starts_with(head))
}

/// Least number of shared words for two clauses to speak of the same thing (fewer in a very short clause).
const SHARED: usize = 2;

/// A clause of the summary and the clause of the quotes nearest to it must both affirm or both deny.
pub(super) fn same_way_round(draft: &mut Draft, _: &Scene) -> Finding {
    if draft.candidate.state != State::Valid {
        // "X was considered, rejected" turns its quote round by its nature.
        return Finding::Fine;
    }
    let quoted: Vec<(Clause, BTreeSet<String>)> = clauses(&draft.quoted()).into_iter().map(with_tokens).collect();
    let turned = clauses(&draft.candidate.summary).into_iter().map(with_tokens).any(|(clause, tokens)| {
        let shared = |other: &BTreeSet<String>| tokens.intersection(other).count();
        let best = quoted.iter().map(|(_, other)| shared(other)).max().unwrap_or(0);
        let enough = best >= SHARED || (best == 1 && (tokens.len() <= 2 || quoted.iter().any(|(_, o)| shared(o) == 1 && o.len() <= 2)));
        enough && !quoted.iter().filter(|(_, other)| shared(other) == best).any(|(other, _)| agree(polarity(&clause), polarity(other)))
    });
    if turned { Finding::Doubt(Code::ENeg) } else { Finding::Fine }
}

fn with_tokens(clause: Clause) -> (Clause, BTreeSet<String>) {
    let tokens = token_set(&clause.text);
    (clause, tokens)
}
