//! A candidate while the conversation is still being read: it may yet be taken back, replaced or repeated.

use std::collections::BTreeSet;

use super::clause::{Clause, Reading, STRONG, is_concrete, subject_tokens};
use super::cues::Mark;
use super::shape;
use super::{Scene, correct, say, thread};
use crate::model::{Candidate, Kind, Layer, Quote, State, Strength};
use crate::text::words::{self, Language};

/// A candidate with what later turns need to find it again.
#[derive(Clone, Debug)]
pub struct Draft {
    /// As it would be stored.
    pub candidate: Candidate,
    /// Name of the rule that made it.
    pub rule: String,
    /// Points: decide which twelve are kept.
    pub points: i32,
    /// Turn it was said in.
    pub turn: u32,
    /// Content words without numbers.
    pub subject: BTreeSet<String>,
    /// Replaced or mistyped: not to be stored at all.
    pub gone: bool,
    /// Its cue outranks everything around it: a marker, a norm.
    pub norm: bool,
    /// Said in turns that were read before: context only.
    pub old: bool,
}

impl Draft {
    /// A draft of a summary said in one place.
    pub fn new(summary: String, kind: Kind, layer: Layer, rule: &str, points: i32, evidence: Vec<Quote>) -> Self {
        let summary = say::statement(&summary, kind);
        let subject = subject_tokens(&summary);
        let turn = evidence.last().map_or(0, |q| q.turn);
        let mut candidate = Candidate::new("", kind, layer, summary);
        candidate.evidence = evidence;
        candidate.strength = if points >= STRONG { Strength::Strong } else { Strength::Weak };
        Self { candidate, rule: rule.to_owned(), points, turn, subject, gone: false, norm: false, old: false }
    }

    /// Whether it still claims something that a correction can take back.
    pub fn stands(&self) -> bool {
        !self.gone && self.candidate.state == State::Valid && matches!(self.candidate.kind, Kind::Decision | Kind::Convention | Kind::Fact)
    }
}

impl Draft {
    /// A todo that lists several things to do, as one todo each.
    pub fn one_by_one(self) -> Vec<Self> {
        let parts = shape::listed(&self.candidate.summary);
        if parts.len() < 2 {
            return vec![self];
        }
        let one = |text: String| {
            let subject = subject_tokens(&text);
            Self { subject, candidate: Candidate { summary: text, ..self.candidate.clone() }, rule: self.rule.clone(), ..self }
        };
        parts.into_iter().map(one).collect()
    }
}

/// Rules whose cue is a bare verb of choosing: the thing chosen for may have been named before.
const CHOICES: &[&str] = &["choice", "proposal", "it-is", "contrasted", "setting", "answer", "take"];

/// The draft of one clause that a rule fits.
pub fn of_clause(scene: &Scene<'_>, clause: &Clause<'_>, reading: Reading, earlier: &[&str], drafts: &mut [Draft]) -> Option<Draft> {
    let Reading { rule, points } = reading;
    let (kind, layer, body) = if rule.is_marker() { marked(clause, reading) } else { (rule.kind, rule.layer, clause.body.clone()) };
    let spoken = clause.saying(body);
    let (mut summary, reason) = shape::split_reason(&spoken);
    let mut evidence = vec![scene.quote(clause.text)];
    let (date, event) = shape::ends(clause, &scene.job.day);
    let named = is_concrete(&spoken.body);
    if let Some(day) = date.as_ref().filter(|_| kind == Kind::Todo && named) {
        // A day for work that was named before.
        let own = correct::names(&summary);
        if let Some(todo) = drafts
            .iter_mut()
            .rev()
            .find(|d| d.candidate.kind == Kind::Todo && !d.gone && own.is_subset(&correct::names(&d.candidate.summary)))
        {
            todo.candidate.until_date = Some(day.clone());
            todo.candidate.evidence.push(scene.quote(clause.text));
            return None;
        }
    }
    let few = words::tokens(&summary).len();
    let leans = few < 4 || (clause.has(Mark::Leans) && (few <= 5 || clause.language != Language::English));
    if kind == Kind::Todo && !named && leans && !rule.is_marker() {
        // "take it out again", 就改回来: about what was said last.
        let last = drafts.iter_mut().rev().find(|d| d.turn + 4 >= scene.turn.number && !d.gone)?;
        if words::tokens(&summary).len() < 3 && date.is_none() {
            return None;
        }
        if last.candidate.kind == Kind::Todo {
            // More about the same work: only its day is new.
            last.candidate.until_date = date.or(last.candidate.until_date.take());
            return None;
        }
        if last.candidate.layer == Layer::Transient && last.candidate.until_date.is_none() {
            last.candidate.until_date = date.clone();
            last.candidate.until_event = event.clone();
        }
        summary = shape::fit(&format!(
            "{summary} ({})",
            shape::keywords(&last.candidate.summary).into_iter().take(3).collect::<Vec<_>>().join(", ")
        ));
    }
    if rule.name == "provisional" && !named && clause.tokens().len() <= 8 {
        // "only until Friday": the end of what was agreed before.
        let last = drafts.iter_mut().rev().find(|d| d.turn + 4 >= scene.turn.number && !d.gone && d.candidate.layer == Layer::Transient)?;
        last.candidate.until_date = date.or(last.candidate.until_date.take());
        last.candidate.until_event = event.or(last.candidate.until_event.take());
        last.candidate.evidence.push(scene.quote(clause.text));
        return None;
    }
    if let Some(back) = revived(clause, drafts) {
        summary = shape::fit(&format!("{}: {}", back.candidate.summary, say::statement(&summary, kind)));
        evidence.extend(back.candidate.evidence.first().cloned());
    } else if let Some((turn, source)) =
        (CHOICES.contains(&rule.name.as_str()) && is_thin(&summary)).then(|| thread::subject(scene, earlier)).flatten()
    {
        summary = shape::fit(&format!("{}: {}", thread::phrase(source), say::statement(&summary, kind)));
        if turn != scene.turn.number {
            evidence.insert(0, Quote { turn, quote: shape::quote(source) });
        }
    }
    evidence.retain(|q| !q.quote.is_empty());
    if evidence.is_empty() || summary.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return None;
    }
    let temporary = clause.has(Mark::Temporary) && kind != Kind::Preference;
    let layer = if temporary && kind != Kind::Todo { Layer::Transient } else { layer };
    let mut draft = Draft::new(summary, kind, layer, &rule.name, points, evidence);
    draft.candidate.until_date = date.filter(|_| temporary || kind == Kind::Todo);
    draft.candidate.until_event = event.filter(|_| temporary);
    draft.candidate.reason = reason;
    draft.candidate.scope = shape::scope(&clause.body);
    draft.candidate.voice = rule.voice;
    draft.norm = rule.is_norm();
    Some(draft)
}

/// The draft that "back to X" brings back: it was taken off the table and is named.
fn revived<'a>(clause: &Clause<'_>, drafts: &'a [Draft]) -> Option<&'a Draft> {
    let said = subject_tokens(&clause.body);
    let named = |d: &&Draft| d.gone && d.subject.intersection(&said).next().is_some();
    clause.has(Mark::Revive).then(|| drafts.iter().rev().find(named)).flatten()
}

/// What stands behind a marker: its kind is that of the words themselves, else what the marker says.
fn marked(clause: &Clause<'_>, reading: Reading) -> (Kind, Layer, String) {
    let rule = reading.rule;
    let end = rule.end(&clause.body);
    let rest = clause.body.get(end..).unwrap_or_default().trim_start_matches([':', '：', ' ', ',', '，', '、']);
    if !rest.chars().any(char::is_alphanumeric) {
        return (rule.kind, rule.layer, clause.body.clone());
    }
    if rule.name != "marker" {
        return (rule.kind, rule.layer, rest.to_owned());
    }
    let inner = clause.saying(rest.to_owned());
    if rest.to_lowercase().starts_with("to ") {
        return (Kind::Todo, Layer::Working, rest.to_owned());
    }
    match inner.read(&super::clause::Around::default()) {
        Some(inner) if inner.points > 0 => (inner.rule.kind, Layer::LongTerm.min(inner.rule.layer), rest.to_owned()),
        _ => (Kind::Fact, Layer::LongTerm, rest.to_owned()),
    }
}

/// Whether a summary names only what was chosen and not for what.
pub fn is_thin(summary: &str) -> bool {
    const VERBS: &[&str] = &[
        "go", "use", "switch", "back", "stick", "keep", "take", "instead", "then", "choos", "pick", "stay", "move", "drop", "adopt",
        "actual", "let", "we", "will", "should",
    ];
    let wide = summary.chars().filter(|c| words::is_cjk(*c)).count();
    let latin = words::tokens(summary).into_iter().filter(|t| t.is_ascii() && !VERBS.contains(&t.as_str())).count();
    if wide > 0 { wide <= 5 && latin <= 1 } else { latin <= 2 }
}
