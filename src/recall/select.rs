//! Which memories may be said: by mode, state, date and keyword; those that disagree only together.
//!
//! Not here: how much of it fits (`recall::inject`) and in which words (`render`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::{Aged, LeftOut, Mode, Reason, Request, score};
use crate::model::{Id, Kind, Layer, Memory, RelationType, State, Validity};
use crate::store::Snapshot;

/// How many days a note is recent enough for [`Mode::Deep`]: on a Monday, Friday's are.
const RECENT_DAYS: i32 = 3;

/// A memory with what the catalogue knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What it says.
    pub memory: &'a Memory,
    /// Project it is in.
    pub project: &'a str,
    /// Times used or confirmed.
    pub hits: u64,
    /// The day it was noted.
    pub day: Option<Date>,
    /// How many of the request's keywords it matches.
    pub matched: usize,
    /// What the repository says against it.
    pub aged: Option<&'a Aged>,
}

/// One thing to say: a memory, or several that disagree and are never shown apart.
#[derive(Clone, Debug)]
pub struct Pick<'a> {
    /// One, or all sides of a dispute, oldest first.
    pub members: Vec<Known<'a>>,
    /// Rank of the best member.
    pub score: f64,
}

impl Pick<'_> {
    /// Whether its members disagree.
    pub fn disputed(&self) -> bool {
        self.members.len() > 1
    }

    /// Why a member was chosen, in a few words.
    pub fn why(&self, known: &Known<'_>) -> String {
        let mut parts = Vec::new();
        if known.memory.pinned {
            parts.push("pinned".to_owned());
        }
        parts.push(format!("{} {}", known.memory.layer, known.memory.kind));
        if known.memory.state == State::Rejected {
            parts.push("turned down".to_owned());
        }
        if self.disputed() {
            parts.push("in conflict".to_owned());
        }
        if known.matched > 0 {
            parts.push(format!("keywords matched: {}", known.matched));
        }
        if known.hits > 0 {
            parts.push(format!("hits: {}", known.hits));
        }
        parts.extend(known.day.map(|d| d.to_string()));
        parts.join(", ")
    }
}

/// What may be said and what may not.
#[derive(Clone, Debug, Default)]
pub struct Selection<'a> {
    /// Best first.
    pub picks: Vec<Pick<'a>>,
    /// By reason, then id.
    pub left_out: Vec<LeftOut>,
    /// Pairs that disagree and both hold: older, newer.
    pub pairs: Vec<(Id, Id)>,
}

/// Sorts the store into what may be said, best first, and what not.
pub fn select<'a>(snapshots: &[&'a Snapshot], request: &'a Request) -> Selection<'a> {
    let all = collect(snapshots, request);
    let links = Links::of(snapshots, &all, &request.today);
    let verdict = |known: &Known<'_>| verdict(known, request, links.superseded.contains(&known.memory.id));

    let mut groups: Vec<Vec<Known<'a>>> = Vec::new();
    let mut grouped = BTreeSet::new();
    for component in components(&links.pairs) {
        let members: Vec<Known<'a>> = component.iter().filter_map(|id| all.get(id).copied()).collect();
        // A side that the mode or the keywords pass over is still needed to name the dispute.
        if members.iter().any(|k| verdict(k).is_none()) {
            grouped.extend(component);
            groups.push(members);
        }
    }
    let mut left_out = Vec::new();
    for (id, known) in all.iter().filter(|(id, _)| !grouped.contains(*id)) {
        match verdict(known) {
            None => groups.push(vec![*known]),
            Some(reason) => left_out.push(LeftOut { id: (*id).clone(), reason }),
        }
    }
    left_out.sort_by(|a, b| (a.reason, &a.id).cmp(&(b.reason, &b.id)));

    let newest = groups.iter().flatten().filter_map(|k| k.day).max();
    let asked = request.keywords.len();
    let mut picks: Vec<Pick<'a>> = groups
        .into_iter()
        .map(|mut members| {
            members.sort_by_key(|k| (k.day, &k.memory.id));
            let score = members.iter().map(|k| score::score(k, newest, asked)).fold(f64::MIN, f64::max);
            Pick { members, score }
        })
        .collect();
    let first_id = |pick: &Pick<'a>| pick.members.first().map(|k| &k.memory.id);
    picks.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| first_id(a).cmp(&first_id(b))));
    let pairs = links.pairs.into_iter().map(|(a, b)| (a.clone(), b.clone())).collect();
    Selection { picks, left_out, pairs }
}

/// Every memory by id. Ids are unique in a home; should two projects share one, the first snapshot's counts.
fn collect<'a>(snapshots: &[&'a Snapshot], request: &'a Request) -> BTreeMap<&'a Id, Known<'a>> {
    let mut all = BTreeMap::new();
    let keywords: Vec<score::Keyword> = request.keywords.iter().map(|k| score::Keyword::of(k)).collect();
    for snapshot in snapshots {
        for entry in &snapshot.entries {
            let memory = &entry.memory;
            all.entry(&memory.id).or_insert_with(|| Known {
                memory,
                project: &snapshot.project,
                hits: snapshot.catalogue.memories.get(memory.id.as_str()).map_or(0, |u| u.hits),
                day: memory.day(),
                matched: score::matched(&keywords, memory),
                aged: request.aged.get(&memory.id),
            });
        }
    }
    all
}

/// Why a memory may not be said by itself; `None` if it may.
fn verdict(known: &Known<'_>, request: &Request, superseded: bool) -> Option<Reason> {
    let memory = known.memory;
    let passed = |until: &str| until < request.today.as_str();
    if superseded || memory.state == State::Superseded {
        Some(Reason::Superseded)
    } else if memory.state == State::Done {
        Some(Reason::Done)
    } else if memory.state == State::Lapsed || memory.validity.until_date().is_some_and(passed) {
        Some(Reason::Lapsed)
    } else if !in_mode(known, request) {
        Some(Reason::Mode)
    } else if !request.keywords.is_empty() && known.matched == 0 {
        Some(Reason::Keyword)
    } else {
        None
    }
}

/// Whether the mode looks at this memory.
fn in_mode(known: &Known<'_>, request: &Request) -> bool {
    let memory = known.memory;
    match request.mode {
        Mode::Light => memory.layer == Layer::Working && memory.validity == Validity::Lasting && memory.state == State::Valid,
        Mode::Standard => memory.layer != Layer::Transient,
        Mode::Deep => memory.layer != Layer::Transient || is_recent(known.day, &request.today),
        Mode::Matching => true,
    }
}

/// Whether a day is at most [`RECENT_DAYS`] before today. An unknown day cannot be called old.
fn is_recent(day: Option<Date>, today: &str) -> bool {
    match (day, today.parse::<Date>()) {
        (Some(day), Ok(today)) => score::days_between(day, today) <= RECENT_DAYS,
        (None, Ok(_)) => true,
        (_, Err(_)) => false,
    }
}

/// How memories bar or bind each other.
struct Links<'a> {
    /// Have a successor that was settled, even if their own state does not say so.
    superseded: BTreeSet<&'a Id>,
    /// Disagree, both hold, nobody has decided: older, newer.
    pairs: Vec<(&'a Id, &'a Id)>,
}

impl<'a> Links<'a> {
    fn of(snapshots: &[&'a Snapshot], all: &BTreeMap<&'a Id, Known<'a>>, today: &str) -> Self {
        let key = |id: &str| Id::parse(id).and_then(|id| all.get_key_value(&id).map(|(id, _)| *id));
        let mut pending = BTreeSet::new();
        let mut settled = BTreeSet::new();
        for record in snapshots.iter().flat_map(|s| &s.catalogue.conflicts) {
            let (Some(older), Some(newer)) = (key(&record.older), key(&record.newer)) else { continue };
            let to = if record.state == "pending" { &mut pending } else { &mut settled };
            to.insert((older, newer));
        }
        let recorded =
            |a, b| pending.contains(&(a, b)) || pending.contains(&(b, a)) || settled.contains(&(a, b)) || settled.contains(&(b, a));

        let mut superseded = BTreeSet::new();
        let mut unrecorded = BTreeSet::new();
        for (id, known) in all {
            for relation in &known.memory.relations {
                let other = all.get_key_value(&relation.id).map(|(id, _)| *id);
                match (relation.kind, other) {
                    (RelationType::SupersededBy, None) => {
                        superseded.insert(*id);
                    }
                    (RelationType::SupersededBy, Some(other)) if !recorded(id, other) => {
                        superseded.insert(*id);
                    }
                    (RelationType::Supersedes, Some(other)) if !recorded(id, other) && known.memory.state != State::Rejected => {
                        superseded.insert(other);
                    }
                    (RelationType::Conflicts, Some(other)) if !recorded(id, other) => {
                        let day = |id: &Id| all.get(id).and_then(|k| k.day);
                        unrecorded.insert(if (day(id), *id) <= (day(other), other) { (*id, other) } else { (other, *id) });
                    }
                    _ => {}
                }
            }
        }
        let holds = |id: &Id| all.get(id).is_some_and(|k| k.memory.holds_on(today) && !superseded.contains(id));
        let pairs = pending.union(&unrecorded).filter(|(a, b)| a != b && holds(a) && holds(b)).copied().collect();
        Self { superseded, pairs }
    }
}

/// Sets of ids that are connected by pairs.
fn components<'a>(pairs: &[(&'a Id, &'a Id)]) -> Vec<BTreeSet<&'a Id>> {
    let mut sets: Vec<BTreeSet<&'a Id>> = Vec::new();
    for (a, b) in pairs {
        let (touched, mut rest): (Vec<_>, Vec<_>) = sets.into_iter().partition(|s| s.contains(a) || s.contains(b));
        rest.push(touched.into_iter().flatten().chain([*a, *b]).collect());
        sets = rest;
    }
    sets
}

/// The part of the text a pick belongs to, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Under its topic.
    Topic,
    /// Open work.
    Todos,
    /// Turned down, with the reason.
    Rejected,
    /// Would be a rule, and came out of a file: nobody here has stated it.
    Unconfirmed,
    /// Undecided.
    Disputed,
}

impl Section {
    /// Where a pick belongs.
    pub fn of(pick: &Pick<'_>) -> Self {
        match pick.members.as_slice() {
            [known] if known.memory.state == State::Rejected => Self::Rejected,
            [known] if known.memory.is_unconfirmed() => Self::Unconfirmed,
            [known] if known.memory.kind == Kind::Todo => Self::Todos,
            [_] => Self::Topic,
            _ => Self::Disputed,
        }
    }
}
