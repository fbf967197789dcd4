//! What each change does to Markdown and catalogue. Works on a project in memory; nothing here touches the disk.

use std::collections::BTreeSet;
use std::path::Path;

use super::Entry;
use super::access::{self, Access};
use super::catalogue::{ConflictRecord, FileRecord, MemoryUse};
use super::journal::{FileSwap, Stamp};
use super::layout::{self, INDEX};
use super::markdown::{Document, tidy};
use super::read::{LARGE, Project, Raw, digest, place};
use super::{Near, Snapshot};
use crate::error::{Error, Result};
use crate::model::{Change, Evidence, Id, Layer, Memory, Plan, RelationType, Speaker, Tombstone};

/// At most this many quotes stay in an entry.
pub const MAX_QUOTES: usize = 5;

/// A project on its way from one state to the next.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) project: Project,
    /// RFC 3339.
    pub(super) at: String,
    pub(super) touched: BTreeSet<String>,
    /// Memories that were written, moved or removed.
    pub(super) ids: BTreeSet<Id>,
    /// Memories whose use was counted.
    used: BTreeSet<Id>,
    pub(super) adopted: Vec<Id>,
    pub(super) hand_edits: Vec<Id>,
    pub(super) notices: Vec<String>,
    /// The summary of the first memory that was written, moved or removed.
    pub(super) first: String,
    /// Whether anything was added, changed or taken out by hand since the last commit.
    pub(super) took_edits: bool,
}

fn missing(id: &Id, project: &str) -> Error {
    Error::failure(format!("{project} has no memory {id}")).hint("`claude-mem list` shows the ids")
}

impl Draft {
    /// Starts from what is on disk: entries typed by hand get ids, and the catalogue learns what was edited outside.
    pub(super) fn begin(project: Project, at: &str, new_id: &dyn Fn() -> Result<Id>) -> Result<Self> {
        let mut draft = Self {
            project,
            at: at.to_owned(),
            touched: BTreeSet::new(),
            ids: BTreeSet::new(),
            used: BTreeSet::new(),
            adopted: Vec::new(),
            hand_edits: Vec::new(),
            notices: Vec::new(),
            first: String::new(),
            took_edits: false,
        };
        let edited: Vec<String> = draft.project.markdown().into_iter().filter(|f| draft.project.is_edited(f)).collect();
        let gone = |file: &String| !layout::is_archive(file) && !draft.project.raw.contains_key(file);
        if !edited.is_empty() || draft.project.catalogue.files.keys().any(gone) {
            draft.take_edits(&edited, new_id)?;
            draft.took_edits = true;
        }
        Ok(draft)
    }

    /// The summary of an entry that the catalogue knows, in a file that was parsed.
    pub(super) fn title(&self, id: Option<&Id>) -> String {
        let file = id.and_then(|id| self.project.catalogue.memories.get(id.as_str())).map(|known| &known.file);
        let found = file.and_then(|f| self.project.documents.get(f)).zip(id).and_then(|(d, id)| d.get(id));
        found.map(|memory| memory.summary.clone()).unwrap_or_default()
    }

    /// Goes on from what was just written.
    pub(super) fn is_written(&mut self, home: &Path, swaps: Vec<FileSwap>) {
        self.touched.clear();
        for FileSwap { path, after, .. } in swaps {
            let file = path.split_once('/').map_or(path.as_str(), |(_, file)| file).to_owned();
            match (after, Stamp::of(&home.join(&path))) {
                (Some((sha, bytes)), Some(stamp)) => drop(self.project.raw.insert(file, Raw { bytes, sha, stamp })),
                _ => drop(self.project.raw.remove(&file)),
            }
        }
    }

    /// What planning works on, or only the entries that are `near`, with the catalogue itself, which is to be given back: a copy of
    /// thousands of rows takes time.
    pub(super) fn lend(&mut self, near: Option<&Near<'_>>) -> Snapshot {
        let mut snapshot = match near {
            Some(near) => self.project.part(near),
            None => self.project.snapshot(),
        };
        snapshot.catalogue = std::mem::take(&mut self.project.catalogue);
        snapshot
    }

    /// The project as the next reader will find it once these files are written.
    pub(super) fn after(&self, swaps: &[FileSwap]) -> Snapshot {
        let Project { name, raw, catalogue, .. } = &self.project;
        let mut next = Project { name: name.clone(), raw: raw.clone(), ..Project::default() };
        for FileSwap { path, after, .. } in swaps {
            let file = path.split_once('/').map_or(path.as_str(), |(_, file)| file).to_owned();
            match after.clone() {
                Some((sha, bytes)) => drop(next.raw.insert(file, Raw { bytes, sha, stamp: Stamp::default() })),
                None => drop(next.raw.remove(&file)),
            }
        }
        next.catalogue.clone_from(catalogue);
        let mut snapshot = next.snapshot();
        snapshot.catalogue = next.catalogue;
        snapshot
    }

    /// Whether a plan touches entries that are in the archive, or puts some there.
    pub(super) fn needs_archive(&self, plan: &Plan) -> bool {
        let there = |id: &Id| self.project.catalogue.memories.get(id.as_str()).is_some_and(|m| layout::is_archive(&m.file));
        plan.changes.iter().any(|change| match change {
            Change::Archive { .. } => true,
            Change::Amend(memory) => there(&memory.id),
            Change::Confirm { id, .. } | Change::Forget { id, .. } => there(id),
            Change::Conflict { older, newer, .. } | Change::Settle { older, newer, .. } => there(older) || there(newer),
            _ => false,
        })
    }

    /// Makes the changes of a plan.
    pub(super) fn apply(&mut self, plan: &Plan) -> Result<()> {
        plan.changes.iter().try_for_each(|change| self.change(change))
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Add(memory) => self.add(memory),
            Change::Amend(memory) => self.amend(memory),
            Change::Confirm { id, evidence } => self.confirm(id, evidence.as_ref()),
            Change::Archive { id } => {
                let at = self.at.clone();
                let archive = layout::archive_for(self.get(id)?, &at);
                self.shift(id, archive)
            }
            Change::Forget { id, tombstone } => self.forget(id, tombstone.as_ref()),
            Change::Touch { ids } => {
                // An id that is gone by now was used all the same; there is nothing left to count it on.
                ids.iter().for_each(|id| self.touch(id));
                Ok(())
            }
            Change::Conflict { older, newer, reason, supersedes } => self.conflict(older, newer, reason, *supersedes),
            Change::Settle { older, newer, how, tombstone } => {
                self.bury(tombstone.as_ref());
                self.settle(older, newer, how)
            }
            Change::Ask(item) => {
                let review = &mut self.project.catalogue.review;
                review.retain(|r| r.id != item.id);
                review.push((**item).clone());
                Ok(())
            }
            Change::Answer { id, tombstone } => {
                self.project.catalogue.review.retain(|r| r.id != *id);
                self.bury(tombstone.as_ref());
                Ok(())
            }
            Change::Accept { ids } => {
                for id in ids {
                    let summary = self.title(Some(id));
                    self.note(id, &summary);
                    self.used.insert(id.clone());
                }
                self.each(ids, |known| {
                    (known.held, known.announced) = (false, false);
                    known.was.clear();
                });
                Ok(())
            }
            Change::Announced { ids } => {
                self.each(ids, |known| known.announced = known.held);
                Ok(())
            }
            Change::Decline { keys } => {
                let declined = &mut self.project.catalogue.declined;
                declined.extend(keys.iter().filter(|k| !declined.contains(k)).cloned().collect::<Vec<_>>());
                Ok(())
            }
            Change::Session(record) => {
                let sessions = &mut self.project.catalogue.sessions;
                match sessions.iter_mut().find(|s| s.transcript == record.transcript && s.session == record.session) {
                    Some(known) => known.clone_from(record),
                    None => sessions.push(record.clone()),
                }
                Ok(())
            }
        }
    }

    /// Changes what the catalogue knows of these entries, as far as they are there.
    fn each(&mut self, ids: &[Id], change: impl Fn(&mut MemoryUse)) {
        let memories = &mut self.project.catalogue.memories;
        for id in ids {
            if let Some(known) = memories.get_mut(id.as_str()) {
                change(known);
            }
        }
    }

    /// The file that has the entry.
    fn find(&mut self, id: &Id) -> Option<String> {
        let has = |project: &Project, file: &str| project.documents.get(file).is_some_and(|d| d.get(id).is_some());
        if let Some(file) = self.project.catalogue.memories.get(id.as_str()).map(|m| m.file.clone()) {
            self.project.parse(&file);
            if has(&self.project, &file) {
                return Some(file);
            }
        }
        self.project.parse_all();
        self.project.documents.keys().find(|file| has(&self.project, file)).cloned()
    }

    pub(super) fn get(&mut self, id: &Id) -> Result<&Memory> {
        let file = self.find(id);
        let found = file.and_then(|f| self.project.documents.get(&f)).and_then(|d| d.get(id));
        found.ok_or_else(|| missing(id, &self.project.name))
    }

    /// The document of a file; a new one if there is no such file.
    fn document(&mut self, file: &str) -> Result<&mut Document> {
        self.project.parse(file);
        if self.project.raw.contains_key(file) && !self.project.documents.contains_key(file) {
            return Err(Error::failure(format!("{}/{file} is not UTF-8, so it cannot be changed", self.project.name))
                .hint("save the file as UTF-8"));
        }
        self.touched.insert(file.to_owned());
        let layer = layout::layer_of(file).unwrap_or(Layer::Transient);
        Ok(self.project.documents.entry(file.to_owned()).or_insert_with(|| Document::parse("", layer)))
    }

    /// Writes down in the catalogue where an entry is now and what finds it.
    pub(super) fn record(&mut self, id: &Id, file: &str) {
        let Some(document) = self.project.documents.get(file) else { return };
        let (Some(memory), Some(text)) = (document.get(id), document.text(id)) else { return };
        let (memory, digest) = (memory.clone(), digest(text));
        self.project.catalogue.unlink(&BTreeSet::from([id.as_str()]));
        self.write_down(&memory, digest, file);
    }

    fn note(&mut self, id: &Id, summary: &str) {
        if self.ids.is_empty() {
            summary.clone_into(&mut self.first);
        }
        self.ids.insert(id.clone());
    }

    fn write_down(&mut self, memory: &Memory, digest: String, file: &str) {
        self.note(&memory.id, &memory.summary);
        let catalogue = &mut self.project.catalogue;
        let old = catalogue.memories.remove(memory.id.as_str()).unwrap_or_default();
        catalogue.memories.insert(memory.id.to_string(), place(memory, file, MemoryUse { digest, ..old }));
        if !layout::is_archive(file) {
            catalogue.link(&memory.id, &memory.keywords);
        }
    }

    fn add(&mut self, memory: &Memory) -> Result<()> {
        let memory = tidy(memory);
        if self.project.catalogue.memories.contains_key(memory.id.as_str()) {
            return Err(
                Error::failure(format!("{} has a memory {} already", self.project.name, memory.id)).hint("run the same command again")
            );
        }
        if memory.summary.is_empty() {
            return Err(Error::failure("a memory without a summary cannot be stored").hint("give it one line that says something"));
        }
        let file = layout::file_for(&memory, &self.at)?;
        let text = self.document(&file)?.insert(&memory);
        self.write_down(&memory, digest(&text), &file);
        Ok(())
    }

    pub(super) fn amend(&mut self, memory: &Memory) -> Result<()> {
        let file = self.find(&memory.id).ok_or_else(|| missing(&memory.id, &self.project.name))?;
        let shown = format!("{}/{file}", self.project.name);
        let refused = |why: String| Error::failure(format!("{shown}: {why}")).hint("change it with an editor");
        let said = self.get(&memory.id)?.summary.clone();
        self.document(&file)?.replace(memory).map_err(refused)?;
        self.relink(&said, &memory.summary);
        if layout::layer_of(&file) != Some(memory.layer) {
            let target = layout::file_for(memory, &self.at)?;
            return self.shift(&memory.id, target);
        }
        self.record(&memory.id, &file);
        Ok(())
    }

    /// Moves an entry, with its text as it is, to another file.
    fn shift(&mut self, id: &Id, target: String) -> Result<()> {
        let file = self.find(id).ok_or_else(|| missing(id, &self.project.name))?;
        if file == target {
            return Ok(());
        }
        let memory = self.get(id)?.clone();
        if let Some(text) = self.document(&file)?.remove(id) {
            self.document(&target)?.insert_text(&text, &memory);
        }
        self.record(id, &target);
        Ok(())
    }

    fn touch(&mut self, id: &Id) {
        if let Some(known) = self.project.catalogue.memories.get_mut(id.as_str()) {
            known.hits += 1;
            known.last_access = Some(self.at.clone());
            self.used.insert(id.clone());
        }
    }

    /// Counts the uses that readers noted since the last commit.
    pub(super) fn count(&mut self, used: &[Access]) {
        access::count(&mut self.project.catalogue, used);
        let known = &self.project.catalogue.memories;
        self.used.extend(used.iter().flat_map(|access| &access.ids).filter(|id| known.contains_key(id.as_str())).cloned());
    }

    fn confirm(&mut self, id: &Id, evidence: Option<&Evidence>) -> Result<()> {
        let mut memory = self.get(id)?.clone();
        self.touch(id);
        let Some(new) = evidence else { return Ok(()) };
        let new = Evidence { session: new.session.clone().filter(|s| Some(s) != memory.session.as_ref()), ..new.clone() };
        // Even where the words are the same: that they had to be said again is what counts.
        if let (Some(session), Speaker::User, Some(known)) =
            (&new.session, new.speaker, self.project.catalogue.memories.get_mut(id.as_str()))
            && !known.said_again.contains(session)
        {
            known.said_again.push(session.clone());
        }
        if memory.evidence.iter().any(|e| e.quote == new.quote || (e.session == new.session && e.turn == new.turn)) {
            return Ok(());
        }
        // The words it was made from stay; the oldest of the later confirmations makes room.
        if memory.evidence.len() >= MAX_QUOTES {
            let Some(oldest) = memory.evidence.iter().position(|e| e.session.is_some()) else { return Ok(()) };
            memory.evidence.remove(oldest);
        }
        memory.evidence.push(new);
        self.amend(&memory)
    }

    fn forget(&mut self, id: &Id, tombstone: Option<&Tombstone>) -> Result<()> {
        let file = self.find(id).ok_or_else(|| missing(id, &self.project.name))?;
        let summary = self.title(Some(id));
        self.document(&file)?.remove(id);
        self.note(id, &summary);
        let catalogue = &mut self.project.catalogue;
        catalogue.memories.remove(id.as_str());
        catalogue.unlink(&BTreeSet::from([id.as_str()]));
        // A disagreement with what is gone is none; the other entry must not stay flagged.
        let pairs: Vec<ConflictRecord> =
            catalogue.conflicts.iter().filter(|c| c.older == id.as_str() || c.newer == id.as_str()).cloned().collect();
        catalogue.conflicts.retain(|c| c.older != id.as_str() && c.newer != id.as_str());
        for pair in pairs {
            let other = if pair.older == id.as_str() { &pair.newer } else { &pair.older };
            if let Some(other) = Id::parse(other).filter(|o| self.find(o).is_some()) {
                self.relate(&other, |relations| relations.retain(|r| r.id != *id || r.kind != RelationType::Conflicts), None)?;
            }
        }
        self.bury(tombstone);
        Ok(())
    }

    fn bury(&mut self, tombstone: Option<&Tombstone>) {
        let Some(new) = tombstone else { return };
        let tombstones = &mut self.project.catalogue.tombstones;
        let at = if new.at.is_empty() { self.at.clone() } else { new.at.clone() };
        match tombstones.iter_mut().find(|t| t.hash == new.hash) {
            // What lost and is now thrown out, or lost once more.
            Some(known) if known.lost => *known = Tombstone { at, ..new.clone() },
            Some(_) => {}
            None => tombstones.push(Tombstone { at, ..new.clone() }),
        }
    }

    /// The memories that were written or counted, as they stand now, and the ids of those that are in no everyday file any more.
    pub(super) fn outcome(&mut self) -> (Snapshot, Vec<Id>) {
        let ids: BTreeSet<Id> = self.ids.union(&self.used).cloned().collect();
        let mut part = Snapshot { project: self.project.name.clone(), ..Snapshot::default() };
        for id in &ids {
            if let Some(known) = self.project.catalogue.memories.get(id.as_str()).filter(|m| !layout::is_archive(&m.file)) {
                part.hand_edits.extend(known.held.then(|| id.clone()));
                part.catalogue.memories.insert(id.to_string(), known.clone());
            }
        }
        let files: BTreeSet<String> = part.catalogue.memories.values().map(|known| known.file.clone()).collect();
        for file in &files {
            self.project.parse(file);
            let views = self.project.documents.get(file).into_iter().flat_map(|d| d.find(&ids));
            let shown = format!("{}/{file}", self.project.name);
            part.entries.extend(views.map(|v| Entry::of(&v, &shown)));
        }
        let there: BTreeSet<&Id> = part.entries.iter().map(|e| &e.memory.id).collect();
        let gone = ids.iter().filter(|id| !there.contains(id)).cloned().collect();
        (part, gone)
    }

    /// What has to be written: changed Markdown files, then the catalogue; nothing if nothing changed.
    pub(super) fn swaps(&mut self) -> Result<Vec<FileSwap>> {
        let edited: BTreeSet<String> = self.project.documents.keys().filter(|file| self.project.is_edited(file)).cloned().collect();
        let Project { name, raw, documents, catalogue, rebuilt, .. } = &mut self.project;
        let mut swaps = Vec::new();
        for (file, document) in documents.iter() {
            let raw = raw.get(file);
            if self.touched.contains(file) {
                let text = document.render();
                let blank = document.is_blank();
                if raw.map(|r| r.bytes.as_slice()) != Some(text.as_bytes()) && !(blank && raw.is_none()) {
                    let swap = swap(name, file, raw, (!blank).then(|| text.into_bytes()));
                    match &swap.after {
                        Some((sha, _)) => {
                            let record = FileRecord { sha256: sha.clone(), written: self.at.clone() };
                            catalogue.files.insert(file.clone(), record);
                        }
                        None => drop(catalogue.files.remove(file)),
                    }
                    swaps.push(((file, document), swap));
                    continue;
                }
            }
            // Edited outside, and taken over as it is.
            if let Some(raw) = raw.filter(|_| edited.contains(file)) {
                let record = FileRecord { sha256: raw.sha.clone(), written: self.at.clone() };
                catalogue.files.insert(file.clone(), record);
            }
        }
        catalogue.files.retain(|file, _| layout::is_archive(file) || raw.contains_key(file) || self.touched.contains(file));
        // A new project is made by what is stored in it, not by a look that found nothing.
        let new = raw.is_empty();
        if new && swaps.is_empty() && catalogue.is_blank() {
            return Ok(Vec::new());
        }
        if catalogue.project.created.is_empty() && (new || *rebuilt) {
            self.at.clone_into(&mut catalogue.project.created);
        }
        let index = || {
            let json = catalogue.to_json().map_err(|e| Error::failure(format!("the catalogue cannot be written: {e}")))?;
            let raw = raw.get(INDEX);
            let differs = raw.map(|r| r.bytes.as_slice()) != Some(json.as_bytes());
            Ok(differs.then(|| swap(name, INDEX, raw, Some(json.into_bytes()))))
        };
        let index = checked(&swaps, index)?;
        Ok(swaps.into_iter().map(|(_, swap)| swap).chain(index).collect())
    }
}

/// Checks what is about to be written, beside the catalogue's own `work`: of a large project each takes a while.
fn checked<T>(swaps: &[((&String, &Document), FileSwap)], work: impl FnOnce() -> Result<T>) -> Result<T> {
    let check = || {
        swaps
            .iter()
            .filter_map(|(from, swap)| Some((*from, swap.after.as_ref()?)))
            .try_for_each(|((file, document), (_, bytes))| check(document, bytes, file))
    };
    std::thread::scope(|scope| {
        let large = swaps.iter().any(|(_, swap)| swap.after.as_ref().is_some_and(|(_, bytes)| bytes.len() > LARGE));
        let beside = large.then(|| scope.spawn(check));
        let done = work();
        match beside {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(done),
            None => check().and(done),
        }
    })
}

fn swap(project: &str, file: &str, raw: Option<&Raw>, bytes: Option<Vec<u8>>) -> FileSwap {
    FileSwap::new(format!("{project}/{file}"), raw.map(|r| (r.sha.clone(), r.stamp)), bytes)
}

/// What is about to be written must read back as the same entries.
fn check(document: &Document, bytes: &[u8], file: &str) -> Result<()> {
    if std::str::from_utf8(bytes).is_ok_and(|text| document.reads_as(text)) {
        return Ok(());
    }
    Err(Error::failure(format!("{file} would not read back as written; nothing was changed")).hint("please report this"))
}
