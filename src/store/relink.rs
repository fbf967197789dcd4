//! Links by words follow a memory that says something else from now on.

use super::apply::Draft;
use crate::text::links;

impl Draft {
    /// Lets `[[words of the old summary]]`, in any entry of the project, lead to the new one.
    pub(super) fn relink(&mut self, old: &str, new: &str) {
        let slug = links::slug(old);
        if slug.is_empty() || slug == links::slug(new) {
            return;
        }
        for file in self.project.markdown() {
            // Most files have no links, and need not be read for them.
            let has_links = self.project.raw.get(&file).is_some_and(|raw| raw.bytes.windows(2).any(|two| two == b"[["));
            if !has_links {
                continue;
            }
            self.project.parse(&file);
            let changed = self.project.documents.get_mut(&file).map(|document| document.relink(&slug, new)).unwrap_or_default();
            for id in changed {
                self.touched.insert(file.clone());
                self.record(&id, &file);
            }
        }
    }
}
