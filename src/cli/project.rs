//! `project`: which memories belong together, and to which repository.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::app::{App, Here, fields};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::store::GLOBAL;
use crate::store::identity::{self, Root};

/// Make, show, rename, bind and remove projects
#[derive(Debug, Args)]
pub struct ProjectArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a project for this repository, or one by name
    Init {
        /// Its name [default: that of the repository's folder]
        name: Option<String>,
    },
    /// Every project with its memories and folders
    List,
    /// The project of this folder
    Show,
    /// Give a project another name
    Rename {
        /// Its name now
        from: String,
        /// Its name from now on
        to: String,
    },
    /// Let a folder's repository share a project's memories
    Bind {
        /// The project
        name: String,
        /// The folder [default: this one]
        folder: Option<PathBuf>,
    },
    /// Take a project out of the store; history keeps it
    Remove {
        /// Its name
        name: String,
    },
}

impl ProjectArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        match &self.action {
            Action::Init { name } => init(app, name.as_deref()),
            Action::List => list(app),
            Action::Show => {
                let name = app.project(&store)?;
                let root = Some(identity::root_of(&app.env.cwd)).filter(Root::is_repository).map(|r| r.folder.display().to_string());
                if app.ui.wishes.json {
                    app.ui.object("project", fields([("name", name.into()), ("repository", json!(root))]));
                } else {
                    app.ui.line(&name);
                }
                Ok(())
            }
            Action::Rename { from, to } => {
                if !app.ui.wishes.dry_run {
                    app.announce(&store.rename(from, to)?);
                }
                app.ui.say(&format!("{from} is now {to}"));
                Ok(())
            }
            Action::Bind { name, folder } => {
                let folder = folder.as_ref().map_or(app.env.cwd.clone(), |f| app.env.absolute(f));
                let root = identity::root_of(&folder);
                if !app.ui.wishes.dry_run {
                    store.bind(name, &root.path)?;
                }
                app.ui.say(&format!("{} shares the memories of {name}", root.folder.display()));
                Ok(())
            }
            Action::Remove { name } => {
                if !store.has_project(name) {
                    return Err(
                        Error::new(Kind::Usage, format!("there is no project `{name}`")).hint("`claude-mem project list` shows them")
                    );
                }
                let entries = store.snapshot(name)?.entries.len();
                if !app.ui.wishes.dry_run {
                    if !app.ui.confirm(&format!("remove project {name} with {}?", count(entries, "memory", "memories")))? {
                        app.ui.say("nothing was changed");
                        return Ok(());
                    }
                    app.announce(&store.remove(name)?);
                }
                app.ui.say(&format!("removed {name}; `claude-mem undo` brings it back"));
                Ok(())
            }
        }
    }
}

fn init(app: &App, name: Option<&str>) -> Result<()> {
    let store = app.store()?;
    let (name, root) = match (name, app.here(&store)?) {
        (None, Here::Project(name)) => {
            app.ui.say(&format!("this repository already is project {name}"));
            return Ok(());
        }
        (None, Here::Repository(root, name)) => (name, Some(root)),
        (None, Here::Nowhere) => {
            return Err(Error::new(Kind::Usage, "this folder is in no repository, so the project needs a name")
                .hint("claude-mem project init NAME"));
        }
        (Some(name), Here::Repository(root, _)) => (name.to_owned(), Some(root)),
        (Some(name), _) => (name.to_owned(), None),
    };
    if store.has_project(&name) && (root.is_none() || !store.is_vacant(&name)?) {
        app.ui.say(&format!("project {name} is there already"));
        return Ok(());
    }
    app.make_project(&store, &name, root.as_ref().map(|r| r.path.as_path()))?;
    if app.ui.wishes.json {
        app.ui.object("project", fields([("name", name.into())]));
    } else {
        app.ui.line(&format!("{} project {name} in {}", paint(style::GOOD, "made"), app.home.join(&name).display()));
    }
    Ok(())
}

fn list(app: &App) -> Result<()> {
    let store = app.store()?;
    let mut rows = Vec::new();
    for project in store.projects()? {
        let snapshot = store.snapshot(&project)?;
        rows.push((project, snapshot.entries.len(), snapshot.catalogue.sessions.len(), snapshot.catalogue.project.roots));
    }
    if app.ui.wishes.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, memories, sessions, roots)| json!({"name": name, "memories": memories, "sessions": sessions, "roots": roots}))
            .collect();
        app.ui.object("project", fields([("projects", rows.into())]));
        return Ok(());
    }
    for (name, memories, sessions, roots) in &rows {
        let shown = if name == GLOBAL { format!("{name} (every project)") } else { name.clone() };
        let what = format!("{}, {}", count(*memories, "memory", "memories"), count(*sessions, "conversation", "conversations"));
        app.ui.line(&format!(
            "{}  {what}  {}",
            paint(style::STRONG, &app.ui.foreign(&shown)),
            paint(style::DIM, &app.ui.foreign(&roots.join(", ")))
        ));
    }
    if rows.is_empty() {
        app.ui.say("no projects yet; `claude-mem ingest` makes them");
    }
    Ok(())
}
