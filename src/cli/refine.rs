//! `refine`: what stored entries could say better, each as a proposal to accept.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::test::Tested;
use super::ui::{Ui, count, diff, paint, style};
use crate::error::{Error, Result};
use crate::extract::backend::{self, Wanted};
use crate::extract::{Known, Unfinished, refine};
use crate::model::{Change, Id, Layer, Memory, State};
use crate::reconcile::lint::{self, Proposal};
use crate::reconcile::proposals::{self, mark};
use crate::store::{Entry, Snapshot, Store};
use crate::text::{redact, words};

/// Look through the store again: propose rewrites, merges, ends and questions, and apply what you accept
///
/// Each proposal is shown as a word diff. What you decline is not proposed again until the entry changes.
#[derive(Debug, Args)]
pub struct RefineArgs {
    /// Only these entries; ids, or their first four characters
    #[arg(long, value_name = "ID")]
    id: Vec<String>,
    /// Who reads: claude, or rules for the local checks only [default: claude if a key is set]
    #[arg(long, value_name = "NAME")]
    extractor: Option<String>,
    /// Stop before it costs more than this
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Answer from recorded files
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    /// Write the requests as files and send none
    #[arg(long, value_name = "DIR")]
    dump_requests: Option<PathBuf>,
    #[command(flatten)]
    tested: Tested,
}

/// What a person said to a proposal.
enum Answer {
    Yes,
    /// A new summary, typed in answer to a question.
    Text(String),
    No,
    Quit,
}

impl RefineArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let snapshot = app.read(&store, &app.project(&store)?)?;
        let only = self.id.iter().map(|id| app.find(&store, id).map(|(_, e)| e.memory.id)).collect::<Result<Vec<_>>>()?;
        let mut proposals = lint::lint(&snapshot, &app.env.today());
        // A model costs something, and so does an answer.
        let looks = app.ui.wishes.dry_run || self.dump_requests.is_some() || (app.ui.wishes.json && !app.ui.wishes.yes);
        if !looks {
            self.tested.check(&store, [snapshot.project.as_str()])?;
        }
        let read = self.ask_model(app, &snapshot, &only, &mut proposals)?;
        proposals.retain(|p| !snapshot.catalogue.declined.contains(&p.key));
        proposals.retain(|p| only.is_empty() || p.ids.iter().any(|id| only.contains(id)));
        if app.ui.wishes.json {
            let rows: Vec<Value> = proposals.iter().map(|p| json_of(&snapshot, p)).collect();
            app.ui.object("refine", fields([("proposals", rows.into())]));
            return if app.ui.wishes.yes { decide(app, &store, &snapshot, &proposals, read, self.tested).map(drop) } else { Ok(()) };
        }
        if proposals.is_empty() {
            decide(app, &store, &snapshot, &proposals, read, self.tested)?;
            app.ui.say("nothing to refine");
            return Ok(());
        }
        if app.ui.wishes.dry_run {
            for proposal in &proposals {
                show(&app.ui, &snapshot, proposal);
            }
            app.ui.say(&format!("{}; nothing was changed", count(proposals.len(), "proposal", "proposals")));
            return Ok(());
        }
        let accepted = decide(app, &store, &snapshot, &proposals, read, self.tested)?;
        let note = if accepted > 0 { "; `claude-mem undo` takes it back" } else { "" };
        app.ui.say(&format!("{accepted} of {} accepted{note}", count(proposals.len(), "proposal", "proposals")));
        Ok(())
    }
}

impl RefineArgs {
    /// Lets the model read the entries it has not read as they stand, if there is a model; adds its proposals and gives
    /// the marks of what was read.
    fn ask_model(&self, app: &App, snapshot: &Snapshot, only: &[Id], proposals: &mut Vec<Proposal>) -> Result<Vec<String>> {
        let wanted = Wanted {
            extractor: self.extractor.as_deref(),
            max_cost: self.max_cost,
            replay: self.replay.as_deref(),
            dump: self.dump_requests.as_deref(),
            ..Wanted::default()
        };
        if !backend::asks_model(&wanted, &app.config, app.env) {
            app.ui.detail("no model is asked: there is no API key");
            return Ok(Vec::new());
        }
        let fresh = snapshot.entries.iter().map(|e| &e.memory).filter(|m| m.state == State::Valid && m.layer != Layer::Transient);
        let fresh = fresh.filter(|m| only.is_empty() || only.contains(&m.id)).filter(|m| !snapshot.catalogue.declined.contains(&mark(m)));
        let entries: Vec<Known> = fresh
            .take(refine::ENTRIES_MAX)
            .enumerate()
            .map(|(i, m)| Known { alias: format!("m{:02}", i + 1), memory: m.clone() })
            .collect();
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let wire = backend::wire(&wanted, &app.config, app.env, &app.home)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::failure(format!("the runtime for network calls cannot start: {e}")))?;
        let answer = runtime.block_on(refine::refine(wire.as_ref(), &entries, &app.env.today(), &snapshot.project))?;
        if let Some(error) = answer.unfinished.as_ref().and_then(Unfinished::error) {
            return Err(error);
        }
        let (found, left_out) = proposals::proposals(&answer.operations, &entries);
        for note in answer.notes.iter().chain(&answer.left_out).chain(&left_out) {
            app.ui.detail(&app.ui.foreign(note));
        }
        if let Some(usd) = answer.usage.cost_usd.filter(|usd| *usd > 0.0) {
            app.ui.say(&format!("read {} for ≈${usd:.4}", count(entries.len(), "memory", "memories")));
        }
        proposals.extend(found);
        Ok(if answer.unfinished.is_some() { Vec::new() } else { entries.iter().map(|k| mark(&k.memory)).collect() })
    }
}

/// Shows each, asks, and commits all answers as one, with the marks of what a model has read. Gives the number accepted.
///
/// Asking a model and a person takes time, and others write meanwhile. So the answers are planned on the entries as they are
/// then; a proposal for an entry that says something else by now is left out.
fn decide(app: &App, store: &Store, snapshot: &Snapshot, proposals: &[Proposal], read: Vec<String>, tested: Tested) -> Result<usize> {
    let (mut accepted, mut declined) = (Vec::new(), read);
    for (number, proposal) in proposals.iter().enumerate() {
        if !app.ui.wishes.json {
            app.ui.line(&paint(style::DIM, &format!("{} of {}", number + 1, proposals.len())));
            show(&app.ui, snapshot, proposal);
        }
        let question = matches!(proposal.kind, lint::Kind::Question { .. } | lint::Kind::Doubt { .. });
        match ask(app, question)? {
            Answer::Yes => accepted.push((proposal, None)),
            Answer::Text(summary) => accepted.push((proposal, Some(summary))),
            Answer::No => declined.push(proposal.key.clone()),
            Answer::Quit => break,
        }
    }
    if accepted.is_empty() && declined.is_empty() {
        return Ok(0);
    }
    let (mut made, mut late) = (0, Vec::new());
    let done = tested.update(app, store, &snapshot.project, &mut |now| {
        let mut plan = app.plan(now, "refine");
        (made, late) = (0, Vec::new());
        // With what was planned so far, so that two proposals for one entry are both heeded.
        let mut ahead = now.clone();
        for (proposal, summary) in &accepted {
            if let Some(id) = proposal.ids.iter().find(|id| says(snapshot, id) != says(now, id)) {
                late.push(id.clone());
                continue;
            }
            let changes = match summary {
                None => lint::changes(&ahead, proposal),
                Some(summary) => {
                    let entry = proposal.ids.first().and_then(|id| ahead.entry(id));
                    let amend = |e: &Entry| Change::Amend(Memory { summary: summary.clone(), ..e.memory.clone() });
                    entry.map(amend).into_iter().collect()
                }
            };
            for change in &changes {
                let Change::Amend(memory) = change else { continue };
                ahead.entries.iter_mut().filter(|e| e.memory.id == memory.id).for_each(|e| e.memory.clone_from(memory));
            }
            plan.changes.extend(changes);
            made += 1;
        }
        // What the model has read and then rewritten is its own text: it is not read again.
        let was_read = |id: &&Id| snapshot.entry(id).is_some_and(|e| declined.contains(&mark(&e.memory)));
        let rewritten = accepted.iter().flat_map(|(proposal, _)| &proposal.ids).filter(was_read);
        let marks = rewritten.filter(|id| !late.contains(id)).filter_map(|id| ahead.entry(id)).map(|e| mark(&e.memory));
        let keys: Vec<String> = declined.iter().cloned().chain(marks).collect();
        if !keys.is_empty() {
            plan.changes.push(Change::Decline { keys });
        }
        Ok(plan)
    });
    if let Err(error) = done {
        // What was declined and read stays so; what a refused proposal was about has to be read again.
        let refused = accepted.iter().flat_map(|(proposal, _)| &proposal.ids).filter_map(|id| snapshot.entry(id));
        let again: Vec<String> = refused.map(|e| mark(&e.memory)).collect();
        declined.retain(|key| !again.contains(key));
        if !declined.is_empty() {
            app.update(store, &snapshot.project, &mut |now| {
                let mut plan = app.plan(now, "refine");
                plan.changes.push(Change::Decline { keys: declined.clone() });
                Ok(plan)
            })?;
        }
        return Err(error);
    }
    for id in late {
        app.ui.warn(&format!("{id} was changed meanwhile, so a proposal for it was left out; refine looks at it again"));
    }
    Ok(made)
}

/// What an entry says, without the words of proof that may come to it at any time.
fn says(snapshot: &Snapshot, id: &Id) -> Option<Memory> {
    snapshot.entry(id).map(|e| Memory { evidence: Vec::new(), ..e.memory.clone() })
}

const CHOICES: &[(&str, &str)] = &[
    ("yes", "change it as shown"),
    ("no", "leave it; this is not proposed again until the entry changes"),
    ("quit", "stop here; what was answered counts"),
];

fn ask(app: &App, question: bool) -> Result<Answer> {
    // With --yes every proposal is accepted; a question that nobody answers is noted as asked.
    if app.ui.wishes.yes {
        return Ok(if question { Answer::No } else { Answer::Yes });
    }
    if question {
        loop {
            let Some(text) = app.ui.answer("say it better (empty: leave as it is, q: quit):")? else { return Ok(Answer::Quit) };
            match text.trim() {
                "" => return Ok(Answer::No),
                "q" => return Ok(Answer::Quit),
                text if words::width(text) > words::MAX_WIDTH => {
                    app.ui.warn(&format!("that is wider than {:.0} wide characters; say it shorter", words::MAX_WIDTH));
                }
                text if redact::has_secret(text) => app.ui.warn("that looks like a secret, and secrets are not stored"),
                text => return Ok(Answer::Text(text.to_owned())),
            }
        }
    }
    Ok(match app.ui.choose("apply?", CHOICES)? {
        "yes" => Answer::Yes,
        "no" => Answer::No,
        _ => Answer::Quit,
    })
}

fn summaries<'a>(snapshot: &'a Snapshot, proposal: &Proposal) -> Vec<&'a Memory> {
    proposal.ids.iter().filter_map(|id| snapshot.entry(id)).map(|e| &e.memory).collect()
}

fn show(ui: &Ui, snapshot: &Snapshot, proposal: &Proposal) {
    let memories = summaries(snapshot, proposal);
    ui.line(&format!("{} {}", paint(style::STRONG, verb(&proposal.kind)), paint(style::DIM, &format!("({})", proposal.reason))));
    match (&proposal.kind, memories.as_slice()) {
        (lint::Kind::Rewrite { summary }, [one]) => {
            let (old, new) = diff::words(ui, &one.summary, summary);
            ui.line(&format!("  {} {old}\n  {} {new}", paint(style::BAD, "-"), paint(style::GOOD, "+")));
        }
        (lint::Kind::Merge { into }, all) => {
            for memory in all {
                let sign = if memory.id == *into { paint(style::GOOD, "stays") } else { paint(style::BAD, "joins it") };
                ui.line(&format!("  {} {} ({sign})", paint(style::HINT, memory.id.as_str()), ui.foreign(&memory.summary)));
            }
        }
        (kind, all) => {
            for memory in all {
                ui.line(&format!("  {} {}", paint(style::HINT, memory.id.as_str()), ui.foreign(&memory.summary)));
            }
            match kind {
                lint::Kind::SetUntil { day } => ui.line(&format!("  {} holds until {day}", paint(style::GOOD, "+"))),
                lint::Kind::Doubt { question } => ui.line(&format!("  {} {}", paint(style::WARN, "?"), ui.foreign(question))),
                lint::Kind::Question { ask } => {
                    let language = words::language(&all.first().map(|m| m.summary.clone()).unwrap_or_default());
                    ui.line(&format!("  {} {}", paint(style::WARN, "?"), ask.words(language)));
                }
                _ => {}
            }
        }
    }
}

fn verb(kind: &lint::Kind) -> &'static str {
    match kind {
        lint::Kind::Rewrite { .. } => "rewrite",
        lint::Kind::Merge { .. } => "merge",
        lint::Kind::Lapse => "mark as lapsed",
        lint::Kind::SetUntil { .. } => "set an end",
        lint::Kind::Conflict => "flag as a conflict",
        lint::Kind::Finish { .. } => "mark as done",
        lint::Kind::Question { .. } | lint::Kind::Doubt { .. } => "question",
    }
}

fn json_of(snapshot: &Snapshot, proposal: &Proposal) -> Value {
    let mut row = json!({"key": proposal.key, "ids": proposal.ids, "kind": verb(&proposal.kind), "reason": proposal.reason});
    match &proposal.kind {
        lint::Kind::Rewrite { summary } => row["summary"] = summary.as_str().into(),
        lint::Kind::Merge { into } => row["into"] = into.as_str().into(),
        lint::Kind::SetUntil { day } => row["until_date"] = day.as_str().into(),
        lint::Kind::Doubt { question } => row["question"] = question.as_str().into(),
        lint::Kind::Question { ask } => row["question"] = ask.words(words::Language::English).into(),
        lint::Kind::Finish { todo } => row["todo"] = todo.as_str().into(),
        lint::Kind::Lapse | lint::Kind::Conflict => {}
    }
    row["summaries"] = summaries(snapshot, proposal).iter().map(|m| Value::from(m.summary.as_str())).collect::<Vec<_>>().into();
    row
}
