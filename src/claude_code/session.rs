//! What a running session has been given: one small file per session that is only ever appended to.
//!
//! A prompt gets nothing twice. A file whose session never said its end leads to the conversation that nobody queued.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file_name;
use crate::error::{Error, Result};
use crate::model::Id;
use crate::store::{disk, layout};

/// Sessions that are remembered; the oldest go first.
const MOST: usize = 200;

/// One line of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// The conversation begins without what it was given before (start, `/clear`, compaction).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Its transcript.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transcript: String,
    /// Its working folder.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// Memories given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Id>,
    /// Bytes that the transcript had when it was queued without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u64>,
}

/// Everything known of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Name of its file: the session id where that is a plain one.
    pub name: String,
    /// Its transcript; empty if unknown.
    pub transcript: String,
    /// Its working folder.
    pub cwd: String,
    /// Memories that it has in front of it.
    pub given: BTreeSet<Id>,
    /// Every memory it was ever given.
    pub ever: BTreeSet<Id>,
    /// Bytes of the transcript when it was queued last.
    pub queued: Option<u64>,
}

fn folder(home: &Path) -> PathBuf {
    layout::state(home).join("sessions")
}

fn path(home: &Path, session: &str) -> PathBuf {
    folder(home).join(file_name(session))
}

/// Adds a line.
///
/// # Errors
/// If the file cannot be written.
pub fn add(home: &Path, session: &str, line: &Line) -> Result<()> {
    disk::create_dir(&folder(home))?;
    let json = serde_json::to_string(line).map_err(|e| Error::failure(format!("a session cannot be written down: {e}")))?;
    disk::append(&path(home, session), &format!("{json}\n"))
}

/// What is known of a session; nothing is nothing.
pub fn read(home: &Path, session: &str) -> Session {
    read_file(&path(home, session))
}

fn read_file(path: &Path) -> Session {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut session = Session { name, ..Session::default() };
    let bytes = fs::read(path).unwrap_or_default();
    // A line cut off by a crash is passed over: the worst is that a memory is given twice.
    for line in bytes.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice::<Line>(l).ok()) {
        if line.fresh {
            session.given.clear();
        }
        if !line.transcript.is_empty() {
            (session.transcript, session.cwd) = (line.transcript, line.cwd);
        }
        session.queued = line.queued.or(session.queued);
        session.ever.extend(line.ids.iter().cloned());
        session.given.extend(line.ids);
    }
    session
}

/// Forgets a session that has ended.
///
/// # Errors
/// If its file cannot be removed.
pub fn end(home: &Path, session: &str) -> Result<()> {
    disk::remove(&path(home, session))
}

/// Sessions without an end, this one left out, oldest first. More than [`MOST`] are forgotten.
pub fn open(home: &Path, but: &str) -> Vec<Session> {
    let items = fs::read_dir(folder(home)).into_iter().flatten().flatten();
    let mut files: Vec<_> = items.map(|i| (i.metadata().and_then(|m| m.modified()).ok(), i.path())).collect();
    files.sort();
    let forget = files.len().saturating_sub(MOST);
    for (_, path) in files.drain(..forget) {
        // What cannot be removed now is tried again at the next start.
        drop(disk::remove(&path));
    }
    let but = file_name(but);
    files.iter().filter(|(_, p)| p.file_name().is_none_or(|n| n.to_string_lossy() != but)).map(|(_, p)| read_file(p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_is_what_stands_in_front_of_the_session() {
        let dir = tempfile::tempdir().unwrap();
        let ids = |n: u64| vec![Id::from_bits(n)];
        let line = |fresh, n| Line { fresh, ids: ids(n), ..Line::default() };
        add(dir.path(), "s", &Line { transcript: "/t.jsonl".into(), cwd: "/w".into(), ..line(true, 1) }).unwrap();
        add(dir.path(), "s", &line(false, 2)).unwrap();
        assert_eq!(read(dir.path(), "s").given.len(), 2);
        add(dir.path(), "s", &line(true, 3)).unwrap();
        let session = read(dir.path(), "s");
        assert_eq!((session.given.len(), session.ever.len(), session.transcript.as_str()), (1, 3, "/t.jsonl"));
        assert_eq!(open(dir.path(), "s"), vec![]);
        assert_eq!(open(dir.path(), "other"), vec![session]);
        end(dir.path(), "s").unwrap();
        assert_eq!(read(dir.path(), "s").given.len(), 0);
    }
}
