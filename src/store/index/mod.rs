//! The search index: `.state/search.db`, a cache beside the memories, never needed for a right answer.
//!
//! It follows the files: whatever changed them, a command or a hand, is noticed at the next search. Damaged, lost, of another
//! format: it is made anew. Not here: what is found and in which order (`recall::search`), and doing without (`pipeline::search`).

mod db;
pub mod doc;
mod memories;
pub mod near;
mod stamps;
mod write;

pub use doc::{Doc, FIELD_NAMES, FIELDS, Facts, records};
pub use memories::{Index, Place, Refreshed};
pub(super) use write::{follow, forget};
