//! `backup` and `restore`: the whole store as one file.

use std::path::PathBuf;

use clap::Args;

use super::app::App;
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};

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
        if path.exists() && !app.ui.confirm(&format!("{} exists; replace it?", path.display()))? {
            return Err(Error::new(Kind::Decision, "nothing was written").hint("choose another file"));
        }
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
        let projects = store.backup_projects(&path)?;
        let list = projects.join(", ");
        if app.ui.wishes.dry_run {
            app.ui.line(&format!("would restore {list}"));
            return Ok(());
        }
        if projects.iter().any(|p| store.has_project(p)) && !app.ui.confirm(&format!("replace {list} by the backup?"))? {
            return Err(Error::new(Kind::Decision, "nothing was changed").hint("pass --yes to replace what is there"));
        }
        store.restore(&path, &app.env.now())?;
        app.ui.line(&format!("{} {list}; `claude-mem undo` takes it back", paint(style::GOOD, "restored")));
        Ok(())
    }
}
