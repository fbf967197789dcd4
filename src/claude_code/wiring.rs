//! Putting our parts into Claude Code's files and taking them out again, byte for byte where nobody else wrote since.
//!
//! A change is a plan first ([`install`], [`uninstall`]), shown by the caller, then [`apply`]. What was written is kept
//! in `.state/wiring.json`: per file the digest before and after, and the bytes before as `.state/wiring/SHA256`.
//! What goes into a file is `settings`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::settings::{self, Part, Program};
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::store::disk;
use crate::store::sha256;

/// Whose sessions remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// Every project of this user.
    #[default]
    User,
    /// This repository, for this user alone.
    Project,
}

/// A file of the client that can hold parts of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as a user names it.
    pub path: PathBuf,
    /// What goes into it.
    pub parts: Vec<Part>,
}

/// What is to become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file, as a user names it.
    pub path: PathBuf,
    /// Its bytes now; none if it is not there.
    pub now: Option<String>,
    /// Its bytes afterwards; none if it goes.
    pub after: Option<String>,
    /// What an uninstall would give back; none for a file that was not there.
    pub before: Option<String>,
    /// How this came about, where the diff does not say it.
    pub note: Option<&'static str>,
}

impl Edit {
    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.now != self.after
    }
}

/// `.state/wiring.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this file: 1.
    #[serde(default)]
    pub version: u32,
    /// Program that was wired last, and those before it.
    #[serde(default)]
    pub programs: Vec<String>,
    /// File → what we did to it.
    #[serde(default)]
    pub files: BTreeMap<String, Written>,
}

/// What we did to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// SHA-256 before; none: it was not there. Also the name of the copy.
    pub before: Option<String>,
    /// SHA-256 after.
    pub after: String,
    /// When, RFC 3339.
    pub at: String,
}

impl Record {
    /// Reads the record of a memory folder's `.state`; no file is an empty record.
    pub fn load(state: &Path) -> Result<Self> {
        let path = state.join("wiring.json");
        let Some(text) = read(&path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|e| {
            Error::new(Kind::Config, format!("{} cannot be read: {e}", path.display()))
                .hint("move it away; uninstall then takes our parts out one by one")
        })
    }

    fn save(&self, state: &Path) -> Result<()> {
        let path = state.join("wiring.json");
        if self.files.is_empty() {
            return disk::remove(&path);
        }
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::failure(format!("the record of the wiring: {e}")))?;
        disk::write(&path, format!("{text}\n").as_bytes())
    }

    /// The bytes before us of a file whose copy is there and sound; the outer `None`: not known.
    fn before(&self, state: &Path, path: &Path, now: Option<&str>) -> Result<Option<Option<String>>> {
        let Some(written) = self.files.get(&name(path)) else { return Ok(None) };
        if now.map(|t| sha256(t.as_bytes())).as_ref() != Some(&written.after) {
            return Ok(None);
        }
        self.copy(state, path)
    }

    /// The copy of a file from before us; the outer `None`: there is no sound copy.
    fn copy(&self, state: &Path, path: &Path) -> Result<Option<Option<String>>> {
        let Some(written) = self.files.get(&name(path)) else { return Ok(None) };
        let Some(digest) = &written.before else { return Ok(Some(None)) };
        let copy = read(&copies(state).join(digest))?;
        Ok(copy.filter(|text| sha256(text.as_bytes()) == *digest).map(Some))
    }
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn copies(state: &Path) -> PathBuf {
    state.join("wiring")
}

/// A file as text; none if it is not there.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::new(Kind::Config, format!("{} is not UTF-8", path.display())).hint("save it as UTF-8; nothing was changed")
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path, &e)),
    }
}

/// The client's folder: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn client_folder(env: &Env) -> Result<PathBuf> {
    match env.var("CLAUDE_CONFIG_DIR") {
        Some(folder) => Ok(env.absolute(Path::new(folder))),
        None => Ok(env.user_home()?.join(".claude")),
    }
}

/// The files of a scope, with what belongs into each. `root` is the top of the work tree.
pub fn places(scope: Scope, env: &Env, root: &Path) -> Result<Vec<Place>> {
    let (settings, servers) = match scope {
        Scope::User => {
            // CLAUDE_CONFIG_DIR moves `.claude.json` into that folder; else it lies beside `.claude`.
            let beside = if env.var("CLAUDE_CONFIG_DIR").is_some() { client_folder(env)? } else { env.user_home()? };
            (client_folder(env)?.join("settings.json"), beside.join(".claude.json"))
        }
        Scope::Project => (root.join(".claude/settings.local.json"), root.join(".mcp.json")),
    };
    Ok(vec![Place { path: settings, parts: vec![Part::Hooks, Part::Permissions] }, Place { path: servers, parts: vec![Part::Server] }])
}

/// The places that have parts of ours now, each with the parts it has: those recorded, and those of both scopes here.
pub fn wired(env: &Env, root: &Path, record: &Record, program: &Program) -> Result<Vec<Place>> {
    let mut paths: Vec<PathBuf> = record.files.keys().map(PathBuf::from).collect();
    for scope in [Scope::User, Scope::Project] {
        paths.extend(places(scope, env, root)?.into_iter().map(|p| p.path));
    }
    paths.push(root.join(".claude/settings.json"));
    let mut found: Vec<Place> = Vec::new();
    for path in paths {
        if found.iter().any(|p| p.path == path) {
            continue;
        }
        let Some(text) = read(&path)? else { continue };
        // A file that cannot be read is reported where it is to be changed.
        let Ok(value) = settings::read(&text) else { continue };
        let parts = settings::parts(&value, program);
        // Permission rules alone do nothing, and may be the user's own.
        if parts.iter().any(|p| *p != Part::Permissions) {
            found.push(Place { path, parts });
        }
    }
    Ok(found)
}

/// What installing would do to each place.
pub fn install(places: &[Place], program: &Program, record: &Record, state: &Path) -> Result<Vec<Edit>> {
    places.iter().map(|place| named(&place.path, install_one(place, program, record, state))).collect()
}

fn install_one(place: &Place, program: &Program, record: &Record, state: &Path) -> Result<Edit> {
    let now = read(&place.path)?;
    let value = settings::read(now.as_deref().unwrap_or_default())?;
    let before = match record.before(state, &place.path, now.as_deref())? {
        Some(before) => before,
        // Older wiring without a record, or edits by others since: what there is without us.
        None if settings::parts(&value, program).iter().any(|p| *p != Part::Permissions) => {
            let was = record.copy(state, &place.path)?.flatten();
            now.as_deref().map(|text| settings::without(text, was.as_deref(), program)).transpose()?
        }
        None => now.clone(),
    };
    let after = if settings::complete(&value, &place.parts, program) {
        now.clone()
    } else {
        Some(settings::with(before.as_deref().unwrap_or_default(), &place.parts, program)?)
    };
    Ok(Edit { path: place.path.clone(), now, after, before, note: None })
}

/// What uninstalling would do to each file that we wrote or that has parts of ours. A file that cannot be read is an
/// error of its own, beside the plan for the others.
pub fn uninstall(env: &Env, root: &Path, program: &Program, record: &Record, state: &Path) -> Result<(Vec<Edit>, Vec<Error>)> {
    let mut paths: Vec<PathBuf> = record.files.keys().map(PathBuf::from).collect();
    paths.extend(wired(env, root, record, program)?.into_iter().map(|p| p.path).filter(|p| !record.files.contains_key(&name(p))));
    let (mut edits, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match named(&path, uninstall_one(&path, program, record, state)) {
            Ok(edit) => edits.push(edit),
            Err(error) => errors.push(error),
        }
    }
    Ok((edits, errors))
}

fn uninstall_one(path: &Path, program: &Program, record: &Record, state: &Path) -> Result<Edit> {
    let now = read(path)?;
    let edit =
        |after: Option<String>, note| Edit { path: path.to_owned(), now: now.clone(), before: after.clone(), after, note: Some(note) };
    if now.is_none() {
        return Ok(edit(None, "is gone already"));
    }
    if let Some(before) = record.before(state, path, now.as_deref())? {
        return Ok(edit(before, "goes back to what it was, byte for byte"));
    }
    let text = now.as_deref().unwrap_or_default();
    let was = record.copy(state, path)?.flatten();
    if settings::parts(&settings::read(text)?, program).is_empty() {
        return Ok(edit(now.clone(), "has no part of ours any more"));
    }
    let after = settings::without(text, was.as_deref(), program)?;
    Ok(edit(Some(after), "was changed by others since; only our parts are taken out, their changes stay"))
}

/// Puts the name of the file before an error about its content.
fn named<T>(path: &Path, outcome: Result<T>) -> Result<T> {
    outcome
        .map_err(|e| if e.message.contains(&name(path)) { e } else { Error { message: format!("{}: {}", path.display(), e.message), ..e } })
}

/// Carries out edits of [`install`]: copies and record first, then the files; if one fails, those before it go back.
///
/// # Errors
/// [`Kind::Busy`] if a file changed since the plan was made.
pub fn apply(state: &Path, edits: &[Edit], program: &Program, at: &str) -> Result<()> {
    let old = Record::load(state)?;
    let mut record = Record { version: 1, ..old.clone() };
    record.programs.retain(|p| *p != program.command);
    record.programs.insert(0, program.command.clone());
    disk::create_dir(&copies(state))?;
    for edit in edits {
        if let Some(text) = &edit.before {
            let copy = copies(state).join(sha256(text.as_bytes()));
            disk::write(&copy, text.as_bytes())?;
        }
        if let Some(after) = &edit.after {
            let digest = |text: &String| sha256(text.as_bytes());
            let written = Written { before: edit.before.as_ref().map(digest), after: digest(after), at: at.to_owned() };
            // What was as wanted without a change of ours keeps the record it has.
            if edit.changes() || record.files.contains_key(&name(&edit.path)) {
                record.files.insert(name(&edit.path), written);
            }
        }
    }
    record.save(state)?;
    write_all(edits).inspect_err(|_| {
        // The first error is the one to tell; the old record is at worst more cautious than needed.
        let _ = old.save(state);
    })
}

/// Carries out edits of [`uninstall`], and forgets those files. Copies that were given back go; others stay.
pub fn undo(state: &Path, edits: &[Edit]) -> Result<()> {
    let mut record = Record::load(state)?;
    write_all(edits)?;
    for edit in edits {
        record.files.remove(&name(&edit.path));
    }
    if state.is_dir() {
        record.save(state)?;
    }
    if record.files.is_empty() {
        disk::remove_tree(&copies(state))?;
    }
    Ok(())
}

/// Writes files that are as the plan knew them; if one fails, those before it go back.
pub(super) fn write_all(edits: &[Edit]) -> Result<()> {
    for edit in edits {
        if read(&edit.path)? != edit.now {
            return Err(Error::new(Kind::Busy, format!("{} changed in this moment", edit.path.display()))
                .hint("close Claude Code and run the same command again; nothing was changed"));
        }
    }
    let mut done: Vec<&Edit> = Vec::new();
    for edit in edits.iter().filter(|e| e.changes()) {
        if let Err(error) = put(&edit.path, edit.after.as_deref()) {
            for earlier in done {
                put(&earlier.path, earlier.now.as_deref())?;
            }
            return Err(error);
        }
        done.push(edit);
    }
    Ok(())
}

fn put(path: &Path, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) => disk::replace(path, text.as_bytes()),
        None => {
            disk::remove(path)?;
            // A `.claude` folder that we made for it; one with anything in it stays.
            if let Some(folder) = path.parent().filter(|p| p.file_name().is_some_and(|n| n == ".claude")) {
                disk::remove_empty(folder);
            }
            Ok(())
        }
    }
}

/// How the client should start this program: by the name on PATH if that leads here (it stays when a package manager
/// moves the file behind it), else by its own path. A memory folder that is not the usual one is passed on.
pub fn program(env: &Env, home: &Path, record: &Record) -> Result<Program> {
    let own = env.program()?;
    let real = |path: &Path| path.canonicalize().ok();
    let on_path = env.var("PATH").into_iter().flat_map(|p| std::env::split_paths(p).collect::<Vec<_>>());
    let stable = on_path.filter(|dir| dir.is_absolute()).map(|dir| dir.join(if cfg!(windows) { "claude-mem.exe" } else { "claude-mem" }));
    let command = stable.into_iter().find(|path| real(path).is_some() && real(path) == real(&own)).unwrap_or(own);
    let usual = env.user_home()?.join(".claude-mem");
    let extra = if home == usual { Vec::new() } else { vec!["--home".to_owned(), name(home)] };
    Ok(Program { command: name(&command), extra, former: record.programs.clone() })
}
