//! `undo` and `redo`: each takes one commit back, as a commit of its own: the last ones, or any that nothing later stands on.
//!
//! Whatever was changed since stays: only the entries of the commit go back, and only if they are as it left them. How files
//! and catalogue come back is in `unpick`.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{self, Names, REDO, Stacks, UNDO};
use super::journal::{self, FileSwap, Lock, Manifest};
use super::unpick::{Bench, Obstacle};
use super::{Store, layout};
use crate::error::{Error, Kind, Result};
use crate::model::Id;

/// Which commits to take back.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// The last ones that were not taken back yet.
    Last {
        /// How many.
        steps: usize,
        /// Only of these projects.
        within: Option<&'a [String]>,
    },
    /// The one of this number.
    Commit(u64),
}

/// How to go back or forth.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// Forth: take back what an undo did.
    pub redo: bool,
    /// What.
    pub which: Which<'a>,
    /// Entries that were changed by hand since go back as well; the changed file stays in the history.
    pub force: bool,
    /// Only find out whether it can be done.
    pub dry_run: bool,
}

/// What `undo` or `redo` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// One commit for each step, in the order in which they were made; in a dry run the commits that would be taken back.
    pub steps: Vec<Manifest>,
    /// What else the user should know.
    pub notices: Vec<String>,
    /// What keeps a commit from being taken back; then nothing was done.
    pub blocked: Option<Blocked>,
}

/// A commit that cannot be taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// It.
    pub commit: Manifest,
    /// Later commits that stand on it, oldest first, each with the entries in question.
    pub later: Vec<(Manifest, Vec<Id>)>,
    /// Entries that were changed by hand since.
    pub by_hand: Vec<Id>,
    /// Files that were changed by hand since.
    pub files: Vec<String>,
}

impl Blocked {
    /// The same as an error.
    pub fn error(&self) -> Error {
        let name = |m: &Manifest| format!("commit {} ({})", m.seq, m.as_back().command);
        let ids = |ids: &[Id]| ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ");
        let which = |(m, on): &(Manifest, Vec<Id>)| match on.as_slice() {
            [] => name(m),
            on => format!("{} with {}", name(m), ids(on)),
        };
        if let Some((last, _)) = self.later.last() {
            let later: Vec<String> = self.later.iter().map(which).collect();
            let stands = if later.len() == 1 { "stands" } else { "stand" };
            return Error::new(Kind::Decision, format!("{} cannot be undone: {} {stands} on it", name(&self.commit), later.join("; ")))
                .hint(format!("undo the last of them first: claude-mem undo --commit {}", last.seq));
        }
        let what = if self.by_hand.is_empty() { self.files.join(", ") } else { ids(&self.by_hand) };
        let were = if self.by_hand.len().max(self.files.len()) > 1 { "were" } else { "was" };
        Error::new(Kind::Busy, format!("{what} {were} changed by hand since"))
            .hint("add --force to take it back all the same; the changed file stays in the history")
    }
}

impl Store {
    /// What `undo` (or, with `redo`, `redo`) would take back, newest first; of these projects, or of all.
    pub fn steps(&self, redo: bool, within: Option<&[String]>) -> Result<Vec<Manifest>> {
        let history = self.history()?;
        let stacks = history::stacks(&history);
        let stack = if redo { stacks.undone } else { stacks.done };
        let names = within.map(|names| Names::of(&history, names));
        let concerns = |m: &Manifest| names.as_ref().is_none_or(|names| names.has(m));
        Ok(stack.into_iter().rev().filter(concerns).collect())
    }

    /// Takes back the last `steps` commits that were not taken back yet, each as a commit of its own, newest first.
    /// With `force`, entries that were changed by hand since go back as well (and are kept in the history).
    ///
    /// # Errors
    /// If there are not so many, a copy is damaged, or something that came later stands on one of them. All is checked before
    /// the first step is made.
    pub fn undo(&self, steps: usize, force: bool, within: Option<&[String]>) -> Result<Walked> {
        self.whole_walk(Way { redo: false, which: Which::Last { steps, within }, force, dry_run: false })
    }

    /// Brings back what the last `steps` undos took, until something new is committed. Errors as [`Store::undo`].
    pub fn redo(&self, steps: usize, force: bool, within: Option<&[String]>) -> Result<Walked> {
        self.whole_walk(Way { redo: true, which: Which::Last { steps, within }, force, dry_run: false })
    }

    fn whole_walk(&self, way: Way<'_>) -> Result<Walked> {
        let walked = self.walk(way)?;
        walked.blocked.as_ref().map_or_else(|| Ok(walked.clone()), |blocked| Err(blocked.error()))
    }

    /// Goes back or forth. What keeps a commit from being taken back is in [`Walked::blocked`].
    ///
    /// # Errors
    /// If there is no such commit, or a copy is damaged.
    pub fn walk(&self, way: Way<'_>) -> Result<Walked> {
        if way.dry_run {
            let locked = layout::lock(&self.home).exists();
            let _no_writer = if locked { Some(journal::lock_for_reading(&self.home, self.wait)?) } else { None };
            return self.rehearse(&self.targets(way)?, way.force);
        }
        let lock = self.lock()?;
        let targets = self.targets(way)?;
        let rehearsed = self.rehearse(&targets, way.force)?;
        if rehearsed.blocked.is_some() {
            return Ok(rehearsed);
        }
        let mut walked = Walked { notices: lock.said.iter().cloned().collect(), ..Walked::default() };
        for target in &targets {
            walked.steps.push(self.step(&lock, target, way)?);
        }
        Ok(walked)
    }

    fn step(&self, lock: &Lock, target: &Manifest, way: Way<'_>) -> Result<Manifest> {
        let mut bench = Bench::new(&self.home, &self.now, self.history()?);
        bench.take_back(target, way.force)?;
        let swaps: Vec<FileSwap> = bench.swaps()?;
        let manifest = Manifest {
            command: if way.redo { REDO } else { UNDO }.to_owned(),
            at: self.now.clone(),
            project: target.project.clone(),
            ids: target.ids.clone(),
            title: target.title.clone(),
            takes_back: Some(target.as_back()),
            ..Manifest::default()
        };
        self.swap(lock, manifest, swaps)
    }

    /// Takes back all targets in memory alone, each on what the one before left.
    fn rehearse(&self, targets: &[Manifest], force: bool) -> Result<Walked> {
        let history = self.history()?;
        let mut in_effect = history::stacks(&history).done;
        let mut bench = Bench::new(&self.home, &self.now, history);
        for target in targets {
            in_effect.retain(|m| m.seq != target.seq);
            let obstacles = bench.take_back(target, force)?;
            if let Some(blocked) = blocked(target, &in_effect, obstacles, force) {
                return Ok(Walked { blocked: Some(blocked), ..Walked::default() });
            }
        }
        Ok(Walked { steps: targets.to_vec(), ..Walked::default() })
    }

    fn targets(&self, way: Way<'_>) -> Result<Vec<Manifest>> {
        let (steps, within) = match way.which {
            Which::Commit(seq) => return Ok(vec![self.target(seq)?]),
            Which::Last { steps, within } => (steps, within),
        };
        let mut targets = self.steps(way.redo, within)?;
        if targets.len() < steps || steps == 0 {
            let there = match targets.len() {
                1 => "there is 1 change".to_owned(),
                n => format!("there are {n} changes"),
            };
            let verb = if way.redo { REDO } else { UNDO };
            return Err(Error::failure(format!("{there} to {verb}, not {steps}")).hint("`claude-mem history` lists them"));
        }
        targets.truncate(steps);
        Ok(targets)
    }

    /// The commit of a number, or what did it again; only one that is in effect.
    fn target(&self, seq: u64) -> Result<Manifest> {
        let history = self.history()?;
        let Stacks { done, .. } = history::stacks(&history);
        let by_seq: BTreeMap<u64, &Manifest> = history.iter().map(|m| (m.seq, m)).collect();
        let is = |m: &Manifest| std::iter::successors(Some(m.seq), |s| Some(by_seq.get(s)?.takes_back.as_ref()?.seq)).any(|s| s == seq);
        if let Some(found) = done.into_iter().rev().find(|m| m.seq == seq || (m.takes_back.is_some() && is(m))) {
            return Ok(found);
        }
        let lists = "`claude-mem history` lists the commits and says which can be undone";
        let no = |why: String| Err(Error::new(Kind::Usage, format!("commit {seq} {why}")).hint(lists));
        match by_seq.get(&seq) {
            Some(m) if m.is_adoption() => no("took in what was typed by hand; change that with `edit` or an editor".to_owned()),
            Some(m) if m.command == UNDO => no("is an undo; `claude-mem redo` takes it back".to_owned()),
            Some(_) => no("was undone already, or is too old".to_owned()),
            None => no("is not in the history".to_owned()),
        }
    }
}

/// Whether a commit renamed, removed or replaced whole projects.
fn replaces(manifest: &Manifest) -> bool {
    manifest.ids.is_empty() && manifest.files.iter().any(|f| !f.path.ends_with(layout::INDEX))
}

/// Whether something keeps a commit from being taken back. What was changed by hand can be overridden, a later commit cannot.
fn blocked(target: &Manifest, in_effect: &[Manifest], obstacles: Vec<Obstacle>, force: bool) -> Option<Blocked> {
    let mut later: BTreeMap<u64, (&Manifest, BTreeSet<Id>)> = BTreeMap::new();
    let mut blocked = Blocked { commit: target.clone(), ..Blocked::default() };
    let newer = || in_effect.iter().filter(|m| m.seq > target.seq);
    // What is done again was done before what is newer here, so there the entries themselves have to tell.
    let own = target.ids.iter().filter(|_| target.command != UNDO);
    for manifest in newer().filter(|m| !m.projects().is_disjoint(&target.projects())) {
        let shared: Vec<Id> = own.clone().filter(|id| manifest.ids.contains(id)).cloned().collect();
        if !shared.is_empty() || (target.command != UNDO && replaces(manifest)) {
            later.entry(manifest.seq).or_insert_with(|| (manifest, BTreeSet::new())).1.extend(shared);
        }
    }
    for obstacle in obstacles {
        let mut found = false;
        for manifest in newer().filter(|m| obstacle.is_of(m)) {
            found = true;
            later.entry(manifest.seq).or_insert_with(|| (manifest, BTreeSet::new())).1.extend(obstacle.id().cloned());
        }
        match obstacle {
            Obstacle::Entry(id) if !found && !force => blocked.by_hand.push(id),
            Obstacle::File(path) if !found && !force => blocked.files.push(path),
            _ => {}
        }
    }
    blocked.later = later.into_values().map(|(m, ids)| (m.clone(), ids.into_iter().collect())).collect();
    blocked.by_hand.dedup();
    let free = blocked.later.is_empty() && blocked.by_hand.is_empty() && blocked.files.is_empty();
    (!free).then_some(blocked)
}
