//! `backup` and `restore`: the whole store as one file.

use std::path::PathBuf;

use clap::Args;

use super::app::{App, fields};
use super::ui::count;
use crate::error::Result;
use crate::store::disk;

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
        let store = app.store()?;
        let there = path.exists();
        if there && !app.ui.wishes.dry_run && !app.ui.confirm(&format!("{} exists; replace it?", self.file.display()))? {
            app.ui.unchanged();
            return Ok(());
        }
        let files = match (app.ui.wishes.dry_run, there) {
            (true, _) => None,
            (false, false) => Some(store.backup(&path)?),
            (false, true) => {
                // The old backup stays until the new one is whole.
                let mut name = path.clone().into_os_string();
                name.push(".new");
                let files = store.backup(std::path::Path::new(&name))?;
                disk::rename(std::path::Path::new(&name), &path)?;
                Some(files)
            }
        };
        let what = match files {
            Some(files) => format!("{} in {}", count(files, "file", "files"), self.file.display()),
            None => format!("{} in {}", count(store.projects()?.len(), "project", "projects"), self.file.display()),
        };
        app.ui.done(
            "backup",
            fields([("file", path.display().to_string().into()), ("files", files.into())]),
            ("backed up", "back up"),
            &what,
        );
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
        let projects = store.would_restore(&path)?;
        let named = |(name, here): &(String, bool)| -> Result<String> {
            let memories = store.snapshot(name)?.entries.len();
            Ok(if *here { format!("{name} ({})", count(memories, "memory", "memories")) } else { name.clone() })
        };
        let replaced = projects.iter().filter(|(_, here)| *here).map(named).collect::<Result<Vec<_>>>()?;
        let names = fields([("projects", projects.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().into())]);
        if projects.is_empty() {
            if app.ui.wishes.json {
                app.ui.object("restore", names);
            } else {
                app.ui.say("nothing to restore: every project of the backup is here as it is there");
            }
            return Ok(());
        }
        if app.ui.wishes.dry_run {
            let verb = if replaced.is_empty() { "restore" } else { "replace" };
            let all = projects.iter().map(named).collect::<Result<Vec<_>>>()?;
            app.ui.done("restore", names, ("restored", verb), &all.join(", "));
            return Ok(());
        }
        let yes = app.ui.wishes.yes || (app.ui.can_ask() && !replaced.is_empty());
        if !replaced.is_empty() && app.ui.can_ask() && !app.ui.confirm(&format!("replace {}?", replaced.join(", ")))? {
            app.ui.unchanged();
            return Ok(());
        }
        store.restore(&path, yes)?;
        let restored = projects.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        app.ui.done("restore", names, ("restored", "restore"), &format!("{restored}; `claude-mem undo` takes it back"));
        Ok(())
    }
}
