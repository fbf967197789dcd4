//! Uses of memories by readers: appended without a lock, so that no reader waits, and counted by the next commit.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::{Store, disk, layout};
use crate::error::{Error, Result};
use crate::model::Id;

/// One use: a search or a hook showed these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Access {
    /// RFC 3339.
    pub(super) at: String,
    /// Memories.
    pub(super) ids: Vec<Id>,
}

/// `.state/access/PROJECT.jsonl`, and where a commit puts it while it counts.
fn files(home: &Path, project: &str) -> (PathBuf, PathBuf) {
    let folder = layout::state(home).join("access");
    (folder.join(format!("{project}.jsonl")), folder.join(format!("{project}.counting")))
}

impl Store {
    /// Notes that memories of a project were shown. Takes no lock and brings nothing to the disk with fsync.
    ///
    /// # Errors
    /// If the note cannot be written; nobody else needs to hear of it.
    pub fn note_access(&self, project: &str, at: &str, ids: &[Id]) -> Result<()> {
        layout::check_name(project)?;
        let line = serde_json::to_string(&Access { at: at.to_owned(), ids: ids.to_vec() })
            .map_err(|e| Error::failure(format!("the use cannot be written: {e}")))?;
        let (file, _) = files(&self.home, project);
        disk::create_dir(&layout::state(&self.home).join("access"))?;
        disk::append(&file, &format!("{line}\n"))
    }
}

/// The uses noted since the last commit; the caller holds the lock. They stay until [`counted`].
pub(super) fn noted(home: &Path, project: &str) -> Vec<Access> {
    let (file, counting) = files(home, project);
    // A commit that was cut off left its share: that first, the rest next time.
    if !counting.exists() && (!file.exists() || disk::rename(&file, &counting).is_err()) {
        return Vec::new();
    }
    let text = std::fs::read_to_string(&counting).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The uses are in the catalogue now.
pub(super) fn counted(home: &Path, project: &str) -> Result<()> {
    disk::remove(&files(home, project).1)
}
