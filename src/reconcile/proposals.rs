//! The model's side of `refine`: its operations become proposals like those of `lint`, after the same doubts.
//!
//! A rewrite may only use numbers, names, paths and versions that stand in the entry or its quotes, and may not turn its
//! sense round. Each entry is read once per text: [`mark`] is what the caller remembers.

use sha2::{Digest, Sha256};

use super::lint::{Kind, Proposal, proposal};
use crate::extract::Known;
use crate::extract::refine::Operation;
use crate::model::{Memory, State};
use crate::text::words;

/// Stable name of "the model has read this entry as it stands": an entry is read again only when its text changed.
pub fn mark(memory: &Memory) -> String {
    let text = format!("read\0{}\0{}\0{:?}", memory.id, memory.summary, memory.reason);
    Sha256::digest(text.as_bytes()).iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// Proposals for the operations; what is left out is said in words.
pub fn proposals(operations: &[(Operation, Option<String>)], entries: &[Known]) -> (Vec<Proposal>, Vec<String>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for (operation, reason) in operations {
        match one(operation, reason.clone(), entries) {
            Ok(proposal) => found.push(proposal),
            Err(why) => left_out.push(why),
        }
    }
    (found, left_out)
}

fn one(operation: &Operation, reason: Option<String>, entries: &[Known]) -> Result<Proposal, String> {
    let find = |alias: &str| entries.iter().find(|k| k.alias == alias).map(|k| &k.memory).ok_or_else(|| format!("{alias} was not shown"));
    let why = |default: &str| reason.clone().unwrap_or_else(|| default.to_owned());
    Ok(match operation {
        Operation::Rewrite { id, summary } => {
            let memory = find(id)?;
            is_said(memory, summary)?;
            proposal(&[memory], Kind::Rewrite { summary: summary.clone() }, why("can be said better"))
        }
        Operation::ProposeMerge { ids, .. } => {
            let memories = ids.iter().map(|id| find(id)).collect::<Result<Vec<_>, _>>()?;
            let fixed = |m: &&Memory| (words::exact(&m.summary), words::negated(&m.summary));
            let first = memories.first().map(fixed);
            if memories.iter().any(|m| Some(fixed(m)) != first) {
                return Err("a merge of entries that differ in a number, a name or a negation".to_owned());
            }
            let longest = memories.iter().max_by_key(|m| (m.summary.chars().count(), &m.id)).ok_or("an empty merge")?;
            proposal(&memories, Kind::Merge { into: longest.id.clone() }, why("they say the same"))
        }
        Operation::FlagConflict { a, b } => {
            let (a, b) = (find(a)?, find(b)?);
            if a.state != State::Valid || b.state != State::Valid {
                return Err("a conflict with an entry that does not hold any more".to_owned());
            }
            let (older, newer) = if a.created <= b.created { (a, b) } else { (b, a) };
            proposal(&[older, newer], Kind::Conflict, why("they cannot both be followed"))
        }
        Operation::SetUntil { id, day } => proposal(&[find(id)?], Kind::SetUntil { day: day.clone() }, why("it ends on that day")),
        Operation::Vague { id, question } => {
            proposal(&[find(id)?], Kind::Doubt { question: question.clone() }, why("nobody can act on it"))
        }
    })
}

/// Whether the new words bring nothing that was not said: the same check as for a new memory, against the kept quotes.
fn is_said(memory: &Memory, summary: &str) -> Result<(), String> {
    let mut said = words::exact(&memory.summary);
    said.extend(words::exact(memory.reason.as_deref().unwrap_or_default()));
    said.extend(memory.evidence.iter().flat_map(|e| words::exact(&e.quote)));
    if let Some(new) = words::exact(summary).iter().find(|token| !said.contains(*token)) {
        return Err(format!("a rewrite of {} names {new}, which nobody said", memory.id));
    }
    if words::negated(summary) != words::negated(&memory.summary) && !memory.evidence.iter().any(|e| words::negated(&e.quote)) {
        return Err(format!("a rewrite of {} turns its sense round", memory.id));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Evidence, Id, Kind as MemoryKind, Layer, Speaker};

    fn known() -> Vec<Known> {
        let make = |n: u64, summary: &str| {
            let mut memory = Memory::new(Id::from_bits(n), Layer::Working, MemoryKind::Decision, summary);
            memory.evidence = vec![Evidence { session: None, turn: 1, speaker: Speaker::User, quote: "uploads end at 20 MB".into() }];
            Known { alias: format!("m{n:02}"), memory }
        };
        vec![make(1, "上传限 20 MB"), make(2, "Uploads: at most 20 MB"), make(3, "Uploads: at most 50 MB")]
    }

    #[test]
    fn only_what_was_said_passes() {
        let cases = [
            (Operation::Rewrite { id: "m01".into(), summary: "上传文件最大 20 MB".into() }, true),
            (Operation::Rewrite { id: "m01".into(), summary: "上传文件最大 200 MB".into() }, false),
            (Operation::Rewrite { id: "m01".into(), summary: "上传不限 20 MB".into() }, false),
            (Operation::ProposeMerge { ids: vec!["m01".into(), "m02".into()], summary: String::new() }, true),
            (Operation::ProposeMerge { ids: vec!["m02".into(), "m03".into()], summary: String::new() }, false),
            (Operation::FlagConflict { a: "m02".into(), b: "m03".into() }, true),
            (Operation::Vague { id: "m09".into(), question: "?".into() }, false),
        ];
        for (operation, passes) in cases {
            let (found, left_out) = proposals(&[(operation.clone(), None)], &known());
            assert_eq!((found.len(), left_out.len()), if passes { (1, 0) } else { (0, 1) }, "{operation:?} {left_out:?}");
        }
    }

    #[test]
    fn an_entry_is_read_again_when_its_text_changed() {
        let mut memory = known().remove(0).memory;
        let before = mark(&memory);
        memory.pinned = true;
        assert_eq!(mark(&memory), before);
        memory.summary.push('!');
        assert_ne!(mark(&memory), before);
    }
}
