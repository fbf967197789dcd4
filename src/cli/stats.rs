//! `stats`: figures about the store, and what the calls have cost.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::ui::{count, paint, style};
use crate::error::Result;
use crate::extract::{backend, ledger};

/// Show figures: memories by layer and kind, or what the calls have cost
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// What the calls have cost, by day and model
    #[arg(long)]
    cost: bool,
}

impl StatsArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        if self.cost { cost(app) } else { memories(app) }
    }
}

fn memories(app: &App) -> Result<()> {
    let store = app.store()?;
    let mut rows = Vec::new();
    for snapshot in app.snapshots(&store, true)? {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in &snapshot.entries {
            for name in [entry.memory.layer.name(), entry.memory.kind.name(), entry.memory.state.name()] {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        }
        let unused =
            snapshot.entries.iter().filter(|e| snapshot.catalogue.memories.get(e.memory.id.as_str()).is_none_or(|u| u.hits == 0)).count();
        rows.push((
            snapshot.project.clone(),
            snapshot.entries.len(),
            counts,
            unused,
            snapshot.catalogue.sessions.len(),
            snapshot.catalogue.review.len(),
        ));
    }
    if app.ui.wishes.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(project, total, counts, unused, sessions, review)| {
                json!({"project": project, "memories": total, "counts": counts, "never_used": unused, "sessions": sessions, "review": review})
            })
            .collect();
        app.ui.object("stats", fields([("projects", rows.into())]));
        return Ok(());
    }
    for (project, total, counts, unused, sessions, review) in &rows {
        let get = |name: &str| counts.get(name).copied().unwrap_or_default();
        app.ui.line(&paint(style::STRONG, &app.ui.foreign(project)));
        app.ui.line(&format!(
            "  {} from {}, {unused} never used",
            count(*total, "memory", "memories"),
            count(*sessions, "conversation", "conversations")
        ));
        app.ui.line(&format!("  {} working, {} long-term, {} transient", get("working"), get("long_term"), get("transient")));
        let kinds = ["decision", "fact", "todo", "preference", "convention"].map(|k| format!("{} {k}", get(k)));
        app.ui.line(&format!("  {}", kinds.join(", ")));
        app.ui.line(&format!(
            "  {} valid, {} rejected, {} superseded, {review} for review",
            get("valid"),
            get("rejected"),
            get("superseded")
        ));
    }
    if rows.is_empty() {
        app.ui.say("no projects yet");
    }
    Ok(())
}

fn cost(app: &App) -> Result<()> {
    let (lines, problems) = ledger::read(&backend::ledger_of(&app.home))?;
    for problem in &problems {
        app.ui.warn(&problem.to_string());
    }
    let by_day = ledger::sums(&lines, |l| l.at.get(..10).unwrap_or_default());
    let by_model = ledger::sums(&lines, |l| &l.model);
    if app.ui.wishes.json {
        let rows = |sums: &BTreeMap<&str, crate::extract::Usage>| -> Vec<Value> {
            let row = |(key, u): (&&str, &crate::extract::Usage)| json!({"name": key, "calls": u.calls, "input": u.input, "output": u.output, "cache_read": u.cache_read, "cache_write": u.cache_write, "cost_usd": u.cost_usd});
            sums.iter().map(row).collect()
        };
        app.ui.object("stats", fields([("days", rows(&by_day).into()), ("models", rows(&by_model).into())]));
        return Ok(());
    }
    for (name, usage) in by_day.iter().chain(&by_model) {
        let price = usage.cost_usd.map_or_else(|| "price unknown".to_owned(), |usd| format!("${usd:.4}"));
        app.ui.line(&format!(
            "{}  {}, {} tokens in, {} out, {price}",
            app.ui.foreign(name),
            count(usage.calls as usize, "call", "calls"),
            usage.input,
            usage.output
        ));
    }
    if lines.is_empty() {
        app.ui.say("no call was made yet");
    }
    Ok(())
}
