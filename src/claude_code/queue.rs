//! `.state/queue`: conversations that wait to be read, one small file per session, kept until they are in the store.
//!
//! A file is appended to, its last line counts, and it is claimed by a rename: so a hook that queues a session again while
//! the reader is at it loses nothing. What failed [`TRIES`] times is put aside, not thrown away.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file_name;
use crate::error::{Error, Result};
use crate::store::{disk, layout};

/// Times a conversation is tried.
pub const TRIES: u32 = 5;

/// Conversations that can wait; the oldest go first (`claude-mem ingest --all-history` finds them all the same).
const MOST: usize = 1000;

/// Ending of what waits.
const WAITING: &str = "json";
/// Ending of what the reader is at.
const CLAIMED: &str = "claimed";
/// Ending of what was put aside.
const FAILED: &str = "failed";

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Item {
    /// Session id.
    pub session: String,
    /// Its transcript.
    pub transcript: PathBuf,
    /// Its working folder.
    pub cwd: PathBuf,
    /// The event that queued it; `catch-up` for one that never said its end.
    pub event: String,
    /// RFC 3339: when it was queued.
    pub at: String,
    /// Times it was tried in vain.
    #[serde(skip_serializing_if = "is_zero")]
    pub tries: u32,
    /// Why it failed last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The folder.
pub fn folder(home: &Path) -> PathBuf {
    layout::state(home).join("queue")
}

fn path(home: &Path, session: &str, ending: &str) -> PathBuf {
    folder(home).join(format!("{}.{ending}", file_name(session)))
}

/// Puts a conversation into the queue; one that waits already waits on.
///
/// # Errors
/// If it cannot be written.
pub fn put(home: &Path, item: &Item) -> Result<()> {
    disk::create_dir(&folder(home))?;
    let file = path(home, &item.session, WAITING);
    append(&file, item)?;
    if !file.exists() {
        // The reader claimed it while it was being written: this is news for the next round.
        append(&file, item)?;
    }
    let all = list(home, WAITING);
    for old in all.iter().take(all.len().saturating_sub(MOST)) {
        disk::remove(&path(home, &old.session, WAITING))?;
    }
    Ok(())
}

fn append(path: &Path, item: &Item) -> Result<()> {
    let line = serde_json::to_string(item).map_err(|e| Error::failure(format!("the queue cannot be written: {e}")))?;
    disk::append(path, &format!("{line}\n"))
}

/// What waits, oldest first.
pub fn waiting(home: &Path) -> Vec<Item> {
    list(home, WAITING)
}

/// What was put aside after [`TRIES`] tries.
pub fn failed(home: &Path) -> Vec<Item> {
    list(home, FAILED)
}

/// Whether anything waits, or was left by a reader that was killed.
pub fn is_empty(home: &Path) -> bool {
    [WAITING, CLAIMED].iter().all(|ending| files(home, ending).is_empty())
}

fn files(home: &Path, ending: &str) -> Vec<PathBuf> {
    let items = fs::read_dir(folder(home)).into_iter().flatten().flatten().map(|i| i.path());
    items.filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
}

fn list(home: &Path, ending: &str) -> Vec<Item> {
    let mut items: Vec<Item> = files(home, ending).iter().filter_map(|p| last(p)).collect();
    items.sort_by(|a, b| (&a.at, &a.session).cmp(&(&b.at, &b.session)));
    items
}

/// The last line that can be read.
fn last(path: &Path) -> Option<Item> {
    let bytes = fs::read(path).ok()?;
    bytes.rsplit(|b| *b == b'\n').find_map(|line| serde_json::from_slice(line).ok())
}

/// Takes a conversation for reading. `false`: it is gone.
///
/// # Errors
/// If the folder cannot be written.
pub fn claim(home: &Path, item: &Item) -> Result<bool> {
    let from = path(home, &item.session, WAITING);
    if !from.exists() {
        return Ok(false);
    }
    disk::rename(&from, &path(home, &item.session, CLAIMED)).map(|()| true)
}

/// The conversation is in the store, or there is nothing to read any more.
///
/// # Errors
/// If its file cannot be removed.
pub fn done(home: &Path, item: &Item) -> Result<()> {
    disk::remove(&path(home, &item.session, CLAIMED))
}

/// Forgets conversations that were read by other means, whether they wait or were put aside.
///
/// # Errors
/// If the folder cannot be written.
pub fn forget(home: &Path, was_read: &dyn Fn(&Item) -> bool) -> Result<()> {
    for item in waiting(home).iter().filter(|item| was_read(item)) {
        // By way of a claim: what a hook adds in this moment waits on.
        if claim(home, item)? {
            done(home, item)?;
        }
    }
    failed(home).iter().filter(|item| was_read(item)).try_for_each(|item| disk::remove(&path(home, &item.session, FAILED)))
}

/// Gives a claimed conversation back; with an error that counts, as one try more. Gives whether it waits again.
///
/// # Errors
/// If the folder cannot be written.
pub fn give_back(home: &Path, item: &Item, error: &Error, counts: bool) -> Result<bool> {
    let tries = item.tries + u32::from(counts);
    let item = Item { tries, error: error.message.clone(), ..item.clone() };
    let waits = tries < TRIES;
    // Queued again meanwhile: the newer line has to stay the last one, so this one becomes the count of the newer.
    let again = last(&path(home, &item.session, WAITING)).filter(|_| waits);
    let item = again.map_or(item.clone(), |newer| Item { tries, error: item.error.clone(), ..newer });
    append(&path(home, &item.session, if waits { WAITING } else { FAILED }), &item)?;
    done(home, &item)?;
    Ok(waits)
}

/// Gives back what a reader that was killed had claimed. That counts as a try: a conversation that kills the reader must
/// not do so for ever.
///
/// # Errors
/// If the folder cannot be written.
pub fn recover(home: &Path) -> Result<()> {
    let killed = Error::failure("the reader ended before it was done");
    for path in files(home, CLAIMED) {
        match last(&path) {
            Some(item) => drop(give_back(home, &item, &killed, true)?),
            None => disk::remove(&path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(session: &str, at: &str) -> Item {
        Item { session: session.into(), transcript: "/t.jsonl".into(), at: at.into(), ..Item::default() }
    }

    #[test]
    fn a_conversation_waits_once_and_leaves_when_done() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        assert!(is_empty(home));
        put(home, &item("b", "2026-01-02")).unwrap();
        put(home, &item("a", "2026-01-01")).unwrap();
        put(home, &item("a", "2026-01-03")).unwrap();
        let names: Vec<_> = waiting(home).into_iter().map(|i| i.session).collect();
        assert_eq!(names, ["b", "a"]);
        let b = waiting(home).remove(0);
        assert!(claim(home, &b).unwrap() && !claim(home, &b).unwrap());
        // Queued again while it is read: it is read again.
        put(home, &item("b", "2026-01-04")).unwrap();
        done(home, &b).unwrap();
        assert_eq!(waiting(home).len(), 2);
    }

    #[test]
    fn what_fails_is_put_aside_in_the_end_and_what_was_cut_off_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        put(home, &item("a", "2026-01-01")).unwrap();
        for n in 1..=TRIES {
            let a = waiting(home).remove(0);
            assert_eq!(a.tries, n - 1);
            assert!(claim(home, &a).unwrap());
            if n % 2 == 0 {
                recover(home).unwrap();
            } else {
                give_back(home, &a, &Error::failure("no"), true).unwrap();
            }
        }
        assert_eq!((waiting(home).len(), failed(home).len(), failed(home)[0].tries), (0, 1, TRIES));
        assert!(is_empty(home));
        forget(home, &|item| item.session == "a").unwrap();
        assert_eq!(failed(home), vec![]);
        put(home, &item("x", "2026-01-01")).unwrap();
        let x = waiting(home).remove(0);
        assert!(claim(home, &x).unwrap() && give_back(home, &x, &Error::failure("busy"), false).unwrap());
        assert_eq!(waiting(home)[0].tries, 0);
    }
}
