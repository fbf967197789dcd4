//! `backup` and `restore`: the whole store as one file.

use std::path::PathBuf;

use clap::Args;

use super::app::App;
use super::ui::{count, paint, style};
use crate::error::{Kind, Result};

/// Write all projects into one ZIP file
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl BackupArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let path = app.env.absolute(&self.file);
        let files = if app.ui.wishes.dry_run { 0 } else { app.store()?.backup(&path)? };
        app.ui.line(&format!("{} {files} files in {}", paint(style::GOOD, "backed up"), path.display()));
        Ok(())
    }
}

/// Bring back the projects of a backup; history keeps the present ones
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl RestoreArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let path = app.env.absolute(&self.file);
        let store = app.store()?;
        let receipt = match store.restore(&path, app.ui.wishes.yes) {
            Err(error) if error.kind == Kind::Decision && app.ui.can_ask() => {
                if !app.ui.confirm(&format!("{}; go on?", error.message))? {
                    app.ui.say("nothing was changed");
                    return Ok(());
                }
                store.restore(&path, true)?
            }
            other => other?,
        };
        let files = count(receipt.files.len(), "file", "files");
        app.ui.line(&format!("{} {files}; `claude-mem undo` takes it back", paint(style::GOOD, "restored")));
        Ok(())
    }
}
