//! `prune`: old transient notes go, unused memories rest, lapsed dates are marked.

use clap::Args;
use serde_json::json;

use super::app::{App, fields};
use super::test::Tested;
use super::ui::{count, paint, style};
use crate::error::Result;
use crate::model::Change;
use crate::reconcile::decay::{self, Decayed, Settings};
use crate::store::Snapshot;

/// Let go of what is old: transient notes, unused working memories, lapsed dates
///
/// Transient notes older than DAYS go (history keeps them), working memories not used for 30 active days move to the
/// archive, what had an end is marked as lapsed. Pinned entries, preferences and conventions are never let go for their age.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Age of transient notes in days [default: store.prune_days, 7]
    #[arg(value_name = "DAYS")]
    days: Option<u64>,
    /// In every project
    #[arg(long)]
    all_projects: bool,
    #[command(flatten)]
    tested: Tested,
}

impl PruneArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let settings = Settings {
            prune_days: u32::try_from(self.days.unwrap_or(app.config.number("store.prune_days"))).unwrap_or(u32::MAX),
            decay_days: u32::try_from(app.config.number("store.decay_days")).unwrap_or(u32::MAX),
        };
        let today = app.env.today();
        let snapshots = app.snapshots(&store, self.all_projects)?;
        let mut rows: Vec<Row> = snapshots.iter().flat_map(|s| rows(s, &decay::decay(s, &today, &settings))).collect();
        if !app.ui.wishes.json {
            for row in &rows {
                show(app, row);
            }
        }
        let number = count(rows.len(), "memory", "memories");
        if !rows.is_empty() && app.ui.can_ask() && !app.ui.wishes.dry_run && !app.ui.confirm(&format!("prune {number}?"))? {
            app.ui.unchanged();
            return Ok(());
        }
        if !app.ui.wishes.dry_run {
            rows.clear();
            for snapshot in snapshots.iter().filter(|s| !decay::decay(s, &today, &settings).is_empty()) {
                let mut here = Vec::new();
                self.tested.update(app, &store, &snapshot.project, &mut |now| {
                    let mut plan = app.plan(now, "prune");
                    let found = decay::decay(now, &today, &settings);
                    here = self::rows(now, &found);
                    plan.changes.extend(found.into_iter().map(|d| d.change));
                    Ok(plan)
                })?;
                rows.append(&mut here);
            }
        }
        let list: Vec<_> = rows.iter().map(|r| json!({"id": r.id, "summary": r.summary, "reason": r.reason})).collect();
        if rows.is_empty() && !app.ui.wishes.json {
            app.ui.say("nothing to prune");
            return Ok(());
        }
        let back = if app.ui.wishes.dry_run { "" } else { "; `claude-mem undo` takes it back" };
        let what = format!("{}{back}", count(rows.len(), "memory", "memories"));
        app.ui.done("prune", fields([("pruned", list.into())]), ("pruned", "prune"), &what);
        Ok(())
    }
}

/// One change, for people.
struct Row {
    id: String,
    summary: String,
    reason: String,
}

fn rows(snapshot: &Snapshot, found: &[Decayed]) -> Vec<Row> {
    found
        .iter()
        .map(|d| Row {
            id: decay::subject(&d.change).map(ToString::to_string).unwrap_or_default(),
            summary: summary(snapshot, &d.change),
            reason: d.reason.clone(),
        })
        .collect()
}

fn show(app: &App, row: &Row) {
    let reason = paint(style::DIM, &format!("({})", app.ui.foreign(&row.reason)));
    app.ui.report(&format!("{} {}  {} {reason}", paint(style::BAD, "-"), paint(style::HINT, &row.id), app.ui.foreign(&row.summary)));
}

fn summary(snapshot: &Snapshot, change: &Change) -> String {
    decay::subject(change).and_then(|id| snapshot.entry(id)).map(|e| e.memory.summary.clone()).unwrap_or_default()
}
