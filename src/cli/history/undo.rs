//! `undo` and `redo`.

use clap::Args;
use serde_json::{Value, json};

use super::{row, scope, what};
use crate::cli::app::{App, fields};
use crate::cli::ui::{paint, style};
use crate::cli::usage::at_least_one;
use crate::error::Result;
use crate::store::{Blocked, Manifest, Walked, Way, Which};

/// How far to go, and where.
#[derive(Debug, Args)]
struct How {
    /// How many changes
    #[arg(value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    steps: usize,
    /// Also if entries were changed by hand since; the changed files are kept in the history
    #[arg(long)]
    force: bool,
    /// The last change of any project, not only of this folder's
    #[arg(long)]
    all_projects: bool,
}

/// Take the last change back; again, and the one before goes, too
///
/// With --commit any of the last 20 changes, if nothing later stands on it; what does is named. Whatever was typed by hand
/// stays. What was undone can be done again with `redo` until something new is changed.
#[derive(Debug, Args)]
pub struct UndoArgs {
    #[command(flatten)]
    how: How,
    /// The change of this number, as `history` lists it
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["steps", "all_projects"])]
    commit: Option<u64>,
}

impl UndoArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        walk(app, &self.how, self.commit, ("undo", "undone"))
    }
}

/// Do again what was undone, until something new is changed
#[derive(Debug, Args)]
pub struct RedoArgs {
    #[command(flatten)]
    how: How,
}

impl RedoArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        walk(app, &self.how, None, ("redo", "redone"))
    }
}

fn walk(app: &App, how: &How, commit: Option<u64>, (verb, done): (&str, &str)) -> Result<()> {
    let store = app.store()?;
    let (redo, dry_run) = (verb == "redo", app.ui.wishes.dry_run);
    let within = scope(app, &store, how.all_projects)?;
    if commit.is_none() && store.steps(redo, within.as_deref())?.is_empty() {
        let place = within.as_deref().and_then(<[String]>::first).map(|p| format!(" in {p} (--all-projects looks everywhere)"));
        app.ui.say(&format!("nothing to {verb}{}", app.ui.foreign(&place.unwrap_or_default())));
        if app.ui.wishes.json {
            app.ui.object(verb, fields([(done, json!([])), ("commit", Value::Null)]));
        }
        return Ok(());
    }
    let last = Which::Last { steps: how.steps, within: within.as_deref() };
    let walked = store.walk(Way { redo, which: commit.map_or(last, Which::Commit), force: how.force, dry_run })?;
    for notice in &walked.notices {
        app.ui.warn(&app.ui.foreign(notice));
    }
    if let Some(blocked) = &walked.blocked {
        if app.ui.wishes.json {
            app.ui.object(verb, fields([(done, json!([])), ("commit", Value::Null), ("blocked", blocked_json(blocked))]));
        }
        return Err(blocked.error());
    }
    show(app, &walked, (verb, done));
    Ok(())
}

fn show(app: &App, walked: &Walked, (verb, done): (&str, &str)) {
    let dry_run = app.ui.wishes.dry_run;
    if app.ui.wishes.json {
        let taken = |m: &Manifest| m.takes_back.as_ref().filter(|_| !dry_run).map_or(m.seq, |back| back.seq);
        let rows: Vec<Value> = walked.steps.iter().map(|m| row(m, "")).collect();
        let seqs: Vec<u64> = walked.steps.iter().map(taken).collect();
        let made = walked.steps.last().filter(|_| !dry_run).map(|m| m.seq);
        let mut object = fields([(done, seqs.into()), ("commit", made.into()), ("steps", rows.into())]);
        if dry_run {
            object.insert("dry_run".to_owned(), true.into());
        }
        app.ui.object(verb, object);
        return;
    }
    for step in &walked.steps {
        if dry_run {
            app.ui.say(&format!("would {verb}: {}", what(app, step)));
        } else {
            app.ui.line(&format!("{} {}", paint(style::GOOD, &format!("{done}:")), what(app, step)));
        }
    }
}

/// What keeps a commit from being taken back.
fn blocked_json(blocked: &Blocked) -> Value {
    let later: Vec<Value> =
        blocked.later.iter().map(|(m, ids)| json!({"commit": m.seq, "command": m.command, "at": m.at, "ids": ids})).collect();
    json!({"commit": blocked.commit.seq, "later": later, "by_hand": blocked.by_hand, "files": blocked.files})
}
