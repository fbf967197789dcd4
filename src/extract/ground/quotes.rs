//! `E_QUOTE`, `E_SHORT`, `E_ECHO`: the quotes occur, say something, and are not our own memory read back.

use super::sheet::{Sheet, quotable};
use super::{Draft, Finding, Scene};
use crate::model::memory::RelationType;
use crate::model::{Code, Evidence, Pointer, Quote, Speaker, State};
use crate::text::alike::alike;
use crate::text::words::is_cjk;

/// The most quotes that a memory carries.
const MAX_QUOTES: usize = 3;

/// Each quote must occur in its turn. A wrong number is put right if exactly one other turn has the words.
pub(super) fn occur(draft: &mut Draft, scene: &Scene) -> Finding {
    let mut lost = Vec::new();
    for quote in std::mem::take(&mut draft.candidate.evidence) {
        match place(&quote, &scene.sheet) {
            Some((turn, speaker)) => {
                if turn != quote.turn {
                    draft.note(Code::EQuote, format!("turn {} corrected to {turn}", quote.turn));
                }
                let quote = quote.quote.trim().to_owned();
                draft.evidence.push(Evidence { session: None, turn, speaker, quote });
            }
            None => lost.push(quote),
        }
    }
    if draft.evidence.is_empty() {
        let echoed = !lost.is_empty() && lost.iter().all(|q| is_echo(q, scene));
        draft.candidate.evidence = lost;
        return Finding::Refuse(if echoed { Code::EEcho } else { Code::EQuote });
    }
    for quote in &lost {
        draft.note(Code::EQuote, format!("a quote of turn {} was not found and left out", quote.turn));
    }
    if draft.evidence.len() > MAX_QUOTES {
        // The user's words prove most; the order of the talk stays.
        let mut order: Vec<usize> = (0..draft.evidence.len()).collect();
        order.sort_by_key(|&at| (draft.evidence.get(at).map(|e| e.speaker), at));
        order.truncate(MAX_QUOTES);
        let mut at = 0;
        draft.evidence.retain(|_| {
            at += 1;
            order.contains(&(at - 1))
        });
    }
    Finding::Fine
}

/// Where a quote stands: its own turn, else the only turn that has it.
fn place(quote: &Quote, sheet: &Sheet) -> Option<(u32, Speaker)> {
    let wanted = quotable(&quote.quote);
    if wanted.is_empty() {
        return None;
    }
    let mut found = sheet.pages.iter().filter(|page| page.folded.contains(&wanted));
    if let Some(page) = sheet.pages.iter().find(|p| p.turn.number == quote.turn)
        && page.folded.contains(&wanted)
    {
        return Some((page.turn.number, page.turn.speaker));
    }
    let page = found.next()?;
    found.next().is_none().then_some((page.turn.number, page.turn.speaker))
}

/// Whether words that the cleaned talk lacks are those of a shown memory, hence of a block that cleaning took out.
fn is_echo(quote: &Quote, scene: &Scene) -> bool {
    let wanted = quotable(&quote.quote);
    let shown = |text: &str| {
        let text = quotable(text);
        !text.is_empty() && (text.contains(&wanted) || wanted.contains(&text))
    };
    !wanted.is_empty() && scene.context.known.iter().any(|k| shown(&k.memory.summary))
}

/// One quote must be long enough to prove something; a bare "yes" counts with the proposal right before it.
pub(super) fn long_enough(draft: &mut Draft, scene: &Scene) -> Finding {
    if draft.evidence.iter().any(|e| proves(&e.quote)) && !only_the_proposal(draft) {
        return Finding::Fine;
    }
    let nods = draft.evidence.iter().any(|yes| {
        let before = scene.sheet.position(yes.turn).and_then(|at| at.checked_sub(1)).and_then(|at| scene.sheet.pages.get(at));
        yes.speaker == Speaker::User
            && before.is_some_and(|page| {
                page.turn.speaker == Speaker::Assistant && draft.evidence.iter().any(|e| e.turn == page.turn.number && proves(&e.quote))
            })
    });
    if nods { Finding::Fine } else { Finding::Refuse(Code::EShort) }
}

/// Whether all that is long enough was said by the assistant, and the user's part is a mere nod.
fn only_the_proposal(draft: &Draft) -> bool {
    let mut user = draft.evidence.iter().filter(|e| e.speaker == Speaker::User).peekable();
    user.peek().is_some() && user.all(|e| !proves(&e.quote)) && super::role::needs_user(draft.candidate.kind)
}

/// Six letters, or four CJK characters, or a mix of that weight.
fn proves(quote: &str) -> bool {
    let weight: usize = quote.chars().filter(|c| c.is_alphanumeric()).map(|c| if is_cjk(c) { 3 } else { 2 }).sum();
    weight >= 12
}

/// A candidate that says what a shown memory says, without pointing to it, is that memory again.
pub(super) fn no_echo(draft: &mut Draft, scene: &Scene) -> Finding {
    let candidate = &draft.candidate;
    let reads_back = draft.evidence.iter().all(|e| e.speaker != Speaker::User);
    let twin = scene.context.known.iter().find(|known| {
        !candidate.relations.iter().any(|r| r.id == known.alias || r.id == known.memory.id.as_str())
            && (known.memory.state == candidate.state || known.memory.state == State::Valid)
            && alike(&candidate.summary, &known.memory.summary)
    });
    let Some(twin) = twin.map(|known| known.alias.clone()) else { return Finding::Fine };
    if reads_back {
        return Finding::Refuse(Code::EEcho);
    }
    draft.note(Code::EEcho, format!("the same as {twin}, taken as a duplicate of it"));
    draft.candidate.relations.push(Pointer { id: twin, kind: RelationType::Duplicate });
    Finding::Fine
}
