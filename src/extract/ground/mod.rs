//! Grounding: a candidate is kept only if the conversation really says it. No model, no I/O: quotes, numbers, speakers.
//!
//! Each check has a code and is one row of [`CHECKS`], in the order of the design (section 4.4). What a check knows of
//! cue words stands in `cues`. Not here: what a kept candidate does to the store (`reconcile`).

mod cues;
mod exacts;
mod fields;
mod meaning;
mod overturned;
mod quotes;
mod role;
mod sheet;

use std::collections::BTreeSet;

use super::Known;
use crate::model::{Candidate, Code, Conversation, Evidence, Quote, Strength};
use crate::store::catalogue::Tombstone;
pub use fields::{keywords, speaks_for_the_user, speaks_to_an_ai};
use sheet::Sheet;

/// What candidates are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The conversation as the extractor saw it: cleaned and redacted.
    pub conversation: &'a Conversation,
    /// The memories that were shown.
    pub known: &'a [Known],
    /// What a person rejected before.
    pub tombstones: &'a [Tombstone],
    /// `YYYY-MM-DD` of the conversation.
    pub day: &'a str,
}

/// What becomes of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Good enough to store.
    Keep,
    /// A person should look first; every reason is named once.
    Review(Vec<Code>),
    /// Not stored; the first reason counts.
    Drop(Code),
}

/// A candidate after the checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// With its fields mended: nulls, keywords, turn numbers, secrets taken out.
    pub candidate: Candidate,
    /// The quotes that hold, with who said them.
    pub evidence: Vec<Evidence>,
    /// Keep, ask or drop.
    pub outcome: Outcome,
    /// What was mended on the way, one line each; never the text of a secret.
    pub notes: Vec<(Code, String)>,
}

/// What one check found.
enum Finding {
    Fine,
    Doubt(Code),
    Refuse(Code),
}

/// A candidate on its way through the checks.
struct Draft {
    candidate: Candidate,
    evidence: Vec<Evidence>,
    notes: Vec<(Code, String)>,
}

/// What all checks look at.
struct Scene<'a> {
    context: &'a Context<'a>,
    sheet: Sheet<'a>,
    references: BTreeSet<String>,
}

type Check = fn(&mut Draft, &Scene) -> Finding;

/// The checks in their order; a `Refuse` ends the row. A secret comes first: it cannot stand in a redacted talk, so every
/// later check would refuse it under another name, and a note might quote it.
const CHECKS: &[Check] = &[
    fields::no_secret,
    quotes::occur,
    quotes::long_enough,
    role::speaks_for_the_user,
    exacts::were_said,
    meaning::covered,
    meaning::same_way_round,
    overturned::still_holds,
    quotes::no_echo,
    fields::no_injection,
    fields::no_literal_null,
    fields::not_too_long,
    fields::real_date,
    fields::not_buried,
    fields::known_pointers,
    fields::enough_keywords,
];

/// Checks every candidate. The order and number of the verdicts is that of the candidates.
pub fn ground(candidates: Vec<Candidate>, context: &Context) -> Vec<Verdict> {
    let references = candidates.iter().map(|c| c.reference.clone()).collect();
    let scene = Scene { context, sheet: Sheet::of(context.conversation), references };
    candidates.into_iter().map(|candidate| judge(candidate, &scene)).collect()
}

fn judge(mut candidate: Candidate, scene: &Scene) -> Verdict {
    candidate.summary = candidate.summary.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut doubts = Vec::new();
    if candidate.strength == Strength::Weak {
        doubts.push(Code::Weak);
    }
    let mut draft = Draft { candidate, evidence: Vec::new(), notes: Vec::new() };
    for check in CHECKS {
        match check(&mut draft, scene) {
            Finding::Fine => {}
            Finding::Doubt(code) if doubts.contains(&code) => {}
            Finding::Doubt(code) => doubts.push(code),
            Finding::Refuse(code) => return draft.verdict(Outcome::Drop(code)),
        }
    }
    draft.verdict(if doubts.is_empty() { Outcome::Keep } else { Outcome::Review(doubts) })
}

impl Draft {
    /// The candidate's quotes become those that hold, so that both say the same.
    fn verdict(mut self, outcome: Outcome) -> Verdict {
        self.candidate.evidence = self.evidence.iter().map(|e| Quote { turn: e.turn, quote: e.quote.clone() }).collect();
        Verdict { candidate: self.candidate, evidence: self.evidence, outcome, notes: self.notes }
    }

    fn note(&mut self, code: Code, text: impl Into<String>) {
        self.notes.push((code, text.into()));
    }

    /// Summary and reason: what the candidate claims.
    fn claim(&self) -> String {
        match &self.candidate.reason {
            Some(reason) => format!("{}\n{reason}", self.candidate.summary),
            None => self.candidate.summary.clone(),
        }
    }

    /// All quotes that hold, one per line.
    fn quoted(&self) -> String {
        self.evidence.iter().map(|e| e.quote.as_str()).collect::<Vec<_>>().join("\n")
    }
}
