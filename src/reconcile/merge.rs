//! One candidate after the other against the store and against each other. Holds what the run has decided so far.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::among::clashes;
use super::claim::{Claim, says_change};
use super::conflict::{Clash, clash};
use super::neighbours::Neighbours;
use super::todo::{self, Closes};
use super::{Outcome, ReconcileContext, duplicate, is_global, is_live, links, review_item};
use crate::error::Result;
use crate::extract::ground::Verdict;
use crate::model::memory::RelationType;
use crate::model::{Change, Code, Evidence, Id, Memory, Origin, Relation, ReviewItem, Speaker, State};
use crate::store::Snapshot;
use crate::text::words::{exact, fold, token_set};

/// Whether every content word of a memory stands in an older one or its quotes. A pointer of the rules rests on words
/// alone, so a word left over ("admin server" beside "API server") makes it another claim.
fn adds_nothing(memory: &Memory, old: &Memory) -> bool {
    let quotes = old.evidence.iter().map(|e| e.quote.as_str()).collect::<Vec<_>>().join(" ");
    let said = token_set(&format!("{} {} {quotes}", old.summary, old.reason.as_deref().unwrap_or_default()));
    token_set(&memory.summary).iter().all(|word| said.contains(word))
}

/// The run so far.
pub(super) struct Merge<'a> {
    context: &'a ReconcileContext<'a>,
    snapshot: &'a Snapshot,
    /// What stands in the project and, as far as it was shown, in `_global`.
    stored: Vec<&'a Memory>,
    /// Where `stored` shares words with the candidates.
    neighbours: Neighbours,
    /// What was taken apart of them so far.
    claims: RefCell<HashMap<Id, Rc<Claim>>>,
    /// Alias or reference to id.
    names: BTreeMap<String, Id>,
    /// New memories, in order; their links may still grow.
    fresh: Vec<Memory>,
    /// Stored memories that change: todos done, entries superseded, reasons filled in.
    amended: BTreeMap<Id, Memory>,
    /// Pairs for review: older, newer, why, whether the newer claims to replace.
    clashes: Vec<(Id, Id, String, bool)>,
    confirms: Vec<(Id, Option<Evidence>)>,
    asks: Vec<(Memory, Vec<Code>)>,
    /// Stored memories that lean on a superseded one.
    items: Vec<ReviewItem>,
    pub out: Outcome,
}

impl<'a> Merge<'a> {
    pub fn new(snapshot: &'a Snapshot, context: &'a ReconcileContext<'a>) -> Self {
        let own: Vec<&Memory> = snapshot.entries.iter().map(|e| &e.memory).collect();
        let elsewhere = context.global.iter().flat_map(|s| &s.entries).map(|e| &e.memory).filter(|m| snapshot.entry(&m.id).is_none());
        let stored: Vec<&Memory> = own.iter().copied().chain(elsewhere).collect();
        let here: BTreeSet<&Id> = stored.iter().map(|m| &m.id).collect();
        // A memory that was shown may be gone by now: a pointer to it then points nowhere.
        let aliases = context.known.iter().filter(|k| here.contains(&k.memory.id));
        let names =
            aliases.flat_map(|k| [(k.alias.clone(), k.memory.id.clone()), (k.memory.id.to_string(), k.memory.id.clone())]).collect();
        Self {
            context,
            snapshot,
            stored,
            neighbours: Neighbours::default(),
            claims: RefCell::default(),
            names,
            fresh: Vec::new(),
            amended: BTreeMap::new(),
            clashes: Vec::new(),
            confirms: Vec::new(),
            asks: Vec::new(),
            items: Vec::new(),
            out: Outcome::default(),
        }
    }

    /// Makes the candidates of this answer known, before the first is taken: they can point at each other.
    pub fn expect(&mut self, kept: &[(Verdict, Memory, Option<Vec<Code>>)]) {
        self.neighbours = Neighbours::around(kept.iter().map(|(_, memory, _)| memory), self.stored.iter().map(|m| m.summary.as_str()));
        for (verdict, memory, codes) in kept {
            if codes.is_none() {
                self.names.entry(verdict.candidate.reference.clone()).or_insert_with(|| memory.id.clone());
            }
        }
    }

    /// A candidate that passed: a duplicate confirms, everything else is added with its links.
    pub fn take(&mut self, verdict: &Verdict, mut memory: Memory) -> Result<()> {
        // A memory of another scope is no conflict, and a link would leave its project: only "said again" reaches across.
        let reachable =
            |id: &Id, kind| kind == RelationType::Duplicate || self.look(id).is_some_and(|m| is_global(m) == is_global(&memory));
        let pointers: Vec<(Id, RelationType)> = verdict
            .candidate
            .relations
            .iter()
            .filter_map(|p| Some((self.names.get(&p.id)?.clone(), p.kind)))
            .filter(|(id, kind)| *id == memory.id || reachable(id, *kind))
            .collect();
        if let Some(twin) = self.twin(&memory, &pointers) {
            self.confirm(&twin, memory);
            self.names.insert(verdict.candidate.reference.clone(), twin);
            return Ok(());
        }
        let verdict_id = memory.id.clone();
        let mut handled: BTreeSet<Id> = pointers.iter().map(|(id, _)| id.clone()).collect();
        let mut clear = true;
        for (id, kind) in pointers.into_iter().filter(|(id, _)| *id != verdict_id) {
            clear &= self.point(&mut memory, &id, kind);
        }
        if !(clear && self.close_todo(&mut memory)) {
            // Which todo is meant is not clear: a person says so before anything is stored.
            self.asks.push((memory, vec![Code::Weak]));
            return Ok(());
        }
        handled.extend(memory.relations.iter().map(|r| r.id.clone()));
        self.detect(&mut memory, &handled);
        self.out.added.push(memory.id.clone());
        self.fresh.push(memory);
        Ok(())
    }

    /// The memory that says the same: pointed out by the extractor without a differing number or name, or found by equal words.
    fn twin(&self, memory: &Memory, pointers: &[(Id, RelationType)]) -> Option<Id> {
        let pointed = pointers.iter().filter(|(id, kind)| *kind == RelationType::Duplicate && *id != memory.id).find_map(|(id, _)| {
            let old = self.look(id)?;
            let known: BTreeSet<String> = exact(&format!("{} {}", old.summary, old.reason.as_deref().unwrap_or_default()));
            let believed = memory.origin != Origin::Rules || adds_nothing(memory, old);
            (believed
                && old.state == memory.state
                && exact(&memory.summary).is_subset(&known)
                && clash(old, memory).is_none_or(|c| !c.same_slot))
            .then(|| id.clone())
        });
        pointed.or_else(|| {
            self.near(memory)
                .find(|old| is_live(old) && is_global(old) == is_global(memory) && duplicate::same(old, memory))
                .map(|m| m.id.clone())
        })
    }

    fn everything(&self) -> impl Iterator<Item = &Memory> {
        self.fresh.iter().chain(self.stored.iter().map(|m| self.amended.get(&m.id).unwrap_or(m)))
    }

    /// Those of [`Merge::everything`] that share words with a memory.
    fn near(&self, memory: &Memory) -> impl Iterator<Item = &Memory> {
        let stored = self.neighbours.near(memory).into_iter().filter_map(|at| self.stored.get(at).copied());
        self.fresh.iter().chain(stored.map(|m| self.amended.get(&m.id).unwrap_or(m)))
    }

    fn look(&self, id: &Id) -> Option<&Memory> {
        self.everything().find(|m| m.id == *id)
    }

    fn is_stored(&self, id: &Id) -> bool {
        self.stored.iter().any(|m| m.id == *id)
    }

    /// Keeps the new words with the memory that is there; a reason it lacks is filled in.
    fn confirm(&mut self, twin: &Id, memory: Memory) {
        if let Some(earlier) = self.fresh.iter_mut().find(|m| m.id == *twin) {
            let known: BTreeSet<String> = earlier.evidence.iter().map(|e| fold(&e.quote)).collect();
            earlier.evidence.extend(memory.evidence.into_iter().filter(|e| !known.contains(&fold(&e.quote))));
            earlier.evidence.truncate(3);
            earlier.reason = earlier.reason.take().or(memory.reason);
            return;
        }
        let Some(old) = self.look(twin).cloned() else { return };
        if old.reason.is_none() && memory.reason.is_some() {
            self.amended.insert(twin.clone(), Memory { reason: memory.reason, ..old });
        }
        let mut evidence = memory.evidence;
        evidence.sort_by_key(|e| e.speaker != Speaker::User);
        let words = evidence.into_iter().next().map(|e| Evidence { session: Some(self.context.session.to_owned()), ..e });
        self.confirms.push((twin.clone(), words));
        self.out.confirmed.push(twin.clone());
    }

    /// What the extractor says a candidate is to another one; `false` if it cannot be believed without a person.
    fn point(&mut self, memory: &mut Memory, id: &Id, kind: RelationType) -> bool {
        let Some(other) = self.look(id).cloned() else { return true };
        match kind {
            RelationType::Completes => return self.complete(memory, &other),
            // What no longer holds cannot be replaced or contradicted.
            RelationType::Supersedes | RelationType::Conflicts if !matches!(other.state, State::Valid | State::Rejected) => {}
            RelationType::Supersedes | RelationType::Conflicts if self.is_stored(id) => {
                let found = clash(&other, memory);
                let replaces = kind == RelationType::Supersedes;
                self.disagree(memory, &other, found, replaces, replaces);
            }
            RelationType::Supersedes | RelationType::Conflicts => self.last_word(memory, id),
            RelationType::Refines | RelationType::DependsOn => memory.relations.push(Relation { id: id.clone(), kind }),
            // A duplicate with another number or name is no duplicate; the detector says what it is.
            RelationType::Duplicate if is_global(&other) != is_global(memory) => {}
            RelationType::Duplicate => {
                if let Some(found) = clash(&other, memory) {
                    let changed = found.changed;
                    self.disagree(memory, &other, Some(found), changed, false);
                } else {
                    memory.relations.push(Relation { id: id.clone(), kind: RelationType::Refines });
                }
            }
            RelationType::SupersededBy => {}
        }
        true
    }

    /// Inside one conversation the last word wins: the earlier one becomes a rejected option with its reason.
    fn last_word(&mut self, memory: &mut Memory, id: &Id) {
        if let Some(earlier) = self.fresh.iter_mut().find(|m| m.id == *id && m.state == State::Valid) {
            earlier.state = State::Rejected;
            let why = memory.reason.clone().unwrap_or_else(|| memory.summary.clone());
            earlier.reason = Some(why);
        }
        memory.relations.push(Relation { id: id.clone(), kind: RelationType::Supersedes });
    }

    /// A todo is done only if it is open and the finished work speaks of it. `false`: it does not seem to.
    fn complete(&mut self, memory: &mut Memory, todo: &Memory) -> bool {
        if !todo::is_open(todo) {
            return true;
        }
        if !todo::speaks_of(memory, todo) {
            return false;
        }
        // The finished entry closes the open one and is what holds from now on.
        let link = |kind| Relation { id: todo.id.clone(), kind };
        memory.relations.extend([link(RelationType::Completes), link(RelationType::Supersedes)]);
        self.out.completed.push(todo.id.clone());
        if let Some(fresh) = self.fresh.iter_mut().find(|m| m.id == todo.id) {
            fresh.state = State::Done;
        } else {
            self.amended.insert(todo.id.clone(), Memory { state: State::Done, ..todo.clone() });
        }
        true
    }

    /// Without a pointer: finished work closes the one open todo it clearly speaks of. `false`: several could be meant.
    fn close_todo(&mut self, memory: &mut Memory) -> bool {
        if memory.state != State::Done || memory.related(RelationType::Completes).next().is_some() {
            return true;
        }
        let open: Vec<Memory> = self.everything().filter(|m| todo::is_open(m)).cloned().collect();
        match todo::closed_by(memory, open.iter()) {
            Closes::One(todo) => self.complete(memory, todo),
            Closes::Unclear => false,
            Closes::Nothing => true,
        }
    }

    /// Memories taken apart, those of the store once for all candidates.
    fn claims(&self, memories: &[&Memory]) -> Vec<Rc<Claim>> {
        let mut known = self.claims.borrow_mut();
        let changes = |m: &Memory| self.amended.contains_key(&m.id) || self.fresh.iter().any(|f| f.id == m.id);
        let new: Vec<&Memory> = memories.iter().copied().filter(|m| !known.contains_key(&m.id) && !changes(m)).collect();
        known.extend(new.iter().map(|m| m.id.clone()).zip(Claim::all(&new).into_iter().map(Rc::new)));
        let claim = |m: &&Memory| match known.get(&m.id).filter(|_| !changes(m)) {
            Some(known) => Rc::clone(known),
            None => Rc::new(Claim::of(m)),
        };
        memories.iter().map(claim).collect()
    }

    /// The detector without a model, against everything that is not linked yet.
    fn detect(&mut self, memory: &mut Memory, handled: &BTreeSet<Id>) {
        let new = Claim::of(memory);
        let near: Vec<&Memory> =
            self.near(memory).filter(|old| !handled.contains(&old.id) && is_global(old) == is_global(memory)).collect();
        let claims = self.claims(&near);
        let claims: Vec<&Claim> = claims.iter().map(Rc::as_ref).collect();
        let mut found: Vec<(Memory, Clash)> =
            clashes(&claims, &new).into_iter().filter_map(|(at, clash)| Some(((*near.get(at)?).clone(), clash))).collect();
        // One pair is enough to ask about: the one in the same slot, else the newest.
        found.sort_by_key(|(old, clash)| (!clash.same_slot, std::cmp::Reverse(old.day())));
        let mut asked = false;
        for (old, clash) in found {
            if self.is_stored(&old.id) {
                if std::mem::replace(&mut asked, true) {
                    continue;
                }
                let changed = clash.changed;
                self.disagree(memory, &old, Some(clash), changed, false);
            } else if clash.same_slot && clash.changed && old.state == State::Valid && memory.state == State::Valid {
                self.last_word(memory, &old.id);
            }
        }
    }

    /// Two memories disagree. The user's own words about the same slot, on a later day, settle it; else both stay and wait.
    fn disagree(&mut self, memory: &mut Memory, old: &Memory, found: Option<Clash>, replaces: bool, pointed: bool) {
        let kind = if replaces { RelationType::Supersedes } else { RelationType::Conflicts };
        memory.relations.push(Relation { id: old.id.clone(), kind });
        if pointed && found.as_ref().is_some_and(|c| c.same_slot) && self.settled_by_user(memory, old) {
            let mut loser = self.amended.get(&old.id).unwrap_or(old).clone();
            loser.state = State::Superseded;
            loser.relations.push(Relation { id: memory.id.clone(), kind: RelationType::SupersededBy });
            self.out.superseded.push(old.id.clone());
            self.amended.insert(old.id.clone(), loser);
            return;
        }
        let reason = found.map_or_else(|| "the conversation says that it disagrees".to_owned(), |c| c.reason);
        self.out.conflicts.push((old.id.clone(), memory.id.clone()));
        self.clashes.push((old.id.clone(), memory.id.clone(), reason, replaces));
    }

    /// An explicit statement of the user, in a later conversation, about a memory that nobody pinned.
    fn settled_by_user(&self, memory: &Memory, old: &Memory) -> bool {
        let said = memory.evidence.iter().any(|e| e.speaker == Speaker::User) && says_change(memory);
        let day = |m: &Memory| m.session.as_deref().or(m.created.as_deref()).and_then(|t| t.get(..10)).map(str::to_owned);
        let later = day(old).is_some_and(|then| then.as_str() < self.context.day);
        said && later && !old.pinned && old.state == State::Valid && memory.state == State::Valid
    }

    /// A candidate that a person should see first, unless it is known or already waiting.
    pub fn ask(&mut self, memory: Memory, codes: Vec<Code>) {
        let waiting = self.snapshot.catalogue.review.iter().any(|item| fold(&item.memory.summary) == fold(&memory.summary));
        let twin = self.everything().find(|old| is_live(old) && duplicate::same(old, &memory)).map(|m| m.id.clone());
        match twin {
            _ if waiting => {}
            Some(twin) if codes == [Code::Weak] => self.confirm(&twin, memory),
            Some(_) => {}
            None => self.asks.push((memory, codes)),
        }
    }

    /// All changes in their order: new entries, amended ones, confirmations, pairs, questions.
    pub fn finish(mut self) -> Result<Outcome> {
        self.dependants()?;
        let global: BTreeSet<Id> = self.everything().filter(|m| is_global(m)).map(|m| m.id.clone()).collect();
        let context = self.context;
        let mut changes: Vec<(Id, Change)> = Vec::new();
        changes.extend(self.fresh.into_iter().map(|m| (m.id.clone(), Change::Add(m))));
        changes.extend(self.amended.into_iter().map(|(id, m)| (id, Change::Amend(m))));
        changes.extend(self.confirms.into_iter().map(|(id, evidence)| (id.clone(), Change::Confirm { id, evidence })));
        changes.extend(
            self.clashes
                .into_iter()
                .map(|(older, newer, reason, supersedes)| (newer.clone(), Change::Conflict { older, newer, reason, supersedes })),
        );
        let asked = self.asks.into_iter().map(|(memory, codes)| review_item(&memory, codes, context.project));
        for item in asked.chain(self.items) {
            self.out.review.push((item.id.clone(), item.codes.clone(), item.memory.summary.clone()));
            changes.push((item.id.clone(), Change::Ask(Box::new(item))));
        }
        for (id, change) in changes {
            if global.contains(&id) { self.out.global_changes.push(change) } else { self.out.changes.push(change) }
        }
        Ok(self.out)
    }

    /// What depends on a superseded memory has to be looked at again.
    fn dependants(&mut self) -> Result<()> {
        let mut found = Vec::new();
        for gone in &self.out.superseded {
            let Some(gone) = self.look(gone) else { continue };
            let leans = |m: &&&Memory| m.state == State::Valid && links::leans_on(m, gone);
            found.extend(self.stored.iter().filter(leans).map(|m| (*m).clone()));
        }
        for dependant in found {
            // The item has its own id; the record keeps the id of the entry that it is about.
            let item =
                ReviewItem { id: (self.context.new_id)()?, ..review_item(&dependant, vec![Code::EOverturned], self.context.project) };
            self.items.push(item);
        }
        Ok(())
    }
}
