//! What earlier pieces of a conversation gave, and how a later piece changes it. Pure; the model points, this decides.
//!
//! Inside one conversation the last word wins: `supersedes c03` makes c03 a rejected entry whose reason is the new
//! quote. Entries of overlapping turns are the same by equal words, never by likeness.

use std::collections::BTreeMap;

use super::prompt::alias;
use crate::model::{Candidate, Kind, Quote, RelationType, State};
use crate::text::words::{fold, jaccard, token_set};

/// Most quotes an entry keeps.
const QUOTES: usize = 3;

/// Adds the candidates of one answer to those of earlier pieces. `fresh` says whether a turn is the piece's own, not
/// context. Returns how many were dropped because they rest on context alone.
pub fn merge(found: &mut Vec<Candidate>, answer: Vec<Candidate>, fresh: impl Fn(u32) -> bool) -> usize {
    let (new, stale): (Vec<_>, Vec<_>) = answer.into_iter().partition(|c| c.evidence.iter().any(|q| fresh(q.turn)));
    let earlier = found.len();
    // The answer's own names (`n2`) become names of the whole conversation; an absorbed entry's name, that of its heir.
    let mut names: BTreeMap<String, String> = (0..earlier).map(|place| (alias(place), name(place))).collect();
    for mut candidate in new {
        let heir = settle(found, earlier, &mut candidate, &fresh);
        let place = heir.unwrap_or(found.len());
        names.insert(std::mem::replace(&mut candidate.reference, name(place)), name(place));
        if heir.is_none() {
            found.push(candidate);
        }
    }
    for candidate in found.iter_mut().skip(earlier) {
        for pointer in &mut candidate.relations {
            if let Some(own) = names.get(&pointer.id) {
                pointer.id.clone_from(own);
            }
        }
        let own = candidate.reference.clone();
        candidate.relations.retain(|p| p.id != own);
    }
    stale.len()
}

/// Reference of the candidate at this place (from 0): `n1`, …
fn name(place: usize) -> String {
    format!("n{}", place + 1)
}

/// Applies what a new candidate says about earlier ones. `Some(place)` if that earlier entry has taken it in.
fn settle(found: &mut [Candidate], earlier: usize, new: &mut Candidate, fresh: &impl Fn(u32) -> bool) -> Option<usize> {
    let reason = new.evidence.iter().find(|q| fresh(q.turn)).map(|q| q.quote.clone());
    let pointers = std::mem::take(&mut new.relations);
    let mut heir = None;
    for pointer in pointers {
        let Some(place) = (0..earlier).find(|&i| alias(i) == pointer.id) else {
            new.relations.push(pointer);
            continue;
        };
        let old = &mut found[place];
        match pointer.kind {
            // The dropped option written again, pointing at itself.
            RelationType::Supersedes | RelationType::Duplicate | RelationType::Refines if new.state == State::Rejected => {
                absorb(old, new);
                heir = Some(place);
            }
            RelationType::Supersedes => {
                old.state = State::Rejected;
                old.reason = reason.clone().or(old.reason.take());
                quote(old, &new.evidence, fresh);
            }
            RelationType::Completes if old.kind == Kind::Todo => {
                old.state = State::Done;
                quote(old, &new.evidence, fresh);
                heir = heir.or((new.kind == Kind::Todo && new.state == State::Done).then_some(place));
            }
            RelationType::Duplicate => {
                quote(old, &new.evidence, fresh);
                heir = Some(place);
            }
            _ => new.relations.push(pointer),
        }
    }
    if heir.is_none() {
        heir = twin(&found[..earlier], new, fresh);
        if let Some(place) = heir {
            absorb(&mut found[place], new);
        }
    }
    heir
}

/// The earlier entry of the same kind that rests on the same words of the overlap; among several, the one whose summary
/// is nearest.
fn twin(earlier: &[Candidate], new: &Candidate, fresh: &impl Fn(u32) -> bool) -> Option<usize> {
    let old_words = || new.evidence.iter().filter(|q| !fresh(q.turn));
    let shares = |c: &Candidate| c.kind == new.kind && old_words().any(|n| c.evidence.iter().any(|q| overlap(q, n)));
    let words = token_set(&new.summary);
    let near = |c: &Candidate| jaccard(&token_set(&c.summary), &words);
    let twins = earlier.iter().enumerate().filter(|(_, c)| shares(c));
    twins.max_by(|(_, a), (_, b)| near(a).total_cmp(&near(b))).map(|(place, _)| place)
}

/// Whether one quote holds the other.
fn overlap(a: &Quote, b: &Quote) -> bool {
    let (x, y) = (fold(&a.quote), fold(&b.quote));
    a.turn == b.turn && (x.contains(&y) || y.contains(&x))
}

/// The later word about the same entry: its state and reason count, the earlier summary stays.
fn absorb(old: &mut Candidate, new: &Candidate) {
    if new.state != old.state {
        old.state = new.state;
        old.reason = new.reason.clone().or(old.reason.take());
    }
    quote(old, &new.evidence, &|_| true);
}

/// Adds quotes that are new to the entry; the first one always stays, the newest push out those between.
fn quote(old: &mut Candidate, quotes: &[Quote], fresh: &impl Fn(u32) -> bool) {
    for quote in quotes.iter().filter(|q| fresh(q.turn)) {
        if !old.evidence.iter().any(|known| overlap(known, quote)) {
            if old.evidence.len() == QUOTES {
                old.evidence.remove(1);
            }
            old.evidence.push(quote.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Layer, Pointer};

    fn entry(kind: Kind, summary: &str, turn: u32, quote: &str) -> Candidate {
        let mut candidate = Candidate::new("n1", kind, Layer::Working, summary);
        candidate.evidence.push(Quote { turn, quote: quote.into() });
        candidate
    }

    fn pointing(mut candidate: Candidate, id: &str, kind: RelationType) -> Candidate {
        candidate.relations.push(Pointer { id: id.into(), kind });
        candidate
    }

    #[test]
    fn superseding_rejects_the_earlier_one_with_the_new_words() {
        let mut found = vec![entry(Kind::Decision, "缓存用 Redis", 3, "缓存用 Redis 吧")];
        let new = pointing(entry(Kind::Decision, "缓存用本地内存", 21, "Redis 太重了，用本地内存"), "c01", RelationType::Supersedes);
        assert_eq!(merge(&mut found, vec![new], |t| t > 12), 0);
        assert_eq!((found[0].state, found[0].reason.as_deref()), (State::Rejected, Some("Redis 太重了，用本地内存")));
        assert_eq!(found[0].evidence.len(), 2);
        assert_eq!((found[1].state, found[1].reference.as_str(), found[1].relations.len()), (State::Valid, "n2", 0));
    }

    #[test]
    fn the_same_words_in_the_overlap_are_one_entry() {
        let mut found = vec![entry(Kind::Decision, "Keep logs for 30 days", 5, "keep the logs 30 days")];
        let mut new = entry(Kind::Decision, "Logs are kept 30 days", 5, "logs 30 days");
        new.evidence.push(Quote { turn: 14, quote: "yes, 30 days".into() });
        merge(&mut found, vec![new], |t| t > 12);
        assert_eq!((found.len(), found[0].evidence.len()), (1, 2));
    }

    #[test]
    fn what_rests_on_context_alone_is_dropped_and_counted() {
        let mut found = vec![];
        assert_eq!(merge(&mut found, vec![entry(Kind::Fact, "Old news", 2, "old news")], |t| t > 12), 1);
        assert!(found.is_empty());
    }

    #[test]
    fn a_finished_todo_closes_the_earlier_one() {
        let mut found = vec![entry(Kind::Todo, "Renew the certificate", 2, "renew the certificate")];
        let mut new = entry(Kind::Todo, "Certificate renewed", 15, "certificate is renewed");
        new.state = State::Done;
        merge(&mut found, vec![pointing(new, "c01", RelationType::Completes)], |t| t > 12);
        assert_eq!((found.len(), found[0].state), (1, State::Done));
    }

    #[test]
    fn names_of_an_answer_stay_apart_from_earlier_ones() {
        let mut found = vec![entry(Kind::Fact, "A", 1, "fact a is so")];
        let first = entry(Kind::Fact, "B", 14, "fact b is so");
        let mut second = pointing(entry(Kind::Fact, "C", 15, "fact c is so"), "n1", RelationType::Refines);
        second.reference = "n2".into();
        second.relations.push(Pointer { id: "c01".into(), kind: RelationType::Conflicts });
        second.relations.push(Pointer { id: "m04".into(), kind: RelationType::Duplicate });
        second.relations.push(Pointer { id: "c09".into(), kind: RelationType::Supersedes });
        merge(&mut found, vec![first, second], |t| t > 12);
        let ids: Vec<_> = found[2].relations.iter().map(|p| p.id.as_str()).collect();
        // n1 of the answer is n2 of the conversation; c01 is its n1; m04 and the unknown c09 are left to others.
        assert_eq!(ids, ["n2", "n1", "m04", "c09"]);
    }
}
