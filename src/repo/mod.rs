//! The repository that memories speak of: whether what a memory names is still there, and whether it changed since.
//!
//! Only reads. git is asked where it is there, as a child without a shell, hooks or locks, and with a limit on its time; what
//! cannot be found out is [`State::Unknown`], never guessed. Not here: which memories, and what is said about them.

mod git;
mod manifests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::text::mentions::Mention;
use manifests::Manifests;

/// How something stands that a memory names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// There is no way to tell, or it was never here.
    Unknown,
    /// As it was when the memory was made.
    Fresh,
    /// There, and changed since.
    Changed,
    /// It was here, and is not any more.
    Gone,
}

impl State {
    /// As shown and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Fresh => "fresh",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// What was found about one mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was named.
    pub mention: Mention,
    /// How it stands.
    pub state: State,
    /// The day of the last change, or when it went.
    pub since: Option<Date>,
    /// What is there now, where that says more: `1.40.0`.
    pub now: Option<String>,
}

/// One memory's side of the question.
#[derive(Clone, Debug)]
pub struct Question {
    /// What it names.
    pub mentions: BTreeSet<Mention>,
    /// The day it was said.
    pub day: Date,
    /// The moment, where that is known; else what changed on that day counts as known to who said it.
    pub at: Option<Timestamp>,
}

/// How much may be spent on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Before an injection: only files that stand where they are named, one look at git and only if a file's time asks for it.
    Quick,
    /// For `check`: everything.
    Thorough,
}

impl Care {
    /// What git may take.
    fn limit(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(200),
            Self::Thorough => Duration::from_secs(20),
        }
    }
}

/// A work tree.
#[derive(Clone, Debug)]
pub struct Repo {
    folder: PathBuf,
    is_git: bool,
    zone: TimeZone,
}

impl Repo {
    /// The work tree at this folder; `zone` turns times of files into days.
    pub fn at(folder: &Path, is_git: bool, zone: TimeZone) -> Self {
        Self { folder: folder.to_path_buf(), is_git, zone }
    }

    /// The top of it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Time of a file's last write as the disk has it; changes whenever an answer of [`Care::Quick`] could.
    pub fn stamp(&self, path: &str) -> Option<Timestamp> {
        let modified = self.folder.join(path).metadata().ok()?.modified().ok()?;
        Timestamp::try_from(modified).ok()
    }

    /// Findings for each question, in order.
    pub fn ask(&self, questions: &[Question], care: Care) -> Vec<Vec<Finding>> {
        let oldest = questions.iter().map(|q| q.day).min();
        let files = Files::look(self, questions, oldest, care);
        let thorough = care == Care::Thorough;
        let manifests = if thorough { Manifests::read(&self.folder) } else { Manifests::default() };
        let symbols = if thorough && self.is_git { self.symbols(questions, care) } else { BTreeMap::new() };
        let one = |mention: &Mention, said: Timestamp| {
            let (state, since, now) = match mention {
                Mention::Path(path) => {
                    let (state, since) = files.state(path, said);
                    (state, since, None)
                }
                Mention::Symbol(name) => {
                    let (state, since) = symbols.get(name.as_str()).copied().unwrap_or((State::Unknown, None));
                    (state, since, None)
                }
                Mention::Script { tool, name } => (manifests.script(tool, name), None, None),
                Mention::Version { name, version } => {
                    let (state, now) = manifests.version(name, version);
                    (state, None, now)
                }
            };
            Finding { mention: mention.clone(), state, since, now }
        };
        // A number behind a word is a version only if a manifest knows the word.
        let means = |f: &Finding| f.state != State::Unknown || !matches!(f.mention, Mention::Version { .. });
        let all = |q: &Question| q.mentions.iter().map(|mention| one(mention, self.said(q))).filter(means).collect();
        questions.iter().map(all).collect()
    }

    /// Symbols: found as a word in tracked files, else gone if the history knew them.
    fn symbols(&self, questions: &[Question], care: Care) -> BTreeMap<String, (State, Option<Date>)> {
        let symbol = |m: &Mention| match m {
            Mention::Symbol(name) => Some(name.clone()),
            _ => None,
        };
        let names: BTreeSet<String> = questions.iter().flat_map(|q| &q.mentions).filter_map(symbol).collect();
        let Some(found) = git::words(&self.folder, &names, care.limit()) else { return BTreeMap::new() };
        let state = |name: &String| {
            if found.contains(name) {
                return (State::Fresh, None);
            }
            match git::last_with(&self.folder, name, care.limit()) {
                Some(day) => (State::Gone, Some(day)),
                None => (State::Unknown, None),
            }
        };
        names.iter().map(|name| (name.clone(), state(name))).collect()
    }

    /// Until when changes were known to who said something.
    fn said(&self, question: &Question) -> Timestamp {
        let end = || self.zone.to_timestamp(question.day.tomorrow().ok()?.at(0, 0, 0, 0)).ok();
        question.at.or_else(end).unwrap_or(Timestamp::MAX)
    }

    fn day(&self, time: Timestamp) -> Date {
        self.zone.to_datetime(time).date()
    }
}

/// What is known of the files that are named.
struct Files<'a> {
    repo: &'a Repo,
    /// Every tracked file, where that was looked up.
    tracked: Vec<String>,
    /// Times of commits that touched a file, newest first; `None` if git could not say.
    commits: Option<BTreeMap<String, Vec<Timestamp>>>,
    /// Files that differ from the last commit.
    dirty: BTreeSet<String>,
}

impl<'a> Files<'a> {
    fn look(repo: &'a Repo, questions: &[Question], oldest: Option<Date>, care: Care) -> Self {
        let mut files = Self { repo, tracked: Vec::new(), commits: None, dirty: BTreeSet::new() };
        let (true, Some(oldest)) = (repo.is_git, oldest) else { return files };
        if care == Care::Thorough {
            files.tracked = git::tracked(&repo.folder, care.limit()).unwrap_or_default();
        }
        let named = |q: &Question| {
            let paths = q.mentions.iter().filter_map(|m| match m {
                Mention::Path(path) => Some(path.clone()),
                _ => None,
            });
            paths.map(|path| (path, repo.said(q))).collect::<Vec<_>>()
        };
        let asked: Vec<(String, Timestamp)> = questions.iter().flat_map(named).collect();
        // A file older than every memory that names it did not change since.
        let suspicious = |(path, said): &&(String, Timestamp)| repo.stamp(path).is_none_or(|changed| changed > *said);
        let paths: BTreeSet<String> = match care {
            Care::Quick => asked.iter().filter(suspicious).map(|(path, _)| path.clone()).collect(),
            Care::Thorough => asked.iter().flat_map(|(path, _)| files.places(path)).collect(),
        };
        if paths.is_empty() {
            files.commits = Some(BTreeMap::new());
            return files;
        }
        files.commits = git::changes(&repo.folder, oldest, &paths, care.limit());
        if files.commits.is_some() {
            files.dirty = git::dirty(&repo.folder, &paths, care.limit()).unwrap_or_default();
        }
        files
    }

    /// Where a named file stands: itself, or tracked files that end in it.
    fn places(&self, path: &str) -> Vec<String> {
        let tail = format!("/{path}");
        let found: Vec<String> = self.tracked.iter().filter(|t| t.ends_with(&tail)).cloned().collect();
        if self.repo.folder.join(path).exists() || found.is_empty() { vec![path.to_owned()] } else { found }
    }

    fn state(&self, path: &str, said: Timestamp) -> (State, Option<Date>) {
        let places = self.places(path);
        let there = places.iter().any(|p| self.repo.folder.join(p).exists());
        let Some(commits) = &self.commits else {
            // Without git only the file's own time speaks, and only for what is there.
            let changed = if self.repo.is_git { None } else { self.repo.stamp(path) };
            return match changed.filter(|_| there) {
                Some(changed) if changed > said => (State::Changed, Some(self.repo.day(changed))),
                Some(_) => (State::Fresh, None),
                None => (State::Unknown, None),
            };
        };
        let under =
            |file: &str| places.iter().any(|p| file == p || file.strip_prefix(p.trim_end_matches('/')).is_some_and(|r| r.starts_with('/')));
        let committed = commits.iter().filter(|(file, _)| under(file)).flat_map(|(_, days)| days).copied();
        let edited = self.dirty.iter().filter(|file| under(file)).filter_map(|file| self.repo.stamp(file).or(Some(Timestamp::MAX)));
        let last = committed.chain(edited).filter(|changed| *changed > said).max();
        // Of a file that was taken away just now nobody knows the moment.
        let last = last.map(|time| (time != Timestamp::MAX).then(|| self.repo.day(time)));
        match (there, last) {
            (true, Some(last)) => (State::Changed, last),
            (true, None) => (State::Fresh, None),
            (false, Some(last)) => (State::Gone, last),
            // It was not there when the memory was made either: a plan, or another place.
            (false, None) => (State::Unknown, None),
        }
    }
}
