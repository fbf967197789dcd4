//! Extraction: a cleaned conversation goes in, candidates come out. One backend per file behind one trait.

pub mod answer;
pub mod api;
pub mod backend;
pub mod carry;
pub mod chunk;
pub mod claude;
pub mod claude_code;
pub mod estimate;
pub mod ground;
pub mod ladder;
pub mod ledger;
pub mod prices;
pub mod prompt;
pub mod refine;
pub mod replay;
pub mod retry;
pub mod rules;

pub use api::{Key, Timeouts};
pub use claude::{Claude, ClaudeSettings};
pub use claude_code::ClaudeCode;
pub use replay::Replay;
pub use retry::Policy;

use std::future::Future;
use std::pin::Pin;

use crate::error::{Error, Kind, Result};
use crate::model::{Candidate, Conversation, Memory};

/// A known memory as the request shows it: an alias that models copy without error, and the memory.
#[derive(Clone, Debug)]
pub struct Known {
    /// `m01` … `m40`.
    pub alias: String,
    /// What it stands for.
    pub memory: Memory,
}

/// One conversation to extract from.
#[derive(Clone, Debug)]
pub struct Job {
    /// Cleaned and redacted; turn numbers as read.
    pub conversation: Conversation,
    /// Extract only from turns behind this number; earlier ones are context (0: all).
    pub after_turn: u32,
    /// Memories that the conversation may touch, at most 40.
    pub known: Vec<Known>,
    /// `YYYY-MM-DD` against which relative dates are resolved.
    pub day: String,
    /// Project name, shown as scope.
    pub scope: String,
}

/// What a call cost, as the API reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests sent, repeats included.
    pub calls: u32,
    /// Input tokens not from cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from cache.
    pub cache_read: u64,
    /// Input tokens written to cache.
    pub cache_write: u64,
    /// US dollars, by the dated price table; `None` if the model is not in it.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Adds another's calls; a cost that is not known counts as nothing beside one that is.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// A candidate that the answer's form alone ruled out (schema, too long).
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Reason.
    pub code: crate::model::Code,
    /// Its summary, redacted.
    pub summary: String,
}

/// The result of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// In the order of the conversation.
    pub candidates: Vec<Candidate>,
    /// Threads left open, in words.
    pub open_threads: Vec<String>,
    /// Ruled out before grounding.
    pub refused: Vec<Refused>,
    /// Cost.
    pub usage: Usage,
    /// Model that answered, if any.
    pub model: Option<String>,
    /// What a reader of the receipt should know: `temperature not accepted, sent without`, …
    pub notes: Vec<String>,
    /// Skipped as a whole, with the reason (a refusal); the cursor moves all the same.
    pub skipped: Option<String>,
    /// Nothing of this job may be stored and the cursor stays, although the backend could answer.
    pub unfinished: Option<Unfinished>,
}

/// Why an extraction ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The raw answer, which could not be used after a repair either; the caller keeps it in the quarantine.
    Quarantine(String),
    /// The key of the first request that was written (`--dump-requests`) and not asked.
    Dumped(String),
}

impl Unfinished {
    /// How the user is told; `None` for what was asked for (a dump).
    pub fn error(&self) -> Option<Error> {
        match self {
            Self::Quarantine(_) => Some(
                Error::new(Kind::Api, "the model's answer could not be used, not even after a repair; it was put into quarantine")
                    .hint("run the same command again, or try another --model"),
            ),
            Self::Dumped(_) => None,
        }
    }
}

/// A future that a backend returns.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Extraction>> + 'a>>;

/// One way to extract.
pub trait Extractor {
    /// Name in flags and receipts: `claude`, `claude-code`, `rules`, `replay`.
    fn name(&self) -> &'static str;

    /// Reads one conversation. Nothing is stored here.
    ///
    /// # Errors
    /// When the backend cannot answer (key refused, no network, cap reached): the cursor then stays where it is.
    fn extract<'a>(&'a self, job: &'a Job) -> Pending<'a>;
}
