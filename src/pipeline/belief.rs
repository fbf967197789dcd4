//! The words that made us believe a memory: each quote with its conversation, and what was said around it, as long as the
//! transcript, or a kept turn, is still there.

use std::path::Path;

use super::ingest;
use crate::error::Result;
use crate::model::plan::SessionRecord;
use crate::model::{Conversation, Evidence, Memory};
use crate::store::Store;
use crate::store::past::State;
use crate::store::turns::TurnStore;
use crate::text::{clean, words};

/// Wide characters of a turn that are shown around a quote.
const SHOWN: f64 = 60.0;

/// Where the surroundings of a quote come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The transcript, read again.
    Transcript,
    /// The kept turns.
    Kept,
    /// Nowhere: it is gone, or the turn in it is another one.
    Nowhere,
}

impl From {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transcript => "transcript",
            Self::Kept => "kept turns",
            Self::Nowhere => "nowhere",
        }
    }
}

/// One turn at a quote.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    /// Its number.
    pub turn: u32,
    /// Who speaks.
    pub speaker: String,
    /// The words, or the part of them around the quote.
    pub text: String,
}

/// One quote and what is known of it.
#[derive(Clone, Debug)]
pub struct Words {
    /// The quote.
    pub evidence: Evidence,
    /// Its conversation, `YYYY-MM-DD-xxxxxxxx`.
    pub session: Option<String>,
    /// What the catalogue knows of the conversation.
    pub record: Option<SessionRecord>,
    /// Whether the transcript's file is still there.
    pub source_exists: bool,
    /// The turn before, the turn itself and the one behind.
    pub around: Vec<Line>,
    /// Where those were found.
    pub from: From,
}

/// The words behind a memory of a project.
///
/// # Errors
/// If the kept turns cannot be read. A transcript that cannot be read is one that is gone.
pub fn words_behind(store: &Store, state: &State, project: &str, memory: &Memory) -> Result<Vec<Words>> {
    let mut found = Vec::new();
    let mut read: Vec<(String, Option<Conversation>)> = Vec::new();
    for evidence in &memory.evidence {
        let session = evidence.session.clone().or_else(|| memory.session.clone());
        let record = session.as_ref().and_then(|session| record_of(state, project, session));
        let source = record.as_ref().map(|r| r.source.clone()).unwrap_or_default();
        let source_exists = source != ingest::STDIN && Path::new(&source).is_file();
        let mut words = Words { evidence: evidence.clone(), session, record, source_exists, around: Vec::new(), from: From::Nowhere };
        if let (Some(record), true) = (&words.record, source_exists) {
            if !read.iter().any(|(transcript, _)| *transcript == record.transcript) {
                read.push((record.transcript.clone(), conversation(Path::new(&source), &record.transcript)));
            }
            let talk = read.iter().find(|(transcript, _)| *transcript == record.transcript).and_then(|(_, talk)| talk.as_ref());
            words.around = talk.map(|talk| said_in(talk, evidence)).unwrap_or_default();
            words.from = if words.around.is_empty() { From::Nowhere } else { From::Transcript };
        }
        if let (Some(session), true) = (&words.session, words.around.is_empty()) {
            words.around = kept(store, project, session, evidence)?;
            words.from = if words.around.is_empty() { From::Nowhere } else { From::Kept };
        }
        found.push(words);
    }
    Ok(found)
}

/// What is known of a conversation: by the memory's own project, else by any.
fn record_of(state: &State, project: &str, session: &str) -> Option<SessionRecord> {
    let own = state.catalogues.get(project).into_iter();
    let others = state.catalogues.values();
    own.chain(others).flat_map(|c| &c.sessions).find(|r| r.session == session).cloned()
}

/// A conversation of a file, cleaned: secrets are out of it.
fn conversation(path: &Path, transcript: &str) -> Option<Conversation> {
    let mut found = None;
    let read = ingest::read(path, &mut |conversation| {
        if conversation.session == transcript {
            found = Some(conversation);
        }
    });
    read.ok()?;
    found.map(|conversation| clean(&conversation).0)
}

fn said_in(talk: &Conversation, evidence: &Evidence) -> Vec<Line> {
    let line = |t: &crate::model::Turn| Line { turn: t.number, speaker: t.speaker.name().to_owned(), text: t.text.clone() };
    let near = |number: &u32| number.abs_diff(evidence.turn) <= 1;
    around(talk.turns.iter().filter(|t| near(&t.number)).map(line).collect(), evidence)
}

fn kept(store: &Store, project: &str, session: &str, evidence: &Evidence) -> Result<Vec<Line>> {
    let Some(turns) = TurnStore::open(store.home(), false)? else { return Ok(Vec::new()) };
    let Some(place) = turns.place(project)? else { return Ok(Vec::new()) };
    let number = |id: &str| id.rsplit_once('#').and_then(|(_, n)| n.parse::<u32>().ok());
    let line = |t: crate::store::turns::Turn| Some(Line { turn: number(&t.id)?, speaker: t.speaker, text: t.text });
    let all = turns.stretch(&place, session, 0, i64::MAX)?.into_iter().filter_map(line);
    Ok(around(all.filter(|l| l.turn.abs_diff(evidence.turn) <= 1).collect(), evidence))
}

/// The turns, cut to what stands at the quote; none if the quote is not in its turn any more.
fn around(mut lines: Vec<Line>, evidence: &Evidence) -> Vec<Line> {
    let quote = words::fold(&evidence.quote);
    let is_there = lines.iter().any(|l| l.turn == evidence.turn && words::fold(&l.text).contains(&quote));
    lines.retain(|l| is_there && !l.text.trim().is_empty());
    for line in &mut lines {
        let own = line.turn == evidence.turn;
        let of_quote = line.text.lines().find(|text| own && words::fold(text).contains(&quote));
        // The turn before ends where the quote begins.
        let whole = if line.turn < evidence.turn { line.text.trim().lines().next_back() } else { line.text.trim().lines().next() };
        let text = of_quote.or(whole).unwrap_or_default().trim().to_owned();
        line.text = if of_quote.is_some() { text } else { words::clip(&text, SHOWN) };
    }
    lines
}
