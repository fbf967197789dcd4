//! `native status`: where the client's memory folder is, what is in it, what differs from ours.

use serde_json::{Value, json};

use super::{At, export, import};
use crate::claude_code::native::file::Type;
use crate::claude_code::native::folder::Folder;
use crate::claude_code::native::index::{self, MOST_LINES, MOST_UNITS, Size};
use crate::claude_code::native::take::Fate;
use crate::cli::app::{App, fields};
use crate::cli::ui::{count, paint, style};
use crate::error::Result;
use crate::store::Store;

/// Runs it.
pub(super) fn run(app: &App, store: &Store, at: &At) -> Result<()> {
    let there = at.folder.is_dir();
    let folder = Folder::read_if_there(&at.folder)?;
    let size = index::size(folder.index_text());
    let cut: Vec<String> =
        folder.index().lines.into_iter().filter(|l| size.cut_from.is_some_and(|from| l.number >= from)).map(|l| l.file).collect();
    let of = |kind: Option<Type>| folder.files.iter().filter(|f| f.kind == kind).count();
    let (_, given) = export::plan(app, store, at, false)?;
    let project = app.project(store)?;
    let (_, taken) = import::read(app, store, &folder, &store.snapshot(&project)?, import::Options::default())?;
    let fates = |fits: fn(&Fate) -> bool| taken.iter().filter(|t| fits(&t.fate)).count();
    let unread = fates(|f| matches!(f, Fate::New | Fate::Review(_)));
    let changed = fates(|f| matches!(f, Fate::Changed(_)));
    if app.ui.wishes.json {
        let mut kinds: serde_json::Map<String, Value> = Type::ALL.iter().map(|t| (t.name().to_owned(), of(Some(*t)).into())).collect();
        kinds.insert("none".to_owned(), of(None).into());
        let row = [
            ("folder", at.folder.display().to_string().into()),
            ("there", there.into()),
            ("off", at.place.as_ref().and_then(|p| p.off.clone()).into()),
            ("shared", at.place.as_ref().is_some_and(|p| p.shared).into()),
            ("files", kinds.into()),
            (
                "index",
                json!({"lines": size.lines, "units": size.units, "most_lines": MOST_LINES, "most_units": MOST_UNITS, "cut_from": size.cut_from, "cut": cut}),
            ),
            ("import", json!({"new": unread, "changed": changed})),
            (
                "export",
                json!({"new": given.added.len(), "changed": given.updated.len(), "removed": given.removed.len(), "same": given.same.len(), "edited": given.edited, "no_room": given.no_room.len()}),
            ),
        ];
        app.ui.object("native", fields(row));
        return Ok(());
    }
    let row = |name: &str, says: &str| app.ui.hang(&format!("{} {says}", paint(style::STRONG, &format!("{name:<8}"))), 9);
    row("folder", &at.shown);
    at.warn(app);
    if !there {
        row("", "not there: Claude Code has kept no memory for this project");
    } else {
        let kinds: Vec<String> = Type::ALL
            .iter()
            .map(|t| (t.name(), of(Some(*t))))
            .chain([("without type", of(None))])
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
        row("files", &format!("{}{kinds}", folder.files.len()));
        row("index", &sizes(size));
        if size.cut_from.is_some() {
            app.ui.warn(&app.ui.foreign(&format!(
                "Claude Code cuts the index at line {}; lost: {}",
                size.cut_from.unwrap_or_default(),
                cut.join(", ")
            )));
        }
    }
    row(
        "import",
        &match (unread, changed) {
            (0, 0) => "nothing that is not known".to_owned(),
            (new, changed) => format!("{new} not read yet, {changed} changed since"),
        },
    );
    let waits = [
        (given.added.len(), "to write"),
        (given.updated.len(), "to bring up to date"),
        (given.removed.len(), "to take out"),
        (given.no_room.len(), "without room"),
    ];
    let waits: Vec<String> = waits.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    row(
        "export",
        &if waits.is_empty() {
            count(given.same.len(), "memory, as it should be", "memories, as they should be")
        } else {
            waits.join(", ")
        },
    );
    for name in &given.edited {
        app.ui.warn(&app.ui.foreign(&format!("{name} was changed or removed by somebody")));
    }
    Ok(())
}

fn sizes(size: Size) -> String {
    format!("{} of {MOST_LINES} lines, {} of {MOST_UNITS} units", size.lines, size.units)
}
