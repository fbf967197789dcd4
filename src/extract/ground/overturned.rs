//! `E_OVERTURNED`: nothing is kept as valid that the user took back later in the talk. Raises a doubt.

use std::collections::BTreeSet;

use super::{Draft, Finding, Scene, cues};
use crate::model::{Code, Speaker, State};
use crate::text::amounts;
use crate::text::phrases::{has_any, sentences, without};
use crate::text::words::{exact, fold, token_set};

/// How many user turns after the last quote a bare "wait, no" may still mean it.
const NEXT: usize = 1;

/// Looks at the user turns after the last quote for a strong correction that names the candidate's object, or, in the
/// very next one, that puts another value in its place.
pub(super) fn still_holds(draft: &mut Draft, scene: &Scene) -> Finding {
    let Some(last) = draft.evidence.iter().map(|e| e.turn).max() else { return Finding::Fine };
    if draft.candidate.state != State::Valid {
        return Finding::Fine;
    }
    let object = object_of(&draft.candidate.summary);
    let later = scene.sheet.pages.iter().filter(|p| p.turn.speaker == Speaker::User && p.turn.number > last);
    let taken_back = later.enumerate().any(|(nth, page)| {
        let folded = without(&page.folded, cues::FALSE_FRIENDS);
        has_any(&folded, cues::TAKEN_BACK) && turned_down(&page.turn.text, &object, &draft.candidate.summary, nth < NEXT)
    });
    if taken_back { Finding::Doubt(Code::EOverturned) } else { Finding::Fine }
}

/// The words that name what a summary is about, names and values first.
struct Object {
    words: BTreeSet<String>,
    exact: BTreeSet<String>,
}

fn object_of(text: &str) -> Object {
    let folded = fold(text);
    let words = token_set(text).into_iter().filter(|w| !cues::WEAK_WORDS.contains(&w.as_str())).collect();
    Object { words, exact: exact(&folded).into_iter().chain(amounts::digits(text)).collect() }
}

/// Whether the correcting turn takes the object back: a sentence that names it and does not confirm it, or a new value
/// of the same unit, or (`next`) a correction without any object of its own.
fn turned_down(turn: &str, object: &Object, summary: &str, next: bool) -> bool {
    let mut named = false;
    for sentence in sentences(turn) {
        let other = object_of(sentence);
        let shared = object.words.intersection(&other.words).count();
        let same_value = object.exact.intersection(&other.exact).next().is_some();
        if shared < 2 && !same_value && !(shared == 1 && object.words.len() <= 3) {
            continue;
        }
        if has_any(&fold(sentence), cues::REAFFIRMED) {
            return false;
        }
        named = true;
    }
    named && names_with_cue(turn, object) || (next && another_value(turn, summary)) || (next && bare(turn))
}

/// The object stands in the sentence of the correction or in one beside it.
fn names_with_cue(turn: &str, object: &Object) -> bool {
    let all = sentences(turn);
    let cued: Vec<bool> = all.iter().map(|s| has_any(&without(&fold(s), cues::FALSE_FRIENDS), cues::TAKEN_BACK)).collect();
    all.iter().enumerate().any(|(at, sentence)| {
        let near = [at.checked_sub(1), Some(at), at.checked_add(1)].into_iter().flatten().any(|n| cued.get(n) == Some(&true));
        let other = object_of(sentence);
        near && (object.words.intersection(&other.words).next().is_some() || object.exact.intersection(&other.exact).next().is_some())
    })
}

/// Another number with the same unit: 3s then 5s.
fn another_value(turn: &str, summary: &str) -> bool {
    let theirs = amounts::with_units(turn);
    let ours = amounts::with_units(summary);
    ours.iter()
        .any(|(number, unit)| theirs.iter().any(|(n, u)| u == unit && n != number) && !theirs.iter().any(|(n, u)| u == unit && n == number))
}

/// "Wait, no. Scratch that": the turn begins with the correction.
fn bare(turn: &str) -> bool {
    sentences(turn).iter().take(2).any(|s| {
        let folded = without(&fold(s), cues::FALSE_FRIENDS);
        has_any(&folded, cues::SCRATCHED)
    })
}
