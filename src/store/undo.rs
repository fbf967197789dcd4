//! `undo` and `redo`: each takes one commit back, as a commit of its own. Entries that were typed by hand and taken in since
//! stay; files that were changed in any other way are not touched without `force`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::catalogue::{Catalogue, FileRecord, ProjectIdentity};
use super::history::{self, REDO, UNDO};
use super::journal::{self, FileSwap, Manifest, sha256};
use super::markdown::Document;
use super::read::Raw;
use super::{Store, layout};
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Layer};

/// What `undo` or `redo` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// One commit for each step, in the order in which they were made.
    pub steps: Vec<Manifest>,
    /// What else the user should know.
    pub notices: Vec<String>,
}

impl Store {
    /// What `undo` (or, with `redo`, `redo`) would take back, newest first; of these projects, or of all.
    pub fn steps(&self, redo: bool, within: Option<&[String]>) -> Result<Vec<Manifest>> {
        let stacks = history::stacks(&self.history()?);
        let stack = if redo { stacks.undone } else { stacks.done };
        let concerns = |m: &Manifest| within.is_none_or(|names| m.projects().iter().any(|p| names.iter().any(|n| n == p)));
        Ok(stack.into_iter().rev().filter(concerns).collect())
    }

    /// Takes back the last `steps` commits that were not taken back yet, each as a commit of its own, newest first.
    /// With `force`, files that were changed by hand since are restored as well (and kept in the history).
    ///
    /// # Errors
    /// If there are not so many, a copy is damaged, or (without `force`) a file was changed by hand. All is checked before the
    /// first step is made.
    pub fn undo(&self, steps: usize, force: bool, within: Option<&[String]>) -> Result<Walked> {
        self.walk(false, steps, force, within)
    }

    /// Brings back what the last `steps` undos took, until something new is committed. Errors as [`Store::undo`].
    pub fn redo(&self, steps: usize, force: bool, within: Option<&[String]>) -> Result<Walked> {
        self.walk(true, steps, force, within)
    }

    fn walk(&self, redo: bool, steps: usize, force: bool, within: Option<&[String]>) -> Result<Walked> {
        let lock = self.lock()?;
        let verb = if redo { REDO } else { UNDO };
        let mut targets = self.steps(redo, within)?;
        if targets.len() < steps || steps == 0 {
            let there = match targets.len() {
                1 => "there is 1 change".to_owned(),
                n => format!("there are {n} changes"),
            };
            return Err(Error::failure(format!("{there} to {verb}, not {steps}")).hint("`claude-mem history` lists them"));
        }
        targets.truncate(steps);
        let history = self.history()?;
        let mut seen = BTreeSet::new();
        for target in &targets {
            check(&self.home, target, &newer(&history, target), &mut seen, force)?;
        }
        let mut walked = Walked { notices: lock.said.iter().cloned().collect(), ..Walked::default() };
        for target in targets {
            let history = self.history()?;
            let swaps = self.swaps_back(&target, &newer(&history, &target), force)?;
            let manifest = Manifest {
                command: verb.to_owned(),
                at: self.now.clone(),
                project: target.project.clone(),
                ids: target.ids.clone(),
                title: target.title.clone(),
                takes_back: Some(target.as_back()),
                ..Manifest::default()
            };
            walked.steps.push(self.swap(&lock, manifest, swaps)?);
        }
        Ok(walked)
    }

    /// The files that take back a commit. `newer`: the commits after it, newest first.
    fn swaps_back(&self, target: &Manifest, newer: &[&Manifest], force: bool) -> Result<Vec<FileSwap>> {
        let mut swaps = Vec::new();
        let mut merged = Vec::new();
        let is_index = |n: &usize| target.files.get(*n).is_some_and(|f| f.path.ends_with(layout::INDEX));
        // The catalogue comes last: it tells what the Markdown became.
        let (indexes, others): (Vec<usize>, Vec<usize>) = (0..target.files.len()).partition(is_index);
        for n in others.into_iter().chain(indexes) {
            let Some(file) = target.files.get(n) else { continue };
            let now = Raw::read(&self.home.join(&file.path))?;
            let before = copy(&self.home, target, n)?;
            let after = match (&now, how(target, n, newer, now.as_ref().map(|r| r.sha.as_str()), force)?) {
                (Some(now), How::Merge) => {
                    let after = merge(&now.bytes, before.as_deref(), &file.path, &target.ids)?;
                    merged.push((file.path.as_str(), after.as_deref().map(sha256)));
                    after
                }
                _ if is_index(&n) => carry(before, now.as_ref().map(|r| r.bytes.as_slice()), &file.path, newer, &merged, &self.now)?,
                _ => before,
            };
            let swap = FileSwap::new(file.path.clone(), now.map(|r| (r.sha, r.stamp)), after);
            if swap.after.as_ref().map(|(sha, _)| sha) != swap.seen.as_ref().map(|(sha, _)| sha) {
                swaps.push(swap);
            }
        }
        Ok(swaps)
    }
}

fn newer<'a>(history: &'a [Manifest], target: &Manifest) -> Vec<&'a Manifest> {
    history.iter().filter(|m| m.seq > target.seq).collect()
}

/// How a file comes back.
enum How {
    /// As it was before.
    Whole,
    /// The entries of the commit as they were before; the rest, which was typed by hand since, as it is.
    Merge,
}

fn how(target: &Manifest, n: usize, newer: &[&Manifest], now: Option<&str>, force: bool) -> Result<How> {
    let Some(file) = target.files.get(n) else { return Ok(How::Whole) };
    // Mere use of memories changes the catalogue, too.
    if file.path.ends_with(layout::INDEX) || now == file.after.as_deref() {
        return Ok(How::Whole);
    }
    let left = newer.iter().find_map(|m| m.left(&file.path)).unwrap_or(file.after.as_deref());
    if now.is_some() && now == left && !target.ids.is_empty() && !by_hand(target, newer) {
        return Ok(How::Merge);
    }
    if force { Ok(How::Whole) } else { Err(changed(&file.path)) }
}

/// Whether entries of the commit were changed by hand since.
fn by_hand(target: &Manifest, newer: &[&Manifest]) -> bool {
    newer.iter().filter(|m| m.is_adoption()).flat_map(|m| &m.ids).any(|id| target.ids.contains(id))
}

fn changed(path: &str) -> Error {
    Error::new(Kind::Busy, format!("{path} was changed by hand since"))
        .hint("add --force to take it back all the same; the changed file stays in the history")
}

/// Refuses a step that could not be made. `seen`: files that a step before this one puts back.
fn check<'a>(home: &Path, target: &'a Manifest, newer: &[&Manifest], seen: &mut BTreeSet<&'a str>, force: bool) -> Result<()> {
    for (n, file) in target.files.iter().enumerate() {
        copy(home, target, n)?;
        if seen.insert(&file.path) {
            let now = Raw::read(&home.join(&file.path))?.map(|raw| raw.sha);
            how(target, n, newer, now.as_deref(), force)?;
        } else if !force && by_hand(target, newer) {
            return Err(changed(&file.path));
        }
    }
    Ok(())
}

/// What file number `n` held before a commit.
fn copy(home: &Path, manifest: &Manifest, n: usize) -> Result<Option<Vec<u8>>> {
    let Some(before) = manifest.files.get(n).and_then(|f| f.before.as_ref()) else { return Ok(None) };
    let copy = journal::copy_of(home, manifest, n);
    let bytes = fs::read(&copy).map_err(|e| Error::io("read", &copy, &e))?;
    if *before != sha256(&bytes) {
        return Err(Error::failure(format!("{} is damaged, so it cannot be brought back", copy.display()))
            .hint("`claude-mem verify` names every damaged file; nothing was changed"));
    }
    Ok(Some(bytes))
}

/// A Markdown file with the entries `ids` as they were before; `None` if nothing is left in it.
fn merge(now: &[u8], before: Option<&[u8]>, path: &str, ids: &[Id]) -> Result<Option<Vec<u8>>> {
    let layer = path.split_once('/').and_then(|(_, file)| layout::layer_of(file)).unwrap_or(Layer::Transient);
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| changed(path));
    let old = Document::parse(text(before.unwrap_or_default())?, layer);
    let mut document = Document::parse(text(now)?, layer);
    for id in ids {
        match (old.get(id), old.text(id)) {
            (Some(memory), Some(text)) if document.text(id) != Some(text) => {
                document.remove(id);
                document.insert_text(text, memory);
            }
            (Some(_), _) => {}
            (None, _) => drop(document.remove(id)),
        }
    }
    Ok((!document.is_blank()).then(|| document.render().into_bytes()))
}

/// The catalogue as it was before, with what is known of entries that were taken in by hand since.
fn carry(
    before: Option<Vec<u8>>,
    now: Option<&[u8]>,
    path: &str,
    newer: &[&Manifest],
    merged: &[(&str, Option<String>)],
    at: &str,
) -> Result<Option<Vec<u8>>> {
    let project = path.split_once('/').map_or(path, |(project, _)| project);
    let inside = |path: &str| path.strip_prefix(project).and_then(|p| p.strip_prefix('/')).map(str::to_owned);
    let adoptions: Vec<&&Manifest> = newer.iter().filter(|m| m.is_adoption() && m.project == project).collect();
    let Some(now) = now.filter(|_| !adoptions.is_empty()).and_then(|bytes| serde_json::from_slice::<Catalogue>(bytes).ok()) else {
        return Ok(before);
    };
    let mut catalogue = match before.as_deref().map(serde_json::from_slice::<Catalogue>) {
        Some(Ok(catalogue)) => catalogue,
        // One that cannot be read is put back as it was: reading makes it anew.
        Some(Err(_)) => return Ok(before),
        None if merged.iter().all(|(_, sha)| sha.is_none()) => return Ok(None),
        None => Catalogue {
            version: now.version,
            project: ProjectIdentity { name: project.to_owned(), ..now.project.clone() },
            ..Catalogue::default()
        },
    };
    for id in adoptions.iter().flat_map(|m| &m.ids) {
        let Some(known) = now.memories.get(id.as_str()) else { continue };
        catalogue.unlink(&BTreeSet::from([id.as_str()]));
        catalogue.memories.insert(id.to_string(), known.clone());
        let keywords: Vec<String> = now.keywords.iter().filter(|(_, ids)| ids.contains(id)).map(|(k, _)| k.clone()).collect();
        catalogue.link(id, &keywords);
    }
    for file in adoptions.iter().flat_map(|m| m.taken_in.keys()).filter_map(|p| inside(p)) {
        catalogue.files.extend(now.files.get(&file).map(|record| (file, record.clone())));
    }
    for (path, sha) in merged {
        let Some(file) = inside(path) else { continue };
        match sha {
            Some(sha) => drop(catalogue.files.insert(file, FileRecord { sha256: sha.clone(), written: at.to_owned() })),
            None => drop(catalogue.files.remove(&file)),
        }
    }
    let json = catalogue.to_json().map_err(|e| Error::failure(format!("the catalogue cannot be written: {e}")))?;
    Ok(Some(json.into_bytes()))
}
