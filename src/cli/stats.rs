//! `stats`: figures about the store, and what the calls have cost.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, json as to_json};
use super::ui::bar::{bar, shows_unicode};
use super::ui::wrap::cells;
use super::ui::{count, paint, style};
use crate::error::Result;
use crate::extract::{backend, ledger};
use crate::model::{Id, Kind, Layer, State};
use crate::pipeline::figures::{Figures, Size, Weight, figures, weight};
use crate::store::GLOBAL;

/// Cells of a bar.
const BAR: usize = 20;
/// Cells of a project's name before its first figure.
const NAME: usize = 14;
/// Memories that are named for one figure; `--json` has all.
const MEMORIES: usize = 5;

/// Show figures: what is stored and used, what an injection takes, how it grows, what you had to say again
///
/// Of every project, or of the one that --project names. "said again": preferences and conventions that you stated in a
/// conversation on a later day although they were stored. "lasting?": what you said in three conversations (claude-mem prune).
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
    let names = app.named_project(&store)?.map_or_else(|| store.projects(), |name| Ok(vec![name]))?;
    let global = store.snapshot(GLOBAL)?;
    let budget = usize::try_from(app.config.number("inject.budget")).unwrap_or(usize::MAX);
    let mut all = Vec::new();
    for name in &names {
        all.push(figures(&store, app.read(&store, name)?, &global, &app.env.today(), budget)?);
    }
    let weight = weight(&store)?;
    if app.ui.wishes.json {
        app.ui.object("stats", fields([("projects", to_json(&all)?), ("bytes", to_json(&weight)?)]));
        return Ok(());
    }
    for figures in &all {
        show(app, figures);
    }
    if all.is_empty() {
        app.ui.say("no projects yet");
        return Ok(());
    }
    app.ui.line(&paint(style::STRONG, "memory folder"));
    let Weight { memories, search_index, turns, history, other } = weight;
    let parts = [("memories", memories), ("search index", search_index), ("turns", turns), ("history", history), ("other", other)];
    let parts = parts.iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| format!("{} {name}", size(*bytes)));
    row(app, "size", &parts.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// A figure behind its name.
fn row(app: &App, name: &str, text: &str) {
    app.ui.hang(&format!("  {} {text}", paint(style::DIM, &format!("{name:<11}"))), 14);
}

/// A memory on one line behind a name and a figure, cut at the edge of the screen.
fn memory_row(app: &App, name: &str, figure: &str, id: &Id, summary: &str) {
    let name = paint(style::DIM, &format!("{name:<11}"));
    app.ui.row(&format!("  {name} {figure:>4}  {}  {}", paint(style::HINT, id.as_str()), app.ui.foreign(summary)));
}

fn show(app: &App, figures: &Figures) {
    let unicode = shows_unicode(app.env);
    let name = if figures.project == GLOBAL { "global memories".to_owned() } else { app.ui.foreign(&figures.project) };
    // Wide characters take two cells: padded by what is seen.
    let gap = " ".repeat(NAME.saturating_sub(cells(&name)).max(2));
    let from = count(figures.sessions, "conversation", "conversations");
    let memories = count(figures.memories, "memory", "memories");
    app.ui.line(&format!("{}{gap}{memories} from {from}, {}", paint(style::STRONG, &name), size(figures.bytes)));
    let get = |name: &str| figures.counts.get(name).copied().unwrap_or_default();
    let some = |names: &[&str]| {
        let there = names.iter().filter(|n| get(n) > 0).map(|n| format!("{} {}", get(n), n.replace('_', "-")));
        there.collect::<Vec<_>>().join(", ")
    };
    let names = |all: Vec<&'static str>| Some(some(&all)).filter(|text| !text.is_empty()).unwrap_or_else(|| "none".to_owned());
    let archived = if figures.archived > 0 { format!("; {} in the archive", figures.archived) } else { String::new() };
    row(app, "layers", &(names(Layer::ALL.iter().map(|l| l.name()).collect()) + &archived));
    row(app, "kinds", &names(Kind::ALL.iter().map(|k| k.name()).collect()));
    row(app, "states", &names(State::ALL.iter().map(|s| s.name()).collect()));
    if figures.review + figures.conflicts > 0 {
        let candidates = count(figures.review, "candidate", "candidates");
        row(app, "to review", &format!("{candidates}, {}", count(figures.conflicts, "conflict", "conflicts")));
    }
    let hits = count(usize::try_from(figures.hits).unwrap_or(usize::MAX), "time", "times");
    row(app, "used", &format!("{hits}; {} never", count(figures.never_used, "memory", "memories")));
    for (n, used) in figures.most_used.iter().enumerate() {
        memory_row(app, if n == 0 { "most used" } else { "" }, &used.hits.to_string(), &used.id, &used.summary);
    }
    for (n, used) in figures.never_used_oldest.iter().enumerate() {
        memory_row(app, if n == 0 { "never used" } else { "" }, "0", &used.id, &used.summary);
    }
    for (n, injection) in figures.injections.iter().enumerate() {
        let bar = bar(injection.tokens, injection.budget, BAR, unicode);
        let pad = " ".repeat(BAR.saturating_sub(cells(&bar)));
        let room = if injection.no_room > 0 { format!(", no room for {}", injection.no_room) } else { String::new() };
        let about = if unicode { "≈" } else { "~" };
        let Size { mode, memories, tokens, budget, .. } = injection;
        let line = format!("{mode:<9} {bar}{pad} {about}{tokens} of {budget} tokens, {}{room}", count(*memories, "memory", "memories"));
        row(app, if n == 0 { "injection" } else { "" }, &line);
    }
    growth(app, figures, unicode);
    for (n, again) in figures.retaught.iter().take(MEMORIES).enumerate() {
        memory_row(app, if n == 0 { "said again" } else { "" }, &format!("{}x", again.said), &again.id, &again.summary);
    }
    if !figures.retaught.is_empty() {
        let times = figures.retaught.iter().map(|a| a.said).sum::<usize>();
        row(app, "", &format!("{} in later conversations, though it was stored", count(times, "time", "times")));
    }
    for (n, again) in figures.promotions.iter().take(MEMORIES).enumerate() {
        memory_row(app, if n == 0 { "lasting?" } else { "" }, &format!("{}x", again.said), &again.id, &again.summary);
    }
}

/// The weeks from the first that brought something.
fn growth(app: &App, figures: &Figures, unicode: bool) {
    let most = figures.growth.iter().map(|w| w.memories).max().unwrap_or_default();
    let weeks = figures.growth.iter().skip_while(|w| w.memories == 0);
    for (n, week) in weeks.enumerate() {
        let bar = bar(week.memories, most, BAR, unicode);
        let pad = if bar.is_empty() { "" } else { " " };
        row(app, if n == 0 { "growth" } else { "" }, &format!("{} {bar}{pad}{}", week.monday, week.memories));
    }
}

/// `12.3 KB`: three figures are enough.
fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KB", "MB", "GB"] {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    if unit == "B" || value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
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
