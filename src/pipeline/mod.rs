//! The straight line: read, clean, extract, ground, reconcile, commit. Each stage is another module's; here is the order.
//!
//! `sources` finds files, `prepare` turns a conversation into a job, `ingest` runs jobs in small batches and commits
//! each conversation by itself, so that what is done stays done.

pub mod answers;
pub mod belief;
pub mod by_hand;
pub mod figures;
pub mod import;
pub mod ingest;
pub mod known;
pub mod life;
pub mod memory_tests;
pub mod prepare;
pub mod review;
pub mod search;
pub mod settle;
pub mod sources;
pub mod staleness;
pub mod turns;

use std::collections::BTreeMap;

use crate::error::{Error, Problem};
use crate::extract::Usage;
use crate::model::{Code, Id, Memory};

/// What became of one conversation. `ingest --json` and the receipt are made of these.
#[derive(Clone, Debug, Default)]
pub struct SessionReport {
    /// `YYYY-MM-DD-xxxxxxxx`; empty if the file held no conversation.
    pub session: String,
    /// The file as the user named it.
    pub source: String,
    /// Format name.
    pub format: String,
    /// Project it went to.
    pub project: String,
    /// Turns as read.
    pub turns: usize,
    /// The user's turns among them.
    pub user_turns: usize,
    /// Estimated tokens of the new turns as read.
    pub tokens_before: u64,
    /// And after cleaning.
    pub tokens_after: u64,
    /// Secrets that were taken out.
    pub redacted: u64,
    /// Backend.
    pub extractor: String,
    /// Model, if one answered.
    pub model: Option<String>,
    /// Cost.
    pub usage: Usage,
    /// Memories stored by this conversation, as stored.
    pub memories: Vec<Memory>,
    /// Old memories seen again.
    pub confirmed: Vec<Id>,
    /// Pairs (older, newer) that now wait for a decision.
    pub conflicts: Vec<(Id, Id)>,
    /// Todos closed.
    pub completed: Vec<Id>,
    /// Memories replaced.
    pub superseded: Vec<Id>,
    /// What the older memories say that are named above.
    pub says: BTreeMap<Id, String>,
    /// Sent to review, with their reasons.
    pub review: Vec<(Id, Vec<Code>, String)>,
    /// Dropped, with the reason.
    pub rejected: Vec<(Code, String)>,
    /// What was odd in the file.
    pub problems: Vec<Problem>,
    /// Why nothing was asked or stored: `nothing new`, `small talk only`, …
    pub skipped: Option<String>,
    /// What a reader of the receipt should know.
    pub notes: Vec<String>,
    /// Number of the commit, if there was one that can be undone.
    pub commit: Option<u64>,
    /// Whether anything was written for it.
    pub wrote: bool,
    /// Why nothing could be stored; the next run tries it again.
    pub failure: Option<Error>,
}

impl SessionReport {
    /// Whether nothing came of it that anybody would want to hear of.
    pub fn brought_nothing(&self) -> bool {
        let lists = [self.memories.len(), self.review.len(), self.rejected.len(), self.conflicts.len()];
        let older = [&self.confirmed, &self.completed, &self.superseded];
        lists.iter().all(|n| *n == 0) && older.iter().all(|ids| ids.is_empty())
    }
}
