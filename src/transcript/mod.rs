//! Reading transcripts: one file per foreign format behind one trait. Takes bytes, gives conversations and problems.
//!
//! Nothing here opens files, reads clocks or prints. A bad line is counted, never an abort.

use std::io::{BufRead, Seek};

use crate::error::{Problem, Result};
use crate::model::{Conversation, Cursor};

/// What a format reads from: seekable, so that archives and second looks work; never loaded whole.
pub trait Input: BufRead + Seek {}
impl<T: BufRead + Seek> Input for T {}

/// Choices of the reader.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Also read sidechains and `agent-*.jsonl` (off by default).
    pub sidechains: bool,
    /// File name without folder, for formats that keep the date or session only there.
    pub file_name: String,
}

/// What a reading reports beside its conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Name of the format, such as `claude-code`.
    pub format: &'static str,
    /// What was skipped or mended, with line and reason.
    pub problems: Vec<Problem>,
    /// Where reading may go on when the file has grown: behind the last whole line.
    pub cursor: Cursor,
}

/// One foreign format.
pub trait Format: Sync {
    /// Stable name: shown in receipts, stored in `index.json`, named in fixtures.
    fn name(&self) -> &'static str;

    /// Whether the first bytes (up to 64 KiB, BOM removed, UTF-8 with replacement) are of this format.
    fn detect(&self, head: &str) -> bool;

    /// Reads everything, one conversation at a time into `out`, and says what was odd.
    ///
    /// # Errors
    /// Only if the input itself cannot be read; odd content is a [`Problem`].
    fn read(&self, input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading>;
}
