//! `history ID`: the life of one memory.

use serde_json::{Value, json};

use super::{find_ever, when_and_who};
use crate::cli::app::{App, fields, json as to_json, layer_name};
use crate::cli::ui::{diff, paint, style};
use crate::error::Result;
use crate::model::{Evidence, Memory};
use crate::pipeline::life::{Event, Life, What, life};
use crate::store::past::Side;
use crate::store::{By, Store};

/// Shows when it came, what each change did to it, and where the history ends.
pub(super) fn show(app: &App, store: &Store, id: &str) -> Result<()> {
    let past = store.past()?;
    let now = past.now()?;
    let life = life(&past, &now, &find_ever(&past, &now, id)?)?;
    if app.ui.wishes.json {
        let events: Vec<Value> = life.events.iter().map(row).collect();
        let place = life.now.place();
        app.ui.object(
            "history",
            fields([
                ("id", life.id.as_str().into()),
                ("summary", life.last().map(|v| v.memory.summary.clone()).into()),
                ("project", place.map(|(project, _)| project.to_owned()).into()),
                ("file", place.map(|(project, file)| format!("{project}/{file}")).into()),
                ("gone", (life.now == Side::Absent).into()),
                ("session", life.last().and_then(|v| v.memory.session.clone()).into()),
                ("begins", life.begins.into()),
                ("events", events.into()),
            ]),
        );
        return Ok(());
    }
    head(app, &life);
    for event in &life.events {
        tell(app, event);
    }
    let whole = life.events.first().is_some_and(|e| e.step.what.contains(&What::Came));
    if !whole {
        let first = past.commits().first().map(|m| format!(" of {}", app.env.local(&m.at))).unwrap_or_default();
        let ends = match past.commits().is_empty() {
            true => "there is no history yet, so nothing is known of its life".to_owned(),
            false => format!("the history begins behind commit {}, with the one{first}; what was before is not kept", life.begins),
        };
        app.ui.line(&paint(style::DIM, &format!("  {ends}")));
    }
    Ok(())
}

fn head(app: &App, life: &Life) {
    let ui = &app.ui;
    let id = paint(style::HINT, life.id.as_str());
    let Some(last) = life.last() else {
        ui.line(&format!("{id}  {}", paint(style::DIM, "its words are not kept any more")));
        return;
    };
    ui.line(&format!("{id}  {}", paint(style::STRONG, &ui.foreign(&last.memory.summary))));
    let Memory { kind, layer, state, .. } = last.memory;
    match life.now.place() {
        Some((project, file)) => {
            ui.line(&format!("  {kind}, {}, {state}, in {}", layer_name(layer), ui.foreign(&format!("{project}/{file}"))));
        }
        None => ui.line(&paint(style::WARN, "  it is gone")),
    }
    if let Some(session) = &last.memory.session {
        let turn = last.memory.evidence.iter().find(|e| e.session.is_none()).map(|e| format!(", turn {}", e.turn)).unwrap_or_default();
        ui.line(&format!("  from conversation {}{turn}", ui.foreign(session)));
    }
}

/// What an event did, in words.
fn words(event: &Event) -> String {
    let other = |of: &str| event.conflict.as_ref().map(|c| format!("{of} {} and {}", c.older, c.newer)).unwrap_or_default();
    let to = || event.after.place().map(|(project, file)| format!("{project}/{file}")).unwrap_or_default();
    let one = |what: &What| match what {
        What::Known => "was there already".to_owned(),
        What::Came => "came".to_owned(),
        What::Back => "came back".to_owned(),
        What::Gone => "went".to_owned(),
        What::Changed => "changed".to_owned(),
        What::Confirmed => "confirmed".to_owned(),
        What::Moved => format!("moved to {}", to()),
        What::Archived => format!("put into the archive, {}", to()),
        What::Unarchived => format!("taken out of the archive, to {}", to()),
        What::Conflict => {
            format!("{}{}", other("disagreement of"), event.conflict.as_ref().map(|c| format!(": {}", c.reason)).unwrap_or_default())
        }
        What::Settled => format!("{} settled: {}", other("disagreement of"), event.conflict.as_ref().map_or("", |c| c.state.as_str())),
    };
    event.step.what.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn tell(app: &App, event: &Event) {
    let ui = &app.ui;
    let begin = match &event.commit {
        Some(manifest) => when_and_who(app, manifest),
        None if event.step.what.contains(&What::Known) => format!("{:>4} {:16}  {:<16}", "", "", ""),
        None => format!("{:>4} {:16}  {:<16}", "", "not taken in yet", By::Hand.name()),
    };
    ui.line(&format!("{begin} {}", ui.foreign(&words(event))));
    let indent = "       ";
    match (event.before.version(), event.after.version()) {
        (None, Some(new)) if event.before == Side::Absent => {
            ui.line(&format!("{indent}{} {}", paint(style::GOOD, "+"), ui.foreign(&new.memory.summary)));
        }
        (Some(old), None) if event.after == Side::Absent => {
            ui.line(&format!("{indent}{} {}", paint(style::BAD, "-"), ui.foreign(&old.memory.summary)));
        }
        _ => diff::fields(ui, &event.step.fields, indent),
    }
    if [&event.before, &event.after].iter().any(|side| matches!(side, Side::Lost(..))) {
        ui.line(&format!("{indent}{}", paint(style::DIM, "the words of then are not kept")));
    }
    for quote in &event.step.quotes {
        ui.line(&format!("{indent}{}", ui.foreign(&quoted(quote))));
    }
}

/// A quote and where it was said.
pub(super) fn quoted(evidence: &Evidence) -> String {
    let place = evidence.session.as_deref().map(|s| format!("{s}, ")).unwrap_or_default();
    format!("“{}” ({place}turn {}, {})", evidence.quote, evidence.turn, evidence.speaker.name())
}

fn row(event: &Event) -> Value {
    let text = |side: &Side| side.version().map(|v| v.text.clone());
    let what: Vec<&str> = event.step.what.iter().map(|w| w.name()).collect();
    let by = match &event.commit {
        Some(manifest) => Some(By::of(&manifest.command).name()),
        None => (!event.step.what.contains(&What::Known)).then(|| By::Hand.name()),
    };
    json!({
        "commit": event.commit.as_ref().map(|m| m.seq), "at": event.commit.as_ref().map(|m| m.at.clone()),
        "command": event.commit.as_ref().map(|m| m.command.clone()), "by": by, "what": what,
        "takes_back": event.commit.as_ref().and_then(|m| m.takes_back.as_ref()).map(|b| b.seq),
        "fields": event.step.fields, "quotes": event.step.quotes,
        "conflict": event.conflict.as_ref().and_then(|c| to_json(c).ok()),
        "before": text(&event.before), "after": text(&event.after),
    })
}
