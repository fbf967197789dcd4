//! Offline extraction by rules: no model, no network. It looks at the structure of what is said: who speaks, what is
//! accepted, what an answer binds to, norms and choices with a named object. It prefers silence to a guess; what is
//! weak goes to review.
//!
//! [`cues`] holds the words (tables per language), [`clause`] adds them up, [`reply`] binds answers to questions and
//! offers, [`correct`] takes back, [`known`] points to memories, [`shape`] cuts out the fields. Checking quotes is
//! the business of grounding, not of this module.

mod clause;
mod correct;
mod cues;
mod draft;
mod known;
mod reply;
mod shape;
mod thread;

use clause::{Around, Clause, STRONG, has_value, is_concrete};
use cues::Mark;
use draft::Draft;

use super::{Extraction, Extractor, Job, Pending};
use crate::model::{Candidate, Kind, Quote, Speaker, State, Strength, Turn};
use crate::text::sentences;
use crate::text::words::{self, Language};

/// Most candidates of one conversation, best first (facts: users-and-extraction §2.4).
const MOST: usize = 12;

/// A turn with more sentences is a pasted document or a specification: only what is marked or normative counts.
const DOCUMENT: usize = 40;

/// The offline backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules;

impl Extractor for Rules {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn extract<'a>(&'a self, job: &'a Job) -> Pending<'a> {
        Box::pin(std::future::ready(Ok(extract(job))))
    }
}

/// What surrounds the user's turn that is being read.
pub(crate) struct Scene<'a> {
    job: &'a Job,
    language: Language,
    turn: &'a Turn,
    /// The assistant's prose just before.
    before: Option<&'a Turn>,
    /// The user's turn before that.
    user_before: Option<&'a Turn>,
    around: Around,
}

impl Scene<'_> {
    /// Words of this turn as evidence.
    fn quote(&self, text: &str) -> Quote {
        Quote { turn: self.turn.number, quote: shape::quote(text) }
    }
}

/// Reads a cleaned conversation. Pure: the same job gives the same candidates.
pub fn extract(job: &Job) -> Extraction {
    let candidates = explain(job).into_iter().map(|e| e.candidate).collect();
    Extraction { candidates, ..Extraction::default() }
}

/// A candidate with the rule that made it and its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// As [`extract`] gives it.
    pub candidate: Candidate,
    /// Name of the row in the cue tables, or of the structural rule: `answer`, `option`, `acceptance`, `refusal`, `completion`.
    pub rule: String,
    /// The sum; from 3 on it is strong.
    pub points: i32,
}

/// [`extract`], with the reasons.
pub fn explain(job: &Job) -> Vec<Explained> {
    let users: Vec<&Turn> = job.conversation.turns.iter().filter(|t| t.speaker == Speaker::User).collect();
    let language = words::language(&users.iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join("\n"));
    if !users.iter().any(|t| is_of_the_trade(&t.text, language)) {
        return Vec::new();
    }
    let mut drafts = Vec::new();
    for turn in users {
        let scene = scene(job, language, turn);
        read_turn(&scene, &mut drafts);
    }
    finish(job, drafts)
}

/// Whether a turn is about work at all.
fn is_of_the_trade(text: &str, language: Language) -> bool {
    sentences::split(text).into_iter().any(|s| {
        let clause = Clause::new(s, language);
        clause.has(Mark::Nouns)
            || is_concrete(&clause.body)
            || clause.read(&Around::default()).is_some_and(|r| r.rule.is_marker() || has_value(s))
    })
}

fn scene<'a>(job: &'a Job, language: Language, turn: &'a Turn) -> Scene<'a> {
    let turns = &job.conversation.turns;
    let spoken = |t: &&Turn| matches!(t.speaker, Speaker::User | Speaker::Assistant);
    let before = turns.iter().filter(|t| t.number < turn.number).filter(spoken).next_back().filter(|t| t.speaker == Speaker::Assistant);
    let user_before = turns.iter().rfind(|t| t.number < turn.number && t.speaker == Speaker::User);
    let after = turns.iter().find(|t| t.number > turn.number && t.speaker != Speaker::Harness).filter(|t| t.speaker == Speaker::Assistant);
    let offered = before.map(|t| words::token_set(&t.text)).unwrap_or_default();
    let acknowledged = after.is_some_and(|t| acknowledges(&t.text, language));
    Scene { job, language, turn, before, user_before, around: Around { acknowledged, offered } }
}

/// A short turn that only takes note: the user's words asked for nothing to be done.
fn acknowledges(text: &str, language: Language) -> bool {
    let clause = Clause::new(text, language);
    words::width(text) <= 60.0 && clause.table().has(Mark::Acknowledge, text) && !clause.table().has(Mark::Finished, text)
}

/// Reads one turn of the user into the drafts.
fn read_turn(scene: &Scene<'_>, drafts: &mut Vec<Draft>) {
    let said = sentences::split(&scene.turn.text);
    correct::apply(scene, &said, drafts);
    if scene.turn.number <= scene.job.after_turn {
        return;
    }
    let document = said.len() > DOCUMENT;
    let mut at = 0;
    if let Some((draft, used)) = reply::read(scene, &said) {
        add(drafts, draft);
        at = used;
    }
    for (index, sentence) in said.iter().enumerate().skip(at) {
        let earlier = said.get(..index).unwrap_or_default();
        let next = said.get(index + 1).copied();
        for unit in units(sentence, scene) {
            read_unit(scene, &unit, earlier, next, document, drafts);
        }
    }
}

fn read_unit<'a>(scene: &Scene<'a>, unit: &Clause<'a>, earlier: &[&'a str], next: Option<&str>, document: bool, drafts: &mut Vec<Draft>) {
    if let Some(draft) = known::completion(scene, unit, drafts) {
        return add(drafts, draft);
    }
    if let Some(draft) = correct::refusal(scene, unit, next) {
        return add(drafts, draft);
    }
    let Some(reading) = unit.read(&scene.around) else { return };
    if reading.points < STRONG - 1 || (document && !reading.rule.order_ok) {
        return;
    }
    if let Some(draft) = draft::of_clause(scene, unit, reading, earlier) {
        add(drafts, draft);
    }
}

/// A sentence as claims: clauses stay together unless the next one is strong by itself, too.
fn units<'a>(sentence: &'a str, scene: &Scene<'a>) -> Vec<Clause<'a>> {
    let strong = |text: &'a str| Clause::new(text, scene.language).read(&scene.around).is_some_and(|r| r.points >= STRONG);
    let mut out: Vec<&'a str> = Vec::new();
    let mut from = 0;
    let mut start = 0;
    for part in sentences::clauses(sentence) {
        let Some(at) = sentence.get(from..).and_then(|rest| rest.find(part)).map(|at| from + at) else { continue };
        let current = sentence.get(start..at).unwrap_or_default();
        if at > start && strong(current) && strong(part) && !continues(part) {
            out.push(current.trim());
            start = at;
        }
        from = at + part.len();
    }
    out.push(sentence.get(start..).unwrap_or(sentence).trim());
    out.into_iter().map(|text| Clause::new(text, scene.language)).collect()
}

/// A clause that only sets off the one before: "not npm", 别铺垫.
fn continues(part: &str) -> bool {
    let lower = part.to_lowercase();
    [
        "not ", "no ", "never ", "nor ", "but not", "instead", "rather", "because", "since", "so ", "别", "不", "而", "没", "就", "因为",
        "所以", "等", "until", "then",
    ]
    .iter()
    .any(|w| lower.starts_with(w))
}

/// Adds a draft; the same claim said again strengthens the first, the same slot with another value replaces it.
fn add(drafts: &mut Vec<Draft>, draft: Draft) {
    let numbers = words::numbers(&draft.candidate.summary);
    for old in
        drafts.iter_mut().filter(|d| !d.gone && d.candidate.state == draft.candidate.state && d.candidate.kind == draft.candidate.kind)
    {
        let alike = words::jaccard(&old.subject, &draft.subject);
        let same = words::numbers(&old.candidate.summary) == numbers;
        if alike >= 0.8 && same {
            if old.points < draft.points {
                *old = draft;
            }
            return;
        }
        if alike >= 0.6 && !same && !numbers.is_empty() && draft.points >= STRONG {
            old.gone = true;
        }
    }
    drafts.push(draft);
}

/// The drafts that stand, with relations, keywords and names, at most [`MOST`].
fn finish(job: &Job, mut drafts: Vec<Draft>) -> Vec<Explained> {
    drafts.retain(|d| !d.gone);
    for draft in &mut drafts {
        let changes = draft.candidate.evidence.iter().any(|q| {
            Clause::new(&q.quote, Language::English).has(Mark::Change) || Clause::new(&q.quote, words::language(&q.quote)).has(Mark::Change)
        });
        known::relate(&job.known, draft, changes);
        let text = format!(
            "{} {}",
            draft.candidate.summary,
            draft.candidate.evidence.iter().map(|q| q.quote.as_str()).collect::<Vec<_>>().join(" ")
        );
        draft.candidate.keywords = shape::keywords(&draft.candidate.summary);
        if draft.candidate.keywords.len() < 2 {
            draft.candidate.keywords = shape::keywords(&text);
        }
        draft.candidate.topic = shape::topic(&draft.candidate.keywords);
        draft.candidate.evidence.truncate(3);
    }
    if drafts.len() > MOST {
        let mut points: Vec<i32> = drafts.iter().map(|d| d.points).collect();
        points.sort_unstable_by_key(|p| std::cmp::Reverse(*p));
        let least = points.get(MOST - 1).copied().unwrap_or(0);
        let mut room = MOST;
        drafts.retain(|d| d.points >= least && room.checked_sub(1).map(|left| room = left).is_some());
    }
    drafts
        .into_iter()
        .enumerate()
        .map(|(at, mut draft)| {
            if draft.candidate.state == State::Done && draft.candidate.kind == Kind::Todo {
                draft.candidate.strength = Strength::Strong;
            }
            draft.candidate.reference = format!("n{}", at + 1);
            Explained { candidate: draft.candidate, rule: draft.rule, points: draft.points }
        })
        .collect()
}
