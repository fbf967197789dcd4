//! The archive: entries that left working life, read only where somebody asks for them.

use super::{Entry, Store, layout, read};
use crate::error::Result;

impl Store {
    /// The archived entries of a project, by month.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn archived(&self, project: &str) -> Result<Vec<Entry>> {
        layout::check_name(project)?;
        let mut project = read::read(&self.home, project, self.wait)?;
        self.read_archive(&mut project)?;
        let files: Vec<String> = project.raw.keys().filter(|f| layout::is_archive(f)).cloned().collect();
        let mut entries = Vec::new();
        for file in files {
            project.parse(&file);
            let views = project.documents.get(&file).into_iter().flat_map(|d| d.entries());
            let file = format!("{}/{file}", project.name);
            entries.extend(views.filter(|v| v.entry.readable && v.entry.id.is_some()).map(|view| Entry::of(&view, &file)));
        }
        Ok(entries)
    }
}
