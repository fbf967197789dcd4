//! A candidate while the conversation is still being read: it may yet be taken back, replaced or repeated.

use std::collections::BTreeSet;

use super::clause::{Clause, Reading, STRONG, subject_tokens};
use super::cues::Mark;
use super::shape;
use super::{Scene, thread};
use crate::model::{Candidate, Kind, Layer, Quote, State, Strength};
use crate::text::words;

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
}

impl Draft {
    /// A draft of a summary said in one place.
    pub fn new(summary: String, kind: Kind, layer: Layer, rule: &str, points: i32, evidence: Vec<Quote>) -> Self {
        let subject = subject_tokens(&summary);
        let turn = evidence.last().map_or(0, |q| q.turn);
        let mut candidate = Candidate::new("", kind, layer, summary);
        candidate.evidence = evidence;
        candidate.strength = if points >= STRONG { Strength::Strong } else { Strength::Weak };
        Self { candidate, rule: rule.to_owned(), points, turn, subject, gone: false }
    }

    /// Whether it still claims something that a correction can take back.
    pub fn stands(&self) -> bool {
        !self.gone && self.candidate.state == State::Valid && matches!(self.candidate.kind, Kind::Decision | Kind::Convention | Kind::Fact)
    }
}

/// Rules whose cue is a bare verb of choosing: the thing chosen for may have been named before.
const CHOICES: &[&str] = &["choice", "proposal", "it-is", "contrasted", "setting", "answer"];

/// The draft of one clause that a rule fits.
pub fn of_clause(scene: &Scene<'_>, clause: &Clause<'_>, reading: Reading, earlier: &[&str]) -> Option<Draft> {
    let Reading { rule, points } = reading;
    let (kind, layer, body) = if rule.is_marker() { marked(clause, reading) } else { (rule.kind, rule.layer, clause.body.clone()) };
    let spoken = Clause { body, ..clause.clone() };
    let (mut summary, reason) = shape::split_reason(&spoken);
    let mut evidence = vec![scene.quote(clause.text)];
    if CHOICES.contains(&rule.name.as_str()) && is_thin(&summary) {
        if let Some((turn, source)) = thread::subject(scene, earlier) {
            summary = shape::fit(&format!("{}: {summary}", thread::phrase(source)));
            if turn != scene.turn.number {
                evidence.insert(0, Quote { turn, quote: shape::quote(source) });
            }
        }
    }
    if summary.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return None;
    }
    let temporary = clause.has(Mark::Temporary) && kind != Kind::Preference;
    let layer = if temporary && kind != Kind::Todo { Layer::Transient } else { layer };
    let mut draft = Draft::new(summary, kind, layer, &rule.name, points, evidence);
    let (date, event) = shape::ends(clause, &scene.job.day);
    draft.candidate.until_date = date.filter(|_| temporary || kind == Kind::Todo);
    draft.candidate.until_event = event.filter(|_| temporary);
    draft.candidate.reason = reason;
    draft.candidate.scope = shape::scope(&clause.body);
    draft.candidate.voice = rule.voice;
    Some(draft)
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
    let inner = Clause { body: rest.to_owned(), ..clause.clone() };
    if rest.to_lowercase().starts_with("to ") {
        return (Kind::Todo, Layer::Working, rest.to_owned());
    }
    match inner.read(&super::clause::Around::default()) {
        Some(inner) if inner.points > 0 => (inner.rule.kind, Layer::LongTerm.min(inner.rule.layer), rest.to_owned()),
        _ => (Kind::Fact, Layer::LongTerm, rest.to_owned()),
    }
}

/// Whether a summary names only what was chosen and not for what.
fn is_thin(summary: &str) -> bool {
    const VERBS: &[&str] = &[
        "go", "use", "switch", "back", "stick", "keep", "take", "instead", "then", "choos", "pick", "stay", "move", "drop", "adopt",
        "actual", "let", "we", "will", "should",
    ];
    let wide = summary.chars().filter(|c| words::is_cjk(*c)).count();
    let latin = words::tokens(summary).into_iter().filter(|t| t.is_ascii() && !VERBS.contains(&t.as_str())).count();
    if wide > 0 { wide <= 5 && latin <= 1 } else { latin <= 2 }
}
