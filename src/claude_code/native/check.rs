//! What is wrong with a memory folder: faults of files, lines of the index that miss or contradict their file, links that lead
//! nowhere, what the client would cut, what is said twice, and what the code has left behind. Reads only.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{Code, State, days_between, paths};
use super::file::File;
use super::folder::Folder;
use super::index::{self, Index, Line, MOST_LINES, MOST_UNITS};
use super::{INDEX, own_id};
use crate::error::Problem;
use crate::model::{Id, Kind, Layer, Memory};
use crate::reconcile::{conflict, duplicate};
use crate::store::Severity;
use crate::text::{alike, phrases, words};

/// From this share of common words on, two texts are near duplicates.
const NEAR: f64 = 0.6;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// Where and what; the code is stable.
    pub problem: Problem,
}

fn finding(severity: Severity, code: &'static str, file: &str, line: Option<u64>, detail: impl Into<String>) -> Finding {
    Finding { severity, problem: Problem { code, file: file.to_owned(), line, detail: detail.into() } }
}

fn warning(code: &'static str, file: &str, line: Option<u64>, detail: impl Into<String>) -> Finding {
    finding(Severity::Warning, code, file, line, detail)
}

fn note(code: &'static str, file: &str, line: Option<u64>, detail: impl Into<String>) -> Finding {
    finding(Severity::Note, code, file, line, detail)
}

/// Everything that is wrong with a folder, worst first, then by file and line.
pub fn check(folder: &Folder, code: &dyn Code, today: &str) -> Vec<Finding> {
    let index = folder.index();
    let mut found: Vec<Finding> = folder.problems.iter().map(|p| Finding { severity: Severity::Warning, problem: p.clone() }).collect();
    limits(folder, &index, &mut found);
    lines(folder, &index, &mut found);
    for file in &folder.files {
        about_one(folder, &index, file, &mut found);
        stale(file, code, today, &mut found);
    }
    found.extend(twice(folder));
    found.sort_by(|a, b| {
        (b.severity, &a.problem.file, a.problem.line, a.problem.code).cmp(&(a.severity, &b.problem.file, b.problem.line, b.problem.code))
    });
    found
}

fn limits(folder: &Folder, index: &Index, found: &mut Vec<Finding>) {
    let size = index::size(folder.index_text());
    if let Some(from) = size.cut_from {
        let lost: Vec<&str> = index.lines.iter().filter(|l| l.number >= from).map(|l| l.file.as_str()).collect();
        let lost = if lost.is_empty() { String::new() } else { format!(", with the lines of {}", lost.join(", ")) };
        let detail = format!(
            "Claude Code delivers {MOST_LINES} lines or {MOST_UNITS} units; this has {} and {}, so it cuts from here on{lost}",
            size.lines, size.units
        );
        found.push(finding(Severity::Error, "overflow", INDEX, Some(from as u64), detail));
    } else if size.lines * 10 > MOST_LINES * 9 || size.units * 10 > MOST_UNITS * 9 {
        let detail = format!("{} of {MOST_LINES} lines and {} of {MOST_UNITS} units are used", size.lines, size.units);
        found.push(note("nearly_full", INDEX, None, detail));
    }
    if index.notes > 0 && size.lines > 0 {
        let detail = format!("{} of {} lines are notes, not index lines: each session pays for them", index.notes, size.lines);
        found.push(note("inline_notes", INDEX, None, detail));
    }
    if folder.index.is_none() && !folder.files.is_empty() {
        found.push(warning("no_index", INDEX, None, "there is none, so no session learns of these files"));
    }
}

fn lines(folder: &Folder, index: &Index, found: &mut Vec<Finding>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for line in &index.lines {
        let at = Some(line.number as u64);
        if !seen.insert(&line.file) {
            found.push(warning("twice_in_index", INDEX, at, format!("{} has an index line already", line.file)));
        }
        match folder.file(&line.file) {
            Some(file) => {
                if let Some(why) = contradicts(line, file) {
                    found.push(warning("contradicts", INDEX, at, format!("“{}” does not fit {}: {why}", line.hook, line.file)));
                }
            }
            None if folder.path.join(&line.file).exists() => {}
            None => found.push(warning("dead_index", INDEX, at, format!("leads to {}, which is not there", line.file))),
        }
    }
    for (number, file) in index.mentions.iter().filter(|(_, f)| folder.file(f).is_none() && !folder.path.join(f).exists()) {
        found.push(warning("dead_index", INDEX, Some(*number as u64), format!("leads to {file}, which is not there")));
    }
}

fn about_one(folder: &Folder, index: &Index, file: &File, found: &mut Vec<Finding>) {
    let name = file.name.as_str();
    found.extend(file.faults.iter().map(|f| warning(f.code, name, Some(f.line), f.says.clone())));
    if folder.index.is_some() && !index.leads_to(name) {
        found.push(warning("not_in_index", name, None, "is not in the index, so no session learns of it"));
    }
    if let Some(slug) = file.slug.as_deref().filter(|slug| *slug != file.stem()) {
        found.push(note("other_name", name, Some(2), format!("is called {slug} in its frontmatter; links may use either")));
    }
    for (line, link) in file.links().into_iter().filter(|(_, link)| Id::parse(link).is_none()) {
        if !folder.files.iter().any(|f| f.is_called(&link)) {
            found.push(warning("dead_link", name, Some(line), format!("[[{link}]] leads nowhere")));
        }
    }
}

fn stale(file: &File, code: &dyn Code, today: &str, found: &mut Vec<Finding>) {
    for path in paths(&file.text) {
        let line = file.text.lines().position(|l| l.contains(&path)).map(|n| n as u64 + 1);
        match code.state(&path, file.day.as_deref()) {
            State::Gone => found.push(warning("gone", &file.name, line, format!("names {path}, which is not there any more"))),
            State::Changed => {
                let age = file.day.as_deref().and_then(|day| days_between(day, today));
                let age = age.map_or_else(|| "of unknown age".to_owned(), |days| format!("{days} days old"));
                found.push(note("changed", &file.name, line, format!("{age}; names {path}, changed since")));
            }
            State::Fresh | State::Unknown => {}
        }
    }
}

/// How a piece of work stands, as a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Open,
    Done,
    /// Both, or neither.
    Mixed,
}

fn standing(text: &str) -> Standing {
    static OPEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\bnot (?:yet |been )?(?:built|done|started|implemented|finished|rendered|merged|shipped|fixed)\b|\b(?:pending|todo|wip|unbuilt|unfinished|to do|in progress|planned|not yet|later|next)\b|待办|尚未|还没|未完成|未实现|未开始|进行中|计划中|下一步|未着手|未完了|미완료|예정").ok()
    });
    static DONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b(?:done|built|finished|completed?|implemented|shipped|merged|solved)\b|已完成|已实现|已上线|已合并|已修复|已解决|完了|완료",
        )
        .ok()
    });
    let folded = words::fold(text);
    let is = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_some_and(|p| p.is_match(text));
    let open = is(&OPEN, &folded);
    let rest = OPEN.as_ref().map_or_else(|| folded.clone(), |p| p.replace_all(&folded, " ").into_owned());
    match (open, is(&DONE, &rest)) {
        (true, false) => Standing::Open,
        (false, true) => Standing::Done,
        _ => Standing::Mixed,
    }
}

/// Why an index line does not fit its file, if it does not: work that is open in one and done in the other, or two
/// statements that disagree.
pub fn contradicts(line: &Line, file: &File) -> Option<String> {
    // Our own lines are the summary; a changed one is found by export.
    if line.hook.is_empty() || own_id(&file.name).is_some() && file.description.as_deref() == Some(line.hook.as_str()) {
        return None;
    }
    let description = file.description.as_deref().unwrap_or_default();
    match (standing(&line.hook), standing(description)) {
        (Standing::Open, Standing::Done) => return Some("it is done, says the file".to_owned()),
        (Standing::Done, Standing::Open) => return Some("it is open, says the file".to_owned()),
        // A line that speaks of the state where the description does not is held against the beginning of the text.
        (Standing::Open, Standing::Mixed) if standing(lead(file)) == Standing::Done => return Some("it is done, says its text".to_owned()),
        (Standing::Done, Standing::Mixed) if standing(lead(file)) == Standing::Open => return Some("it is open, says its text".to_owned()),
        _ => {}
    }
    let claim = |text: &str| Memory::new(Id::from_bits(0), Layer::Working, Kind::Fact, text);
    let parts = |text: &str| -> Vec<String> {
        phrases::sentences(text)
            .into_iter()
            .flat_map(|s| s.split([';', '；']))
            .map(|s| s.trim().to_owned())
            .filter(|s| !s.is_empty())
            .collect()
    };
    let clash = parts(description).iter().find_map(|d| parts(&line.hook).iter().find_map(|h| conflict::clash(&claim(d), &claim(h))));
    clash.map(|clash| clash.reason)
}

/// The first paragraph of a file.
fn lead(file: &File) -> &str {
    let body = file.body().trim_start();
    body.split("\n\n").next().unwrap_or_default()
}

/// Files that say the same, or nearly.
fn twice(folder: &Folder) -> Vec<Finding> {
    let mut found = Vec::new();
    let bodies: Vec<BTreeSet<String>> = folder.files.iter().map(|f| words::token_set(f.body())).collect();
    for (i, a) in folder.files.iter().enumerate() {
        for (j, b) in folder.files.iter().enumerate().skip(i + 1) {
            let pair = |code, severity, how: &str| finding(severity, code, &b.name, None, format!("{how} {}", a.name));
            if is_duplicate(a, b) {
                found.push(pair("duplicate", Severity::Warning, "says the same as"));
            } else if words::jaccard(&bodies[i], &bodies[j]) >= NEAR || is_near(a, b) {
                found.push(pair("near_duplicate", Severity::Note, "says nearly the same as"));
            }
        }
    }
    found
}

/// Whether two files say the same: nothing in one statement differs, or the texts are one.
pub fn is_duplicate(a: &File, b: &File) -> bool {
    let text = |f: &File| words::fold(f.body()).split_whitespace().collect::<Vec<_>>().join(" ");
    let (x, y) = (text(a), text(b));
    a.kind == b.kind && ((!x.is_empty() && x == y) || (duplicate::alike(&a.statement(), &b.statement()) && agree(a, b)))
}

/// Whether nothing exact that one text says is missing from the other's, so that they can be one file.
fn agree(a: &File, b: &File) -> bool {
    let (x, y) = (words::exact(a.body()), words::exact(b.body()));
    x.is_subset(&y) || y.is_subset(&x)
}

fn is_near(a: &File, b: &File) -> bool {
    let (x, y) = (a.statement(), b.statement());
    alike::similarity(&x, &y) >= duplicate::LEAST_SIMILAR
}
