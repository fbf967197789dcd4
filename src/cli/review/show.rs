//! One item of the queue on a screen: both versions side by side where it is wide enough, with dates, quotes and what differs.

use crate::cli::app::{App, layer_name, reasons};
use crate::cli::ui::{Ui, columns, count, diff, paint, style};
use crate::model::{Difference, Memory, State, differences};
use crate::pipeline::review::{Item, Matter};
use crate::store::Snapshot;

/// Cells in front of a version.
const INDENT: usize = 2;
/// Most quotes of a memory.
const QUOTES: usize = 2;

/// Shows one.
pub fn show(app: &App, snapshot: Option<&Snapshot>, item: &Item) {
    let ui = &app.ui;
    ui.line(&paint(style::WARN, &headline(app, item)));
    let said = |memory: &Memory| ui.foreign(&memory.summary);
    let (old_text, new_text) = match (&item.other, &item.matter) {
        // What it leans on is no version of it.
        (Some(other), Matter::Dependant { .. }) => (said(other), said(&item.memory)),
        (Some(other), _) => diff::word_diff(&said(other), &said(&item.memory)),
        (None, _) => (String::new(), said(&item.memory)),
    };
    let (old_name, new_name) = names(item);
    let new = side(ui, snapshot, &item.memory, new_name, &new_text);
    let Some(other) = &item.other else {
        return stacked(ui, &new);
    };
    let old = side(ui, snapshot, other, old_name, &old_text);
    let changed: Vec<Difference> = match item.matter {
        Matter::Changed => differences(other, &item.memory).into_iter().filter(|d| d.field != "summary").collect(),
        _ => Vec::new(),
    };
    match ui.width().and_then(|screen| columns::width_of(screen - INDENT)) {
        Some(cells) => {
            let column = |side: &[String]| side.iter().flat_map(|text| columns::lines(text, cells)).collect::<Vec<_>>();
            for row in columns::beside(&column(&old), &column(&new), cells) {
                ui.row(&format!("{}{row}", " ".repeat(INDENT)));
            }
        }
        None => {
            stacked(ui, &old);
            stacked(ui, &new);
        }
    }
    // The summaries may be alike, and the columns do not show every field.
    diff::fields(ui, &changed, "  ");
}

fn stacked(ui: &Ui, lines: &[String]) {
    for (n, line) in lines.iter().enumerate() {
        let indent = if n == 0 { INDENT } else { 2 * INDENT };
        ui.hang(&format!("{}{line}", " ".repeat(indent)), indent);
    }
}

/// What is asked, in a few words.
pub fn headline(app: &App, item: &Item) -> String {
    let held = if app.config.switch("store.trust_hand_edits") { "" } else { ", and held back until you take it over" };
    match &item.matter {
        Matter::Conflict => format!("disagree: {}", app.ui.foreign(&item.reason)),
        Matter::Candidate(codes) => format!("not sure: {}", reasons(&app.ui, codes)),
        Matter::Dependant { .. } => "leans on something that was replaced: does it still hold?".to_owned(),
        Matter::Added => format!("added outside claude-mem{held}"),
        Matter::Changed => format!("changed outside claude-mem{held}"),
        Matter::Imported => "imported, and nobody has confirmed it here".to_owned(),
        Matter::Vague { .. } => format!("vague: {}", app.ui.foreign(&item.reason)),
    }
}

fn names(item: &Item) -> (&'static str, &'static str) {
    match item.matter {
        Matter::Conflict => ("old", "new"),
        Matter::Changed if item.other.is_some() => ("before", "now"),
        Matter::Dependant { .. } if item.other.is_some() => ("replaced", "leans on it"),
        _ => ("", ""),
    }
}

/// The lines of one version; the summary comes with its marks.
fn side(ui: &Ui, snapshot: Option<&Snapshot>, memory: &Memory, name: &str, summary: &str) -> Vec<String> {
    let entry = snapshot.and_then(|s| s.entry(&memory.id));
    let name = if name.is_empty() { String::new() } else { format!("{} ", paint(style::STRONG, name)) };
    let mut lines = vec![format!("{name}{}  {}", paint(style::HINT, memory.id.as_str()), day(memory)), summary.to_owned()];
    if let Some(last) = lines.last_mut().filter(|_| memory.state != State::Valid) {
        *last = format!("{last} {}", paint(style::WARN, &format!("[{}]", memory.state)));
    }
    let mut dim = |text: String| lines.push(paint(style::DIM, &ui.foreign(&text)));
    if let Some(reason) = &memory.reason {
        dim(format!("why: {reason}"));
    }
    let hits = snapshot.and_then(|s| s.catalogue.memories.get(memory.id.as_str())).map_or(0, |known| known.hits);
    let times = || count(usize::try_from(hits).unwrap_or(usize::MAX), "time", "times");
    let used = if hits > 0 { format!(", used {}", times()) } else { String::new() };
    // What appeared outside says of itself whose word it is.
    let outside = snapshot.is_some_and(|s| s.hand_edits.contains(&memory.id));
    let unknown = outside && snapshot.is_some_and(|s| s.is_added(&memory.id));
    let source = if unknown { "of unknown origin".to_owned() } else { source(memory) };
    dim(format!("{}, {}, {source}{used}", memory.kind, layer_name(memory.layer)));
    for evidence in memory.evidence.iter().take(QUOTES) {
        let day = evidence.session.as_deref().and_then(|s| s.get(..10)).map(|d| format!(", {d}")).unwrap_or_default();
        let claimed = if unknown { ", as it claims" } else { "" };
        dim(format!("“{}” ({}{day}{claimed})", evidence.quote, evidence.speaker.name()));
    }
    // A version that stood there before stands there no more.
    if let Some(entry) = entry.filter(|e| outside && e.memory == *memory) {
        dim(format!("{}:{}", entry.file, entry.line));
    }
    lines
}

/// The day it was said, else the day it was stored.
pub fn day(memory: &Memory) -> String {
    memory.day().map_or_else(|| "no date".to_owned(), |day| day.to_string())
}

/// Where a memory comes from, and whose word it is.
pub fn source(memory: &Memory) -> String {
    match memory.lane() {
        "manual" => "typed by hand".to_owned(),
        "import" => "imported".to_owned(),
        "" => format!("from {}", memory.origin),
        lane => format!("{lane}'s words"),
    }
}
