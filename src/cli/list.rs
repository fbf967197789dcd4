//! `list` and `show`.

use std::collections::BTreeSet;

use clap::Args;

use super::app::{App, fields, json, layer_name, mark, problem_line, record};
use super::review::source;
use super::ui::{Ui, count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::plan::MemoryRecord;
use crate::model::{self, Id, Layer, Memory, State};
use crate::pipeline::review;
use crate::reconcile::links::Web;
use crate::store::{Entry, GLOBAL, Snapshot};
use crate::text::words;

/// List memories, one a line
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this layer: transient, working, long-term
    #[arg(long, value_name = "LAYER", value_parser = layer)]
    layer: Option<Layer>,
    /// Only this kind: decision, fact, todo, preference, convention
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<model::Kind>,
    /// Only this state: valid, rejected, done, superseded, lapsed
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,
    /// Only entries under a topic that contains this
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// Only entries with this word in keywords, topic or summary
    #[arg(long, short, value_name = "WORD")]
    keyword: Option<String>,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
}

pub(super) fn layer(text: &str) -> Result<Layer, String> {
    Layer::parse(text).ok_or_else(|| "one of transient, working, long-term".to_owned())
}

pub(super) fn kind(text: &str) -> Result<model::Kind, String> {
    model::Kind::parse(text).ok_or_else(|| "one of decision, fact, todo, preference, convention".to_owned())
}

fn state(text: &str) -> Result<State, String> {
    State::parse(text).ok_or_else(|| "one of valid, rejected, done, superseded, lapsed".to_owned())
}

impl ListArgs {
    fn wants(&self, entry: &Entry, today: &str) -> bool {
        let memory = &entry.memory;
        let within = |text: &str, part: &str| words::fold(text).contains(&words::fold(part));
        self.layer.is_none_or(|l| memory.layer == l)
            && self.kind.is_none_or(|k| memory.kind == k)
            && self.state.is_none_or(|s| memory.state_on(today) == s)
            && self.topic.as_deref().is_none_or(|t| memory.topic.as_deref().is_some_and(|topic| within(topic, t)))
            && self.keyword.as_deref().is_none_or(|k| {
                within(&memory.summary, k)
                    || memory.topic.as_deref().is_some_and(|t| within(t, k))
                    || memory.keywords.iter().any(|word| within(word, k))
            })
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let snapshots = app.snapshots(&store, self.all_projects)?;
        for problem in snapshots.iter().flat_map(|s| &s.problems) {
            app.ui.warn(&problem_line(&app.ui, problem));
        }
        let today = app.env.today();
        let all = snapshots.iter().flat_map(|s| s.entries.iter().map(move |e| (s, e)));
        let found: Vec<(&Snapshot, &Entry)> = all.filter(|(_, e)| self.wants(e, &today)).collect();
        if app.ui.wishes.json {
            let records: Vec<MemoryRecord> = found.iter().map(|(s, e)| record(s, e)).collect();
            app.ui.object("list", fields([("memories", json(&records)?)]));
            return Ok(());
        }
        let mut groups: Vec<(String, Vec<&Entry>)> = Vec::new();
        for (snapshot, layer) in snapshots.iter().flat_map(|s| [Layer::LongTerm, Layer::Working, Layer::Transient].map(|l| (s, l))) {
            let of_layer = found.iter().filter(|(s, e)| s.project == snapshot.project && e.memory.layer == layer);
            let entries: Vec<&Entry> = of_layer.map(|(_, e)| *e).collect();
            if !entries.is_empty() {
                groups.push((heading(&snapshot.project, layer, self.all_projects), entries));
            }
        }
        let disputed: BTreeSet<Id> =
            snapshots.iter().flat_map(review::pairs).flat_map(|item| item.pair().map(|(a, b)| [a.clone(), b.clone()])).flatten().collect();
        for (heading, entries) in &groups {
            app.ui.line(&paint(style::STRONG, &app.ui.foreign(heading)));
            for entry in entries {
                let marks = marks(&entry.memory, &today, &disputed);
                app.ui.row(&format!("  {}", row(&app.ui, &entry.memory, &marks)));
            }
        }
        let waiting: usize = snapshots.iter().map(|s| s.catalogue.review.len()).sum();
        if found.is_empty() {
            let nothing = snapshots.iter().all(|s| s.entries.is_empty());
            app.ui.say(&match snapshots.first().filter(|_| nothing) {
                Some(first) => super::app::nothing_yet(&first.project),
                None => "nothing matches".to_owned(),
            });
        }
        if waiting > 0 {
            app.ui.say(&format!("{} for review: claude-mem review", count(waiting, "candidate waits", "candidates wait")));
        }
        Ok(())
    }
}

/// Above the entries of a layer: the project is named only where there are several.
fn heading(project: &str, layer: Layer, all: bool) -> String {
    let layer = layer_name(layer);
    match project {
        GLOBAL => format!("every project · {layer}"),
        project if all => format!("{project} · {layer}"),
        _ => layer,
    }
}

/// What is to be known of an entry before its words: that it does not hold, is in dispute, or comes first.
fn marks(memory: &Memory, today: &str, disputed: &BTreeSet<Id>) -> String {
    let state = memory.state_on(today);
    let words = [
        (state != State::Valid).then_some(state.name()),
        disputed.contains(&memory.id).then_some("disputed"),
        memory.pinned.then_some("pinned"),
    ];
    words.into_iter().flatten().map(mark).collect()
}

/// One entry below its heading: id, kind, marks, summary, then what is less needed and may be cut off.
fn row(ui: &Ui, memory: &Memory, marks: &str) -> String {
    let topic = memory.topic.as_deref().map(|t| paint(style::DIM, &format!("  · {}", ui.foreign(t)))).unwrap_or_default();
    let id = paint(style::HINT, memory.id.as_str());
    format!("{id}  {:<10}  {marks}{}{topic}", memory.kind.name(), ui.foreign(&memory.summary))
}

/// Show one memory whole: what it says, why, the words behind it, where it stands
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Ids, or their first four characters
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl ShowArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let found = self.ids.iter().map(|id| app.find_anywhere(&store, id)).collect::<Result<Vec<_>>>()?;
        if app.ui.wishes.json {
            let records: Vec<MemoryRecord> = found.iter().map(|(s, e)| record(s, e)).collect();
            app.ui.object("show", fields([("memories", json(&records)?)]));
            return Ok(());
        }
        for (snapshot, entry) in &found {
            show(&app.ui, snapshot, entry, &app.env.today());
        }
        if found.is_empty() {
            return Err(Error::new(Kind::Usage, "no id given").hint("`claude-mem list` shows them"));
        }
        Ok(())
    }
}

fn show(ui: &Ui, snapshot: &Snapshot, entry: &Entry, today: &str) {
    let memory = &entry.memory;
    ui.line(&paint(style::STRONG, &ui.foreign(&memory.summary)));
    let row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            ui.hang(&format!("  {} {}", paint(style::DIM, &format!("{name:<10}")), ui.foreign(&value)), 13);
        }
    };
    let until = match memory.validity.until_date() {
        Some(day) => format!("until {day}"),
        None => memory.validity.name().to_owned(),
    };
    let until = memory.lapses_when.as_deref().map_or(until.clone(), |when| format!("{until}, ends when: {when}"));
    row("id", Some(memory.id.to_string()));
    row("kind", Some(format!("{}, {}, {}", memory.kind, layer_name(memory.layer), memory.state_on(today))));
    row("pinned", memory.pinned.then(|| "yes".to_owned()));
    row("validity", Some(until));
    row("topic", memory.topic.clone());
    row("why", memory.reason.clone());
    row("not", memory.rejected.clone());
    row("apply", memory.how_to_apply.clone());
    row("scope", memory.scope.clone());
    row("branch", memory.branch.clone());
    row("keywords", Some(memory.keywords.join(", ")));
    row(
        "origin",
        Some(if memory.lane() == memory.origin.name() {
            memory.lane().to_owned()
        } else {
            format!("{}, {}", memory.origin, source(memory))
        }),
    );
    let outside = if snapshot.is_added(&memory.id) { "added outside claude-mem" } else { "changed outside claude-mem" };
    row("outside", snapshot.hand_edits.contains(&memory.id).then(|| format!("{outside}, and not reviewed yet")));
    row("trust", memory.is_unconfirmed().then(|| "imported, and nobody has confirmed it here; claude-mem review".to_owned()));
    row("session", memory.session.clone());
    row("created", memory.created.clone());
    if let Some(used) = snapshot.catalogue.memories.get(memory.id.as_str()) {
        let last = used.last_access.as_deref().map(|t| format!(", last {t}")).unwrap_or_default();
        row("used", Some(format!("{}{last}", count(usize::try_from(used.hits).unwrap_or(usize::MAX), "time", "times"))));
    }
    for relation in &memory.relations {
        let other = snapshot.entry(&relation.id).map(|e| format!("  {}", e.memory.summary)).unwrap_or_default();
        row(relation.kind.name(), Some(format!("{}{other}", relation.id)));
    }
    for other in Web::of([snapshot]).backlinks(&memory.id) {
        row("linked by", Some(format!("{}  {}", other.memory.id, other.memory.summary)));
    }
    for evidence in &memory.evidence {
        let place = evidence.session.as_deref().map(|s| format!("{s} ")).unwrap_or_default();
        let name = if snapshot.is_edited(memory) { "said (edited by hand)" } else { "said" };
        row(name, Some(format!("“{}” ({place}T{}, {})", evidence.quote, evidence.turn, evidence.speaker.name())));
    }
    row("file", Some(format!("{}:{}", entry.file, entry.line)));
}
