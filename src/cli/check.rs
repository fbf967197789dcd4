//! `check`: whether what memories name is still in the repository.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, nothing_yet};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::{Memory, State as Holds};
use crate::pipeline::staleness::{self, Checked};
use crate::repo::{Care, Finding, State};
use crate::store::Snapshot;

/// Check memories that name files, symbols, commands or versions against the repository
///
/// fresh: as it was when the memory was made; changed: there, but changed since; gone: it was here, and is not any more. What was
/// never here is unknown, and shown with --verbose. git is asked where the project is a git repository. Nothing is changed.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Ids, or their first four characters [default: every memory that holds]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// End with 1 if anything changed or is gone
    #[arg(long)]
    exit_code: bool,
}

impl CheckArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let snapshots = match self.ids.as_slice() {
            [] => vec![app.read(&store, &app.project(&store)?)?],
            ids => ids.iter().map(|id| Ok(app.find(&store, id)?.0)).collect::<Result<Vec<_>>>()?,
        };
        let wanted = self.ids.iter().map(|id| Ok(app.find(&store, id)?.1.memory)).collect::<Result<Vec<Memory>>>()?;
        if let Some(first) = snapshots.first().filter(|s| s.entries.is_empty() && !app.ui.wishes.json) {
            app.ui.say(&nothing_yet(&first.project));
            return Ok(());
        }
        let repo = app.repo(&snapshots).ok_or_else(|| {
            Error::new(Kind::Usage, "the project is bound to no folder that is there")
                .hint("run this inside the repository, or bind it with `claude-mem project bind`")
        })?;
        let memories: Vec<&Memory> = match wanted.as_slice() {
            [] => snapshots.iter().flat_map(|s| &s.entries).map(|e| &e.memory).filter(|m| m.state == Holds::Valid).collect(),
            wanted => wanted.iter().collect(),
        };
        let checked = staleness::check(memories.iter().copied(), &repo, Care::Thorough);
        if app.ui.wishes.json {
            let rows: Vec<Value> = checked.iter().map(row).collect();
            app.ui.object("check", fields([("folder", repo.folder().display().to_string().into()), ("checked", rows.into())]));
        } else {
            print(app, &snapshots, &checked);
        }
        let stale = checked.iter().filter(|c| c.state() >= State::Changed).count();
        if self.exit_code && stale > 0 {
            return Err(Error::failure(format!("{} not as it was", count(stale, "memory names what is", "memories name what is")))
                .hint("correct with `claude-mem edit ID`, or drop with `claude-mem forget ID`"));
        }
        Ok(())
    }
}

fn row(checked: &Checked) -> Value {
    let mention = |f: &Finding| json!({"kind": f.mention.kind(), "name": f.mention.name(), "state": f.state.name(), "since": f.since.map(|d| d.to_string()), "now": f.now});
    let mentions: Vec<Value> = checked.findings.iter().map(mention).collect();
    json!({"id": checked.id, "state": checked.state().name(), "said": checked.day.to_string(), "mentions": mentions})
}

fn print(app: &App, snapshots: &[Snapshot], checked: &[Checked]) {
    let ui = &app.ui;
    let mut counts: BTreeMap<State, usize> = BTreeMap::new();
    let mut worst_first: Vec<&Checked> = checked.iter().collect();
    worst_first.sort_by_key(|c| std::cmp::Reverse(c.state()));
    for one in worst_first {
        *counts.entry(one.state()).or_default() += 1;
        if one.state() == State::Unknown && !ui.wishes.verbose {
            continue;
        }
        let summary = snapshots.iter().find_map(|s| s.entry(&one.id)).map(|e| e.memory.summary.clone()).unwrap_or_default();
        let color = match one.state() {
            State::Gone => style::BAD,
            State::Changed => style::WARN,
            State::Fresh => style::GOOD,
            State::Unknown => style::DIM,
        };
        let state = paint(color, &format!("{:<7}", one.state().name()));
        ui.row(&format!("{state} {}  {}", paint(style::HINT, one.id.as_str()), ui.foreign(&summary)));
        let shown = |f: &&Finding| f.state >= State::Changed || ui.wishes.verbose;
        for finding in one.findings.iter().filter(shown) {
            ui.hang(&paint(style::DIM, &format!("          {}", ui.foreign(&words(finding, one)))), 10);
        }
    }
    let get = |state| counts.get(&state).copied().unwrap_or_default();
    if checked.is_empty() {
        ui.say("no memory names a file, symbol, command or version");
        return;
    }
    let unknown = match get(State::Unknown) {
        0 => String::new(),
        n => format!(", {n} unknown"),
    };
    ui.say(&format!("{} fresh, {} changed, {} gone{unknown}", get(State::Fresh), get(State::Changed), get(State::Gone)));
}

/// `src/pay.rs changed on 2025-07-01, 21 days after this was said`
fn words(finding: &Finding, checked: &Checked) -> String {
    let name = finding.mention.name();
    let after = |day: jiff::civil::Date| {
        let days = (day - checked.day).get_days();
        format!(" on {day}, {} after this was said", count(usize::try_from(days).unwrap_or_default(), "day", "days"))
    };
    match (finding.state, finding.since, &finding.now) {
        (State::Changed, Some(day), _) => format!("{name} changed{}", after(day)),
        (State::Changed, None, Some(now)) => format!("{name} is {now} now"),
        (State::Gone, Some(day), _) if day >= checked.day => format!("{name} went{}", after(day)),
        (State::Gone, ..) => format!("{name} is not there any more"),
        (state, ..) => format!("{name} is {}", state.name()),
    }
}
