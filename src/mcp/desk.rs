//! What each tool does: on the store, through the same checks and plans as the commands. One call after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::answer::{self, Page};
use super::arguments::{self, Arguments};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::model::plan::Plan;
use crate::model::{self, Id, Layer, Memory, RelationType};
use crate::pipeline::by_hand::{self, Wish};
use crate::pipeline::memory_tests::Gate;
use crate::pipeline::review::{self, Decision, Keep, Voice};
use crate::pipeline::search::Searcher;
use crate::recall::search::{Found, Hit, SearchOptions};
use crate::store::identity::Here;
use crate::store::layout::TRANSIENT;
use crate::store::{Entry, GLOBAL, Injection, Snapshot, Store};
use crate::text::{tokens, words};

/// Where memories are read from and written to.
#[derive(Clone, Debug)]
pub struct Place {
    /// A project named from outside; made at the first write if it is not there.
    pub key: Option<String>,
    /// The folder whose project is meant otherwise.
    pub folder: PathBuf,
}

/// Does calls.
pub struct Desk<'a> {
    /// Surroundings: clock, ids.
    pub env: &'a Env,
    /// Settings.
    pub config: &'a Config,
    /// Memory folder.
    pub home: &'a Path,
    /// Project.
    pub place: Place,
    /// Why the owner wants nothing done here, if so; asked anew at each call.
    pub off: &'a dyn Fn() -> Option<&'static str>,
    /// Where a line about each call goes.
    pub log: &'a dyn Fn(&str),
    /// Whether the owner switched claude-mem off for a project.
    pub is_off: &'a dyn Fn(&str) -> bool,
    /// What is kept between calls.
    pub kept: Kept,
}

/// What is kept between calls.
#[derive(Default)]
pub struct Kept {
    /// The files of each project as they were at the last look.
    seen: RefCell<BTreeMap<String, Stamps>>,
    /// The open index. It keeps others from replacing a damaged one, so it is not kept for long: see [`Desk::rest`].
    searcher: RefCell<Option<Searcher>>,
}

/// Name, size and time of every Markdown file of a project.
type Stamps = Vec<(OsString, u64, Option<SystemTime>)>;

fn stamps(folder: &Path) -> Stamps {
    let items = [folder.to_owned(), folder.join(TRANSIENT)].into_iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    let files = items.filter(|item| item.path().extension().is_some_and(|e| e == "md"));
    let mut all: Stamps = files.filter_map(|f| f.metadata().ok().map(|m| (f.file_name(), m.len(), m.modified().ok()))).collect();
    all.sort_unstable();
    all
}

/// What a tool gives.
#[derive(Debug, Default)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// Which memories it put in front of the model.
    pub used: Option<Use>,
}

/// A use of memories, to be noted once the answer is sent.
#[derive(Debug)]
pub struct Use {
    receipt: Injection,
    by_project: BTreeMap<String, Vec<Id>>,
}

impl Use {
    fn of(hits: &[Hit], project: &str, text: &str, env: &Env) -> Self {
        let mut by_project: BTreeMap<String, Vec<Id>> = BTreeMap::new();
        for hit in hits {
            by_project.entry(hit.project.clone()).or_default().push(hit.id.clone());
        }
        let receipt = Injection {
            at: env.now(),
            project: project.to_owned(),
            mode: "query".to_owned(),
            target: "mcp".to_owned(),
            session: env.var("CLAUDE_CODE_SESSION_ID").map(str::to_owned),
            ids: hits.iter().map(|hit| hit.id.clone()).collect(),
            tokens: tokens::estimate(text),
            left_out: Vec::new(),
        };
        Self { receipt, by_project }
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, used: None }
    }
}

/// The tools: name and what it does.
type Handler = fn(&Desk<'_>, &Arguments) -> Result<Answer>;
pub(super) const HANDLERS: &[(&str, Handler)] = &[
    ("get_relevant_memories", |desk, arguments| desk.relevant(arguments)),
    ("manual_remember", |desk, arguments| desk.remember(arguments).map(Answer::from)),
    ("list_memories", |desk, arguments| desk.list(arguments).map(Answer::from)),
    ("read_memory", |desk, arguments| desk.read(arguments).map(Answer::from)),
    ("forget_memory", |desk, arguments| desk.forget(arguments).map(Answer::from)),
    ("resolve_conflict", |desk, arguments| desk.resolve(arguments).map(Answer::from)),
];

/// Memories of a digest, and of a page, where the call does not say.
const DIGEST: usize = 5;
const PAGE: usize = 50;

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(Kind::Usage, what).hint(hint)
}

fn no_such(id: &str) -> Error {
    usage(
        format!("there is no memory {} in this project", words::clip(id, 20.0)),
        "ids are the ten characters in front of each memory; list_memories shows them",
    )
}

impl Desk<'_> {
    /// One call: reads the arguments, does it, words the answer.
    ///
    /// # Errors
    /// With a sentence and a hint for the model.
    pub fn call(&self, tool: &Tool, given: &Map<String, Value>) -> Result<Answer> {
        let answer = self.answer(tool, given);
        let outcome = answer.as_ref().map_or_else(|e| e.message.clone(), |answer| format!("{} bytes", answer.text.len()));
        (self.log)(&format!("{}: {outcome}", tool.name));
        answer
    }

    /// Lets go of what is only worth keeping while calls follow each other.
    pub fn rest(&self) {
        self.kept.searcher.take();
    }

    /// Notes what an answer put in front of the model: after it was sent, so that nobody waits for it.
    pub fn note(&self, used: &Use) {
        let noted = self.store().and_then(|store| {
            store.record_injection(&used.receipt)?;
            used.by_project.iter().try_for_each(|(project, ids)| store.note_access(project, &used.receipt.at, ids))
        });
        if let Err(error) = noted {
            (self.log)(&format!("this use could not be noted: {error}"));
        }
    }

    fn answer(&self, tool: &Tool, given: &Map<String, Value>) -> Result<Answer> {
        let handler = HANDLERS.iter().find(|(name, _)| *name == tool.name).map(|(_, handler)| handler);
        let handler = handler.ok_or_else(|| Error::failure(format!("the tool {} does nothing yet", tool.name)))?;
        if let Some(why) = (self.off)() {
            return Err(Error::new(Kind::Config, format!("the user keeps claude-mem out of this folder ({why})"))
                .hint("go on without memories, and do not call it again"));
        }
        let arguments = arguments::read(&tool.name, &tool.input_schema, given)?;
        let mut answer = handler(self, &arguments)?;
        if !arguments.ignored.is_empty() {
            let names: Vec<String> = arguments.ignored.iter().map(|name| answer::name(name)).collect();
            let _ = write!(answer.text, "\n(not a parameter of {}, so not used: {})", tool.name, names.join(", "));
        }
        Ok(answer)
    }

    fn store(&self) -> Result<Store> {
        let mut store = Store::open(self.home, &self.env.now())?.store;
        store.wait = Duration::from_secs(self.config.number("store.wait_seconds"));
        store.trust_hand_edits = self.config.switch("store.trust_hand_edits");
        Ok(store)
    }

    /// The project to read; it need not exist.
    fn project(&self, store: &Store) -> Result<String> {
        self.if_on(self.meant(store)?)
    }

    /// A project, unless its owner keeps claude-mem out of it.
    fn if_on(&self, project: String) -> Result<String> {
        if (self.is_off)(&project) {
            let hint = "the user did so, with hooks.off_projects; go on without memories";
            return Err(usage("claude-mem is switched off here", hint));
        }
        Ok(project)
    }

    fn meant(&self, store: &Store) -> Result<String> {
        if let Some(key) = &self.place.key {
            return Ok(key.clone());
        }
        match store.here(&self.place.folder)? {
            Here::Project(name) | Here::Repository(_, name) => Ok(name),
            Here::Nowhere => match named(store)?.as_slice() {
                [only] => Ok(only.clone()),
                names => Err(usage(
                    "this folder belongs to no project",
                    format!("start Claude in a repository, or set CLAUDE_MEM_PROJECT_KEY (there are: {})", names.join(", ")),
                )),
            },
        }
    }

    /// The project to write to, made if it is new.
    fn project_to_write(&self, store: &Store) -> Result<String> {
        let name = self.project(store)?;
        if !store.has_project(&name) {
            let root = match store.here(&self.place.folder)? {
                Here::Repository(root, own) if own == name => Some(root.path),
                _ => None,
            };
            if let Err(error) = store.init(&name, root.as_deref())
                && !store.has_project(&name)
            {
                return Err(error);
            }
        }
        Ok(name)
    }

    /// A project as it may be given: with ids for what was typed by hand, without what is held back.
    fn snapshot(&self, store: &Store, project: &str) -> Result<Snapshot> {
        let mut snapshot = store.snapshot(project)?;
        if snapshot.unnamed() > 0 {
            // A folder that cannot be written can still be read.
            if self.update(store, project, &mut |now| Ok(Plan::new(project, now.base.clone(), "adopt", self.env.now()))).is_ok() {
                snapshot = store.snapshot(project)?;
            }
        }
        Ok(if store.trust_hand_edits { snapshot } else { snapshot.without_held() })
    }

    /// What may be seen from a project: itself and the global memories, as far as they are there.
    fn readable(&self, store: &Store, project: &str) -> Vec<String> {
        let mut names = vec![project.to_owned()];
        if project != GLOBAL {
            names.push(GLOBAL.to_owned());
        }
        names.retain(|name| store.has_project(name));
        names
    }

    fn snapshots(&self, store: &Store, project: &str) -> Result<Vec<Snapshot>> {
        self.readable(store, project).iter().map(|name| self.snapshot(store, name)).collect()
    }

    /// The memories of these projects, open for a search. What was typed by hand gets its id first, once for each state of a folder:
    /// there may be entries that cannot be changed.
    fn searcher(&self, store: &Store, projects: &[String]) -> Result<Searcher> {
        let now = self.env.timestamp().as_nanosecond();
        let searcher = match self.kept.searcher.take() {
            Some(kept) => kept.again(projects, now)?,
            None => Searcher::open(store, projects, now)?,
        };
        let mut took = false;
        for project in &searcher.unnamed {
            let now = stamps(&store.home().join(project));
            if self.kept.seen.borrow().get(project) != Some(&now) {
                self.snapshot(store, project)?;
                took = true;
                self.kept.seen.borrow_mut().insert(project.to_owned(), stamps(&store.home().join(project)));
            }
        }
        if took { searcher.again(projects, now) } else { Ok(searcher) }
    }

    fn update(&self, store: &Store, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<()> {
        store.update(project, &self.env.now(), &|| self.env.new_id(), make).map(|_| ())
    }

    fn relevant(&self, arguments: &Arguments) -> Result<Answer> {
        let store = self.store()?;
        let project = match arguments.text("project_key") {
            None => self.project(&store)?,
            Some(key) if store.has_project(key) => self.if_on(key.to_owned())?,
            Some(key) => {
                let there = named(&store)?.join(", ");
                return Err(usage(format!("there is no project {}", answer::name(key)), format!("there are: {there}")));
            }
        };
        let projects = self.readable(&store, &project);
        let mut options = SearchOptions::new(self.env.today());
        options.limit = arguments.count("limit").unwrap_or(DIGEST);
        options.hold_back = !store.trust_hand_edits;
        options.least_confidence = arguments.number("min_confidence").unwrap_or_default();
        let searcher = self.searcher(&store, &projects)?;
        let Found { hits, all, .. } = searcher.find_counted(arguments.text("query").unwrap_or_default(), &options)?;
        searcher.notes().iter().for_each(|note| (self.log)(note));
        self.kept.searcher.replace(Some(searcher));
        let shown = hits.iter().map(|hit| hit.record.to_memory(hit.id.clone()).map_err(Error::failure)).collect::<Result<Vec<Memory>>>()?;
        let mut pairs = Vec::new();
        let both = |m: &Memory| m.related(RelationType::Conflicts).chain([&m.id]).cloned().collect::<Vec<_>>();
        let disputed: BTreeSet<Id> = shown.iter().map(both).filter(|ids| ids.len() > 1).flatten().collect();
        // Reading the projects for their open pairs is only worth it where one is touched.
        for project in projects.iter().filter(|_| !disputed.is_empty()) {
            pairs.extend(review::pairs(&store.pick(project, &disputed)?));
        }
        let text = answer::digest(&project, &shown, all, &pairs, arguments.is_set("skip_greeting"))?;
        let used = (!hits.is_empty()).then(|| Use::of(&hits, &project, &text, self.env));
        Ok(Answer { text, used })
    }

    fn remember(&self, arguments: &Arguments) -> Result<String> {
        let text = |name: &str| arguments.text(name).map(str::to_owned);
        let wish = Wish {
            text: text("content").unwrap_or_default(),
            kind: text("kind").unwrap_or_default(),
            layer: text("layer"),
            topic: text("topic"),
            keywords: arguments.list("keywords"),
            why: text("why"),
            ..Wish::default()
        };
        let memory = by_hand::memory(&wish, self.env.new_id()?, &self.env.now())?;
        let store = self.store()?;
        let project = self.project_to_write(&store)?;
        let (mut known, mut disagrees) = (None, Vec::new());
        let near = |summaries: &[&str]| by_hand::near(&memory, summaries);
        store.update_near(&project, &self.env.now(), &|| self.env.new_id(), &near, &mut |snapshot| {
            if by_hand::is_buried(snapshot, &memory) {
                return Err(usage(
                    "the user had this forgotten before, so it is not stored again",
                    "only the user can bring it back, with `claude-mem remember`",
                ));
            }
            let noted = by_hand::remember(snapshot, &memory, &self.env.now());
            (known, disagrees) = (noted.known, noted.disagrees);
            Ok(noted.plan)
        })?;
        if let Some(id) = known {
            return Ok(format!("Already known as {id}; confirmed."));
        }
        let mut text = format!("Remembered as {} in {project} ({}, {}).", memory.id, memory.kind, memory.layer);
        if !disagrees.is_empty() {
            let others: Vec<&str> = disagrees.iter().map(Id::as_str).collect();
            let others = others.join(", ");
            // Writing to a String cannot fail.
            let _ = write!(text, " It disagrees with {others}: both are kept. Ask the user which holds, then call resolve_conflict.");
        }
        Ok(text)
    }

    fn list(&self, arguments: &Arguments) -> Result<String> {
        let store = self.store()?;
        let project = self.project(&store)?;
        let snapshots = self.snapshots(&store, &project)?;
        let kind = arguments.text("kind").and_then(model::Kind::parse);
        let layer = arguments.text("layer").and_then(Layer::parse);
        let topic = arguments.text("topic").map(words::fold);
        let wanted = |entry: &&Entry| {
            let memory = &entry.memory;
            kind.is_none_or(|k| memory.kind == k)
                && layer.is_none_or(|l| memory.layer == l)
                && topic.as_ref().is_none_or(|t| memory.topic.as_deref().is_some_and(|own| words::fold(own).contains(t)))
        };
        let memories: Vec<_> = snapshots.iter().flat_map(|s| &s.entries).filter(wanted).map(|e| &e.memory).collect();
        let from = match arguments.text("cursor") {
            None => 0,
            // A cursor is the id of the last memory shown: memories that come or go in between move nothing.
            Some(cursor) => memories.iter().position(|m| m.id.as_str() == cursor).map(|at| at + 1).ok_or_else(|| {
                usage("this cursor does not lead anywhere any more", "call list_memories without a cursor to start again")
            })?,
        };
        let page = Page { from, limit: arguments.count("limit").unwrap_or(PAGE) };
        answer::page(&project, &snapshots, &memories, page, &self.env.today())
    }

    /// The memory with this id in this project or among the global ones.
    fn find(&self, store: &Store, id: &str) -> Result<(Snapshot, Entry)> {
        let wanted = Id::parse(id).ok_or_else(|| no_such(id))?;
        let project = self.project(store)?;
        let mut all = self.snapshots(store, &project)?.into_iter();
        all.find_map(|s| s.entry(&wanted).cloned().map(|e| (s, e))).ok_or_else(|| no_such(id))
    }

    fn read(&self, arguments: &Arguments) -> Result<String> {
        let (snapshot, entry) = self.find(&self.store()?, arguments.text("id").unwrap_or_default())?;
        answer::whole(&snapshot, &entry.memory, &self.env.today())
    }

    fn forget(&self, arguments: &Arguments) -> Result<String> {
        let store = self.store()?;
        let (snapshot, entry) = self.find(&store, arguments.text("id").unwrap_or_default())?;
        let memory = entry.memory;
        self.update(&store, &snapshot.project, &mut |now| {
            let plan = by_hand::forget(now, [&memory], &self.env.now());
            if plan.changes.is_empty() { Err(no_such(memory.id.as_str())) } else { Ok(plan) }
        })?;
        Ok(format!("Forgot {}. The user can bring it back with `claude-mem undo`.", memory.id))
    }

    fn resolve(&self, arguments: &Arguments) -> Result<String> {
        let id = arguments.text("id").unwrap_or_default();
        let keep = arguments.text("keep").and_then(Keep::parse);
        let keep = keep.ok_or_else(|| usage("`keep` must be one of new, old, both", "ask the user which holds"))?;
        let store = self.store()?;
        let project = self.project(&store)?;
        let nothing = || {
            let hint = "list_memories begins with what waits for a decision";
            usage(format!("nothing with the id {} waits for a decision", words::clip(id, 20.0)), hint)
        };
        if Id::parse(id).is_none() {
            return Err(nothing());
        }
        for snapshot in self.snapshots(&store, &project)? {
            let Some(item) = review::find_asked(&snapshot, id) else { continue };
            let at = self.env.now();
            // Planned anew under the lock: somebody else may have decided meanwhile.
            let mut gate = Gate::of(&store, self.env, self.config, &snapshot.project)?;
            gate.update(&snapshot.project, &mut |now| review::decide::plan(now, &item, &Decision::Keep(keep), Voice::Model, &at))?;
            return Ok(match item.pair() {
                Some((older, newer)) => format!("Settled: kept {} of {older} (old) and {newer} (new).", keep.name()),
                None if keep == Keep::Old => format!("Dropped {} for good.", item.id),
                None => format!("Kept {}.", item.id),
            });
        }
        Err(nothing())
    }
}

/// Every project but the global one.
fn named(store: &Store) -> Result<Vec<String>> {
    Ok(store.projects()?.into_iter().filter(|name| name != GLOBAL).collect())
}
