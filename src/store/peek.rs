//! Reading the little that a hook needs: the two lasting files, and of the catalogue conflicts, hits, and what tells a hand
//! edit. No digests of files, so nothing can be planned on it; no transient notes; nothing is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::catalogue::Catalogue;
use super::journal::{Stamp, sha256};
use super::layout::{self, INDEX, LONG_TERM, WORKING};
use super::markdown::Document;
use super::{Entry, Snapshot, Store, read};
use crate::error::{Error, Result};
use crate::model::Id;

/// The files that decide what a hook says of a project.
const FILES: [&str; 3] = [WORKING, LONG_TERM, INDEX];

impl Store {
    /// The lasting memories of a project, without the means to change it. With `trust_hand_edits = false` this is a whole
    /// [`Store::snapshot`], since only digests tell what appeared outside.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn peek(&self, project: &str) -> Result<Snapshot> {
        if !self.trust_hand_edits {
            return Ok(self.snapshot(project)?.without_held());
        }
        layout::check_name(project)?;
        read::between_commits(&self.home, project, self.wait, || peek(&self.home, project))
    }

    /// Of a project only these memories, with its catalogue, without the means to change it; with `trust_hand_edits = false`
    /// all that are not held back.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn pick(&self, project: &str, ids: &BTreeSet<Id>) -> Result<Snapshot> {
        if !self.trust_hand_edits {
            return Ok(self.snapshot(project)?.without_held());
        }
        layout::check_name(project)?;
        Ok(pick(read::read(&self.home, project, self.wait)?, ids))
    }

    /// Bytes of what [`Store::peek`] reads.
    pub fn size(&self, project: &str) -> u64 {
        let folder = self.home.join(project);
        FILES.iter().filter_map(|file| fs::metadata(folder.join(file)).ok()).map(|meta| meta.len()).sum()
    }

    /// Changes whenever what [`Store::peek`] reads has changed, without reading it: times, sizes and inodes of the files.
    pub fn stamp(&self, project: &str) -> String {
        let folder = self.home.join(project);
        FILES.iter().map(|file| format!("{:?};", Stamp::of(&folder.join(file)))).collect()
    }
}

fn pick(mut project: read::Project, ids: &BTreeSet<Id>) -> Snapshot {
    project.parse_all();
    let mut snapshot = Snapshot { project: project.name.clone(), is_part: true, ..Snapshot::default() };
    for file in project.markdown() {
        let shown = format!("{}/{file}", project.name);
        let views = project.documents.get(&file).into_iter().flat_map(|document| document.find(ids));
        snapshot.entries.extend(views.map(|view| Entry::of(&view, &shown)));
    }
    snapshot.catalogue = project.catalogue;
    snapshot
}

fn peek(home: &Path, name: &str) -> Result<Snapshot> {
    let folder = home.join(name);
    let mut snapshot = Snapshot { project: name.to_owned(), ..Snapshot::default() };
    if is_link(&folder) {
        return Ok(snapshot);
    }
    let catalogue = match bytes(&folder.join(INDEX))?.map(|bytes| Catalogue::read(&bytes)) {
        Some(Ok(catalogue)) => Some(catalogue),
        Some(Err(e)) => {
            snapshot.problems.push(read::problem("catalogue", format!("{name}/{INDEX}"), format!("it cannot be read: {e}")));
            None
        }
        None => None,
    };
    for file in [WORKING, LONG_TERM] {
        let (Some(layer), Some(bytes)) = (layout::layer_of(file), bytes(&folder.join(file))?) else { continue };
        let shown = format!("{name}/{file}");
        let Ok(text) = std::str::from_utf8(&bytes) else {
            snapshot.problems.push(read::problem("encoding", shown, "the file is not UTF-8, so it is left alone"));
            continue;
        };
        let document = Document::parse(text, layer);
        read::read_entries(&document);
        let known = |id: &Id| catalogue.as_ref().and_then(|known| known.memories.get(id.as_str()));
        // Digests of entries are taken only where the file is not as it was written last.
        let edited = catalogue.as_ref().is_some_and(|known| known.files.get(file).is_none_or(|ours| ours.sha256 != sha256(&bytes)));
        let waiting: BTreeSet<&str> = catalogue.iter().flat_map(Catalogue::held).filter(|(_, k)| !k.announced).map(|(id, _)| id).collect();
        for view in document.entries().filter(|v| v.entry.readable) {
            if let Some(id) = &view.entry.id {
                let fresh = edited && known(id).is_none_or(|k| k.digest != read::digest(view.text));
                if fresh || waiting.contains(id.as_str()) {
                    snapshot.unannounced.push(id.clone());
                }
                snapshot.entries.push(Entry::of(&view, &shown));
            } else {
                snapshot.problems.push(read::problem(read::NO_ID, shown.clone(), "typed by hand; it gets its id at the next change"));
            }
        }
    }
    snapshot.catalogue = catalogue.as_ref().map(Catalogue::used).unwrap_or_default();
    Ok(snapshot)
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink())
}

/// `None` if there is no such file; links are not followed.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    if is_link(path) {
        return Ok(None);
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path, &e)),
    }
}
