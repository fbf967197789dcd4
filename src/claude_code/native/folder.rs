//! A memory folder as read at one moment: the index and the memory files, in the order of their names.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::file::{self, File};
use super::{INDEX, index};
use crate::error::{Error, Kind, Problem, Result};

/// The biggest file that is read; a memory is a page at most.
const BIGGEST: u64 = 1_000_000;

/// A memory folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// `MEMORY.md`, if there is one.
    pub index: Option<String>,
    /// The memory files.
    pub files: Vec<File>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Folder {
    /// Reads a folder that must be there.
    ///
    /// # Errors
    /// [`Kind::Usage`] if there is none; else if it, or its index, cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let what = if path.exists() {
                "is a file, not a memory folder"
            } else {
                "is not there: Claude Code has kept no memory for this project"
            };
            return Err(Error::new(Kind::Usage, format!("{} {what}", path.display())).hint("name another folder with --dir"));
        }
        Self::read_if_there(path)
    }

    /// The same; a folder that is not there is empty.
    ///
    /// # Errors
    /// If it, or its index, cannot be read.
    pub fn read_if_there(path: &Path) -> Result<Self> {
        let mut folder = Self { path: path.to_path_buf(), ..Self::default() };
        let items = match std::fs::read_dir(path) {
            Ok(items) => items,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(folder),
            Err(e) => return Err(Error::io("read", path, &e)),
        };
        let mut names: Vec<String> =
            items.flatten().filter_map(|i| i.file_name().into_string().ok()).filter(|n| file::is_memory(n)).collect();
        names.sort_unstable();
        for name in names {
            match read_file(&path.join(&name), &name) {
                Ok(file) => folder.files.push(file),
                Err(problem) => folder.problems.push(problem),
            }
        }
        folder.index = crate::claude_code::wiring::read(&path.join(INDEX))?;
        Ok(folder)
    }

    /// The file with this name.
    pub fn file(&self, name: &str) -> Option<&File> {
        self.files.iter().find(|f| f.name == name)
    }

    /// The index as text.
    pub fn index_text(&self) -> &str {
        self.index.as_deref().unwrap_or_default()
    }

    /// The index as lines.
    pub fn index(&self) -> index::Index {
        index::Index::read(self.index_text())
    }
}

/// A memory file. A link is not followed: it may lead anywhere.
fn read_file(path: &Path, name: &str) -> Result<File, Problem> {
    let problem = |code, detail: String| Problem { code, file: name.to_owned(), line: None, detail };
    let about = path.symlink_metadata().map_err(|e| problem("unreadable", format!("cannot be read: {e}")))?;
    if !about.is_file() {
        return Err(problem("no_file", "is a link or no file; it is left out".to_owned()));
    }
    if about.len() > BIGGEST {
        return Err(problem("too_big", format!("has {} bytes; it is left out", about.len())));
    }
    let bytes = std::fs::read(path).map_err(|e| problem("unreadable", format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| problem("encoding", "is not UTF-8; it is left out".to_owned()))?;
    let day = about.modified().ok().and_then(|t| Timestamp::try_from(t).ok()).map(|t| t.strftime("%Y-%m-%d").to_string());
    Ok(File::read(name, &text, day))
}
