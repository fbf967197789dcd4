//! Claude Code's own memory: a folder with `MEMORY.md`, the index that every session reads, and one Markdown file per memory.
//!
//! `place` finds the folder, `folder` reads it, `file` and `index` know the format. On these stand `take` (into our store),
//! `give` (out of it), `check` (what is wrong with a folder) and `consolidate` (what could be mended). Only `record` writes,
//! and only whole files that are as the plan knew them, with a copy of each kept.

pub mod check;
pub mod consolidate;
pub mod contradiction;
pub mod file;
pub mod folder;
pub mod give;
pub mod index;
pub mod merge;
pub mod notes;
pub mod place;
pub mod record;
pub mod take;
pub mod twins;

use crate::model::Id;

/// The index of a memory folder.
pub const INDEX: &str = "MEMORY.md";

/// What the names of our own files begin with; a file without it is the model's or a person's, and never written by export.
pub const PREFIX: &str = "claude-mem-";

/// The file of a memory of ours.
pub fn own_file(id: &Id) -> String {
    format!("{PREFIX}{id}.md")
}

/// The memory that a file of ours is about.
pub fn own_id(file: &str) -> Option<Id> {
    Id::parse(file.strip_prefix(PREFIX)?.strip_suffix(".md")?)
}
