//! `undo`, `history`, `verify`: what was done, and the way back.

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, json as to_json};
use super::ui::{count, paint, style};
use crate::error::{Error, Result};
use crate::store::{Injection, Severity};

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
        let Some(last) = history.first() else {
            app.ui.say("nothing to undo");
            return Ok(());
        };
        let what = format!("{} of {} in {}", last.command, last.at, last.project);
        if app.ui.wishes.dry_run {
            app.ui.say(&format!("would undo: {}", app.ui.foreign(&what)));
            return Ok(());
        }
        let (undone, receipt) = store.undo(1, self.force)?;
        if app.ui.wishes.json {
            app.ui.object(
                "undo",
                fields([("undone", undone.iter().map(|m| m.seq).collect::<Vec<_>>().into()), ("commit", receipt.seq.into())]),
            );
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
            let (injections, bad) = store.injections()?;
            if bad > 0 {
                app.ui.warn(&format!("{} of the receipts cannot be read", count(bad, "line", "lines")));
            }
            return self.injections(app, &injections);
        }
        let history = store.history()?;
        let shown: Vec<_> = history.iter().take(self.limit).rev().collect();
        if app.ui.wishes.json {
            let rows: Vec<Value> = shown
                .iter()
                .map(|h| json!({"commit": h.seq, "command": h.command, "at": h.at, "project": h.project, "files": h.files.len(), "ids": h.ids}))
                .collect();
            app.ui.object("history", fields([("commits", rows.into())]));
            return Ok(());
        }
        for h in &shown {
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

    fn injections(&self, app: &App, all: &[Injection]) -> Result<()> {
        let shown = &all[all.len().saturating_sub(self.limit)..];
        if app.ui.wishes.json {
            app.ui.object("history", fields([("injections", to_json(&shown)?)]));
            return Ok(());
        }
        for one in shown {
            let given = count(one.ids.len(), "memory", "memories");
            let place = format!("{}, {}, to {}", one.project, one.mode, one.target);
            app.ui.line(&format!(
                "{}  {}  {given}, ≈{} tokens, {} left out",
                one.at,
                app.ui.foreign(&place),
                one.tokens,
                one.left_out.len()
            ));
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
