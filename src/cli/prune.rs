//! `prune`: old transient notes go, unused memories rest, lapsed dates are marked; what was used again comes back.

use clap::Args;
use serde_json::json;

use super::app::{App, fields, ids};
use super::test::Tested;
use super::ui::{count, paint, style};
use crate::error::Result;
use crate::model::{Change, Id, Memory};
use crate::reconcile::decay::{self, Decayed, Settings};
use crate::reconcile::promote::{Promotion, promotions};
use crate::store::{Entry, Snapshot, Store};

/// Let go of what is old: transient notes, unused working memories, lapsed dates
///
/// Transient notes older than DAYS go (history keeps them), working memories not used for 30 active days move to the
/// archive, what had an end is marked as lapsed. Pinned entries, preferences and conventions are never let go for their age.
/// An archived memory that is used again comes back. What you said in three conversations is proposed for long-term memory;
/// at a terminal you are asked, and nothing else promotes it.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Age of transient notes in days [default: store.prune_days, 7]
    #[arg(value_name = "DAYS")]
    days: Option<u64>,
    /// In every project
    #[arg(long)]
    all_projects: bool,
    /// List what is in the archive, and change nothing
    #[arg(long, conflicts_with = "bring_back")]
    archived: bool,
    /// Bring this memory back from the archive instead; may be repeated
    #[arg(long, value_name = "ID")]
    bring_back: Vec<String>,
    #[command(flatten)]
    tested: Tested,
}

impl PruneArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        if self.archived {
            return self.list(app, &store);
        }
        if !self.bring_back.is_empty() {
            return self.bring_back(app, &store);
        }
        let snapshots = app.snapshots(&store, self.all_projects)?;
        let mut rows = Vec::new();
        for snapshot in &snapshots {
            rows.extend(self.changes(app, &store, snapshot)?.iter().map(|change| Row::of(snapshot, change)));
        }
        if !app.ui.wishes.json {
            for row in &rows {
                row.show(app);
            }
        }
        if !rows.is_empty() && !app.ui.wishes.dry_run {
            self.tested.check(&store, snapshots.iter().map(|s| s.project.as_str()))?;
        }
        let number = count(rows.len(), "memory", "memories");
        if !rows.is_empty() && app.ui.can_ask() && !app.ui.wishes.dry_run && !app.ui.confirm(&format!("prune {number}?"))? {
            app.ui.unchanged();
            return Ok(());
        }
        if !rows.is_empty() {
            rows = self.prune(app, &store, &snapshots)?;
        }
        let Proposed { seen, open } = self.propose(app, &store, &snapshots)?;
        if rows.is_empty() && !app.ui.wishes.json {
            if seen == 0 {
                app.ui.say("nothing to prune");
            }
            return Ok(());
        }
        let back = if app.ui.wishes.dry_run { "" } else { "; `claude-mem undo` takes it back" };
        let what = format!("{}{back}", count(rows.len(), "memory", "memories"));
        let list: Vec<_> = rows.iter().map(|r| json!({"id": r.id, "what": r.what, "summary": r.summary, "reason": r.reason})).collect();
        let proposed: Vec<_> = open.iter().map(|p| json!({"id": p.memory.id, "summary": p.memory.summary, "said": p.said})).collect();
        app.ui.done("prune", fields([("pruned", list.into()), ("proposed", proposed.into())]), ("pruned", "prune"), &what);
        Ok(())
    }

    /// What has to change in a project, counting the uses that were only noted so far.
    fn changes(&self, app: &App, store: &Store, snapshot: &Snapshot) -> Result<Vec<Decayed>> {
        let number = |key| u32::try_from(app.config.number(key)).unwrap_or(u32::MAX);
        let days = self.days.map(|days| u32::try_from(days).unwrap_or(u32::MAX));
        let settings = Settings { prune_days: days.unwrap_or_else(|| number("store.prune_days")), decay_days: number("store.decay_days") };
        let mut now = snapshot.clone();
        store.count_noted(&mut now);
        let today = app.env.today();
        let mut found = decay::decay(&now, &today, &settings);
        found.extend(decay::come_back(&now, &store.archived(&now.project)?, &today, &settings));
        Ok(found)
    }

    fn prune(&self, app: &App, store: &Store, snapshots: &[Snapshot]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for Snapshot { project, .. } in snapshots {
            let mut here = Vec::new();
            self.tested.update(app, store, project, &mut |now| {
                let found = self.changes(app, store, now)?;
                here = found.iter().map(|change| Row::of(now, change)).collect();
                let mut plan = app.plan(now, "prune");
                plan.changes.extend(found.into_iter().map(|d| d.change));
                Ok(plan)
            })?;
            rows.append(&mut here);
        }
        Ok(rows)
    }

    /// Shows what may be lasting and, at a terminal, asks.
    fn propose(&self, app: &App, store: &Store, snapshots: &[Snapshot]) -> Result<Proposed> {
        let (mut seen, mut open) = (0, Vec::new());
        let asks = app.ui.can_ask() && !app.ui.wishes.dry_run;
        for Snapshot { project, .. } in snapshots {
            for promotion in promotions(&store.snapshot(project)?) {
                seen += 1;
                if !app.ui.wishes.json {
                    let Memory { id, summary, .. } = &promotion.memory;
                    let said = paint(style::DIM, &format!("(said in {})", count(promotion.said, "conversation", "conversations")));
                    let sign = paint(style::WARN, "lasting?");
                    app.ui.report(&format!("{sign} {}  {} {said}", paint(style::HINT, id.as_str()), app.ui.foreign(summary)));
                }
                let accept = match if asks { app.ui.choose("move it to long-term memory?", LASTING)? } else { "later" } {
                    "yes" => true,
                    "no" => false,
                    _ => {
                        open.push(promotion);
                        continue;
                    }
                };
                self.tested.update(app, store, project, &mut |now| {
                    let mut plan = app.plan(now, "promote");
                    plan.changes.extend(promotions(now).iter().find(|p| p.key == promotion.key).map(|p| p.answer(accept)));
                    Ok(plan)
                })?;
                app.ui.report(if accept { "moved to long-term memory" } else { "it stays where it is" });
            }
        }
        if !open.is_empty() && !asks && !app.ui.wishes.json {
            app.ui.say("to accept: claude-mem edit ID --layer long-term, or claude-mem prune at a terminal");
        }
        Ok(Proposed { seen, open })
    }

    fn list(&self, app: &App, store: &Store) -> Result<()> {
        let mut found = Vec::new();
        for snapshot in app.snapshots(store, self.all_projects)? {
            found.extend(store.archived(&snapshot.project)?);
        }
        if app.ui.wishes.json {
            let rows: Vec<_> = found.iter().map(|e| json!({"id": e.memory.id, "summary": e.memory.summary, "file": e.file})).collect();
            app.ui.object("prune", fields([("archived", rows.into())]));
            return Ok(());
        }
        for Entry { memory, file, .. } in &found {
            let place = paint(style::DIM, &format!("({})", app.ui.foreign(file)));
            app.ui.row(&format!("{}  {} {place}", paint(style::HINT, memory.id.as_str()), app.ui.foreign(&memory.summary)));
        }
        app.ui.say(if found.is_empty() { "nothing is in the archive" } else { "to bring one back: claude-mem prune --bring-back ID" });
        Ok(())
    }

    /// Brings memories back from the archive; that counts as use.
    fn bring_back(&self, app: &App, store: &Store) -> Result<()> {
        let mut brought = Vec::new();
        for wanted in &self.bring_back {
            let (project, entry) = app.archived(store, wanted)?;
            let id = entry.memory.id.clone();
            self.tested.update(app, store, &project, &mut |now| {
                let mut plan = app.plan(now, "prune");
                plan.changes = vec![decay::brought_back(&entry.memory), Change::Touch { ids: vec![id.clone()] }];
                Ok(plan)
            })?;
            brought.push(entry.memory);
        }
        let list: Vec<Id> = brought.iter().map(|m| m.id.clone()).collect();
        let what = brought.iter().map(|m| format!("{} {}", m.id, app.ui.foreign(&m.summary))).collect::<Vec<_>>().join(", ");
        app.ui.done("prune", fields([("brought_back", ids(&list))]), ("brought back", "bring back"), &what);
        Ok(())
    }
}

/// What was proposed for long-term memory.
struct Proposed {
    /// How many.
    seen: usize,
    /// Those that nobody has answered.
    open: Vec<Promotion>,
}

/// Answers about a memory that may be lasting.
const LASTING: &[(&str, &str)] = &[
    ("yes", "from now on it is a lasting preference, convention or fact"),
    ("no", "it stays a working memory; this is not asked again while it says the same"),
    ("later", "ask again next time"),
];

/// One change, for people.
struct Row {
    id: String,
    what: &'static str,
    summary: String,
    reason: String,
}

impl Row {
    fn of(snapshot: &Snapshot, Decayed { change, reason }: &Decayed) -> Self {
        let id = decay::subject(change);
        let here = id.and_then(|id| snapshot.entry(id)).map(|e| e.memory.summary.clone());
        let (what, summary) = match change {
            Change::Amend(memory) if here.is_none() => ("come back", memory.summary.clone()),
            Change::Amend(memory) => ("lapse", memory.summary.clone()),
            Change::Archive { .. } => ("archive", here.unwrap_or_default()),
            _ => ("forget", here.unwrap_or_default()),
        };
        Self { id: id.map(ToString::to_string).unwrap_or_default(), what, summary, reason: reason.clone() }
    }

    fn show(&self, app: &App) {
        let reason = paint(style::DIM, &format!("({}: {})", self.what, app.ui.foreign(&self.reason)));
        let sign = if self.what == "come back" { paint(style::GOOD, "+") } else { paint(style::BAD, "-") };
        app.ui.report(&format!("{sign} {}  {} {reason}", paint(style::HINT, &self.id), app.ui.foreign(&self.summary)));
    }
}
