//! `inject`: the right memories, to the clipboard or stdout.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, ids, nothing_yet, problem_line};
use super::review;
use super::ui::{count, paint, style};
use super::usage::at_least_one;
use crate::clipboard;
use crate::error::{Error, Kind, Problem, Result};
use crate::model::{Change, Id};
use crate::pipeline::staleness;
use crate::recall::{self, Budget, Injection, Mode, Reason, Request};
use crate::store::{self, LeftOut, Snapshot, Store};
use crate::text::words::Language;

/// Give the next conversation what it should know
///
/// Copies to the clipboard, to be pasted into a new conversation; --print writes to stdout instead.
#[derive(Debug, Args)]
pub struct InjectArgs {
    /// standard: what holds; light: only lasting working memories; deep: also the last three days and what was rejected
    #[arg(long, short, value_name = "MODE")]
    mode: Option<String>,
    /// Only memories that match this word; may be repeated
    #[arg(long, short, value_name = "WORD")]
    keyword: Vec<String>,
    /// Size in tokens (estimated)
    #[arg(long, value_name = "TOKENS", value_parser = at_least_one)]
    budget: Option<usize>,
    /// Write to stdout instead of the clipboard
    #[arg(long)]
    print: bool,
    /// Say what would be chosen, why, and what is left out; with --print on stderr, beside the text
    #[arg(long)]
    explain: bool,
}

impl InjectArgs {
    fn request(&self, app: &App) -> Result<Request> {
        let mode = self.mode.as_deref().unwrap_or(app.config.text("inject.mode"));
        let mode = Mode::parse(mode)
            .ok_or_else(|| Error::new(Kind::Usage, format!("there is no mode `{mode}`")).hint("use standard, light or deep"))?;
        let language = match app.config.text("inject.language") {
            "en" => Some(Language::English),
            "zh" => Some(Language::Chinese),
            _ => None,
        };
        let budget = Budget::Tokens(self.budget.unwrap_or(app.config.number("inject.budget") as usize));
        Ok(Request { mode, keywords: self.keyword.clone(), budget, today: app.env.today(), language, aged: BTreeMap::new() })
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let request = self.request(app)?;
        let store = app.store()?;
        let snapshots = app.snapshots(&store, false)?;
        let announced = announce(app, &store, &snapshots);
        let mut told = announced.clone();
        let mut snapshots = app.given(&store, snapshots, &mut told);
        let mut injection = inject(app, &snapshots, &request);
        if !injection.conflicts.is_empty() {
            let pairs = count(injection.conflicts.len(), "pair of memories disagrees", "pairs of memories disagree");
            // Who only looks is told and not asked.
            let looks = self.print || self.explain || app.ui.wishes.dry_run;
            let decide = if looks { "; claude-mem review decides" } else { "" };
            app.ui.warn(&format!("{pairs}; both sides are shown as a question{decide}"));
            if app.ui.can_ask() && !looks && review::settle_pairs(app, &store, &injection.conflicts)? {
                snapshots = app.given(&store, app.snapshots(&store, false)?, &mut told);
                injection = inject(app, &snapshots, &request);
            }
        }
        // What was added or changed outside was announced.
        let told = |p: &&Problem| p.code == "hand_edit" && p.file.ends_with(".md");
        for problem in snapshots.iter().flat_map(|s| &s.problems).filter(|p| !told(p)) {
            app.ui.warn(&problem_line(&app.ui, problem));
        }
        if app.ui.wishes.json {
            app.ui.object("inject", json_of(&injection, &announced));
        } else if self.explain {
            self.explain(app, &snapshots, &injection);
        }
        if injection.text.is_empty() {
            if !app.ui.wishes.json {
                app.ui.say(&nothing(&snapshots, &request, &injection));
            }
            return Ok(());
        }
        if self.explain && !self.print && !app.ui.wishes.json {
            return Ok(());
        }
        if !app.ui.wishes.json {
            self.deliver(app, &injection)?;
        }
        let target = if self.print || app.ui.wishes.json { "stdout" } else { "clipboard" };
        receipt(app, &store, &snapshots, &request, &injection, target);
        Ok(())
    }

    fn explain(&self, app: &App, snapshots: &[Snapshot], injection: &Injection) {
        let summary = |id: &Id| snapshots.iter().find_map(|s| s.entry(id)).map(|e| app.ui.foreign(&e.memory.summary)).unwrap_or_default();
        for row in recall::explain(injection) {
            let sign = if row.said { paint(style::GOOD, "+") } else { paint(style::DIM, "-") };
            // The sides of a dispute share a line, and the first carries its size.
            let size = match (row.said, row.size) {
                (false, _) => String::new(),
                (true, 0) => ", on the line of the one it disagrees with".to_owned(),
                (true, size) => format!(", ≈{size} {}", injection.budget.unit()),
            };
            let why = row.why.replace("long_term", "long-term");
            let why = paint(style::DIM, &format!("({why}{size})"));
            let line = format!("{sign} {}  {} {why}", paint(style::HINT, row.id.as_str()), summary(&row.id));
            if self.print { app.ui.say(&line) } else { app.ui.hang(&line, 14) }
        }
    }

    fn deliver(&self, app: &App, injection: &Injection) -> Result<()> {
        if self.print || app.ui.wishes.dry_run {
            app.ui.data(&injection.text);
            return app.ui.written();
        }
        let what = format!("{}, ≈{} tokens", count(injection.items.len(), "memory", "memories"), injection.size());
        let file = app.state().join("injection.txt");
        let place = clipboard::Surroundings::of(app.env, app.ui.on_terminal(), app.env.program()?, file);
        let copied = clipboard::copy(&injection.text, &place)?;
        let where_to = match &copied.how {
            clipboard::How::Arboard => "copied; paste it into the new conversation".to_owned(),
            clipboard::How::Osc52 => "sent to the terminal's clipboard; paste it into the new conversation".to_owned(),
            clipboard::How::File(path) => format!("written to {}", path.display()),
        };
        app.ui.say(&format!("{what}: {where_to}"));
        if let Some(note) = &copied.note {
            app.ui.say(&paint(style::DIM, &app.ui.foreign(note)));
        }
        Ok(())
    }
}

/// Says once what was added or changed outside, and gives its ids.
fn announce(app: &App, store: &Store, snapshots: &[Snapshot]) -> Vec<Id> {
    let mut said = Vec::new();
    for snapshot in snapshots {
        let Some(text) = recall::announce::announcement(snapshot, store.trust_hand_edits) else { continue };
        app.ui.warn(&app.ui.foreign(&text));
        said.extend(snapshot.unannounced.iter().cloned());
        let noted = app.update(store, &snapshot.project, &mut |now| {
            let mut plan = app.plan(now, "inject");
            plan.changes.push(Change::Announced { ids: now.unannounced.clone() });
            Ok(plan)
        });
        if let Err(error) = noted {
            app.ui.detail(&format!("it will be said again: {error}"));
        }
    }
    said
}

/// The text, with a word on memories that name files which changed since.
fn inject(app: &App, snapshots: &[Snapshot], request: &Request) -> Injection {
    let refs: Vec<&Snapshot> = snapshots.iter().collect();
    let injection = recall::inject(&refs, request);
    let aged = app.repo(snapshots).map(|repo| staleness::aged(staleness::said(&refs, &injection), &repo, &request.today));
    match aged.filter(|aged| !aged.is_empty()) {
        Some(aged) => recall::inject(&refs, &Request { aged, ..request.clone() }),
        None => injection,
    }
}

fn json_of(injection: &Injection, announced: &[Id]) -> serde_json::Map<String, Value> {
    let items: Vec<Value> = injection.items.iter().map(|i| json!({"id": i.id, "why": i.why, "score": i.score, "size": i.size})).collect();
    let left_out: Vec<Value> = injection.left_out.iter().map(|l| json!({"id": l.id, "reason": l.reason.words()})).collect();
    let conflicts: Vec<Value> = injection.conflicts.iter().map(|(a, b)| json!([a, b])).collect();
    fields([
        ("text", injection.text.clone().into()),
        ("items", items.into()),
        ("left_out", left_out.into()),
        ("conflicts", conflicts.into()),
        ("announced", ids(announced)),
        ("size", injection.size().into()),
    ])
}

/// The smallest budget in which something is said.
fn least_budget(snapshots: &[Snapshot], request: &Request) -> Option<usize> {
    /// More than any entry takes with what stands around it.
    const ENOUGH: usize = 1 << 14;
    let says = |most: usize| !inject_within(snapshots, request, most).text.is_empty();
    let (mut low, mut high) = (request.budget.most(), ENOUGH);
    if low >= high || !says(high) {
        return None;
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if says(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

fn inject_within(snapshots: &[Snapshot], request: &Request, most: usize) -> Injection {
    let refs: Vec<&Snapshot> = snapshots.iter().collect();
    recall::inject(&refs, &Request { budget: Budget::Tokens(most), ..request.clone() })
}

/// Why there is nothing to give, and what would help.
fn nothing(snapshots: &[Snapshot], request: &Request, injection: &Injection) -> String {
    let cut = injection.left_out.iter().filter(|l| l.reason == Reason::Budget).count();
    let all = snapshots.iter().map(|s| s.entries.len()).sum::<usize>();
    match (cut, snapshots.first()) {
        (1.., _) => {
            let (memories, most) = (count(cut, "memory", "memories"), request.budget.most());
            let least =
                least_budget(snapshots, request).map_or_else(|| "raise --budget".to_owned(), |n| format!("--budget {n} is the least"));
            format!("none of {memories} fits into {most} tokens; {least}")
        }
        (0, Some(first)) if all == 0 => nothing_yet(&first.project),
        (0, _) if !request.keywords.is_empty() => "no memory matches these keywords".to_owned(),
        (0, _) => format!("none of {} is for the mode {} and holds", count(all, "memory", "memories"), request.mode.name()),
    }
}

/// Keeps what was given, and counts it as use. A store that cannot be written does not keep the text from its reader.
fn receipt(app: &App, store: &Store, snapshots: &[Snapshot], request: &Request, injection: &Injection, target: &str) {
    if app.ui.wishes.dry_run {
        return;
    }
    let left_out = injection.left_out.iter().map(|l| LeftOut { id: l.id.clone(), why: l.reason.words().to_owned() });
    let line = store::Injection {
        at: app.env.now(),
        project: snapshots.first().map(|s| s.project.clone()).unwrap_or_default(),
        mode: request.mode.name().to_owned(),
        target: target.to_owned(),
        session: None,
        ids: injection.items.iter().map(|i| i.id.clone()).collect(),
        tokens: injection.size() as u64,
        left_out: left_out.collect(),
    };
    let kept = store.record_injection(&line).and_then(|()| {
        for snapshot in snapshots {
            let mine: Vec<_> = injection.items.iter().filter(|i| snapshot.entry(&i.id).is_some()).map(|i| i.id.clone()).collect();
            if !mine.is_empty() {
                store.note_access(&snapshot.project, &line.at, &mine)?;
            }
        }
        Ok(())
    });
    if let Err(error) = kept {
        app.ui.warn(&format!("this use could not be noted: {error}"));
    }
}
