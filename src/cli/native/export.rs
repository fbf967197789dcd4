//! `native export`: our memories as files of the client's memory folder.

use serde_json::Value;

use super::At;
use crate::claude_code::native::folder::Folder;
use crate::claude_code::native::give::{self, Given, Wish};
use crate::claude_code::native::record::{self, Record};
use crate::claude_code::wiring::{self, Edit};
use crate::cli::app::{App, fields, ids};
use crate::cli::edits;
use crate::cli::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::store::{GLOBAL, Store};

/// Runs it.
pub(super) fn run(app: &App, store: &Store, at: &At, again: bool) -> Result<()> {
    at.check_to_write()?;
    if at.place.is_some() && !at.folder.exists() && !wiring::client_folder(app.env)?.is_dir() {
        return Err(Error::new(Kind::Usage, "Claude Code has no folder here").hint("start it once, or name a memory folder with --dir"));
    }
    if at.folder.exists() && !at.folder.is_dir() {
        return Err(Error::new(Kind::Usage, format!("{} is not a folder", at.folder.display())).hint("--dir wants a memory folder"));
    }
    at.warn(app);
    let (record, given) = plan(app, store, at, again)?;
    let changes: Vec<&Edit> = given.edits.iter().collect();
    if app.ui.wishes.dry_run && !app.ui.wishes.json {
        edits::show(app, &changes);
    }
    if !app.ui.wishes.dry_run {
        record::apply(&app.state(), &at.folder, &given.edits, &app.env.now())?;
        if record.of(&at.folder) != given.written {
            record.save(&app.state(), &at.folder, given.written.clone())?;
        }
    }
    report(app, at, &given, &changes);
    Ok(())
}

/// What export would do, and what it did before.
pub(super) fn plan(app: &App, store: &Store, at: &At, again: bool) -> Result<(Record, Given)> {
    let project = app.project(store)?;
    let mut snapshots = vec![app.read(store, &project)?];
    if project != GLOBAL {
        snapshots.push(app.read(store, GLOBAL)?);
    }
    let record = Record::load(&app.state())?;
    let written = record.of(&at.folder);
    let folder = Folder::read_if_there(&at.folder)?;
    let wish = Wish { today: &app.env.today(), written: &written, again, trust_hand_edits: store.trust_hand_edits };
    let given = give::plan(&folder, &snapshots, &wish);
    Ok((record, given))
}

fn report(app: &App, at: &At, given: &Given, changes: &[&Edit]) {
    if app.ui.wishes.json {
        let texts = |list: &[String]| Value::from(list.to_vec());
        let row = [
            ("folder", at.folder.display().to_string().into()),
            ("added", ids(&given.added)),
            ("updated", ids(&given.updated)),
            ("same", ids(&given.same)),
            ("removed", texts(&given.removed)),
            ("edited", texts(&given.edited)),
            ("no_room", ids(&given.no_room)),
            ("waiting", ids(&given.waiting)),
            ("files", edits::rows(changes)),
        ];
        app.ui.done("native", fields(row), ("", ""), "");
        return;
    }
    for name in &given.edited {
        app.ui.warn(&app.ui.foreign(&format!("{name} was changed or removed by somebody; left alone (`native import` reads it)")));
    }
    if !given.no_room.is_empty() {
        app.ui.warn(&format!(
            "{} no room in what Claude Code reads of the index",
            count(given.no_room.len(), "memory finds", "memories find")
        ));
    }
    if !given.waiting.is_empty() {
        app.ui.say(&paint(style::DIM, &format!("{} for a decision first", count(given.waiting.len(), "memory waits", "memories wait"))));
    }
    let what = format!(
        "{} new, {} changed, {} removed, {} as before, to {}",
        given.added.len(),
        given.updated.len(),
        given.removed.len(),
        given.same.len(),
        at.shown
    );
    app.ui.done("native", fields([]), ("exported", "export"), &what);
}
