//! What we wrote into memory folders, `.state/native.json`, and the writing itself: only files that are as the plan knew
//! them, each kept as a copy in `.state/native/` first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::digest;
use crate::claude_code::wiring::{self, Edit};
use crate::error::{Error, Kind, Result};
use crate::store::disk;

/// Folders of copies that are kept.
const KEPT: usize = 20;

/// `.state/native.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this file: 1.
    #[serde(default)]
    pub version: u32,
    /// Memory folder → file → what we wrote.
    #[serde(default)]
    pub folders: BTreeMap<String, BTreeMap<String, Written>>,
}

/// One file of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Whose memory it is.
    pub project: String,
    /// [`digest`] of the file.
    pub digest: String,
    /// Its index line.
    pub line: String,
}

impl Written {
    /// What is written down of a file.
    pub fn of(project: &str, text: &str, line: &str) -> Self {
        Self { project: project.to_owned(), digest: digest(text), line: line.to_owned() }
    }

    /// Whether a file is as we wrote it.
    pub fn is(&self, text: &str) -> bool {
        digest(text) == self.digest
    }
}

impl Record {
    /// Reads the record of a memory folder's `.state`; no file is an empty record.
    pub fn load(state: &Path) -> Result<Self> {
        let path = path(state);
        let Some(text) = wiring::read(&path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|e| {
            Error::new(Kind::Config, format!("{} cannot be read: {e}", path.display()))
                .hint("move it away; files that are as export would write them are known again, the others stay as they are")
        })
    }

    /// What we wrote into a folder.
    pub fn of(&self, folder: &Path) -> BTreeMap<String, Written> {
        self.folders.get(&*folder.to_string_lossy()).cloned().unwrap_or_default()
    }

    /// Writes down what is ours in a folder.
    pub fn save(mut self, state: &Path, folder: &Path, files: BTreeMap<String, Written>) -> Result<()> {
        let name = folder.to_string_lossy().into_owned();
        if files.is_empty() {
            drop(self.folders.remove(&name));
        } else {
            drop(self.folders.insert(name, files));
        }
        let path = path(state);
        if self.folders.is_empty() {
            return disk::remove(&path);
        }
        self.version = 1;
        let text = serde_json::to_string_pretty(&self).map_err(|e| Error::failure(format!("the record of exported files: {e}")))?;
        disk::create_dir(state)?;
        disk::write(&path, format!("{text}\n").as_bytes())
    }
}

fn path(state: &Path) -> PathBuf {
    state.join("native.json")
}

/// Carries out edits in a memory folder: copies first, then the files; if one fails, those before it go back. Gives the folder
/// of the copies, if there was anything to copy. `at` is RFC 3339.
///
/// # Errors
/// If the folder or a file is a link, or cannot be written; [`Kind::Busy`] if a file changed since the plan was made.
pub fn apply(state: &Path, folder: &Path, edits: &[Edit], at: &str) -> Result<Option<PathBuf>> {
    let edits: Vec<Edit> = edits.iter().filter(|e| e.changes()).cloned().collect();
    for path in std::iter::once(folder).chain(edits.iter().map(|e| e.path.as_path())) {
        if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
            return Err(Error::failure(format!("{} is a link, and what it leads to is not written; nothing was changed", path.display()))
                .hint("name the folder behind it with --dir"));
        }
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let stamp: String = at.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    forget_oldest(&state.join("native"))?;
    let free = (1..).map(|n| state.join("native").join(if n == 1 { stamp.clone() } else { format!("{stamp}-{n}") })).find(|p| !p.exists());
    let copies = free.unwrap_or_else(|| state.join("native"));
    let before: Vec<(&Edit, &String)> = edits.iter().filter_map(|e| Some((e, e.now.as_ref()?))).collect();
    if !before.is_empty() {
        disk::create_dir(&copies)?;
    }
    for (edit, text) in &before {
        let name = edit.path.file_name().unwrap_or_default();
        disk::write(&copies.join(name), text.as_bytes())?;
    }
    disk::create_dir(folder)?;
    wiring::write_all(&edits)?;
    Ok((!before.is_empty()).then_some(copies))
}

/// Makes room for one more folder of copies.
fn forget_oldest(copies: &Path) -> Result<()> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(copies).into_iter().flatten().flatten().map(|i| i.path()).collect();
    folders.sort();
    let old = (folders.len() + 1).saturating_sub(KEPT);
    folders.iter().take(old).try_for_each(|folder| disk::remove_tree(folder))
}
