//! Which memories a search may show at all, and what keeps one out.

use crate::model::plan::MemoryRecord;
use crate::model::{Kind, Layer, State};
use crate::store::index::Facts;
use crate::text::words::fold;

/// What is asked for besides the words.
#[derive(Clone, Debug, Default)]
pub struct SearchOptions {
    /// `YYYY-MM-DD`: what ended before does not hold.
    pub today: String,
    /// The most hits to give.
    pub limit: usize,
    /// Only this layer.
    pub layer: Option<Layer>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only under a topic that contains this.
    pub topic: Option<String>,
    /// Only with this in keywords, topic or summary.
    pub keyword: Option<String>,
    /// Only noted on this day (`YYYY-MM-DD`) or later.
    pub since: Option<String>,
    /// Only what is believed this much, 0 to 1; what a person wrote carries no figure and counts as certain.
    pub least_confidence: f64,
    /// Also what is done, superseded or lapsed.
    pub any_state: bool,
    /// Hold back what appeared outside and was not adopted (`trust_hand_edits = false`).
    pub hold_back: bool,
}

impl SearchOptions {
    /// The usual search on a day: ten hits, what holds and what was turned down.
    pub fn new(today: impl Into<String>) -> Self {
        Self { today: today.into(), limit: 10, ..Self::default() }
    }
}

/// What keeps a memory out of every result, whatever its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Appeared or changed outside and waits to be adopted.
    Held,
    /// Its state: `done`, `superseded`, `lapsed`.
    State(State),
    /// Its date has passed.
    Until(String),
    /// Another layer was asked for.
    Layer,
    /// Another kind was asked for.
    Kind,
    /// Another topic was asked for.
    Topic,
    /// Another keyword was asked for.
    Keyword,
    /// It is older than was asked for.
    Since,
    /// It is believed less than was asked for.
    Confidence,
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held => f.write_str("it appeared outside claude-mem and is held back until adopted: claude-mem review"),
            Self::State(state) => write!(f, "it is {state}; --any-state searches such memories too"),
            Self::Until(day) => write!(f, "it held until {day}; --any-state searches such memories too"),
            Self::Layer => f.write_str("it is in another layer than --layer asks for"),
            Self::Kind => f.write_str("it is of another kind than --kind asks for"),
            Self::Topic => f.write_str("its topic does not contain what --topic asks for"),
            Self::Keyword => f.write_str("it has no keyword, topic or summary with what --keyword asks for"),
            Self::Since => f.write_str("it is older than --since asks for"),
            Self::Confidence => f.write_str("it is believed less than was asked for"),
        }
    }
}

/// The first gate that keeps a memory out by its facts; `None` if it may be shown. What needs the record: [`gate_by_text`].
pub fn gate(facts: &Facts, options: &SearchOptions) -> Option<Gate> {
    if options.hold_back && facts.held {
        return Some(Gate::Held);
    }
    if !options.any_state {
        match (facts.state_on(&options.today), &facts.until) {
            (State::Valid | State::Rejected, _) => {}
            (State::Lapsed, Some(day)) if facts.state != State::Lapsed => return Some(Gate::Until(day.clone())),
            (state, _) => return Some(Gate::State(state)),
        }
    }
    if options.layer.is_some_and(|layer| layer != facts.layer) {
        return Some(Gate::Layer);
    }
    if options.kind.is_some_and(|kind| kind != facts.kind) {
        return Some(Gate::Kind);
    }
    if options.since.as_deref().is_some_and(|since| facts.day.as_deref().is_some_and(|day| day < since)) {
        return Some(Gate::Since);
    }
    (facts.confidence.unwrap_or(1.0) < options.least_confidence).then_some(Gate::Confidence)
}

/// The first gate that keeps a memory out by its text.
pub fn gate_by_text(record: &MemoryRecord, options: &SearchOptions) -> Option<Gate> {
    let within = |text: &str, part: &str| fold(text).contains(&fold(part));
    if options.topic.as_deref().is_some_and(|wanted| !record.topic.as_deref().is_some_and(|t| within(t, wanted))) {
        return Some(Gate::Topic);
    }
    if options.keyword.as_deref().is_some_and(|wanted| {
        let mut texts = record.keywords.iter().map(String::as_str).chain(record.topic.as_deref()).chain([record.summary.as_str()]);
        !texts.any(|text| within(text, wanted))
    }) {
        return Some(Gate::Keyword);
    }
    None
}
