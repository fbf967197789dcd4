//! A store with planted truths, made from `tests/cases/truths`: the same seed gives the same entries.
//!
//! Most entries are alike but have nothing to do with each other: one subject with many slots, one slot with many subjects.
//! Among them are planted contradictions, repetitions and stale entries, and what only looks like one.

use std::collections::BTreeMap;
use std::path::Path;

use claude_mem::model::{Evidence, Id, Kind, Layer, Memory, Speaker, State, Validity};
use claude_mem::store::{Entry, Snapshot};
use serde::Deserialize;

/// The day on which the store is looked at.
pub const TODAY: &str = "2026-07-01";

/// Days that have passed by then, and one that has not.
const PAST: &[&str] = &["2026-02-28", "2026-03-15", "2026-05-20", "2026-06-30"];
const FUTURE: &str = "2026-09-30";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    pools: BTreeMap<String, Vec<String>>,
    shapes: Vec<Shape>,
    stale: Stale,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    kind: String,
    of: String,
    #[serde(default)]
    values: Values,
    says: String,
    changes: Vec<String>,
    again: Vec<String>,
    asides: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    These(Vec<String>),
    Pool(String),
}

impl Default for Values {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stale {
    past: Vec<String>,
    todo: Vec<Todo>,
    version: Vec<Version>,
}

#[derive(Deserialize)]
struct Todo {
    #[serde(rename = "do")]
    open: String,
    done: String,
}

#[derive(Deserialize)]
struct Version {
    says: String,
    newer: String,
}

/// What a planted entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Conflict,
    Duplicate,
    Stale,
}

/// Entries that something is wrong with.
#[derive(Debug)]
pub struct Planted {
    pub fault: Fault,
    /// The kind of shape it came from.
    pub kind: String,
    /// The older first; a lapsed one stands alone.
    pub ids: Vec<Id>,
}

/// The store and what is wrong with it.
#[derive(Default)]
pub struct Truths {
    pub snapshot: Snapshot,
    pub planted: Vec<Planted>,
    /// Ids of entries from held-out shapes.
    pub held_out: std::collections::BTreeSet<Id>,
    random: u64,
    /// Every truth of a shape and every way to contradict it.
    contradictions: Vec<(Memory, Memory)>,
}

/// How much of each thing one file of shapes gives.
pub struct Size {
    pub truths: usize,
    pub conflicts: usize,
    pub duplicates: usize,
}

/// Four of these are a store of 2,000 entries, 200 of them planted.
pub const FULL: Size = Size { truths: 500, conflicts: 25, duplicates: 12 };

/// Four of these are looked through in a second, also without optimisation.
pub const SMALL: Size = Size { truths: 170, conflicts: 25, duplicates: 12 };

/// English and Chinese shapes, tuned on and held out.
pub const KNOWN: &[(&str, bool)] = &[("english-a", false), ("english-b", true), ("chinese-a", false), ("chinese-b", true)];

/// Shapes by somebody who knew neither the detector nor the other shapes; d, the later ones, are scored as held out.
pub const STRANGE: &[(&str, bool)] = &[("english-c", false), ("english-d", true), ("chinese-c", false), ("chinese-d", true)];

/// Plain wording by somebody else.
pub const STRANGERS: &[(&str, bool)] = &[("english-e", true), ("chinese-e", true)];

impl Truths {
    /// A store of some files of shapes, such as [`KNOWN`].
    pub fn new(seed: u64, size: &Size, files: &[(&str, bool)]) -> Self {
        let mut all = Self { random: seed, ..Self::default() };
        let mut subjects = std::collections::BTreeSet::new();
        for (file, held_out) in files {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/truths/{file}.yaml"));
            let mut shapes: Shapes = serde_saphyr::from_str(&std::fs::read_to_string(path).expect("shapes")).expect("valid shapes");
            let before = all.snapshot.entries.len();
            // Two files that speak of the same subject contradict each other in ways that nobody planted.
            for pool in ["service", "habit"] {
                shapes.pools.entry(pool.to_owned()).or_default().retain(|name| subjects.insert(name.replace(' ', "").to_lowercase()));
            }
            all.grow(&shapes, size, file.starts_with("english"));
            if *held_out {
                all.held_out.extend(all.snapshot.entries.iter().skip(before).map(|e| e.memory.id.clone()));
            }
        }
        all
    }

    /// Pairs that differ in a number, name, version, path, date, place or sign.
    pub fn contradictions(self) -> Vec<(Memory, Memory)> {
        self.contradictions
    }

    /// SplitMix64: the same numbers everywhere.
    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn add(&mut self, kind: &str, month: usize, text: &str) -> Id {
        let bits = self.below(usize::MAX) as u64;
        let kind = match kind {
            "preference" => Kind::Preference,
            "todo" => Kind::Todo,
            _ => Kind::Decision,
        };
        let summary = text.chars().next().map(|c| c.to_uppercase().chain(text.chars().skip(1)).collect::<String>()).unwrap_or_default();
        let mut memory = Memory::new(Id::from_bits(bits), Layer::Working, kind, summary);
        let day = format!("2026-{month:02}-{:02}", 1 + self.below(27));
        memory.evidence = vec![Evidence { session: None, turn: 1, speaker: Speaker::User, quote: memory.summary.clone() }];
        memory.session = Some(format!("{day}-{:08x}", bits & 0xffff_ffff));
        memory.created = Some(format!("{day}T09:00:00Z"));
        let id = memory.id.clone();
        self.snapshot.entries.push(Entry::new(memory, ""));
        id
    }

    fn last(&mut self) -> &mut Memory {
        &mut self.snapshot.entries.last_mut().expect("just added").memory
    }

    fn plant(&mut self, fault: Fault, kind: &str, ids: Vec<Id>) {
        self.planted.push(Planted { fault, kind: kind.to_owned(), ids });
    }

    fn grow(&mut self, from: &Shapes, size: &Size, english: bool) {
        let before = self.snapshot.entries.len();
        let pool = |name: &str| from.pools.get(name).expect("a pool");
        // Every shape with every subject, in a random order, the first of each shape up front.
        let subjects = pool("service").len();
        let count = |shape: usize| subjects.min(pool(&from.shapes[shape].of).len());
        let mut places: Vec<(usize, usize)> = (0..from.shapes.len()).flat_map(|shape| (0..count(shape)).map(move |s| (shape, s))).collect();
        for at in (1..places.len()).rev() {
            places.swap(at, self.below(at + 1));
        }
        let mut rounds = vec![0; from.shapes.len()];
        places.sort_by_cached_key(|(shape, _)| {
            rounds[*shape] += 1;
            rounds[*shape]
        });
        self.stale(from, pool("service"), english);
        let shift = self.below(60);
        for (at, (shape, subject)) in places.into_iter().enumerate() {
            if self.snapshot.entries.len() - before >= size.truths {
                break;
            }
            let shape = &from.shapes[shape];
            let values = match &shape.values {
                Values::These(list) => list,
                Values::Pool(name) => pool(name),
            };
            let v = self.below(values.len().max(1));
            let w = (v + 1 + self.below(values.len().saturating_sub(1).max(1))) % values.len().max(1);
            let value = |at: usize| values.get(at).map_or("", String::as_str);
            let fill = |text: &str| text.replace("{s}", &pool(&shape.of)[subject]).replace("{v}", value(v)).replace("{w}", value(w));
            let older = self.add(&shape.kind, 2, &fill(&shape.says));
            let truth = self.last().clone();
            for change in &shape.changes {
                let summary = fill(change);
                self.contradictions.push((truth.clone(), Memory { summary, ..truth.clone() }));
            }
            match at {
                _ if at < size.conflicts => {
                    let text = fill(&shape.changes[(at + shift) % shape.changes.len()]);
                    let newer = self.add(&shape.kind, 5, &text);
                    self.plant(Fault::Conflict, &shape.kind, vec![older, newer]);
                }
                _ if at < size.conflicts + size.duplicates => {
                    let text = match (at + shift) % 4 {
                        0 => full_width(&fill(&shape.says)),
                        1 => courteous(&fill(&shape.says), english, at + shift),
                        _ => fill(&shape.again[(at + shift) % shape.again.len()]),
                    };
                    let newer = self.add(&shape.kind, 5, &text);
                    self.plant(Fault::Duplicate, &shape.kind, vec![older, newer]);
                }
                // The same slot in another scope, and other things about the subject.
                _ if at % 23 == 0 => {
                    self.add(&shape.kind, 5, &fill(&shape.changes[0]));
                    self.last().scope = Some("packages/demo".to_owned());
                }
                _ if at % 9 == 0 => drop(self.add(&shape.kind, 4, &fill(&shape.asides[at % shape.asides.len()]))),
                _ => {}
            }
        }
    }

    fn stale(&mut self, from: &Shapes, subjects: &[String], english: bool) {
        let first = self.below(subjects.len());
        let subject = |at: usize| &subjects[(first + at) % subjects.len()];
        for (at, day) in PAST.iter().enumerate() {
            let text = |day: &str| from.stale.past[at % from.stale.past.len()].replace("{d}", day);
            let lapsed = self.add("fact", 1, &text(day).replace("{s}", subject(at)));
            self.plant(Fault::Stale, "past", vec![lapsed]);
            self.add("fact", 1, &text(FUTURE).replace("{s}", subject(at + 7)));
        }
        for (at, day) in PAST.iter().enumerate().take(2) {
            let text = if english { "Builds of the {s} skip the slow tests." } else { "{s}的构建先跳过慢测试。" };
            let lapsed = self.add("fact", 1, &text.replace("{s}", subject(at)));
            self.last().validity = Validity::Until((*day).to_owned());
            self.plant(Fault::Stale, "until", vec![lapsed]);
        }
        for (n, todo) in from.stale.todo.iter().enumerate() {
            for at in 0..4 {
                // Two todos about one thing, and only one of them is done; others are open.
                let open = self.add("todo", 2, &todo.open.replace("{s}", subject(at)));
                if at / 2 == n {
                    let done = self.add("todo", 5, &todo.done.replace("{s}", subject(at)));
                    self.last().state = State::Done;
                    self.plant(Fault::Stale, "todo", vec![open, done]);
                }
            }
        }
        for at in 0..3 {
            let shape = &from.stale.version[at % from.stale.version.len()];
            let fill = |text: &str| text.replace("{s}", subject(at + 4)).replace("{v}", "4").replace("{w}", "6");
            let older = self.add("fact", 2, &fill(&shape.says));
            let newer = self.add("fact", 5, &fill(&shape.newer));
            self.plant(Fault::Stale, "version", vec![older, newer]);
        }
    }
}

/// Letters and digits as a full-width keyboard gives them, with no spaces around Chinese.
fn full_width(text: &str) -> String {
    let wide = text.chars().map(|c| match c {
        '0'..='9' | 'a'..='z' | 'A'..='Z' => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
        _ => c,
    });
    wide.collect::<String>().trim_end_matches(['.', '。']).to_owned()
}

/// The same with words of courtesy.
fn courteous(text: &str, english: bool, at: usize) -> String {
    let before: &[&str] = if english {
        &["Please note: ", "Remember that ", "Just so you know, "]
    } else {
        &["请记住：", "请注意，", "提醒一下，"]
    };
    format!("{}{}", before[at % before.len()], text)
}
