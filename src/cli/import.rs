//! `import`: memories of our own export, or of the store of another tool.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::app::{App, fields, one_line, problem_line};
use super::turns::{self, TurnRow};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Problem, Result};
use crate::foreign::{self, Foreign};
use crate::model::plan::MemoryRecord;
use crate::model::{Code, Id, Memory, Speaker};
use crate::pipeline::import::{self, Fate, Incoming, Planned};
use crate::store::peer;

/// Take over memories from an export, or from the store of another tool
///
/// Without --from the format is detected by content: JSONL of export, memories.json of claude.ai, the knowledge graph of
/// the reference MCP memory server, notes with observations, or the database of the other claude-mem (read-only). A CLAUDE.md,
/// CLAUDE.local.md or AGENTS.md is known by its name; other Markdown is yours only if you say so, with --from claude-md.
///
/// Of an export every line is checked before anything is stored; only `summary` must be there, and an `external_id` is given
/// back with the new id. Rows of turns, {id, session, ts, speaker, text}, are kept for search --in turns. Of another tool's
/// store the good rows come and the others are named. Decisions, preferences and conventions of an export are given as
/// unconfirmed until you confirm them in review, or with --trust. A CLAUDE.md is your own word; what anything else states as a rule,
/// liking or decision waits for you in review. What is already known is not added again, and without --trust nothing that
/// you turned down comes back, and no link leads to what was not in the file. What speaks to an AI is refused.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file or folder; - is stdin
    #[arg(value_name = "FILE|DIR")]
    file: PathBuf,
    /// Format: jsonl, claude-md, claude-ai, mcp-memory, basic-memory, claude-mem-db [default: by content]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Of a store with several projects, only this one [default: the one named like yours]
    #[arg(long, value_name = "PROJECT")]
    only: Option<String>,
    /// The export is your own: its rules hold at once; origins, pins and links stay as it says
    #[arg(long)]
    trust: bool,
}

/// Name of our own export for `--from`.
const JSONL: &str = "jsonl";

/// Memories that are listed when they have come; more are counted.
const LISTED: usize = 10;

/// Files that hold the store of another tool where a folder has them.
const WHOLE_STORES: &[&str] = &["claude-mem.db", "memories.json"];

/// A text and its name.
struct Source {
    label: String,
    text: String,
}

/// What a file holds: memories to come, turns, and what was wrong or left alone.
#[derive(Default)]
struct Taken {
    rows: Vec<Incoming>,
    turns: Vec<TurnRow>,
    refused: Vec<Problem>,
    notes: Vec<String>,
}

/// One line of our own export.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    external_id: Option<String>,
    #[serde(flatten)]
    record: MemoryRecord,
}

impl ImportArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let wanted = self.wanted()?;
        let (mut sources, unread) = self.sources(app)?;
        let mut notes = Vec::new();
        let from = match wanted {
            Some(from) => from,
            None => detect(&mut sources, &mut notes)?,
        };
        let store = app.store()?;
        let read = match from {
            Some(from) => {
                if self.from.is_none() {
                    app.ui.say(&paint(style::DIM, &format!("read as {}, {}", from.name(), from.about())));
                }
                let project = app.project(&store).unwrap_or_default();
                self.foreign(app, from, &sources, unread, &project)?
            }
            None => self.exported(app, &sources)?,
        };
        let project = if read.rows.is_empty() { app.project(&store)? } else { app.project_to_write(&store)? };
        let archived: Vec<Memory> = store.archived(&project)?.into_iter().map(|entry| entry.memory).collect();
        let mut planned = None;
        app.update(&store, &project, &mut |snapshot| {
            let now = import::plan(snapshot, &archived, &read.rows, &app.env.now());
            let plan = now.plan.clone();
            planned = Some(now);
            Ok(plan)
        })?;
        let Taken { rows, turns: turn_rows, refused, notes: more } = read;
        notes.extend(more);
        let turn_count = turns::keep(app, &store, &project, turn_rows)?;
        for problem in &refused {
            app.ui.warn(&problem_line(&app.ui, problem));
        }
        for note in &notes {
            app.ui.say(&paint(style::DIM, &app.ui.foreign(note)));
        }
        let planned = planned.ok_or_else(|| Error::failure("nothing was planned"))?;
        let from = from.map_or(JSONL, Foreign::name);
        report(app, &Report { project, from, rows, planned, refused, turn_count });
        Ok(())
    }

    /// The store that `--from` names: `Some(None)` is our own export.
    fn wanted(&self) -> Result<Option<Option<&'static dyn Foreign>>> {
        let Some(name) = &self.from else { return Ok(None) };
        if name == JSONL {
            return Ok(Some(None));
        }
        let names = std::iter::once(JSONL).chain(foreign::STORES.iter().map(|s| s.name())).collect::<Vec<_>>().join(", ");
        let unknown = || Error::new(Kind::Usage, format!("`{name}` is no format to import from")).hint(format!("there are: {names}"));
        foreign::named(name).map(|store| Some(Some(store))).ok_or_else(unknown)
    }

    /// The texts of a file, of a folder, or of stdin; with what could not be read of a folder.
    fn sources(&self, app: &App) -> Result<(Vec<Source>, Vec<Problem>)> {
        let shown = self.file.display().to_string();
        if self.file.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text).map_err(|e| Error::io("read", &self.file, &e))?;
            return Ok((vec![Source { label: "stdin".to_owned(), text }], Vec::new()));
        }
        let path = app.env.absolute(&self.file);
        if !path.is_dir() {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or(shown);
            return read_file(&path, name);
        }
        if let Some(whole) = WHOLE_STORES.iter().map(|name| path.join(name)).find(|p| p.is_file()) {
            let name = whole.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            return read_file(&whole, name);
        }
        let (mut sources, mut problems) = (Vec::new(), Vec::new());
        for file in notes_below(&path)? {
            let label = file.strip_prefix(&path).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            match read_file(&file, label.clone()) {
                Ok((found, _)) => sources.extend(found),
                Err(error) => problems.push(Problem { code: "unreadable", file: label, line: None, detail: error.message }),
            }
        }
        if sources.is_empty() {
            return Err(Error::new(Kind::NoTranscript, format!("{shown} holds no store that is known here"))
                .hint("name the file itself, or a folder with notes in Markdown"));
        }
        Ok((sources, problems))
    }

    /// The statements of a foreign store. Bad rows are counted, good ones come.
    fn foreign(&self, app: &App, from: &dyn Foreign, sources: &[Source], unread: Vec<Problem>, project: &str) -> Result<Taken> {
        let mut read = Taken { refused: unread, ..Taken::default() };
        let mut found: Vec<_> = sources.iter().map(|source| (source, from.read(&source.text))).collect();
        let theirs: Vec<String> = found.iter().flat_map(|(_, f)| &f.items).filter_map(|item| item.project.clone()).collect();
        if let Some(only) = self.project_of(&theirs, project)? {
            let mut others = 0;
            for (_, found) in &mut found {
                let before = found.items.len();
                found.items.retain(|item| item.project.as_ref().is_none_or(|p| *p == only));
                others += before - found.items.len();
            }
            if others > 0 {
                read.notes.push(format!("{} of projects other than {only} left alone; --only names another", count(others, "row", "rows")));
            }
        }
        for (source, found) in found {
            let named = |problem: Problem| Problem { file: source.label.clone(), ..problem };
            read.refused.extend(found.problems.into_iter().map(named));
            read.notes.extend(found.notes.into_iter().map(|note| format!("{}: {note}", source.label)));
            for item in found.items {
                match import::incoming(&item, from, &source.label, app.env.new_id()?, &app.env.now()) {
                    Ok(row) => read.rows.push(row),
                    Err((code, detail)) => read.refused.push(named(Problem { code, file: String::new(), line: Some(item.line), detail })),
                }
            }
        }
        Ok(read)
    }

    /// Which of the projects in a foreign store is meant, if it has any.
    fn project_of(&self, theirs: &[String], ours: &str) -> Result<Option<String>> {
        let mut names: Vec<&String> = theirs.iter().collect();
        names.sort();
        names.dedup();
        let wanted = self.only.as_deref().unwrap_or(ours);
        let same = |name: &&&String| name.as_str() == wanted || name.rsplit(['/', '\\']).next() == Some(wanted);
        match (names.iter().find(same), names.as_slice()) {
            (Some(name), _) => Ok(Some((**name).clone())),
            (None, []) if self.only.is_none() => Ok(None),
            (None, [only]) if self.only.is_none() => Ok(Some((*only).clone())),
            (None, names) => {
                let list = names.iter().take(20).map(|n| n.as_str()).collect::<Vec<_>>().join(", ");
                let hint = if list.is_empty() { "leave --only out".to_owned() } else { format!("choose one with --only: {list}") };
                Err(Error::new(Kind::Usage, format!("the store has no project `{wanted}`")).hint(hint))
            }
        }
    }

    /// The lines of our own export; every one is checked before anything is stored.
    fn exported(&self, app: &App, sources: &[Source]) -> Result<Taken> {
        let mut read = Taken::default();
        for source in sources {
            for (line, number) in source.text.lines().zip(1..).filter(|(l, _)| !l.trim().is_empty()) {
                let wrong = |what: String| {
                    let formats = foreign::STORES.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
                    Error::failure(format!("{}:{number}: {what}", self.file.display())).hint(format!(
                        "every line is one JSON object with at least a summary; nothing was imported (other formats: --from {formats})"
                    ))
                };
                let mut row: Value = serde_json::from_str(line).map_err(|e| wrong(format!("not a memory: {e}")))?;
                without_nulls(&mut row);
                let is_turn = row.get("text").is_some() && row.get("summary").is_none();
                if let Some(turn) = is_turn.then(|| serde_json::from_value::<TurnRow>(row.clone()).ok()).flatten() {
                    read.turns.push(turn);
                    continue;
                }
                let row: Row = serde_json::from_value(row).map_err(|e| wrong(format!("not a memory: {e}")))?;
                let id = match Id::parse(&row.record.id) {
                    Some(id) => id,
                    None => app.env.new_id()?,
                };
                let memory = import::exported(&row.record, id, &app.env.now(), self.trust).map_err(wrong)?;
                let doubt = import::doubt(&memory, self.trust);
                if doubt == Some(Code::EInject) {
                    let (file, detail) = (source.label.clone(), import::SPEAKS_TO_AI.to_owned());
                    read.refused.push(Problem { code: "speaks_to_ai", file, line: Some(number), detail });
                    continue;
                }
                // What says itself that it is a rule is stored as one that nobody confirmed; what passes for something else waits.
                let doubts = doubt.filter(|_| !memory.is_unconfirmed()).into_iter().collect();
                read.rows.push(Incoming { external_id: row.external_id, memory, doubts, trusted: self.trust });
            }
        }
        if !read.turns.is_empty() {
            turns::check_wanted(app)?;
        }
        Ok(read)
    }
}

/// The store that the texts come from; `None` is our own export. Where only names tell whose words they are, files of other
/// names are left alone.
fn detect(sources: &mut Vec<Source>, notes: &mut Vec<String>) -> Result<Option<&'static dyn Foreign>> {
    let Some(from) = sources.iter().find_map(|s| foreign::detect(&s.label, &s.text)) else {
        let Some(page) = sources.iter().find(|s| Path::new(&s.label).extension().is_some_and(|e| e.eq_ignore_ascii_case("md"))) else {
            return Ok(None);
        };
        return Err(Error::new(Kind::Usage, format!("{} is no file whose lines are known to be your own rules", page.label))
            .hint("if they are, say so with --from claude-md; nothing was imported"));
    };
    if from.voice() == Speaker::User {
        let before = sources.len();
        sources.retain(|s| from.fits(&s.label, &s.text));
        let others = before - sources.len();
        if others > 0 {
            notes.push(format!("{} with other names left alone; --from claude-md reads them, too", count(others, "file", "files")));
        }
    }
    Ok(Some(from))
}

/// A field that is null is not there.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// The text of a file, or the rows of a database.
fn read_file(path: &Path, label: String) -> Result<(Vec<Source>, Vec<Problem>)> {
    let mut head = [0; 16];
    let mut file = std::fs::File::open(path).map_err(|e| Error::io("read", path, &e))?;
    let length = file.read(&mut head).map_err(|e| Error::io("read", path, &e))?;
    if peer::is_database(&head[..length]) {
        let (text, problems) = peer::rows(path)?;
        let problems = problems.into_iter().map(|p| Problem { file: label.clone(), ..p }).collect();
        return Ok((vec![Source { label, text }], problems));
    }
    let mut bytes = head[..length].to_vec();
    file.read_to_end(&mut bytes).map_err(|e| Error::io("read", path, &e))?;
    let hint = if bytes.starts_with(b"PK") { "unpack it and import what is in it" } else { "save it as UTF-8" };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).map(<[u8]>::to_vec).unwrap_or(bytes);
    let text = String::from_utf8(bytes).map_err(|_| Error::failure(format!("{label} is no UTF-8 text")).hint(hint))?;
    Ok((vec![Source { label, text }], Vec::new()))
}

/// The Markdown files below a folder, in order; hidden ones and links are not followed.
fn notes_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| Error::io("read", &folder, &e))?;
        for entry in entries.flatten().filter(|e| !e.file_name().to_string_lossy().starts_with('.')) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() && entry.path().extension().is_some_and(|e| e.eq_ignore_ascii_case("md")) => {
                    found.push(entry.path());
                }
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What is to be said of an import.
struct Report {
    project: String,
    from: &'static str,
    rows: Vec<Incoming>,
    planned: Planned,
    refused: Vec<Problem>,
    turn_count: usize,
}

fn report(app: &App, report: &Report) {
    let Report { project, from, rows, planned, refused, turn_count } = report;
    let number = |wanted: fn(&Fate) -> bool| planned.fates.iter().filter(|f| wanted(f)).count();
    let (added, waits) = (number(|f| *f == Fate::Added), number(|f| *f == Fate::Waits));
    let differ = number(|f| *f == Fate::Differs);
    let (known, buried) = (number(|f| matches!(f, Fate::Known(_))), number(|f| *f == Fate::Buried));
    if app.ui.wishes.json {
        let memories = rows.iter().zip(&planned.fates).filter(|(_, fate)| **fate != Fate::Buried).map(|(row, fate)| {
            let id = if let Fate::Known(id) = fate { id } else { &row.memory.id };
            json!({"id": id.as_str(), "external_id": row.external_id, "new": *fate == Fate::Added, "review": *fate == Fate::Waits, "differs": *fate == Fate::Differs})
        });
        let conflicts = planned.conflicts.iter().map(|(older, newer)| json!({"older": older.as_str(), "newer": newer.as_str()}));
        let refused = refused.iter().map(|p| json!({"file": p.file, "line": p.line, "code": p.code, "detail": p.detail}));
        let fields = fields([
            ("from", (*from).into()),
            ("memories", memories.collect::<Vec<_>>().into()),
            ("conflicts", conflicts.collect::<Vec<_>>().into()),
            ("refused", refused.collect::<Vec<_>>().into()),
            ("turned_down", buried.into()),
            ("turns", (*turn_count).into()),
        ]);
        return app.ui.done("import", fields, ("", ""), "");
    }
    // What would come is listed whole; what came can be looked at with `list` as well.
    let most = if app.ui.wishes.dry_run || app.ui.wishes.verbose { rows.len() } else { LISTED };
    let came: Vec<(&Incoming, &Fate)> = rows.iter().zip(&planned.fates).filter(|(_, f)| matches!(f, Fate::Added | Fate::Waits)).collect();
    for (row, fate) in came.iter().take(most).filter(|_| !app.ui.wishes.quiet) {
        let sign = if **fate == Fate::Added { paint(style::GOOD, "+") } else { paint(style::WARN, "?") };
        app.ui.row(&format!("{sign} {}", one_line(&app.ui, &row.memory)));
    }
    if came.len() > most {
        app.ui.say(&paint(style::DIM, &format!("… and {} more (--verbose lists them)", came.len() - most)));
    }
    for (row, _) in rows.iter().zip(&planned.fates).filter(|(_, fate)| **fate == Fate::Differs) {
        let says = app.ui.foreign(&row.memory.summary);
        app.ui.warn(&format!("{} is here in other words and stays as it is; left out: {says}", row.memory.id));
    }
    for (older, newer) in &planned.conflicts {
        app.ui.warn(&format!("{newer} disagrees with {older}; both are kept until you decide: claude-mem review"));
    }
    let mut what = format!("{} into {project}", count(added, "memory", "memories"));
    let mut say = |number: usize, text: String| {
        if number > 0 {
            what.push_str(&text);
        }
    };
    let confirm = rows.iter().zip(&planned.fates).filter(|(row, fate)| **fate == Fate::Added && row.memory.is_unconfirmed()).count();
    say(confirm, format!("; {confirm} of them to confirm in review"));
    say(known, format!(", {known} already known"));
    say(differ, format!(", {differ} here in other words"));
    say(buried, format!(", {buried} turned down before"));
    say(waits, format!("; {} in review, as rules in words that are not yours", count(waits, "waits", "wait")));
    say(refused.len(), format!("; {} refused", refused.len()));
    say(*turn_count, format!("; {}", count(*turn_count, "turn", "turns")));
    app.ui.done("import", fields([]), ("imported", "import"), &what);
}
