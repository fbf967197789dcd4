//! Offline extraction by rules: no model, no network. It looks at the structure of what is said: who speaks, what is
//! accepted, what an answer binds to, norms and choices with a named object. It prefers silence to a guess; what is
//! weak goes to review.
//!
//! [`cues`] holds the words (tables per language), [`clause`] adds them up, [`reply`] binds answers to questions and
//! offers, [`correct`] takes back, [`instead`] says what holds then, [`known`] points to memories, [`shape`] cuts out the fields, [`say`] words the summary. Checking quotes is
//! the business of grounding, not of this module.

mod clause;
mod correct;
mod cues;
mod draft;
mod instead;
mod known;
mod reply;
mod say;
mod shape;
mod thread;

use clause::{Around, Clause, STRONG, has_value, is_concrete};
use cues::Mark;
use draft::Draft;

use super::{Extraction, Extractor, Job, Pending};
use crate::model::{Candidate, Kind, Quote, Speaker, State, Strength, Turn};
use crate::text::phrases::has_any;
use crate::text::sentences;
use crate::text::strip::is_stub_line;
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

/// Whether a text is put as somebody's will: a rule, a liking, a choice. For words that nobody here said, so in doubt it is.
pub fn states_a_rule(text: &str) -> bool {
    let willed = |clause: &Clause<'_>| {
        let wills = |rule: &&cues::Rule| !matches!(rule.kind, Kind::Fact | Kind::Todo) && rule.weight >= STRONG;
        clause.table().rules.iter().filter(wills).any(|rule| rule.matches(&clause.body) || rule.matches(clause.text))
    };
    has_any(&words::fold(text), cues::WILL) || any_clause(text, willed)
}

/// Whether a text tells somebody to do something now. Where to read more is no order.
pub fn gives_an_order(text: &str) -> bool {
    any_clause(text, |clause| clause.has(Mark::Order) && !words::fold(clause.text).trim_start().starts_with("see "))
}

fn any_clause(text: &str, wanted: impl Fn(&Clause<'_>) -> bool) -> bool {
    let conversation = words::language(text);
    let sentences = sentences::split(text).into_iter();
    sentences.flat_map(|s| std::iter::once(s).chain(sentences::clauses(s))).any(|part| wanted(&Clause::new(part, conversation)))
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
    let spoken = job.conversation.turns.iter().filter(|t| matches!(t.speaker, Speaker::User | Speaker::Assistant));
    let small_talk = !spoken.into_iter().any(|t| is_of_the_trade(&t.text, language));
    let mut drafts = Vec::new();
    for turn in users {
        let scene = scene(job, language, turn);
        read_turn(&scene, &mut drafts);
    }
    // Without a word of the trade only what is put as a norm counts: "let's go with coffee" chooses nothing.
    drafts.retain(|d: &Draft| !small_talk || d.norm);
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
    let before = turns.iter().filter(|t| t.number < turn.number).rfind(spoken).filter(|t| t.speaker == Speaker::Assistant);
    let user_before = turns.iter().rfind(|t| t.number < turn.number && t.speaker == Speaker::User);
    let after = turns.iter().find(|t| t.number > turn.number && t.speaker != Speaker::Harness).filter(|t| t.speaker == Speaker::Assistant);
    let offered = before.map(|t| words::token_set(&t.text)).unwrap_or_default();
    let acknowledged = after.is_some_and(|t| acknowledges(&t.text, language));
    Scene { job, language, turn, before, user_before, around: Around { acknowledged, offered, corrected: false } }
}

/// A short turn that only takes note: the user's words asked for nothing to be done.
fn acknowledges(text: &str, language: Language) -> bool {
    let clause = Clause::new(text, language);
    words::width(text) <= 60.0 && clause.table().has(Mark::Acknowledge, text) && !clause.table().has(Mark::Finished, text)
}

/// Reads one turn of the user into the drafts.
fn read_turn(scene: &Scene<'_>, drafts: &mut Vec<Draft>) {
    let said: Vec<&str> = sentences::split(&scene.turn.text).into_iter().filter(|s| !is_stub_line(s) && !is_terminal(s)).collect();
    let context_only = scene.turn.number <= scene.job.after_turn;
    let mut at = 0;
    if let Some((draft, used)) = reply::read(scene, &said) {
        add(drafts, draft);
        at = used;
        if let Some(more) = said.get(at).and_then(|s| reply::added(scene, s)) {
            add(drafts, more);
            at += 1;
        }
    }
    // A list of three and more describes; what holds in it has to be put as a norm.
    let listed: Vec<&str> = scene.turn.text.lines().filter_map(|line| sentences::item(line.trim())).map(|(_, body)| body).collect();
    let listed = if listed.len() >= 3 { listed } else { Vec::new() };
    let mut corrected = false;
    for index in at..said.len() {
        let (earlier, rest) = said.split_at(index);
        let Some((sentence, later)) = rest.split_first() else { break };
        let document = said.len() > DOCUMENT || listed.iter().any(|item| item.contains(sentence));
        let near = Near { earlier, later, document };
        corrected |= read_sentence(scene, sentence, &near, corrected, drafts);
    }
    if context_only {
        // Told before: known to later turns as context, not to be stored again.
        drafts.iter_mut().filter(|d| d.turn == scene.turn.number).for_each(|d| d.old = true);
    }
}

/// A line of a terminal or a slash command: not the person's prose.
fn is_terminal(line: &str) -> bool {
    let slash = line.strip_prefix('/').is_some_and(|rest| {
        rest.split_whitespace().next().is_some_and(|w| w.len() > 2 && w.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
    });
    slash || line.starts_with(['⎿', '❯', '$', '●', '☐', '☒', '│', '┃'])
}

/// The sentences around one in its turn.
struct Near<'a, 's> {
    earlier: &'s [&'a str],
    later: &'s [&'a str],
    document: bool,
}

/// Reads one sentence; true if it took something back, so that what follows says what holds instead.
fn read_sentence<'a>(scene: &Scene<'a>, sentence: &'a str, near: &Near<'a, '_>, corrected: bool, drafts: &mut Vec<Draft>) -> bool {
    let units = units(sentence, scene);
    let mut corrected = corrected;
    let mut spent: Option<String> = None;
    let mut chosen: Option<usize> = None;
    for (at, unit) in units.iter().enumerate() {
        let mut unit = unit.clone();
        let (past, coming) = (units.get(..at).unwrap_or_default(), units.get(at + 1..).unwrap_or_default());
        let following: Vec<&str> = coming.iter().map(|u| u.text).chain(near.later.iter().copied()).collect();
        if takes_back(&unit) {
            let before: Vec<&str> = near.earlier.iter().copied().chain(past.iter().map(|u| u.text)).collect();
            let effect = correct::apply(scene, &unit, &before, &following, drafts);
            corrected |= effect.target.is_some() || (unit.raw_has(Mark::Correct) && scene.before.is_some());
            spent = effect.reason.or(spent);
            effect.instead.into_iter().for_each(|draft| add(drafts, draft));
            if effect.settled {
                return true;
            }
            if unit.has(Mark::Revoke) && effect.target.is_some() {
                continue;
            }
            unit = unit.without(Mark::Correct);
        } else if coming.iter().any(|u| u.has(Mark::Revoke)) && unit.read(&scene.around).is_none_or(|r| r.rule.kind != Kind::Decision) {
            continue; // "A, so X is out": A is why
        }
        if spent.as_deref() == Some(shape::tidy(&unit.body).as_str()) {
            continue;
        }
        let next = following.first().copied();
        let Some(draft) = read_unit(scene, &unit, near, next, corrected, drafts) else { continue };
        if draft.candidate.kind == Kind::Todo && draft.candidate.state == State::Valid {
            draft.one_by_one().into_iter().for_each(|todo| add(drafts, todo));
            continue;
        }
        let mut draft = draft;
        let settles = corrected || unit.has(Mark::Change);
        if settles && draft.candidate.reason.is_none() && at + 1 == units.len() {
            draft.candidate.reason = next
                .filter(|s| reply::is_reason(scene, s) && matches!(draft.candidate.kind, Kind::Decision | Kind::Convention))
                .map(shape::tidy);
        }
        // "A, B": a fact right behind a choice is why it was made.
        let gives_reason = draft.candidate.kind == Kind::Fact && draft.rule != "state-value";
        match chosen.and_then(|i| drafts.get_mut(i)).filter(|d| gives_reason && d.candidate.reason.is_none()) {
            Some(choice) => choice.candidate.reason = Some(draft.candidate.summary),
            None => {
                let decides = draft.candidate.kind == Kind::Decision;
                add(drafts, draft);
                chosen = decides.then(|| drafts.len().saturating_sub(1));
            }
        }
    }
    corrected
}

/// Whether a clause may take something back or put it right.
fn takes_back(unit: &Clause<'_>) -> bool {
    !unit.asks() && (unit.is_correction() || unit.raw_has(Mark::Adjust) || unit.raw_has(Mark::Slip))
}

fn read_unit<'a>(
    scene: &Scene<'a>,
    unit: &Clause<'a>,
    near: &Near<'a, '_>,
    next: Option<&str>,
    corrected: bool,
    drafts: &mut [Draft],
) -> Option<Draft> {
    if let Some(draft) = known::completion(scene, unit, drafts) {
        return Some(draft);
    }
    if let Some(draft) = correct::refusal(scene, unit, next, drafts) {
        return Some(draft);
    }
    if correct::repeats(unit, drafts)
        || instead::repeats(scene, unit, drafts)
        || (corrected && instead::only_denies(unit))
        || reply::is_bare(unit)
    {
        return None;
    }
    let around = Around { corrected, ..scene.around.clone() };
    let reading = unit.read(&around)?;
    if reading.points < STRONG - 1 || (near.document && !reading.rule.is_norm()) {
        return None;
    }
    draft::of_clause(scene, unit, reading, near.earlier, drafts)
}

/// A sentence as claims. Clauses stay together unless both sides are strong and name something of their own; a clause
/// that takes something back always stands alone.
fn units<'a>(sentence: &'a str, scene: &Scene<'a>) -> Vec<Clause<'a>> {
    let parts = sentences::clauses(sentence);
    let mut out: Vec<&'a str> = Vec::new();
    let (mut start, mut from) = (0, 0);
    for part in &parts {
        let Some(at) = sentence.get(from..).and_then(|rest| rest.find(part)).map(|at| from + at) else { continue };
        let current = sentence.get(start..at).unwrap_or_default().trim_end();
        if at > start && splits(current, part, sentence.get(at..).unwrap_or(part), scene) {
            out.push(current);
            start = at;
        }
        from = at + part.len();
    }
    out.push(sentence.get(start..).unwrap_or(sentence).trim());
    out.into_iter().map(|text| Clause::new(text, scene.language)).collect()
}

fn splits<'a>(current: &'a str, part: &'a str, rest: &'a str, scene: &Scene<'a>) -> bool {
    let (left, right) = (Clause::new(current, scene.language), Clause::new(part, scene.language));
    let alone = |c: &Clause<'_>| c.raw_has(Mark::Correct) || c.raw_has(Mark::Revoke);
    if alone(&left) || alone(&right) {
        return true;
    }
    let turns_down =
        |c: &Clause<'_>| c.has(Mark::Refuse) && is_concrete(&c.body) && c.tokens().intersection(&scene.around.offered).next().is_some();
    let offered = |c: &Clause<'_>| c.tokens().intersection(&scene.around.offered).count() >= 2;
    let full = |c: &Clause<'_>| offered(c) || ((is_concrete(&c.body) || has_value(&c.body)) && !draft::is_thin(&c.body));
    let strong = |c: &Clause<'_>| c.read(&scene.around).is_some_and(|r| r.points >= STRONG);
    // "Label it P2, the fix goes into 2.4.2": an order or a complaint, and something to know.
    let aside = (left.has(Mark::Order) || left.has(Mark::Observation))
        && !strong(&left)
        && is_concrete(&right.body)
        && !right.has(Mark::Leans)
        && !continues(part);
    if (turns_down(&right) && strong(&left)) || (aside && strong(&Clause::new(rest, scene.language))) {
        return true;
    }
    let one_choice = || {
        let chooses = left.read(&scene.around).is_some_and(|r| r.rule.kind == Kind::Decision);
        chooses && completes(part) && words::width(current) + words::width(part) <= words::MAX_WIDTH
    };
    !current.trim_end().ends_with([':', '：'])
        && !one_choice()
        && full(&left)
        && full(&right)
        && strong(&left)
        && strong(&right)
        && !right.has(Mark::Leans)
        && !continues(part)
}

/// A clause that only sets off or completes the one before: "not npm", 别铺垫, 统一从环境变量读.
fn continues(part: &str) -> bool {
    let lower = part.to_lowercase();
    const WORDS: &[&str] = &[
        "not ", "no ", "nor ", "but not", "instead", "rather", "because", "since", "so ", "until", "then", "which", "and not", "别", "不",
        "而", "没", "就", "因为", "所以", "等", "都", "也", "统一", "全部", "一律", "直接", "只", "还是",
    ];
    // 前缀还是 …: what stays as it is belongs to what changes.
    WORDS.iter().any(|w| lower.starts_with(w)) || lower.chars().take(6).collect::<String>().contains("还是")
}

/// A clause without a subject that says how a choice is carried out: "keyed by …", 用订单号做唯一索引.
fn completes(part: &str) -> bool {
    const WORDS: &[&str] = &[
        "with ",
        "using ",
        "keyed ",
        "named ",
        "partitioned ",
        "sorted ",
        "grouped ",
        "one ",
        "by ",
        "via ",
        "in ",
        "on ",
        "用",
        "以",
        "按",
        "走",
        "存",
        "放",
        "并",
        "加",
        "带",
        "做",
    ];
    let lower = part.to_lowercase();
    WORDS.iter().any(|w| lower.starts_with(w))
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
        if alike >= 0.6 && !same && draft.points >= STRONG && is_one_slot(old, &draft) {
            old.gone = true;
        }
    }
    drafts.push(draft);
}

/// Whether two statements with other numbers fill one slot: one number each, and no name of their own. "auth on 8001" and
/// "billing on 8002" are two things, and so are "worker 3 takes queue 7" and "worker 4 takes queue 8".
fn is_one_slot(old: &Draft, new: &Draft) -> bool {
    let (a, b) = (words::numbers(&old.candidate.summary), words::numbers(&new.candidate.summary));
    let own = |x: &Draft, y: &Draft| x.subject.difference(&y.subject).any(|word| !word.contains(|c: char| c.is_ascii_digit()));
    a.difference(&b).count() <= 1 && b.difference(&a).count() == 1 && !(own(old, new) && own(new, old))
}

/// The drafts that stand, with relations, keywords and names, at most [`MOST`].
fn finish(job: &Job, mut drafts: Vec<Draft>) -> Vec<Explained> {
    drafts.retain(|d| !d.gone && !d.old);
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
