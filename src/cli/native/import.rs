//! `native import`: files of the client's memory folder become memories.

use serde_json::{Value, json};

use super::At;
use crate::claude_code::native::folder::Folder;
use crate::claude_code::native::notes;
use crate::claude_code::native::record::Record;
use crate::claude_code::native::take::{self, Fate, Taken, Wish};
use crate::cli::app::{App, fields, reasons};
use crate::cli::ui::{count, paint, style};
use crate::error::Result;
use crate::model::{Code, Memory};
use crate::store::{GLOBAL, Snapshot, Store};

/// How to import.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Take rules over as the owner's own.
    pub trust: bool,
    /// Take the notes of the index, too.
    pub notes: bool,
}

/// Runs it.
pub(super) fn run(app: &App, store: &Store, at: &At, options: &Options) -> Result<()> {
    let folder = Folder::read(&at.folder)?;
    let project =
        if app.ui.wishes.dry_run || folder.files.is_empty() && !options.notes { app.project(store)? } else { app.project_to_write(store)? };
    let mut options = *options;
    options.trust |= wants_rules(app, store, &folder, &store.snapshot(&project)?, options)?;
    let mut taken = Vec::new();
    let commit = app.update(store, &project, &mut |snapshot| {
        let mut plan = app.plan(snapshot, "native import");
        (plan.changes, taken) = read(app, store, &folder, snapshot, options)?;
        Ok(plan)
    })?;
    for problem in &folder.problems {
        app.ui.warn(&app.ui.foreign(&format!("{}: {}", problem.file, problem.detail)));
    }
    report(app, &project, &taken, commit);
    Ok(())
}

/// What importing would do to a project as it is.
pub(super) fn read(
    app: &App,
    store: &Store,
    folder: &Folder,
    snapshot: &Snapshot,
    options: Options,
) -> Result<(Vec<crate::model::Change>, Vec<Taken>)> {
    let written = Record::load(&app.state())?.of(&folder.path);
    let global: Vec<Memory> = match snapshot.project.as_str() {
        GLOBAL => Vec::new(),
        _ => store.snapshot(GLOBAL)?.entries.into_iter().map(|e| e.memory).collect(),
    };
    let wish = Wish { trust: options.trust, at: &app.env.now(), written: &written, global: &global };
    let (mut changes, mut taken) = take::plan(folder, snapshot, &wish, &|| app.env.new_id())?;
    if options.notes {
        let (more, notes) = notes::plan(folder, snapshot, &wish, &|| app.env.new_id())?;
        changes.extend(more);
        taken.extend(notes);
    }
    Ok((changes, taken))
}

/// Asks once, at a terminal, whether what speaks as a rule is the owner's own.
fn wants_rules(app: &App, store: &Store, folder: &Folder, snapshot: &Snapshot, options: Options) -> Result<bool> {
    if options.trust || !app.ui.can_ask() || app.ui.wishes.dry_run {
        return Ok(false);
    }
    let (_, taken) = read(app, store, folder, snapshot, options)?;
    let rules: Vec<&Taken> = taken.iter().filter(|t| t.fate == Fate::Review(Code::ERole)).collect();
    if rules.is_empty() {
        return Ok(false);
    }
    for memory in rules.iter().filter_map(|t| t.memory.as_ref()) {
        app.ui.say(&format!("  {}", app.ui.foreign(&memory.summary)));
    }
    app.ui.confirm(&format!("{} as a rule, in the model's words. Take over as yours?", count(rules.len(), "file speaks", "files speak")))
}

fn word(fate: &Fate) -> &'static str {
    match fate {
        Fate::New => "new",
        Fate::Changed(_) => "changed",
        Fate::Review(_) => "review",
        Fate::Known(_) => "known",
        Fate::Same => "same",
        Fate::Ours => "ours",
        Fate::Buried => "rejected",
        Fate::Foreign => "foreign",
        Fate::Empty => "empty",
    }
}

fn report(app: &App, project: &str, taken: &[Taken], commit: Option<u64>) {
    let of = |name: &str| taken.iter().filter(|t| word(&t.fate) == name).count();
    if app.ui.wishes.json {
        let row = |t: &Taken| {
            let id = match &t.fate {
                Fate::Known(id) => Some(id),
                _ => t.memory.as_ref().map(|m| &m.id),
            };
            let code = if let Fate::Review(code) = &t.fate { Some(code.name()) } else { None };
            json!({"file": t.file, "fate": word(&t.fate), "id": id, "code": code, "summary": t.memory.as_ref().map(|m| &m.summary)})
        };
        let rows: Vec<Value> = taken.iter().map(row).collect();
        let head =
            fields([("project", project.into()), ("commit", commit.into()), ("new", of("new").into()), ("changed", of("changed").into())]);
        let rest = fields([("review", of("review").into()), ("files", rows.into())]);
        app.ui.done("native", head.into_iter().chain(rest).collect(), ("", ""), "");
        return;
    }
    for t in taken {
        let says = match &t.fate {
            Fate::Changed(older) => format!("changed since it was read; {older} stays beside it until you decide"),
            Fate::Review(code) => format!("waits for review: {}", reasons(&app.ui, &[*code])),
            Fate::Buried => "says what you turned down before; left out".to_owned(),
            Fate::Empty => "nothing is left of it without what must not be stored".to_owned(),
            Fate::Foreign => "is of another project, or of all, and was changed; left alone".to_owned(),
            Fate::New if app.ui.wishes.verbose => "new".to_owned(),
            Fate::Known(id) if app.ui.wishes.verbose => format!("says what {id} says"),
            _ => continue,
        };
        app.ui.report(&format!("{}: {says}", paint(style::HINT, &app.ui.foreign(&t.file))));
    }
    let rest = [
        ("review", "for review"),
        ("known", "known already"),
        ("same", "as before"),
        ("ours", "of our own"),
        ("rejected", "turned down"),
        ("foreign", "left alone"),
        ("empty", "without content"),
    ];
    let rest: String = rest.iter().filter(|(name, _)| of(name) > 0).map(|(name, words)| format!(", {} {words}", of(name))).collect();
    let what = format!("{} new, {} changed{rest}, into {project}", of("new"), of("changed"));
    app.ui.done("native", fields([]), ("imported", "import"), &what);
    if of("review") > 0 || of("changed") > 0 {
        app.ui.say(&paint(style::DIM, "`claude-mem review` decides what waits"));
    }
}
