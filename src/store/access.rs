//! Uses of memories by readers: appended without a lock, so that no reader waits, and counted by the next commit.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::{Catalogue, Snapshot, Store, disk, layout};
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

    /// Counts in a snapshot what was noted since the last commit, as the next one will.
    pub fn count_noted(&self, snapshot: &mut Snapshot) {
        let (file, counting) = files(&self.home, &snapshot.project);
        for file in [counting, file] {
            count(&mut snapshot.catalogue, &read(&file));
        }
    }
}

/// The uses noted since the last commit; the caller holds the lock. They stay until [`counted`].
pub(super) fn noted(home: &Path, project: &str) -> Vec<Access> {
    let (file, counting) = files(home, project);
    // A commit that was cut off left its share: that first, the rest next time.
    if !counting.exists() && (!file.exists() || disk::rename(&file, &counting).is_err()) {
        return Vec::new();
    }
    read(&counting)
}

fn read(file: &Path) -> Vec<Access> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Lets memories know of their uses.
pub(super) fn count(catalogue: &mut Catalogue, used: &[Access]) {
    for access in used {
        for id in &access.ids {
            if let Some(known) = catalogue.memories.get_mut(id.as_str()) {
                known.hits += 1;
                // RFC 3339 of one machine sorts by time but for a change of zone, which a day of use survives.
                known.last_access = known.last_access.take().max(Some(access.at.clone()));
            }
        }
    }
}

/// The uses are in the catalogue now.
pub(super) fn counted(home: &Path, project: &str) -> Result<()> {
    disk::remove(&files(home, project).1)
}
