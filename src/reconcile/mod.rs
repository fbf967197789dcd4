//! Reconciling: what a candidate is to the memories that are there, and what has to be mended in the store.
//!
//! The model points, code decides. Nothing is overwritten: a memory that is replaced stays readable, with a link, and a
//! pair that disagrees waits for a person unless the user's own words settle it.

pub mod among;
mod candidate;
pub mod claim;
pub mod conflict;
mod dates;
pub mod decay;
pub mod duplicate;
pub mod links;
pub mod lint;
mod looks;
mod makes;
mod merge;
pub mod neighbours;
mod parallels;
mod pieces;
pub mod promote;
pub mod proposals;
mod reworded;
mod roles;
mod rows;
mod standing;
mod todo;
mod units;

use crate::error::{Error, Kind, Result};
use crate::extract::Known;
use crate::extract::ground::{self, Verdict};
use crate::model::plan::MemoryRecord;
use crate::model::{Change, Code, Id, Memory, Origin, ReviewItem, State};
use crate::store::{GLOBAL, Snapshot};

/// What reconciling knows beside the store.
#[derive(Clone, Copy)]
pub struct ReconcileContext<'a> {
    /// The memories that the extractor was shown, of the project and of `_global`.
    pub known: &'a [Known],
    /// `_global` as it is now, where the project is another one.
    pub global: Option<&'a Snapshot>,
    /// Project name.
    pub project: &'a str,
    /// `YYYY-MM-DD-xxxxxxxx`.
    pub session: &'a str,
    /// RFC 3339 time of the run.
    pub at: &'a str,
    /// The backend.
    pub origin: Origin,
    /// Git branch of the conversation.
    pub branch: Option<&'a str>,
    /// `YYYY-MM-DD` of the conversation.
    pub day: &'a str,
    /// More replaced memories than this stop the run.
    pub max_supersedes: usize,
    /// Makes ids.
    pub new_id: &'a dyn Fn() -> Result<Id>,
}

/// What a run would do, and what it would say.
#[derive(Debug, Default)]
pub struct Outcome {
    /// For the project.
    pub changes: Vec<Change>,
    /// For `_global`: long-term preferences with scope `global`.
    pub global_changes: Vec<Change>,
    /// New memories.
    pub added: Vec<Id>,
    /// Seen again.
    pub confirmed: Vec<Id>,
    /// Pairs that disagree: the one that was there, the new one.
    pub conflicts: Vec<(Id, Id)>,
    /// Todos that are done now.
    pub completed: Vec<Id>,
    /// Replaced by the user's own words.
    pub superseded: Vec<Id>,
    /// Sent to review, with reasons and summary.
    pub review: Vec<(Id, Vec<Code>, String)>,
    /// Not stored, with reason and summary.
    pub dropped: Vec<(Code, String)>,
    /// Too much would be replaced at once: look at the plan first.
    pub stop: Option<Error>,
}

/// Turns checked candidates into changes of one project (and of `_global`). Pure but for the ids it asks for.
///
/// # Errors
/// When no id can be made.
pub fn reconcile(verdicts: Vec<Verdict>, snapshot: &Snapshot, context: &ReconcileContext) -> Result<Outcome> {
    let mut merge = merge::Merge::new(snapshot, context);
    let mut kept = Vec::new();
    for verdict in verdicts {
        match verdict.outcome.clone() {
            ground::Outcome::Drop(code) => merge.out.dropped.push((code, verdict.candidate.summary)),
            ground::Outcome::Review(codes) => {
                let memory = candidate::memory(&verdict, (context.new_id)()?, context);
                kept.push((verdict, memory, Some(codes)));
            }
            ground::Outcome::Keep => {
                let memory = candidate::memory(&verdict, (context.new_id)()?, context);
                kept.push((verdict, memory, None));
            }
        }
    }
    merge.expect(&kept);
    for (verdict, memory, codes) in kept {
        match codes {
            None => merge.take(&verdict, memory)?,
            Some(codes) => merge.ask(memory, codes),
        }
    }
    let mut out = merge.finish()?;
    let replaced = out.superseded.len() + out.changes.iter().filter(|c| matches!(c, Change::Conflict { supersedes: true, .. })).count();
    if replaced > context.max_supersedes {
        let message = format!("this run would replace {replaced} memories at once, more than {}", context.max_supersedes);
        out.stop =
            Some(Error::new(Kind::Decision, message).hint("look at the plan with --dry-run, then raise max_supersedes for this run"));
    }
    Ok(out)
}

/// A review item for a memory as it would be stored.
fn review_item(memory: &Memory, codes: Vec<Code>, project: &str) -> ReviewItem {
    ReviewItem { id: memory.id.clone(), codes, memory: MemoryRecord::of(memory, project) }
}

/// Whether a memory belongs to `_global`: only a lasting preference that says so itself.
fn is_global(memory: &Memory) -> bool {
    memory.kind == crate::model::Kind::Preference
        && memory.layer == crate::model::Layer::LongTerm
        && memory
            .scope
            .as_deref()
            .is_some_and(|scope| scope.trim().trim_start_matches('_').eq_ignore_ascii_case(GLOBAL.trim_start_matches('_')))
}

/// Whether a stored memory can still be meant: it holds, or it was turned down.
fn is_live(memory: &Memory) -> bool {
    matches!(memory.state, State::Valid | State::Rejected | State::Done)
}
