//! What a person does to single memories: remember, forget, edit. Checks and plans, the same for commands and for the MCP
//! server. Not here: committing, asking, printing, and what waits for a decision (`review`).

use crate::error::{Error, Kind, Result};
use crate::extract::ground;
use crate::model::plan::{Plan, ReviewItem};
use crate::model::{self, Change, Id, Layer, Memory, Origin, State, Validity};
use crate::reconcile::claim::Claim;
use crate::reconcile::conflict::Clash;
use crate::reconcile::neighbours::Neighbours;
use crate::reconcile::{among, duplicate};
use crate::store::Snapshot;
use crate::text::{alike, redact, tags, words};

/// A memory in the words of whoever wants it kept.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The statement.
    pub text: String,
    /// Name of a kind; empty: fact.
    pub kind: String,
    /// Name of a layer; `None`: long-term for preferences and conventions, else working.
    pub layer: Option<String>,
    /// Heading.
    pub topic: Option<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Why it is so.
    pub why: Option<String>,
    /// Last day, `YYYY-MM-DD`.
    pub until: Option<String>,
    /// For every project.
    pub global: bool,
}

fn usage(what: impl Into<String>, hint: &str) -> Error {
    Error::new(Kind::Usage, what).hint(hint)
}

/// The memory that a wish describes, dated `now` (RFC 3339).
///
/// # Errors
/// [`Kind::Usage`] if a name or day is unknown, the statement is empty or too long, or any field holds a secret or text that
/// a program put into the conversation.
pub fn memory(wish: &Wish, id: Id, now: &str) -> Result<Memory> {
    let kind = match wish.kind.as_str() {
        "" => model::Kind::Fact,
        name => model::Kind::parse(name)
            .ok_or_else(|| usage(format!("`{name}` is no kind of memory"), "use decision, fact, todo, preference or convention"))?,
    };
    let layer = match wish.layer.as_deref() {
        Some(name) => Layer::parse(name).ok_or_else(|| usage(format!("`{name}` is no layer"), "use transient, working or long-term"))?,
        None if matches!(kind, model::Kind::Preference | model::Kind::Convention) => Layer::LongTerm,
        None => Layer::Working,
    };
    let fields = || [Some(&wish.text), wish.why.as_ref(), wish.topic.as_ref()].into_iter().flatten().chain(&wish.keywords);
    refuse_secrets(fields())?;
    if fields().any(|field| tags::is_injected(field)) {
        return Err(usage(
            "that is text which a program put into the conversation, and it is not remembered again",
            "write the statement in words of your own, without tags",
        ));
    }
    let summary = words_of(&wish.text);
    if summary.is_empty() {
        return Err(usage("there is nothing to remember", "write the statement as text"));
    }
    if words::width(&summary) > words::MAX_WIDTH {
        let (is, most) = (words::width(&summary), words::MAX_WIDTH);
        return Err(usage(
            format!("the statement is {is:.0} wide characters long; a summary has at most {most:.0}"),
            "say it in one short line and put the reason into `why`",
        ));
    }
    let mut memory = Memory::new(id, layer, kind, summary);
    if let Some(day) = &wish.until {
        let date = day.parse::<jiff::civil::Date>().map_err(|_| usage(format!("`{day}` is no day"), "write it as YYYY-MM-DD"))?;
        let date = date.to_string();
        if now.get(..10).is_some_and(|today| date.as_str() < today) {
            return Err(usage(format!("{date} is past, so this would hold no more"), "give a day that is still to come, or none"));
        }
        memory.validity = Validity::Until(date);
    }
    memory.topic = wish.topic.as_deref().map(words_of).filter(|t| !t.is_empty());
    memory.reason = wish.why.as_deref().map(words_of).filter(|t| !t.is_empty());
    memory.keywords = ground::keywords(&wish.keywords, memory.topic.as_deref(), &memory.summary);
    memory.scope = wish.global.then(|| "global".to_owned());
    memory.origin = Origin::Manual;
    memory.created = Some(now.to_owned());
    Ok(memory)
}

/// Checks that no text which a person wrote for a memory holds a secret.
///
/// # Errors
/// [`Kind::Usage`] if one does.
pub fn refuse_secrets<'a>(mut texts: impl Iterator<Item = &'a String>) -> Result<()> {
    if texts.any(|text| redact::has_secret(text)) {
        return Err(usage("that looks like a secret, and secrets are not stored", "say where the secret is kept instead"));
    }
    Ok(())
}

/// Checks a memory as a person has worded it.
///
/// # Errors
/// [`Kind::Usage`] if it holds a secret, or its summary is empty or too long.
pub fn check(memory: &Memory) -> Result<()> {
    let texts =
        [Some(&memory.summary), memory.reason.as_ref(), memory.topic.as_ref(), memory.rejected.as_ref(), memory.how_to_apply.as_ref()];
    refuse_secrets(texts.into_iter().flatten().chain(&memory.keywords))?;
    if memory.summary.is_empty() || words::width(&memory.summary) > words::MAX_WIDTH {
        return Err(usage(format!("a summary has 1 to {:.0} wide characters", words::MAX_WIDTH), "say it in one short line"));
    }
    Ok(())
}

/// The same, as its owner's own word if so far nobody vouched for it.
pub fn own(memory: &Memory) -> Memory {
    let origin = if memory.is_unconfirmed() { Origin::Manual } else { memory.origin };
    Memory { origin, ..memory.clone() }
}

/// How an owner puts a stored memory into other words: it is theirs then, and held back no more.
pub fn amend(now: &Snapshot, memory: &Memory) -> Vec<Change> {
    std::iter::once(Change::Amend(own(memory))).chain(accept(now, [memory])).collect()
}

/// Takes over those of these memories that appeared or changed outside.
pub fn accept<'a>(now: &Snapshot, memories: impl IntoIterator<Item = &'a Memory>) -> Option<Change> {
    let ids: Vec<Id> = memories.into_iter().map(|m| m.id.clone()).filter(|id| now.hand_edits.contains(id)).collect();
    (!ids.is_empty()).then_some(Change::Accept { ids })
}

/// One line, single spaces.
pub fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What remembering would do.
#[derive(Clone, Debug)]
pub struct Noted {
    /// To be committed.
    pub plan: Plan,
    /// The memory that says the same already; it is confirmed and nothing is added.
    pub known: Option<Id>,
    /// Memories that the new one disagrees with: all stay, and a person decides.
    pub disagrees: Vec<Id>,
}

/// Those of all summaries of a project that remembering has to know: the ones a memory could be the same as, or disagree with.
pub fn near(memory: &Memory, summaries: &[&str]) -> Vec<usize> {
    Neighbours::around([memory], summaries.iter().copied()).near(memory)
}

/// Plans to remember. A snapshot that is a part has what [`near`] picked.
pub fn remember(snapshot: &Snapshot, memory: &Memory, at: &str) -> Noted {
    let mut plan = plan(snapshot, "remember", at);
    let all: Vec<&Memory> = snapshot.entries.iter().map(|e| &e.memory).collect();
    let near: Vec<&Memory> = if snapshot.is_part {
        all
    } else {
        let summaries: Vec<&str> = all.iter().map(|m| m.summary.as_str()).collect();
        near(memory, &summaries).into_iter().filter_map(|at| all.get(at).copied()).collect()
    };
    // The words alone rule most of them out, at a tenth of the price.
    let words = alike::key(&memory.summary);
    let is_twin = |m: &&Memory| m.state == State::Valid && alike::key(&m.summary) == words && duplicate::same(m, memory);
    let known = near.iter().copied().find(is_twin).map(|m| m.id.clone());
    if let Some(id) = &known {
        plan.changes.push(Change::Confirm { id: id.clone(), evidence: None });
        return Noted { plan, known, disagrees: Vec::new() };
    }
    plan.changes.push(Change::Add(memory.clone()));
    let (disagrees, flags): (Vec<Id>, Vec<Change>) = clashes(near.iter().copied(), memory).into_iter().unzip();
    plan.changes.extend(flags);
    Noted { plan, known, disagrees }
}

/// The memories that a new one disagrees with, each with the change that flags both. All are taken together, as an ingest
/// does: what is near teaches which of them are about one thing.
pub fn clashes<'a>(near: impl Iterator<Item = &'a Memory>, memory: &Memory) -> Vec<(Id, Change)> {
    let holds: Vec<&Memory> = near.filter(|m| matches!(m.state, State::Valid | State::Rejected)).collect();
    let claims = Claim::all(&holds);
    let flag = |(at, clash): (usize, Clash)| {
        let (id, newer) = (holds.get(at)?.id.clone(), memory.id.clone());
        Some((id.clone(), Change::Conflict { older: id, newer, reason: clash.reason, supersedes: clash.changed }))
    };
    among::clashes(&claims.iter().collect::<Vec<_>>(), &Claim::of(memory)).into_iter().filter_map(flag).collect()
}

/// Whether the owner rejected this claim before.
pub fn is_buried(snapshot: &Snapshot, memory: &Memory) -> bool {
    snapshot.catalogue.tombstones.iter().any(|stone| !stone.lost && duplicate::buried(&memory.summary, stone))
}

/// Plans to forget those of these memories that are in the project, the archive included; each leaves a tombstone.
pub fn forget<'a>(snapshot: &Snapshot, memories: impl IntoIterator<Item = &'a Memory>, at: &str) -> Plan {
    let mut plan = plan(snapshot, "forget", at);
    let mine = memories.into_iter().filter(|m| snapshot.catalogue.memories.contains_key(m.id.as_str()));
    plan.changes.extend(mine.map(|m| Change::Forget { id: m.id.clone(), tombstone: Some(duplicate::tombstone_of(m, at)) }));
    plan
}

/// Plans to drop the candidates of a conversation that wait for review; each leaves a tombstone.
pub fn drop_candidates(snapshot: &Snapshot, session: &str, at: &str) -> Vec<Change> {
    let of_session = snapshot.catalogue.review.iter().filter(|item| item.memory.session.as_deref() == Some(session));
    let stone = |item: &ReviewItem| {
        // An item about a stored entry is a question about that one, which goes or stays by itself.
        let about_stored = Id::parse(&item.memory.id).is_some_and(|id| id != item.id);
        let memory = item.memory.to_memory(item.id.clone()).ok().filter(|_| !about_stored);
        memory.map(|memory| duplicate::tombstone_of(&memory, at))
    };
    of_session.map(|item| Change::Answer { id: item.id.clone(), tombstone: stone(item) }).collect()
}

pub(super) fn plan(snapshot: &Snapshot, command: &str, at: &str) -> Plan {
    Plan::new(&snapshot.project, snapshot.base.clone(), command, at)
}
