//! Two claims that the store tells to be about one thing: do they give it two values, also in other words?
//!
//! Looser than `conflict`, because what they are about is known; stricter, because what can be a value there is known, too.

use super::claim::{Claim, Look, Unit};
use super::conflict::{Found, denies, disagree, near};
use super::parallels::{Parallels, Said};
use crate::model::Kind;
use crate::text::phrases::has_any;
use crate::text::words::{fold, is_cjk};

/// Share of what the shorter claim says beside subject and value that the other must say, too.
const SHARED: f64 = 0.4;

/// Share if the newer one says that something changed.
const SHARED_CHANGED: f64 = 0.3;

/// Share if both values are known to stand at that place.
const SHARED_LEARNED: f64 = 0.25;

/// Share of the longer claim if one says what the other denies.
const SHARED_DENIED: f64 = 0.5;

/// Two claims about one thing, among those that were learned from.
pub(super) struct Beside<'a> {
    pub parallels: &'a Parallels,
    pub at: (usize, usize),
    pub older: &'a Claim,
    pub newer: &'a Claim,
}

impl Beside<'_> {
    /// Whether values that were found in the words are such that the claims can disagree in them.
    pub fn holds(&self, found: &Found) -> bool {
        // That a thing changed says nothing of a property that the other one does not speak of.
        if two_ends(self.older, self.newer) {
            return false;
        }
        let Some((v, w)) = &found.values else {
            let said = self.said(&[]);
            return if found.sign { said.both > 0.0 && said.both >= SHARED * said.least } else { found.same_slot || said.both > 0.0 };
        };
        if !self.newer.changed && self.parallels.of_a_part(self.at.0, self.at.1) {
            return false;
        }
        let (a, b) = (alone(self.older, self.newer), alone(self.newer, self.older));
        let is_typed = |text: &str| a.iter().chain(&b).any(|(u, _)| u.text == *text);
        // "Meeting: Tuesday", "meeting: 40 minutes": each has a value of a kind that the other has not.
        let kinds = !a.is_empty() && !b.is_empty() && typed(self.older, self.newer).is_none();
        if kinds && !self.newer.changed && !is_typed(v) && !is_typed(w) {
            return false;
        }
        // Letters do not show what kind of value they are: others tell.
        let letters = v.chars().chain(w.chars()).any(is_cjk);
        if let Some(value) = self.parallels.one_value(self.at.0, self.at.1, false).filter(|_| letters) {
            return value.is_some();
        }
        if self.parallels.one_place(self.at.0, self.at.1) {
            return true;
        }
        let said = self.said(&[v, w]);
        if said.both <= 0.0 {
            return false;
        }
        if a.is_empty() != b.is_empty() && !is_typed(v) && !is_typed(w) {
            return false;
        }
        let changed = self.newer.changed && said.both >= SHARED_DENIED * said.most;
        let fits = |at: usize, own: &str, other: &str, within: bool| {
            self.parallels.value(at).is_none_or(|value| value.contains(&own) && (within || changed || self.parallels.is_value(at, other)))
        };
        fits(self.at.0, v, w, said.within.1) && fits(self.at.1, w, v, said.within.0)
    }

    /// Two values of one place, in claims that share what they say of it.
    pub fn reworded(&self) -> Option<Found> {
        let (a, b) = (self.older, self.newer);
        let part = !b.changed && self.parallels.of_a_part(self.at.0, self.at.1);
        if a.also || b.also || part || a.kind == Kind::Todo || b.kind == Kind::Todo {
            return None;
        }
        if let Some(Some((v, w))) = self.parallels.one_value(self.at.0, self.at.1, denies(a) && denies(b)) {
            return Some(in_values(v, w, true));
        }
        if let Some((v, w)) = self.replaced() {
            return Some(in_values(v, w, false));
        }
        // Two bans are no contradiction, but two limits are, and "no longer A, but B".
        let value = || self.parallels.values(self.at.0, self.at.1).filter(|(_, _, both)| *both || !denies(a) && !denies(b));
        let Some((v, w, named)) = value().or_else(|| typed(a, b).map(|(v, w, _)| (v, w, false))) else { return self.denied() };
        // "400 pages now": what is counted is the property.
        let noun = b.changed && typed(a, b).is_some_and(|(p, q, noun)| noun && (&p, &q) == (&v, &w));
        let said = self.said(&[&v, &w]);
        let learned = self.parallels.values(self.at.0, self.at.1).is_some();
        let enough = if learned {
            SHARED_LEARNED
        } else if b.changed {
            SHARED_CHANGED
        } else {
            SHARED
        };
        // What names both values, and says more than that, speaks of a change.
        let change = named && (b.changed || b.parts.len() > 1 || said.both > 0.0);
        let shares = said.both > 0.0 && said.both >= enough * said.least;
        let found = change || noun || self.parallels.one_place(self.at.0, self.at.1) || shares && (b.changed || !self.two_slots(&[&v, &w]));
        found.then(|| in_values(v, w, false))
    }

    /// The newer one names the value of the older one, and beside it another of its kind: it speaks of a change.
    fn replaced(&self) -> Option<(String, String)> {
        let (a, b) = (self.older, self.newer);
        let key = self.parallels.key_words(self.at.0, self.at.1);
        let value = |u: &&Unit| (is_typed(u) || u.look == Look::Name && !u.text.chars().all(is_cjk)) && !key.contains(&u.text.as_str());
        let kind =
            |u: &Unit, o: &Unit| u.look == o.look && (u.look != Look::Number(None) || u.by.starts_with('#') == o.by.starts_with('#'));
        let has = |claim: &Claim, u: &Unit| claim.units.iter().chain(&claim.left).any(|o| near(o, u));
        // A word at the beginning is a name if others write it with a capital elsewhere.
        let first = b.units.first().filter(|u| u.look == Look::Plain && self.parallels.is_name(&u.text) && !key.contains(&u.text.as_str()));
        let opening = |v: &Unit| first.filter(|w| v.look == Look::Name && !has(a, w));
        let new = |v: &Unit| {
            let found = b.units.iter().filter(value).find(|w| kind(v, w) && !has(a, w)).or_else(|| opening(v));
            found.map(|w| w.text.clone())
        };
        let says = b.changed || b.parts.len() > 1 || self.said(&[]).both > 0.0;
        // A bare number comes back by chance, unless of the same things: 98 元.
        let counted = |v: &Unit| {
            let nouns = |claim: &Claim| -> Vec<String> {
                let pairs = claim.units.windows(2).chain(claim.left.windows(2));
                pairs.filter(|w| w[0].text == v.text && w[0].clause == w[1].clause).map(|w| w[1].text.clone()).collect()
            };
            nouns(a).iter().any(|noun| nouns(b).contains(noun))
        };
        let rare = |v: &&Unit| v.look != Look::Number(None) || counted(v) || self.said(&[&v.text]).both > 0.0;
        let mut named = a.units.iter().filter(value).filter(|v| has(b, v)).filter(rare);
        named.find_map(|v| Some((v.text.clone(), new(v)?))).filter(|_| says)
    }

    /// One says what the other denies, in other words.
    fn denied(&self) -> Option<Found> {
        let pairs = || self.older.parts.iter().flat_map(|x| self.newer.parts.iter().map(move |y| (x, y)));
        let single = self.older.parts.len() == 1 && self.newer.parts.len() == 1;
        // What gives a value is not denied by other words, but by another value.
        let gives = |at: usize, x: &Claim, y: &Claim| self.parallels.value(at).is_some() || !alone(x, y).is_empty();
        if gives(self.at.0, self.older, self.newer) || gives(self.at.1, self.newer, self.older) {
            return None;
        }
        if !single || !pairs().any(|(x, y)| disagree(x, y)) || self.two_slots(&[]) {
            return None;
        }
        let said = self.said(&[]);
        (said.both > 0.0 && said.both >= SHARED_DENIED * said.most).then(|| Found {
            reason: "one affirms and one denies".to_owned(),
            same_slot: true,
            values: None,
            sign: true,
        })
    }

    fn two_slots(&self, values: &[&str]) -> bool {
        let key = self.parallels.key_words(self.at.0, self.at.1);
        let but = |word: &str| key.contains(&word) || values.iter().any(|v| v.split(' ').any(|p| p == word));
        self.parallels.two_slots(self.at.0, self.at.1, &but)
    }

    fn said(&self, values: &[&str]) -> Said {
        self.parallels.said(self.at.0, self.at.1, values)
    }
}

fn in_values(v: String, w: String, same_slot: bool) -> Found {
    Found { reason: format!("{v} in one and {w} in the other"), same_slot, values: Some((v, w)), sign: false }
}

/// Whether one says when something begins and the other when it ends: those are two days.
fn two_ends(a: &Claim, b: &Claim) -> bool {
    const BEGINS: &[&str] =
        &["open", "opens", "opened", "start", "starts", "started", "begin", "begins", "began", "开始", "開始", "起售", "开放"];
    const ENDS: &[&str] =
        &["close", "closes", "closed", "end", "ends", "ended", "expire", "expires", "截止", "到期", "结束", "终止", "締切"];
    let has = |claim: &Claim, words: &[&str]| has_any(&fold(&claim.head), words);
    // What is not done after an hour ends there.
    let stops = |claim: &Claim| denies(claim) && has_any(&fold(&claim.head), &["after", "以后", "之后"]);
    let ends = |claim: &Claim| has(claim, ENDS) || stops(claim);
    let one = |x: &Claim, y: &Claim| has(x, BEGINS) && ends(y) && !ends(x) && !has(y, BEGINS);
    one(a, b) || one(b, a)
}

/// Tells by itself what it can be compared with. A lone "one" is no count.
fn is_typed(unit: &Unit) -> bool {
    let lone = unit.look == Look::Number(None) && matches!(unit.text.as_str(), "一" | "one");
    !lone && matches!(unit.look, Look::Number(_) | Look::Day | Look::Date | Look::Time | Look::Path)
}

/// Such values that the other claim does not have, and the words behind them.
fn alone<'a>(claim: &'a Claim, other: &Claim) -> Vec<(&'a Unit, Option<&'a Unit>)> {
    let units = claim.units.iter().enumerate().filter(|(_, u)| is_typed(u) && !other.units.iter().any(|o| near(o, u)));
    let word = |u: &&Unit| matches!(u.look, Look::Plain | Look::Value);
    units.map(|(at, u)| (u, claim.units.get(at + 1).filter(word))).collect()
}

/// Two values that can be compared by themselves, and whether they count the same.
fn typed(a: &Claim, b: &Claim) -> Option<(String, String, bool)> {
    if two_ends(a, b) {
        return None;
    }
    let (x, y) = (alone(a, b), alone(b, a));
    // "Python 3.12": the number is that of a name, which the other claim has, too.
    let of = |u: &Unit, there: &Claim| {
        let name = u.by.strip_prefix('#')?;
        Some(there.units.iter().chain(&there.left).any(|o| o.text == name))
    };
    let comparable = |(v, n): &(&Unit, Option<&Unit>), (w, m): &(&Unit, Option<&Unit>)| match (&v.look, &w.look) {
        (Look::Number(None), Look::Number(None)) => match (of(v, b), of(w, a)) {
            (None, None) => n.zip(*m).is_none_or(|(n, m)| near(n, m)),
            (v, w) => v != Some(false) && w != Some(false),
        },
        (p, q) => p == q,
    };
    let mut pairs = x.iter().flat_map(|v| y.iter().map(move |w| (v, w)));
    let noun = |v: &Option<&Unit>, w: &Option<&Unit>| v.zip(*w).is_some_and(|(n, m)| near(n, m));
    let found = pairs.find(|(v, w)| comparable(v, w));
    found.map(|(v, w)| (v.0.text.clone(), w.0.text.clone(), v.0.look == Look::Number(None) && noun(&v.1, &w.1)))
}
