//! Memories out of a memory folder: what each file would become in our store, as a plan.
//!
//! What was read of a file is a session record (`format: claude-memory`, its path and digest), and the memory has that session:
//! so the same file is read once, and an undo forgets both. The words are the model's, never the user's own: what speaks as
//! a rule waits for a person, unless the owner takes it over by name of the command.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::file::{self, File, Type};
use super::folder::Folder;
use super::own_id;
use super::record::Written;
use crate::error::Result;
use crate::extract::ground;
use crate::model::plan::{MemoryRecord, ReviewItem, SessionRecord};
use crate::model::{Change, Code, Evidence, Id, Kind, Layer, Memory, Origin, Speaker, State};
use crate::pipeline::{by_hand, import};
use crate::reconcile::duplicate::Twins;
use crate::store::{Snapshot, sha256};
use crate::text::{phrases, words};

/// Format name of the session records.
pub const FORMAT: &str = "claude-memory";

/// How sure a memory is that a model wrote down without quotes.
pub(super) const CONFIDENCE: f64 = 0.5;

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A memory that was not there.
    New,
    /// Changed since it was read: stands beside the older one until a person decides.
    Changed(Id),
    /// Speaks as a rule, or to an AI: waits for a person.
    Review(Code),
    /// Says what a memory says already.
    Known(Id),
    /// Read before, and as it was.
    Same,
    /// Written by our export, and as we wrote it.
    Ours,
    /// The owner turned this down before.
    Buried,
    /// Ours of another project or of every project, changed by somebody: left alone.
    Foreign,
    /// Nothing is left of it without what must not be stored.
    Empty,
}

/// A file and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Its name.
    pub file: String,
    /// What becomes of it.
    pub fate: Fate,
    /// What it says, if it was read anew.
    pub memory: Option<Memory>,
}

/// How to import.
#[derive(Debug)]
pub struct Wish<'a> {
    /// Take rules over as the owner's own.
    pub trust: bool,
    /// Now, RFC 3339.
    pub at: &'a str,
    /// What we wrote into this folder.
    pub written: &'a BTreeMap<String, Written>,
    /// Memories of scope global, which export writes too.
    pub global: &'a [Memory],
}

/// Plans to import a folder: the changes, and what becomes of each file.
///
/// # Errors
/// Only if `new_id` fails.
pub fn plan(folder: &Folder, snapshot: &Snapshot, wish: &Wish<'_>, new_id: &dyn Fn() -> Result<Id>) -> Result<(Vec<Change>, Vec<Taken>)> {
    let mut all = (Vec::new(), Vec::new());
    let mut twins = Twins::of(snapshot.entries.iter().map(|e| e.memory.clone()));
    let index = folder.index();
    for file in &folder.files {
        let section = index.line_of(&file.name).and_then(|l| l.section.clone());
        let mut one = One { folder, file, snapshot, wish, twins: &mut twins, changes: &mut all.0 };
        let (fate, memory) = one.take(section, new_id)?;
        all.1.push(Taken { file: file.name.clone(), fate, memory });
    }
    Ok(all)
}

/// A text of the folder on its way into the store: what tells it from its last reading.
pub(super) struct Reading {
    source: String,
    digest: String,
    /// That of the reading before, if there was one.
    pub(super) session: String,
}

impl Reading {
    /// `None` if `text` is as it was read last. `day` names the session of a first reading.
    pub(super) fn begin(snapshot: &Snapshot, source: String, text: &str, day: &str) -> Option<Self> {
        let digest = sha256(text.as_bytes());
        let before = snapshot.catalogue.sessions.iter().find(|s| s.format == FORMAT && s.source == source);
        if before.is_some_and(|s| s.sha256 == digest) {
            return None;
        }
        let session = before.map_or_else(|| format!("{day}-{}", &sha256(source.as_bytes())[..8]), |s| s.session.clone());
        Some(Self { source, digest, session })
    }

    /// The record that it was read, at `at` (RFC 3339).
    pub(super) fn end(self, at: &str, stored: u32, review: u32) -> Change {
        Change::Session(SessionRecord {
            session: self.session,
            transcript: format!("{FORMAT}:{}", self.source),
            source: self.source,
            format: FORMAT.to_owned(),
            sha256: self.digest,
            extractor: FORMAT.to_owned(),
            ingested: at.to_owned(),
            stored,
            review,
            ..SessionRecord::default()
        })
    }
}

/// What one file is taken with.
struct One<'a> {
    folder: &'a Folder,
    file: &'a File,
    snapshot: &'a Snapshot,
    wish: &'a Wish<'a>,
    twins: &'a mut Twins,
    changes: &'a mut Vec<Change>,
}

impl One<'_> {
    fn take(&mut self, section: Option<String>, new_id: &dyn Fn() -> Result<Id>) -> Result<(Fate, Option<Memory>)> {
        let source = self.folder.path.join(&self.file.name).to_string_lossy().into_owned();
        let day = self.file.day.as_deref().or_else(|| self.wish.at.get(..10)).unwrap_or_default();
        let Some(reading) = Reading::begin(self.snapshot, source, &self.file.text, day) else { return Ok((Fate::Same, None)) };
        let session = reading.session.clone();
        let mut memory = match self.ours(&session, new_id)? {
            Ours::Fate(fate) => return Ok((fate, None)),
            Ours::Edited(memory) => *memory,
            Ours::Not => {
                let mut memory = memory_of(self.file, section, new_id()?);
                memory.created = Some(self.wish.at.to_owned());
                memory.session = Some(session.clone());
                memory
            }
        };
        memory.origin = Origin::Import;
        scrub(&mut memory);
        let fate = if memory.summary.is_empty() { Fate::Empty } else { self.settle(&mut memory, &session) };
        let (stored, review) = (u32::from(matches!(fate, Fate::New | Fate::Changed(_))), u32::from(matches!(fate, Fate::Review(_))));
        self.changes.push(reading.end(self.wish.at, stored, review));
        Ok((fate, Some(memory)))
    }

    /// How a file stands that has our name.
    fn ours(&self, session: &str, new_id: &dyn Fn() -> Result<Id>) -> Result<Ours> {
        let Some(id) = own_id(&self.file.name) else { return Ok(Ours::Not) };
        let written = self.wish.written.get(&self.file.name);
        let here = self.snapshot.entry(&id).map(|e| &e.memory);
        let known = here.or_else(|| self.wish.global.iter().find(|m| m.id == id));
        let as_written = written.is_some_and(|w| w.is(&self.file.text))
            || known.is_some_and(|m| file::digest(&file::print(m)) == file::digest(&self.file.text));
        if as_written {
            return Ok(Ours::Fate(Fate::Ours));
        }
        if (known.is_some() && here.is_none()) || written.is_some_and(|w| w.project != self.snapshot.project) {
            return Ok(Ours::Fate(Fate::Foreign));
        }
        let Some(mut memory) = file::parse(self.file, known.map(|m| m.summary.as_str())) else { return Ok(Ours::Not) };
        // What somebody made of it stands beside ours, so it has an id of its own; it is told by its session.
        if here.is_some() || memory.id != id {
            memory.id = new_id()?;
        }
        // Anybody can write a file with our name: it proves no quote, pins nothing, and puts no stored memory out of force.
        memory.session = Some(session.to_owned());
        memory.relations.clear();
        memory.pinned = false;
        memory.confidence = Some(CONFIDENCE);
        memory.evidence = vec![quote(self.file)];
        Ok(Ours::Edited(Box::new(memory)))
    }

    /// What becomes of what a file says, with the changes that do it.
    fn settle(&mut self, memory: &mut Memory, session: &str) -> Fate {
        let named = own_id(&self.file.name);
        let older = self.snapshot.entries.iter().map(|e| &e.memory).rfind(|m| {
            (m.session.as_deref() == Some(session) || Some(&m.id) == named.as_ref()) && m.state == State::Valid && m.id != memory.id
        });
        // A candidate that waits from an earlier reading makes room for what the file says now.
        let waits = self.snapshot.catalogue.review.iter().filter(|r| r.memory.session.as_deref() == Some(session));
        let waits: Vec<Id> = waits.map(|r| r.id.clone()).collect();
        self.changes.extend(waits.into_iter().map(|id| Change::Answer { id, tombstone: None }));
        if let Some(older) = older {
            let says = |m: &Memory| (m.summary.clone(), m.reason.clone(), m.how_to_apply.clone(), m.rejected.clone());
            if says(older) == says(memory) {
                return Fate::Known(older.id.clone());
            }
        } else if let Some(twin) = self.twins.find(memory) {
            let id = twin.id.clone();
            if self.snapshot.entry(&id).is_some() {
                self.changes.push(Change::Confirm { id: id.clone(), evidence: None });
            }
            return Fate::Known(id);
        }
        if by_hand::is_buried(self.snapshot, memory) {
            return Fate::Buried;
        }
        if let Some(code) = doubt(memory, self.wish.trust) {
            self.changes.push(review_item(memory, code, &self.snapshot.project));
            return Fate::Review(code);
        }
        // A rule that its owner takes over is the owner's own word from now on.
        if self.wish.trust && memory.is_unconfirmed() {
            memory.origin = Origin::Manual;
        }
        self.changes.push(Change::Add(memory.clone()));
        self.twins.add(memory.clone());
        let Some(older) = older else { return Fate::New };
        self.changes.push(Change::Conflict {
            older: older.id.clone(),
            newer: memory.id.clone(),
            reason: format!("{} says something else since it was read", self.file.name),
            supersedes: true,
        });
        Fate::Changed(older.id.clone())
    }
}

/// A memory that waits for a person.
pub(super) fn review_item(memory: &Memory, code: Code, project: &str) -> Change {
    Change::Ask(Box::new(ReviewItem { id: memory.id.clone(), codes: vec![code], memory: MemoryRecord::of(memory, project) }))
}

/// How a file stands towards our export.
enum Ours {
    Fate(Fate),
    Edited(Box<Memory>),
    Not,
}

/// Why a person should look first. The file is the model's: it proves a fact, not what the user wants. What is put in front of
/// conversations, summary and reason, may not pass for a rule; no field may speak to an AI.
pub(super) fn doubt(memory: &Memory, trust: bool) -> Option<Code> {
    let given = || [Some(&memory.summary), memory.reason.as_ref()].into_iter().flatten();
    let rest = [memory.how_to_apply.as_ref(), memory.rejected.as_ref(), memory.topic.as_ref()];
    if given().chain(rest.into_iter().flatten()).any(|text| ground::speaks_to_an_ai(text)) {
        return Some(Code::EInject);
    }
    let rule = matches!(memory.kind, Kind::Preference | Kind::Convention | Kind::Decision)
        || given().any(|text| ground::speaks_for_the_user(text))
        || commands(&memory.summary);
    (rule && !trust).then_some(Code::ERole)
}

/// Whether a statement gives an order.
fn commands(text: &str) -> bool {
    static ORDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:always|never|do not|don't|you must|must|make sure|ensure|be sure|run|execute|send)\b|\bmust (?:not |never |always )?(?:be|read|use|run|go)\b|必须|一律|务必|禁止|不要|不得|永远|始终|총|必ず|しないで|반드시|하지 마").ok()
    });
    let folded = words::fold(text);
    ORDER.as_ref().is_some_and(|order| phrases::sentences(&folded).iter().any(|s| order.is_match(s.trim())))
}

/// What a file of the model's says as a memory. Everything that does not fit stays in the file, which the memory names.
fn memory_of(file: &File, topic: Option<String>, id: Id) -> Memory {
    let kind = file.kind.unwrap_or(Type::Project);
    let (layer, mut says) = kind.says();
    let statement = file.statement();
    let open = words::fold(&statement);
    if says == Kind::Fact && layer == Layer::Working && (open.starts_with("todo") || open.starts_with("待办")) {
        says = Kind::Todo;
    }
    let mut memory = Memory::new(id, layer, says, short(&statement));
    let label = |names: &[&str]| labelled(file.body(), names).map(|text| words::clip(&text, 2.0 * words::MAX_WIDTH));
    let text = || prose(file.body(), &statement).map(|text| words::clip(&text, 2.0 * words::MAX_WIDTH));
    memory.reason = label(&["why", "reason", "原因", "为什么", "理由"]).or_else(text);
    memory.how_to_apply = label(&["how to apply", "如何应用", "做法"]);
    memory.topic = topic;
    let slug: Vec<String> =
        file.stem().split(['-', '_', ' ']).filter(|w| w.chars().count() > 2 && Type::parse(w).is_none()).map(str::to_owned).collect();
    memory.keywords = ground::keywords(&slug, memory.topic.as_deref(), &memory.summary);
    memory.confidence = Some(CONFIDENCE);
    memory.evidence = vec![quote(file)];
    memory
}

/// The words themselves, as the model's, so that what was shortened can be found and read.
fn quote(file: &File) -> Evidence {
    let line = file.text[..file.body_at].lines().position(|l| l.starts_with("description:")).map_or(1, |n| n + 1);
    Evidence { session: None, turn: u32::try_from(line).unwrap_or(1), speaker: Speaker::Assistant, quote: file.statement() }
}

/// A statement that fits a summary: whole, or up to its last clause that fits, with `…`.
pub(super) fn short(statement: &str) -> String {
    let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if words::width(&statement) <= words::MAX_WIDTH {
        return statement;
    }
    let cut = words::clip(&statement, words::MAX_WIDTH);
    let ends = |c: char| matches!(c, ';' | '；' | '。' | '，' | ',' | '—');
    match cut.trim_end_matches('…').rfind(ends) {
        Some(at) if at > cut.len() / 2 => format!("{} …", cut[..at].trim_end_matches(ends).trim_end()),
        _ => cut,
    }
}

/// The text of a file besides what it states, on one line: without headings, labels, quotes and code.
fn prose(body: &str, statement: &str) -> Option<String> {
    let mut fenced = false;
    let lines = body.lines().map(str::trim).filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced && !line.starts_with(['#', '>', '|']) && !line.starts_with("**") && !line.starts_with("<!--")
    });
    let said = |line: &&str| !line.is_empty() && !statement.contains(*line);
    let text = lines.map(|line| line.trim_start_matches(['-', '*', '+', ' '])).filter(said).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// The paragraph behind a label, with the list that follows it, on one line.
fn labelled(body: &str, names: &[&str]) -> Option<String> {
    let mut lines = body.lines();
    let first = lines.by_ref().find_map(|line| {
        let (inner, rest) = line.trim().strip_prefix("**")?.split_once("**")?;
        let colon = |c: char| matches!(c, ':' | '：' | ' ');
        let name = inner.trim_end_matches(colon).to_lowercase();
        let fits =
            names.contains(&name.as_str()) && (inner.ends_with([':', '：']) || rest.trim_start().starts_with([':', '：', '(', '（']));
        fits.then(|| rest.trim_start_matches(colon).trim().to_owned())
    })?;
    let mut parts = vec![first];
    let mut gap = false;
    for line in lines.map(str::trim) {
        let listed = line.starts_with("- ") || line.starts_with("* ");
        match line {
            "" => gap = true,
            _ if line.starts_with("**") && !listed || line.starts_with('#') || (gap && !listed) => break,
            _ => parts.push(line.trim_start_matches(['-', '*', ' ']).to_owned()),
        }
    }
    Some(parts.join(" ").trim().to_owned()).filter(|t| !t.is_empty())
}

/// Takes secrets and injected passages out of what is stored.
pub(super) fn scrub(memory: &mut Memory) {
    let fields = [&mut memory.topic, &mut memory.reason, &mut memory.rejected, &mut memory.how_to_apply, &mut memory.lapses_when];
    let lines = fields.into_iter().flatten().chain(&mut memory.keywords).chain(memory.evidence.iter_mut().map(|e| &mut e.quote));
    lines.chain(std::iter::once(&mut memory.summary)).for_each(|text| *text = import::scrubbed(text));
}

/// Whether a memory was read from a folder, so that writing it there would say it twice.
pub fn is_from(memory: &Memory, snapshot: &Snapshot, folder: &Path) -> bool {
    let mut read = snapshot.catalogue.sessions.iter().filter(|s| s.format == FORMAT && Path::new(&s.source).parent() == Some(folder));
    read.any(|s| Some(&s.session) == memory.session.as_ref())
}
