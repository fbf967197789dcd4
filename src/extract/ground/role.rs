//! `E_ROLE`: only the user's own words, or the user's yes to a proposal, make a decision, preference or convention.

use super::{Draft, Finding, Scene, cues};
use crate::model::candidate::Voice;
use crate::model::{Code, Evidence, Kind, Speaker, State};
use crate::text::phrases::{has_any, sentences};
use crate::text::words::{containment, fold, token_set};

/// How many user turns after a proposal still answer it.
const ANSWERS_WITHIN: usize = 2;

/// How much of a summary the user's own words must hold to need no proposal.
const OWN_WORDS: f64 = 0.4;

/// Checks who speaks, and puts the claimed voice right where the quotes say otherwise.
pub(super) fn speaks_for_the_user(draft: &mut Draft, scene: &Scene) -> Finding {
    let said_by = |speaker| draft.evidence.iter().any(|e| e.speaker == speaker);
    let (user, assistant) = (said_by(Speaker::User), said_by(Speaker::Assistant));
    if needs_user(draft.candidate.kind) {
        if !user {
            return Finding::Refuse(Code::ERole);
        }
        if assistant && draft.candidate.state == State::Valid && !in_own_words(draft) && !accepted(draft, scene) {
            return Finding::Refuse(Code::ERole);
        }
    } else if !user && !assistant && draft.candidate.kind != Kind::Fact {
        // Tool output and notices prove at most a fact.
        return Finding::Refuse(Code::ERole);
    }
    let voice = match (draft.candidate.voice, user, assistant) {
        (Voice::ThirdParty, true, _) => Voice::ThirdParty,
        (Voice::AssistantAccepted, true, _) if assistant => Voice::AssistantAccepted,
        (_, true, true) if !in_own_words(draft) => Voice::AssistantAccepted,
        (_, true, _) => Voice::User,
        (_, false, true) => Voice::AssistantAccepted,
        (_, false, false) => Voice::Tool,
    };
    if voice != draft.candidate.voice {
        draft.note(Code::ERole, format!("speaker corrected to {voice:?}"));
        draft.candidate.voice = voice;
    }
    Finding::Fine
}

/// Whether the user's quotes alone say most of the summary, without putting it off.
fn in_own_words(draft: &Draft) -> bool {
    let own: String = draft.evidence.iter().filter(|e| e.speaker == Speaker::User).map(|e| format!("{}\n", e.quote)).collect();
    containment(&token_set(&draft.candidate.summary), &token_set(&own)) >= OWN_WORDS
}

/// Whether a user quote stands close to an assistant quote, as the answer to it or as the order that it carries out, and
/// does not put it off.
fn accepted(draft: &Draft, scene: &Scene) -> bool {
    let quotes = |speaker| draft.evidence.iter().filter(move |e| e.speaker == speaker);
    quotes(Speaker::User).any(|yes| !puts_off(yes) && quotes(Speaker::Assistant).any(|other| close(yes, other, scene)))
}

fn close(yes: &Evidence, other: &Evidence, scene: &Scene) -> bool {
    let span = yes.turn.min(other.turn)..=yes.turn.max(other.turn);
    let user_turns = scene.sheet.pages.iter().filter(|p| p.turn.speaker == Speaker::User && span.contains(&p.turn.number)).count();
    user_turns <= ANSWERS_WITHIN
}

/// "Interesting, not now", "maybe later", 再说: an answer that accepts nothing.
fn puts_off(yes: &Evidence) -> bool {
    let folded = fold(&yes.quote);
    let asks = sentences(&yes.quote).iter().all(|s| s.ends_with(['?', '？']));
    asks || has_any(&folded, cues::PUT_OFF)
}

/// The kinds that say what a person wants: nobody else can.
pub(super) fn needs_user(kind: Kind) -> bool {
    matches!(kind, Kind::Decision | Kind::Preference | Kind::Convention)
}
