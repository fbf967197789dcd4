//! `mcp`: the server that Claude Code starts.

use std::path::PathBuf;

use clap::Args;

use super::app::App;
use crate::claude_code::is_ignored;
use crate::error::Result;
use crate::mcp::{self, Desk, Kept, Place};

/// Serve memories to Claude Code over MCP (stdio); called by Claude Code, not by people
///
/// The project is the one of $CLAUDE_PROJECT_DIR, else of the working folder; $CLAUDE_MEM_PROJECT_KEY or --project names another.
#[derive(Debug, Args)]
pub struct McpArgs {}

impl McpArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let flag = app.named_project(&app.store()?)?;
        let folder = app.env.var("CLAUDE_PROJECT_DIR").map_or_else(|| app.env.cwd.clone(), PathBuf::from);
        let off = app.config.list("hooks.off_projects");
        let desk = Desk {
            env: app.env,
            config: &app.config,
            home: &app.home,
            place: Place { key: flag.or_else(|| app.env.var("CLAUDE_MEM_PROJECT_KEY").map(str::to_owned)), folder: folder.clone() },
            log: &|line| app.ui.detail(&app.ui.foreign(line)),
            is_off: &|project| is_ignored(&folder) || off.iter().any(|name| name == project),
            kept: Kept::default(),
        };
        mcp::serve(&desk, std::io::stdin(), app.ui.raw())
    }
}
