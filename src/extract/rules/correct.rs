//! Taking back: which draft a correction means, why, and what comes back (facts: users-and-extraction §2.4).

use std::collections::BTreeSet;

use super::clause::{Clause, STRONG, subject_tokens};
use super::cues::Mark;
use super::draft::Draft;
use super::{Scene, reply, shape};
use crate::model::{Kind, Layer, State, Strength};
use crate::text::{sentences, words};

/// How many turns a correction looks back.
const REACH: u32 = 20;

/// Applies the corrections of one turn to earlier drafts. Slips of the tongue only remove; a change of mind leaves a
/// rejected note with its reason.
pub fn apply(scene: &Scene<'_>, said: &[&str], drafts: &mut [Draft]) {
    for (at, sentence) in said.iter().enumerate() {
        let clause = Clause::new(sentence, scene.language);
        if clause.asks() || !(clause.table().has(Mark::Correct, sentence) || clause.has(Mark::Correct) || clause.has(Mark::Revive)) {
            continue;
        }
        let rest: Vec<&str> = said.get(at..).unwrap_or_default().to_vec();
        let named = words::token_set(sentence);
        let about: BTreeSet<String> = rest.iter().take(3).flat_map(|s| words::token_set(s)).collect();
        let revived = clause.has(Mark::Revive);
        if revived {
            // The one that comes back is said anew in this turn; its old note is no longer true.
            for draft in drafts.iter_mut().filter(|d| d.candidate.state == State::Rejected && shares(&d.subject, &named)) {
                draft.gone = true;
            }
        }
        let Some(target) = target(scene, drafts, &named, &about, revived) else { continue };
        let Some(draft) = drafts.get_mut(target) else { continue };
        if clause.has(Mark::Partial) {
            draft.candidate.strength = Strength::Weak;
            draft.points = draft.points.min(STRONG - 1);
        } else if rest.iter().any(|s| Clause::new(s, scene.language).has(Mark::Slip) || clause.table().has(Mark::Slip, s)) {
            draft.gone = true;
        } else {
            let why = reason(scene, said, at, draft);
            reject(scene, draft, why, sentence);
        }
        return;
    }
}

/// The draft a correction means: the one it names, else the youngest.
fn target(scene: &Scene<'_>, drafts: &[Draft], named: &BTreeSet<String>, about: &BTreeSet<String>, revived: bool) -> Option<usize> {
    let now = scene.turn.number;
    let open: Vec<usize> =
        (0..drafts.len()).filter(|i| drafts.get(*i).is_some_and(|d| d.stands() && d.turn + REACH >= now && d.turn < now)).collect();
    let overlap = |i: &usize, with: &BTreeSet<String>| drafts.get(*i).map_or(0, |d| d.subject.intersection(with).count());
    if revived {
        // "back to X": what stands now and is not X goes.
        return open.iter().rev().copied().find(|i| {
            overlap(i, named) == 0 || drafts.get(*i).is_some_and(|d| d.candidate.kind == Kind::Decision && overlap(i, about) > 0)
        });
    }
    let best = open.iter().copied().max_by_key(|i| (overlap(i, named), *i)).filter(|i| overlap(i, named) > 0);
    best.or_else(|| open.iter().copied().max_by_key(|i| (overlap(i, about), *i)))
}

/// Why it was taken back: "because …" in the sentence, else the plain statement before or after it.
fn reason(scene: &Scene<'_>, said: &[&str], at: usize, draft: &Draft) -> Option<String> {
    let sentence = said.get(at).copied()?;
    let clause = Clause::new(sentence, scene.language);
    if let (_, Some(why)) = shape::split_reason(&clause) {
        return Some(why);
    }
    let plain = |s: &&&str| reply::is_reason(scene, s) && !Clause::new(s, scene.language).has(Mark::Correct);
    let near =
        said.get(at + 1..).unwrap_or_default().iter().find(plain).or_else(|| said.get(..at).unwrap_or_default().iter().rev().find(plain));
    if let Some(why) = near {
        return Some(shape::tidy(&Clause::new(why, scene.language).body));
    }
    // A clause of the same sentence that neither corrects nor repeats what is taken back.
    let parts =
        sentences::clauses(sentence).into_iter().chain(said.get(at + 1..).unwrap_or_default().iter().flat_map(|s| sentences::clauses(s)));
    parts
        .map(|p| Clause::new(p, scene.language))
        .find(|p| {
            !p.has(Mark::Correct) && !p.has(Mark::Order) && p.tokens().len() >= 3 && p.tokens().difference(&draft.subject).count() >= 2
        })
        .map(|p| shape::tidy(&p.body))
}

fn reject(scene: &Scene<'_>, draft: &mut Draft, why: Option<String>, sentence: &str) {
    draft.candidate.state = State::Rejected;
    draft.candidate.until_date = None;
    draft.candidate.until_event = None;
    let sure = why.is_some() && draft.points >= STRONG;
    draft.candidate.strength = if sure { Strength::Strong } else { Strength::Weak };
    draft.candidate.reason = why;
    draft.candidate.evidence.push(scene.quote(sentence));
    if draft.candidate.layer == Layer::LongTerm {
        draft.candidate.layer = Layer::Working;
    }
}

/// A named thing of the assistant's offer that the user turns down with a reason: a rejected note, no more.
pub fn refusal(scene: &Scene<'_>, clause: &Clause<'_>, next: Option<&str>) -> Option<Draft> {
    if clause.asks() || !clause.has(Mark::Refuse) {
        return None;
    }
    let named =
        super::clause::is_concrete(&clause.body) && subject_tokens(&clause.body).intersection(&scene.around.offered).next().is_some();
    if !named {
        return None;
    }
    let (summary, inner) = shape::split_reason(clause);
    let parts = sentences::clauses(&summary);
    let (head, tail) = match parts.split_first() {
        Some((head, tail)) if !tail.is_empty() => (shape::tidy(head), Some(shape::tidy(&tail.join(" ")))),
        _ => (summary.clone(), None),
    };
    let why = inner.or(tail).or_else(|| next.filter(|s| reply::is_reason(scene, s)).map(shape::tidy));
    let points = if why.is_some() { STRONG } else { STRONG - 1 };
    let mut draft = Draft::new(head, Kind::Decision, Layer::Working, "refusal", points, vec![scene.quote(clause.text)]);
    draft.candidate.state = State::Rejected;
    draft.candidate.reason = why;
    Some(draft)
}

fn shares(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.intersection(b).next().is_some()
}
