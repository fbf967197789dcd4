//! `project`: which memories belong together, and to which repository.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::app::{App, Here, fields};
use super::ui::wrap::{column, padded};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::store::identity::{self, Root};
use crate::store::{GLOBAL, Store};

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
    /// Let a folder's repository no longer share them
    Unbind {
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
            Action::Show => show(app, &store, &app.project(&store)?),
            Action::Rename { from, to } => {
                known(&store, from)?;
                if !app.ui.wishes.dry_run {
                    app.announce(&store.rename(from, to)?);
                }
                let row = fields([("name", to.as_str().into()), ("from", from.as_str().into())]);
                app.ui.done("project", row, ("renamed", "rename"), &format!("{from} to {to}"));
                Ok(())
            }
            Action::Bind { name, folder } => bind(app, &store, name, folder.as_deref(), true),
            Action::Unbind { name, folder } => bind(app, &store, name, folder.as_deref(), false),
            Action::Remove { name } => {
                known(&store, name)?;
                let entries = count(store.snapshot(name)?.entries.len(), "memory", "memories");
                let row = fields([("name", name.as_str().into())]);
                if app.ui.wishes.dry_run {
                    app.ui.done("project", row, ("removed", "remove"), &format!("project {name} with {entries}"));
                    return Ok(());
                }
                if !app.ui.confirm(&format!("remove project {name} with {entries}?"))? {
                    app.ui.unchanged();
                    return Ok(());
                }
                app.announce(&store.remove(name)?);
                app.ui.done("project", row, ("removed", "remove"), &format!("project {name}; `claude-mem undo` brings it back"));
                Ok(())
            }
        }
    }
}

fn known(store: &Store, name: &str) -> Result<()> {
    if store.has_project(name) {
        return Ok(());
    }
    Err(Error::new(Kind::Usage, format!("there is no project `{name}`")).hint("`claude-mem project list` shows them"))
}

/// Binds a project to a folder's repository, or frees it from it.
fn bind(app: &App, store: &Store, name: &str, folder: Option<&Path>, to: bool) -> Result<()> {
    known(store, name)?;
    let root = identity::root_of(&folder.map_or(app.env.cwd.clone(), |f| app.env.absolute(f)));
    let roots = store.snapshot(name)?.catalogue.project.roots;
    let bound = roots.contains(&root.path.to_string_lossy().into_owned());
    let shown = root.folder.display();
    if !to && !bound {
        let hint = if roots.is_empty() { "it is bound to no folder".to_owned() } else { format!("it is bound to {}", roots.join(", ")) };
        return Err(Error::new(Kind::Usage, format!("project {name} is not bound to {shown}")).hint(hint));
    }
    if !app.ui.wishes.dry_run {
        app.announce(&if to { store.bind(name, &root.path)? } else { store.unbind(name, &root.path)? });
    }
    let row = fields([("name", name.into()), ("folder", shown.to_string().into())]);
    let verb = if to { ("bound", "bind") } else { ("unbound", "unbind") };
    app.ui.done("project", row, verb, &format!("{shown} {} project {name}", if to { "to" } else { "from" }));
    Ok(())
}

/// One project: where its files are, what is in it, and which repositories share it.
fn show(app: &App, store: &Store, name: &str) -> Result<()> {
    let snapshot = store.snapshot(name)?;
    let roots = &snapshot.catalogue.project.roots;
    let folder = app.home.join(name);
    let here = Some(identity::root_of(&app.env.cwd)).filter(Root::is_repository).map(|r| r.folder.display().to_string());
    let mut files: Vec<&str> = snapshot.entries.iter().map(|e| e.file.as_str()).collect();
    files.dedup();
    let (memories, sessions) = (snapshot.entries.len(), snapshot.catalogue.sessions.len());
    if app.ui.wishes.json {
        let row = [
            ("name", name.into()),
            ("repository", json!(here)),
            ("path", folder.display().to_string().into()),
            ("memories", memories.into()),
            ("sessions", sessions.into()),
            ("roots", json!(roots)),
            ("files", json!(files)),
        ];
        app.ui.object("project", fields(row));
        return Ok(());
    }
    app.ui.line(&paint(style::STRONG, &app.ui.foreign(name)));
    if !store.has_project(name) {
        app.ui.say(&super::app::nothing_yet(name));
        return Ok(());
    }
    let row = |what: &str, value: &str| {
        app.ui.hang(&format!("  {} {}", paint(style::DIM, &format!("{what:<13}")), app.ui.foreign(value)), 16);
    };
    row("memories", &memories.to_string());
    row("conversations", &sessions.to_string());
    row("bound to", &if roots.is_empty() { "no repository".to_owned() } else { roots.join(", ") });
    row("folder", &folder.display().to_string());
    for file in files {
        row("", &app.home.join(file).display().to_string());
    }
    Ok(())
}

fn init(app: &App, name: Option<&str>) -> Result<()> {
    let store = app.store()?;
    let (name, root) = match (name, app.here(&store)?) {
        (None, Here::Project(name)) => {
            return settled(app, &name, &format!("this repository already is project {name}"));
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
        return settled(app, &name, &format!("project {name} is there already"));
    }
    app.make_project(&store, &name, root.as_ref().map(|r| r.path.as_path()))?;
    let what = format!("project {name} in {}", app.home.join(&name).display());
    app.ui.done("project", fields([("name", name.into())]), ("made", "make"), &what);
    Ok(())
}

/// Nothing was left to do.
fn settled(app: &App, name: &str, what: &str) -> Result<()> {
    if app.ui.wishes.json {
        app.ui.object("project", fields([("name", name.into())]));
    } else {
        app.ui.say(what);
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
    let shown = |name: &str| if name == GLOBAL { format!("{name} (every project)") } else { app.ui.foreign(name) };
    let what = |memories: usize, sessions: usize| {
        format!("{}, {}", count(memories, "memory", "memories"), count(sessions, "conversation", "conversations"))
    };
    let table: Vec<(String, String, String)> = rows.iter().map(|(n, m, s, roots)| (shown(n), what(*m, *s), roots.join(", "))).collect();
    let (names, figures) = (column(table.iter().map(|r| &r.0), 30), column(table.iter().map(|r| &r.1), 40));
    for (name, what, roots) in &table {
        let (name, roots) = (padded(&paint(style::STRONG, name), names), paint(style::DIM, &app.ui.foreign(roots)));
        app.ui.hang(format!("{name}  {}  {roots}", padded(what, figures)).trim_end(), names + 4);
    }
    if rows.is_empty() {
        app.ui.say("no projects yet; `claude-mem ingest` makes them");
    }
    Ok(())
}
