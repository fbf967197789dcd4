//! `export`: memories as JSONL, as a folder of topics, or as a block for a CLAUDE.md.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, record};
use super::edits;
use super::ui::{count, paint, style};
use crate::claude_code::wiring::{self, Edit};
use crate::error::{Error, Kind, Result};
use crate::recall::{block, topics};
use crate::store::{Snapshot, disk, sha256};

/// Write memories as JSONL, as a folder of topics, or as a block for CLAUDE.md
///
/// jsonl: one object a line, the shape that import reads. topics: one Markdown file per topic with an index; a file that you
/// changed since is left alone. claude-md: your conventions, preferences and decisions in short, without what nobody has
/// confirmed; --write keeps them in a file between two marks and touches nothing else there.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file, or the folder for topics; - is stdout
    #[arg(value_name = "FILE|DIR", default_value = "-")]
    file: PathBuf,
    /// jsonl, topics or claude-md
    #[arg(long, value_name = "NAME", value_parser = ["jsonl", "topics", "claude-md"], default_value = "jsonl", hide_possible_values = true)]
    format: String,
    /// With claude-md: keep the block in this file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
    /// The memories of scope global, too
    #[arg(long)]
    with_global: bool,
}

/// What we know of a folder of topics: the files we wrote and their digests.
const MANIFEST: &str = ".claude-mem-topics.json";

impl ExportArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        if self.write.is_some() && self.format != "claude-md" {
            return Err(Error::new(Kind::Usage, "--write goes with --format claude-md").hint("name the file without --write"));
        }
        let store = app.store()?;
        let snapshots = match (self.all_projects, self.with_global) {
            (true, _) => app.snapshots(&store, true)?,
            (false, true) => app.snapshots(&store, false)?,
            (false, false) => vec![app.read(&store, &app.project(&store)?)?],
        };
        let snapshots = app.given(&store, snapshots, &mut Vec::new());
        match self.format.as_str() {
            "topics" => self.topics(app, &snapshots),
            "claude-md" => self.block(app, &snapshots),
            _ => self.jsonl(app, &snapshots),
        }
    }

    fn to_stdout(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    fn jsonl(&self, app: &App, snapshots: &[Snapshot]) -> Result<()> {
        let mut out = String::new();
        let mut number = 0;
        for (snapshot, entry) in snapshots.iter().flat_map(|s| s.entries.iter().map(move |e| (s, e))) {
            let line = serde_json::to_string(&record(snapshot, entry))
                .map_err(|e| Error::failure(format!("{} cannot be written as JSON: {e}", entry.memory.id)))?;
            out.push_str(&line);
            out.push('\n');
            number += 1;
        }
        self.one_file(app, &out, number)
    }

    /// Writes one text to stdout or into a file, which is replaced only on yes.
    fn one_file(&self, app: &App, text: &str, number: usize) -> Result<()> {
        let memories = count(number, "memory", "memories");
        if self.to_stdout() {
            app.ui.data(text);
            app.ui.say(&format!("{memories} exported"));
            return Ok(());
        }
        if !app.ui.wishes.dry_run {
            let path = app.env.absolute(&self.file);
            if path.exists() && !path.is_dir() && !app.ui.confirm(&format!("{} exists; replace it?", self.file.display()))? {
                app.ui.unchanged();
                return Ok(());
            }
            disk::write(&path, text.as_bytes())?;
        }
        let row = fields([("file", self.file.display().to_string().into()), ("exported", number.into())]);
        app.ui.done("export", row, ("exported", "export"), &format!("{memories} to {}", self.file.display()));
        Ok(())
    }

    /// The block for a CLAUDE.md: printed, or kept in a file between its marks.
    fn block(&self, app: &App, snapshots: &[Snapshot]) -> Result<()> {
        let all: Vec<&Snapshot> = snapshots.iter().collect();
        let block = block::text(&all, &app.env.today());
        if block.unconfirmed > 0 {
            let rules = count(block.unconfirmed, "imported rule", "imported rules");
            app.ui.warn(&format!("{rules} left out, as nobody has confirmed them: claude-mem review"));
        }
        let Some(write) = &self.write else { return self.one_file(app, &block.text, block.memories) };
        let path = app.env.absolute(write);
        if path.parent().is_some_and(|folder| !folder.is_dir()) {
            return Err(Error::new(Kind::Usage, format!("the folder of {} is not there", write.display())).hint("make it first"));
        }
        let now = wiring::read(&path)?;
        let new = block::splice(now.as_deref().unwrap_or_default(), &block.text).map_err(|what| {
            Error::failure(format!("{}: {what}", write.display())).hint("mend or remove the two marks; nothing was changed")
        })?;
        let edit = Edit { path: path.clone(), before: now.clone(), now, after: Some(new.clone()), note: None };
        let changed = edit.changes();
        if changed && !app.ui.wishes.json {
            edits::show(app, &[&edit]);
        }
        if changed && !app.ui.wishes.dry_run {
            if wiring::read(&path)? != edit.now {
                return Err(Error::new(Kind::Busy, format!("{} changed in this moment", write.display()))
                    .hint("run the same command again; nothing was changed"));
            }
            disk::replace_shared(&path, new.as_bytes())?;
        }
        let row = fields([("file", write.display().to_string().into()), ("exported", block.memories.into()), ("changed", changed.into())]);
        let memories = count(block.memories, "memory", "memories");
        let kept = if changed { "" } else { ", which had it already" };
        app.ui.done("export", row, ("wrote", "write"), &format!("{memories} into {}{kept}", write.display()));
        Ok(())
    }

    /// One file per topic, and an index. Only what we wrote and nobody changed is written again or removed.
    fn topics(&self, app: &App, snapshots: &[Snapshot]) -> Result<()> {
        if self.to_stdout() {
            return Err(Error::new(Kind::Usage, "topics go into a folder").hint("claude-mem export --format topics DIR"));
        }
        let folder = app.env.absolute(&self.file);
        if folder.exists() && !folder.is_dir() {
            return Err(Error::new(Kind::Usage, format!("{} is a file", self.file.display())).hint("name a folder"));
        }
        let pages = topics::pages(snapshots);
        let mut known = manifest(&folder)?;
        let (mut written, mut kept, mut removed) = (0, Vec::new(), Vec::new());
        let mut next: Vec<(String, String)> = Vec::new();
        let dry = app.ui.wishes.dry_run;
        if !dry {
            disk::create_dir(&folder)?;
        }
        for page in &pages {
            let path = folder.join(&page.file);
            let digest = sha256(page.text.as_bytes());
            let ours = known.iter().position(|(file, _)| *file == page.file).map(|at| known.swap_remove(at).1);
            let is = digest_of(&path)?;
            if is.is_some() && is != ours && is.as_ref() != Some(&digest) {
                kept.push(page.file.clone());
                next.extend(ours.map(|ours| (page.file.clone(), ours)));
                continue;
            }
            if is.as_ref() != Some(&digest) {
                written += 1;
                if !dry {
                    disk::write(&path, page.text.as_bytes())?;
                }
            }
            next.push((page.file.clone(), digest));
        }
        for (file, ours) in known {
            let path = folder.join(&file);
            match digest_of(&path)? {
                Some(is) if is == ours => {
                    if !dry {
                        disk::remove(&path)?;
                    }
                    removed.push(file);
                }
                Some(_) => kept.push(file),
                None => {}
            }
        }
        if !dry {
            remember(&folder, next)?;
        }
        for file in &kept {
            app.ui.warn(&format!("{} was written or changed by somebody else and is left alone", app.ui.foreign(file)));
        }
        for file in &removed {
            app.ui.say(&paint(style::DIM, &format!("{} {}", if dry { "would remove" } else { "removed" }, app.ui.foreign(file))));
        }
        let row = fields([
            ("folder", self.file.display().to_string().into()),
            ("topics", pages.len().saturating_sub(1).into()),
            ("written", written.into()),
            ("left_alone", kept.into()),
            ("removed", removed.into()),
        ]);
        let all = count(pages.len().saturating_sub(1), "topic", "topics");
        app.ui.done(
            "export",
            row,
            ("exported", "export"),
            &format!("{all} to {}, {} new or changed", self.file.display(), count(written, "file", "files")),
        );
        Ok(())
    }
}

/// The files that we wrote into a folder, with their digests.
fn manifest(folder: &Path) -> Result<Vec<(String, String)>> {
    let path = folder.join(MANIFEST);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", &path, &e)),
    };
    let broken =
        || Error::failure(format!("{} cannot be read", path.display())).hint("remove it; files that are there are then left alone");
    let object: Value = serde_json::from_str(&text).map_err(|_| broken())?;
    let files = object.get("files").and_then(Value::as_object).ok_or_else(broken)?;
    // A name with a folder in it is none of ours.
    let ours = files.iter().filter(|(file, _)| file.ends_with(".md") && !file.contains(['/', '\\', ':']) && !file.starts_with('.'));
    Ok(ours.filter_map(|(file, digest)| Some((file.clone(), digest.as_str()?.to_owned()))).collect())
}

fn remember(folder: &Path, mut files: Vec<(String, String)>) -> Result<()> {
    files.sort();
    let files: serde_json::Map<String, Value> = files.into_iter().map(|(file, digest)| (file, digest.into())).collect();
    let text = format!("{:#}\n", json!({"version": 1, "files": files}));
    if digest_of(&folder.join(MANIFEST))?.is_some_and(|is| is == sha256(text.as_bytes())) {
        return Ok(());
    }
    disk::write(&folder.join(MANIFEST), text.as_bytes())
}

/// The digest of a file; `None` if there is none. A link counts as somebody else's file.
fn digest_of(path: &Path) -> Result<Option<String>> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Ok(Some(String::new())),
        Ok(_) => std::fs::read(path).map(|bytes| Some(sha256(&bytes))).map_err(|e| Error::io("read", path, &e)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path, &e)),
    }
}
