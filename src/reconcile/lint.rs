//! The local side of `refine`: what in the store could be said better, found without a model.
//!
//! Proposals only; a person accepts them. Applying all of them and looking again proposes nothing new.
//! Not here: the model's side, showing diffs, and remembering what was declined (the caller keeps [`Proposal::key`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

use super::duplicate::{LEAST_SIMILAR, same};
use super::standing;
use crate::model::{Change, Id, Layer, Memory, Relation, RelationType, State, Validity};
use crate::store::Snapshot;
use crate::text::words;

/// What could be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Say it in these words.
    Rewrite {
        /// The new summary; says the same.
        summary: String,
    },
    /// They say the same: this one stays, with the quotes and keywords of all; the others become superseded.
    Merge {
        /// The one that stays.
        into: Id,
    },
    /// Its date has passed.
    Lapse,
    /// Its text names a date that its validity does not know.
    SetUntil {
        /// `YYYY-MM-DD`.
        day: String,
    },
    /// They cannot both be followed: flag them, a person decides.
    Conflict,
    /// An open todo that another entry says is done.
    Finish {
        /// The todo.
        todo: Id,
    },
    /// Only its owner can say it better: a question in the model's words.
    Doubt {
        /// What to ask.
        question: String,
    },
    /// Only its owner can say it better.
    Question {
        /// What to ask; stable code, for the caller to put into words.
        ask: Ask,
    },
}

/// What an entry lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// What is "it"?
    Vague,
    /// Can it be said in 100 wide characters?
    TooLong,
    /// What is wanted instead?
    NoAlternative,
}

impl Ask {
    /// The question, in the entry's language.
    pub fn words(self, language: words::Language) -> &'static str {
        match (self, language) {
            (Self::Vague, words::Language::Chinese) => "具体指什么？请写出名称。",
            (Self::TooLong, words::Language::Chinese) => "能否用不超过 100 个汉字说清楚？",
            (Self::NoAlternative, words::Language::Chinese) => "那么应该怎么做？",
            (Self::Vague, _) => "What is this about, by name?",
            (Self::TooLong, _) => "Can this be said in 200 letters or fewer?",
            (Self::NoAlternative, _) => "What is wanted instead?",
        }
    }
}

/// One proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Stable name (16 hex digits) of this proposal for this text: a declined one is remembered by it, and asked again
    /// only when the text has changed.
    pub key: String,
    /// The entries it is about.
    pub ids: Vec<Id>,
    /// What could be done.
    pub kind: Kind,
    /// Why, in a few words.
    pub reason: Cow<'static, str>,
}

/// What could be said better, by entry in the order of ids; then duplicates, pairs that disagree, and todos that are done.
pub fn lint(snapshot: &Snapshot, today: &str) -> Vec<Proposal> {
    let mut memories: Vec<&Memory> = snapshot.entries.iter().map(|e| &e.memory).filter(|m| m.state == State::Valid).collect();
    memories.sort_by_key(|m| &m.id);
    let (mut proposals, mut clean) = (Vec::new(), Vec::new());
    for memory in memories {
        if has_lapsed(memory, today) {
            proposals.push(proposal(&[memory], Kind::Lapse, "its date has passed"));
        } else if memory.layer != Layer::Transient {
            // Later rules look at the tidy text, so that accepting a rewrite brings up nothing new.
            let tidied = Memory { summary: tidy(&memory.summary), ..memory.clone() };
            if tidied.summary != memory.summary {
                let kind = Kind::Rewrite { summary: tidied.summary.clone() };
                proposals.push(proposal(&[memory], kind, "words that say nothing"));
            }
            clean.push(tidied);
        }
    }
    for memory in &clean {
        proposals.extend(about_one(memory, today));
    }
    proposals.extend(duplicates(&clean));
    // What is over by its own words disagrees with nothing.
    let over: BTreeSet<&Id> = proposals.iter().filter(|p| p.kind == Kind::Lapse).flat_map(|p| &p.ids).collect();
    let holds: Vec<Memory> = clean.iter().filter(|m| !over.contains(&m.id)).cloned().collect();
    proposals.extend(standing::conflicts(snapshot, &holds));
    proposals.extend(standing::finished(snapshot));
    proposals
}

/// The rules for a single entry.
fn about_one(memory: &Memory, today: &str) -> Vec<Proposal> {
    let ask = |ask, reason| proposal(&[memory], Kind::Question { ask }, reason);
    let mut found = Vec::new();
    if memory.validity == Validity::Lasting
        && let Some(day) = named_end(&memory.summary)
    {
        let kind = if day.as_str() < today { Kind::Lapse } else { Kind::SetUntil { day } };
        found.push(proposal(&[memory], kind, "its text names its last day"));
    }
    if words::width(&memory.summary) > words::MAX_WIDTH {
        found.push(ask(Ask::TooLong, "longer than one line should be"));
    } else if is_vague(&memory.summary) {
        found.push(ask(Ask::Vague, "names nothing that could be found"));
    } else if only_forbids(memory) {
        found.push(ask(Ask::NoAlternative, "forbids without saying what is wanted"));
    }
    found
}

fn has_lapsed(memory: &Memory, today: &str) -> bool {
    memory.validity.until_date().is_some_and(|until| until < today)
}

/// A proposal with its stable name.
pub(super) fn proposal(memories: &[&Memory], kind: Kind, reason: impl Into<Cow<'static, str>>) -> Proposal {
    let what = match &kind {
        Kind::Rewrite { .. } => "rewrite",
        Kind::Merge { .. } => "merge",
        Kind::Lapse => "lapse",
        Kind::SetUntil { .. } => "until",
        Kind::Conflict => "conflict",
        Kind::Finish { .. } => "finish",
        Kind::Doubt { .. } => "doubt",
        Kind::Question { ask: Ask::Vague } => "vague",
        Kind::Question { ask: Ask::TooLong } => "long",
        Kind::Question { ask: Ask::NoAlternative } => "alternative",
    };
    let key = key(what, memories);
    Proposal { key, ids: memories.iter().map(|m| m.id.clone()).collect(), kind, reason: reason.into() }
}

/// A stable name (16 hex digits) for a question about memories that say what they say.
pub fn key(what: &str, memories: &[&Memory]) -> String {
    let mut hash = Sha256::new();
    hash.update(what);
    for memory in memories {
        hash.update(format!("\0{}\0{}", memory.id, words::fold(&tidy(&memory.summary))));
    }
    hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
}

fn pattern(cell: &'static LazyLock<Option<Regex>>) -> Option<&'static Regex> {
    cell.as_ref()
}

/// The summary without opening words that say nothing and without list marks.
fn tidy(summary: &str) -> String {
    static FILLER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)^(?:[-*+•]\s+|(?:please\s+)?(?:remember|note|keep in mind|be aware)(?:\s+that\b|\s*[:,])\s*|(?:note to self|reminder)\s*[:,]\s*",
            r"|(?:请)?(?:记住|注意|记得|牢记|谨记)(?:一下)?\s*[：:，,]\s*|提醒(?:一下)?\s*[：:，,]\s*)",
        ))
        .ok()
    });
    let mut text = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(found) = pattern(&FILLER).and_then(|p| p.find(&text)) {
        let rest = text.get(found.end()..).unwrap_or_default().trim();
        if rest.is_empty() {
            break;
        }
        text = rest.to_owned();
    }
    text
}

/// The day after "until" and its kin, if it is one of the calendar.
fn named_end(summary: &str) -> Option<String> {
    static UNTIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:\b(?:until|till|through|valid to|expires(?: on)?)\s+|(?:有效期(?:到|至)|截止到?|截至|直到|保留到|冻结到|持续到)\s*)",
            r"([0-9]{4})(?:-|/|年\s*)([0-9]{1,2})(?:-|/|月\s*)([0-9]{1,2})",
            r"|([0-9]{4})(?:-|/|年\s*)([0-9]{1,2})(?:-|/|月\s*)([0-9]{1,2})\s*日?\s*(?:到期|过期|失效)",
        ))
        .ok()
    });
    let found = pattern(&UNTIL)?.captures(summary)?;
    let part = |i: usize| found.get(i).or_else(|| found.get(i + 3))?.as_str().parse::<i16>().ok();
    let day = jiff::civil::Date::new(part(1)?, i8::try_from(part(2)?).ok()?, i8::try_from(part(3)?).ok()?).ok()?;
    Some(day.to_string())
}

/// Words that stand for something said elsewhere.
const POINTING: &[&str] =
    &["it", "this", "that", "these", "those", "them", "thing", "things", "stuff", "something", "same", "above", "way"];
/// Verbs and fillers that name nothing by themselves.
const EMPTY: &[&str] = &[
    "use", "do", "make", "fix", "change", "keep", "go", "done", "need", "should", "must", "not", "no", "never", "don't", "always",
    "instead", "again", "later", "before", "better", "good", "bad", "work", "new", "old", "want", "try", "ask", "approach",
];
/// The pointing words of Chinese, the longer ones first.
const POINTING_CHINESE: &[&str] = &[
    "这个", "那个", "这样", "那样", "这种", "那种", "这里", "那里", "这些", "那些", "上面", "前面", "东西", "它们", "他们", "它", "这",
    "那",
];
/// Its empty words, the longer ones first.
const EMPTY_CHINESE: &[&str] = &[
    "之前", "以后", "下次", "处理", "修改", "使用", "需要", "应该", "必须", "不要", "可以", "一下", "的话", "就行", "方案", "方式", "问题",
    "改", "用", "做", "修", "要", "不", "别", "再", "了", "的", "就", "吧", "都", "是", "按", "也", "还",
];

/// Whether nothing is left once pronouns and empty verbs are gone; with a pronoun, one name is not enough either.
fn is_vague(summary: &str) -> bool {
    let folded = words::fold(summary);
    let points =
        folded.split(|c: char| !c.is_alphanumeric()).any(|w| POINTING.contains(&w)) || POINTING_CHINESE.iter().any(|w| folded.contains(w));
    let rest = POINTING_CHINESE.iter().chain(EMPTY_CHINESE).fold(folded, |text, word| text.replace(word, " "));
    let empty: BTreeSet<String> = POINTING.iter().chain(EMPTY).map(|w| words::stem(w).into_owned()).collect();
    let named = words::tokens(&rest).iter().filter(|t| !t.chars().any(words::is_cjk) && !empty.contains(*t)).count();
    let chinese = rest.chars().filter(|c| words::is_cjk(*c)).count();
    match named + chinese.div_ceil(2) {
        0 => true,
        1 => points && words::exact(summary).is_empty(),
        _ => false,
    }
}

/// Whether a text only says what not to do (V22 of the users' voices: that primes the very habit).
fn only_forbids(memory: &Memory) -> bool {
    static FORBIDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:(?:we|you|i|please|always)\s+)*(?:never|don't|do not|no more|must not|mustn't|avoid|stop)\b|^(?:绝对|千万|请|一律|以后)*(?:不要|别(?:再)?|禁止|不得|勿|不许|不准|不能|严禁|避免)").ok()
    });
    static OFFERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:instead|but|rather|prefer|use|only|unless|without|until|ask)\b|[;；→]|->|改用|改为|而是|应|请用|代替|统一|只|要用|除非|先|，用").ok()
    });
    let folded = words::fold(&memory.summary);
    let forbids = pattern(&FORBIDS).and_then(|p| p.find(&folded));
    let Some(rest) = forbids.and_then(|found| folded.get(found.end()..)) else { return false };
    // "don't use X": the verb of what is forbidden is no offer.
    let rest = rest.trim_start().trim_start_matches("use ").trim_start_matches("using ");
    let offered = pattern(&OFFERS).is_some_and(|p| p.is_match(rest));
    !offered && memory.how_to_apply.is_none() && memory.rejected.is_none()
}

/// Groups that say the same. Each entry is in at most one; of a group the pinned, longest-lived, oldest stays.
fn duplicates(memories: &[Memory]) -> Vec<Proposal> {
    let neighbours = neighbours(memories);
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for (i, memory) in memories.iter().enumerate() {
        if used.contains(&i) {
            continue;
        }
        let others = neighbours.get(&i).into_iter().flatten().filter(|j| **j > i && !used.contains(*j));
        let alike: Vec<usize> = others.copied().filter(|j| memories.get(*j).is_some_and(|other| same(memory, other))).collect();
        if alike.is_empty() {
            continue;
        }
        let group: Vec<&Memory> = std::iter::once(i).chain(alike.iter().copied()).filter_map(|j| memories.get(j)).collect();
        used.extend(alike);
        let stays =
            group.iter().min_by_key(|m| (!m.pinned, std::cmp::Reverse(m.layer), m.day().is_none(), m.day(), &m.id)).map(|m| m.id.clone());
        found.extend(stays.map(|into| proposal(&group, Kind::Merge { into }, "they say the same")));
    }
    found
}

/// For each entry those that could be alike: two sets with a Jaccard of `s` or more share at least one of the rarest
/// `n - ⌈s·n⌉ + 1` tokens of each (prefix filtering, Chaudhuri, Ganti, Kaushik 2006), so the other pairs are not looked at.
fn neighbours(memories: &[Memory]) -> BTreeMap<usize, BTreeSet<usize>> {
    let sets: Vec<BTreeSet<String>> = memories.iter().map(|m| words::token_set(&m.summary)).collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for token in sets.iter().flatten() {
        *frequency.entry(token).or_default() += 1;
    }
    // Names and numbers may not differ at all, so only entries with the same ones meet.
    let exact: Vec<BTreeSet<String>> = memories.iter().map(|m| words::exact(&m.summary)).collect();
    let mut meetings: BTreeMap<(&BTreeSet<String>, &str), Vec<usize>> = BTreeMap::new();
    for (i, (set, exact)) in sets.iter().zip(&exact).enumerate() {
        let mut tokens: Vec<&str> = set.iter().map(String::as_str).collect();
        tokens.sort_by_key(|t| (frequency.get(t), *t));
        let prefix = tokens.len() - (LEAST_SIMILAR * tokens.len() as f64).ceil() as usize + 1;
        for token in tokens.into_iter().take(prefix) {
            meetings.entry((exact, token)).or_default().push(i);
        }
    }
    let mut pairs: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for group in meetings.values() {
        for (n, i) in group.iter().enumerate() {
            pairs.entry(*i).or_default().extend(group.iter().skip(n + 1));
        }
    }
    pairs
}

/// The changes that carry out an accepted proposal; none for a question, which its owner answers by an edit.
pub fn changes(snapshot: &Snapshot, proposal: &Proposal) -> Vec<Change> {
    let entries: Vec<&Memory> = proposal.ids.iter().filter_map(|id| snapshot.entry(id)).map(|e| &e.memory).collect();
    let amend = |change: &dyn Fn(&mut Memory)| {
        let amended = entries.iter().map(|m| {
            let mut memory = (*m).clone();
            change(&mut memory);
            Change::Amend(memory)
        });
        amended.collect::<Vec<_>>()
    };
    match &proposal.kind {
        Kind::Rewrite { summary } => amend(&|m| m.summary.clone_from(summary)),
        Kind::Lapse => amend(&|m| m.state = State::Lapsed),
        Kind::SetUntil { day } => amend(&|m| m.validity = Validity::Until(day.clone())),
        Kind::Finish { todo } => {
            let done = |m: &&Memory| m.id == *todo;
            entries.iter().filter(|m| done(m)).map(|m| Change::Amend(Memory { state: State::Done, ..(*m).clone() })).collect()
        }
        Kind::Question { .. } | Kind::Doubt { .. } => Vec::new(),
        Kind::Conflict => match entries.as_slice() {
            [older, newer] => vec![Change::Conflict {
                older: older.id.clone(),
                newer: newer.id.clone(),
                reason: proposal.reason.clone().into_owned(),
                supersedes: false,
            }],
            _ => Vec::new(),
        },
        Kind::Merge { into } => amend(&|m| {
            if m.id == *into {
                absorb(m, &entries);
            } else {
                m.state = State::Superseded;
                m.relations.push(Relation { id: into.clone(), kind: RelationType::SupersededBy });
            }
        }),
    }
}

/// Takes over the quotes, keywords and reasons of memories that say the same, and links to them.
pub fn absorb(memory: &mut Memory, all: &[&Memory]) {
    let own = memory.id.clone();
    for other in all.iter().filter(|m| m.id != own) {
        for mut evidence in other.evidence.iter().cloned() {
            evidence.session = evidence.session.or_else(|| other.session.clone());
            if !memory.evidence.iter().any(|e| e.quote == evidence.quote) {
                memory.evidence.push(evidence);
            }
        }
        for keyword in &other.keywords {
            if !memory.keywords.contains(keyword) {
                memory.keywords.push(keyword.clone());
            }
        }
        memory.reason = memory.reason.take().or_else(|| other.reason.clone());
        memory.how_to_apply = memory.how_to_apply.take().or_else(|| other.how_to_apply.clone());
        memory.rejected = memory.rejected.take().or_else(|| other.rejected.clone());
        memory.relations.push(Relation { id: other.id.clone(), kind: RelationType::Supersedes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind as Says;
    use crate::store::Entry;

    fn key_of(summary: &str) -> String {
        let memory = Memory::new(Id::from_bits(7), Layer::Working, Says::Decision, summary);
        let entries = vec![Entry::new(memory, "")];
        let found = lint(&Snapshot { entries, ..Snapshot::default() }, "2025-06-12");
        found.last().map(|p| p.key.clone()).unwrap_or_default()
    }

    #[test]
    fn a_declined_question_is_known_again_until_the_text_changes() {
        assert_eq!(key_of("Fix it later").len(), 16);
        assert_eq!(key_of("Fix it later"), key_of("Remember: fix it  later"));
        assert_ne!(key_of("Fix it later"), key_of("Change it later"));
        assert_eq!(key_of("Retries stop after 3 tries"), "");
    }
}
