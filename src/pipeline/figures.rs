//! Figures about a store: what is in it, what it is used for, how it grows and what it weighs. Reading only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::ToSpan;
use jiff::civil::Date;
use serde::Serialize;

use crate::error::Result;
use crate::model::{Id, Kind, Layer, State};
use crate::recall::{self, Budget, Mode, Reason, Request};
use crate::reconcile::promote::{promotions, retaught};
use crate::store::{GLOBAL, Snapshot, Store, layout};

/// Weeks of growth that are shown.
pub const WEEKS: usize = 12;

/// One project in figures.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its name.
    pub project: String,
    /// Memories, without those in the archive.
    pub memories: usize,
    /// By layer, kind and state.
    pub counts: BTreeMap<&'static str, usize>,
    /// In the archive.
    pub archived: usize,
    /// Conversations read.
    pub sessions: usize,
    /// Candidates that wait for a person.
    pub review: usize,
    /// Pairs that wait for a person.
    pub conflicts: usize,
    /// Uses of all memories.
    pub hits: u64,
    /// Memories that were used most, best first.
    pub most_used: Vec<Used>,
    /// How many were never used.
    pub never_used: usize,
    /// Those among them that are injected and have been there longest: what may go first.
    pub never_used_oldest: Vec<Used>,
    /// What an injection takes, by mode.
    pub injections: Vec<Size>,
    /// New memories by week, oldest first.
    pub growth: Vec<Week>,
    /// What the user had to say again although it was stored.
    pub retaught: Vec<Again>,
    /// What may be lasting.
    pub promotions: Vec<Again>,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A memory and its uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Which.
    pub id: Id,
    /// What it says.
    pub summary: String,
    /// Times used or confirmed.
    pub hits: u64,
}

/// What an injection takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    /// `standard`, `light` or `deep`.
    pub mode: &'static str,
    /// Memories that it says.
    pub memories: usize,
    /// Those for which there is no room.
    pub no_room: usize,
    /// Estimated tokens.
    pub tokens: usize,
    /// Tokens it may take.
    pub budget: usize,
}

/// New memories of a week.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Week {
    /// Its Monday, `YYYY-MM-DD`.
    pub monday: String,
    /// How many.
    pub memories: usize,
}

/// A memory that was said in several conversations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Again {
    /// Which.
    pub id: Id,
    /// What it says.
    pub summary: String,
    /// In how many conversations: for what had to be said again, those after it was stored.
    pub said: usize,
    /// The last of these conversations, where it is known.
    pub last: Option<String>,
}

/// What the memory folder weighs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Weight {
    /// Memories and catalogues.
    pub memories: u64,
    /// `search.db`, a cache.
    pub search_index: u64,
    /// Kept turns of conversations.
    pub turns: u64,
    /// Copies for `undo`.
    pub history: u64,
    /// Everything else of ours.
    pub other: u64,
}

/// The figures of a project on a day.
///
/// # Errors
/// If its files cannot be read.
pub fn figures(store: &Store, mut snapshot: Snapshot, global: &Snapshot, today: &str, budget: usize) -> Result<Figures> {
    store.count_noted(&mut snapshot);
    let snapshot = &snapshot;
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let names = Layer::ALL.iter().map(|l| l.name()).chain(Kind::ALL.iter().map(|k| k.name())).chain(State::ALL.iter().map(|s| s.name()));
    counts.extend(names.map(|name| (name, 0)));
    for memory in snapshot.entries.iter().map(|e| &e.memory) {
        for name in [memory.layer.name(), memory.kind.name(), memory.state_on(today).name()] {
            *counts.entry(name).or_default() += 1;
        }
    }
    let known = &snapshot.catalogue.memories;
    let mut used: Vec<(Option<Date>, Used)> = snapshot
        .entries
        .iter()
        .map(|e| {
            let hits = known.get(e.memory.id.as_str()).map_or(0, |u| u.hits);
            (e.memory.day(), Used { id: e.memory.id.clone(), summary: e.memory.summary.clone(), hits })
        })
        .collect();
    used.sort_by(|(a_day, a), (b_day, b)| b.hits.cmp(&a.hits).then(a_day.cmp(b_day)).then_with(|| a.id.cmp(&b.id)));
    let injections: Vec<(Size, BTreeSet<Id>)> =
        [Mode::Standard, Mode::Light, Mode::Deep].map(|mode| size(snapshot, global, mode, today, budget)).into();
    let injected = injections.first().map(|(_, ids)| ids.clone()).unwrap_or_default();
    let never = used.iter().map(|(_, u)| u).filter(|u| u.hits == 0);
    let again = |memory: &crate::model::Memory, said: usize, last: Option<&str>| Again {
        id: memory.id.clone(),
        summary: memory.summary.clone(),
        said,
        last: last.map(str::to_owned),
    };
    Ok(Figures {
        project: snapshot.project.clone(),
        memories: snapshot.entries.len(),
        counts,
        archived: known.values().filter(|m| layout::is_archive(&m.file)).count(),
        sessions: snapshot.catalogue.sessions.len(),
        review: snapshot.catalogue.review.len(),
        conflicts: snapshot.catalogue.conflicts.iter().filter(|c| c.state == "pending").count(),
        hits: used.iter().map(|(_, u)| u.hits).sum(),
        most_used: used.iter().map(|(_, u)| u).filter(|u| u.hits > 0).take(3).cloned().collect(),
        never_used: never.clone().count(),
        never_used_oldest: never.filter(|u| injected.contains(&u.id)).take(3).cloned().collect(),
        injections: injections.into_iter().map(|(size, _)| size).collect(),
        growth: growth(snapshot, today),
        retaught: retaught(snapshot).iter().map(|r| again(r.memory, r.sessions.len(), r.sessions.last().copied())).collect(),
        promotions: promotions(snapshot).iter().map(|p| again(&p.memory, p.said, None)).collect(),
        bytes: weigh(&store.home().join(&snapshot.project)),
    })
}

/// What an injection of a mode takes, and which memories of the project it says.
fn size(snapshot: &Snapshot, global: &Snapshot, mode: Mode, today: &str, budget: usize) -> (Size, BTreeSet<Id>) {
    let both = if snapshot.project == GLOBAL { vec![snapshot] } else { vec![snapshot, global] };
    let injection = recall::inject(&both, &Request { mode, budget: Budget::Tokens(budget), ..Request::new(today) });
    let no_room = injection.left_out.iter().filter(|l| l.reason == Reason::Budget).count();
    let size = Size { mode: mode.name(), memories: injection.items.len(), no_room, tokens: injection.size(), budget };
    (size, injection.items.into_iter().map(|i| i.id).collect())
}

/// New memories in each of the last [`WEEKS`] weeks, those in the archive too.
fn growth(snapshot: &Snapshot, today: &str) -> Vec<Week> {
    let Ok(today) = today.parse::<Date>() else { return Vec::new() };
    let monday = |day: Date| day.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days());
    let mut weeks: BTreeMap<Date, usize> = (0..WEEKS).map(|n| (monday(today).saturating_sub((7 * n as i64).days()), 0)).collect();
    let of_use = |text: &Option<String>| text.as_deref().and_then(|t| t.get(..10)?.parse::<Date>().ok());
    let archived = snapshot.catalogue.memories.values().filter(|m| layout::is_archive(&m.file));
    let days = snapshot.entries.iter().filter_map(|e| e.memory.day());
    for day in days.chain(archived.filter_map(|m| of_use(&m.session).or_else(|| of_use(&m.created)))) {
        if let Some(n) = weeks.get_mut(&monday(day)) {
            *n += 1;
        }
    }
    weeks.into_iter().map(|(monday, memories)| Week { monday: monday.to_string(), memories }).collect()
}

/// What the memory folder weighs.
///
/// # Errors
/// If the projects cannot be listed.
pub fn weight(store: &Store) -> Result<Weight> {
    let state = layout::state(store.home());
    let db = |name: &str| ["", "-wal", "-shm"].iter().map(|end| weigh(&state.join(format!("{name}{end}")))).sum::<u64>();
    let mut weight = Weight {
        search_index: db("search.db"),
        turns: db("turns.db"),
        history: weigh(&layout::history(store.home())),
        ..Weight::default()
    };
    weight.other = weigh(&state) - weight.search_index - weight.turns - weight.history;
    weight.memories = store.projects()?.iter().map(|name| weigh(&store.home().join(name))).sum();
    Ok(weight)
}

/// Bytes of a file, or of the files in a folder. What cannot be looked at, or goes meanwhile, weighs nothing.
fn weigh(path: &Path) -> u64 {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::read_dir(path).into_iter().flatten().flatten().map(|item| weigh(&item.path())).sum(),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    }
}
