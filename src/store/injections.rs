//! Receipts of what was put in front of a conversation: one JSON line each, only ever appended.

use serde::{Deserialize, Serialize};

use super::{Store, disk, layout};
use crate::error::{Error, Result};
use crate::model::Id;

/// One injection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Injection {
    /// RFC 3339.
    pub at: String,
    /// Project.
    pub project: String,
    /// `standard`, `light`, `deep`, or the hook that asked.
    pub mode: String,
    /// Where it went: `clipboard`, `stdout`, `hook`, `mcp`.
    pub target: String,
    /// Session it was made for, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Memories shown, in order.
    pub ids: Vec<Id>,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Memories left out, each with the reason.
    pub left_out: Vec<LeftOut>,
}

/// A memory that was not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The memory.
    pub id: Id,
    /// Why, in a word: `budget`, `superseded`, …
    pub why: String,
}

impl Store {
    /// Writes a receipt down. Not brought to the disk with fsync: a lost receipt hurts less than a slow hook.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record_injection(&self, injection: &Injection) -> Result<()> {
        let line = serde_json::to_string(injection).map_err(|e| Error::failure(format!("the receipt cannot be written: {e}")))?;
        disk::create_dir(&layout::state(&self.home))?;
        disk::append(&layout::injections(&self.home), &format!("{line}\n"))
    }

    /// The receipts, oldest first, and how many lines could not be read (a line cut off by a crash, for one).
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn injections(&self) -> Result<(Vec<Injection>, usize)> {
        let path = layout::injections(&self.home);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(e) => return Err(Error::io("read", &path, &e)),
        };
        let lines = bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty());
        let read: Vec<Option<Injection>> = lines.map(|l| serde_json::from_slice(l).ok()).collect();
        let bad = read.iter().filter(|i| i.is_none()).count();
        Ok((read.into_iter().flatten().collect(), bad))
    }
}
