//! `prune`: old transient notes go, unused memories rest, lapsed dates are marked.

use clap::Args;
use serde_json::json;

use super::app::{App, fields};
use super::ui::{count, paint, style};
use crate::error::Result;
use crate::model::Change;
use crate::reconcile::decay::{self, Settings};
use crate::store::Snapshot;

/// Let go of what is old: transient notes, unused working memories, lapsed dates
///
/// Transient notes older than DAYS go (history keeps them), working memories not used for 30 active days move to the
/// archive, what had an end is marked as lapsed. Pinned entries, preferences and conventions stay.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Age of transient notes in days [default: store.prune_days, 7]
    #[arg(value_name = "DAYS")]
    days: Option<u64>,
    /// In every project
    #[arg(long)]
    all_projects: bool,
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
        let mut rows = Vec::new();
        for snapshot in app.snapshots(&store, self.all_projects)? {
            let mut here: Vec<(String, String, String)> = Vec::new();
            app.update(&store, &snapshot.project, &mut |now| {
                let mut plan = app.plan(now, "prune");
                let found = decay::decay(now, &today, &settings);
                here = found.iter().map(|d| (id_of(&d.change), summary(now, &d.change), d.reason.clone())).collect();
                plan.changes.extend(found.into_iter().map(|d| d.change));
                Ok(plan)
            })?;
            rows.extend(here);
        }
        if app.ui.wishes.json {
            let rows: Vec<_> = rows.iter().map(|(id, summary, reason)| json!({"id": id, "summary": summary, "reason": reason})).collect();
            app.ui.object("prune", fields([("pruned", rows.into())]));
            return Ok(());
        }
        for (id, summary, reason) in &rows {
            let reason = paint(style::DIM, &format!("({})", app.ui.foreign(reason)));
            app.ui.line(&format!("{} {}  {} {reason}", paint(style::BAD, "-"), paint(style::HINT, id), app.ui.foreign(summary)));
        }
        match (rows.len(), app.ui.wishes.dry_run) {
            (0, _) => app.ui.say("nothing to prune"),
            (n, true) => app.ui.say(&format!("{} would change", count(n, "memory", "memories"))),
            (n, false) => app.ui.say(&format!("{} changed; `claude-mem undo` takes it back", count(n, "memory", "memories"))),
        }
        Ok(())
    }
}

fn id_of(change: &Change) -> String {
    match change {
        Change::Amend(memory) => memory.id.to_string(),
        Change::Archive { id } | Change::Forget { id, .. } => id.to_string(),
        _ => String::new(),
    }
}

fn summary(snapshot: &Snapshot, change: &Change) -> String {
    snapshot.entries.iter().find(|e| e.memory.id.as_str() == id_of(change)).map(|e| e.memory.summary.clone()).unwrap_or_default()
}
