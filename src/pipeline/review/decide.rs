//! What a decision does: one plan per item, the same for the terminal, the file, scripts and the MCP server.

use super::{Item, Matter};
use crate::error::{Error, Kind, Result};
use crate::model::plan::Plan;
use crate::model::{Change, Memory};
use crate::pipeline::by_hand;
use crate::reconcile::{duplicate, lint};
use crate::store::Snapshot;

/// What stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Of a pair the newer one. Anything else stays as it is now.
    New,
    /// Of a pair the older one. Of what was changed outside, what it said before. Anything else goes for good.
    Old,
    /// Both of a pair hold. Anything else stays as it is now.
    Both,
}

impl Keep {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::New, Self::Old, Self::Both];

    /// The name used on the command line, in MCP and in the catalogue.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Old => "old",
            Self::Both => "both",
        }
    }

    /// The choice with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == text.trim())
    }
}

/// What a person says to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It stays, or it goes.
    Keep(Keep),
    /// It stays in these words; of a pair they replace both.
    Merge(Box<Memory>),
    /// Neither of a pair holds.
    Neither,
}

/// Whose word a decision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The owner's: what they let stand they vouch for.
    Owner,
    /// A model's that says what its user wants: it settles the question and vouches for nothing.
    Model,
}

/// What a merge begins with: the memory, with quotes, keywords and reasons of the older one if it is a pair.
pub fn draft(item: &Item) -> Memory {
    let mut memory = item.memory.clone();
    if let Some(older) = item.other.as_ref().filter(|_| item.matter == Matter::Conflict) {
        let links = memory.relations.clone();
        lint::absorb(&mut memory, &[older]);
        // The links of a pair are set when it is settled.
        memory.relations = links;
    }
    memory
}

/// Plans a decision, for the project as it is now.
///
/// # Errors
/// [`Kind::Busy`] if what was shown has changed meanwhile.
pub fn plan(now: &Snapshot, item: &Item, decision: &Decision, voice: Voice, at: &str) -> Result<Plan> {
    if !waits(now, item) {
        return Err(Error::new(Kind::Busy, format!("{} was changed or decided by somebody else meanwhile", item.memory.id))
            .hint("look at it again with `claude-mem review`"));
    }
    let mut plan = by_hand::plan(now, "resolve", at);
    plan.changes = changes(now, item, decision, voice, at);
    Ok(plan)
}

/// Whether the memories are as they were shown, and the question is still open.
pub fn waits(now: &Snapshot, item: &Item) -> bool {
    let same = |memory: &Memory| now.entry(&memory.id).is_some_and(|e| e.memory == *memory);
    let id = item.memory.id.as_str();
    match &item.matter {
        Matter::Conflict => {
            let waits = |older: &Memory| {
                let mut pairs = now.catalogue.conflicts.iter();
                pairs.any(|c| c.state == "pending" && c.newer == id && c.older == older.id.as_str())
            };
            same(&item.memory) && item.other.as_ref().is_some_and(|older| same(older) && waits(older))
        }
        Matter::Candidate(_) => now.catalogue.review.iter().any(|r| r.id == item.id),
        Matter::Added | Matter::Changed => same(&item.memory) && now.hand_edits.contains(&item.memory.id),
        Matter::Dependant { .. } | Matter::Imported | Matter::Vague { .. } => same(&item.memory),
    }
}

fn changes(now: &Snapshot, item: &Item, decision: &Decision, voice: Voice, at: &str) -> Vec<Change> {
    let memory = &item.memory;
    let forget = |memory: &Memory| Change::Forget { id: memory.id.clone(), tombstone: Some(duplicate::tombstone_of(memory, at)) };
    let answered = |tombstone| Change::Answer { id: item.id.clone(), tombstone };
    let vouched = |memory: &Memory| if voice == Voice::Owner { by_hand::own(memory) } else { memory.clone() };
    let accepted = || Change::Accept { ids: vec![memory.id.clone()] };
    match (&item.matter, decision) {
        (Matter::Conflict, _) => conflict(now, item, decision, voice, at),
        (Matter::Candidate(_), Decision::Keep(Keep::New | Keep::Both)) => vec![answered(None), Change::Add(vouched(memory))],
        (Matter::Candidate(_), Decision::Merge(text)) => vec![answered(None), Change::Add(vouched(text))],
        (Matter::Candidate(_), _) => vec![answered(Some(duplicate::tombstone_of(memory, at)))],
        (Matter::Dependant { key }, Decision::Keep(Keep::New | Keep::Both)) => {
            vec![answered(None), Change::Decline { keys: vec![key.clone()] }]
        }
        (Matter::Dependant { key }, Decision::Merge(text)) => {
            // In its new words it may still name what was replaced; its owner has just looked at that.
            let replaced: Vec<&Memory> = std::iter::once(&**text).chain(item.other.as_ref()).collect();
            let keys = vec![key.clone(), lint::key("dependant", &replaced)];
            [answered(None), Change::Decline { keys }].into_iter().chain(by_hand::amend(now, text)).collect()
        }
        (Matter::Dependant { .. }, _) => vec![answered(None), forget(memory)],
        (Matter::Added | Matter::Changed, Decision::Keep(Keep::New | Keep::Both)) => vec![accepted()],
        (Matter::Added | Matter::Changed, Decision::Merge(text)) => by_hand::amend(now, text),
        (Matter::Changed, Decision::Keep(Keep::Old)) if item.other.is_some() => {
            let before = item.other.iter();
            // What differs in its details only is no other claim, and the stone would lie on the entry itself.
            let tombstone =
                before.clone().all(|b| !duplicate::alike(&b.summary, &memory.summary)).then(|| duplicate::tombstone_of(memory, at));
            before.cloned().map(Change::Amend).chain([accepted(), answered(tombstone)]).collect()
        }
        (Matter::Imported, Decision::Keep(Keep::New | Keep::Both)) => by_hand::amend(now, memory),
        (Matter::Vague { key }, Decision::Keep(Keep::New | Keep::Both)) => vec![Change::Decline { keys: vec![key.clone()] }],
        (Matter::Imported | Matter::Vague { .. }, Decision::Merge(text)) => by_hand::amend(now, text),
        (Matter::Added | Matter::Changed | Matter::Imported | Matter::Vague { .. }, _) => vec![forget(memory)],
    }
}

fn conflict(now: &Snapshot, item: &Item, decision: &Decision, voice: Voice, at: &str) -> Vec<Change> {
    let (newer, Some(older)) = (&item.memory, &item.other) else { return Vec::new() };
    let settle = |how: &str, loser: Option<&Memory>| Change::Settle {
        older: older.id.clone(),
        newer: newer.id.clone(),
        how: how.to_owned(),
        tombstone: loser.map(|m| duplicate::lost(m, at)),
    };
    let forget = |memory: &Memory| Change::Forget { id: memory.id.clone(), tombstone: Some(duplicate::tombstone_of(memory, at)) };
    // What was chosen holds from now on, also if it appeared outside; the other side may not fall to what is held back.
    let chosen = |sides: &[&Memory]| by_hand::accept(now, sides.iter().copied()).filter(|_| voice == Voice::Owner);
    match decision {
        Decision::Keep(Keep::New) => chosen(&[newer]).into_iter().chain([settle("new", Some(older))]).collect(),
        Decision::Keep(Keep::Old) => chosen(&[older]).into_iter().chain([settle("old", Some(newer))]).collect(),
        Decision::Keep(Keep::Both) => chosen(&[older, newer]).into_iter().chain([settle("both", None)]).collect(),
        Decision::Merge(text) => by_hand::amend(now, text).into_iter().chain([settle("merged", Some(older))]).collect(),
        Decision::Neither => vec![forget(older), forget(newer)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Kind as Says, Layer, Origin};

    /// A rule out of a file that was not sure enough to be stored.
    fn candidate() -> Item {
        let mut memory = Memory::new(Id::from_bits(1), Layer::LongTerm, Says::Convention, "提交信息一律用英文");
        memory.origin = Origin::Import;
        let (id, matter) = (memory.id.clone(), Matter::Candidate(Vec::new()));
        Item { project: "shop".into(), id, matter, memory, other: None, reason: String::new(), risk: 1.0 }
    }

    #[test]
    fn the_owner_vouches_for_a_candidate_and_a_model_does_not() {
        let reworded = Decision::Merge(Box::new(candidate().memory));
        for decision in [Decision::Keep(Keep::New), Decision::Keep(Keep::Both), reworded] {
            for (voice, origin) in [(Voice::Owner, Origin::Manual), (Voice::Model, Origin::Import)] {
                let changes = changes(&Snapshot::default(), &candidate(), &decision, voice, "");
                let added = changes.iter().find_map(|c| if let Change::Add(memory) = c { Some(memory) } else { None });
                assert_eq!(added.map(|m| &m.origin), Some(&origin), "{voice:?}: {decision:?}");
            }
        }
    }
}
