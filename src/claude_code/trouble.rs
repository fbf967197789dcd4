//! `hook-errors.jsonl`: what went wrong where nobody was looking. Said once at the next session start, kept for `doctor`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::store::{disk, layout};

/// Bytes after which the file begins anew: a failure that repeats with every prompt must not fill the disk.
const MOST: u64 = 256 * 1024;

/// One failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// RFC 3339.
    pub at: String,
    /// Hook event, or `worker`; empty for a notice that is no failure.
    pub event: String,
    /// Session it happened in, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// One sentence.
    pub message: String,
    /// The one thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Trouble {
    /// Something that went well and that the owner should know.
    pub fn notice(at: String, message: &str) -> Self {
        Self { at, message: message.to_owned(), ..Self::default() }
    }

    /// A failure of an event.
    pub fn new(at: String, event: &str, session: &str, error: &Error) -> Self {
        Self { at, event: event.to_owned(), session: session.to_owned(), message: error.message.clone(), hint: error.hint.clone() }
    }
}

/// The file.
pub fn file(home: &Path) -> PathBuf {
    layout::state(home).join("hook-errors.jsonl")
}

/// How many bytes of the file have been said.
fn said(home: &Path) -> PathBuf {
    layout::state(home).join("hook-errors.said")
}

/// Writes a failure down.
///
/// # Errors
/// If the file cannot be written; then there is no place left to say so.
pub fn note(home: &Path, trouble: &Trouble) -> Result<()> {
    let path = file(home);
    if fs::metadata(&path).is_ok_and(|m| m.len() > MOST) {
        clear(home)?;
    }
    disk::create_dir(&layout::state(home))?;
    let line = serde_json::to_string(trouble).map_err(|e| Error::failure(format!("a failure cannot be written down: {e}")))?;
    disk::append(&path, &format!("{line}\n"))
}

/// Every failure that is kept, oldest first. Lines that cannot be read are passed over.
pub fn all(home: &Path) -> Vec<Trouble> {
    parse(&fs::read(file(home)).unwrap_or_default())
}

fn parse(bytes: &[u8]) -> Vec<Trouble> {
    bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// What has not been said yet; from now on it counts as said.
pub fn unsaid(home: &Path) -> Vec<Trouble> {
    let Ok(bytes) = fs::read(file(home)) else { return Vec::new() };
    let from: usize = fs::read_to_string(said(home)).ok().and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    // A file that was removed meanwhile begins anew.
    let new = bytes.get(from..).unwrap_or(&bytes);
    if new.is_empty() {
        return Vec::new();
    }
    // If this cannot be kept it is said again, which is better than never.
    drop(disk::write_cache(&said(home), bytes.len().to_string().as_bytes()));
    parse(new)
}

fn clear(home: &Path) -> Result<()> {
    disk::remove(&file(home))?;
    disk::remove(&said(home))
}

/// One line for the person at the keyboard; `None` if there is nothing to say.
pub fn line(troubles: &[Trouble]) -> Option<String> {
    let last = troubles.last()?;
    let hint = last.hint.as_deref().map(|h| format!(" ({h})")).unwrap_or_default();
    let others = match troubles.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Some(match last.event.as_str() {
        "" => format!("claude-mem: {}{hint}{others}", last.message),
        event => format!("claude-mem: {event} failed: {}{hint}{others}; `claude-mem doctor` shows it", last.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_said_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let trouble = |message: &str| Trouble { event: "SessionEnd".into(), message: message.into(), ..Trouble::default() };
        assert_eq!(unsaid(dir.path()), vec![]);
        note(dir.path(), &trouble("one")).unwrap();
        note(dir.path(), &trouble("二")).unwrap();
        let new = unsaid(dir.path());
        assert_eq!(new.len(), 2);
        assert_eq!(line(&new).unwrap(), "claude-mem: SessionEnd failed: 二, and 1 more; `claude-mem doctor` shows it");
        assert_eq!((unsaid(dir.path()), all(dir.path()).len()), (vec![], 2));
        note(dir.path(), &trouble("three")).unwrap();
        assert_eq!(unsaid(dir.path()).len(), 1);
        // A full file does not silence what fails later.
        let long = "x".repeat(MOST as usize);
        note(dir.path(), &trouble(&long)).unwrap();
        assert_eq!(unsaid(dir.path()).len(), 1);
        note(dir.path(), &trouble("four")).unwrap();
        assert_eq!((unsaid(dir.path()).len(), all(dir.path()).len()), (1, 1));
    }
}
