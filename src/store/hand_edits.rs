//! What was typed or changed by hand since the last commit: it gets ids, and the catalogue learns of it.

use std::collections::{BTreeMap, BTreeSet};

use super::apply::Draft;
use super::catalogue::MemoryUse;
use super::layout;
use super::read::{digest, place};
use crate::error::Result;
use crate::model::Id;

impl Draft {
    /// Brings ids and catalogue up to files that were edited outside.
    pub(super) fn take_edits(&mut self, edited: &[String], new_id: &dyn Fn() -> Result<Id>) -> Result<()> {
        for file in edited {
            self.project.parse(file);
        }
        let known = &self.project.catalogue.memories;
        let raw = &self.project.raw;
        // Ids that live in files nobody edited. An entry cut from one file and pasted into another keeps its id.
        let elsewhere = |file: &String| !edited.contains(file) && (raw.contains_key(file) || layout::is_archive(file));
        let mut taken: BTreeSet<Id> = known.iter().filter(|(_, m)| elsewhere(&m.file)).filter_map(|(id, _)| Id::parse(id)).collect();
        let mut fresh = || loop {
            let id = new_id()?;
            if !known.contains_key(id.as_str()) {
                return Ok(id);
            }
        };
        for file in edited {
            if let Some(document) = self.project.documents.get_mut(file) {
                let adopted = document.adopt(&mut taken, &mut fresh, &self.at)?;
                if !adopted.is_empty() {
                    self.touched.insert(file.clone());
                    self.adopted.extend(adopted);
                }
            }
        }
        let catalogue = &mut self.project.catalogue;
        let gone = |file: &String| !edited.contains(file) && !raw.contains_key(file) && !layout::is_archive(file);
        // What stands in these files is written down anew; the rest stays.
        let moves = catalogue.memories.iter().filter(|(_, m)| edited.contains(&m.file) || gone(&m.file));
        let moved: Vec<String> = moves.map(|(id, _)| id.to_owned()).collect();
        let mut old: BTreeMap<String, MemoryUse> = BTreeMap::new();
        for id in moved {
            old.extend(catalogue.memories.remove(&id).map(|known| (id, known)));
        }
        catalogue.unlink(&old.keys().map(String::as_str).collect());
        for file in edited {
            let Some(document) = self.project.documents.get(file) else { continue };
            for view in document.entries().filter(|v| v.entry.readable) {
                let Some(id) = &view.entry.id else { continue };
                let known = old.remove(id.as_str());
                let digest = digest(view.text);
                let changed = known.as_ref().is_none_or(|k| k.digest != digest) && !self.project.rebuilt;
                if changed {
                    self.hand_edits.push(id.clone());
                }
                let known = known.unwrap_or_default();
                let was = if known.held { known.was.clone() } else { known.digest.clone() };
                // What was changed back is as it was accepted.
                let held = (known.held || changed) && was != digest;
                let known = MemoryUse {
                    // Quotes can be checked only while they stand as they were written.
                    edited: known.edited || changed,
                    announced: known.announced && held && !changed,
                    was: if held { was } else { String::new() },
                    held,
                    digest,
                    ..known
                };
                catalogue.memories.insert(id.to_string(), place(&view.entry.memory, file, known));
                catalogue.link(id, &view.entry.memory.keywords);
            }
            // Where a block cannot be read, a memory that is missing may be in there: what is known of it is kept.
            if document.entries().any(|v| !v.entry.readable) {
                let kept: Vec<String> = old.iter().filter(|(_, m)| m.file == *file).map(|(id, _)| id.clone()).collect();
                for (id, known) in kept.into_iter().filter_map(|id| old.remove_entry(&id)) {
                    catalogue.memories.insert(id, known);
                }
            }
        }
        Ok(())
    }
}
