//! The one integration binary. Each module is an area; cases are folders below `tests/cases`.

mod api;
mod cli;
#[cfg(feature = "crash-test")]
mod crash;
mod extract;
mod ground;
mod perfect;
mod readme;
mod recall;
mod reconcile;
mod rules;
mod search;
mod store;
mod store_edits;
mod store_projects;
mod support;
mod text;
mod tidy;
mod transcripts;
mod trouble;
mod worked_example;
