//! The run over many files: reads one conversation at a time, extracts a few at once, commits each in order.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::answers::Calls;
use super::prepare::{Origin, Prepared, prepare, prompts};
use super::settle::settle;
use super::{SessionReport, sources::Sources};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::extract::{Extraction, Extractor, Job};
use crate::model::Conversation;
use crate::store::{GLOBAL, Snapshot, Store};
use crate::transcript::{self, ReadOptions, Reading};

/// Which project a conversation belongs to; decided by the caller, who knows flags and repositories.
pub type ProjectOf<'a> = dyn Fn(&Conversation) -> Result<(String, Option<String>)> + 'a;

/// What a run works with.
pub struct Run<'a> {
    /// Clock and ids.
    pub env: &'a Env,
    /// Where memories are.
    pub store: &'a Store,
    /// Who extracts.
    pub extractor: &'a dyn Extractor,
    /// Project of a conversation, and a note for its receipt.
    pub project_of: &'a ProjectOf<'a>,
    /// Only conversations on or after this day.
    pub since: Option<&'a str>,
    /// Whether the owner keeps us out of the folder that a conversation was held in.
    pub is_ignored: &'a dyn Fn(&Path) -> bool,
    /// Conversations extracted at once.
    pub concurrency: usize,
    /// More replaced memories than this stop the run.
    pub max_supersedes: usize,
    /// Keep the cleaned turns for `search --in turns`.
    pub keep_turns: bool,
    /// The file that holds what came in on standard input, if that is read: its own name means nothing to anybody.
    pub stdin: Option<&'a Path>,
    /// Store nothing.
    pub dry_run: bool,
    /// Called with the name of each file as it begins, and after the last.
    pub on_file: &'a dyn Fn(&Path),
}

impl<'a> Run<'a> {
    /// A run over everything, one conversation at a time, as the settings say.
    pub fn new(env: &'a Env, store: &'a Store, config: &Config, extractor: &'a dyn Extractor, project_of: &'a ProjectOf<'a>) -> Self {
        Self {
            env,
            store,
            extractor,
            project_of,
            since: None,
            is_ignored: &|_| false,
            concurrency: 1,
            max_supersedes: config.number("store.max_supersedes") as usize,
            keep_turns: config.switch("search.keep_turns"),
            stdin: None,
            dry_run: false,
            on_file: &|_| {},
        }
    }
}

/// What a run did. `failure` is the error that ended it early; everything before it is stored.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One per conversation, in order.
    pub sessions: Vec<SessionReport>,
    /// Why it ended early.
    pub failure: Option<Error>,
    /// Files that could not be read as transcripts, each with its error.
    pub unreadable: Vec<(PathBuf, Error)>,
    /// Conversations passed over because they are older than `since`.
    pub older: usize,
    /// Conversations passed over because they were held where the owner keeps us out.
    pub ignored: usize,
}

/// The source of what came in on standard input.
pub const STDIN: &str = "standard input";

impl Run<'_> {
    /// A file as a person knows it.
    fn source(&self, path: &Path) -> String {
        if self.stdin == Some(path) { STDIN.to_owned() } else { path.display().to_string() }
    }
}

/// Reads `files` and stores what they hold. A conversation that cannot be stored does not keep the others back.
pub fn ingest(run: &Run<'_>, files: &Sources) -> Outcome {
    let mut outcome = Outcome::default();
    let mut batch = Batch { run, queue: Vec::new(), calls: Calls::default(), snapshots: HashMap::new() };
    for path in &files.files {
        (run.on_file)(path);
        let mut held: Option<Conversation> = None;
        let mut failure = batch.calls.check().err();
        let read = read(path, &mut |conversation| {
            // The last one waits for the end of the file, which brings the cursor and the problems.
            if let (Some(before), None) = (held.replace(conversation), &failure) {
                failure = batch.take(before, path, &Reading::default(), &mut outcome).err();
            }
        });
        match read {
            Ok(reading) => match (held, &failure) {
                (Some(conversation), None) => failure = batch.take(conversation, path, &reading, &mut outcome).err(),
                (None, None) => outcome.sessions.push(empty(run.source(path), reading)),
                _ => {}
            },
            Err(error) => outcome.unreadable.push((path.clone(), error)),
        }
        if failure.is_some() {
            outcome.failure = failure;
            return outcome;
        }
    }
    outcome.failure = batch.flush(&mut outcome).err();
    outcome
}

/// Reads one file, one conversation at a time.
///
/// # Errors
/// When the file cannot be opened or read, or is no transcript.
pub fn read(path: &Path, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
    let unreadable = |e: &std::io::Error| Error { kind: Kind::NoTranscript, ..Error::io("read", path, e) };
    let file = File::open(path).map_err(|e| unreadable(&e))?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let options = ReadOptions { file_name: name, ..ReadOptions::default() };
    transcript::read(&mut BufReader::with_capacity(1 << 18, file), &options, out)
        .map_err(|e| Error { message: format!("{}: {}", path.display(), e.message), ..e })
}

fn empty(source: String, reading: Reading) -> SessionReport {
    SessionReport {
        source,
        format: reading.format.to_owned(),
        problems: reading.problems,
        skipped: Some("no conversation in it".to_owned()),
        ..SessionReport::default()
    }
}

/// Conversations that wait to be extracted together.
struct Batch<'a, 'r> {
    run: &'a Run<'r>,
    queue: Vec<Prepared>,
    calls: Calls,
    /// By project, as read last; dropped when the project changes.
    snapshots: HashMap<String, Vec<Snapshot>>,
}

impl Batch<'_, '_> {
    fn take(&mut self, conversation: Conversation, path: &Path, reading: &Reading, outcome: &mut Outcome) -> Result<()> {
        let run = self.run;
        if let (Some(since), Some(day)) = (run.since, conversation.day())
            && day < since
        {
            outcome.older += 1;
            return Ok(());
        }
        if conversation.cwd.as_deref().is_some_and(|cwd| (run.is_ignored)(Path::new(cwd))) {
            outcome.ignored += 1;
            return Ok(());
        }
        let (project, note) = (run.project_of)(&conversation)?;
        let prompts = prompts(&conversation);
        let overlaps = |p: &Prepared| {
            let record = p.record.as_ref().filter(|_| p.report.project == project);
            record.is_some_and(|r| r.transcript == conversation.session || r.prompts.iter().any(|hash| prompts.contains(hash)))
        };
        if self.queue.iter().any(overlaps) {
            // The same session, or a fork of it, in one batch: the first must be stored before the second is compared with it.
            self.flush(outcome)?;
        }
        let snapshots = cached(&mut self.snapshots, run.store, &project)?;
        let (now, today) = (run.env.now(), run.env.today());
        let origin = Origin { source: &run.source(path), project: &project, today: &today, now: &now };
        let refs: Vec<&Snapshot> = snapshots.iter().collect();
        let mut prepared = prepare(conversation, origin, &refs, &reading.cursor, reading.problems.clone());
        prepared.report.extractor = run.extractor.name().to_owned();
        if prepared.record.is_some() {
            prepared.report.notes.extend(note);
        }
        self.queue.push(prepared);
        if self.queue.iter().filter(|p| p.job.is_some()).count() >= run.concurrency.max(1) { self.flush(outcome) } else { Ok(()) }
    }

    /// Extracts what waits, together, then commits in order. What was answered before a failure is stored.
    fn flush(&mut self, outcome: &mut Outcome) -> Result<()> {
        let queue = std::mem::take(&mut self.queue);
        let jobs: Vec<Option<&Job>> = queue.iter().map(|p| p.job.as_ref()).collect();
        let mut answers = self.calls.answer(self.run.extractor, &jobs)?;
        let mut first_failure = self.calls.check().err();
        for (i, prepared) in queue.into_iter().enumerate() {
            let extraction = match answers.get_mut(i).and_then(Option::take) {
                Some(Ok(extraction)) => extraction,
                Some(Err(error)) => {
                    first_failure = first_failure.or(Some(error));
                    continue;
                }
                None if prepared.job.is_some() => continue,
                None => Extraction::default(),
            };
            let mut failed = SessionReport { skipped: None, ..prepared.report.clone() };
            let snapshots = cached(&mut self.snapshots, self.run.store, &prepared.report.project)?;
            match settle(self.run, prepared, extraction, snapshots) {
                Ok(report) => {
                    if report.commit.is_some() || report.wrote {
                        self.snapshots.clear();
                    }
                    outcome.sessions.push(report);
                }
                // The store itself is in trouble: the next conversation would fail as well.
                Err(error) if matches!(error.kind, Kind::Busy | Kind::Interrupted | Kind::Config) => {
                    first_failure = first_failure.or(Some(error));
                }
                Err(error) => {
                    self.snapshots.clear();
                    failed.failure = Some(error);
                    outcome.sessions.push(failed);
                }
            }
        }
        first_failure.map_or(Ok(()), Err)
    }
}

fn cached<'c>(cache: &'c mut HashMap<String, Vec<Snapshot>>, store: &Store, project: &str) -> Result<&'c [Snapshot]> {
    if !cache.contains_key(project) {
        cache.insert(project.to_owned(), snapshots(store, project)?);
    }
    Ok(cache.get(project).map(Vec::as_slice).unwrap_or_default())
}

/// The project's snapshot, then the global one if there is one.
pub fn snapshots(store: &Store, project: &str) -> Result<Vec<Snapshot>> {
    let mut all = vec![store.snapshot(project)?];
    if project != GLOBAL {
        all.push(store.snapshot(GLOBAL)?);
    }
    Ok(all)
}
