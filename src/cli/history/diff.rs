//! `diff`: which entries two moments do not share.

use std::collections::BTreeMap;

use clap::Args;
use jiff::{SignedDuration, Timestamp, civil::Date};
use serde_json::{Value, json};

use super::{names, scope};
use crate::cli::app::{App, fields, json as to_json, layer_name};
use crate::cli::ui::{count, diff, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::plan::MemoryRecord;
use crate::model::{Id, Memory};
use crate::pipeline::life::{Step, What};
use crate::store::past::{Change, Past, Side, State, Version};

/// Show which entries were added, removed and changed between two moments
///
/// A moment is the number of a commit (as that left it), a day, or an age such as 2d, 3w or 12h. A day as FROM counts from its
/// beginning, as TO to its end. Without TO: until now. Without both: since the last commit, hence what was typed by hand.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// From when on [default: the last commit]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// Until when [default: now]
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
}

/// A moment as typed.
enum Moment {
    Commit(u64),
    Time(Timestamp),
}

impl DiffArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let within = scope(app, &store, self.all_projects)?;
        let past = store.past()?;
        let from = match &self.from {
            Some(text) => state(app, &past, &moment(app, text, false)?)?,
            None => past.state(past.last())?,
        };
        let to = match self.to.as_deref() {
            Some(text) => state(app, &past, &moment(app, text, true)?)?,
            None => past.now()?,
        };
        if from.behind.zip(to.behind).is_some_and(|(from, to)| from > to) {
            return Err(Error::new(Kind::Usage, "the first moment is later than the second").hint("swap them"));
        }
        let names = names(&store, within.as_deref())?;
        let mine = |name: &str| names.as_ref().is_none_or(|names| names.knows(name));
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for change in past.changes(&from, &to)? {
            let Some((project, _)) = change.after.place().or(change.before.place()) else { continue };
            groups.entry(project.to_owned()).or_default().changes.push(change);
        }
        for (project, memory) in &to.typed {
            groups.entry(project.clone()).or_default().typed.push(memory.clone());
        }
        groups.retain(|project, _| mine(project));
        self.print(app, &past, (&from, &to), &groups)
    }

    fn print(&self, app: &App, past: &Past, (from, to): (&State, &State), groups: &BTreeMap<String, Group>) -> Result<()> {
        if app.ui.wishes.json {
            let rows = groups.iter().map(|(project, group)| group.json(project)).collect::<Result<Vec<_>>>()?;
            let end = |state: &State| {
                let commit = past.commits().iter().find(|m| Some(m.seq) == state.behind);
                json!({"commit": state.behind, "at": commit.map(|m| m.at.clone())})
            };
            app.ui.object("diff", fields([("from", end(from)), ("to", end(to)), ("projects", rows.into())]));
            return Ok(());
        }
        let name = |state: &State| match state.behind {
            None => "now".to_owned(),
            Some(0) => "the beginning".to_owned(),
            Some(seq) => match past.commits().iter().find(|m| m.seq == seq) {
                Some(m) => format!("commit {seq} ({}, {})", m.command, app.env.local(&m.at)),
                None => format!("commit {seq}"),
            },
        };
        let ends = format!("{} → {}", name(from), name(to));
        if groups.is_empty() {
            app.ui.say(&format!("no entry differs: {}", app.ui.foreign(&ends)));
            if let Some(last) = past.commits().last().filter(|_| self.from.is_none()) {
                app.ui.say(&format!("`claude-mem diff {}` shows what the last commit did", last.seq - 1));
            }
            return Ok(());
        }
        app.ui.line(&paint(style::DIM, &app.ui.foreign(&ends)));
        for (project, group) in groups {
            group.show(app, project);
        }
        Ok(())
    }
}

/// What a person typed as a moment. `end`: a day is meant to its end.
fn moment(app: &App, text: &str, end: bool) -> Result<Moment> {
    let wrong = || {
        Error::new(Kind::Usage, format!("`{text}` is no moment"))
            .hint("use the number of a commit, a day such as 2026-06-15, or an age such as 2d, 3w, 12h")
    };
    if let Ok(seq) = text.parse::<u64>() {
        return Ok(Moment::Commit(seq));
    }
    let now = app.env.timestamp();
    if let Some((number, unit)) = text.char_indices().last().and_then(|(at, _)| Some((text.get(..at)?, text.get(at..)?)))
        && let Ok(number) = number.parse::<i64>()
    {
        let hours = match unit {
            "h" => 1,
            "d" => 24,
            "w" => 24 * 7,
            _ => return Err(wrong()),
        };
        let seconds = number.checked_mul(hours * 3600).ok_or_else(wrong)?;
        return Ok(Moment::Time(now.checked_sub(SignedDuration::from_secs(seconds)).map_err(|_| wrong())?));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(Moment::Time(at));
    }
    let day: Date = text.parse().map_err(|_| wrong())?;
    let day = if end { day.tomorrow().map_err(|_| wrong())? } else { day };
    app.env.midnight(day).map(Moment::Time).ok_or_else(wrong)
}

/// The state at a moment.
fn state(app: &App, past: &Past, moment: &Moment) -> Result<State> {
    let begins = past.begins();
    let first = past.commits().first().map(|m| app.env.local(&m.at)).unwrap_or_default();
    let too_old = || format!("the history begins behind commit {begins}, with the one of {first}");
    match moment {
        Moment::Commit(seq) if *seq < begins => {
            Err(Error::new(Kind::Usage, too_old()).hint(format!("`claude-mem diff {begins}` goes back as far as it can")))
        }
        Moment::Commit(seq) if *seq > past.last() => {
            Err(Error::new(Kind::Usage, format!("there is no commit {seq}; the last one is {}", past.last()))
                .hint("`claude-mem history` lists them"))
        }
        Moment::Commit(seq) => past.state(*seq),
        Moment::Time(time) => {
            let by_then = |at: &str| at.parse::<Timestamp>().is_ok_and(|at| at < *time);
            let last = past.commits().iter().rev().find(|m| by_then(&m.at)).map(|m| m.seq);
            if last.is_none() && begins > 0 {
                app.ui.warn(&format!("{}; it is shown from there", too_old()));
            }
            past.state(last.unwrap_or(begins))
        }
    }
}

/// The changes of a project.
#[derive(Default)]
struct Group {
    changes: Vec<Change>,
    /// Entries typed by hand that have no id yet.
    typed: Vec<Memory>,
}

impl Group {
    fn show(&self, app: &App, project: &str) {
        let ui = &app.ui;
        let steps: Vec<Step> = self.changes.iter().map(|c| Step::between(&c.before, &c.after)).collect();
        let number = |what: What| steps.iter().filter(|s| s.what.contains(&what)).count();
        let (added, removed) = (number(What::Came) + self.typed.len(), number(What::Gone));
        let changed = steps.len() + self.typed.len() - added - removed;
        let parts = [(added, "added"), (removed, "removed"), (changed, "changed")];
        let sizes: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let sum = count(steps.len() + self.typed.len(), "entry", "entries");
        ui.line(&format!("{} {}", paint(style::STRONG, &ui.foreign(project)), paint(style::DIM, &format!("{sum}: {}", sizes.join(", ")))));
        for (change, step) in self.changes.iter().zip(&steps) {
            one(app, change, step);
        }
        for memory in &self.typed {
            ui.line(&format!("{} {}", paint(style::GOOD, "+"), line(app, "no id yet ", memory)));
        }
    }

    fn json(&self, project: &str) -> Result<Value> {
        let record = |v: &Version| {
            to_json(&MemoryRecord { file: Some(format!("{}/{}", v.project, v.file)), ..MemoryRecord::of(&v.memory, &v.project) })
        };
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for change in &self.changes {
            let side = |side: &Side| match side.version() {
                Some(version) => record(version),
                None => Ok(json!({"id": change.id, "file": side.place().map(|(project, file)| format!("{project}/{file}")), "lost": true})),
            };
            match (&change.before, &change.after) {
                (Side::Absent, after) => added.push(side(after)?),
                (before, Side::Absent) => removed.push(side(before)?),
                (before, after) => {
                    let step = Step::between(before, after);
                    let what: Vec<&str> = step.what.iter().map(|w| w.name()).collect();
                    changed.push(json!({"id": change.id, "what": what, "fields": step.fields, "quotes": step.quotes, "before": side(before)?, "after": side(after)?}));
                }
            }
        }
        for memory in &self.typed {
            added.push(to_json(&MemoryRecord { id: String::new(), ..MemoryRecord::of(memory, project) })?);
        }
        Ok(json!({"project": project, "added": added, "removed": removed, "changed": changed}))
    }
}

/// One entry on one line.
fn line(app: &App, id: &str, memory: &Memory) -> String {
    let what = format!("{:<10} {:<9}", memory.kind.name(), layer_name(memory.layer));
    format!("{}  {what}  {}", paint(style::HINT, id), app.ui.foreign(&memory.summary))
}

fn one(app: &App, change: &Change, step: &Step) {
    let ui = &app.ui;
    let id = |id: &Id| id.as_str().to_owned();
    let lost =
        |side: &Side| side.place().map(|(project, file)| format!("{project}/{file}, in words that are not kept")).unwrap_or_default();
    let shown = |side: &Side| match side.version() {
        Some(version) => line(app, &id(&change.id), &version.memory),
        None => format!("{}  {}", paint(style::HINT, change.id.as_str()), ui.foreign(&lost(side))),
    };
    match (&change.before, &change.after) {
        (Side::Absent, after) => ui.line(&format!("{} {}", paint(style::GOOD, "+"), shown(after))),
        (before, Side::Absent) => ui.line(&format!("{} {}", paint(style::BAD, "-"), shown(before))),
        (before, after) => {
            ui.line(&format!("{} {}", paint(style::WARN, "~"), shown(after)));
            if let (Some((old, from)), Some((new, to))) = (before.place(), after.place())
                && (old, from) != (new, to)
            {
                ui.line(&format!("    {}", paint(style::DIM, &ui.foreign(&format!("{old}/{from} → {new}/{to}")))));
            }
            diff::fields(ui, &step.fields, "    ");
            for quote in &step.quotes {
                ui.line(&format!("    {} {}", paint(style::GOOD, "+"), ui.foreign(&super::life::quoted(quote))));
            }
            if before.version().is_none() {
                ui.line(&format!("    {}", paint(style::DIM, &ui.foreign(&format!("before: {}", lost(before))))));
            }
        }
    }
}
