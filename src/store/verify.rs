//! `verify`: every digest, block, id, link and quote, and what the history keeps. Reads only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::journal;
use super::markdown::View;
use super::read::{self, Project};
use super::{Store, layout, sha256};
use crate::error::{Problem, Result};
use crate::model::{Id, Kind, Memory, Origin};
use crate::text::links;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Fine, but worth knowing: a hand edit.
    Note,
    /// Somebody should look: a link that leads nowhere.
    Warning,
    /// Something is lost or unusable: a damaged copy.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// What and where.
    pub problem: Problem,
}

/// Code of entries that were changed by hand, so that their quotes cannot be checked any more.
pub const EDITED: &str = "edited_quotes";

/// Codes of [`Problem`]s that reading reports, with their severity; any other is a warning.
const SEVERITIES: &[(&str, Severity)] = &[
    ("hand_edit", Severity::Note),
    (EDITED, Severity::Note),
    ("foreign_link", Severity::Note),
    (read::NO_ID, Severity::Note),
    ("catalogue_rebuilt", Severity::Error),
    ("encoding", Severity::Error),
    ("bad_yaml", Severity::Error),
    ("duplicate_id", Severity::Error),
    ("damaged_copy", Severity::Error),
];

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        let severity = SEVERITIES.iter().find(|(code, _)| *code == problem.code).map_or(Severity::Warning, |(_, s)| *s);
        Self { severity, problem }
    }
}

impl Store {
    /// Checks all projects and the history. Nothing found: nothing wrong.
    ///
    /// # Errors
    /// If something cannot be read at all.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        let mut problems = Vec::new();
        let mut projects = Vec::new();
        for name in self.projects()? {
            let mut project = read::read(&self.home, &name, self.wait)?;
            self.read_archive(&mut project)?;
            let files: Vec<String> = project.raw.keys().cloned().collect();
            files.iter().for_each(|file| project.parse(file));
            problems.extend(project.snapshot().problems);
            projects.push(project);
        }
        // Links may lead into another project, such as from a project to a global memory.
        let known = Known::of(projects.iter().flat_map(|p| p.documents.values()).flat_map(|d| d.entries()));
        for project in &projects {
            check_project(project, &known, &mut problems);
        }
        self.check_history(&mut problems)?;
        Ok(problems.into_iter().map(Finding::from).collect())
    }

    /// Whether the copies in the history are what they were.
    fn check_history(&self, problems: &mut Vec<Problem>) -> Result<()> {
        for manifest in self.history()? {
            for (n, file) in manifest.files.iter().enumerate() {
                let copy = journal::copy_of(&self.home, &manifest, n);
                let is = fs::read(&copy).ok().map(|bytes| sha256(&bytes));
                if file.before.is_some() && is != file.before {
                    let name = copy.strip_prefix(&self.home).unwrap_or(&copy).to_string_lossy().into_owned();
                    problems.push(read::problem("damaged_copy", name, "the copy in the history is not what it was; undo cannot use it"));
                }
            }
        }
        Ok(())
    }
}

/// What a link can lead to.
struct Known<'a> {
    ids: BTreeSet<&'a Id>,
    slugs: BTreeSet<String>,
}

impl<'a> Known<'a> {
    fn of(views: impl Iterator<Item = View<'a>>) -> Self {
        let mut known = Self { ids: BTreeSet::new(), slugs: BTreeSet::new() };
        for view in views {
            known.ids.extend(&view.entry.id);
            known.slugs.insert(links::slug(&view.entry.memory.summary));
        }
        known
    }
}

fn check_project(project: &Project, known: &Known<'_>, problems: &mut Vec<Problem>) {
    let mut places: BTreeMap<&Id, String> = BTreeMap::new();
    let marked = project.catalogue.memories.iter().filter(|(_, m)| m.edited).filter_map(|(id, _)| Id::parse(id));
    let changed = project.documents.keys().flat_map(|file| project.fresh_edits(file)).filter_map(|v| v.entry.id.clone());
    let edited: BTreeSet<Id> = marked.chain(changed.filter(|id| project.catalogue.memories.contains_key(id.as_str()))).collect();
    for (file, document) in &project.documents {
        let shown = format!("{}/{file}", project.name);
        for view in document.entries().filter(|v| v.entry.readable) {
            let at = |code, detail: String| Problem { line: Some(view.line), ..read::problem(code, shown.clone(), detail) };
            // Copies within the everyday files were reported by reading; here those between them and the archive.
            if let Some(id) = &view.entry.id
                && let Some(other) = places.insert(id, shown.clone())
                && (layout::is_archive(file) || other.contains(layout::ARCHIVE))
            {
                problems.push(at("duplicate_id", format!("{id} is also in {other}")));
            }
            let memory = &view.entry.memory;
            if !memory.evidence.is_empty() && edited.contains(&memory.id) {
                problems.push(at(EDITED, format!("“{}” was changed by hand; its quotes cannot be checked any more", memory.summary)));
            }
            check_entry(&view, known, &mut |code, detail| problems.push(at(code, detail)));
        }
    }
    for (file, record) in &project.catalogue.files {
        let place = || format!("{}/{file}", project.name);
        match project.raw.get(file) {
            None => problems.push(read::problem("hand_edit", place(), "the file is gone")),
            // Everyday files that differ were reported entry by entry.
            Some(raw) if raw.sha != record.sha256 && layout::is_archive(file) => {
                problems.push(read::problem("hand_edit", place(), "the file was changed outside claude-mem"));
            }
            Some(raw) if raw.sha != record.sha256 && project.fresh_edits(file).next().is_none() => {
                problems.push(read::problem("hand_edit", place(), "text outside the entries was changed outside claude-mem"));
            }
            Some(_) => {}
        }
    }
    for pair in project.catalogue.conflicts.iter().filter(|c| c.state == "pending") {
        for id in [&pair.older, &pair.newer] {
            if Id::parse(id).is_none_or(|id| !known.ids.contains(&id)) {
                let file = format!("{}/{}", project.name, layout::INDEX);
                problems.push(read::problem("dead_link", file, format!("a pending conflict names {id}, which is not there")));
            }
        }
    }
}

fn check_entry(view: &View<'_>, known: &Known<'_>, say: &mut dyn FnMut(&'static str, String)) {
    let memory = &view.entry.memory;
    for relation in memory.relations.iter().filter(|r| !known.ids.contains(&r.id)) {
        say("dead_link", format!("{} leads to {}, which is not there", relation.kind, relation.id));
    }
    for name in links::targets(view.text) {
        match Id::parse(name) {
            Some(id) if !known.ids.contains(&id) => say("dead_link", format!("[[{id}]] leads nowhere")),
            // It may name a note of another tool.
            None if !known.slugs.contains(&links::slug(name)) => say("foreign_link", format!("[[{name}]] names no memory here")),
            _ => {}
        }
    }
    if needs_quote(memory) && memory.evidence.is_empty() {
        say("no_quote", format!("an extracted {} without the words that prove it", memory.kind));
    }
}

/// What was extracted as someone's will must show whose words it rests on.
fn needs_quote(memory: &Memory) -> bool {
    let extracted = matches!(memory.origin, Origin::Claude | Origin::ClaudeCode | Origin::Rules);
    extracted && matches!(memory.kind, Kind::Decision | Kind::Preference | Kind::Convention)
}
