//! The detector without a model: do two memories about the same thing disagree?
//!
//! Two claims disagree if they are about one subject and one slot and give it another value, or say it the other way round.
//! Whatever else differs on both sides makes them claims about two things. What a clash leads to is decided in `reconcile`;
//! here nothing is changed.

use std::collections::BTreeSet;

use super::claim::{Claim, Look, Part, Unit, topic_of};
use super::duplicate::alike;
use super::roles;
use super::units::OWNS;
use crate::model::{Kind, Memory, State};
use crate::text::phrases::{has_any, without};
use crate::text::polarity::{agree, common_limits, common_marks, polarity, polarity_without};
use crate::text::words::{fold, is_cjk};

/// Two memories that disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// One line for a person.
    pub reason: String,
    /// Whether the newer one says itself that something changed.
    pub changed: bool,
    /// Whether subject and slot are plainly the same.
    pub same_slot: bool,
}

/// Share of the words of the shorter claim that both must have.
const SHARED: f64 = 0.5;

/// Share of all words of the shorter claim, with its value, that both must have.
const LEAST_SHARED: f64 = 0.34;

/// Share if one says that it leaves the other's value behind: other words may then differ.
const SHARED_LEFT: f64 = 0.6;

/// Most CJK letters, or half words, that both sides may say beside what one affirms and the other denies.
const OTHER: usize = 2;

/// Most letters by which the longer form of a word may be longer (changes, but not changelog).
const ENDING: usize = 3;

/// Most words of a reason.
const SHOWN: usize = 4;

/// Whether the newer memory disagrees with the older one, and why it is thought so.
pub fn clash(older: &Memory, newer: &Memory) -> Option<Clash> {
    between(&Claim::of(older), &Claim::of(newer))
}

/// [`clash`] of memories taken apart before: for comparing one with many.
pub fn between(older: &Claim, newer: &Claim) -> Option<Clash> {
    clash_of(older, newer, told(older, newer)?)
}

/// A clash, unless both say the same after all.
pub(super) fn clash_of(older: &Claim, newer: &Claim, found: Found) -> Option<Clash> {
    let rejected = [older, newer].iter().any(|claim| claim.state == State::Rejected);
    let same = !rejected && alike(&older.summary, &newer.summary);
    (!same).then_some(Clash { reason: found.reason, changed: newer.said_changed, same_slot: found.same_slot })
}

/// In what two claims disagree.
pub(super) struct Found {
    pub reason: String,
    pub same_slot: bool,
    /// Two values, if neither says that something is left behind or denied.
    pub values: Option<(String, String)>,
    /// Whether one affirms what the other denies.
    pub sign: bool,
}

impl From<(String, bool)> for Found {
    fn from((reason, same_slot): (String, bool)) -> Self {
        Self { reason, same_slot, values: None, sign: false }
    }
}

/// What the words of two claims alone tell.
pub(super) fn told(older: &Claim, newer: &Claim) -> Option<Found> {
    if !comparable(older, newer) {
        return None;
    }
    if older.state == State::Rejected || newer.state == State::Rejected {
        return turned_down(older, newer).map(Found::from);
    }
    other_value(older, newer, &newer.units)
        .or_else(|| in_one_clause(older, newer))
        .or_else(|| left_behind(older, newer).map(Found::from))
        .or_else(|| opposite(older, newer).map(|found| Found { sign: true, ..found.into() }))
        .or_else(|| renewed(older, newer).map(Found::from))
}

/// Which pairs can disagree at all: about one place, and both hold or one was turned down; a todo only with a todo or a
/// decision about it.
pub(super) fn comparable(older: &Claim, newer: &Claim) -> bool {
    let live = |m: &Claim| matches!(m.state, State::Valid | State::Rejected);
    let todos = [older.kind, newer.kind].iter().filter(|k| **k == Kind::Todo).count();
    let both_rejected = older.state == State::Rejected && newer.state == State::Rejected;
    let live = live(older) && live(newer) && !both_rejected && (todos != 1 || older.kind == Kind::Todo);
    live && older.scope == newer.scope && !older.elsewhere(newer)
}

/// What one claim has and the other has not.
struct Rest<'a> {
    /// Words of the subject and the slot.
    subject: Vec<&'a Unit>,
    values: Vec<&'a Unit>,
    /// How many words both have.
    shared: usize,
    /// Whether they are enough to be a subject: a word, or two CJK letters.
    enough: bool,
    /// Whether one of them is a value or a name.
    named: bool,
    /// In how many places of the claim it has other words, and whether all of them are numbers.
    places: usize,
    numbers: bool,
}

impl<'a> Rest<'a> {
    fn of(units: &'a [Unit], other: &[Unit]) -> Self {
        let mut rest = Self { subject: Vec::new(), values: Vec::new(), shared: 0, enough: false, named: false, places: 0, numbers: true };
        let mut letters = 0;
        // Words behind one that is in the place of a value belong to it, as far as they differ.
        let mut value: Option<(usize, usize)> = None;
        let mut differs = false;
        for (at, unit) in units.iter().enumerate() {
            if other.iter().any(|o| near(unit, o)) {
                rest.shared += 1;
                letters += usize::from(unit.text.chars().all(is_cjk));
                rest.enough |= letters > 1 || unit.text.starts_with(|c: char| c.is_alphanumeric() && !is_cjk(c));
                let name = |u: &Unit| matches!(u.look, Look::Name | Look::Value | Look::Path);
                rest.named |= name(unit) || other.iter().any(|o| near(unit, o) && name(o));
                differs = false;
                // "in channel north-star": behind a word of both the value goes on.
                if unit.look == Look::Value {
                    value = Some((at + 1, unit.phrase));
                }
                continue;
            }
            rest.places += usize::from(!differs);
            rest.numbers &= matches!(unit.look, Look::Number(_));
            differs = true;
            let goes_on = value == Some((at, unit.phrase));
            match &unit.look {
                Look::Plain if !goes_on => rest.subject.push(unit),
                Look::Plain | Look::Value => {
                    value = Some((at + 1, unit.phrase));
                    rest.values.push(unit);
                }
                Look::Name => {
                    value = Some((at + 1, unit.phrase));
                    rest.values.push(unit);
                }
                _ => rest.values.push(unit),
            }
        }
        rest
    }
}

/// Whether two words are one: the same, or forms of one (timeout, times; approval, approve; rewritten, written).
pub(super) fn near(a: &Unit, b: &Unit) -> bool {
    let (x, y) = if a.text.len() <= b.text.len() { (&a.text, &b.text) } else { (&b.text, &a.text) };
    if a.tail != b.tail {
        return false;
    }
    if x == y {
        return true;
    }
    // A file or package is also called by its parts.
    if y.split(['-', '.', '_']).any(|part| part == x && part.len() > 3) {
        return true;
    }
    let words = |u: &Unit| matches!(u.look, Look::Plain | Look::Value);
    words(a) && words(b) && forms(x, y)
}

/// Whether two English words, the shorter first, can be forms of one.
pub(super) fn forms(x: &str, y: &str) -> bool {
    let word = |w: &str| w.bytes().all(|c| c.is_ascii_lowercase());
    if x.len() < 4 || !word(x) || !word(y) {
        return false;
    }
    let common = x.bytes().zip(y.bytes()).take_while(|(p, q)| p == q).count();
    common >= x.len().min(7) && y.len() <= common + ENDING || y.strip_prefix("re").is_some_and(|y| y.len() > 3 && x.starts_with(y))
}

/// Another value in the same slot: nothing else differs on both sides.
fn other_value(a: &Claim, b: &Claim, units: &[Unit]) -> Option<Found> {
    let (x, y) = (Rest::of(&a.units, units), Rest::of(units, &a.units));
    let (m, n) = (a.units.len() - x.values.len(), units.len() - y.values.len());
    let few = (x.shared.min(y.shared) as f64) < LEAST_SHARED * a.units.len().min(units.len()) as f64;
    if a.also || b.also || !x.enough || few || (x.shared.min(y.shared) as f64) < SHARED * m.min(n) as f64 {
        return None;
    }
    if let Some((mine, theirs)) = roles::opposites(&fold(&a.head), &fold(&b.head)) {
        let others = |rest: &Rest, word: &str| {
            rest.subject.iter().chain(&rest.values).any(|u| !word.contains(u.text.as_str()) && !u.text.starts_with(word))
        };
        // Beside that something else differs: they are about two things.
        let two = others(&x, mine) && others(&y, theirs);
        return (!two).then(|| (format!("{}: {mine} in one and {theirs} in the other", shared(a, b)), true).into());
    }
    if !x.subject.is_empty() && !y.subject.is_empty() || denies(a) || denies(b) {
        return None;
    }
    // Who owns it is no other value of a slot.
    if x.subject.iter().chain(&y.subject).any(|u| u.text == OWNS) {
        return None;
    }
    // Other words in two places are another subject and another value; two numbers belong to one.
    if x.places > 1 && y.places > 1 && !(x.numbers && y.numbers) {
        return None;
    }
    let old_value = |u: &Unit| u.look != Look::Plain && a.units.iter().any(|o| near(o, u));
    if !b.left.is_empty() && !b.left.iter().any(old_value) {
        // It says what it leaves behind, and that is something else.
        return None;
    }
    let frame = Frame {
        changed: a.changed || b.changed,
        rest_is_same: x.subject.is_empty() && y.subject.is_empty(),
        named: both_name(a, b),
        words: in_words(&a.units) || in_words(units),
    };
    let pairs = || x.values.iter().flat_map(|v| y.values.iter().map(move |w| (*v, *w)));
    // Two todos with other objects are two todos.
    let todos = a.kind == Kind::Todo && b.kind == Kind::Todo;
    let counts = |v: &Unit| !todos || !matches!(v.look, Look::Name | Look::Value);
    let (v, w) = pairs().find(|(v, w)| counts(v) && frame.comparable(v, w))?;
    let reason = format!("{}: {} in one and {} in the other", shared(a, b), v.text, w.text);
    Some(Found { values: Some((v.text.clone(), w.text.clone())), ..(reason, true).into() })
}

/// Whether a value goes on in plain words: "by bank transfer".
fn in_words(units: &[Unit]) -> bool {
    let goes_on = |pair: &[Unit]| match pair {
        [v, next] => v.look == Look::Value && next.look == Look::Plain && v.phrase == next.phrase && v.clause == next.clause,
        _ => false,
    };
    units.windows(2).any(goes_on)
}

fn both_name(a: &Claim, b: &Claim) -> bool {
    let name = |u: &&Unit| u.look == Look::Name;
    a.units.iter().filter(name).any(|u| b.units.iter().filter(name).any(|o| near(u, o)))
}

/// [`other_value`] in the first clause of the newer claim, whatever it says beside.
fn in_one_clause(a: &Claim, b: &Claim) -> Option<Found> {
    let first = b.units.iter().take_while(|u| u.clause == 0).count();
    if first == b.units.len() || !b.changed {
        return None;
    }
    other_value(a, b, b.units.get(..first)?)
}

/// What is known about two claims when their values are compared.
struct Frame {
    changed: bool,
    rest_is_same: bool,
    /// Whether both have one and the same name.
    named: bool,
    /// Whether a value goes on in plain words.
    words: bool,
}

impl Frame {
    /// Whether two values can be of one slot: of one look, and opened by the same word unless the rest tells that it is one.
    fn comparable(&self, v: &Unit, w: &Unit) -> bool {
        let told = v.by == w.by && !v.by.is_empty() || self.changed && (v.by == "to" || w.by == "to") && v.by != "由" && w.by != "由";
        let wide = |u: &Unit| u.text.chars().all(is_cjk);
        match (&v.look, &w.look) {
            // "Use Redis in tests", "use Redis in demos": the name is the value, and what follows says where.
            (Look::Value | Look::Plain, Look::Value | Look::Plain)
                if self.named && v.by == w.by && matches!(v.by.as_str(), "in" | "on") =>
            {
                false
            }
            (Look::Plain, Look::Plain) => told,
            (Look::Plain, _) | (_, Look::Plain) => false,
            (Look::Name | Look::Value, Look::Name | Look::Value) if wide(v) != wide(w) => self.rest_is_same && told,
            (Look::Name, Look::Name) if (v.by == "#") != (w.by == "#") => false,
            (Look::Name, Look::Name) => told || self.rest_is_same,
            // "written in Catalan", "written in the third person": a name is no value of the kind of a few other words.
            (Look::Name, Look::Value) | (Look::Value, Look::Name) => told && (self.changed || wide(v) || !self.words),
            (Look::Value, Look::Value) => told,
            (Look::Number(None), Look::Number(None)) if v.by.starts_with('#') || w.by.starts_with('#') => v.by == w.by,
            (Look::Number(None), Look::Number(None)) => told || self.rest_is_same,
            (x, y) => x == y,
        }
    }
}

/// One speaks of a value that the other says is left behind, and of much the same subject.
fn left_behind(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    let leaves = |x: &Claim, y: &Claim| {
        if denies(y) {
            return None;
        }
        let of_name = |u: &Unit| u.by.strip_prefix('#').map(str::to_owned);
        let left = |u: &&Unit| x.left.iter().any(|l| near(l, u) && of_name(l) == of_name(u));
        let gone = |u: &&Unit| left(u) && !x.units.iter().any(|o| o.look != Look::Plain && near(o, u));
        let value = y.units.iter().find(|u| gone(u) && u.look != Look::Plain);
        let value = value.or_else(|| y.units.iter().filter(gone).nth(1))?;
        let rest: Vec<Unit> = y.units.iter().filter(|u| !left(u)).cloned().collect();
        let (p, q) = (Rest::of(&rest, &x.units), Rest::of(&x.units, &rest));
        let (m, n) = (rest.len() - p.values.len(), x.units.len() - q.values.len());
        let one_sided = p.values.is_empty() && (p.subject.is_empty() || q.subject.is_empty());
        let about = p.named || p.enough && p.shared.min(q.shared) as f64 >= SHARED_LEFT * m.min(n) as f64;
        // Or it names the old value in two words that stand together.
        let latin_gone = |u: &Unit| gone(&u) && !u.text.chars().any(is_cjk);
        let two_words = y.units.windows(2).any(|pair| pair.iter().all(latin_gone));
        let about = about && (one_sided || two_words);
        about.then(|| (format!("{}: {} no longer", shared(a, b), value.text), p.subject.is_empty() || q.subject.is_empty()))
    };
    leaves(b, a).or_else(|| leaves(a, b))
}

/// The newer one says that a named thing changed, of which the older one speaks in some of the same words.
fn renewed(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    let first = b.units.first().filter(|u| b.changed && u.look == Look::Name && a.units.iter().any(|o| near(o, u)))?;
    let (x, y) = (Rest::of(&a.units, &b.units), Rest::of(&b.units, &a.units));
    let valued = !x.values.is_empty() && !y.values.is_empty();
    (valued && y.shared > 1).then(|| (format!("the newer one speaks of a change of {}", first.text), false))
}

/// One says it, the other denies it.
fn opposite(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    // Beside the sign each says something else: they are about two things.
    let other = |x: &Claim, y: &Claim| {
        let rest = x.units.iter().filter(|u| !y.units.iter().chain(&y.left).any(|o| near(u, o)));
        rest.map(|u| if u.text.chars().any(is_cjk) { 1 } else { 2 }).sum::<usize>()
    };
    if other(a, b) > OTHER && other(b, a) > OTHER {
        return None;
    }
    let pairs = a.parts.iter().flat_map(|x| b.parts.iter().map(move |y| (x, y)));
    let found = pairs.filter(|(x, y)| disagree(x, y)).find(|(x, y)| {
        let (p, q) = (Rest::of(&x.units, &y.units), Rest::of(&y.units, &x.units));
        let (less, more) = (x.units.len().min(y.units.len()), x.units.len().max(y.units.len()));
        let one_sided = p.subject.len() + p.values.len() == 0 || q.subject.len() + q.values.len() == 0;
        let named = |part: &Part| part.units.iter().any(|u| u.look == Look::Name);
        p.enough && one_sided && (p.shared > 1 || named(x) || named(y)) && less as f64 >= SHARED * more as f64
    });
    found.map(|_| (format!("one affirms and one denies {}", shared(a, b)), true))
}

/// Whether two clauses have opposite signs. Words of doubt that both have say nothing about it.
pub(super) fn disagree(x: &Part, y: &Part) -> bool {
    if !agree(x.sign, y.sign) || keeps_and_removes(x, y) {
        return true;
    }
    let mut common = common_limits(&x.clause.text, &y.clause.text);
    common.extend(common_marks(&x.clause.text, &y.clause.text));
    !common.is_empty() && !agree(polarity_without(&x.clause, &common), polarity_without(&y.clause, &common))
}

/// One keeps what the other takes away.
fn keeps_and_removes(x: &Part, y: &Part) -> bool {
    const KEEP: &[&str] = &["stay", "stays", "keep", "keeps", "remain", "remains", "保留", "留着", "继续", "残す", "維持", "유지"];
    let keeps = |p: &Part| has_any(&p.clause.text, KEEP) && polarity(&p.clause).denials + polarity(&p.clause).removals == 0;
    let removes = |p: &Part| polarity(&p.clause).removals > 0 && polarity(&p.clause).denials == 0;
    keeps(x) && removes(y) || keeps(y) && removes(x)
}

/// Whether all that a claim says is a denial: two bans are no contradiction.
pub(super) fn denies(claim: &Claim) -> bool {
    claim.parts.iter().all(|part| part.sign.denials % 2 == 1)
}

/// A few words that both have, for a reason.
fn shared(a: &Claim, b: &Claim) -> String {
    let both: Vec<&str> = a.units.iter().filter(|u| b.units.iter().any(|o| near(u, o))).map(|u| u.text.as_str()).collect();
    let wide = both.iter().any(|t| t.chars().any(is_cjk));
    both.iter().take(if wide { 2 * SHOWN } else { SHOWN }).copied().collect::<Vec<_>>().join(if wide { "" } else { " " })
}

/// One of the two was turned down and the other takes it up.
fn turned_down(older: &Claim, newer: &Claim) -> Option<(String, bool)> {
    const VERDICT: &[&str] = &[
        "was considered",
        "considered",
        "rejected",
        "was dropped",
        "dropped",
        "ruled out",
        "turned down",
        "not chosen",
        "曾考虑",
        "考虑",
        "否决",
        "放弃",
        "不采用",
        "検討",
        "却下",
        "見送",
        "검토",
        "기각",
    ];
    let (rejected, taken) = if older.state == State::Rejected { (older, newer) } else { (newer, older) };
    let folded = fold(&rejected.head);
    // The reason may follow the verdict without a "because": "rejected as too heavy".
    const END: &[&str] =
        &[", rejected", ", ruled out", ", dropped", " was rejected", " was ruled out", " was dropped", "，否决", "否决", "，放弃"];
    let end = END.iter().filter_map(|cue| folded.find(cue)).filter(|at| *at > 0).min().unwrap_or(folded.len());
    let option: BTreeSet<String> = topic_of(&without(folded.get(..end).unwrap_or_default(), VERDICT));
    let held = topic_of(&taken.head);
    let named = option.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    (option.len() >= 2 && option.is_subset(&held)).then(|| (format!("{named} was turned down in one and holds in the other"), true))
}
