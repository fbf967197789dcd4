//! Whether what memories name is still so: memories, the repository they speak of, and what to say about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::{Id, Memory};
use crate::recall::{Aged, Injection};
use crate::repo::{Care, Finding, Question, Repo, State};
use crate::store::{Snapshot, identity};
use crate::text::mentions::{self, Mention};

/// The work tree around a folder that belongs to a project.
pub fn repo_around(cwd: &Path, zone: TimeZone) -> Repo {
    let root = identity::root_of(cwd);
    Repo::at(&root.folder, root.is_repository(), zone)
}

/// The work tree that a project's memories speak of: that of the working folder, if it belongs to the project, else the first of
/// its roots that is there. `roots` as the catalogue has them: git common dirs, or folders.
pub fn repo_of(cwd: &Path, roots: &[String], zone: TimeZone) -> Option<Repo> {
    let here = identity::root_of(cwd);
    let inside = |root: &String| *root == here.path.to_string_lossy() || cwd.starts_with(root);
    if roots.iter().any(inside) {
        return Some(repo_around(cwd, zone));
    }
    let root = roots.iter().map(PathBuf::from).find(|root| root.exists())?;
    match (root.file_name(), root.parent()) {
        (Some(name), Some(folder)) if name == ".git" => Some(Repo::at(folder, true, zone)),
        _ => Some(Repo::at(&root, false, zone)),
    }
}

/// A memory and what was found about what it names.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Which.
    pub id: Id,
    /// The day it was said.
    pub day: Date,
    /// One for each thing that it names.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The worst of the findings.
    pub fn state(&self) -> State {
        self.findings.iter().map(|f| f.state).max().unwrap_or(State::Unknown)
    }
}

/// What a memory says by itself; quotes may speak of anything.
fn claim(memory: &Memory) -> String {
    let parts = [Some(&memory.summary), memory.reason.as_ref(), memory.how_to_apply.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// When a memory was said, if it was made on the day it was said: one that was read out of a conversation later was not.
fn at(memory: &Memory) -> Option<Timestamp> {
    let created = memory.created.as_deref().filter(|_| memory.session.is_none())?;
    created.parse().ok()
}

/// Checks the memories that name anything and have a day, in their order.
pub fn check<'a>(memories: impl IntoIterator<Item = &'a Memory>, repo: &Repo, care: Care) -> Vec<Checked> {
    let named = |memory: &Memory| match care {
        Care::Quick => mentions::paths(&claim(memory)),
        Care::Thorough => mentions::mentions(&claim(memory)),
    };
    let asked = memories.into_iter().filter_map(|m| Some((m.id.clone(), Question { mentions: named(m), day: m.day()?, at: at(m) })));
    let (ids, questions): (Vec<Id>, Vec<Question>) = asked.filter(|(_, q)| !q.mentions.is_empty()).unzip();
    let answers = repo.ask(&questions, care);
    let checked = ids.into_iter().zip(questions).zip(answers).map(|((id, q), findings)| Checked { id, day: q.day, findings });
    checked.filter(|c| !c.findings.is_empty()).collect()
}

/// What an injection has to add to memories: those that name a file which changed or went since.
pub fn aged<'a>(memories: impl IntoIterator<Item = &'a Memory>, repo: &Repo, today: &str) -> BTreeMap<Id, Aged> {
    let Ok(today) = today.parse::<Date>() else { return BTreeMap::new() };
    let worst = |checked: Checked| {
        let finding = checked.findings.into_iter().filter(|f| f.state >= State::Changed).max_by_key(|f| f.state)?;
        let days = (today - checked.day).get_days();
        Some((checked.id, Aged { days, name: finding.mention.name(), gone: finding.state == State::Gone })).filter(|_| days > 0)
    };
    check(memories, repo, Care::Quick).into_iter().filter_map(worst).collect()
}

/// The memories that an injection says.
pub fn said<'a>(snapshots: &[&'a Snapshot], injection: &Injection) -> Vec<&'a Memory> {
    let ids: BTreeSet<&Id> = injection.items.iter().map(|i| &i.id).collect();
    snapshots.iter().flat_map(|s| &s.entries).map(|e| &e.memory).filter(|m| ids.contains(&m.id)).collect()
}

/// Whether files have the times that [`stamps`] gave.
pub fn still(files: &BTreeMap<String, Option<String>>, repo: &Repo) -> bool {
    files.iter().all(|(path, time)| repo.stamp(path).map(|t| t.to_string()) == *time)
}

/// The files that these memories name, with the times of their last write: the same as long as [`aged`] says the same.
pub fn stamps<'a>(memories: impl IntoIterator<Item = &'a Memory>, repo: &Repo) -> BTreeMap<String, Option<String>> {
    let paths = memories.into_iter().flat_map(|m| mentions::paths(&claim(m)));
    let names = paths.filter_map(|m| match m {
        Mention::Path(path) => Some(path),
        _ => None,
    });
    names.map(|path| (path.clone(), repo.stamp(&path).map(|t| t.to_string()))).collect()
}
