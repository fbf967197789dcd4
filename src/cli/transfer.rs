//! `import` and `export`: memories as JSONL, one object a line.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::app::{App, fields, record};
use super::turns::{self, TurnRow};
use super::ui::count;
use crate::error::{Error, Result};
use crate::model::plan::MemoryRecord;
use crate::model::{Change, Id, Layer, Memory};
use crate::reconcile::duplicate::Twins;
use crate::store::disk;
use crate::text::{redact, words};

/// Take over memories from a JSONL file
///
/// One object a line, in the shape that export writes; only `summary` must be there. An `external_id` is given back
/// with the new id. What is already known is not added again. Rows of turns, {id, session, ts, speaker, text}, are kept for
/// search --in turns.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Memories, each with the external id it came with, and turns.
type Rows = (Vec<(Option<String>, Memory)>, Vec<TurnRow>);

/// One line of the file.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    external_id: Option<String>,
    #[serde(flatten)]
    record: MemoryRecord,
}

impl ImportArgs {
    fn text(&self) -> Result<String> {
        let unreadable = |e: &std::io::Error| Error::io("read", &self.file, e);
        let mut text = String::new();
        if self.file.as_os_str() == "-" {
            std::io::stdin().lock().read_to_string(&mut text).map_err(|e| unreadable(&e))?;
        } else {
            text = std::fs::read_to_string(&self.file).map_err(|e| unreadable(&e))?;
        }
        Ok(text)
    }

    /// Memories with the external id of each; every line is checked before anything is stored.
    fn rows(&self, app: &App, text: &str) -> Result<Rows> {
        let (mut rows, mut turns) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let wrong = |what: String| {
                Error::failure(format!("{}:{}: {what}", self.file.display(), number + 1))
                    .hint("every line is one JSON object with at least a summary; nothing was imported")
            };
            let line = line.trim_start_matches('\u{feff}');
            if let Ok(turn) = serde_json::from_str::<TurnRow>(line)
                && !line.contains("\"summary\"")
            {
                turns.push(turn);
                continue;
            }
            let row: Row = serde_json::from_str(line).map_err(|e| wrong(format!("not a memory: {e}")))?;
            let given = Id::parse(&row.record.id);
            let id = match given {
                Some(id) => id,
                None => app.env.new_id()?,
            };
            let mut memory = row.record.to_memory(id).map_err(wrong)?;
            clean(&mut memory);
            if words::width(&memory.summary) > words::MAX_WIDTH {
                return Err(wrong(format!("the summary is wider than {:.0} wide characters", words::MAX_WIDTH)));
            }
            memory.created = memory.created.or_else(|| Some(app.env.now()));
            if memory.layer == Layer::Transient && memory.session.is_none() {
                let day = memory.created.as_deref().and_then(|c| c.get(..10)).unwrap_or("0000-00-00").to_owned();
                memory.session = Some(format!("{day}-imported"));
            }
            rows.push((row.external_id, memory));
        }
        if !turns.is_empty() {
            turns::check_wanted(app)?;
        }
        Ok((rows, turns))
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let (rows, turn_rows) = self.rows(app, &self.text()?)?;
        let store = app.store()?;
        let project = if rows.is_empty() { app.project(&store)? } else { app.project_to_write(&store)? };
        let mut result: Vec<(Option<String>, Id, bool)> = Vec::new();
        app.update(&store, &project, &mut |snapshot| {
            result.clear();
            let mut plan = app.plan(snapshot, "import");
            let mut twins = Twins::of(snapshot.entries.iter().map(|e| e.memory.clone()));
            for (external, memory) in &rows {
                if let Some(twin) = twins.find(memory) {
                    result.push((external.clone(), twin.id.clone(), false));
                } else {
                    result.push((external.clone(), memory.id.clone(), true));
                    plan.changes.push(Change::Add(memory.clone()));
                    twins.add(memory.clone());
                }
            }
            Ok(plan)
        })?;
        let turn_count = turns::keep(app, &store, &project, turn_rows)?;
        let added = result.iter().filter(|(_, _, new)| *new).count();
        if app.ui.wishes.json {
            let rows = result.iter().map(|(external, id, new)| {
                let row = [("id", Value::from(id.as_str())), ("external_id", Value::from(external.clone())), ("new", Value::from(*new))];
                Value::Object(fields(row))
            });
            app.ui.done("import", fields([("memories", rows.collect::<Vec<_>>().into()), ("turns", turn_count.into())]), ("", ""), "");
            return Ok(());
        }
        let known = result.len() - added;
        let rest = if known > 0 { format!(", {known} already known") } else { String::new() };
        let rest = if turn_count > 0 { format!("{rest}; {}", count(turn_count, "turn", "turns")) } else { rest };
        let what = format!("{} into {project}{rest}", count(added, "memory", "memories"));
        app.ui.done("import", fields([]), ("imported", "import"), &what);
        Ok(())
    }
}

/// Takes secrets out of every field that is kept.
fn clean(memory: &mut Memory) {
    let scrub = |text: &mut String| *text = redact(text).text;
    scrub(&mut memory.summary);
    for field in [&mut memory.topic, &mut memory.reason, &mut memory.rejected, &mut memory.how_to_apply, &mut memory.lapses_when] {
        if let Some(text) = field.as_mut() {
            scrub(text);
        }
    }
    memory.keywords.iter_mut().for_each(scrub);
    memory.evidence.iter_mut().for_each(|e| scrub(&mut e.quote));
}

/// Write memories as JSONL, one object a line
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file; - is stdout
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
}

impl ExportArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let snapshots = if self.all_projects { app.snapshots(&store, true)? } else { vec![app.read(&store, &app.project(&store)?)?] };
        let mut out = String::new();
        let mut number = 0;
        for snapshot in &snapshots {
            for entry in &snapshot.entries {
                let line = serde_json::to_string(&record(snapshot, entry))
                    .map_err(|e| Error::failure(format!("{} cannot be written as JSON: {e}", entry.memory.id)))?;
                out.push_str(&line);
                out.push('\n');
                number += 1;
            }
        }
        let memories = count(number, "memory", "memories");
        if self.file.as_os_str() == "-" {
            app.ui.data(&out);
            app.ui.say(&format!("{memories} exported"));
            return Ok(());
        }
        if !app.ui.wishes.dry_run {
            let path = app.env.absolute(&self.file);
            if path.exists() && !path.is_dir() && !app.ui.confirm(&format!("{} exists; replace it?", self.file.display()))? {
                app.ui.unchanged();
                return Ok(());
            }
            disk::write(&path, out.as_bytes())?;
        }
        let row = fields([("file", self.file.display().to_string().into()), ("exported", number.into())]);
        app.ui.done("export", row, ("exported", "export"), &format!("{memories} to {}", self.file.display()));
        Ok(())
    }
}
