//! Pairs of memories that disagree: flags on both entries and the record in the catalogue.

use super::apply::Draft;
use super::catalogue::ConflictRecord;
use crate::error::{Error, Result};
use crate::model::{Id, Relation, RelationType, State};

impl Draft {
    /// Changes relations and state of an entry. One that is written too unusually for that keeps its text and is named.
    pub(super) fn relate(&mut self, id: &Id, change: impl FnOnce(&mut Vec<Relation>), state: Option<State>) -> Result<()> {
        let mut memory = self.get(id)?.clone();
        change(&mut memory.relations);
        memory.state = state.unwrap_or(memory.state);
        match self.amend(&memory) {
            Err(error) if state.is_none() => {
                self.notices.push(format!("{id} could not be flagged in its file: {error}"));
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn conflict(&mut self, older: &Id, newer: &Id, reason: &str, supersedes: bool) -> Result<()> {
        for (id, other) in [(older, newer), (newer, older)] {
            let link = Relation { id: other.clone(), kind: RelationType::Conflicts };
            self.relate(id, |relations| relations.extend((!relations.contains(&link)).then_some(link)), None)?;
        }
        let record = ConflictRecord {
            older: older.to_string(),
            newer: newer.to_string(),
            reason: super::markdown::one_line(reason),
            supersedes,
            detected: self.at.clone(),
            state: "pending".to_owned(),
        };
        let conflicts = &mut self.project.catalogue.conflicts;
        conflicts.retain(|c| !is_pair(c, older, newer));
        conflicts.push(record);
        Ok(())
    }

    pub(super) fn settle(&mut self, older: &Id, newer: &Id, how: &str) -> Result<()> {
        let loser = match how {
            "new" | "merged" => Some((older, newer)),
            "old" => Some((newer, older)),
            "both" => None,
            _ => return Err(Error::failure(format!("{how:?} is no way to settle a conflict")).hint("use new, old, both or merged")),
        };
        for (id, other) in [(older, newer), (newer, older)] {
            let link = match loser {
                Some((lost, _)) if lost == id => Some(RelationType::SupersededBy),
                Some(_) => Some(RelationType::Supersedes),
                None => None,
            };
            let link = link.map(|kind| Relation { id: other.clone(), kind });
            let state = loser.and_then(|(lost, _)| (lost == id).then_some(State::Superseded));
            let change = |relations: &mut Vec<Relation>| {
                relations.retain(|r| r.id != *other || r.kind != RelationType::Conflicts);
                relations.extend(link.filter(|l| !relations.contains(l)));
            };
            self.relate(id, change, state)?;
        }
        let conflicts = &mut self.project.catalogue.conflicts;
        match conflicts.iter_mut().find(|c| is_pair(c, older, newer)) {
            Some(known) => how.clone_into(&mut known.state),
            None => conflicts.push(ConflictRecord {
                older: older.to_string(),
                newer: newer.to_string(),
                detected: self.at.clone(),
                state: how.to_owned(),
                ..ConflictRecord::default()
            }),
        }
        Ok(())
    }
}

fn is_pair(record: &ConflictRecord, a: &Id, b: &Id) -> bool {
    let pair = (record.older.as_str(), record.newer.as_str());
    pair == (a.as_str(), b.as_str()) || pair == (b.as_str(), a.as_str())
}
