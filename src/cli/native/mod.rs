//! `native`: Claude Code's own memory of this repository, read, filled, checked and mended.

mod check;
mod export;
mod import;
mod status;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::app::App;
use crate::claude_code::native::place::{self, Place};
use crate::error::{Error, Kind, Result};
use crate::store::Store;
use crate::store::identity::{self, Root};

/// Claude Code's own memory of this repository
///
/// Claude Code keeps notes of its own, in a folder with MEMORY.md and one file per memory. These commands read them, write
/// ours beside them, and say what is wrong with them. Files and lines that claude-mem did not write are changed by
/// consolidate alone, and by that only after a yes.
#[derive(Debug, Args)]
pub struct NativeArgs {
    /// The memory folder [default: that of this repository]
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Where the folder is, what is in it, what differs from our memories
    Status,
    /// Take its files over as memories
    ///
    /// Each file is read once, and again when it changed. What speaks as a rule waits in `review`: the words are the
    /// model's, not yours.
    Import {
        /// Take rules over as yours, without review
        #[arg(long)]
        trust: bool,
        /// Also the notes that stand in MEMORY.md itself, one memory per list item
        #[arg(long)]
        notes: bool,
    },
    /// Write our memories into it, one file and one index line each
    ///
    /// Pinned and newest first, within what Claude Code reads of an index. Files that somebody changed or removed since
    /// stay that way.
    Export {
        /// Write files again that somebody removed
        #[arg(long)]
        again: bool,
    },
    /// What is wrong with it: dead links, contradictions, what is cut, what is said twice; exit 1 if anything is
    Check {
        /// Repository that its notes are about [default: this one, unless --dir is given]
        #[arg(long, value_name = "DIR")]
        repo: Option<PathBuf>,
    },
    /// Propose merges and corrections as a diff, and make them after a yes
    Consolidate,
}

impl NativeArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let at = At::find(app, &store, self.dir.as_deref())?;
        match &self.action {
            Action::Status => status::run(app, &store, &at),
            Action::Import { trust, notes } => import::run(app, &store, &at, &import::Options { trust: *trust, notes: *notes }),
            Action::Export { again } => export::run(app, &store, &at, *again),
            Action::Check { repo } => check::run(app, &at, repo.as_deref()),
            Action::Consolidate => check::consolidate(app, &at),
        }
    }
}

/// The folder that is meant.
struct At {
    folder: PathBuf,
    /// The same, safe for a terminal.
    shown: String,
    /// Its place among the client's, unless it was named.
    place: Option<Place>,
    /// The work tree that it is about.
    root: Root,
}

impl At {
    fn find(app: &App, store: &Store, dir: Option<&Path>) -> Result<Self> {
        let root = identity::root_of(&app.env.cwd);
        if let Some(dir) = dir {
            return Ok(Self::of(app, app.env.absolute(dir), None, root));
        }
        let root = match app.named_project(store)? {
            None => root,
            Some(name) => {
                let roots = store.snapshot(&name)?.catalogue.project.roots;
                let first = roots.first().ok_or_else(|| {
                    Error::new(Kind::Usage, format!("project {name} is bound to no folder")).hint("name the memory folder with --dir")
                })?;
                identity::root_of(Path::new(first))
            }
        };
        let place = place::of(app.env, &root)?;
        Ok(Self::of(app, place.folder.clone(), Some(place), root))
    }

    fn of(app: &App, folder: PathBuf, place: Option<Place>, root: Root) -> Self {
        Self { shown: app.ui.foreign(&folder.display().to_string()), folder, place, root }
    }

    /// Refuses to write where a repository sends us: it could name any folder of the user's.
    fn check_to_write(&self) -> Result<()> {
        let Some(by) = self.place.as_ref().and_then(|p| p.chosen_by.as_ref()) else { return Ok(()) };
        let what = format!("{} names {} as the memory folder, and may have come with the repository", by.display(), self.folder.display());
        Err(Error::new(Kind::Usage, what).hint("nothing was written; if that folder is meant, name it with --dir"))
    }

    /// Says what a user would stumble over.
    fn warn(&self, app: &App) {
        let Some(place) = &self.place else { return };
        if let Some(why) = &place.off {
            app.ui.warn(&format!("Claude Code does not use this folder: {}", app.ui.foreign(why)));
        }
        if let Some(by) = &place.chosen_by {
            app.ui
                .warn(&format!("{} names this folder; nothing is written there without --dir", app.ui.foreign(&by.display().to_string())));
        }
        if place.shared {
            app.ui.warn("Claude Code writes every letter but a to z and digits as a hyphen: a repository whose name differs only there has the same folder");
        }
    }
}
