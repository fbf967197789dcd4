//! The one integration binary. Each module is an area; cases are folders below `tests/cases`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests play the user, who reads and writes files and variables, and fail by panicking"
)]

mod api;
mod cli;
#[cfg(feature = "crash-test")]
mod crash;
mod extract;
mod faults;
mod ground;
mod history;
mod history_property;
mod history_steps;
mod hooks;
mod hooks_echo;
mod hooks_queue;
mod import;
mod install;
mod mcp;
mod memory_tests;
mod native;
mod perfect;
mod processes;
mod questions;
mod readme;
mod recall;
mod reconcile;
mod review;
mod rules;
mod search;
mod staleness;
mod store;
mod store_edits;
mod store_projects;
mod store_undo;
mod support;
mod text;
mod tidy;
mod transcripts;
mod trouble;
mod truths;
mod upkeep;
mod worked_example;
