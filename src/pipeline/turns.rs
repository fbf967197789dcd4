//! Kept turns: from a cleaned conversation into `turns.db`, and back by search.

use jiff::civil::Date;

use crate::error::Result;
use crate::model::Conversation;
use crate::recall::search::query::Range;
use crate::recall::search::turns::{READ, TurnHit, Turns, find};
use crate::store::Store;
use crate::store::turns::{Turn, TurnPlace, TurnStore};

/// The turns of a cleaned conversation, ready to be kept.
pub fn of_conversation(conversation: &Conversation, session: &str, project: &str) -> Vec<Turn> {
    let turn = |turn: &crate::model::Turn| Turn {
        id: format!("{session}#{}", turn.number),
        project: project.to_owned(),
        session: session.to_owned(),
        ts: turn.at.clone().or_else(|| conversation.date.clone()),
        speaker: turn.speaker.name().to_owned(),
        text: turn.text.clone(),
        ..Turn::default()
    };
    conversation.turns.iter().filter(|t| !t.text.trim().is_empty()).map(turn).collect()
}

/// Kept turns of some projects, open for many queries; nothing is found where nothing is kept.
#[derive(Debug)]
pub struct TurnSearcher {
    places: Vec<(std::rc::Rc<TurnStore>, TurnPlace)>,
}

impl TurnSearcher {
    /// Opens the turns of these projects.
    ///
    /// # Errors
    /// If they are there and cannot be read.
    pub fn open(store: &Store, projects: &[String]) -> Result<Self> {
        let mut places = Vec::new();
        if let Some(turns) = TurnStore::open(store.home(), false)? {
            let turns = std::rc::Rc::new(turns);
            for project in projects {
                places.extend(turns.place(project)?.map(|place| (turns.clone(), place)));
            }
        }
        Ok(Self { places })
    }

    /// How many turns there are.
    pub fn turns(&self) -> usize {
        self.places.iter().map(|(_, place)| place.docs).sum()
    }

    /// The turns that answer a query, best first; only those of `since` (`YYYY-MM-DD`) and later.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn find(&self, query: &str, limit: usize, since: Option<&str>) -> Result<Vec<TurnHit>> {
        let kept: Vec<Kept<'_>> = self.places.iter().map(|(turns, place)| Kept { turns, place }).collect();
        let corpora: Vec<&dyn Turns> = kept.iter().map(|k| k as &dyn Turns).collect();
        let Some(since) = since else { return find(&corpora, query, limit) };
        let mut hits = find(&corpora, query, usize::MAX)?;
        hits.retain(|hit| hit.turn.ts.as_deref().is_some_and(|ts| ts >= since));
        hits.truncate(limit);
        Ok(hits)
    }
}

/// The kept turns of one project.
struct Kept<'a> {
    turns: &'a TurnStore,
    place: &'a TurnPlace,
}

impl Turns for Kept<'_> {
    fn size(&self) -> (usize, usize) {
        (self.place.docs, self.place.length)
    }

    fn holders(&self, term: &str) -> Result<usize> {
        self.turns.holders(self.place, term)
    }

    fn authors(&self) -> Result<Vec<String>> {
        self.turns.authors(self.place)
    }

    fn days(&self) -> Result<Vec<Date>> {
        Ok(self.turns.days(self.place)?.iter().filter_map(|d| d.parse().ok()).collect())
    }

    fn around(&self, terms: &[String], most: usize, days: Option<Range>) -> Result<Vec<(Turn, bool)>> {
        let days = days.map(|r| (r.from.to_string(), r.to.to_string()));
        let days = days.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
        let chosen = self.turns.candidates(self.place, terms, most, days)?;
        let mut all = Vec::new();
        for (session, seqs) in stretches(&chosen) {
            let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else { continue };
            let read = i64::from(READ);
            for turn in self.turns.stretch(self.place, session, first - read, last + read)? {
                let is_candidate = seqs.binary_search(&turn.seq).is_ok();
                all.push((turn, is_candidate));
            }
        }
        Ok(all)
    }
}

/// Sorted candidates as stretches whose surroundings do not overlap.
fn stretches(chosen: &[(String, i64)]) -> Vec<(&str, Vec<i64>)> {
    let apart = 2 * i64::from(READ);
    let near = |a: &(String, i64), b: &(String, i64)| a.0 == b.0 && b.1 - a.1 <= apart;
    let stretch = |chunk: &'_ [(String, i64)]| chunk.iter().map(|(_, seq)| *seq).collect::<Vec<i64>>();
    chosen.chunk_by(near).filter_map(|chunk| Some((chunk.first()?.0.as_str(), stretch(chunk)))).collect()
}
