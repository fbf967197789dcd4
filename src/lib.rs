//! claude-mem: the memory for Claude that its owner can read, check and trust.
//!
//! The straight line: `transcript` reads, `text` cleans, `extract` proposes, `extract::ground` checks,
//! `reconcile` plans, `store` commits; `recall` brings it back. ARCHITECTURE.md has the map.

pub mod claude_code;
pub mod cli;
pub mod clipboard;
pub mod config;
pub mod cores;
pub mod env;
pub mod error;
pub mod extract;
pub mod foreign;
pub mod mcp;
pub mod model;
pub mod pipeline;
pub mod recall;
pub mod reconcile;
pub mod repo;
pub mod store;
pub mod text;
pub mod transcript;
