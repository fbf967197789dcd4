//! `undo`, `history`, `verify`: what was done, and the way back.

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::ui::{count, paint, style};
use crate::error::{Error, Result};

/// Take the last change back
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Also if files were edited by hand since; the edited files are kept in the history
    #[arg(long)]
    force: bool,
}

impl UndoArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let history = store.history()?;
        let Some(last) = history.iter().rev().find(|h| h.can_undo()) else {
            app.ui.say("nothing to undo");
            return Ok(());
        };
        let what = format!("{} of {} in {}", last.command, last.at, last.project);
        if app.ui.wishes.dry_run {
            app.ui.say(&format!("would undo: {}", app.ui.foreign(&what)));
            return Ok(());
        }
        let receipt = store.undo(self.force, &app.env.now())?;
        if app.ui.wishes.json {
            app.ui.object("undo", fields([("undone", last.seq.into()), ("commit", receipt.commit.into())]));
        } else {
            app.ui.line(&format!("{} {}", paint(style::GOOD, "undone:"), app.ui.foreign(&what)));
        }
        Ok(())
    }
}

/// Show what changed the store, newest last
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// What was given to conversations, and what was left out
    #[arg(long)]
    injections: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl HistoryArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        if self.injections {
            return self.injections(app, store.injections()?);
        }
        let history = store.history()?;
        let shown = &history[history.len().saturating_sub(self.limit)..];
        if app.ui.wishes.json {
            let rows: Vec<Value> = shown
                .iter()
                .map(|h| json!({"commit": h.seq, "command": h.command, "at": h.at, "project": h.project, "files": h.files.len(), "ids": h.ids}))
                .collect();
            app.ui.object("history", fields([("commits", rows.into())]));
            return Ok(());
        }
        for h in shown {
            let what = format!("{}, {}", count(h.files.len(), "file", "files"), count(h.ids.len(), "memory", "memories"));
            app.ui.line(&format!(
                "{} {}  {:<10} {}  {}",
                paint(style::HINT, &format!("{:>4}", h.seq)),
                h.at,
                h.command,
                app.ui.foreign(&h.project),
                paint(style::DIM, &what)
            ));
        }
        if shown.is_empty() {
            app.ui.say("nothing was changed yet");
        }
        Ok(())
    }

    fn injections(&self, app: &App, lines: Vec<Value>) -> Result<()> {
        let shown = &lines[lines.len().saturating_sub(self.limit)..];
        if app.ui.wishes.json {
            app.ui.object("history", fields([("injections", shown.to_vec().into())]));
            return Ok(());
        }
        let length = |v: &Value, key: &str| v[key].as_array().map_or(0, Vec::len);
        for line in shown {
            let text = |key: &str| app.ui.foreign(line[key].as_str().unwrap_or("?"));
            let given = count(length(line, "items"), "memory", "memories");
            app.ui.line(&format!("{}  {}  {given}, ≈{} {}, {} left out", text("at"), text("project"), line["size"], text("unit"), length(line, "left_out")));
        }
        if shown.is_empty() {
            app.ui.say("nothing was injected yet");
        }
        Ok(())
    }
}

/// Check every file, digest, quote and link of the store
#[derive(Debug, Args)]
pub struct VerifyArgs {}

impl VerifyArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let findings = app.store()?.verify()?;
        let faults = findings.iter().filter(|f| f.fault).count();
        if app.ui.wishes.json {
            let rows: Vec<Value> =
                findings.iter().map(|f| json!({"fault": f.fault, "code": f.problem.code, "file": f.problem.file, "line": f.problem.line, "detail": f.problem.detail})).collect();
            app.ui.object("verify", fields([("findings", rows.into()), ("ok", (faults == 0).into())]));
        } else {
            for finding in &findings {
                let sign = if finding.fault { paint(style::BAD, "fault") } else { paint(style::WARN, "note") };
                app.ui.line(&format!("{sign} {}", app.ui.foreign(&finding.problem.to_string())));
            }
            if faults == 0 {
                app.ui.line(&format!("{} every file, digest, quote and link is in order", paint(style::GOOD, "ok:")));
            }
        }
        if faults > 0 {
            return Err(Error::failure(format!("{} found", count(faults, "fault was", "faults were")))
                .hint("`claude-mem undo` or the .bak beside a file has the state before; edit the file to mend it"));
        }
        Ok(())
    }
}
