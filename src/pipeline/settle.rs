//! From candidates to a commit: ground, reconcile, plan, commit; again if the store changed meanwhile.

use super::SessionReport;
use super::ingest::{Run, snapshots};
use super::prepare::Prepared;
use crate::error::{Error, Kind, Result};
use crate::extract::ground::{self, Verdict};
use crate::extract::{Extraction, Job, Unfinished};
use crate::model::plan::{Plan, SessionRecord, Tombstone};
use crate::model::{Change, Origin};
use crate::reconcile::{self, ReconcileContext};
use crate::store::turns::TurnStore;
use crate::store::{GLOBAL, Snapshot, disk, layout};
use crate::text::redact::redact;

/// Times a plan is made anew because somebody else committed in between.
const REPLANS: usize = 20;

/// Makes the plans for these snapshots and notes in the report what they do.
type Make<'a> = dyn Fn(&mut SessionReport, &[Snapshot]) -> Result<Vec<Plan>> + 'a;

/// Stores what came of one conversation and completes its report.
///
/// # Errors
/// When the store cannot be written, or a run would replace too many memories ([`Kind::Decision`]). `first` are the
/// snapshots that the conversation was prepared with; they are read again only if the store has changed.
pub fn settle(run: &Run<'_>, prepared: Prepared, extraction: Extraction, first: &[Snapshot]) -> Result<SessionReport> {
    let Prepared { mut report, job, record, branch } = prepared;
    report.usage = extraction.usage;
    report.model.clone_from(&extraction.model);
    report.notes.extend(extraction.notes.iter().cloned());
    report.rejected.extend(extraction.refused.iter().map(|r| (r.code, redact(&r.summary).text)));
    if let Some(why) = &extraction.skipped {
        report.skipped = Some(why.clone());
    }
    if let Some(Unfinished::Quarantine(answer)) = &extraction.unfinished {
        quarantine(run, &report.session, answer)?;
    }
    if let Some(error) = extraction.unfinished.as_ref().and_then(Unfinished::error) {
        return Err(error);
    }
    if let Some(Unfinished::Dumped(key)) = &extraction.unfinished {
        report.skipped = Some(format!("request {key} written, nothing asked"));
        return Ok(report);
    }
    let Some(record) = record else { return Ok(report) };
    let make = |report: &mut SessionReport, now: &[Snapshot]| plan(run, report, job.as_ref(), &extraction, &record, branch.as_deref(), now);
    let mut tries = 0;
    let mut again: Vec<Snapshot> = Vec::new();
    loop {
        let now = if tries == 0 { first } else { &again };
        let mut attempt = report.clone();
        let plans = make(&mut attempt, now)?;
        if run.dry_run {
            return Ok(attempt);
        }
        let alone = plans.len() == 1;
        let stored = match commit(run, &plans) {
            // Among many writers somebody would come between every time, so a plan for one project is made anew under the lock.
            Err(error) if error.kind == Kind::Busy && alone && tries > 0 => commit_locked(run, &report, &mut attempt, &make),
            stored => stored,
        };
        match stored {
            Ok((commit, notices)) => {
                attempt.commit = commit;
                attempt.wrote = true;
                attempt.notes.extend(notices);
                if let Some(job) = job.as_ref().filter(|_| run.keep_turns) {
                    keep_turns(run, job, &attempt)?;
                }
                return Ok(attempt);
            }
            Err(error) if error.kind == Kind::Busy && tries < REPLANS => {
                tries += 1;
                again = snapshots(run.store, &report.project)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Plans with the project as it is under the lock, and commits. A plan that touches the global memories, too, is for the
/// caller to make again.
fn commit_locked(
    run: &Run<'_>,
    report: &SessionReport,
    attempt: &mut SessionReport,
    make: &Make<'_>,
) -> Result<(Option<u64>, Vec<String>)> {
    let receipt = run.store.update(&report.project, &run.env.now(), &|| run.env.new_id(), &mut |now| {
        let mut both = snapshots(run.store, &report.project)?;
        if let Some(project) = both.first_mut() {
            project.clone_from(now);
        }
        *attempt = report.clone();
        match make(attempt, &both)?.as_slice() {
            [plan] => Ok(plan.clone()),
            _ => Err(Error::new(Kind::Busy, format!("{} was changed since this was planned", report.project))),
        }
    })?;
    Ok((receipt.seq, receipt.notices))
}

/// Keeps the cleaned turns of a conversation in place of what was kept of it.
fn keep_turns(run: &Run<'_>, job: &Job, report: &SessionReport) -> Result<()> {
    let turns = super::turns::of_conversation(&job.conversation, &report.session, &report.project);
    TurnStore::open(run.store.home(), true)?.map_or(Ok(0), |kept| kept.keep(&report.project, &turns, true)).map(|_| ())
}

/// Keeps an answer that could not be used, for whoever wants to see it: `.state/quarantine/SESSION.txt`.
fn quarantine(run: &Run<'_>, session: &str, answer: &str) -> Result<()> {
    let folder = layout::state(run.store.home()).join("quarantine");
    disk::create_dir(&folder)?;
    disk::write(&folder.join(format!("{session}.txt")), redact(answer).text.as_bytes())
}

fn commit(run: &Run<'_>, plans: &[Plan]) -> Result<(Option<u64>, Vec<String>)> {
    let (mut last, mut notices) = (None, Vec::new());
    for plan in plans {
        let receipt = run.store.commit(plan, &|| run.env.new_id())?;
        last = receipt.seq.or(last);
        notices.extend(receipt.notices);
    }
    Ok((last, notices))
}

/// The plans for the project and, where a memory is global, for `_global` (committed first: the session's cursor moves
/// with the project's own commit).
fn plan(
    run: &Run<'_>,
    report: &mut SessionReport,
    job: Option<&Job>,
    extraction: &Extraction,
    record: &SessionRecord,
    branch: Option<&str>,
    snapshots: &[Snapshot],
) -> Result<Vec<Plan>> {
    let Some(project) = snapshots.first() else { return Err(Error::failure("the project has no snapshot")) };
    let at = run.env.now();
    let mut plan = Plan::new(&report.project, project.base.clone(), "ingest", &at);
    let mut plans = Vec::new();
    let mut record = SessionRecord { extractor: report.extractor.clone(), model: report.model.clone(), ..record.clone() };
    if let Some(job) = job {
        // What was forgotten for every project stays forgotten in each.
        let tombstones: Vec<Tombstone> = snapshots.iter().flat_map(|s| s.catalogue.tombstones.iter().cloned()).collect();
        let context = ground::Context { conversation: &job.conversation, known: &job.known, tombstones: &tombstones, day: &job.day };
        let verdicts: Vec<Verdict> = ground::ground(extraction.candidates.clone(), &context);
        let context = ReconcileContext {
            known: &job.known,
            global: snapshots.get(1),
            project: &report.project,
            session: &report.session,
            at: &at,
            origin: Origin::parse(&report.extractor).unwrap_or(Origin::Claude),
            branch,
            day: &job.day,
            max_supersedes: run.max_supersedes,
            new_id: &|| run.env.new_id(),
        };
        let outcome = reconcile::reconcile(verdicts, project, &context)?;
        if let Some(global) = snapshots.get(1)
            && !outcome.global_changes.is_empty()
        {
            let mut global_plan = Plan::new(GLOBAL, global.base.clone(), "ingest", &at);
            global_plan.changes = outcome.global_changes;
            report.memories.extend(global_plan.added().cloned());
            plans.push(global_plan);
        }
        plan.changes = outcome.changes;
        report.memories.extend(plan.added().cloned());
        report.confirmed = outcome.confirmed;
        report.conflicts = outcome.conflicts;
        report.completed = outcome.completed;
        report.superseded = outcome.superseded;
        report.review = outcome.review;
        let older = report.conflicts.iter().map(|(older, _)| older);
        let named = older.chain(&report.confirmed).chain(&report.completed).chain(&report.superseded);
        let says = named.filter_map(|id| Some((id.clone(), snapshots.iter().find_map(|s| s.entry(id))?.memory.summary.clone())));
        report.says = says.collect();
        report.rejected.extend(outcome.dropped);
        if let Some(stop) = outcome.stop
            && !run.dry_run
        {
            return Err(stop);
        }
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    record.stored = count(report.memories.len());
    record.review = count(report.review.len());
    record.dropped = count(report.rejected.len());
    plan.changes.push(Change::Session(record));
    plans.push(plan);
    Ok(plans)
}
