//! Reading a project: its files at one moment, what they say, and how that differs from what we wrote last.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::catalogue::{Catalogue, ConflictRecord, Head, MemoryUse, ProjectIdentity, VERSION};
use super::journal::{self, Stamp, sha256};
use super::layout::{self, INDEX, LONG_TERM, WORKING};
use super::markdown::{Document, View};
use super::{Entry, Near, Snapshot, Text};
use crate::cores::on_all_cores;
use crate::error::{Error, Kind, Problem, Result};
use crate::model::plan::Base;
use crate::model::{Id, Layer, Memory, RelationType};
use crate::text::words::count;

/// One file as read.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) bytes: Vec<u8>,
    pub(super) sha: String,
    pub(super) stamp: Stamp,
}

impl Raw {
    /// `None` if the file is not there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let Some(stamp) = Stamp::of(path) else { return Ok(None) };
        match fs::read(path) {
            Ok(bytes) => Ok(Some(Self { sha: sha256(&bytes), bytes, stamp })),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", path, &e)),
        }
    }
}

/// A project as read. Documents are parsed when they are needed, their entries when somebody asks what they say.
#[derive(Clone, Debug, Default)]
pub(super) struct Project {
    pub(super) name: String,
    /// By name inside the project; the archive only where it was asked for.
    pub(super) raw: BTreeMap<String, Raw>,
    pub(super) documents: BTreeMap<String, Document>,
    pub(super) catalogue: Catalogue,
    /// Whether the catalogue had to be made anew.
    pub(super) rebuilt: bool,
    pub(super) problems: Vec<Problem>,
}

/// The file's name as users see it.
fn shown(project: &str, file: &str) -> String {
    format!("{project}/{file}")
}

/// Code of the problem that an entry was typed by hand and has no id yet.
pub(super) const NO_ID: &str = "no_id";

pub(super) fn problem(code: &'static str, file: String, detail: impl Into<String>) -> Problem {
    Problem { code, file, line: None, detail: detail.into() }
}

/// The files of a project as they are between two commits.
pub(super) fn read(home: &Path, name: &str, wait: Duration) -> Result<Project> {
    between_commits(home, name, wait, || read_now(home, name))
}

/// Runs `look` on a project so that no commit falls into it.
pub(super) fn between_commits<T>(home: &Path, name: &str, wait: Duration, look: impl Fn() -> Result<T>) -> Result<T> {
    let index = home.join(name).join(INDEX);
    for _ in 0..20 {
        if journal::is_open(home) {
            let _no_writer = journal::lock_for_reading(home, wait)?;
            if journal::is_open(home) {
                return Err(Error::new(Kind::Busy, "a commit was cut off and has to be finished first")
                    .hint("run any claude-mem command with the right to write to the memory folder"));
            }
            return look();
        }
        let before = Stamp::of(&index);
        let seen = look()?;
        // Every commit replaces the catalogue, last of all files: the same one before and after means no commit between.
        if !journal::is_open(home) && Stamp::of(&index) == before {
            return Ok(seen);
        }
    }
    let _no_writer = journal::lock_for_reading(home, wait)?;
    look()
}

/// The files of a project, by a caller who knows that nobody is writing.
pub(super) fn read_now(home: &Path, name: &str) -> Result<Project> {
    let mut project = Project { name: name.to_owned(), ..Project::default() };
    let folder = home.join(name);
    let files = files(home, name, false, &mut project.problems)?;
    let is_large = |file: &str| fs::metadata(folder.join(file)).is_ok_and(|meta| meta.len() > LARGE as u64);
    let read = |file: &str| -> Result<Option<(Raw, Part)>> {
        Ok(Raw::read(&folder.join(file))?.map(|raw| {
            let part = if raw.bytes.len() > LARGE { Part::of(file, &raw) } else { Part::Later };
            (raw, part)
        }))
    };
    let read = std::thread::scope(|scope| -> Result<Vec<_>> {
        let all: Vec<_> = files.iter().map(|file| is_large(file).then(|| scope.spawn(|| read(file)))).collect();
        let all = files.iter().zip(all).map(|(file, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => read(file),
        });
        all.collect()
    })?;
    let mut catalogue = None;
    for (file, (raw, part)) in files.into_iter().zip(read).filter_map(|(file, read)| Some((file, read?))) {
        match part {
            Part::Document(document) => drop(project.documents.insert(file.clone(), document)),
            Part::Catalogue(read) => catalogue = Some(*read),
            Part::Later => {}
        }
        project.raw.insert(file, raw);
    }
    project.load_catalogue(&folder, catalogue)?;
    Ok(project)
}

/// Bytes of a file for which a thread of its own pays.
pub(super) const LARGE: usize = 256 << 10;

/// What is in a large file.
enum Part {
    Document(Document),
    Catalogue(Box<Result<Catalogue, String>>),
    /// It is small, or has a fault that is found when it is parsed.
    Later,
}

impl Part {
    fn of(file: &str, raw: &Raw) -> Self {
        if file == INDEX {
            return Self::Catalogue(Box::new(read_catalogue(&raw.bytes)));
        }
        let text = std::str::from_utf8(&raw.bytes).ok().zip(layout::layer_of(file));
        text.map_or(Self::Later, |(text, layer)| Self::Document(Document::parse(text, layer)))
    }
}

fn read_catalogue(bytes: &[u8]) -> Result<Catalogue, String> {
    match Catalogue::read(bytes) {
        Ok(catalogue) if catalogue.version == 0 => Err("it has no version".to_owned()),
        other => other.map_err(|e| e.to_string()),
    }
}

/// Names of our files in a project that are there, in the order in which they are read.
pub(super) fn files(home: &Path, name: &str, archive: bool, problems: &mut Vec<Problem>) -> Result<Vec<String>> {
    let folder = home.join(name);
    let mut names: Vec<String> = vec![WORKING.to_owned(), LONG_TERM.to_owned(), INDEX.to_owned()];
    let mut folders = vec![layout::TRANSIENT];
    if archive {
        folders.push(layout::ARCHIVE);
    }
    let linked = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink());
    let mut link = |file: &str| {
        problems.push(problem("symlink", shown(name, file), "it is a symbolic link, which is not followed"));
    };
    if linked(&folder) {
        link("");
        return Ok(Vec::new());
    }
    for sub in folders {
        let path = folder.join(sub);
        if linked(&path) {
            link(sub);
            continue;
        }
        let items = match fs::read_dir(&path) {
            Ok(items) => items,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(Error::io("read", &path, &e)),
        };
        let mut found: Vec<String> =
            items.flatten().filter_map(|i| Some(format!("{sub}/{}", i.file_name().to_str()?))).filter(|f| layout::is_ours(f)).collect();
        found.sort_unstable();
        names.append(&mut found);
    }
    names.retain(|file| match fs::symlink_metadata(folder.join(file)) {
        Ok(meta) if meta.file_type().is_symlink() => {
            link(file);
            false
        }
        Ok(meta) => meta.is_file(),
        Err(_) => false,
    });
    Ok(names)
}

/// Whether a folder of the home is a project of ours: by its catalogue, or, if that is lost, by entries with an id.
pub(super) fn is_project(home: &Path, name: &str) -> bool {
    if head(home, name).is_some() {
        return true;
    }
    [WORKING, LONG_TERM].iter().any(|file| {
        let path = home.join(name).join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        Document::parse(&text, Layer::Working).entries().any(|v| v.entry.id.is_some())
    })
}

/// The beginning of a project's catalogue.
pub(super) fn head(home: &Path, name: &str) -> Option<Head> {
    Head::read(File::open(home.join(name).join(INDEX)).ok()?)
}

impl Project {
    /// Refuses what a newer program wrote, and a folder that is somebody else's.
    pub(super) fn check_writable(&self, home: &Path) -> Result<()> {
        let folder = home.join(&self.name);
        let markdown = self.raw.keys().any(|file| file != INDEX);
        let foreign = !markdown && (self.rebuilt || (self.raw.is_empty() && has_files(&folder)));
        if foreign {
            return Err(Error::failure(format!("{} is there already and is no project of claude-mem", folder.display()))
                .hint("choose another project name with --project"));
        }
        if self.catalogue.version <= VERSION {
            return Ok(());
        }
        let text = format!("{} was written by a newer claude-mem (format {}), so it is read-only here", self.name, self.catalogue.version);
        Err(Error::failure(text).hint("upgrade claude-mem"))
    }

    /// Digests of the files, for [`crate::model::Plan::base`]. The archive is not part of it.
    pub(super) fn base(&self) -> Base {
        Base(self.raw.iter().filter(|(file, _)| !layout::is_archive(file)).map(|(file, raw)| (file.clone(), raw.sha.clone())).collect())
    }

    /// Takes the catalogue over that was `read`; else reads it.
    fn load_catalogue(&mut self, folder: &Path, read: Option<Result<Catalogue, String>>) -> Result<()> {
        let name = self.name.clone();
        let empty = || Catalogue {
            version: VERSION,
            project: ProjectIdentity { name: name.clone(), ..ProjectIdentity::default() },
            ..Catalogue::default()
        };
        let why = match read.or_else(|| self.raw.get(INDEX).map(|raw| read_catalogue(&raw.bytes))) {
            Some(Ok(catalogue)) => {
                self.catalogue = catalogue;
                self.catalogue.project.name.clone_from(&self.name);
                return Ok(());
            }
            None if self.raw.is_empty() => {
                self.catalogue = empty();
                return Ok(());
            }
            None => "is missing".to_owned(),
            Some(Err(e)) => {
                // A newer format may not even parse here; it must not be taken for a broken one.
                if let Some(head) = self.raw.get(INDEX).and_then(|raw| Head::read(raw.bytes.as_slice())).filter(|h| h.version > VERSION) {
                    self.catalogue = Catalogue { version: head.version, project: head.project, ..empty() };
                    self.fill_catalogue();
                    return Ok(());
                }
                format!("cannot be read ({e})")
            }
        };
        self.rebuilt = true;
        let backup = Raw::read(&folder.join("index.json.bak"))?.and_then(|raw| read_catalogue(&raw.bytes).ok());
        let lost = match backup {
            Some(old) => {
                self.catalogue = Catalogue { files: BTreeMap::new(), version: VERSION, ..old };
                self.catalogue.project.name.clone_from(&self.name);
                "what is not in Markdown was taken from index.json.bak, so what the last commit changed there is lost"
            }
            None => {
                self.catalogue = empty();
                "sessions, roots, access counts, tombstones and review items could not be recovered"
            }
        };
        self.fill_catalogue();
        let memories = count(self.catalogue.memories.len(), "memory", "memories");
        self.problems.push(problem(
            "catalogue_rebuilt",
            shown(&self.name, INDEX),
            format!("the catalogue {why} and was made anew from Markdown with {memories}; {lost}"),
        ));
        Ok(())
    }

    /// Makes the catalogue list exactly the memories that the files have.
    fn fill_catalogue(&mut self) {
        self.parse_all();
        let mut found = BTreeMap::new();
        let mut keywords: BTreeMap<String, Vec<Id>> = BTreeMap::new();
        let mut pairs = BTreeSet::new();
        for (file, document) in &self.documents {
            for view in document.entries().filter(|v| v.entry.readable) {
                let (Some(id), memory) = (&view.entry.id, &view.entry.memory) else { continue };
                let old = self.catalogue.memories.get(id.as_str()).cloned().unwrap_or_default();
                found.insert(id.to_string(), MemoryUse { digest: digest(view.text), ..place(memory, file, old) });
                for keyword in &memory.keywords {
                    keywords.entry(keyword.clone()).or_default().push(id.clone());
                }
                pairs.extend(memory.related(RelationType::Conflicts).map(|o| (o.min(id).to_string(), o.max(id).to_string())));
            }
        }
        let known = |(a, b): &(String, String)| {
            self.catalogue.conflicts.iter().any(|c| (c.older == *a && c.newer == *b) || (c.older == *b && c.newer == *a))
        };
        let lost: Vec<ConflictRecord> = pairs
            .into_iter()
            .filter(|pair| !known(pair))
            .map(|(older, newer)| ConflictRecord {
                older,
                newer,
                reason: "found in Markdown after the catalogue was lost".to_owned(),
                state: "pending".to_owned(),
                ..ConflictRecord::default()
            })
            .collect();
        self.catalogue.conflicts.extend(lost);
        self.catalogue.memories = found.into_iter().collect();
        self.catalogue.keywords = keywords.into_iter().collect();
    }

    /// Names of the Markdown files that were read, in the order in which they are read.
    pub(super) fn markdown(&self) -> Vec<String> {
        let first = [WORKING, LONG_TERM].into_iter().filter(|f| self.raw.contains_key(*f));
        let rest = self.raw.keys().map(String::as_str).filter(|f| f.starts_with("transient/") && !layout::is_archive(f));
        first.chain(rest).map(str::to_owned).collect()
    }

    /// Whether the file is not as we wrote it last.
    pub(super) fn is_edited(&self, file: &str) -> bool {
        let ours = self.catalogue.files.get(file).map(|f| f.sha256.as_str());
        self.raw.get(file).is_some_and(|raw| Some(raw.sha.as_str()) != ours)
    }

    /// Parses a file if that has not been done; one that is no UTF-8 is reported and stays as it is.
    pub(super) fn parse(&mut self, file: &str) {
        if self.documents.contains_key(file) {
            return;
        }
        let (Some(raw), Some(layer)) = (self.raw.get(file), layout::layer_of(file)) else { return };
        match std::str::from_utf8(&raw.bytes) {
            Ok(text) => drop(self.documents.insert(file.to_owned(), Document::parse(text, layer))),
            Err(_) => self.problems.push(problem("encoding", shown(&self.name, file), "the file is not UTF-8, so it is left alone")),
        }
    }

    pub(super) fn parse_all(&mut self) {
        for file in self.markdown() {
            self.parse(&file);
        }
    }

    fn known(&self, view: &View<'_>) -> Option<&MemoryUse> {
        view.entry.id.as_ref().and_then(|id| self.catalogue.memories.get(id.as_str()))
    }

    /// Entries of a file that were added or changed by hand since the last commit.
    pub(super) fn fresh_edits<'a>(&'a self, file: &'a str) -> impl Iterator<Item = View<'a>> {
        let edited = self.is_edited(file) && !self.rebuilt;
        let document = self.documents.get(file).filter(|_| edited);
        document.into_iter().flat_map(Document::entries).filter(|view| self.known(view).is_none_or(|k| k.digest != digest(view.text)))
    }

    /// Entries of a file that were added or changed by hand earlier, and that their owner has not looked at.
    fn held<'a>(&'a self, file: &'a str) -> impl Iterator<Item = (View<'a>, &'a MemoryUse)> {
        // Most often there is nothing to look for.
        let document = self.documents.get(file).filter(|_| self.catalogue.held().next().is_some());
        let views = document.into_iter().flat_map(Document::entries);
        views.filter_map(|view| self.known(&view).filter(|k| k.held).map(|known| (view, known)))
    }

    /// The entries that `near` picks by their summaries; no other is read, and nothing is said of what is odd. The catalogue is left
    /// for the caller to give.
    pub(super) fn part(&mut self, near: &Near<'_>) -> Snapshot {
        self.parse_all();
        let mut snapshot = Snapshot { project: self.name.clone(), base: self.base(), is_part: true, ..Snapshot::default() };
        let documents: Vec<(String, &Document)> =
            self.markdown().into_iter().filter_map(|file| Some((shown(&self.name, &file), self.documents.get(&file)?))).collect();
        let mut summaries = Vec::new();
        let firsts: Vec<usize> = documents
            .iter()
            .map(|(_, document)| {
                let first = summaries.len();
                summaries.extend(document.summaries());
                first
            })
            .collect();
        let picked: BTreeSet<usize> = near(&summaries).into_iter().collect();
        let mut seen: HashSet<&Id> = HashSet::new();
        for ((shown, document), first) in documents.iter().zip(firsts) {
            let named = document.at(first, &picked).filter(|v| v.entry.readable && v.entry.id.as_ref().is_some_and(|id| seen.insert(id)));
            snapshot.entries.extend(named.map(|view| Entry::of(&view, shown)));
        }
        let held = self.catalogue.held().filter(|(_, known)| !layout::is_archive(&known.file));
        for (id, known) in held.filter_map(|(id, known)| Some((Id::parse(id)?, known))) {
            snapshot.unannounced.extend((!known.announced).then(|| id.clone()));
            snapshot.hand_edits.push(id);
        }
        snapshot
    }

    /// What planning works on. The catalogue is left for the caller to give or to copy.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        self.parse_all();
        self.documents.values().for_each(read_entries);
        let mut snapshot = Snapshot { project: self.name.clone(), base: self.base(), ..Snapshot::default() };
        snapshot.problems.clone_from(&self.problems);
        let everyday = self.markdown();
        for file in everyday.iter().chain(self.documents.keys().filter(|f| layout::is_archive(f))) {
            let problems = self.documents.get(file).map(Document::problems).unwrap_or_default();
            snapshot.problems.extend(problems.into_iter().map(|p| Problem { file: shown(&self.name, file), ..p }));
        }
        let mut seen: HashSet<&str> = HashSet::new();
        let mut unclear: BTreeSet<String> = BTreeSet::new();
        for file in everyday {
            let shown = shown(&self.name, &file);
            let Some(document) = self.documents.get(&file) else { continue };
            for view in document.entries() {
                let at = |code, detail: &str| Problem { line: Some(view.line), ..problem(code, shown.clone(), detail) };
                if !view.entry.readable {
                    snapshot.unreadable.push(Text { file: shown.clone(), line: view.line, text: view.text.to_owned() });
                    unclear.insert(file.clone());
                    continue;
                }
                match &view.entry.id {
                    None => snapshot.problems.push(at(NO_ID, "typed by hand; it gets its id at the next change")),
                    Some(id) if !seen.insert(id.as_str()) => {
                        snapshot.problems.push(at("duplicate_id", "a copy of an entry; it gets its own id at the next change"));
                    }
                    Some(_) => {
                        snapshot.entries.push(Entry::of(&view, &shown));
                    }
                }
            }
            let edits: Vec<Option<Id>> = self.fresh_edits(&file).map(|v| v.entry.id.clone()).collect();
            for (view, known) in self.held(&file).filter(|(view, _)| !edits.contains(&view.entry.id)) {
                snapshot.hand_edits.extend(view.entry.id.clone());
                snapshot.unannounced.extend(view.entry.id.clone().filter(|_| !known.announced));
            }
            if !edits.is_empty() {
                let text = count(edits.len(), "entry was", "entries were");
                snapshot.problems.push(problem("hand_edit", shown, format!("{text} added or changed outside claude-mem")));
            }
            snapshot.unannounced.extend(edits.iter().flatten().cloned());
            snapshot.hand_edits.extend(edits.into_iter().flatten());
        }
        let unseen = self.catalogue.memories.keys().filter(|id| !seen.contains(id)).filter_map(|id| self.catalogue.memories.get(id));
        let gone = unseen.filter(|known| !layout::is_archive(&known.file) && !unclear.contains(&known.file)).count();
        if gone > 0 {
            let text = count(gone, "entry was", "entries were");
            snapshot.problems.push(problem("hand_edit", self.name.clone(), format!("{text} taken out outside claude-mem")));
        }
        snapshot
    }
}

/// Reads what all entries of a document say, on all cores where there are many.
pub(super) fn read_entries(document: &Document) {
    /// Pieces for which a thread pays.
    const SHARE: usize = 1000;
    let shares: Vec<usize> = (0..document.pieces().div_ceil(SHARE)).collect();
    on_all_cores(&shares, 1, &|part| {
        part.iter().for_each(|at| document.read_share(*at, shares.len()));
        Vec::<()>::new()
    });
}

/// Whether anything but folders, and memory tests that wait for memories, is in a folder.
pub(super) fn has_files(folder: &Path) -> bool {
    let mut items = fs::read_dir(folder).into_iter().flatten().flatten();
    items.any(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&item.path()),
        _ => item.file_name() != layout::TESTS,
    })
}

/// A short digest of an entry's text; blank lines behind it do not count.
pub(super) fn digest(text: &str) -> String {
    let mut digest = sha256(text.trim_end().as_bytes());
    digest.truncate(16);
    digest
}

/// The catalogue's record of a memory in a file.
pub(super) fn place(memory: &Memory, file: &str, old: MemoryUse) -> MemoryUse {
    MemoryUse {
        layer: memory.layer.name().to_owned(),
        file: file.to_owned(),
        session: memory.session.clone(),
        created: memory.created.clone(),
        state: memory.state.name().to_owned(),
        ..old
    }
}
