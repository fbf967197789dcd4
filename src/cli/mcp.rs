//! `mcp`: the server that Claude Code starts.

use std::path::PathBuf;

use clap::Args;

use super::app::App;
use crate::claude_code::{self, hooks};
use crate::error::Result;
use crate::mcp::{self, Desk, Kept, Place};

/// Serve memories to Claude Code over MCP (stdio); called by Claude Code, not by people
///
/// The project is the one of $CLAUDE_PROJECT_DIR, else of the working folder; $CLAUDE_MEM_PROJECT_KEY or --project names another.
/// With CLAUDE_MEM_OFF=1, or in a folder with a .claude-memignore, every tool answers that it is switched off.
#[derive(Debug, Args)]
pub struct McpArgs {}

impl McpArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let flag = app.named_project(&app.store()?)?;
        let folder = app.env.var("CLAUDE_PROJECT_DIR").map_or_else(|| app.env.cwd.clone(), PathBuf::from);
        let off = || match (hooks::is_off(app.env), claude_code::is_ignored(&folder)) {
            (true, _) => Some("CLAUDE_MEM_OFF"),
            (_, true) => Some(claude_code::IGNORE),
            _ => None,
        };
        let off_projects = app.config.list("hooks.off_projects");
        let desk = Desk {
            env: app.env,
            config: &app.config,
            home: &app.home,
            place: Place { key: flag.or_else(|| app.env.var("CLAUDE_MEM_PROJECT_KEY").map(str::to_owned)), folder: folder.clone() },
            off: &off,
            log: &|line| app.ui.detail(&app.ui.foreign(line)),
            is_off: &|project| off_projects.iter().any(|name| name == project),
            kept: Kept::default(),
        };
        mcp::serve(&desk, std::io::stdin(), app.ui.raw())
    }
}
