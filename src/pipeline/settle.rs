//! From candidates to a commit: ground, reconcile, plan, commit; again if the store changed meanwhile.

use super::SessionReport;
use super::ingest::{Run, snapshots};
use super::prepare::Prepared;
use crate::error::{Error, Kind, Result};
use crate::extract::ground::{self, Verdict};
use crate::extract::{Extraction, Job, Unfinished};
use crate::model::plan::{Plan, SessionRecord};
use crate::model::{Change, Origin};
use crate::reconcile::{self, ReconcileContext};
use crate::store::turns::TurnStore;
use crate::store::{GLOBAL, Snapshot, disk, layout};
use crate::text::redact::redact;

/// Times a plan is made anew because somebody else committed in between.
const REPLANS: usize = 20;

/// Stores what came of one conversation and completes its report.
///
/// # Errors
/// When the store cannot be written, or a run would replace too many memories ([`Kind::Decision`]).
pub fn settle(run: &Run<'_>, prepared: Prepared, extraction: Extraction) -> Result<SessionReport> {
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
    let mut tries = 0;
    loop {
        let snapshots = snapshots(run.store, &report.project)?;
        let mut attempt = report.clone();
        let plans = plan(run, &mut attempt, job.as_ref(), &extraction, &record, branch.as_deref(), &snapshots)?;
        if run.dry_run {
            return Ok(attempt);
        }
        match commit(run, &plans) {
            Ok(commit) => {
                attempt.commit = commit;
                if let Some(job) = job.as_ref().filter(|_| run.keep_turns) {
                    keep_turns(run, job, &attempt)?;
                }
                return Ok(attempt);
            }
            Err(error) if error.kind == Kind::Busy && tries < REPLANS => tries += 1,
            Err(error) => return Err(error),
        }
    }
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

fn commit(run: &Run<'_>, plans: &[Plan]) -> Result<Option<u64>> {
    let mut last = None;
    for plan in plans {
        last = run.store.commit(plan, &|| run.env.new_id())?.seq;
    }
    Ok(last)
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
        let context = ground::Context {
            conversation: &job.conversation,
            known: &job.known,
            tombstones: &project.catalogue.tombstones,
            day: &job.day,
        };
        let verdicts: Vec<Verdict> = ground::ground(extraction.candidates.clone(), &context);
        let context = ReconcileContext {
            known: &job.known,
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
