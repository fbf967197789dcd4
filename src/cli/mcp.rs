//! `mcp`: the server that Claude Code starts.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::Args;

use super::app::App;
use crate::error::Result;
use crate::mcp::{self, Desk, Place};

/// Serve memories to Claude Code over MCP (stdio); called by Claude Code, not by people
///
/// The project is the one of $CLAUDE_PROJECT_DIR, else of the working folder; $CLAUDE_MEM_PROJECT_KEY or --project names another.
#[derive(Debug, Args)]
pub struct McpArgs {}

impl McpArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let flag = app.named_project(&app.store()?)?;
        let desk = Desk {
            env: app.env,
            config: &app.config,
            home: &app.home,
            place: Place {
                key: flag.or_else(|| app.env.var("CLAUDE_MEM_PROJECT_KEY").map(str::to_owned)),
                folder: app.env.var("CLAUDE_PROJECT_DIR").map_or_else(|| app.env.cwd.clone(), PathBuf::from),
            },
            log: &|line| app.ui.detail(&app.ui.foreign(line)),
            seen: RefCell::default(),
        };
        mcp::serve(&desk, std::io::stdin(), app.ui.raw())
    }
}
