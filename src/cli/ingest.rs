//! `ingest`: the straight line, and its receipt.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields, ids, json as to_json, layer_name, problem_line, reasons};
use super::belongs::Belongs;
use super::ui::{Ui, Waiting, count, paint, style};
use crate::claude_code::{self, queue};
use crate::error::{Error, Kind, Result};
use crate::extract::backend::{self, Wanted};
use crate::extract::estimate;
use crate::model::plan::MemoryRecord;
use crate::model::{Code, Conversation, Id, Memory};
use crate::pipeline::ingest::{self, Outcome, Run, STDIN};
use crate::pipeline::sources::{self, Sources};
use crate::pipeline::{SessionReport, prepare};

/// Read finished conversations and store what is worth knowing
///
/// PATHs are transcripts of Claude Code, claude.ai, ChatGPT, Codex, Gemini, SpecStory, aider, or plain text; folders and
/// patterns work too, and - reads one from stdin. Reading the same file again changes nothing; a file that has grown is
/// read on from where it was.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Files, folders or patterns; - is stdin
    #[arg(value_name = "PATH", required_unless_present = "all_history")]
    paths: Vec<PathBuf>,
    /// Every Claude Code transcript on this machine, each into its project
    #[arg(long, conflicts_with = "paths")]
    all_history: bool,
    /// Only conversations on or after this day
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    /// Say what it would cost and stop; nothing is sent
    #[arg(long)]
    plan: bool,
    /// Who reads: claude, claude-code, rules, replay [default: claude if a key is set, else rules]
    #[arg(long, value_name = "NAME")]
    extractor: Option<String>,
    /// Stop before the run costs more than this
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Keep requests and answers as files
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Answer from files that --record kept
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    /// Write the requests as files and send none
    #[arg(long, value_name = "DIR")]
    dump_requests: Option<PathBuf>,
}

impl IngestArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let since = self.since.as_deref().map(day).transpose()?;
        let (files, spool) = self.files(app)?;
        let stdin = spool.as_ref().map(tempfile::NamedTempFile::path);
        for problem in &files.problems {
            app.ui.warn(&problem_line(&app.ui, problem));
        }
        let store = app.store()?;
        let first = !store.history()?.iter().any(|h| h.command == "ingest");
        let wanted = Wanted {
            extractor: self.extractor.as_deref(),
            max_cost: self.max_cost,
            record: self.record.as_deref(),
            replay: self.replay.as_deref(),
            dump: self.dump_requests.as_deref(),
        };
        let chosen = backend::choose(&wanted, &app.config, app.env, &app.home)?;
        app.ui.detail(&chosen.why);
        let dry_run = app.ui.wishes.dry_run || self.dump_requests.is_some() && self.replay.is_none();
        let belongs = Belongs::new(app, &store, self.all_history, !dry_run && !self.plan)?;
        let bar = app.ui.progress(files.files.len() as u64);
        // One file has no bar, and may be long.
        let waiting = match files.files.as_slice() {
            [only] => app.ui.waiting(&format!("reading {}", self.as_typed(app, only, stdin))),
            _ => None,
        };
        let project_of = |conversation: &Conversation| belongs.project_of(conversation);
        let run = Run {
            since: since.as_deref(),
            // A file that is named is meant.
            is_ignored: &|cwd| self.all_history && claude_code::is_ignored(cwd),
            concurrency: if chosen.extractor.name() == "claude" { app.config.number("claude.concurrency") as usize } else { 1 },
            stdin,
            dry_run,
            on_file: &|path: &Path| {
                bar.inc(1);
                let name = if stdin == Some(path) { Some(STDIN.into()) } else { path.file_name().map(|n| n.to_string_lossy()) };
                bar.set_message(app.ui.beside_bar(&name.unwrap_or_default()));
            },
            ..Run::new(app.env, &store, &app.config, chosen.extractor.as_ref(), &project_of)
        };
        if self.plan {
            return plan(app, &run, &files, waiting);
        }
        let begun = app.env.now();
        let mut outcome = ingest::ingest(&run, &files);
        if !dry_run && since.is_none() && outcome.failure.is_none() {
            // What a hook queued and was read now needs no reader in the background any more.
            let failed = |path: &Path| {
                outcome.unreadable.iter().any(|(p, _)| p == path)
                    || outcome.sessions.iter().any(|s| s.failure.is_some() && Path::new(&s.source) == path)
            };
            queue::forget(&app.home, &|item| item.at < begun && files.files.contains(&item.transcript) && !failed(&item.transcript))?;
        }
        bar.finish_and_clear();
        drop(waiting);
        if app.ui.wishes.json {
            app.ui.object("ingest", report_json(&outcome)?);
        }
        for (path, error) in &mut outcome.unreadable {
            error.message = error.message.replace(&path.display().to_string(), &self.as_typed(app, path, stdin));
        }
        let one = files.files.len() == 1;
        // One file that holds nothing is the error itself, and nothing else is to be said.
        let nothing = one && outcome.sessions.iter().all(|s| s.session.is_empty()) && outcome.older + outcome.ignored == 0;
        if !app.ui.wishes.json && (!nothing || app.ui.wishes.verbose) {
            receipt(app, if first { &chosen.why } else { chosen.why.trim_end_matches(backend::NO_KEY) }, &outcome, one, first);
            if outcome.older > 0 {
                let older = count(outcome.older, "conversation is", "conversations are");
                app.ui.say(&format!("{older} older than {}", since.as_deref().unwrap_or_default()));
            }
            if outcome.ignored > 0 {
                app.ui.say(&format!(
                    "{} by .claude-memignore",
                    count(outcome.ignored, "conversation is kept out", "conversations are kept out")
                ));
            }
        }
        self.finish(app, outcome, files.files.len(), stdin)
    }

    /// A path in the words of the command line.
    fn as_typed(&self, app: &App, path: &Path, stdin: Option<&Path>) -> String {
        if stdin == Some(path) {
            return STDIN.to_owned();
        }
        let typed = self.paths.iter().find(|p| app.env.absolute(p) == path);
        let relative = || path.strip_prefix(&app.env.cwd).ok().filter(|_| self.paths.iter().any(|p| p.is_relative()));
        typed.map(PathBuf::as_path).or_else(relative).unwrap_or(path).display().to_string()
    }

    /// The exit code: a failure that ended the run, else whether anything could be read at all.
    fn finish(&self, app: &App, outcome: Outcome, files: usize, stdin: Option<&Path>) -> Result<()> {
        if let Some(failure) = outcome.failure.or_else(|| outcome.sessions.iter().find_map(|s| s.failure.clone())) {
            return Err(failure);
        }
        let unreadable = outcome.unreadable.len();
        match (outcome.unreadable.into_iter().next(), outcome.sessions.as_slice()) {
            (Some((_, error)), _) if files == 1 => Err(error),
            (Some(_), []) if outcome.older + outcome.ignored == 0 => {
                Err(Error::new(Kind::NoTranscript, format!("none of {unreadable} files is a transcript"))
                    .hint("--verbose says what is wrong with each"))
            }
            (None, [only]) if files == 1 && only.session.is_empty() => {
                let why = only.problems.first().map(|p| format!(": {}", problem_line(&app.ui, p))).unwrap_or_default();
                let source = self.as_typed(app, Path::new(&only.source), stdin);
                Err(Error::new(Kind::NoTranscript, format!("{source} holds no conversation{why}"))
                    .hint("check that it is a whole transcript"))
            }
            _ => Ok(()),
        }
    }

    /// The files, and the temporary file that holds stdin as long as it is needed.
    fn files(&self, app: &App) -> Result<(Sources, Option<tempfile::NamedTempFile>)> {
        if self.all_history {
            return Ok((sources::claude_code(app.env)?, None));
        }
        let stdin = self.paths.iter().filter(|p| p.as_os_str() == "-").count();
        let paths: Vec<PathBuf> = self.paths.iter().filter(|p| p.as_os_str() != "-").cloned().collect();
        let mut files = if paths.is_empty() { Sources::default() } else { sources::named(&paths, app.env)? };
        let mut spool = None;
        if stdin > 0 {
            let failed = |e: std::io::Error| Error::failure(format!("stdin cannot be read: {e}"));
            let mut file = tempfile::Builder::new().prefix("stdin-").tempfile().map_err(failed)?;
            std::io::copy(&mut std::io::stdin().lock().take(u64::MAX), &mut file).map_err(failed)?;
            files.files.push(file.path().to_owned());
            spool = Some(file);
        }
        Ok((files, spool))
    }
}

/// A day of the calendar.
fn day(text: &str) -> Result<String> {
    let usage = || Error::new(Kind::Usage, format!("--since wants a day like 2026-03-01, not {text:?}")).hint("write it as YYYY-MM-DD");
    text.parse::<jiff::civil::Date>().map(|d| d.to_string()).map_err(|_| usage())
}

/// `--plan`: everything up to the first request, then the price.
fn plan(app: &App, run: &Run<'_>, files: &Sources, waiting: Option<Waiting>) -> Result<()> {
    let settings = backend::settings(&app.config, app.env, None);
    let mut estimate = estimate::estimate(&[], &settings);
    let (mut conversations, mut skipped) = (0usize, 0usize);
    let (now, today) = (app.env.now(), app.env.today());
    let mut unreadable = Vec::new();
    for path in &files.files {
        let mut failure = None;
        let read = ingest::read(path, &mut |conversation| {
            if failure.is_some()
                || conversation.cwd.as_deref().is_some_and(|cwd| (run.is_ignored)(Path::new(cwd)))
                || run.since.is_some_and(|since| conversation.day().is_some_and(|day| day < since))
            {
                return;
            }
            let prepared = (run.project_of)(&conversation).and_then(|(project, _)| {
                let snapshots = ingest::snapshots(run.store, &project)?;
                let refs: Vec<_> = snapshots.iter().collect();
                let origin = prepare::Origin { source: "", project: &project, today: &today, now: &now };
                Ok(prepare::prepare(conversation, origin, &refs, &crate::model::Cursor::default(), Vec::new()))
            });
            match prepared.map(|p| p.job) {
                Ok(Some(job)) => {
                    conversations += 1;
                    estimate.add(&estimate::estimate(&[job], &settings));
                }
                Ok(None) => skipped += 1,
                Err(error) => failure = Some(error),
            }
        });
        unreadable.extend(read.err());
        if let Some(error) = failure {
            return Err(error);
        }
    }
    drop(waiting);
    for error in &unreadable {
        app.ui.warn(&app.ui.foreign(&error.to_string()));
    }
    if conversations + skipped == 0
        && let Some(error) = unreadable.into_iter().next()
    {
        return Err(error);
    }
    if app.ui.wishes.json {
        app.ui.object(
            "ingest",
            fields([(
                "plan",
                json!({"conversations": conversations, "skipped": skipped, "calls": estimate.calls, "input_tokens": estimate.input_tokens,
                    "output_tokens": estimate.output_tokens, "cost_usd": estimate.cost_usd, "model": settings.model}),
            )]),
        );
        return Ok(());
    }
    app.ui.line(&format!(
        "{} to read, {skipped} without anything new or worth a call",
        count(conversations, "conversation", "conversations")
    ));
    let price = match (estimate.cost_usd, estimate.most_usd) {
        (Some(usd), Some(most)) => format!("≈${usd:.4}, at most ${most:.4}"),
        _ => "price unknown".to_owned(),
    };
    app.ui.line(&format!(
        "with {}: {}, ≈{} tokens in, ≈{} out, {price}",
        settings.model,
        count(estimate.calls as usize, "call", "calls"),
        estimate.input_tokens,
        estimate.output_tokens
    ));
    app.ui.line("nothing was sent");
    Ok(())
}

fn report_json(outcome: &Outcome) -> Result<serde_json::Map<String, Value>> {
    let mut sessions = Vec::new();
    let mut sums: [(&str, Vec<Value>); 6] =
        ["added", "confirmed", "conflicts", "completed", "superseded", "review"].map(|k| (k, Vec::new()));
    for s in &outcome.sessions {
        let memories: Vec<MemoryRecord> = s.memories.iter().map(|m| MemoryRecord::of(m, &s.project)).collect();
        let rejected: Vec<Value> = s.rejected.iter().map(|(code, summary)| json!({"code": code, "summary": summary})).collect();
        let review: Vec<Value> =
            s.review.iter().map(|(id, codes, summary)| json!({"id": id, "codes": codes, "summary": summary})).collect();
        let problems: Vec<Value> = s.problems.iter().map(|p| json!({"line": p.line, "code": p.code, "detail": p.detail})).collect();
        for (sum, list) in [
            ids(&s.memories.iter().map(|m| m.id.clone()).collect::<Vec<_>>()),
            ids(&s.confirmed),
            json!(s.conflicts.iter().map(|(a, b)| json!([a, b])).collect::<Vec<_>>()),
            ids(&s.completed),
            ids(&s.superseded),
            json!(s.review.iter().map(|r| json!(r.0)).collect::<Vec<_>>()),
        ]
        .into_iter()
        .zip(&mut sums)
        .map(|(v, s)| (&mut s.1, v))
        {
            sum.extend(list.as_array().into_iter().flatten().cloned());
        }
        sessions.push(json!({
            "session": s.session, "source": s.source, "format": s.format, "project": s.project, "turns": s.turns, "user_turns": s.user_turns,
            "tokens_before": s.tokens_before, "tokens_after": s.tokens_after, "redacted": s.redacted, "extractor": s.extractor,
            "model": s.model, "calls": s.usage.calls, "cost_usd": s.usage.cost_usd, "memories": to_json(&memories)?, "rejected": rejected,
            "review": review, "problems": problems, "skipped": s.skipped, "notes": s.notes, "commit": s.commit,
        }));
    }
    let mut object = fields([("sessions", Value::from(sessions))]);
    for (key, list) in sums {
        object.insert(key.to_owned(), Value::from(list));
    }
    let unreadable: Vec<Value> =
        outcome.unreadable.iter().map(|(path, e)| json!({"source": path.display().to_string(), "error": e.message})).collect();
    object.insert("unreadable".to_owned(), Value::from(unreadable));
    object.insert("older".to_owned(), outcome.older.into());
    object.insert("ignored".to_owned(), outcome.ignored.into());
    Ok(object)
}

/// Cells before what is said of a memory: sign and id.
const UNDER: usize = 16;

/// So many warnings of one sort are listed; more are counted.
const FEW: usize = 3;

/// What a person reads: per conversation what was kept and why the rest was not; then the sum and the way back.
/// `one`: a single file was named; `first`: nothing was ingested before, so where things are is said.
fn receipt(app: &App, why: &str, outcome: &Outcome, one: bool, first: bool) {
    let ui = &app.ui;
    // Over many files only those that brought something are shown, unless asked.
    let brief = outcome.sessions.len() > 3 && !ui.wishes.verbose;
    for report in outcome.sessions.iter().filter(|r| !r.session.is_empty() || ui.wishes.verbose) {
        if !(brief && report.brought_nothing()) {
            session_lines(ui, report);
        }
    }
    match outcome.unreadable.len() {
        n if n > FEW && !ui.wishes.verbose => {
            ui.warn(&format!("{} (--verbose lists them)", count(n, "file was no transcript", "files were no transcripts")));
        }
        _ if one => {}
        _ => outcome.unreadable.iter().for_each(|(_, error)| ui.warn(&ui.foreign(&error.to_string()))),
    }
    let sum = |f: fn(&SessionReport) -> usize| outcome.sessions.iter().map(f).sum::<usize>();
    let stored = sum(|s| s.memories.len());
    let review = sum(|s| s.review.len());
    let verb = if app.ui.wishes.dry_run { "would store" } else { "stored" };
    let from = count(outcome.sessions.iter().filter(|r| !r.session.is_empty()).count(), "conversation", "conversations");
    ui.report(&format!("{} {} from {from}, {why}", paint(style::STRONG, verb), paint(style::GOOD, &count(stored, "memory", "memories"))));
    let cost: f64 = outcome.sessions.iter().filter_map(|s| s.usage.cost_usd).sum();
    if cost > 0.0 {
        ui.report(&format!("{} for ≈${cost:.4}", count(sum(|s| s.usage.calls as usize), "call", "calls")));
    }
    if review > 0 {
        let them = if review == 1 { "is" } else { "are" };
        ui.report(&format!(
            "{} {them} less sure and not used until you say so: claude-mem review",
            count(review, "candidate", "candidates")
        ));
    }
    if stored > 0 && first && !app.ui.wishes.dry_run {
        ui.report(&paint(
            style::DIM,
            &format!("they are Markdown in {}; `claude-mem undo` takes the last conversation back", app.home.display()),
        ));
    }
}

fn session_lines(ui: &Ui, report: &SessionReport) {
    let name = Path::new(&report.source).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let saved = if report.tokens_before > 0 {
        format!(", ≈{} of ≈{} tokens left after cleaning", report.tokens_after, report.tokens_before)
    } else {
        String::new()
    };
    let turns = count(report.turns, "turn", "turns");
    ui.report(&format!(
        "{}  {}, {turns}{saved} → {}",
        paint(style::STRONG, &ui.foreign(&name)),
        report.format,
        ui.foreign(&report.project)
    ));
    if let Some(why) = &report.skipped {
        ui.report(&format!("  {}", ui.foreign(why)));
    }
    if let Some(error) = &report.failure {
        ui.report(&format!("  {} {}", paint(style::BAD, "not stored:"), ui.foreign(&error.message)));
    }
    let item = |sign: &str, id: &Id, text: &str| {
        if !ui.wishes.quiet {
            ui.hang(&format!("  {sign} {}  {text}", paint(style::HINT, id.as_str())), UNDER);
        }
    };
    let aside = |text: &str| paint(style::DIM, &format!("({text})"));
    for memory in &report.memories {
        item(&paint(style::GOOD, "+"), &memory.id, &memory_line(ui, memory));
        if let Some(why) = memory.reason.as_deref().filter(|_| !ui.wishes.quiet) {
            ui.hang(&paint(style::DIM, &format!("{}why: {}", " ".repeat(UNDER), ui.foreign(why))), UNDER + 2);
        }
    }
    let says = |id: &Id| report.says.get(id).map(|says| ui.foreign(says)).unwrap_or_default();
    for (older, newer) in &report.conflicts {
        let text = format!("disagrees with {older}, “{}”; both stay until you decide: claude-mem review", says(older));
        item(&paint(style::WARN, "!"), newer, &text);
    }
    for (list, what) in [(&report.confirmed, "seen again"), (&report.completed, "done"), (&report.superseded, "replaced")] {
        list.iter().for_each(|id| item("=", id, &format!("{} {}", says(id), aside(what))));
    }
    for (id, codes, summary) in &report.review {
        item(&paint(style::WARN, "?"), id, &format!("{} {}", ui.foreign(summary), aside(&reasons(ui, codes))));
    }
    for (code, summary) in &report.rejected {
        ui.detail(&format!("  - {} ({code})", ui.foreign(summary)));
    }
    if !report.rejected.is_empty() && !ui.wishes.verbose {
        let codes: BTreeSet<Code> = report.rejected.iter().map(|(code, _)| *code).collect();
        let why = reasons(ui, &codes.into_iter().collect::<Vec<_>>());
        ui.report(&paint(style::DIM, &format!("  {} dropped by the checks: {why} (--verbose shows what)", report.rejected.len())));
    }
    if report.brought_nothing() && report.skipped.is_none() && report.failure.is_none() {
        ui.report("  nothing in it that is worth keeping");
    }
    if report.redacted > 0 {
        ui.report(&format!("  {} taken out before anything was read", count(report.redacted as usize, "secret", "secrets")));
    }
    for note in &report.notes {
        ui.report(&paint(style::DIM, &format!("  {}", ui.foreign(note))));
    }
    if !report.problems.is_empty() {
        let (were, them) = if report.problems.len() == 1 { ("was", "it") } else { ("were", "them") };
        let more = if ui.wishes.verbose { String::new() } else { format!(" (--verbose shows {them})") };
        let odd = count(report.problems.len(), "oddity", "oddities");
        ui.report(&paint(style::DIM, &format!("  {odd} in the file {were} skipped or mended{more}")));
        for problem in &report.problems {
            ui.detail(&format!("    {}", ui.foreign(&problem.to_string())));
        }
    }
}

/// Summary first, then what kind it is.
fn memory_line(ui: &Ui, memory: &Memory) -> String {
    let state = if memory.state == crate::model::State::Valid { String::new() } else { format!("{} ", memory.state) };
    let until = memory.validity.until_date().map(|d| format!(", until {d}")).unwrap_or_default();
    let layer = layer_name(memory.layer);
    format!("{} {}", ui.foreign(&memory.summary), paint(style::DIM, &format!("({state}{}, {layer}{until})", memory.kind)))
}
