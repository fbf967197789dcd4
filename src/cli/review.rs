//! `review` and `resolve`: what only a person can decide.

use clap::Args;
use serde_json::json;

use super::app::{App, fields, json as to_json, reasons};
use super::test::Tested;
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::plan::ReviewItem;
use crate::model::{Id, Memory};
use crate::pipeline::by_hand::{self, Keep, Pair, Waiting};
use crate::store::{Snapshot, Store};

/// Decide what waits: pairs that disagree, and candidates that are not sure
///
/// At a terminal one by one; otherwise, or with --json, the queue is listed and `resolve` decides.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Of every project
    #[arg(long)]
    all_projects: bool,
    #[command(flatten)]
    tested: Tested,
}

/// Decide one thing of the review queue, for scripts
#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// Id of the candidate, or of the newer memory of a pair
    #[arg(value_name = "ID")]
    id: String,
    /// What stays: new, old or both; for a candidate new keeps it and old drops it
    #[arg(long, value_name = "WHICH", value_parser = keep)]
    keep: Keep,
    #[command(flatten)]
    tested: Tested,
}

fn keep(text: &str) -> Result<Keep, String> {
    Keep::parse(text).ok_or_else(|| "one of new, old, both".to_owned())
}

impl ReviewArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let snapshots = app.snapshots(&store, self.all_projects)?;
        if app.ui.can_ask() && !app.ui.wishes.dry_run {
            return ask_all(app, &store, &snapshots, self.tested);
        }
        let (mut memories, mut conflicts) = (Vec::new(), Vec::new());
        for snapshot in &snapshots {
            for Pair { older, newer, reason } in by_hand::pairs(snapshot) {
                if !app.ui.wishes.json {
                    show_pair(app, &older, &newer, &reason);
                }
                conflicts.push(json!({"older": older.id, "newer": newer.id, "reason": reason, "project": snapshot.project}));
            }
            for item in &snapshot.catalogue.review {
                if !app.ui.wishes.json {
                    show_item(app, item);
                }
                memories.push(item);
            }
        }
        if app.ui.wishes.json {
            let records: Vec<_> = memories.iter().map(|i| &i.memory).collect();
            let items: Vec<_> = memories.iter().map(|i| json!({"id": i.id, "codes": i.codes})).collect();
            app.ui.object("review", fields([("memories", to_json(&records)?), ("items", items.into()), ("conflicts", conflicts.into())]));
        } else if memories.is_empty() && conflicts.is_empty() {
            app.ui.say("nothing to review");
        } else {
            app.ui.say("decide with: claude-mem resolve ID --keep new|old|both");
        }
        Ok(())
    }
}

impl ResolveArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        for project in store.projects()? {
            let snapshot = store.snapshot(&project)?;
            match by_hand::waiting(&snapshot, &self.id) {
                Some(Waiting::Candidate(item)) => return decide_item(app, &store, &snapshot, &item, self.keep != Keep::Old, self.tested),
                Some(Waiting::Pair(pair)) => return decide_pair(app, &store, &project, &pair, self.keep, self.tested),
                None => {}
            }
        }
        Err(Error::new(Kind::Usage, format!("nothing with the id `{}` waits for a decision", self.id))
            .hint("`claude-mem review` lists what does"))
    }
}

fn show_pair(app: &App, older: &Memory, newer: &Memory, reason: &str) {
    let ui = &app.ui;
    let day = |m: &Memory| m.created.as_deref().and_then(|c| c.get(..10)).unwrap_or("no date").to_owned();
    ui.line(&format!("{} {}", paint(style::WARN, "disagree:"), ui.foreign(reason)));
    for (name, memory) in [("old", older), ("new", newer)] {
        ui.line(&format!("  {name} {} {}  {}", paint(style::HINT, memory.id.as_str()), day(memory), ui.foreign(&memory.summary)));
        for evidence in memory.evidence.iter().take(2) {
            ui.line(&paint(style::DIM, &format!("      “{}” ({})", ui.foreign(&evidence.quote), evidence.speaker.name())));
        }
    }
}

fn show_item(app: &App, item: &ReviewItem) {
    let ui = &app.ui;
    let why = reasons(ui, &item.codes);
    let memory = &item.memory;
    ui.line(&format!("{} {}  {}", paint(style::WARN, "candidate"), paint(style::HINT, item.id.as_str()), ui.foreign(&memory.summary)));
    ui.line(&paint(style::DIM, &format!("      {}, {}, {why}", memory.kind, memory.layer.replace('_', "-"))));
    for evidence in memory.evidence.iter().take(2) {
        ui.line(&paint(style::DIM, &format!("      “{}” ({})", ui.foreign(&evidence.quote), evidence.speaker.name())));
    }
}

fn ask_all(app: &App, store: &Store, snapshots: &[Snapshot], tested: Tested) -> Result<()> {
    let total: usize = snapshots.iter().map(|s| by_hand::pairs(s).len() + s.catalogue.review.len()).sum();
    if total == 0 {
        app.ui.say("nothing to review");
        return Ok(());
    }
    let (mut number, mut decided) = (0, 0);
    let end = |decided: usize| app.ui.say(&format!("{decided} of {total} decided"));
    for snapshot in snapshots {
        for pair in by_hand::pairs(snapshot) {
            number += 1;
            app.ui.line(&paint(style::DIM, &format!("{number} of {total}")));
            show_pair(app, &pair.older, &pair.newer, &pair.reason);
            match ask_pair(app)? {
                Answer::Keep(how) => {
                    decide_pair(app, store, &snapshot.project, &pair, how, tested)?;
                    decided += 1;
                }
                Answer::Later => {}
                Answer::Quit => {
                    end(decided);
                    return Ok(());
                }
            }
        }
        for item in &snapshot.catalogue.review {
            number += 1;
            app.ui.line(&paint(style::DIM, &format!("{number} of {total}")));
            show_item(app, item);
            let keep = match app.ui.choose("keep it?", ITEM)? {
                "yes" => true,
                "no" => false,
                "later" => continue,
                _ => {
                    end(decided);
                    return Ok(());
                }
            };
            decide_item(app, store, snapshot, item, keep, tested)?;
            decided += 1;
        }
    }
    end(decided);
    Ok(())
}

/// Answers about a candidate.
const ITEM: &[(&str, &str)] = &[
    ("yes", "keep it; from now on it is used"),
    ("no", "drop it; it does not come back"),
    ("later", "leave it in the queue"),
    ("quit", "stop here; the rest stays in the queue"),
];

/// Answers about a pair.
const PAIR: &[(&str, &str)] = &[
    ("new", "the newer one holds and replaces the older"),
    ("old", "the older one holds; the newer is set aside"),
    ("both", "both hold; they do not disagree"),
    ("later", "leave them in the queue; both are shown as a question"),
    ("quit", "stop here; the rest stays in the queue"),
];

enum Answer {
    Keep(Keep),
    Later,
    Quit,
}

fn ask_pair(app: &App) -> Result<Answer> {
    Ok(match app.ui.choose("which holds?", PAIR)? {
        "new" => Answer::Keep(Keep::New),
        "old" => Answer::Keep(Keep::Old),
        "both" => Answer::Keep(Keep::Both),
        "later" => Answer::Later,
        _ => Answer::Quit,
    })
}

/// Asks about the pairs that an injection is about to give. Says whether any was decided.
pub fn settle_pairs(app: &App, store: &Store, pairs: &[(Id, Id)]) -> Result<bool> {
    let mut decided = false;
    for snapshot in app.snapshots(store, false)? {
        let asked = |p: &Pair| pairs.contains(&(p.older.id.clone(), p.newer.id.clone()));
        for pair in by_hand::pairs(&snapshot).into_iter().filter(asked) {
            show_pair(app, &pair.older, &pair.newer, &pair.reason);
            match ask_pair(app)? {
                Answer::Keep(how) => {
                    decide_pair(app, store, &snapshot.project, &pair, how, Tested::default())?;
                    decided = true;
                }
                Answer::Later => {}
                Answer::Quit => return Ok(decided),
            }
        }
    }
    Ok(decided)
}

fn decide_pair(app: &App, store: &Store, project: &str, pair: &Pair, keep: Keep, tested: Tested) -> Result<()> {
    let (older, newer) = (&pair.older.id, &pair.newer.id);
    let how = keep.name();
    let row = fields([("older", older.as_str().into()), ("newer", newer.as_str().into()), ("keep", how.into())]);
    tested.update(app, store, project, &mut |snapshot| Ok(by_hand::settle(snapshot, older, newer, keep, &app.env.now())))?;
    app.ui.done("resolve", row, ("kept", "keep"), &format!("{how} of {older} and {newer}"));
    Ok(())
}

fn decide_item(app: &App, store: &Store, snapshot: &Snapshot, item: &ReviewItem, keep: bool, tested: Tested) -> Result<()> {
    tested.update(app, store, &snapshot.project, &mut |now| by_hand::answer(now, item, keep, &app.env.now()))?;
    let verb = if keep { ("kept:", "keep:") } else { ("dropped for good:", "drop for good:") };
    let row = fields([("id", item.id.as_str().into()), ("keep", keep.into())]);
    app.ui.done("resolve", row, verb, &app.ui.foreign(&item.memory.summary));
    Ok(())
}
