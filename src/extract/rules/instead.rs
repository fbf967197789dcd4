//! What holds in the place of what was taken back. "No wait, not Redis. We go with memcached." says, of the session cache for
//! which Redis was chosen, that it is memcached: one statement with one name changed, in the words of the first.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Clause, STRONG, identifiers, proper_names};
use super::correct::denies;
use super::cues::known_nouns;
use super::draft::{Draft, is_thin};
use super::{Scene, shape};
use crate::model::State;
use crate::text::{sentences, words};

/// Name of the rule.
const RULE: &str = "instead";

/// Sentences behind a take-back in which the new choice may stand.
const REACH: usize = 3;

/// Wide characters that a choice may have beside its name and what was said before.
const GLUE: usize = 3;

/// A choice in the place of another.
#[derive(Clone, Debug)]
pub struct Instead<'a> {
    /// What holds.
    pub draft: Draft,
    /// The words that say so.
    pub words: &'a str,
    /// What is dropped, if the old statement says more than that.
    pub dropped: Option<String>,
}

/// What is chosen in the place of `old`, if the words around the take-back name what is dropped and what holds instead.
pub fn choice<'a>(scene: &Scene<'_>, clause: &Clause<'a>, after: &[&'a str], old: &Draft) -> Option<Instead<'a>> {
    let texts: Vec<&'a str> = std::iter::once(clause.text).chain(after.iter().copied().take(REACH)).collect();
    let before = names(&old.candidate.summary);
    let parts = || texts.iter().flat_map(|text| sentences::clauses(text).into_iter().map(|part| (*text, part)));
    let denied: BTreeSet<String> = parts().filter(|(_, part)| denies(part)).flat_map(|(_, part)| names(part)).collect();
    let dropped: Vec<&String> = before.iter().filter(|name| denied.contains(*name)).collect();
    let [dropped] = dropped.as_slice() else { return None };
    let (text, words, chosen) = parts().filter(|(_, part)| !denies(part)).find_map(|(text, part)| {
        let new: Vec<String> = names(part).into_iter().filter(|name| !before.contains(name) && !denied.contains(name)).collect();
        let [chosen] = new.as_slice() else { return None };
        says_no_more(scene, part, chosen, old).then(|| (text, part, chosen.clone()))
    })?;
    let summary = replaced(&old.candidate.summary, dropped, &as_written(words, &chosen)?)?;
    let other = |name: &String| name.to_ascii_lowercase() != **dropped;
    let more = identifiers(&old.candidate.summary).into_iter().chain(proper_names(&old.candidate.summary)).any(|name| other(&name));
    let dropped = if more { as_written(&old.candidate.summary, dropped) } else { None };
    let evidence = old.candidate.evidence.first().cloned().into_iter().chain([scene.quote(text)]).collect();
    let (kind, layer) = (old.candidate.kind, old.candidate.layer);
    let mut draft = Draft::new(summary, kind, layer, RULE, old.points.max(STRONG), evidence);
    draft.candidate.reason = shape::split_reason(&Clause::new(text, scene.language)).1;
    draft.candidate.scope.clone_from(&old.candidate.scope);
    draft.norm = old.norm;
    Some(Instead { draft, words, dropped })
}

/// Whether a clause says only what the turn's take-back has brought already: what is dropped ("not Redis"), or what holds.
pub fn repeats(scene: &Scene<'_>, unit: &Clause<'_>, drafts: &[Draft]) -> bool {
    let now = scene.turn.number;
    let of_turn = |d: &&Draft| d.candidate.evidence.last().is_some_and(|q| q.turn == now);
    let dropped = drafts.iter().filter(|d| d.candidate.state == State::Rejected).filter(of_turn);
    let holds = drafts.iter().filter(|d| d.rule == RULE).filter(of_turn);
    let known: Vec<&Draft> = dropped.chain(holds).collect();
    let (said, own) = (known.iter().flat_map(|d| names(&d.candidate.summary)).collect::<BTreeSet<_>>(), names(&unit.body));
    if own.is_empty() || !own.is_subset(&said) {
        return false;
    }
    let chosen = known.iter().any(|d| d.rule == RULE);
    let parts = sentences::clauses(&unit.body);
    parts.iter().all(|part| match denies(part) {
        true => words::tokens(part).len() <= 4,
        false => chosen && known.iter().any(|d| says_no_more(scene, part, "", d)),
    })
}

/// Whether a clause only denies a thing in a few words: "not Tuesdays", 不是周二. Beside a take-back that is no claim of its own.
pub fn only_denies(unit: &Clause<'_>) -> bool {
    const STARTS: &[&str] = &["not ", "不是", "不用", "不要", "别用"];
    let (body, wide) = (unit.body.to_lowercase(), unit.body.chars().filter(|c| words::is_cjk(*c)).count());
    let short = if wide > 0 { wide <= 5 } else { words::tokens(&body).len() <= 2 };
    short && STARTS.iter().any(|start| body.starts_with(start)) && sentences::clauses(&unit.body).len() == 1
}

/// Names, known nouns and days of the week, in small letters.
pub fn names(text: &str) -> BTreeSet<String> {
    static DAYS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:周|星期)[一二三四五六日天]").ok());
    let days = DAYS.as_ref().into_iter().flat_map(|days| days.find_iter(text)).map(|day| day.as_str().to_owned());
    let all = identifiers(text).into_iter().chain(proper_names(text)).chain(known_nouns(text)).chain(days);
    all.map(|name| name.to_ascii_lowercase()).collect()
}

/// Where a name stands in a text, whatever its case.
fn place(text: &str, name: &str) -> Option<(usize, usize)> {
    // Small letters of ASCII only, so that bytes stay where they are.
    text.to_ascii_lowercase().find(name).map(|at| (at, at + name.len()))
}

fn as_written(text: &str, name: &str) -> Option<String> {
    let (start, end) = place(text, name)?;
    text.get(start..end).map(str::to_owned)
}

fn replaced(text: &str, name: &str, by: &str) -> Option<String> {
    let (start, end) = place(text, name)?;
    Some(format!("{}{by}{}", text.get(..start)?, text.get(end..)?))
}

/// Whether a clause with a choice has nothing beside the name that was not said of the old one.
fn says_no_more(scene: &Scene<'_>, part: &str, chosen: &str, old: &Draft) -> bool {
    let (body, _) = shape::split_reason(&Clause::new(part, scene.language));
    let (name, before) = (words::token_set(chosen), &old.subject);
    if !body.chars().any(words::is_cjk) {
        return is_thin(&body) || words::tokens(&body).iter().all(|token| before.contains(token) || name.contains(token));
    }
    let quotes = old.candidate.evidence.iter().map(|q| q.quote.as_str());
    let said: String = quotes.chain([old.candidate.summary.as_str(), chosen]).collect();
    body.chars().filter(|c| words::is_cjk(*c) && !said.contains(*c)).count() <= GLUE
}
