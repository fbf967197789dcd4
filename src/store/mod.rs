//! The store: Markdown files and `index.json` per project, changed by one function only.
//!
//! [`Store::snapshot`] reads, [`Store::update`] and [`Store::commit`] change: lock, re-read, copies to the history, staged
//! files, journal, swap, check. Everything that changes a project goes through [`Store::swap`].

mod access;
mod apply;
mod archive;
mod backup;
pub mod catalogue;
pub mod disk;
mod earlier;
mod hand_edits;
mod history;
pub mod identity;
pub mod index;
pub mod injections;
mod journal;
pub mod layout;
pub mod markdown;
mod pairs;
pub mod past;
mod peek;
pub mod peer;
mod projects;
mod read;
mod relink;
mod rows;
pub mod turns;
mod undo;
mod unpick;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use catalogue::Catalogue;
pub use history::{By, KEPT, Names, Stacks};
pub use injections::{Injection, LeftOut};
pub use journal::{ADOPT, Back, FileChange, Manifest, sha256};
pub use projects::ProjectInfo;
pub use undo::{Blocked, Walked, Way, Which};
pub use verify::{EDITED, Finding, Severity};

use crate::error::{Error, Kind, Problem, Result};
use crate::model::plan::{Base, MemoryRecord};
use crate::model::{Change, Id, Memory, Plan};
use crate::text::links;
use apply::Draft;
use journal::{FileSwap, Lock};

/// Name of the project that holds memories of scope global.
pub const GLOBAL: &str = "_global";

/// How long a command waits for another writer.
pub const WAIT: Duration = Duration::from_secs(30);

/// A memory and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it says.
    pub memory: Memory,
    /// File inside the home, with `/`: `payment-api/working-memory.md`.
    pub file: String,
    /// 1-based line of its heading.
    pub line: u64,
    /// What its text leads to with `[[…]]`, as written (`text::links`).
    pub links: Vec<String>,
}

impl Entry {
    /// An entry in memory: at the first line of `file`, with the links of its own fields.
    pub fn new(memory: Memory, file: impl Into<String>) -> Self {
        let texts = [Some(&memory.summary), memory.reason.as_ref(), memory.rejected.as_ref(), memory.how_to_apply.as_ref()];
        let links = texts.into_iter().flatten().flat_map(|text| links::targets(text)).map(str::to_owned).collect();
        Self { memory, file: file.into(), line: 1, links }
    }

    /// An entry of a file, as it was read there.
    fn of(view: &markdown::View<'_>, file: &str) -> Self {
        let links = links::targets(view.text).map(str::to_owned).collect();
        Self { memory: view.entry.memory.clone(), file: file.to_owned(), line: view.line, links }
    }
}

/// An entry whose block cannot be read: still there to be searched as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// File inside the home, with `/`.
    pub file: String,
    /// 1-based line of its heading.
    pub line: u64,
    /// As it stands in the file.
    pub text: String,
}

/// One project as read at one moment. Planning works on this and on nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Project name.
    pub project: String,
    /// Entries of all layers, file by file in the order of the files; archived ones are not here.
    pub entries: Vec<Entry>,
    /// Whether they are only those that a change has to know ([`Store::update_near`]).
    pub is_part: bool,
    /// Entries that cannot be read as memories.
    pub unreadable: Vec<Text>,
    /// Memories added or changed outside claude-mem that their owner has not looked at; with `trust_hand_edits = false` they
    /// are held back.
    pub hand_edits: Vec<Id>,
    /// Those of them that their owner has not been told of.
    pub unannounced: Vec<Id>,
    /// What Markdown does not hold.
    pub catalogue: Catalogue,
    /// Blocks that could not be parsed, entries that changed outside, and the like.
    pub problems: Vec<Problem>,
    /// State of the files, for [`crate::model::Plan::base`].
    pub base: Base,
}

impl Snapshot {
    /// Whether an entry was changed by hand after it was written: then its quotes cannot be checked any more.
    pub fn is_edited(&self, memory: &Memory) -> bool {
        let marked = self.catalogue.memories.get(memory.id.as_str()).map(|known| known.edited);
        marked.is_some_and(|marked| marked || self.hand_edits.contains(&memory.id))
    }

    /// How many entries were typed by hand and have no id yet.
    pub fn unnamed(&self) -> usize {
        self.problems.iter().filter(|p| p.code == read::NO_ID).count()
    }

    /// Whether an entry that was added or changed outside was not there before.
    pub fn is_added(&self, id: &Id) -> bool {
        self.catalogue.memories.get(id.as_str()).is_none_or(|known| known.held && known.was.is_empty())
    }

    /// The project without what is held back while `trust_hand_edits` is false: what was added or changed outside and its owner
    /// has not looked at.
    #[must_use]
    pub fn without_held(mut self) -> Self {
        let held = std::mem::take(&mut self.hand_edits);
        self.entries.retain(|e| !held.contains(&e.memory.id));
        self
    }

    /// The entry with this id.
    pub fn entry(&self, id: &Id) -> Option<&Entry> {
        self.entries.iter().find(|e| e.memory.id == *id)
    }

    /// The record of an entry, with its use and place.
    pub fn record(&self, entry: &Entry) -> MemoryRecord {
        let mut record = MemoryRecord::of(&entry.memory, &self.project);
        if let Some(used) = self.catalogue.memories.get(entry.memory.id.as_str()) {
            record.last_access.clone_from(&used.last_access);
            record.hits = used.hits;
            record.created = record.created.or_else(|| used.created.clone());
        }
        record.file = Some(entry.file.clone());
        record.line = Some(entry.line);
        record
    }
}

/// What a commit did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipt {
    /// Number of the commit in the history; `None` if nothing had to be written, or only access counts were.
    pub seq: Option<u64>,
    /// Files changed, inside the home, with `/`.
    pub files: Vec<String>,
    /// Memories written, moved or removed.
    pub ids: Vec<Id>,
    /// Those written, moved or counted as used that are in everyday files, as they stand now.
    pub records: Vec<MemoryRecord>,
    /// Memories typed by hand that got their id now.
    pub adopted: Vec<Id>,
    /// Memories found added or changed outside, the adopted ones among them.
    pub hand_edits: Vec<Id>,
    /// What else the user should know.
    pub notices: Vec<String>,
}

/// A store that was opened, and what there is to say about it.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// A commit that had been cut off and was finished, and the like.
    pub notices: Vec<String>,
}

/// Looks at a project as it is and as a change would leave it; an error keeps the change from being made.
pub type Accept<'a> = dyn FnMut(&Snapshot, &Snapshot) -> Result<()> + 'a;

/// Picks, by their places, those of all summaries of a project that a change has to know.
pub type Near<'a> = dyn Fn(&[&str]) -> Vec<usize> + 'a;

/// The memory folder.
#[derive(Clone, Debug)]
pub struct Store {
    home: PathBuf,
    now: String,
    /// How long to wait for another writer.
    pub wait: Duration,
    /// Whether what was added or changed outside counts at once (`trust_hand_edits`).
    pub trust_hand_edits: bool,
}

impl Store {
    /// Opens the folder; what a cut-off commit left is finished or taken back first. Makes nothing on disk.
    /// `now` (RFC 3339) dates the changes that bring no plan of their own.
    ///
    /// # Errors
    /// If a cut-off commit is found and cannot be dealt with.
    pub fn open(home: &Path, now: &str) -> Result<Opened> {
        // Links are compared below the home, so the home itself may be one.
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        let store = Self { home, now: now.to_owned(), wait: WAIT, trust_hand_edits: true };
        let mut notices = Vec::new();
        if journal::is_open(&store.home) {
            match journal::lock(&store.home, Duration::from_millis(300)) {
                Ok(lock) => notices.extend(journal::recover(&store.home, &lock)?),
                // Somebody is at work right now; reading waits for that by itself.
                Err(error) if error.kind == Kind::Busy => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Opened { store, notices })
    }

    /// The folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Names of the projects, sorted; `_global` is among them once it has memories.
    pub fn projects(&self) -> Result<Vec<String>> {
        let items = match std::fs::read_dir(&self.home) {
            Ok(items) => items,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io("read", &self.home, &e)),
        };
        let mut names: Vec<String> = items
            .flatten()
            .filter(|i| i.file_type().is_ok_and(|t| t.is_dir()))
            .filter_map(|i| i.file_name().into_string().ok())
            .filter(|name| layout::check_name(name).is_ok() && read::is_project(&self.home, name))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// A project as it is now; one that does not exist has no entries.
    ///
    /// # Errors
    /// If the name is none, or a file cannot be read. What cannot be understood is in `problems`.
    pub fn snapshot(&self, project: &str) -> Result<Snapshot> {
        layout::check_name(project)?;
        let mut project = read::read(&self.home, project, self.wait)?;
        let mut snapshot = project.snapshot();
        snapshot.catalogue = project.catalogue;
        Ok(snapshot)
    }

    /// Makes the changes of a plan, all or none. `new_id` names entries that were typed by hand.
    ///
    /// # Errors
    /// [`Kind::Busy`] if the project is not as the plan knew it (plan again), or another writer does not end. Nothing is
    /// changed by a commit that fails.
    pub fn commit(&self, plan: &Plan, new_id: &dyn Fn() -> Result<Id>) -> Result<Receipt> {
        let lock = self.lock()?;
        let project = self.read_locked(&plan.project)?;
        if project.base() != plan.base {
            return Err(Error::new(Kind::Busy, format!("{} was changed since this was planned", plan.project))
                .hint("run the same command again; nothing was changed"));
        }
        let draft = self.take_in(&lock, project, &plan.at, new_id)?;
        self.finish(&lock, draft, plan)
    }

    /// Plans and commits under one lock, so that many writers at once all succeed. `make_plan` gets the project as it is, with
    /// ids for what was typed by hand, and must be quick: no network.
    ///
    /// # Errors
    /// As [`Store::commit`], and what `make_plan` says.
    pub fn update(
        &self,
        project: &str,
        at: &str,
        new_id: &dyn Fn() -> Result<Id>,
        make_plan: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
    ) -> Result<Receipt> {
        self.update_if(project, at, new_id, make_plan, None)
    }

    /// The same, but `accept` looks at the project as it is and as it would be, still under the lock and before anything is
    /// written; its error is the outcome, and nothing is changed then.
    ///
    /// # Errors
    /// As [`Store::update`], and what `accept` says.
    pub fn update_if(
        &self,
        project: &str,
        at: &str,
        new_id: &dyn Fn() -> Result<Id>,
        make_plan: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
        accept: Option<&mut Accept<'_>>,
    ) -> Result<Receipt> {
        self.planned(project, (at, new_id), None, make_plan, accept)
    }

    /// As [`Store::update`], for a change that has to know only a few memories of many: the snapshot has those that are `near`, and
    /// no problems.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn update_near(
        &self,
        project: &str,
        at: &str,
        new_id: &dyn Fn() -> Result<Id>,
        near: &Near<'_>,
        make_plan: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
    ) -> Result<Receipt> {
        self.planned(project, (at, new_id), Some(near), make_plan, None)
    }

    fn planned(
        &self,
        project: &str,
        (at, new_id): (&str, &dyn Fn() -> Result<Id>),
        near: Option<&Near<'_>>,
        make_plan: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
        accept: Option<&mut Accept<'_>>,
    ) -> Result<Receipt> {
        layout::check_name(project)?;
        let lock = self.lock()?;
        let mut draft = self.take_in(&lock, self.read_locked(project)?, at, new_id)?;
        let before = draft.lend(near);
        let plan = make_plan(&before)?;
        if let Some(accept) = accept.filter(|_| !plan.changes.is_empty()) {
            draft.project.catalogue.clone_from(&before.catalogue);
            accept(&before, &self.foreseen(&mut draft.clone(), &plan)?)?;
        }
        draft.project.catalogue = before.catalogue;
        self.finish(&lock, draft, &plan)
    }

    /// A project as it is and as a plan would leave it. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn foresee(
        &self,
        project: &str,
        at: &str,
        new_id: &dyn Fn() -> Result<Id>,
        make_plan: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
    ) -> Result<(Snapshot, Snapshot)> {
        layout::check_name(project)?;
        let project = read::read(&self.home, project, self.wait)?;
        let mut draft = Draft::begin(project, at, new_id)?;
        let before = draft.lend(None);
        let plan = make_plan(&before)?;
        draft.project.catalogue.clone_from(&before.catalogue);
        Ok((before, self.foreseen(&mut draft, &plan)?))
    }

    fn foreseen(&self, draft: &mut Draft, plan: &Plan) -> Result<Snapshot> {
        self.apply(draft, plan)?;
        let swaps = draft.swaps()?;
        Ok(draft.after(&swaps))
    }

    fn apply(&self, draft: &mut Draft, plan: &Plan) -> Result<()> {
        if draft.needs_archive(plan) {
            self.read_archive(&mut draft.project)?;
        }
        draft.apply(plan)
    }

    fn read_locked(&self, project: &str) -> Result<read::Project> {
        layout::check_name(project)?;
        let project = read::read_now(&self.home, project)?;
        project.check_writable(&self.home)?;
        Ok(project)
    }

    fn lock(&self) -> Result<Lock> {
        let mut lock = journal::lock(&self.home, self.wait)?;
        lock.said = journal::recover(&self.home, &lock)?;
        Ok(lock)
    }

    /// Begins with a project as it is. What was typed or changed by hand is taken in as a commit of its own, which `undo` walks
    /// over: so it is not taken back with the next change, and ids once given stay.
    fn take_in(&self, lock: &Lock, project: read::Project, at: &str, new_id: &dyn Fn() -> Result<Id>) -> Result<Draft> {
        let mut draft = Draft::begin(project, at, new_id)?;
        if !draft.took_edits {
            return Ok(draft);
        }
        let edited: Vec<String> = draft.project.markdown().into_iter().filter(|f| draft.project.is_edited(f)).collect();
        let swaps = draft.swaps()?;
        let name = &draft.project.name;
        let taken_in = edited.iter().filter_map(|f| Some((format!("{name}/{f}"), draft.project.catalogue.files.get(f)?.sha256.clone())));
        let manifest = Manifest {
            command: ADOPT.to_owned(),
            at: at.to_owned(),
            project: name.clone(),
            ids: draft.hand_edits.clone(),
            title: draft.title(draft.hand_edits.first()),
            taken_in: taken_in.collect(),
            ..Manifest::default()
        };
        if !swaps.is_empty() {
            self.swap(lock, manifest, swaps.clone())?;
            draft.is_written(&self.home, swaps);
        }
        Ok(draft)
    }

    fn finish(&self, lock: &Lock, mut draft: Draft, plan: &Plan) -> Result<Receipt> {
        let before = draft.project.base();
        self.apply(&mut draft, plan)?;
        // A plan without changes writes nothing, not even that something was used.
        let used = if plan.changes.is_empty() { Vec::new() } else { access::noted(&self.home, &plan.project) };
        draft.count(&used);
        let swaps = draft.swaps()?;
        let (part, gone) = draft.outcome();
        let mut receipt = Receipt {
            records: part.entries.iter().map(|e| part.record(e)).collect(),
            ids: draft.ids.into_iter().collect(),
            adopted: draft.adopted,
            hand_edits: draft.hand_edits,
            notices: draft.notices,
            ..Receipt::default()
        };
        receipt.notices.extend(lock.said.clone());
        if swaps.is_empty() {
            return Ok(receipt);
        }
        // Bookkeeping alone (use, progress of a transcript) is no step that a person would want back, and neither is that something
        // was known already: `undo` means the last change of what memories say.
        let noted = |c: &Change| matches!(c, Change::Touch { .. } | Change::Announced { .. });
        let known = |c: &Change| noted(c) || matches!(c, Change::Confirm { evidence: None, .. });
        let read = |c: &Change| noted(c) || matches!(c, Change::Session(_));
        let quiet = plan.changes.iter().all(known) || plan.changes.iter().all(read);
        let manifest = Manifest {
            command: plan.command.clone(),
            at: plan.at.clone(),
            project: plan.project.clone(),
            ids: receipt.ids.clone(),
            title: draft.first,
            quiet,
            ..Manifest::default()
        };
        let manifest = self.swap(lock, manifest, swaps)?;
        if !used.is_empty() {
            access::counted(&self.home, &plan.project)?;
        }
        index::follow(&self.home, &before, &manifest, &part, &gone);
        receipt.seq = (!quiet).then_some(manifest.seq);
        receipt.files = manifest.files.into_iter().map(|f| f.path).collect();
        Ok(receipt)
    }

    /// The one way to change projects: all of the files, or none.
    fn swap(&self, lock: &Lock, manifest: Manifest, swaps: Vec<FileSwap>) -> Result<Manifest> {
        journal::run(&self.home, lock, manifest, swaps)
    }

    fn read_archive(&self, project: &mut read::Project) -> Result<()> {
        let files = read::files(&self.home, &project.name, true, &mut project.problems)?;
        for file in files.into_iter().filter(|f| layout::is_archive(f)) {
            if let Some(raw) = read::Raw::read(&self.home.join(&project.name).join(&file))? {
                project.raw.insert(file, raw);
            }
        }
        Ok(())
    }

    /// Writes files as a commit of its own, dated now.
    fn swap_now(&self, lock: &Lock, command: &str, project: &str, swaps: Vec<FileSwap>) -> Result<Receipt> {
        let notices = lock.said.iter().cloned().collect();
        if swaps.is_empty() {
            return Ok(Receipt { notices, ..Receipt::default() });
        }
        let manifest = Manifest { command: command.to_owned(), at: self.now.clone(), project: project.to_owned(), ..Manifest::default() };
        let manifest = self.swap(lock, manifest, swaps)?;
        let files = manifest.files.into_iter().map(|f| f.path).collect();
        Ok(Receipt { seq: Some(manifest.seq), files, notices, ..Receipt::default() })
    }

    /// The commits that are kept, newest first.
    pub fn history(&self) -> Result<Vec<Manifest>> {
        history::list(&self.home)
    }
}
