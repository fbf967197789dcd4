//! `history` and `verify`, and below it `undo`, `redo`, `blame`, `diff`: what was done, why, and the way back.

mod blame;
mod diff;
mod life;
mod undo;

pub use blame::BlameArgs;
pub use diff::DiffArgs;
pub use undo::{RedoArgs, UndoArgs};

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, json as to_json};
use super::ui::wrap::{cells, column, padded};
use super::ui::{count, paint, style};
use super::usage::at_least_one;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::pipeline::life::ids;
use crate::store::past::{Past, State};
use crate::store::{By, EDITED, Injection, Manifest, Names, Severity, Store};

/// The names that these projects have had.
fn names(store: &Store, within: Option<&[String]>) -> Result<Option<Names>> {
    within.map(|names| Ok(Names::of(&store.history()?, names))).transpose()
}

/// The projects whose changes are meant.
fn scope(app: &App, store: &Store, all: bool) -> Result<Option<Vec<String>>> {
    let history = store.history()?;
    let mut names = app.scope(store, all, &|name| history.iter().any(|m| m.projects().contains(name)))?;
    if let Some(names) = names.as_mut().filter(|names| names.first().is_some_and(|name| !store.has_project(name))) {
        // A project that is gone may have had other names before it went.
        for renamed in history.iter().rev().filter(|m| m.command == "project rename") {
            let both = renamed.projects();
            if names.iter().any(|name| both.contains(name.as_str())) {
                names.extend(both.into_iter().map(str::to_owned));
            }
        }
    }
    Ok(names)
}

fn projects(manifest: &Manifest) -> String {
    let names: Vec<&str> = manifest.projects().into_iter().collect();
    names.join(", ")
}

/// A commit, or what it took back, in one line: `remember in shop, 2025-06-10 14:03: Deploys go out on Tuesdays`.
fn what(app: &App, manifest: &Manifest) -> String {
    let (command, at) = manifest.takes_back.as_ref().map_or((&manifest.command, &manifest.at), |back| (&back.command, &back.at));
    let more = match manifest.ids.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let title = if manifest.title.is_empty() { String::new() } else { format!(": {}{more}", manifest.title) };
    app.ui.foreign(&format!("{command} in {}, {}{title}", projects(manifest), app.env.local(at)))
}

fn row(h: &Manifest, state: &str) -> Value {
    json!({
        "commit": h.seq, "command": h.command, "by": By::of(&h.command).name(), "at": h.at, "project": projects(h), "files": h.files.len(),
        "ids": h.ids, "summary": h.title, "takes_back": h.takes_back.as_ref().map(|b| b.seq), "undone": state == "undone",
    })
}

/// Number, time and author of a commit, as lists of them begin.
fn when_and_who(app: &App, h: &Manifest) -> String {
    let of = h.takes_back.as_ref().map(|back| format!(" of {} {}", back.seq, back.command)).unwrap_or_default();
    let (by, command) = (By::of(&h.command).name(), format!("{}{of}", h.command));
    // Where both are one word, it is said once.
    let what = if by == command || h.is_adoption() { by.to_owned() } else { format!("{by}: {command}") };
    format!("{} {}  {what:<16}", paint(style::HINT, &format!("{:>4}", h.seq)), app.env.local(&h.at))
}

/// The one memory that an id, or the beginning of one (4 characters or more), names, whether it is there or was.
fn find_ever(past: &Past, now: &State, id: &str) -> Result<Id> {
    let wanted = id.trim().to_ascii_lowercase();
    let found: Vec<Id> = ids(past, now).into_iter().filter(|i| wanted.len() >= 4 && i.as_str().starts_with(&wanted)).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::new(Kind::Usage, format!("there is no memory `{id}`, and the history knows of none"))
            .hint("`claude-mem list` shows the ids, `claude-mem history` what was changed")),
        many => Err(Error::new(Kind::Usage, format!("`{id}` is the beginning of {} ids", many.len())).hint("type more of it")),
    }
}

/// Show what changed the store and who did it, newest last; or the life of one memory
///
/// With an ID: when it came and from which words, what it said before each change, and where it went. It may be gone.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Id of a memory, or its first four characters
    #[arg(value_name = "ID", conflicts_with_all = ["injections", "limit", "all_projects"])]
    id: Option<String>,
    /// What was given to conversations, and what was left out
    #[arg(long)]
    injections: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
    limit: usize,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
}

impl HistoryArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        if let Some(id) = &self.id {
            return life::show(app, &store, id);
        }
        if self.injections {
            let (injections, bad) = store.injections()?;
            if bad > 0 {
                app.ui.warn(&format!("{} of the receipts cannot be read", count(bad, "line", "lines")));
            }
            let within = scope(app, &store, self.all_projects)?;
            let names = names(&store, within.as_deref())?;
            let mine = |i: &Injection| names.as_ref().is_none_or(|names| names.knows(&i.project));
            return self.injections(app, &injections.into_iter().filter(mine).collect::<Vec<_>>());
        }
        let within = scope(app, &store, self.all_projects)?;
        let history = store.history()?;
        let names = within.as_ref().map(|names| Names::of(&history, names));
        let mine = |m: &&Manifest| names.as_ref().is_none_or(|names| names.has(m));
        let shown: Vec<&Manifest> = history.iter().filter(mine).take(self.limit).collect();
        // What was done again is done by its redoing, which leads back to it over the undoing between.
        let before = |seq: &u64| history.iter().find(|m| m.seq == *seq)?.takes_back.as_ref().map(|back| back.seq);
        let steps = store.steps(false, None)?;
        let ahead: BTreeSet<u64> = steps.iter().flat_map(|m| std::iter::successors(Some(m.seq), before)).collect();
        let state = |m: &Manifest| if m.takes_back.is_none() && !m.is_adoption() && !ahead.contains(&m.seq) { "undone" } else { "" };
        if app.ui.wishes.json {
            let rows: Vec<Value> = shown.iter().rev().map(|h| row(h, state(h))).collect();
            app.ui.object("history", fields([("commits", rows.into())]));
            return Ok(());
        }
        let names = column(shown.iter().map(|h| projects(h)), 24);
        for h in shown.iter().rev() {
            let state = match state(h) {
                "" => String::new(),
                state => format!(" [{state}]"),
            };
            let (size, some) = (count(h.ids.len(), "memory", "memories"), h.ids.iter().take(3).map(Id::as_str).collect::<Vec<_>>());
            let more = if h.ids.len() > some.len() { ", …" } else { "" };
            let which = if some.is_empty() { String::new() } else { format!(" ({size}: {}{more})", some.join(", ")) };
            let title = app.ui.foreign(&h.title);
            let (state, which) = (paint(style::WARN, &state), paint(style::DIM, &which));
            let begin = format!("{} {}", when_and_who(app, h), padded(&app.ui.foreign(&projects(h)), names));
            // What follows stands under itself where there is room for that.
            app.ui.hang(&format!("{begin}  {title}{state}{which}"), (cells(&begin) + 2).min(44));
        }
        if shown.is_empty() {
            app.ui.say("nothing was changed yet");
        }
        Ok(())
    }

    fn injections(&self, app: &App, all: &[Injection]) -> Result<()> {
        let shown = &all[all.len().saturating_sub(self.limit)..];
        if app.ui.wishes.json {
            app.ui.object("history", fields([("injections", to_json(&shown)?)]));
            return Ok(());
        }
        let place = |one: &Injection| app.ui.foreign(&format!("{}, {}, to {}", one.project, one.mode, one.target));
        let places = column(shown.iter().map(place), 40);
        for one in shown {
            let given = count(one.ids.len(), "memory", "memories");
            let begin = format!("{}  {}", app.env.local(&one.at), padded(&place(one), places));
            app.ui.hang(&format!("{begin}  {given}, ≈{} tokens, {} left out", one.tokens, one.left_out.len()), 20);
        }
        if shown.is_empty() {
            app.ui.say("nothing was injected yet");
        }
        Ok(())
    }
}

fn name_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "fault",
    }
}

/// Check every file, digest, quote and link of the store
#[derive(Debug, Args)]
pub struct VerifyArgs {}

impl VerifyArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let findings = app.store()?.verify()?;
        let edited = findings.iter().filter(|f| f.problem.code == EDITED).count();
        let faults = findings.iter().filter(|f| f.severity == Severity::Error).count();
        if app.ui.wishes.json {
            let rows: Vec<Value> =
                findings.iter().map(|f| json!({"severity": name_of(f.severity), "code": f.problem.code, "file": f.problem.file, "line": f.problem.line, "detail": f.problem.detail})).collect();
            app.ui.object("verify", fields([("findings", rows.into()), ("ok", (faults == 0).into())]));
        } else {
            for finding in &findings {
                let color = if finding.severity == Severity::Error { style::BAD } else { style::WARN };
                let sign = paint(color, name_of(finding.severity));
                app.ui.line(&format!("{sign} {}", app.ui.foreign(&finding.problem.to_string())));
            }
            if faults == 0 {
                let what = if edited == 0 {
                    "every file, digest, quote and link is in order"
                } else {
                    "every file, digest and link is in order, and every quote that can be checked"
                };
                app.ui.line(&format!("{} {what}", paint(style::GOOD, "ok:")));
            }
            if edited > 0 {
                let (entries, their) = (count(edited, "entry was", "entries were"), if edited == 1 { "its" } else { "their" });
                app.ui.line(&format!("{entries} changed by hand; {their} quotes cannot be checked any more"));
            }
        }
        if faults > 0 {
            let first = findings.iter().find(|f| f.severity == Severity::Error).map(|f| &f.problem);
            let hint = match first {
                // A block that cannot be read was written by hand: undo knows nothing of it.
                Some(p) if p.code == "bad_yaml" => {
                    let line = p.line.map(|l| format!(":{l}")).unwrap_or_default();
                    format!("open {}{line} and mend it", app.home.join(&p.file).display())
                }
                _ => "`claude-mem undo` or the .bak beside a file has the state before; edit the file to mend it".to_owned(),
            };
            return Err(Error::failure(format!("{} found", count(faults, "fault was", "faults were"))).hint(hint));
        }
        Ok(())
    }
}
