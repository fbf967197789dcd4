//! Reconciling: what a candidate is to the memories that are there, and what has to be mended in the store.

pub mod decay;
pub mod duplicate;
pub mod lint;
