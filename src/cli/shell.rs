//! `completions` and `man`: made from the same definitions as the help.

use clap::Args;
use clap_complete::Shell;
use std::io::Read;

use super::app::App;
use crate::clipboard;
use crate::error::{Error, Result};

/// Print completions for a shell
///
/// For bash: claude-mem completions bash > ~/.local/share/bash-completion/completions/claude-mem
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl CompletionsArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut out = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "claude-mem", &mut out);
        app.ui.data(&String::from_utf8_lossy(&out));
        Ok(())
    }
}

/// Print the manual page
///
/// Read it with: claude-mem man | man -l -
#[derive(Debug, Args)]
pub struct ManArgs {}

impl ManArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut out = Vec::new();
        let mut command = super::command();
        command.build();
        let failed = |e: std::io::Error| Error::failure(format!("the manual cannot be made: {e}"));
        clap_mangen::Man::new(command.clone()).render(&mut out).map_err(failed)?;
        for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            clap_mangen::Man::new(sub.clone()).render_synopsis_section(&mut out).map_err(failed)?;
            clap_mangen::Man::new(sub.clone()).render_description_section(&mut out).map_err(failed)?;
            clap_mangen::Man::new(sub.clone()).render_options_section(&mut out).map_err(failed)?;
        }
        app.ui.data(&String::from_utf8_lossy(&out));
        Ok(())
    }
}

/// Hold a text on the clipboard for a while; started by inject, not by people
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ClipboardArgs {}

impl ClipboardArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(|e| Error::failure(format!("stdin cannot be read: {e}")))?;
        clipboard::serve(&text, &mut app.ui.raw())
    }
}
