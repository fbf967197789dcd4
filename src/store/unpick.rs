//! Taking one commit out of files that others changed since: file by file where nothing else happened, else entry by entry, and
//! the catalogue with them. Works in memory; the store makes it a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::catalogue::{Catalogue, FileRecord, MemoryUse};
use super::journal::{FileChange, FileSwap, Manifest, Stamp, sha256};
use super::layout::{self, INDEX};
use super::markdown::Document;
use super::past::{behind, copy};
use super::read::{Raw, digest};
use crate::error::{Error, Result};
use crate::model::{Id, Layer};
use crate::text::links;

/// What is not as the commit left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// An entry says something else by now, or refers to one that would go.
    Entry(Id),
    /// A file that can only come back whole.
    File(String),
    /// A project that was made or moved as a whole: whatever happened in it since stands on that.
    Project(String),
}

impl Obstacle {
    /// The entry.
    pub(super) fn id(&self) -> Option<&Id> {
        match self {
            Self::Entry(id) => Some(id),
            _ => None,
        }
    }

    /// Whether a later commit is the reason.
    pub(super) fn is_of(&self, manifest: &Manifest) -> bool {
        match self {
            Self::Entry(id) => manifest.ids.contains(id),
            Self::File(path) => manifest.files.iter().any(|f| f.path == *path),
            Self::Project(name) => manifest.projects().contains(name.as_str()),
        }
    }
}

/// A file as it was read, and as it shall be.
struct Spot {
    seen: Option<(String, Stamp)>,
    now: Option<Vec<u8>>,
}

/// The files while commits are taken out of them.
pub(super) struct Bench<'a> {
    home: &'a Path,
    at: &'a str,
    /// Oldest first.
    commits: Vec<Manifest>,
    files: BTreeMap<String, Spot>,
}

impl<'a> Bench<'a> {
    /// Begins with the files as they are. `history`: newest first.
    pub(super) fn new(home: &'a Path, at: &'a str, mut history: Vec<Manifest>) -> Self {
        history.reverse();
        Self { home, at, commits: history, files: BTreeMap::new() }
    }

    fn now(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        if let Some(spot) = self.files.get(path) {
            return Ok(spot.now.clone());
        }
        let raw = Raw::read(&self.home.join(path))?;
        let seen = raw.as_ref().map(|raw| (raw.sha.clone(), raw.stamp));
        let now = raw.map(|raw| raw.bytes);
        self.files.insert(path.to_owned(), Spot { seen, now: now.clone() });
        Ok(now)
    }

    /// Only for files that were read.
    fn put(&mut self, path: &str, bytes: Option<Vec<u8>>) {
        if let Some(spot) = self.files.get_mut(path) {
            spot.now = bytes;
        }
    }

    fn is_as_left(&mut self, file: &FileChange) -> Result<bool> {
        Ok(self.now(&file.path)?.as_deref().map(sha256) == file.after)
    }

    /// What has to be written; the catalogues come last: they tell what the Markdown became.
    pub(super) fn swaps(self) -> Result<Vec<FileSwap>> {
        let swap = |(path, spot): (String, Spot)| FileSwap::new(path, spot.seen, spot.now);
        let mut swaps: Vec<FileSwap> = self.files.into_iter().map(swap).collect();
        swaps.retain(|s| s.after.as_ref().map(|(sha, _)| sha) != s.seen.as_ref().map(|(sha, _)| sha));
        swaps.sort_by_key(|s| s.path.ends_with(INDEX));
        Ok(swaps)
    }

    /// Takes a commit out. What is in the way is given; the files are of use only if that is nothing, or shall not matter.
    /// With `force`, entries and files that were changed since go back as well.
    pub(super) fn take_back(&mut self, target: &Manifest, force: bool) -> Result<Vec<Obstacle>> {
        let mut obstacles = Vec::new();
        for project in target.projects() {
            let inside = |f: &FileChange| f.path.split_once('/').is_some_and(|(name, _)| name == project);
            let files: Vec<(usize, &FileChange)> = target.files.iter().enumerate().filter(|(_, f)| inside(f)).collect();
            let mut as_left = true;
            for (_, file) in &files {
                as_left &= self.is_as_left(file)?;
            }
            let markdown = files.iter().any(|(_, f)| !f.path.ends_with(INDEX));
            let made = files.iter().any(|(_, f)| f.path.ends_with(INDEX) && (f.before.is_none() || f.after.is_none()));
            if as_left {
                self.whole(target, &files)?;
            } else if target.ids.is_empty() && (markdown || made) {
                obstacles.extend(self.project(target, project, &files)?);
            } else {
                obstacles.extend(self.entries(target, project, &files, force)?);
            }
        }
        Ok(obstacles)
    }

    /// Every file as it was before.
    fn whole(&mut self, target: &Manifest, files: &[(usize, &FileChange)]) -> Result<()> {
        for (n, file) in files {
            self.now(&file.path)?;
            let before = copy(self.home, target, *n)?;
            self.put(&file.path, before);
        }
        Ok(())
    }

    /// A commit that made, moved or replaced a project as a whole.
    fn project(&mut self, target: &Manifest, project: &str, files: &[(usize, &FileChange)]) -> Result<Vec<Obstacle>> {
        let mut obstacles = vec![Obstacle::Project(project.to_owned())];
        for (_, file) in files {
            if !file.path.ends_with(INDEX) {
                if !self.is_as_left(file)? {
                    obstacles.push(Obstacle::File(file.path.clone()));
                }
                continue;
            }
            // Mere use of memories changes the catalogue, too; entries that came since do not come from nothing.
            let left = read(behind(self.home, &self.commits, target.seq, &file.path)?).unwrap_or_default();
            let now = read(self.now(&file.path)?).unwrap_or_default();
            let new = now.memories.keys().filter(|id| !left.memories.contains_key(id));
            obstacles.extend(new.filter_map(Id::parse).map(Obstacle::Entry));
        }
        self.whole(target, files)?;
        Ok(obstacles)
    }

    /// A commit that changed entries, or the catalogue alone.
    fn entries(&mut self, target: &Manifest, project: &str, files: &[(usize, &FileChange)], force: bool) -> Result<Vec<Obstacle>> {
        let index = format!("{project}/{INDEX}");
        let path = |file: &str| format!("{project}/{file}");
        let n = files.iter().find(|(_, f)| f.path == index).map(|(n, _)| *n);
        let before = n.map_or(Ok(None), |n| copy(self.home, target, n))?;
        let (left, now) = (behind(self.home, &self.commits, target.seq, &index)?, self.now(&index)?);
        let (made, gone) = (before.is_none(), left.is_none());
        let (Some(old), Some(left), Some(now)) = (read_or_none(before), read_or_none(left), read_or_none(now)) else {
            // A catalogue that cannot be read is put back as it was, and with it only what is as it was left.
            let mut obstacles = Vec::new();
            for (_, file) in files.iter().filter(|(_, f)| f.path != index) {
                obstacles.extend((!self.is_as_left(file)?).then(|| Obstacle::File(file.path.clone())));
            }
            self.whole(target, files)?;
            return Ok(obstacles);
        };
        let mut obstacles = Vec::new();
        for id in &target.ids {
            let as_left = match left.memories.get(id.as_str()) {
                Some(known) => self.says(&path(&known.file), id, &known.digest, target)?,
                None => gone || !now.memories.contains_key(id.as_str()),
            };
            obstacles.extend((!as_left).then(|| Obstacle::Entry(id.clone())));
        }
        let asked = left.review.iter().filter(|item| !old.review.contains(item) && now.memories.contains_key(item.id.as_str()));
        obstacles.extend(asked.map(|item| Obstacle::Entry(item.id.clone())));
        let mut records = Vec::new();
        for (n, file) in files.iter().filter(|(_, f)| f.path != index) {
            let name = file.path.split_once('/').map_or("", |(_, name)| name);
            let bytes = self.now(&file.path)?;
            let sha = bytes.as_deref().map(sha256);
            let before = copy(self.home, target, *n)?;
            if sha == file.after {
                records.push((name.to_owned(), old.files.get(name).cloned()));
                self.put(&file.path, before);
                continue;
            }
            let taken_in = now.files.get(name).map(|f| &f.sha256) == sha.as_ref();
            let Some(mut merged) = merge(&bytes.unwrap_or_default(), before.as_deref(), name, &target.ids) else {
                obstacles.push(Obstacle::File(file.path.clone()));
                self.put(&file.path, before);
                continue;
            };
            if made && !taken_in && merged.is_some() {
                // Words typed by hand cannot stay where the project itself goes.
                obstacles.push(Obstacle::File(file.path.clone()));
                merged = if force { before } else { merged };
            }
            if taken_in {
                let record = |bytes: &Vec<u8>| FileRecord { sha256: sha256(bytes), written: self.at.to_owned() };
                records.push((name.to_owned(), merged.as_ref().map(record)));
            }
            self.put(&file.path, merged);
        }
        let ids: BTreeSet<&Id> = target.ids.iter().collect();
        let going: Vec<&Id> = target.ids.iter().filter(|id| !old.memories.contains_key(id.as_str())).collect();
        obstacles.extend(self.references(&going, &ids, &now, project)?);
        let result = without(&old, &left, now, &ids, records);
        let bytes = if made && result.is_blank() {
            None
        } else {
            let json = result.to_json().map_err(|e| Error::failure(format!("the catalogue cannot be written: {e}")))?;
            Some(json.into_bytes())
        };
        self.put(&index, bytes);
        Ok(obstacles)
    }

    /// Whether an entry stands in a file with the words, and as far as that is known under the topic, that a commit left.
    fn says(&mut self, path: &str, id: &Id, left: &str, target: &Manifest) -> Result<bool> {
        let file = path.split_once('/').map_or(path, |(_, file)| file);
        let Some((text, topic)) = self.now(path)?.and_then(|bytes| entry(&bytes, file, id)) else { return Ok(false) };
        if !left.is_empty() && digest(&text) != left {
            return Ok(false);
        }
        // The topic is a heading above the entry, so it is in no digest.
        let then = behind(self.home, &self.commits, target.seq, path)?;
        let then = then.filter(|bytes| target.left(path) == Some(Some(&sha256(bytes)))).and_then(|bytes| entry(&bytes, file, id));
        Ok(then.is_none_or(|(_, of_then)| of_then == topic))
    }

    /// Entries that refer to one of those that go.
    fn references(&mut self, going: &[&Id], own: &BTreeSet<&Id>, now: &Catalogue, project: &str) -> Result<Vec<Obstacle>> {
        let mut found = Vec::new();
        if going.is_empty() {
            return Ok(found);
        }
        for file in now.files.keys() {
            let path = format!("{project}/{file}");
            let Some(text) = self.now(&path)?.and_then(|bytes| String::from_utf8(bytes).ok()) else { continue };
            if !going.iter().any(|id| text.contains(id.as_str())) {
                continue;
            }
            let document = Document::parse(&text, layer(file));
            for view in document.entries() {
                let Some(id) = view.entry.id.as_ref().filter(|id| !own.contains(id)) else { continue };
                let relations = view.entry.memory.relations.iter().map(|r| r.id.as_str());
                let refers = relations.chain(links::targets(view.text)).any(|to| going.iter().any(|id| id.as_str() == to));
                found.extend(refers.then(|| Obstacle::Entry(id.clone())));
            }
        }
        Ok(found)
    }
}

fn read(bytes: Option<Vec<u8>>) -> Option<Catalogue> {
    serde_json::from_slice(&bytes?).ok()
}

/// No catalogue is an empty one; one that cannot be read is none.
fn read_or_none(bytes: Option<Vec<u8>>) -> Option<Catalogue> {
    bytes.map_or_else(|| Some(Catalogue::default()), |bytes| read(Some(bytes)))
}

fn layer(file: &str) -> Layer {
    layout::layer_of(file).unwrap_or(Layer::Transient)
}

/// Text and topic of an entry in a file.
fn entry(bytes: &[u8], file: &str, id: &Id) -> Option<(String, Option<String>)> {
    let document = Document::parse(std::str::from_utf8(bytes).ok()?, layer(file));
    Some((document.text(id)?.to_owned(), document.get(id)?.topic.clone()))
}

/// A file with the entries `ids` as they were before; `Some(None)` if nothing is left in it, `None` if it is no text.
fn merge(now: &[u8], before: Option<&[u8]>, file: &str, ids: &[Id]) -> Option<Option<Vec<u8>>> {
    let old = Document::parse(std::str::from_utf8(before.unwrap_or_default()).ok()?, layer(file));
    let mut document = Document::parse(std::str::from_utf8(now).ok()?, layer(file));
    for id in ids {
        match (old.get(id), old.text(id)) {
            (Some(memory), Some(text)) => {
                let topic_stays = document.get(id).is_some_and(|m| m.topic == memory.topic);
                if topic_stays && document.text(id) == Some(text) {
                    continue;
                }
                // Where it stands, if its text comes out as it was.
                let stays = topic_stays && document.replace(memory).is_ok();
                if !stays || document.text(id) != Some(text) {
                    document.remove(id);
                    document.insert_text(text, memory);
                }
            }
            _ => drop(document.remove(id)),
        }
    }
    Some((!document.is_blank()).then(|| document.render().into_bytes()))
}

/// The catalogue without what a commit did to it: `old` before it, `left` behind it. What others did since stays.
fn without(
    old: &Catalogue,
    left: &Catalogue,
    now: Catalogue,
    ids: &BTreeSet<&Id>,
    records: Vec<(String, Option<FileRecord>)>,
) -> Catalogue {
    let mut new = now;
    let gone: BTreeSet<&str> = ids.iter().map(|id| id.as_str()).collect();
    let linked = new.keywords == left.keywords;
    gone.iter().for_each(|id| drop(new.memories.remove(id)));
    new.unlink(&gone);
    for id in ids {
        let Some(known) = old.memories.get(id.as_str()) else { continue };
        new.memories.insert(id.to_string(), known.clone());
        let keywords: Vec<String> = old.keywords_of(id);
        new.link(id, &keywords);
    }
    if linked {
        new.keywords.clone_from(&old.keywords);
    }
    let ids: Vec<String> = new.memories.keys().map(str::to_owned).collect();
    for id in &ids {
        let (Some(before), Some(behind)) = (old.memories.get(id), left.memories.get(id)) else { continue };
        let Some(known) = new.memories.get(id).filter(|known| behind.said_again == known.said_again) else { continue };
        let back = if behind == known {
            before.clone()
        } else {
            // It was edited by hand since, which does not change how often it was said.
            MemoryUse { said_again: before.said_again.clone(), ..known.clone() }
        };
        if back != *known {
            new.memories.insert(id.clone(), back);
        }
    }
    for (file, record) in records {
        match record {
            Some(record) => drop(new.files.insert(file, record)),
            None => drop(new.files.remove(&file)),
        }
    }
    unpick(&old.sessions, &left.sessions, &mut new.sessions, |s| (s.session.clone(), s.transcript.clone()));
    unpick(&old.conflicts, &left.conflicts, &mut new.conflicts, |c| (c.older.clone(), c.newer.clone()));
    unpick(&old.tombstones, &left.tombstones, &mut new.tombstones, |t| t.hash.clone());
    unpick(&old.review, &left.review, &mut new.review, |r| r.id.clone());
    unpick(&old.declined, &left.declined, &mut new.declined, Clone::clone);
    unpick(&old.project.roots, &left.project.roots, &mut new.project.roots, Clone::clone);
    if new.extra == left.extra {
        new.extra.clone_from(&old.extra);
    }
    new
}

/// Takes out of a list what changed it from `old` to `left`; what was changed again since stays as it is.
fn unpick<T: Clone + PartialEq, K: PartialEq>(old: &[T], left: &[T], now: &mut Vec<T>, key: impl Fn(&T) -> K) {
    if now == left {
        *now = old.to_vec();
        return;
    }
    let same = |list: &[T], item: &T| list.iter().find(|i| key(i) == key(item)).cloned();
    for item in left.iter().filter(|item| !old.contains(item)) {
        let Some(at) = now.iter().position(|i| i == item) else { continue };
        match same(old, item) {
            Some(before) => drop(now.get_mut(at).map(|place| *place = before)),
            None => drop(now.remove(at)),
        }
    }
    for item in old.iter().filter(|item| same(left, item).is_none()) {
        if same(now, item).is_none() {
            now.push(item.clone());
        }
    }
}
