//! The search index: a cache beside the memories, never needed for a right answer.

pub mod doc;
pub mod near;

pub use doc::{Doc, FIELD_NAMES, FIELDS};
