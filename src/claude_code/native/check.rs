//! What is wrong with a memory folder: faults of files, lines of the index that miss or contradict their file, links that lead
//! nowhere, what the client would cut, what is said twice, and what the code has left behind. Reads only.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::INDEX;
use super::contradiction::contradicts;
use super::file::File;
use super::folder::Folder;
use super::index::{self, Index, MOST_LINES, MOST_UNITS};
use super::twins::Said;
use crate::error::Problem;
use crate::model::Id;
use crate::repo::{Care, Question, Repo, State};
use crate::store::Severity;
use crate::text::mentions;
use crate::text::words::count;

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

/// Everything that is wrong with a folder, worst first, then by file and line. What files name is looked up in `repo`.
pub fn check(folder: &Folder, repo: Option<&Repo>, today: &str) -> Vec<Finding> {
    let index = folder.index();
    let mut found: Vec<Finding> = folder.problems.iter().map(|p| Finding { severity: Severity::Warning, problem: p.clone() }).collect();
    limits(folder, &index, &mut found);
    lines(folder, &index, &mut found);
    for file in &folder.files {
        about_one(folder, &index, file, &mut found);
    }
    found.extend(twice(folder));
    found.extend(repo.into_iter().flat_map(|repo| stale(folder, repo, today)));
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
    if !index.notes.is_empty() {
        let detail = format!("{} of {} lines are notes, not index lines: each session pays for them", index.notes.len(), size.lines);
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

/// What files name that changed since they were written, or went.
fn stale(folder: &Folder, repo: &Repo, today: &str) -> Vec<Finding> {
    let dated = folder.files.iter().filter_map(|f| Some((f, f.day.as_ref()?.parse::<Date>().ok()?)));
    let asked = dated.map(|(f, day)| (f, Question { mentions: mentions::mentions(&f.text), day, at: None }));
    let (files, questions): (Vec<&File>, Vec<Question>) = asked.filter(|(_, q)| !q.mentions.is_empty()).unzip();
    let answers = repo.ask(&questions, Care::Thorough);
    let mut found = Vec::new();
    for ((file, question), answer) in files.iter().zip(&questions).zip(&answers) {
        let age = today.parse::<Date>().map_or(0, |today| (today - question.day).get_days());
        for one in answer {
            let name = one.mention.name();
            let line = file.text.lines().position(|l| l.contains(&name)).map(|n| n as u64 + 1);
            match one.state {
                State::Gone => found.push(warning("gone", &file.name, line, format!("names {name}, which is not there any more"))),
                State::Changed => found.push(note(
                    "changed",
                    &file.name,
                    line,
                    format!("{} old; names {name}, changed since", count(usize::try_from(age).unwrap_or_default(), "day", "days")),
                )),
                State::Fresh | State::Unknown => {}
            }
        }
    }
    found
}

/// Files that say the same as an earlier one, or nearly; each is told once, beside the one it is nearest to.
fn twice(folder: &Folder) -> Vec<Finding> {
    let said: Vec<Said> = folder.files.iter().map(Said::of).collect();
    let mut found = Vec::new();
    for (n, (file, says)) in folder.files.iter().zip(&said).enumerate() {
        let earlier = || folder.files.iter().zip(&said).take(n);
        if let Some((twin, _)) = earlier().find(|(_, other)| says.is(other)) {
            found.push(warning("duplicate", &file.name, None, format!("says the same as {}", twin.name)));
            continue;
        }
        let near = earlier().filter_map(|(twin, other)| Some((says.nearness(other)?, twin))).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, twin)) = near {
            found.push(note("near_duplicate", &file.name, None, format!("says nearly the same as {}", twin.name)));
        }
    }
    found
}
