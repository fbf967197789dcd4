//! What each hook answers. Nothing here fails the client: an error becomes a line for the person and one in `hook-errors.jsonl`.
//!
//! No network, no runtime, no fsync where memories are only read. The caller keeps the deadline and prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::queue::{self, Item};
use super::session::{self, Line};
use super::told::{self, SMALL, lasting};
use super::trouble::{self, Trouble};
use super::{INTERNAL, is_ignored, worker};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::{Id, RelationType};
use crate::pipeline::search::Searcher;
use crate::pipeline::staleness;
use crate::recall;
use crate::recall::search::{self, Hit, SearchOptions};
use crate::repo::Repo;
use crate::store::index::Index;
use crate::store::{self, Entry, GLOBAL, LeftOut, Snapshot, Store, identity};
use crate::text::words::Language;
use crate::text::{tags, tokens};

/// The command that brings the index up to date.
const INDEX: &[&str] = &["reindex", "--update"];

/// How long a hook waits for somebody who is writing.
const WAIT: Duration = Duration::from_millis(300);

/// Seconds that a transcript must have rested before its session counts as ended without a word.
const RESTED: i64 = 30 * 60;

/// Characters of a prompt that are searched for; a person's question stands in the first ones.
const PROMPT: usize = 2000;

/// The events that do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session starts, goes on, or was compacted.
    SessionStart,
    /// A prompt is about to be sent.
    UserPromptSubmit,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The session is over.
    SessionEnd,
}

impl Event {
    /// Every event with the name that the client uses.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::SessionStart, "SessionStart"),
        (Self::UserPromptSubmit, "UserPromptSubmit"),
        (Self::PreCompact, "PreCompact"),
        (Self::SessionEnd, "SessionEnd"),
    ];

    /// The client's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(e, _)| *e == self).map_or("", |(_, name)| name)
    }

    /// The event with this name; case, `-` and `_` do not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.replace(['-', '_'], "");
        Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(&plain)).map(|(event, _)| *event)
    }
}

/// What the client says on stdin. A field that is missing or of another type is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Event by the client's own word.
    pub event: String,
    /// Session id.
    pub session: String,
    /// Transcript; it may not exist yet.
    pub transcript: String,
    /// Working folder.
    pub cwd: String,
    /// `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: String,
    /// The prompt.
    pub prompt: String,
}

impl Input {
    /// Reads the client's JSON. Nothing at all is an empty input.
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let object: Map<String, Value> = serde_json::from_slice(bytes).map_err(|e| {
            Error::failure(format!("the hook's input is no JSON object: {e}")).hint("it is called by Claude Code, not by hand")
        })?;
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self {
            event: text("hook_event_name"),
            session: text("session_id"),
            transcript: text("transcript_path"),
            cwd: text("cwd"),
            source: text("source"),
            prompt: text("prompt"),
        })
    }
}

/// What a hook works with.
#[derive(Clone, Copy, Debug)]
pub struct Hook<'a> {
    /// Surroundings.
    pub env: &'a Env,
    /// Settings.
    pub config: &'a Config,
    /// Memory folder.
    pub home: &'a Path,
}

/// Whether a variable switches everything off.
pub fn is_off(env: &Env) -> bool {
    let set = |name| env.var(name).is_some_and(|v| !matches!(v.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off"));
    set("CLAUDE_MEM_OFF") || set(INTERNAL)
}

/// The JSON object for the client; `None` prints nothing.
pub fn answer(hook: Hook<'_>, event: Event, input: &Input) -> Option<Value> {
    let cwd = if input.cwd.is_empty() { hook.env.cwd.clone() } else { PathBuf::from(&input.cwd) };
    if is_off(hook.env) || is_ignored(&cwd) {
        return None;
    }
    let mut context = String::new();
    let done = match Place::find(hook, &cwd) {
        Ok(place) if place.off => return None,
        Ok(place) => match event {
            Event::SessionStart => start(hook, &place, input, &mut context),
            Event::UserPromptSubmit => prompt(hook, &place, input, &mut context),
            Event::PreCompact | Event::SessionEnd => over(hook, &place, event, input),
        },
        Err(error) => Err(error),
    };
    let failed = done.err().map(|error| Trouble::new(hook.env.now(), event.name(), &input.session, &error));
    // Where not even this can be written it is said at once, if this is where things are said; else there is nobody to tell.
    let unwritten = failed.filter(|trouble| trouble::note(hook.home, trouble).is_err());
    let said = (event == Event::SessionStart).then(|| trouble::unsaid(hook.home).into_iter().chain(unwritten).collect::<Vec<_>>());
    output(event, &context, said.and_then(|troubles| trouble::line(&troubles)))
}

/// The client's form: context only under the very name of the event, a line for the person beside it.
pub fn output(event: Event, context: &str, said: Option<String>) -> Option<Value> {
    let mut object = Map::new();
    if !context.is_empty() {
        object.insert("hookSpecificOutput".into(), json!({"hookEventName": event.name(), "additionalContext": context}));
    }
    if let Some(said) = said {
        object.insert("systemMessage".into(), Value::from(crate::text::sanitise::line(&said)));
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

/// Where a session is held.
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) cwd: PathBuf,
    /// The project of the working folder, if it has memories.
    project: Option<String>,
    /// Its owner switched the hooks off for it.
    off: bool,
}

impl Place {
    pub(super) fn find(hook: Hook<'_>, cwd: &Path) -> Result<Self> {
        let mut store = Store::open(hook.home, &hook.env.now())?.store;
        store.wait = WAIT;
        store.trust_hand_edits = hook.config.switch("store.trust_hand_edits");
        let project = store.project_of(cwd)?;
        let off = hook.config.list("hooks.off_projects");
        let off = !off.is_empty() && off.contains(&project.clone().unwrap_or_else(|| identity::plain_name(&identity::root_of(cwd))));
        Ok(Self { store, cwd: cwd.to_path_buf(), project, off })
    }

    /// The project's name, then the global one.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.project.as_deref().into_iter().chain([GLOBAL])
    }

    /// The work tree that the project's memories speak of.
    pub(super) fn repo(&self, hook: Hook<'_>) -> Option<Repo> {
        self.project.as_ref().map(|_| staleness::repo_around(&self.cwd, hook.env.zone()))
    }

    pub(super) fn name(&self) -> &str {
        self.project.as_deref().unwrap_or(GLOBAL)
    }

    /// Bytes that have to be read for what a session is told.
    pub(super) fn size(&self) -> u64 {
        self.names().map(|name| self.store.size(name)).sum()
    }
}

pub(super) fn language(config: &Config) -> Option<Language> {
    match config.text("inject.language") {
        "en" => Some(Language::English),
        "zh" => Some(Language::Chinese),
        _ => None,
    }
}

/// Puts what the session shall know into `context`, whatever else fails.
fn start(hook: Hook<'_>, place: &Place, input: &Input, context: &mut String) -> Result<()> {
    let reads = hook.config.text("hooks.auto_ingest") != "off";
    let told = told::told(hook, place);
    let ids = match &told {
        Ok(told) => {
            context.push_str(&told.text);
            told.ids.clone()
        }
        Err(_) => Vec::new(),
    };
    if !input.session.is_empty() && (reads || !ids.is_empty()) {
        // A session that is resumed still has in front of it what it was given before.
        let fresh = input.source != "resume";
        let (transcript, cwd) = (input.transcript.clone(), place.cwd.to_string_lossy().into_owned());
        session::add(hook.home, &input.session, &Line { fresh, transcript, cwd, ids, queued: None })?;
    }
    if reads {
        catch_up(hook, &input.session)?;
        if !queue::is_empty(hook.home) {
            worker::start(hook.env, hook.home)?;
        }
    }
    // Where the index was lost, it is made while the first prompt is being typed.
    let names: Vec<String> = place.names().map(str::to_owned).collect();
    let now = hook.env.timestamp().as_nanosecond();
    let near = Index::existing(hook.home).and_then(|index| Index::at_hand(index.as_ref(), hook.home, &names, SMALL, now));
    if near.is_ok_and(|near| near.len() < names.len()) {
        worker::detach(hook.env, hook.home, INDEX)?;
    }
    let told = told?;
    receipt(hook, place, Event::SessionStart, input, &told.text, &told.ids, &told.left_out)
}

/// Queues sessions that ended without a word: closed lids, killed terminals.
fn catch_up(hook: Hook<'_>, this: &str) -> Result<()> {
    let now = hook.env.timestamp().as_second();
    for open in session::open(hook.home, this).into_iter().filter(|s| !s.transcript.is_empty()) {
        let Ok(meta) = std::fs::metadata(&open.transcript) else {
            session::end(hook.home, &open.name)?;
            continue;
        };
        let changed = meta.modified().ok().and_then(|t| jiff::Timestamp::try_from(t).ok()).map_or(now, |t| t.as_second());
        if now - changed >= RESTED && open.queued.is_none_or(|size| size < meta.len()) {
            queue::put(hook.home, &item(hook, "catch-up", &open.name, &open.transcript, Path::new(&open.cwd)))?;
            session::add(hook.home, &open.name, &Line { queued: Some(meta.len()), ..Line::default() })?;
        }
    }
    Ok(())
}

fn item(hook: Hook<'_>, event: &str, session: &str, transcript: &str, cwd: &Path) -> Item {
    Item {
        session: session.to_owned(),
        transcript: transcript.into(),
        cwd: cwd.to_path_buf(),
        event: event.to_owned(),
        at: hook.env.now(),
        ..Item::default()
    }
}

/// Puts what the prompt matches into `context`.
fn prompt(hook: Hook<'_>, place: &Place, input: &Input, context: &mut String) -> Result<()> {
    let most = usize::try_from(hook.config.number("hooks.prompt_memories")).unwrap_or(usize::MAX);
    // What was pasted or put in by a program is not what the person asks.
    let words: String = tags::remove(&input.prompt).0.chars().take(PROMPT).collect();
    if most == 0 || words.trim().is_empty() {
        return Ok(());
    }
    let given = session::read(hook.home, &input.session).given;
    let all: Vec<String> = place.names().map(str::to_owned).collect();
    let now = hook.env.timestamp().as_nanosecond();
    // Without an index yet, a large project has nothing to say to this prompt; to the next one it has.
    let mut searcher = Searcher::at_hand(&place.store, &all, SMALL, now)?;
    if searcher.projects().len() < all.len() {
        worker::detach(hook.env, hook.home, INDEX)?;
    }
    let options =
        SearchOptions { limit: recall::digest::MATCHES, hold_back: !place.store.trust_hand_edits, ..SearchOptions::new(hook.env.today()) };
    let names = searcher.projects().to_vec();
    if !searcher.unnamed.is_empty() {
        searcher.unnamed.iter().try_for_each(|name| lasting(hook, &place.store, name).map(drop))?;
        searcher = searcher.again(&names, now)?;
    }
    let found = searcher.find(&words, &options)?;
    let hits: Vec<Hit> = found.into_iter().filter(|h| search::is_match(h) && !given.contains(&h.id)).collect();
    if hits.is_empty() {
        return Ok(());
    }
    let snapshots = names.iter().map(|name| found_in(place, name, &hits)).collect::<Result<Vec<Snapshot>>>()?;
    let refs: Vec<&Snapshot> = snapshots.iter().collect();
    let ids: Vec<Id> = hits.into_iter().map(|h| h.id).collect();
    let wanted =
        recall::digest::Wanted { ids: &ids, most, today: &hook.env.today(), language: language(hook.config), aged: BTreeMap::new() };
    let mut digest = recall::digest::digest(&refs, &wanted);
    if let Some(repo) = place.repo(hook) {
        let aged = staleness::aged(staleness::said(&refs, &digest), &repo, wanted.today);
        if !aged.is_empty() {
            digest = recall::digest::digest(&refs, &recall::digest::Wanted { aged, ..wanted });
        }
    }
    if digest.text.is_empty() {
        return Ok(());
    }
    context.push_str(&digest.text);
    let ids: Vec<Id> = digest.items.iter().map(|i| i.id.clone()).collect();
    if !input.session.is_empty() {
        session::add(hook.home, &input.session, &Line { ids: ids.clone(), ..Line::default() })?;
    }
    receipt(hook, place, Event::UserPromptSubmit, input, &digest.text, &ids, &[])
}

/// What was found in a project, as a snapshot. Only a memory in dispute needs the whole project: its other side is shown with it.
fn found_in(place: &Place, name: &str, hits: &[Hit]) -> Result<Snapshot> {
    let mut snapshot = Snapshot { project: name.to_owned(), ..Snapshot::default() };
    for hit in hits.iter().filter(|h| h.project == name) {
        let memory = hit.record.to_memory(hit.id.clone());
        let memory = memory.map_err(|what| Error::failure(format!("{} cannot be read from the search index: {what}", hit.id)))?;
        if memory.related(RelationType::Conflicts).next().is_some() {
            return place.store.snapshot(name);
        }
        let (file, line) = (hit.record.file.clone().unwrap_or_default(), hit.record.line.unwrap_or_default());
        snapshot.entries.push(Entry { line, ..Entry::new(memory, file) });
    }
    Ok(snapshot)
}

fn receipt(hook: Hook<'_>, place: &Place, event: Event, input: &Input, text: &str, ids: &[Id], left_out: &[LeftOut]) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    place.store.record_injection(&store::Injection {
        at: hook.env.now(),
        project: place.name().to_owned(),
        mode: event.name().to_owned(),
        target: "hook".to_owned(),
        session: Some(input.session.clone()).filter(|s| !s.is_empty()),
        ids: ids.to_vec(),
        tokens: tokens::estimate(text),
        left_out: left_out.to_vec(),
    })
}

/// The conversation is over, or about to lose its beginning: it waits to be read, and what it was given counts as used.
fn over(hook: Hook<'_>, place: &Place, event: Event, input: &Input) -> Result<()> {
    let transcript = Path::new(&input.transcript);
    // No transcript was written (`--no-session-persistence`), or it is gone already: there is nothing to read.
    if !input.transcript.is_empty() && transcript.is_file() {
        let session = match input.session.as_str() {
            "" => transcript.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
            session => session.to_owned(),
        };
        queue::put(hook.home, &item(hook, event.name(), &session, &input.transcript, &place.cwd))?;
        if hook.config.text("hooks.auto_ingest") != "off" {
            worker::start(hook.env, hook.home)?;
        }
    }
    if event == Event::SessionEnd && !input.session.is_empty() {
        let given = session::read(hook.home, &input.session).ever;
        session::end(hook.home, &input.session)?;
        used(hook, place, &given.into_iter().collect::<Vec<_>>())?;
        // What was remembered in this session would make the next one wait.
        told::renew(hook, place)?;
    }
    Ok(())
}

/// Notes memories as used; the next commit counts it.
fn used(hook: Hook<'_>, place: &Place, ids: &[Id]) -> Result<()> {
    let mut names = place.names().filter(|name| !ids.is_empty() && place.store.has_project(name));
    names.try_for_each(|name| place.store.note_access(name, &hook.env.now(), ids))
}
