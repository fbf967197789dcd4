//! How a draft stands to the memories that were shown: repeats one, closes one, changes one. Code points, and only on one
//! clear match; the rest is left to `reconcile`.

use std::collections::BTreeSet;

use super::clause::{Clause, STRONG, subject_tokens};
use super::cues::Mark;
use super::draft::Draft;
use super::{Scene, shape};
use crate::extract::Known;
use crate::model::{Kind, Layer, Pointer, RelationType, State};
use crate::text::words;

/// Part of the shorter claim's words that the other must hold to be the same claim.
const SAME: f64 = 0.6;

/// The same beside an equal number or identifier.
const LIKE: f64 = 0.4;

/// A finished todo: the sentence says so and exactly one known open todo is meant.
pub fn completion(scene: &Scene<'_>, clause: &Clause<'_>, drafts: &mut [Draft]) -> Option<Draft> {
    if clause.is_open() || !clause.has(Mark::Done) || words::negated(&clause.body) {
        return None;
    }
    let said = subject_tokens(&clause.body);
    let near = |text: &str| said.intersection(&subject_tokens(text)).count();
    if let Some(own) =
        drafts.iter_mut().find(|d| d.candidate.kind == Kind::Todo && d.candidate.state == State::Valid && near(&d.candidate.summary) >= 2)
    {
        own.candidate.state = State::Done;
        own.candidate.evidence.push(scene.quote(clause.text));
        return None;
    }
    let open = scene.job.known.iter().filter(|k| k.memory.kind == Kind::Todo && k.memory.state == State::Valid);
    let mut scored: Vec<(usize, &Known)> = open.map(|k| (near(&k.memory.summary), k)).filter(|(n, _)| *n > 0).collect();
    scored.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    let clear = match scored.as_slice() {
        [(_, one)] => Some(*one),
        [(a, one), (b, _), ..] if a > b => Some(*one),
        _ => None,
    }?;
    let mut draft = Draft::new(shape::tidy(&clause.body), Kind::Todo, Layer::Working, "completion", STRONG, vec![scene.quote(clause.text)]);
    draft.candidate.state = State::Done;
    draft.candidate.relations.push(Pointer { id: clear.alias.clone(), kind: RelationType::Completes });
    Some(draft)
}

/// Points a draft to the known memory it repeats or changes.
pub fn relate(known: &[Known], draft: &mut Draft, changes: bool) {
    if !draft.candidate.relations.is_empty() || draft.candidate.state != State::Valid {
        return;
    }
    let text = format!("{} {}", draft.candidate.summary, draft.candidate.reason.as_deref().unwrap_or_default());
    let said = Claim::of(&draft.candidate.summary, &text);
    let whole = |k: &Known| format!("{} {}", k.memory.summary, k.memory.reason.as_deref().unwrap_or_default());
    let holding = known.iter().filter(|k| k.memory.state == State::Valid);
    let best = holding
        .map(|k| (said.shared(&Claim::of(&k.memory.summary, &whole(k))), k))
        .filter(|(s, _)| s.words >= 1)
        .max_by(|(a, _), (b, _)| a.part.total_cmp(&b.part));
    let Some((shared, known)) = best else { return };
    let scopes = (draft.candidate.scope.as_deref(), known.memory.scope.as_deref());
    let same_place = !matches!(scopes, (Some(a), Some(b)) if a != b) && shared.places;
    let alike = shared.part >= SAME || (shared.pinned && shared.part >= LIKE);
    let way = |text: &str| super::correct::denies(text);
    if alike && shared.exact && way(&draft.candidate.summary) == way(&known.memory.summary) {
        draft.candidate.relations.push(Pointer { id: known.alias.clone(), kind: RelationType::Duplicate });
    } else if changes && same_place && shared.words >= 2 && shared.differs {
        draft.candidate.relations.push(Pointer { id: known.alias.clone(), kind: RelationType::Supersedes });
    }
}

/// The words of a claim, and the tokens that may not differ.
struct Claim {
    words: BTreeSet<String>,
    exact: BTreeSet<String>,
    places: BTreeSet<String>,
}

/// What two claims share.
struct Shared {
    words: usize,
    part: f64,
    exact: bool,
    /// Both name the same number or identifier.
    pinned: bool,
    differs: bool,
    places: bool,
}

impl Claim {
    fn of(summary: &str, text: &str) -> Self {
        let exact = words::exact(summary);
        let places = exact.iter().filter(|t| t.contains('/')).cloned().collect();
        Self { words: subject_tokens(text), exact, places }
    }

    fn shared(&self, other: &Self) -> Shared {
        let words = self.words.intersection(&other.words).count();
        let shorter = self.words.len().min(other.words.len()).max(1);
        // A restatement may name fewer things exactly, never different ones.
        let exact = self.exact.is_subset(&other.exact) || other.exact.is_subset(&self.exact);
        let pinned = self.exact.intersection(&other.exact).next().is_some();
        let new = self.words.difference(&other.words).count() > 0;
        let places = self.places.is_empty() || other.places.is_empty() || self.places == other.places;
        Shared { words, part: words as f64 / shorter as f64, exact, pinned, differs: !exact || new, places }
    }
}
