//! Making, binding, renaming and removing whole projects; each is one commit, so each can be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::history::RENAME;
use super::journal::FileSwap;
use super::layout::{self, INDEX, TESTS};
use super::markdown::Document;
use super::read::{self, Project};
use super::{GLOBAL, Receipt, Store, index};
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Layer};

/// A project at a glance, read from the beginning of its catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectInfo {
    /// Its name.
    pub name: String,
    /// What it is bound to.
    pub roots: Vec<String>,
    /// RFC 3339; empty if unknown.
    pub created: String,
}

fn root_text(root: &Path) -> String {
    root.to_string_lossy().into_owned()
}

fn no_such(name: &str) -> Error {
    Error::new(Kind::Usage, format!("there is no project {name}")).hint("`claude-mem project list` shows them")
}

impl Store {
    /// Name, roots and age of every project, without reading their memories.
    pub fn project_infos(&self) -> Result<Vec<ProjectInfo>> {
        let info = |name: String| {
            let project = read::head(&self.home, &name).map(|h| h.project).unwrap_or_default();
            ProjectInfo { name, roots: project.roots, created: project.created }
        };
        Ok(self.projects()?.into_iter().map(info).collect())
    }

    /// Whether there is a project of this name.
    pub fn has_project(&self, name: &str) -> bool {
        layout::check_name(name).is_ok() && read::is_project(&self.home, name)
    }

    /// Whether a new project may have this name: nothing is there, or an empty folder, or a project that has nothing in it and
    /// is bound to nothing.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_vacant(&self, name: &str) -> Result<bool> {
        layout::check_name(name)?;
        let folder = self.home.join(name);
        if !folder.exists() || (folder.is_dir() && !read::has_files(&folder)) {
            return Ok(true);
        }
        // Only the beginning of the catalogue is read of those that are bound, which most are.
        if name == GLOBAL || read::head(&self.home, name).is_none_or(|head| !head.project.roots.is_empty()) {
            return Ok(false);
        }
        let project = read::read_now(&self.home, name)?;
        Ok(project.raw.keys().all(|file| file == INDEX) && project.catalogue.is_blank())
    }

    /// The lines, 1-based, on which memories stand now in a file inside the home.
    pub fn lines_of(&self, file: &str, ids: &BTreeSet<Id>) -> BTreeMap<Id, u64> {
        let layer = file.split_once('/').and_then(|(_, file)| layout::layer_of(file));
        let text = std::fs::read_to_string(self.home.join(file)).unwrap_or_default();
        let document = Document::parse(&text, layer.unwrap_or(Layer::Working));
        document.find(ids).filter_map(|view| Some((view.entry.id.clone()?, view.line))).collect()
    }

    /// Makes an empty project, bound to a root if one is given ([`super::identity::root_of`]).
    ///
    /// # Errors
    /// If there is one of this name that has memories or a root, the folder is somebody else's, or the root belongs to another project.
    pub fn init(&self, name: &str, root: Option<&Path>) -> Result<Receipt> {
        let lock = self.lock()?;
        let mut project = self.read_locked(name)?;
        let vacant = root.is_some() && self.is_vacant(name)?;
        let clash = self.projects()?.into_iter().find(|p| p.to_lowercase() == name.to_lowercase() && !(vacant && p == name));
        if let Some(clash) = clash {
            return Err(Error::new(Kind::Usage, format!("there is a project {clash} already"))
                .hint(format!("`claude-mem project bind {clash}` binds it to this folder")));
        }
        self.check_free(root, name)?;
        project.catalogue.project.roots.extend(root.map(root_text));
        self.now.clone_into(&mut project.catalogue.project.created);
        let swaps = catalogue_swap(&project, name)?;
        self.swap_now(&lock, "project init", name, swaps)
    }

    /// Binds a project to one more root.
    ///
    /// # Errors
    /// If there is no such project, or the root belongs to another one.
    pub fn bind(&self, name: &str, root: &Path) -> Result<Receipt> {
        self.check_free(Some(root), name)?;
        self.change_roots(name, "project bind", |roots| {
            let text = root_text(root);
            roots.extend((!roots.contains(&text)).then_some(text));
        })
    }

    /// Takes a root from a project; nothing happens if it was not bound to it.
    pub fn unbind(&self, name: &str, root: &Path) -> Result<Receipt> {
        self.change_roots(name, "project unbind", |roots| roots.retain(|r| *r != root_text(root)))
    }

    fn change_roots(&self, name: &str, command: &str, change: impl FnOnce(&mut Vec<String>)) -> Result<Receipt> {
        let lock = self.lock()?;
        let mut project = self.existing(name)?;
        change(&mut project.catalogue.project.roots);
        let swaps = catalogue_swap(&project, name)?;
        self.swap_now(&lock, command, name, swaps)
    }

    /// Two repositories never share a project by accident: a root belongs to one project only.
    fn check_free(&self, root: Option<&Path>, name: &str) -> Result<()> {
        let Some(root) = root.map(root_text) else { return Ok(()) };
        match self.project_infos()?.into_iter().find(|p| p.name != name && p.roots.contains(&root)) {
            Some(other) => Err(Error::new(Kind::Usage, format!("{root} belongs to the project {}", other.name))
                .hint(format!("`claude-mem project bind` takes it over after it was unbound from {}", other.name))),
            None => Ok(()),
        }
    }

    fn existing(&self, name: &str) -> Result<Project> {
        layout::check_name(name)?;
        if !read::is_project(&self.home, name) {
            return Err(no_such(name));
        }
        self.read_locked(name)
    }

    /// Gives a project another name. Files that are not ours stay in the old folder.
    ///
    /// # Errors
    /// If there is no such project, the new name is taken or no name, or the project is `_global`.
    pub fn rename(&self, old: &str, new: &str) -> Result<Receipt> {
        let lock = self.lock()?;
        let mut project = self.existing(old)?;
        if old == GLOBAL || new == GLOBAL {
            return Err(Error::new(Kind::Usage, "the memories of scope global cannot be renamed").hint("choose another project"));
        }
        layout::check_name(new)?;
        // On a disk that knows no case, "API" and "api" are one folder: then the old name has to make room first.
        if self.home.join(new).exists() {
            return Err(Error::new(Kind::Usage, format!("there is a folder {new} already")).hint("choose another name"));
        }
        self.read_archive(&mut project)?;
        let tests = read::Raw::read(&self.home.join(old).join(TESTS))?;
        project.raw.extend(tests.map(|raw| (TESTS.to_owned(), raw)));
        self.rescope(&mut project, old, new)?;
        new.clone_into(&mut project.catalogue.project.name);
        let mut swaps = take_away(&project, old);
        for (file, raw) in &project.raw {
            let bytes = match project.documents.get(file) {
                Some(document) => document.render().into_bytes(),
                None => raw.bytes.clone(),
            };
            if let Some(record) = project.catalogue.files.get_mut(file) {
                // Only what we wrote ourselves counts as ours: a hand edit is still one under the new name.
                if record.sha256 == raw.sha {
                    record.sha256 = super::sha256(&bytes);
                }
            }
            if file != INDEX {
                swaps.push(FileSwap::new(format!("{new}/{file}"), None, Some(bytes)));
            }
        }
        project.raw.remove(INDEX);
        swaps.extend(catalogue_swap(&project, new)?);
        let mut receipt = self.swap_now(&lock, RENAME, new, swaps)?;
        index::forget(&self.home, old);
        receipt.notices.extend(self.left_behind(old));
        Ok(receipt)
    }

    /// Lets memories of the scope `old` have the scope `new`.
    fn rescope(&self, project: &mut Project, old: &str, new: &str) -> Result<()> {
        for file in project.raw.keys().cloned().collect::<Vec<_>>() {
            project.parse(&file);
            let Some(document) = project.documents.get_mut(&file) else { continue };
            let scoped: Vec<_> = document
                .entries()
                .filter(|v| v.entry.id.is_some() && v.entry.memory.scope.as_deref() == Some(old))
                .map(|v| v.entry.memory.clone())
                .collect();
            for mut memory in scoped {
                memory.scope = Some(new.to_owned());
                document.replace(&memory).map_err(|why| Error::failure(format!("{old}/{file}: {why}")).hint("change it with an editor"))?;
                let text = document.text(&memory.id).map(read::digest);
                if let (Some(known), Some(digest)) = (project.catalogue.memories.get_mut(memory.id.as_str()), text) {
                    known.digest = digest;
                }
            }
        }
        Ok(())
    }

    /// Takes a project away. The history keeps it for `undo`; files that are not ours stay.
    ///
    /// # Errors
    /// If there is no such project.
    pub fn remove(&self, name: &str) -> Result<Receipt> {
        let lock = self.lock()?;
        let mut project = self.existing(name)?;
        self.read_archive(&mut project)?;
        let mut receipt = self.swap_now(&lock, "project remove", name, take_away(&project, name))?;
        index::forget(&self.home, name);
        receipt.notices.extend(self.left_behind(name));
        Ok(receipt)
    }

    fn left_behind(&self, name: &str) -> Option<String> {
        let folder = self.home.join(name);
        let names = fs::read_dir(&folder).ok()?.flatten().map(|item| item.file_name());
        let only_tests = names.collect::<Vec<_>>() == [layout::TESTS];
        let what = if only_tests { "your memory tests stay in" } else { "files that are not ours stay in" };
        Some(format!("{what} {}", folder.display()))
    }
}

fn take_away(project: &Project, name: &str) -> Vec<FileSwap> {
    let gone = |(file, raw): (&String, &read::Raw)| FileSwap::new(format!("{name}/{file}"), Some((raw.sha.clone(), raw.stamp)), None);
    project.raw.iter().map(gone).collect()
}

fn catalogue_swap(project: &Project, name: &str) -> Result<Vec<FileSwap>> {
    let json = project.catalogue.to_json().map_err(|e| Error::failure(format!("the catalogue cannot be written: {e}")))?;
    let raw = project.raw.get(INDEX);
    if raw.is_some_and(|r| r.bytes == json.as_bytes()) {
        return Ok(Vec::new());
    }
    let seen = raw.map(|r| (r.sha.clone(), r.stamp));
    Ok(vec![FileSwap::new(format!("{name}/{INDEX}"), seen, Some(json.into_bytes()))])
}
