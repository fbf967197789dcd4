//! `search`, `why-not` and `reindex`: finding memories, why one was not found, and the cache that makes it fast.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::{App, fields, json as to_json, mark};
use super::list::{kind, layer};
use super::turns;
use super::ui::{count, paint, style};
use super::usage::at_least_one;
use crate::error::{Error, Kind, Result};
use crate::model::plan::MemoryRecord;
use crate::model::{self, Id, Layer, State};
use crate::pipeline::search::Searcher;
use crate::recall::search::{Found, Hit, SearchOptions, WhyNot, why_not};
use crate::store::index::Index;
use crate::store::{GLOBAL, Snapshot, Store};

/// Find memories by words, best first
///
/// Every word counts by itself, in any order; English words in every form, Chinese, Japanese and Korean without spaces,
/// identifiers in every spelling. --json says what each score is made of.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// What to look for
    #[arg(value_name = "QUERY", required_unless_present = "batch")]
    query: Vec<String>,
    /// What to search: memories, or the turns of conversations (kept only with search.keep_turns = true)
    #[arg(long = "in", value_enum, value_name = "WHAT", default_value_t)]
    place: Place,
    /// The most hits to show
    #[arg(long, short, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    limit: usize,
    /// In every project
    #[arg(long)]
    all_projects: bool,
    /// Many queries: a file (or - for stdin) with one {"qid", "query"} a line; answers one {"qid", "results"} a line
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    batch: Option<std::path::PathBuf>,
    #[command(flatten)]
    filter: Filter,
}

/// What is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Place {
    /// Memories.
    #[default]
    Memories,
    /// Turns of conversations.
    Turns,
}

/// What else a hit must be.
#[derive(Debug, Args)]
struct Filter {
    /// Only this layer: transient, working, long-term
    #[arg(long, value_name = "LAYER", value_parser = layer)]
    layer: Option<Layer>,
    /// Only this kind: decision, fact, todo, preference, convention
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<model::Kind>,
    /// Only entries under a topic that contains this
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// Only entries with this in keywords, topic or summary
    #[arg(long, short, value_name = "WORD")]
    keyword: Option<String>,
    /// Only entries noted on this day or later
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    since: Option<String>,
    /// Also what is done, superseded or lapsed
    #[arg(long)]
    any_state: bool,
}

fn day(text: &str) -> Result<String, String> {
    text.parse::<jiff::civil::Date>().map(|d| d.to_string()).map_err(|_| "a day is written 2026-06-15".to_owned())
}

impl Filter {
    fn options(&self, app: &App, limit: usize) -> SearchOptions {
        SearchOptions {
            least_confidence: 0.0,
            today: app.env.today(),
            limit,
            layer: self.layer,
            kind: self.kind,
            topic: self.topic.clone(),
            keyword: self.keyword.clone(),
            since: self.since.clone(),
            any_state: self.any_state,
            hold_back: !app.config.switch("store.trust_hand_edits"),
        }
    }
}

/// One query of a batch.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    /// Its name, given back.
    pub(super) qid: Value,
    /// The words.
    pub(super) query: String,
}

/// The queries of a file, one a line.
fn batch(path: &std::path::Path) -> Result<Vec<Asked>> {
    let unreadable = |e: &std::io::Error| Error::io("read", path, e);
    let mut text = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_string(&mut text).map_err(|e| unreadable(&e))?;
    } else {
        text = std::fs::read_to_string(path).map_err(|e| unreadable(&e))?;
    }
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line.trim_start_matches('\u{feff}')).map_err(|e| {
                Error::new(Kind::Usage, format!("{}:{}: no query: {e}", path.display(), number + 1))
                    .hint("every line is {\"qid\": …, \"query\": \"…\"}")
            })
        })
        .collect()
}

impl SearchArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let asked = self.batch.as_deref().map(batch).transpose()?;
        let query = self.query.join(" ");
        let store = app.store()?;
        if self.place == Place::Turns {
            let scope = turns::Scope { projects: projects(app, &store, self.all_projects)?, since: self.filter.since.clone() };
            return turns::search(app, &store, &scope, &query, asked, self.limit);
        }
        let options = self.filter.options(app, self.limit);
        let projects = projects(app, &store, self.all_projects)?;
        let mut searcher = Searcher::open(&store, &projects, nanos(app))?;
        if !searcher.unnamed.is_empty() {
            // What was typed by hand gets its id by being read, and is found then.
            searcher.unnamed.iter().try_for_each(|project| app.read(&store, project).map(drop))?;
            searcher = Searcher::open(&store, &projects, nanos(app))?;
        }
        let Some(asked) = asked else {
            let found = searcher.find_counted(&query, &options)?;
            say(app, &searcher);
            show(app, &store, &query, &found)?;
            touch(app, &store, &found.hits);
            return Ok(());
        };
        for Asked { qid, query } in asked {
            let results: Vec<Value> = searcher.find(&query, &options)?.iter().map(|hit| short(hit.id.as_str(), hit.score)).collect();
            app.ui.data(&format!("{}\n", json!({"qid": qid, "results": results})));
        }
        say(app, &searcher);
        Ok(())
    }
}

/// A result of a batch.
pub(super) fn short(id: &str, score: f64) -> Value {
    json!({"id": id, "score": score})
}

/// The clock, as stamps of files have it.
fn nanos(app: &App) -> i128 {
    app.env.timestamp().as_nanosecond()
}

/// The projects to look in: this one and the global one, or all.
fn projects(app: &App, store: &Store, all: bool) -> Result<Vec<String>> {
    if all {
        return store.projects();
    }
    let project = app.project(store)?;
    Ok(if project == GLOBAL { vec![project] } else { vec![project, GLOBAL.to_owned()] })
}

fn say(app: &App, searcher: &Searcher) {
    for note in searcher.notes() {
        app.ui.detail(&app.ui.foreign(&note));
    }
}

/// What is left out for its state alone, in words: `2 lapsed, 1 done`; empty if nothing is.
fn left_out(found: &Found) -> String {
    found.closed.iter().map(|(state, n)| format!("{n} {state}")).collect::<Vec<_>>().join(", ")
}

/// The state of a hit that does not hold, as `list` marks it.
fn state_mark(record: &MemoryRecord, today: &str) -> String {
    let state = State::parse(&record.state).map(|state| state.on(record.until_date.as_deref(), today));
    state.filter(|state| *state != State::Valid).map(|state| mark(state.name())).unwrap_or_default()
}

fn show(app: &App, store: &Store, query: &str, found: &Found) -> Result<()> {
    let hits = &found.hits;
    if app.ui.wishes.json {
        let mut rows = Vec::new();
        // The index does not know lines: they move with every change above them.
        let ids: BTreeSet<Id> = hits.iter().map(|h| h.id.clone()).collect();
        let files: BTreeSet<&str> = hits.iter().filter_map(|h| h.record.file.as_deref()).collect();
        let lines: BTreeMap<Id, u64> = files.into_iter().flat_map(|file| store.lines_of(file, &ids)).collect();
        for hit in hits {
            let line = lines.get(&hit.id).copied();
            let mut row = match to_json(&MemoryRecord { line, ..hit.record.clone() })? {
                Value::Object(row) => row,
                _ => Map::new(),
            };
            row.insert("score".to_owned(), hit.score.into());
            row.insert("score_breakdown".to_owned(), to_json(&hit.breakdown)?);
            rows.push(Value::Object(row));
        }
        let left_out = json!(found.closed.iter().map(|(state, n)| (state.name(), *n)).collect::<BTreeMap<_, _>>());
        app.ui.object("search", fields([("query", query.into()), ("memories", rows.into()), ("left_out", left_out)]));
    }
    if hits.is_empty() {
        app.ui.say(&format!("nothing found for “{}”", app.ui.foreign(query)));
    }
    if app.ui.wishes.json {
        return Ok(());
    }
    for hit in hits {
        let record = &hit.record;
        let state = state_mark(record, &app.env.today());
        let summary = app.ui.foreign(&record.summary);
        let place = app.ui.foreign(record.topic.as_deref().unwrap_or(&hit.project));
        let score = paint(style::DIM, &format!("({:.1}, {}, {place})", hit.score, record.kind));
        app.ui.hang(&format!("{}  {state}{summary} {score}", paint(style::HINT, hit.id.as_str())), 12);
        if let Some(reason) = &record.reason {
            app.ui.hang(&format!("            {}", paint(style::DIM, &app.ui.foreign(reason))), 12);
        }
    }
    if !found.closed.is_empty() {
        app.ui.say(&paint(style::DIM, &format!("left out: {} (--any-state shows them)", left_out(found))));
    }
    Ok(())
}

/// Notes the use of what was shown; a reader never waits for it, and it never fails a search.
fn touch(app: &App, store: &Store, hits: &[Hit]) {
    if !app.ui.wishes.dry_run && !hits.is_empty() {
        let mut projects: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
        for hit in hits {
            projects.entry(&hit.project).or_default().push(hit.id.clone());
        }
        for (project, ids) in projects {
            if let Err(error) = store.note_access(project, &app.env.now(), &ids) {
                app.ui.detail(&format!("this use could not be noted: {error}"));
            }
        }
    }
}

/// Say why a search does not show a memory
#[derive(Debug, Args)]
pub struct WhyNotArgs {
    /// The memory, or the first four characters of its id
    #[arg(value_name = "ID")]
    id: String,
    /// The query
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// The most hits that search shows
    #[arg(long, short, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// As with search --all-projects
    #[arg(long)]
    all_projects: bool,
    #[command(flatten)]
    filter: Filter,
}

impl WhyNotArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let (snapshot, entry) = app.find(&store, &self.id)?;
        let query = self.query.join(" ");
        let snapshots: Vec<Snapshot> =
            projects(app, &store, self.all_projects)?.iter().map(|p| store.snapshot(p)).collect::<Result<_>>()?;
        let refs: Vec<&Snapshot> = snapshots.iter().collect();
        let why = why_not(&refs, &entry.memory.id, &query, &self.filter.options(app, self.limit));
        let gate = match &why {
            WhyNot::Shown(_) => "none",
            WhyNot::Elsewhere => "project",
            WhyNot::Gate(_) => "filter",
            WhyNot::NoSharedWord(_) => "no_shared_word",
            WhyNot::Crowded(_) => "crowded",
            WhyNot::BelowLimit(..) => "below_limit",
        };
        let text = match &why {
            WhyNot::Elsewhere => format!("it is in {}, which was not searched: --project {0}, or --all-projects", snapshot.project),
            why => why.to_string(),
        };
        if app.ui.wishes.json {
            app.ui.object("why-not", fields([("id", entry.memory.id.as_str().into()), ("gate", gate.into()), ("why", text.into())]));
        } else {
            app.ui.line(&format!("{}  {}", paint(style::HINT, entry.memory.id.as_str()), app.ui.foreign(&text)));
        }
        Ok(())
    }
}

/// Make the search index anew
///
/// The index is a cache: it follows the files by itself and is made anew when it is lost or damaged.
#[derive(Debug, Args)]
pub struct ReindexArgs {
    /// Only bring it up to date: write what is missing or has changed
    #[arg(long)]
    update: bool,
}

impl ReindexArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let projects = store.projects()?;
        if app.ui.wishes.dry_run || projects.is_empty() {
            app.ui.say(&format!("{} to index", count(projects.len(), "project", "projects")));
            return Ok(());
        }
        if !self.update {
            Index::renew(store.home())?;
        }
        let index = Index::open(store.home())?;
        index.retain(&projects)?;
        let mut written = 0;
        for project in &projects {
            written += index.refresh(&store, project, nanos(app))?.written;
        }
        if !self.update {
            turns::reindex(&store)?;
        }
        if app.ui.wishes.json {
            app.ui.object("reindex", fields([("projects", projects.len().into()), ("memories", written.into())]));
        } else {
            app.ui.line(&format!(
                "indexed {} of {}",
                paint(style::GOOD, &count(written, "memory", "memories")),
                count(projects.len(), "project", "projects")
            ));
        }
        Ok(())
    }
}
