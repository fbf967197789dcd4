//! An entry as it was before somebody changed it in its file: looked for in the copies that commits leave behind.

use std::fs;
use std::path::Path;

use super::markdown::Document;
use super::read::digest;
use super::{Snapshot, Store, history, journal, layout};
use crate::model::{Id, Memory};

impl Store {
    /// What an entry said when it was last written or accepted, if it was changed outside since and a copy of that is left.
    pub fn earlier(&self, snapshot: &Snapshot, id: &Id) -> Option<Memory> {
        let entry = snapshot.entry(id)?;
        let known = snapshot.catalogue.memories.get(id.as_str())?;
        let was = if known.held { &known.was } else { &known.digest };
        let path = entry.file.as_str();
        let backup = self.home.join(format!("{path}.bak"));
        as_it_was(&backup, path, id, was).or_else(|| {
            history::list(&self.home).ok()?.iter().find_map(|manifest| {
                let n = manifest.files.iter().position(|f| f.path == path)?;
                as_it_was(&journal::copy_of(&self.home, manifest, n), path, id, was)
            })
        })
    }
}

/// The entry in a copy of a file, if it has this digest there.
fn as_it_was(copy: &Path, path: &str, id: &Id, was: &str) -> Option<Memory> {
    let layer = layout::layer_of(path.split_once('/')?.1)?;
    let document = Document::parse(&fs::read_to_string(copy).ok()?, layer);
    document.get(id).filter(|_| document.text(id).is_some_and(|text| digest(text) == was)).cloned()
}
