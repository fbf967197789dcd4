//! `review` and `resolve`: what only a person can decide.

mod ask;
mod file;
mod show;

use clap::Args;
use serde_json::{Map, Value, json};

use super::app::{App, fields, json as to_json};
use super::test::Tested;
use super::ui::count;
use super::usage::at_least_one;
use crate::error::{Error, Kind, Result};
use crate::model::Memory;
use crate::pipeline::by_hand;
use crate::pipeline::review::{self, Decision, Item, Keep, Matter, Voice, decide};
use crate::store::{Snapshot, Store};

pub use ask::settle_pairs;
pub use show::source;

/// Decide what waits: memories that disagree, candidates that are not sure, entries changed outside, vague ones
///
/// Riskiest first: what conversations are given most and what is least certain. At a terminal one by one, each decision kept
/// at once; with --edit all in one file; otherwise, or with --json, the queue is listed and `resolve` decides.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Of every project
    #[arg(long)]
    all_projects: bool,
    /// Only the first so many
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    limit: Option<usize>,
    /// All in one file in your editor ($VISUAL, $EDITOR): delete a line to reject, reword it to edit, add one to add
    #[arg(long, short)]
    edit: bool,
    #[command(flatten)]
    tested: Tested,
}

/// Decide things of the review queue, for scripts
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("decision").required(true).args(["keep", "merge"])))]
pub struct ResolveArgs {
    /// Ids of the queue, or their first four characters; a pair has those of both memories
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// What stays: new, old or both of a pair; of anything else new keeps it as it is, and old drops it for good or, where that
    /// is known, takes it back to what it said before it was changed outside
    #[arg(long, value_name = "WHICH", value_parser = keep)]
    keep: Option<Keep>,
    /// Where several questions are about one memory, the kind that is meant, as `review --json` names it
    #[arg(long, value_name = "KIND", value_parser = Matter::NAMES, hide_possible_values = true)]
    kind: Option<String>,
    /// What holds instead, in these words: replaces both of a pair, rewords anything else
    #[arg(long, value_name = "TEXT", visible_alias = "reword")]
    merge: Option<String>,
    #[command(flatten)]
    tested: Tested,
}

fn keep(text: &str) -> Result<Keep, String> {
    Keep::parse(text).ok_or_else(|| "one of new, old, both".to_owned())
}

/// The queue of what a command looks at, riskiest first.
struct Queue {
    snapshots: Vec<Snapshot>,
    items: Vec<Item>,
    /// How many there are without a limit.
    all: usize,
}

impl Queue {
    fn snapshot(&self, item: &Item) -> Option<&Snapshot> {
        self.snapshots.iter().find(|s| s.project == item.project)
    }
}

impl ReviewArgs {
    fn queue(&self, app: &App, store: &Store) -> Result<Queue> {
        let mut snapshots = app.snapshots(store, self.all_projects)?;
        // What was given most is the riskiest, also if that was a moment ago.
        snapshots.iter_mut().for_each(|snapshot| store.count_noted(snapshot));
        let mut items: Vec<Item> = snapshots.iter().flat_map(|s| review::open(store, s, &app.env.today())).collect();
        review::sort(&mut items);
        let all = items.len();
        items.truncate(self.limit.unwrap_or(all));
        Ok(Queue { snapshots, items, all })
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let queue = self.queue(app, &store)?;
        let decides = self.edit || (app.ui.can_ask() && !app.ui.wishes.dry_run);
        if decides {
            self.tested.check(&store, queue.items.iter().map(|item| item.project.as_str()))?;
        }
        if self.edit {
            return file::run(app, &store, &queue, self.tested);
        }
        if app.ui.wishes.json {
            app.ui.object("review", json_of(&queue)?);
            return Ok(());
        }
        if queue.items.is_empty() {
            app.ui.say("nothing to review");
            return Ok(());
        }
        if decides {
            return ask::session(app, &store, &queue, self.tested);
        }
        for item in &queue.items {
            show::show(app, queue.snapshot(item), item);
        }
        if queue.items.len() < queue.all {
            app.ui.say(&format!("{} of {} shown", queue.items.len(), count(queue.all, "item", "items")));
        }
        app.ui.say("decide with: claude-mem resolve ID --keep new|old|both");
        Ok(())
    }
}

/// `items` in order, each with its memories whole; `memories` and `conflicts` name the same by kind.
fn json_of(queue: &Queue) -> Result<Map<String, Value>> {
    let (mut items, mut memories, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    for item in &queue.items {
        let Some(snapshot) = queue.snapshot(item) else { continue };
        let record = |memory: &Memory| to_json(&review::record(snapshot, memory));
        let memory = record(&item.memory)?;
        let codes = if let Matter::Candidate(codes) = &item.matter { codes.clone() } else { Vec::new() };
        items.push(json!({
            "id": item.id,
            "kind": item.matter.name(),
            "project": item.project,
            "codes": codes,
            "reason": item.reason,
            "risk": item.risk,
            "memory": memory,
            "other": item.other.as_ref().map(record).transpose()?,
        }));
        if let Some((older, newer)) = item.pair() {
            conflicts.push(json!({"older": older, "newer": newer, "reason": item.reason, "project": item.project}));
        }
        memories.push(memory);
    }
    let all = Value::from(queue.all);
    Ok(fields([("waiting", all), ("items", items.into()), ("memories", memories.into()), ("conflicts", conflicts.into())]))
}

impl ResolveArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let mut open = Vec::new();
        for project in store.projects()? {
            open.extend(review::open(&store, &app.read(&store, &project)?, &app.env.today()));
        }
        // All are looked up before the first is decided: a mistyped id changes nothing.
        let find = |id: &String| {
            review::find(&open, id, self.kind.as_deref()).ok_or_else(|| {
                Error::new(Kind::Usage, format!("nothing with the id `{id}` waits for a decision"))
                    .hint("`claude-mem review` lists what does")
            })
        };
        let items = self.ids.iter().map(find).collect::<Result<Vec<Item>>>()?;
        if self.merge.is_some() && items.len() > 1 {
            return Err(Error::new(Kind::Usage, "--merge words one item, and several are named").hint("resolve them one by one"));
        }
        for item in items {
            let decision = match (&self.merge, self.keep) {
                (Some(text), _) => {
                    let merged = Memory { summary: by_hand::words_of(text), ..decide::draft(&item) };
                    by_hand::check(&merged)?;
                    Decision::Merge(Box::new(merged))
                }
                (None, keep) => Decision::Keep(keep.unwrap_or(Keep::Both)),
            };
            settle(app, &store, &item, &decision, self.tested)?;
        }
        Ok(())
    }
}

/// Commits a decision and says what it did.
fn settle(app: &App, store: &Store, item: &Item, decision: &Decision, tested: Tested) -> Result<()> {
    tested.update(app, store, &item.project, &mut |now| decide::plan(now, item, decision, Voice::Owner, &app.env.now()))?;
    let how = match decision {
        Decision::Keep(keep) => keep.name(),
        Decision::Merge(_) => "merged",
        Decision::Neither => "neither",
    };
    let mut row = fields([("id", item.id.as_str().into()), ("kind", item.matter.name().into()), ("keep", how.into())]);
    if let Some((older, newer)) = item.pair() {
        row.extend(fields([("older", older.as_str().into()), ("newer", newer.as_str().into())]));
    }
    let (verb, what) = outcome(app, item, decision);
    app.ui.done("resolve", row, verb, &what);
    Ok(())
}

/// What a decision did, as done and as it would be, and to what.
fn outcome(app: &App, item: &Item, decision: &Decision) -> ((&'static str, &'static str), String) {
    let said = |memory: &Memory| app.ui.foreign(&memory.summary);
    match (decision, item.pair()) {
        (Decision::Keep(keep), Some((older, newer))) => (("kept", "keep"), format!("{} of {older} and {newer}", keep.name())),
        (Decision::Keep(Keep::Old), None) if item.other.is_some() && item.matter == Matter::Changed => {
            (("taken back to:", "take back to:"), item.other.as_ref().map(said).unwrap_or_default())
        }
        (Decision::Keep(Keep::Old), None) => (("dropped for good:", "drop for good:"), said(&item.memory)),
        (Decision::Keep(_), None) => (("kept:", "keep:"), said(&item.memory)),
        (Decision::Merge(text), Some(_)) => (("merged into:", "merge into:"), said(text)),
        (Decision::Merge(text), None) => (("reworded:", "reword:"), said(text)),
        (Decision::Neither, _) => (("dropped both for good:", "drop both for good:"), said(&item.memory)),
    }
}
