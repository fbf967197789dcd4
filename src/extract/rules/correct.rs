//! Taking back: which draft a correction means, why, and what comes back (facts: users-and-extraction §2.4).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Clause, STRONG, identifiers, is_concrete, proper_names, subject_tokens};
use super::cues::{Mark, known_nouns};
use super::draft::Draft;
use super::{Scene, instead, reply, say, shape};
use crate::model::{Kind, Layer, State, Strength};
use crate::text::{sentences, words};

/// How many turns a correction looks back.
const REACH: u32 = 20;

/// What a correction did to the drafts.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// Index of the draft that was taken back or changed.
    pub target: Option<usize>,
    /// The words that were used up as its reason.
    pub reason: Option<String>,
    /// What holds in the place of what was taken back.
    pub instead: Option<Draft>,
    /// The clause says nothing else: a value was put right in place, or only a part was meant.
    pub settled: bool,
}

/// Applies one correcting clause. `after` is what follows it in the turn, `before` the sentences that went before.
/// A slip of the tongue changes a value in place; a change of mind leaves a rejected note with its reason.
pub fn apply(scene: &Scene<'_>, clause: &Clause<'_>, before: &[&str], after: &[&str], drafts: &mut [Draft]) -> Effect {
    let slip = clause.raw_has(Mark::Slip) || after.first().is_some_and(|s| clause.table().has(Mark::Slip, s));
    let mended = mend(scene, clause, after, drafts, slip);
    if mended.target.is_some() || !clause.is_correction() {
        return mended;
    }
    let named = words::token_set(clause.text);
    let about: BTreeSet<String> = after.iter().take(3).flat_map(|s| words::token_set(s)).chain(named.iter().cloned()).collect();
    if clause.revives() {
        // What comes back is said anew in this turn; its old note is no longer true.
        for draft in drafts.iter_mut().filter(|d| d.candidate.state == State::Rejected && shares(&d.subject, &named)) {
            draft.gone = true;
        }
    }
    let back = clause.has(Mark::Revive).then_some(clause.text);
    let said_again = after.iter().copied().filter(|s| !denies(s)).chain(back).flat_map(names).collect();
    // Only a take-back in so many words may mean what it does not name.
    let takes_back = clause.raw_has(Mark::Correct) || clause.raw_has(Mark::Revoke);
    let denied: BTreeSet<String> =
        after.iter().take(2).flat_map(|s| sentences::clauses(s)).filter(|s| denies(s)).flat_map(instead::names).collect();
    let denied: BTreeSet<String> = denied.iter().flat_map(|name| words::token_set(name)).collect();
    let named = if takes_back { named.union(&denied).cloned().collect() } else { named };
    let Some(index) = target(scene, drafts, &named, takes_back.then_some(&about), &said_again) else { return Effect::default() };
    let Some(draft) = drafts.get_mut(index) else { return Effect::default() };
    if clause.has(Mark::Partial) || after.first().is_some_and(|s| s.len() < 40 && clause.table().has(Mark::Partial, s)) {
        draft.candidate.strength = Strength::Weak;
        draft.points = draft.points.min(STRONG - 1);
        return Effect { target: Some(index), settled: true, ..Effect::default() };
    }
    let instead = instead::choice(scene, clause, after, draft);
    let chosen = instead.as_ref().map(|i| instead::names(&i.draft.candidate.summary)).unwrap_or_default();
    // What goes and what holds instead are a reason only where there is no other.
    let known: BTreeSet<String> = chosen.union(&instead::names(&draft.candidate.summary)).cloned().collect();
    let tells = |why: &String| instead.is_none() || instead::names(why).is_empty() || !instead::names(why).is_subset(&known);
    let given = instead.as_ref().and_then(|i| i.draft.candidate.reason.clone());
    let why = given.or_else(|| reason(scene, clause, before, after, draft).filter(tells));
    let reason = why.or_else(|| instead.as_ref().map(|i| shape::tidy(i.words)));
    if let Some(dropped) = instead.as_ref().and_then(|i| i.dropped.clone()) {
        draft.candidate.summary = dropped;
    }
    reject(scene, draft, reason.clone(), clause.text);
    Effect { target: Some(index), reason, instead: instead.map(|i| i.draft), settled: false }
}

/// The right value in the place of the wrong one, if the last draft holds exactly one of its kind. Without a word for a
/// slip the right value must stand nearly alone, in the same unit.
fn mend(scene: &Scene<'_>, clause: &Clause<'_>, after: &[&str], drafts: &mut [Draft], slip: bool) -> Effect {
    let now = scene.turn.number;
    let near = |d: &Draft| d.stands() && d.turn + 6 >= now;
    let Some((index, draft)) = drafts.iter_mut().enumerate().rev().find(|(_, d)| near(d)) else { return Effect::default() };
    let old = values(&draft.candidate.summary);
    let adjust = clause.has(Mark::Adjust);
    let alone = |text: &str| words::tokens(text).len() <= 4;
    let texts = std::iter::once(clause.text).chain(after.iter().copied().take(2));
    let right = texts
        .filter(|t| slip || adjust || alone(t))
        .flat_map(values)
        .find(|v| !old.contains(v) && (slip || adjust || old.iter().any(|o| unit(o) == unit(v))));
    match (old.as_slice(), right) {
        ([wrong], Some(right)) => {
            draft.candidate.summary = draft.candidate.summary.replacen(wrong.as_str(), &right, 1);
            draft.candidate.evidence.push(scene.quote(clause.text));
            draft.candidate.evidence.extend(after.iter().find(|t| t.contains(&right)).map(|t| scene.quote(t)));
            Effect { target: Some(index), settled: true, ..Effect::default() }
        }
        (_, _) if slip && clause.raw_has(Mark::Correct) => {
            draft.gone = true;
            Effect { target: Some(index), ..Effect::default() }
        }
        _ => Effect::default(),
    }
}

fn unit(value: &str) -> String {
    value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').to_lowercase()
}

/// Whether a text says that something is not so; "we change nothing" denies nothing.
pub fn denies(text: &str) -> bool {
    words::negated(&["不改", "不动", "不变", "算了", "変わらない"].iter().fold(text.to_owned(), |t, w| t.replace(w, "")))
}

/// Numbers with their units, as written.
fn values(text: &str) -> Vec<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?-u:\b)[0-9]+(?:\.[0-9]+)? ?(?:[a-zA-Z%]{1,4}(?-u:\b)|秒|分钟|小时|天|个月|条|次|分|日|초|분|시간)?").ok()
    });
    let Some(pattern) = PATTERN.as_ref() else { return Vec::new() };
    let mut out: Vec<String> = pattern.find_iter(text).map(|m| m.as_str().trim().to_owned()).collect();
    out.dedup();
    out
}

/// The draft a correction means: the one it names, else the youngest of the last turns. What the turn says again
/// without a "not" is not taken back.
fn target(
    scene: &Scene<'_>,
    drafts: &[Draft],
    named: &BTreeSet<String>,
    about: Option<&BTreeSet<String>>,
    said_again: &BTreeSet<String>,
) -> Option<usize> {
    let now = scene.turn.number;
    let kept = |d: &Draft| {
        let own = names(&d.candidate.summary);
        let numbers: Vec<_> = own.iter().filter(|n| n.starts_with(|c: char| c.is_ascii_digit())).collect();
        if numbers.is_empty() { !own.is_empty() && own.is_subset(said_again) } else { numbers.iter().any(|n| said_again.contains(*n)) }
    };
    let open = |i: &usize| drafts.get(*i).is_some_and(|d| d.stands() && d.turn + REACH >= now && d.turn <= now && !kept(d));
    let open: Vec<usize> = (0..drafts.len()).filter(open).collect();
    let overlap = |i: &usize, with: &BTreeSet<String>| drafts.get(*i).map_or(0, |d| d.subject.intersection(with).count());
    let best = |with: &BTreeSet<String>| open.iter().copied().max_by_key(|i| (overlap(i, with), *i)).filter(|i| overlap(i, with) > 0);
    let recent = |i: &usize| drafts.get(*i).is_some_and(|d| d.turn + 4 >= now && d.turn < now && d.candidate.kind == Kind::Decision);
    let unnamed = |with: &BTreeSet<String>| best(with).filter(recent).or_else(|| open.iter().rev().copied().find(recent));
    best(named).or_else(|| about.and_then(unnamed))
}

/// Says again, in a few words, what already stands: "就 5s，不改了".
pub fn repeats(clause: &Clause<'_>, drafts: &[Draft]) -> bool {
    let own = names(&clause.body);
    clause.has(Mark::Revive) && !own.is_empty() && drafts.iter().any(|d| d.stands() && own.is_subset(&names(&d.candidate.summary)))
}

/// The names in a text that tell one choice from another.
pub fn names(text: &str) -> BTreeSet<String> {
    let all = identifiers(text).into_iter().chain(proper_names(text)).chain(known_nouns(text)).chain(values(text));
    all.map(|n| words::fold(&n)).collect()
}

/// Why it was taken back: "because …" in the clause, else the plain statement after or before it.
fn reason(scene: &Scene<'_>, clause: &Clause<'_>, before: &[&str], after: &[&str], draft: &Draft) -> Option<String> {
    if let (_, Some(why)) = shape::split_reason(clause) {
        return Some(why);
    }
    let body = |s: &str| shape::tidy(&Clause::new(s, scene.language).body);
    let tells = |s: &&str| {
        let c = Clause::new(s, scene.language);
        let plain = [Mark::Correct, Mark::Revoke, Mark::Order].iter().all(|m| !c.has(*m)) && !c.is_open();
        plain && (is_concrete(&c.body) || !c.has(Mark::Leans)) && c.tokens().difference(&draft.subject).count() >= 2
    };
    let chooses = |s: &&str| {
        let c = Clause::new(s, scene.language);
        c.read(&scene.around).is_some_and(|r| r.points >= STRONG && r.rule.kind == Kind::Decision)
    };
    let parts: Vec<&str> = after.iter().flat_map(|s| if reply::is_reason(scene, s) { vec![*s] } else { sentences::clauses(s) }).collect();
    let fits = |s: &&str| tells(s) && !chooses(s);
    // "Hmm, the boxes still need it": the correcting sentence tells why.
    let rest = clause.clone().without(Mark::Correct);
    if !clause.has(Mark::Revoke) && rest.body != clause.body && fits(&rest.body.as_str()) {
        return Some(shape::tidy(&rest.body));
    }
    let (ahead, behind) = (parts.iter().copied().find(fits), before.iter().rev().copied().find(fits));
    // "A, so X is out": the reason went before.
    if clause.has(Mark::Revoke) { behind.or(ahead) } else { ahead.or(behind) }.map(body)
}

fn reject(scene: &Scene<'_>, draft: &mut Draft, why: Option<String>, sentence: &str) {
    let candidate = &mut draft.candidate;
    candidate.state = State::Rejected;
    candidate.summary = say::option(&candidate.summary);
    candidate.kind = Kind::Decision;
    candidate.until_date = None;
    candidate.until_event = None;
    candidate.strength = if why.is_some() && draft.points >= STRONG { Strength::Strong } else { Strength::Weak };
    candidate.reason = why;
    candidate.evidence.push(scene.quote(sentence));
    if candidate.layer == Layer::LongTerm {
        candidate.layer = Layer::Working;
    }
}

/// A named thing that the user turns down with a reason: a rejected note, no more. It has to be on the table: offered
/// by the assistant, or taken back in so many words.
pub fn refusal(scene: &Scene<'_>, clause: &Clause<'_>, next: Option<&str>, drafts: &[Draft]) -> Option<Draft> {
    let revoked = clause.has(Mark::Revoke);
    if clause.asks() || !(revoked || clause.has(Mark::Refuse)) {
        return None;
    }
    let (summary, inner) = shape::split_reason(clause);
    let subject = subject_tokens(&clause.body);
    let offered = subject.intersection(&scene.around.offered).count();
    let table = is_concrete(&clause.body) && (revoked || offered > 0);
    // Beside a choice, with its reason: the other option of the same question.
    let chose = drafts.iter().any(|d| d.turn == scene.turn.number && d.stands() && d.candidate.kind != Kind::Fact);
    let silent = || clause.read(&scene.around).is_none_or(|r| r.points < STRONG || r.rule.kind == Kind::Decision);
    let beside = chose && inner.is_some() && (offered >= 2 || silent());
    if !(table || beside) {
        return None;
    }
    let parts = sentences::clauses(&summary);
    let (head, tail) = match parts.split_first() {
        Some((head, tail)) if !tail.is_empty() => (shape::tidy(head), Some(shape::tidy(&tail.join(" ")))),
        _ => (summary.clone(), None),
    };
    let why = inner.or(tail).or_else(|| next.filter(|s| reply::is_reason(scene, s)).map(shape::tidy));
    let points = if why.is_some() { STRONG } else { STRONG - 1 };
    let mut draft = Draft::new(say::option(&head), Kind::Decision, Layer::Working, "refusal", points, vec![scene.quote(clause.text)]);
    draft.candidate.state = State::Rejected;
    draft.candidate.reason = why;
    Some(draft)
}

fn shares(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.intersection(b).next().is_some()
}
