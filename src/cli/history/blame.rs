//! `blame`: the words that made us believe a memory.

use clap::Args;
use serde_json::{Value, json};

use super::find_ever;
use super::life::quoted;
use crate::cli::app::{App, fields, layer_name};
use crate::cli::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::Origin;
use crate::pipeline::belief::{From, Words, words_behind};
use crate::pipeline::ingest::STDIN;
use crate::pipeline::life::{Event, Life, What, life};
use crate::store::By;
use crate::store::past::{Side, State, Version};

/// Show the words that made us believe a memory: who said them, in which conversation and turn, and what was said around them
///
/// The turns around a quote come from the transcript if it is still there, else from kept turns (search.keep_turns).
#[derive(Debug, Args)]
pub struct BlameArgs {
    /// Id, or its first four characters; the memory may be gone
    #[arg(value_name = "ID")]
    id: String,
}

impl BlameArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let past = store.past()?;
        let now = past.now()?;
        let life = life(&past, &now, &find_ever(&past, &now, &self.id)?)?;
        let Some(last) = life.last() else {
            return Err(Error::new(Kind::Failure, format!("the words of {} are not kept any more", life.id))
                .hint(format!("`claude-mem history {}` shows what is", life.id)));
        };
        drop(past);
        let words = words_behind(&store, &now, &last.project, &last.memory)?;
        let notes = notes(app, &life, last, &now);
        if app.ui.wishes.json {
            let rows: Vec<Value> = words.iter().map(row).collect();
            app.ui.object(
                "blame",
                fields([
                    ("id", life.id.as_str().into()),
                    ("summary", last.memory.summary.as_str().into()),
                    ("project", last.project.as_str().into()),
                    ("origin", last.memory.origin.name().into()),
                    ("gone", (life.now == Side::Absent).into()),
                    ("words", rows.into()),
                    ("notes", notes.into()),
                ]),
            );
            return Ok(());
        }
        let ui = &app.ui;
        ui.line(&paint(style::STRONG, &ui.foreign(&last.memory.summary)));
        let place = format!("{}, {}, {}", last.memory.kind, layer_name(last.memory.layer), last.project);
        ui.line(&format!("  {}  {}", paint(style::HINT, life.id.as_str()), ui.foreign(&place)));
        for note in &notes {
            ui.line(&format!("  {}", paint(style::WARN, &ui.foreign(note))));
        }
        for words in &words {
            show(app, words);
        }
        Ok(())
    }
}

/// What is to be known of the words as a whole.
fn notes(app: &App, life: &Life, last: &Version, now: &State) -> Vec<String> {
    let mut notes = Vec::new();
    let none = last.memory.evidence.is_empty();
    match last.memory.origin {
        Origin::Manual => notes.push("typed by hand; nobody said it in a conversation".to_owned()),
        Origin::Import if none => notes.push("imported, without words of proof".to_owned()),
        Origin::Import => notes.push("imported, and its quotes with it".to_owned()),
        _ if none => notes.push("there are no words of proof in it".to_owned()),
        _ => {}
    }
    if life.now == Side::Absent {
        notes.push("it is gone; these are the last words that are kept".to_owned());
    }
    let key = (last.project.clone(), life.id.clone());
    let known = now.catalogues.get(&last.project).and_then(|c| c.memories.get(life.id.as_str()));
    let open = now.entries.get(&key).zip(known).is_some_and(|(place, known)| place.digest != known.digest);
    if open || known.is_some_and(|known| known.edited) {
        notes.push("changed in its file by hand since; its quotes cannot be checked any more".to_owned());
    }
    for event in life.events.iter().filter(|e| is_reworded(e)) {
        let Some(manifest) = event.commit.as_ref().filter(|m| By::of(&m.command) != By::Hand) else { continue };
        let by = By::of(&manifest.command).name();
        let command = if by == manifest.command { String::new() } else { format!(", {}", manifest.command) };
        notes.push(format!("reworded in commit {} ({by}{command}) on {}", manifest.seq, app.env.local(&manifest.at)));
    }
    notes
}

/// Whether an event changed what it says, not only what is noted about it.
fn is_reworded(event: &Event) -> bool {
    let says = |field: &str| matches!(field, "summary" | "why" | "not" | "apply");
    event.step.what.contains(&What::Changed) && event.step.fields.iter().any(|d| says(d.field))
}

/// Where the conversation of a quote is, in words.
fn conversation(app: &App, words: &Words) -> String {
    let Some(session) = &words.session else { return "of no known conversation".to_owned() };
    let Some(record) = &words.record else { return format!("conversation {session}, of which nothing else is known") };
    let there = if words.source_exists || record.source == STDIN { "" } else { " (not there any more)" };
    format!("conversation {session}, {}, read {} from {}{there}", record.format, app.env.local(&record.ingested), record.source)
}

fn show(app: &App, words: &Words) {
    let ui = &app.ui;
    ui.line(&format!("  {}", ui.foreign(&quoted(&words.evidence))));
    ui.line(&format!("    {}", paint(style::DIM, &ui.foreign(&conversation(app, words)))));
    for line in &words.around {
        let own = line.turn == words.evidence.turn;
        let text = format!("{:>4} {:<9} {}", line.turn, line.speaker, line.text);
        let text = ui.foreign(&text);
        ui.hang(&format!("    {} {}", if own { ">" } else { " " }, if own { text } else { paint(style::DIM, &text) }), 21);
    }
    match (words.from, words.source_exists) {
        (From::Kept, _) => ui.line(&format!("    {}", paint(style::DIM, "from the kept turns"))),
        (From::Nowhere, true) => ui.line(&format!("    {}", paint(style::WARN, "the quote is not in that turn of the file any more"))),
        (From::Nowhere, false) | (From::Transcript, _) => {}
    }
}

fn row(words: &Words) -> Value {
    let record = words.record.as_ref();
    json!({
        "quote": words.evidence.quote, "turn": words.evidence.turn, "speaker": words.evidence.speaker.name(), "session": words.session,
        "format": record.map(|r| r.format.clone()), "source": record.map(|r| r.source.clone()), "source_exists": words.source_exists,
        "ingested": record.map(|r| r.ingested.clone()), "around": words.around, "from": words.from.name(),
    })
}
