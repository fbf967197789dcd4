//! The store: Markdown files and `index.json` per project, changed by one function only.

pub mod catalogue;
pub mod disk;
pub mod markdown;

pub use catalogue::Catalogue;

use crate::error::Problem;
use crate::model::plan::Base;
use crate::model::{Id, Memory};

/// Name of the project that holds memories of scope global.
pub const GLOBAL: &str = "_global";

/// A memory and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it says.
    pub memory: Memory,
    /// File inside the home, with `/`: `payment-api/working-memory.md`.
    pub file: String,
    /// 1-based line of its heading.
    pub line: u64,
}

/// One project as read at one moment. Planning works on this and on nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Project name.
    pub project: String,
    /// Entries of all layers, file by file in the order of the files; archived ones are not here.
    pub entries: Vec<Entry>,
    /// What Markdown does not hold.
    pub catalogue: Catalogue,
    /// Blocks that could not be parsed, entries that changed outside, and the like.
    pub problems: Vec<Problem>,
    /// State of the files, for [`crate::model::Plan::base`].
    pub base: Base,
}

impl Snapshot {
    /// The entry with this id.
    pub fn entry(&self, id: &Id) -> Option<&Entry> {
        self.entries.iter().find(|e| e.memory.id == *id)
    }
}
