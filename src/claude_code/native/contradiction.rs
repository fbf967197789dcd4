//! Whether a line of the index still fits its file. Both say the same thing in few words, so what can be held against each other
//! is little and plain: whether work is done, of which number something is, how much, and what is the one value of a thing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::file::File;
use super::index::Line;
use crate::model::{Id, Kind, Layer, Memory};
use crate::reconcile::conflict;
use crate::text::{alike, amounts, phrases, words};

/// Share of common words from which on two clauses can disagree.
const COMMON: f64 = 0.3;

/// Work that is not done.
const OPEN: &str = concat!(
    r"\bnot (?:yet |been )*(?:built|done|started|implemented|finished|rendered|merged|shipped|fixed)\b",
    r"|\b(?:pending|todo|wip|unbuilt|unfinished|in progress|not yet)\b",
    r"|待办|尚未|还没|未完成|未实现|未开始|未上线|进行中|未着手|進行中|未完了|미완료|진행 중",
);

/// Work that is done.
const DONE: &str = concat!(
    r"\b(?:done|built|finished|completed?|implemented|shipped|merged|solved)\b",
    r"|已完成|已实现|已上线|已合并|已修复|已解决|完了|완료",
);

/// A numbered piece of work, or several: phase 3, iters 2–4, 第 2 阶段.
const STEP: &str = r"\b(phase|iter|iteration|step|stage|milestone|part)s?\s*#?(\d{1,3})(?:\s*(?:-|–|—|to|\.\.)\s*(\d{1,3}))?|第\s*(\d{1,3})\s*(?:阶段|步|期|轮)";

/// A word and the number it names: plan 24, port 8080, v2.
const NUMBERED: &str = r"\b(plan|issue|pr|ticket|port|version|rfc|adr)s?\s*#?(\d[\d.]*)|(端口|版本|计划|工单)\s*(\d[\d.]*)";

/// How a piece of work stands, as a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Open,
    Done,
    /// Both, or neither.
    Mixed,
}

/// A pattern that is compiled once.
fn pattern(cell: &'static LazyLock<Option<Regex>>) -> Option<&'static Regex> {
    cell.as_ref()
}

fn standing(folded: &str) -> Standing {
    static OPEN_WORK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(OPEN).ok());
    static DONE_WORK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(DONE).ok());
    let (Some(open), Some(done)) = (pattern(&OPEN_WORK), pattern(&DONE_WORK)) else { return Standing::Mixed };
    // "not built" is no "built".
    match (open.is_match(folded), done.is_match(&open.replace_all(folded, " "))) {
        (true, false) => Standing::Open,
        (false, true) => Standing::Done,
        _ => Standing::Mixed,
    }
}

/// How each numbered piece of work stands; said twice, the last word counts.
fn steps(folded: &str) -> BTreeMap<(String, u32), Standing> {
    static STEPS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(STEP).ok());
    let mut found = BTreeMap::new();
    let Some(steps) = pattern(&STEPS) else { return found };
    let all: Vec<_> = steps.captures_iter(folded).collect();
    for (n, step) in all.iter().enumerate() {
        let Some(whole) = step.get(0) else { continue };
        let next = all.get(n + 1).and_then(|s| s.get(0)).map_or(folded.len(), |s| s.start());
        // What is said of it is what stands right behind it, remarks in brackets aside.
        let clause = without_brackets(folded.get(whole.end()..next).unwrap_or_default());
        let clause = clause.split([';', '.', ':', '\n', '。', '；', ',', '，']).next().unwrap_or_default().to_owned();
        let number = |i: usize| step.get(i).and_then(|m| m.as_str().parse::<u32>().ok());
        let Some(first) = number(2).or(number(4)) else { continue };
        let name = step.get(1).map_or("step", |m| if m.as_str() == "iteration" { "iter" } else { m.as_str() }).to_owned();
        let says = standing(&clause);
        if says != Standing::Mixed {
            let last = number(3).unwrap_or(first).min(first + 50);
            found.extend((first..=last).map(|k| ((name.clone(), k), says)));
        }
    }
    found
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// The numbers that a word names.
fn numbered(folded: &str) -> BTreeMap<String, BTreeSet<String>> {
    static NUMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NUMBERED).ok());
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for captures in pattern(&NUMBERS).into_iter().flat_map(|p| p.captures_iter(folded)) {
        let part = |i: usize| captures.get(i).map(|m| m.as_str());
        let (Some(name), Some(number)) = (part(1).or(part(3)), part(2).or(part(4))) else { continue };
        let number = number.trim_end_matches('.').trim_start_matches('0');
        found.entry(name.to_owned()).or_default().insert(number.to_owned());
    }
    found
}

/// The numbers of each unit.
fn measured(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (number, unit) in amounts::with_units(text).into_iter().filter(|(_, unit)| !unit.is_empty()) {
        found.entry(unit).or_default().insert(number);
    }
    found
}

/// A name for which two texts have numbers, and none in common.
fn apart(a: &BTreeMap<String, BTreeSet<String>>, b: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let list = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let differs = |(name, x): (&String, &BTreeSet<String>)| {
        let y = b.get(name).filter(|y| y.is_disjoint(x))?;
        Some(format!("{name} {} here, {} there", list(x), list(y)))
    };
    a.iter().find_map(differs)
}

/// Why an index line does not fit its file, if it does not.
pub fn contradicts(line: &Line, file: &File) -> Option<String> {
    let description = file.description.as_deref().unwrap_or_default();
    if line.hook.is_empty() || line.hook == description {
        return None;
    }
    let (hook, says, body) = (words::fold(&line.hook), words::fold(description), words::fold(file.body()));
    match (standing(&hook), standing(&says)) {
        (Standing::Open, Standing::Done) => return Some("it is done, says the file".to_owned()),
        (Standing::Done, Standing::Open) => return Some("it is open, says the file".to_owned()),
        _ => {}
    }
    let there = steps(&format!("{body}\n{says}"));
    let step = steps(&hook).into_iter().find(|(step, here)| there.get(step).is_some_and(|s| s != here));
    if let Some(((name, number), here)) = step {
        let there = if here == Standing::Open { "done" } else { "open" };
        return Some(format!("{name} {number} is {there}, says the file"));
    }
    apart(&numbered(&hook), &numbered(&says))
        .or_else(|| apart(&measured(&line.hook), &measured(description)))
        .or_else(|| disagrees(&line.hook, description))
}

/// Whether two single statements give one thing two values.
fn disagrees(hook: &str, description: &str) -> Option<String> {
    let claims = |text: &str| -> Vec<Memory> {
        let parts = phrases::sentences(text).into_iter().flat_map(|s| s.split([';', '；'])).map(str::trim).filter(|s| !s.is_empty());
        parts.map(|text| Memory::new(Id::from_bits(0), Layer::Working, Kind::Fact, text)).collect()
    };
    let there = claims(hook);
    // Numbers are compared with what they count, above; without a good part of the words in common two clauses speak of two things.
    let comparable = |d: &Memory, h: &Memory| {
        words::numbers(&d.summary) == words::numbers(&h.summary) && alike::similarity(&d.summary, &h.summary) >= COMMON
    };
    let clash = |d: &Memory, h: &Memory| conflict::clash(d, h).filter(|c| c.same_slot && comparable(d, h));
    let clash = claims(description).iter().find_map(|d| there.iter().find_map(|h| clash(d, h)));
    clash.map(|clash| clash.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude_code::native::index::Index;

    fn found(hook: &str, description: &str, body: &str) -> Option<String> {
        let index = Index::read(&format!("- [T](a.md) — {hook}\n"));
        let text =
            format!("---\nname: a\ndescription: {}\nmetadata:\n  type: project\n---\n\n{body}\n", serde_json::Value::from(description));
        contradicts(&index.lines[0], &File::read("a.md", &text, None))
    }

    #[test]
    fn what_contradicts() {
        for (hook, description, body) in [
            ("plan 30 (researched, NOT built)", "Plan 30, all phases DONE", ""),
            ("重试逻辑，尚未实现", "重试逻辑已完成", ""),
            ("iter 1 DONE, iters 2–4 (engine, steer) pending", "the physics of cars", "**Iter 3 DONE (code):** it drives"),
            ("plan 024 of the fog", "Fog, plan 025", ""),
            ("the gateway listens on port 8080", "the gateway listens on port 9090", ""),
            ("端口 8080", "网关端口 9090", ""),
            ("retries stop after 30 seconds", "retries stop after 45 seconds", ""),
            ("支付超时 30 秒", "支付超时 45 秒", ""),
            ("the API uses REST", "the API uses gRPC", ""),
        ] {
            assert!(found(hook, description, body).is_some(), "{hook} / {description}");
        }
    }

    #[test]
    fn what_does_not() {
        for (hook, description, body) in [
            ("plan 024 (DONE); default 800", "Distance fog (plan 024): Config.fog.distance", "later: a real fix"),
            ("plan 18; iter 1 DONE, iter 2 pending", "cars", "Iter 1 DONE. Iter 2: engine"),
            ("data/ is gitignored; inline reproducers", "tests must not read from the gitignored data/ folder", ""),
            ("HISTORICAL: the cube is gone", "the cube was replaced by a model", ""),
            ("30 秒超时", "支付超时 30 秒，重试 3 次", ""),
            ("", "anything", ""),
        ] {
            assert_eq!(found(hook, description, body), None, "{hook} / {description}");
        }
    }
}
