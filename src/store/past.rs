//! The states that the projects went through, as far as the history keeps them. Reads only.
//!
//! A commit keeps each file as it was before it. So what a commit left is found in the copy of the next one that touched the
//! file; what was typed by hand in between is told apart by the digests in the catalogue.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use super::Store;
use super::catalogue::Catalogue;
use super::journal::{self, Lock, Manifest, sha256};
use super::layout::{self, INDEX};
use super::markdown::Document;
use super::read::{self, Raw, digest};
use crate::error::{Error, Result};
use crate::model::{Id, Layer, Memory};

/// What file number `n` held before a commit.
///
/// # Errors
/// If the copy cannot be read or is not what was kept.
pub(super) fn copy(home: &Path, manifest: &Manifest, n: usize) -> Result<Option<Vec<u8>>> {
    let Some(before) = manifest.files.get(n).and_then(|f| f.before.as_ref()) else { return Ok(None) };
    let copy = journal::copy_of(home, manifest, n);
    let bytes = fs::read(&copy).map_err(|e| Error::io("read", &copy, &e))?;
    if *before != sha256(&bytes) {
        return Err(Error::failure(format!("{} is damaged, so it cannot be brought back", copy.display()))
            .hint("`claude-mem verify` names every damaged file; nothing was changed"));
    }
    Ok(Some(bytes))
}

/// What a file held behind commit `seq`: before the next one of these commits (oldest first) that touched it, else now.
pub(super) fn behind(home: &Path, commits: &[Manifest], seq: u64, path: &str) -> Result<Option<Vec<u8>>> {
    let touched = |m: &Manifest| m.files.iter().position(|f| f.path == path);
    match commits.iter().filter(|m| m.seq > seq).find_map(|m| Some((m, touched(m)?))) {
        Some((next, n)) => copy(home, next, n),
        None => Ok(Raw::read(&home.join(path))?.map(|raw| raw.bytes)),
    }
}

/// Where an entry stands, and what tells its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// File inside the project.
    pub file: String,
    /// Short digest of its text.
    pub digest: String,
}

/// Project and id.
pub type Key = (String, Id);

/// All projects at one moment.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The commit that left it so; `None`: as the files are now.
    pub behind: Option<u64>,
    /// By project.
    pub catalogues: BTreeMap<String, Catalogue>,
    /// Every entry, archived ones too.
    pub entries: BTreeMap<Key, Place>,
    /// Entries typed by hand that have no id of their own yet, with their project.
    pub typed: Vec<(String, Memory)>,
}

/// An entry at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Its project.
    pub project: String,
    /// File inside the project.
    pub file: String,
    /// What it says.
    pub memory: Memory,
    /// As it stands in the file.
    pub text: String,
}

/// One side of a difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// It was not there.
    Absent,
    /// It was there, in this project and file, but nothing keeps its words any more.
    Lost(String, String),
    /// It said this.
    Is(Box<Version>),
}

impl Side {
    /// What it said, if that is known.
    pub fn version(&self) -> Option<&Version> {
        match self {
            Self::Is(version) => Some(version),
            _ => None,
        }
    }

    /// Project and file.
    pub fn place(&self) -> Option<(&str, &str)> {
        match self {
            Self::Absent => None,
            Self::Lost(project, file) => Some((project, file)),
            Self::Is(version) => Some((&version.project, &version.file)),
        }
    }
}

/// An entry that two states do not share.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The entry.
    pub id: Id,
    /// In the first state.
    pub before: Side,
    /// In the second.
    pub after: Side,
}

/// The kept commits and the states between them. Writers wait while it lives.
#[derive(Debug)]
pub struct Past {
    store: Store,
    commits: Vec<Manifest>,
    documents: RefCell<BTreeMap<String, Rc<Document>>>,
    _no_writer: Option<Lock>,
}

impl Store {
    /// Opens the past: the last commits without a gap.
    ///
    /// # Errors
    /// If a writer does not end, or the history cannot be read.
    pub fn past(&self) -> Result<Past> {
        // Without a lock file nothing was ever written, so there is nobody to wait for.
        let locked = layout::lock(&self.home).exists();
        let no_writer = if locked { Some(journal::lock_for_reading(&self.home, self.wait)?) } else { None };
        let mut commits = self.history()?;
        let gap = commits.windows(2).position(|pair| matches!(pair, [newer, older] if newer.seq != older.seq + 1));
        commits.truncate(gap.map_or(commits.len(), |at| at + 1));
        commits.reverse();
        Ok(Past { store: self.clone(), commits, documents: RefCell::default(), _no_writer: no_writer })
    }
}

impl Past {
    /// The kept commits, oldest first.
    pub fn commits(&self) -> &[Manifest] {
        &self.commits
    }

    /// The oldest state that is known is the one behind this commit; 0: before the first one.
    pub fn begins(&self) -> u64 {
        self.commits.first().map_or(0, |m| m.seq - 1)
    }

    /// Number of the last commit; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.commits.last().map_or(0, |m| m.seq)
    }

    /// Every project that is there or was there.
    fn projects(&self) -> Result<BTreeSet<String>> {
        let gone = self.commits.iter().flat_map(|m| m.projects()).map(str::to_owned);
        Ok(self.store.projects()?.into_iter().chain(gone).filter(|name| layout::check_name(name).is_ok()).collect())
    }

    /// The projects as commit `seq` left them. A catalogue that could not be read then is left out.
    ///
    /// # Errors
    /// If a copy is damaged.
    pub fn state(&self, seq: u64) -> Result<State> {
        let mut state = State { behind: Some(seq), ..State::default() };
        for project in self.projects()? {
            let bytes = behind(&self.store.home, &self.commits, seq, &format!("{project}/{INDEX}"))?;
            let Some(catalogue) = bytes.and_then(|bytes| Catalogue::read(&bytes).ok()) else { continue };
            let places = catalogue.memories.iter().filter_map(|(id, known)| {
                let place = Place { file: known.file.clone(), digest: known.digest.clone() };
                Some(((project.clone(), Id::parse(id)?), place))
            });
            state.entries.extend(places);
            state.catalogues.insert(project, catalogue);
        }
        Ok(state)
    }

    /// The projects as their files are now, with what was typed by hand since the last commit.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn now(&self) -> Result<State> {
        let mut state = State::default();
        for name in self.store.projects()? {
            let mut project = read::read_now(&self.store.home, &name)?;
            self.store.read_archive(&mut project)?;
            for file in project.raw.keys().cloned().collect::<Vec<_>>() {
                project.parse(&file);
            }
            for (file, document) in &project.documents {
                for view in document.entries().filter(|v| v.entry.readable) {
                    let key = view.entry.id.clone().map(|id| (name.clone(), id));
                    match key.filter(|key| !state.entries.contains_key(key)) {
                        Some(key) => drop(state.entries.insert(key, Place { file: file.clone(), digest: digest(view.text) })),
                        None => state.typed.push((name.clone(), view.entry.memory.clone())),
                    }
                }
            }
            state.catalogues.insert(name, project.catalogue);
        }
        Ok(state)
    }

    /// The entry of a state, in words.
    ///
    /// # Errors
    /// If a copy is damaged.
    pub fn side(&self, state: &State, key: &Key) -> Result<Side> {
        let Some(place) = state.entries.get(key) else { return Ok(Side::Absent) };
        let (project, id) = key;
        let path = format!("{project}/{}", place.file);
        let layer = layout::layer_of(&place.file).unwrap_or(Layer::Transient);
        let read = |document: &Document| {
            let (memory, text) = (document.get(id)?, document.text(id)?);
            let fits = place.digest.is_empty() || digest(text) == place.digest;
            let (memory, text) = (memory.clone(), text.to_owned());
            fits.then(|| Side::Is(Box::new(Version { project: project.clone(), file: place.file.clone(), memory, text })))
        };
        let home = &self.store.home;
        if let Some(bytes) = behind(home, &self.commits, state.behind.unwrap_or(u64::MAX), &path)?
            && let Some(found) = read(self.document(&sha256(&bytes), layer, || Ok(bytes))?.as_ref())
        {
            return Ok(found);
        }
        // It was changed by hand before the next commit: its words then may stand in another copy.
        for manifest in self.commits.iter().rev() {
            for (n, file) in manifest.files.iter().enumerate().filter(|(_, f)| !f.path.ends_with(INDEX)) {
                let Some(sha) = &file.before else { continue };
                let document = self.document(sha, layer, || Ok(copy(home, manifest, n)?.unwrap_or_default()))?;
                if let Some(found) = read(&document) {
                    return Ok(found);
                }
            }
        }
        Ok(Side::Lost(project.clone(), place.file.clone()))
    }

    /// A file's entries, read once for each content.
    fn document(&self, sha: &str, layer: Layer, bytes: impl FnOnce() -> Result<Vec<u8>>) -> Result<Rc<Document>> {
        let key = format!("{sha} {layer}");
        if let Some(known) = self.documents.borrow().get(&key) {
            return Ok(known.clone());
        }
        let document = Rc::new(Document::parse(&String::from_utf8_lossy(&bytes()?), layer));
        self.documents.borrow_mut().insert(key, document.clone());
        Ok(document)
    }

    /// The entries that differ between two states, sorted by project and id. One that went to another project is one change.
    ///
    /// # Errors
    /// If a copy is damaged.
    pub fn changes(&self, old: &State, new: &State) -> Result<Vec<Change>> {
        let (from, to) = (old.behind.unwrap_or(u64::MAX), new.behind.unwrap_or(u64::MAX));
        // A change of topic moves an entry under another heading and leaves its own text, hence its digest, as it is.
        let touched: BTreeSet<&Id> = self.commits.iter().filter(|m| m.seq > from && m.seq <= to).flat_map(|m| &m.ids).collect();
        let keys: BTreeSet<&Key> = old.entries.keys().chain(new.entries.keys()).collect();
        let may_differ = |key: &&Key| touched.contains(&key.1) || old.entries.get(*key) != new.entries.get(*key);
        let mut changes: Vec<Change> = Vec::new();
        for key in keys.into_iter().filter(may_differ) {
            let (before, after) = (self.side(old, key)?, self.side(new, key)?);
            if before == after {
                continue;
            }
            let other = changes.iter_mut().find(|c| c.id == key.1);
            match (other, &before, &after) {
                (Some(gone), Side::Absent, _) if gone.after == Side::Absent => gone.after = after,
                (Some(come), _, Side::Absent) if come.before == Side::Absent => come.before = before,
                _ => changes.push(Change { id: key.1.clone(), before, after }),
            }
        }
        Ok(changes)
    }
}
