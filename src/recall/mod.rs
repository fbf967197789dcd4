//! Bringing memories back: which to say (`select`), in which order (`score`), in which words (`render`), within a budget.
//!
//! Pure: the store's snapshots and the request decide every byte. Not here: the clipboard, receipts, hooks and MCP.

pub mod announce;
pub mod block;
pub mod digest;
pub mod escape;
pub mod graph;
pub mod memory_tests;
pub mod render;
pub mod score;
pub mod search;
pub mod select;
pub mod topics;

use std::collections::BTreeMap;

use crate::model::Id;
use crate::store::Snapshot;
use crate::text::tokens;
use crate::text::words::Language;

/// How much of the store an injection looks at (design: "Injection").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Working and long-term memories of the project and the global ones.
    #[default]
    Standard,
    /// Only lasting working memories.
    Light,
    /// Standard, the transient notes of the last three days, and what was turned down in them.
    Deep,
    /// Whatever holds, in every layer: of what a prompt matched. Not on the command line.
    Matching,
}

impl Mode {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Light => "light",
            Self::Deep => "deep",
            Self::Matching => "matching",
        }
    }

    /// The mode with this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Standard, Self::Light, Self::Deep].into_iter().find(|m| m.name() == text)
    }
}

/// The most that a text may take, frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Estimated tokens: what a person thinks in.
    Tokens(usize),
    /// UTF-16 units: what Claude Code counts before it cuts a hook's text.
    Utf16(usize),
}

impl Budget {
    /// The default of `inject`.
    pub const STANDARD: Self = Self::Tokens(3000);
    /// What a hook may send: the client cuts at 10,000 units.
    pub const HOOK: Self = Self::Utf16(9500);

    /// The most, in the budget's own unit.
    pub fn most(self) -> usize {
        match self {
            Self::Tokens(n) | Self::Utf16(n) => n,
        }
    }

    /// Size of a text in the budget's own unit.
    pub fn size(self, text: &str) -> usize {
        match self {
            Self::Tokens(_) => usize::try_from(tokens::estimate(text)).unwrap_or(usize::MAX),
            Self::Utf16(_) => text.encode_utf16().count(),
        }
    }

    /// The unit's name, for people.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Tokens(_) => "tokens",
            Self::Utf16(_) => "UTF-16 units",
        }
    }
}

/// A memory that names a file which changed after it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aged {
    /// Days from the day it was said to the day of the request.
    pub days: i32,
    /// The file.
    pub name: String,
    /// Whether the file is not there any more.
    pub gone: bool,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// How much of the store.
    pub mode: Mode,
    /// Only memories that match one of these; empty: all.
    pub keywords: Vec<String>,
    /// The most that the text may take.
    pub budget: Budget,
    /// `YYYY-MM-DD`: decides what has lapsed and which notes are recent, and nothing else.
    pub today: String,
    /// Language of headings; `None`: that of most memories.
    pub language: Option<Language>,
    /// What the repository says against memories; filled in where one is known.
    pub aged: BTreeMap<Id, Aged>,
}

impl Request {
    /// A standard request without filter.
    pub fn new(today: impl Into<String>) -> Self {
        Self {
            mode: Mode::Standard,
            keywords: Vec::new(),
            budget: Budget::STANDARD,
            today: today.into(),
            language: None,
            aged: BTreeMap::new(),
        }
    }
}

/// One memory that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Which.
    pub id: Id,
    /// Why it was chosen, in a few words.
    pub why: String,
    /// Its rank: higher comes first.
    pub score: f64,
    /// What its lines take, in the budget's unit. Memories that disagree share one line: the first carries it.
    pub size: usize,
}

/// Why a memory was not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It would have been said, but the budget was full.
    Budget,
    /// It matches none of the keywords.
    Keyword,
    /// The mode does not look at its layer, age or state.
    Mode,
    /// A newer memory replaced it.
    Superseded,
    /// Its date has passed.
    Lapsed,
    /// The todo is finished.
    Done,
}

impl Reason {
    /// In a few words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Budget => "no room in the budget",
            Self::Keyword => "matches no keyword",
            Self::Mode => "outside this mode",
            Self::Superseded => "superseded",
            Self::Lapsed => "lapsed",
            Self::Done => "done",
        }
    }
}

/// One memory that was not said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Which.
    pub id: Id,
    /// Why not.
    pub reason: Reason,
}

/// The outcome of [`inject`].
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// The block with its tags; empty if there is nothing to say.
    pub text: String,
    /// What it says, best first.
    pub items: Vec<Item>,
    /// What it does not say: first what the budget cut, best first; then by reason and id.
    pub left_out: Vec<LeftOut>,
    /// Pairs among `items` that disagree and wait for a person: older, newer.
    pub conflicts: Vec<(Id, Id)>,
    /// The budget it was made for.
    pub budget: Budget,
}

impl Injection {
    /// Size of the text in the budget's unit.
    pub fn size(&self) -> usize {
        self.budget.size(&self.text)
    }
}

/// How many memories in a row may be too large for what is left before the rest is not tried any more.
const MISFITS: usize = 20;

/// The text for the next conversation. `snapshots`: the project's, then `_global`'s; their order decides only the
/// name in the header. Same snapshots and request, same bytes; a use that raises `hits` of what was said changes nothing.
pub fn inject(snapshots: &[&Snapshot], request: &Request) -> Injection {
    let selection = select::select(snapshots, request);
    let words = render::Words::of(request.language.unwrap_or_else(|| render::language_of(&selection.picks)));
    let project = snapshots.first().map_or("", |s| s.project.as_str());
    let frame = render::Frame { words: &words, project, mode: request.mode };
    let budget = request.budget;

    let all = selection.picks.iter().map(|p| p.members.len()).sum::<usize>();
    let missing = |chosen: &[render::Line<'_>]| all - chosen.iter().map(|l| l.pick.members.len()).sum::<usize>();
    let mut chosen = fit(&selection.picks, &frame, budget, 0);
    if chosen.len() < selection.picks.len() {
        chosen = fit(&selection.picks, &frame, budget, all);
    }
    let mut text = frame.text(&chosen, missing(&chosen));
    // An estimate of tokens need not add up; the whole text is what counts.
    while budget.size(&text) > budget.most() && chosen.pop().is_some() {
        text = frame.text(&chosen, missing(&chosen));
    }
    if chosen.is_empty() {
        text.clear();
    }
    report(&selection, &chosen, text, budget)
}

/// Takes picks best first as long as they fit; `more` is the largest count the last line could have to name.
fn fit<'a>(picks: &'a [select::Pick<'a>], frame: &render::Frame<'_>, budget: Budget, more: usize) -> Vec<render::Line<'a>> {
    let mut used = budget.size(&frame.text(&[], more));
    let mut headings = BTreeMap::new();
    let (mut chosen, mut misfits) = (Vec::new(), 0);
    for pick in picks {
        let Some(line) = frame.line(pick, budget) else { continue };
        let cost = line.size + line.rows.iter().map(|row| heading_cost(row, &headings, frame, budget)).sum::<usize>();
        if used + cost > budget.most() {
            misfits += 1;
            if misfits == MISFITS {
                break;
            }
            continue;
        }
        used += cost;
        for row in &line.rows {
            headings.entry(row.general().key()).or_insert(0);
            *headings.entry(row.key()).or_insert(0) += 1;
        }
        chosen.push(line);
    }
    chosen
}

/// Rows so far under each heading.
type Headings = BTreeMap<(select::Section, bool, String), usize>;

/// What a row adds to the headings: a topic has one from its second entry on; before, it stands under the general one.
fn heading_cost(row: &render::Row<'_>, so_far: &Headings, frame: &render::Frame<'_>, budget: Budget) -> usize {
    let general = row.general();
    let new = match so_far.get(&row.key()) {
        Some(1) if row.key() != general.key() => Some(row),
        Some(_) => None,
        None => Some(&general).filter(|g| !so_far.contains_key(&g.key())),
    };
    new.map_or(0, |row| budget.size(&frame.heading(row)))
}

/// Items, what was left out and the conflicts that belong to a text.
fn report(selection: &select::Selection<'_>, chosen: &[render::Line<'_>], text: String, budget: Budget) -> Injection {
    let mut items = Vec::new();
    for line in chosen {
        for (i, known) in line.pick.members.iter().enumerate() {
            let size = if i == 0 { line.size } else { 0 };
            items.push(Item { id: known.memory.id.clone(), why: line.pick.why(known), score: line.pick.score, size });
        }
    }
    let said: std::collections::BTreeSet<&Id> = items.iter().map(|i| &i.id).collect();
    let cut = selection.picks.iter().flat_map(|p| &p.members).map(|k| &k.memory.id).filter(|id| !said.contains(id));
    let mut left_out: Vec<LeftOut> = cut.map(|id| LeftOut { id: id.clone(), reason: Reason::Budget }).collect();
    left_out.extend(selection.left_out.iter().cloned());
    let conflicts = selection.pairs.iter().filter(|(a, b)| said.contains(a) && said.contains(b)).cloned().collect();
    Injection { text, items, left_out, conflicts, budget }
}

/// One row of `inject --explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which memory.
    pub id: Id,
    /// Whether the text says it.
    pub said: bool,
    /// Its rank, if it was said.
    pub score: Option<f64>,
    /// Size in the budget's unit; 0 if it was not said.
    pub size: usize,
    /// Why it was said, or why not.
    pub why: String,
}

/// What was said and why, then what was not and why.
pub fn explain(injection: &Injection) -> Vec<Row> {
    let said = injection.items.iter().map(|i| Row { id: i.id.clone(), said: true, score: Some(i.score), size: i.size, why: i.why.clone() });
    let out =
        injection.left_out.iter().map(|l| Row { id: l.id.clone(), said: false, score: None, size: 0, why: l.reason.words().to_owned() });
    said.chain(out).collect()
}

impl std::fmt::Display for Row {
    /// `+ 7k3f9qxa2m  0.42   31  why` for what was said, `- …` for what was not.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.said { '+' } else { '-' };
        match self.score {
            Some(score) => write!(f, "{sign} {}  {score:.2} {:>5}  {}", self.id, self.size, self.why),
            None => write!(f, "{sign} {}             {}", self.id, self.why),
        }
    }
}
