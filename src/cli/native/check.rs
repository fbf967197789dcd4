//! `native check` and `native consolidate`: what is wrong with the client's memory folder, and what could be mended.

use std::path::Path;

use serde_json::{Value, json};

use super::At;
use crate::claude_code::native::check;
use crate::claude_code::native::consolidate as mend;
use crate::claude_code::native::folder::Folder;
use crate::claude_code::native::record;
use crate::claude_code::wiring::Edit;
use crate::cli::app::{App, fields, problem_line};
use crate::cli::edits;
use crate::cli::ui::{count, paint, style};
use crate::error::{Error, Result};
use crate::repo::Repo;
use crate::store::{Severity, identity};

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Runs `check`.
pub(super) fn run(app: &App, at: &At, repo: Option<&Path>) -> Result<()> {
    let folder = Folder::read(&at.folder)?;
    let root = match repo {
        Some(repo) => Some(identity::root_of(&app.env.absolute(repo))),
        None => at.place.is_some().then(|| at.root.clone()),
    };
    let repo = root.map(|root| Repo::at(&root.folder, root.is_repository(), app.env.zone()));
    let findings = check::check(&folder, repo.as_ref(), &app.env.today());
    let faults = findings.iter().filter(|f| f.severity > Severity::Note).count();
    if app.ui.wishes.json {
        let row = |f: &check::Finding| json!({"severity": word(f.severity), "code": f.problem.code, "file": f.problem.file, "line": f.problem.line, "detail": f.problem.detail});
        let rows: Vec<Value> = findings.iter().map(row).collect();
        let head = [("folder", at.folder.display().to_string().into()), ("findings", rows.into()), ("ok", (faults == 0).into())];
        app.ui.object("native", fields(head));
    } else {
        for f in &findings {
            let look = match f.severity {
                Severity::Note => style::DIM,
                Severity::Warning => style::WARN,
                Severity::Error => style::BAD,
            };
            app.ui.line(&format!("{} {}", paint(look, &format!("{:<7}", word(f.severity))), problem_line(&app.ui, &f.problem)));
        }
        if faults == 0 {
            let files = count(folder.files.len(), "file and the index", "files and the index");
            app.ui.report(&format!("{} {files}: nothing wrong", paint(style::GOOD, "ok:")));
        }
    }
    if faults > 0 {
        let what = count(faults, "fault was found", "faults were found");
        let mends = mend::propose(&folder).proposals.len();
        let hint = match mends {
            0 => format!("correct the files in {}; there is nothing that `native consolidate` could do", at.folder.display()),
            n => format!("`claude-mem native consolidate` proposes {}", count(n, "correction", "corrections")),
        };
        return Err(Error::failure(what).hint(hint));
    }
    Ok(())
}

/// Runs `consolidate`.
pub(super) fn consolidate(app: &App, at: &At) -> Result<()> {
    at.check_to_write()?;
    let folder = Folder::read(&at.folder)?;
    let proposed = mend::propose(&folder);
    let changes: Vec<&Edit> = proposed.edits.iter().collect();
    if app.ui.wishes.json {
        let row = |p: &mend::Proposal| json!({"code": p.code, "file": p.file, "says": p.says});
        let rows: Vec<Value> = proposed.proposals.iter().map(row).collect();
        let head = [("folder", at.folder.display().to_string().into()), ("proposals", rows.into()), ("files", edits::rows(&changes))];
        let mut head = fields(head);
        let apply = app.ui.wishes.yes && !app.ui.wishes.dry_run;
        let copies = if apply { record::apply(&app.state(), &at.folder, &proposed.edits, &app.env.now())? } else { None };
        head.insert("applied".to_owned(), apply.into());
        head.insert("copies".to_owned(), copies.map(|c| c.display().to_string()).into());
        app.ui.object("native", head);
        return Ok(());
    }
    if proposed.edits.is_empty() {
        app.ui.report("there is nothing to mend");
        return Ok(());
    }
    edits::show(app, &changes);
    for p in &proposed.proposals {
        app.ui.say(&format!("{}: {}", paint(style::HINT, &app.ui.foreign(&p.file)), app.ui.foreign(&p.says)));
    }
    if app.ui.wishes.dry_run {
        app.ui.unchanged();
        return Ok(());
    }
    let question =
        format!("make {} in {}?", count(proposed.proposals.len(), "correction", "corrections"), count(changes.len(), "file", "files"));
    if !app.ui.confirm(&question)? {
        app.ui.unchanged();
        return Ok(());
    }
    let copies = record::apply(&app.state(), &at.folder, &proposed.edits, &app.env.now())?;
    app.ui.done("native", fields([]), ("mended", "mend"), &count(changes.len(), "file", "files"));
    if let Some(copies) = copies {
        app.ui.say(&paint(style::DIM, &format!("the files as they were: {}", copies.display())));
    }
    Ok(())
}
