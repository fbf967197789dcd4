//! From a conversation to a job: which project, what is new, cleaned, worth a call, with which known memories.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::{SessionReport, known};
use crate::error::Problem;
use crate::extract::Job;
use crate::model::plan::SessionRecord;
use crate::model::{Conversation, Cursor, Speaker};
use crate::store::Snapshot;
use crate::text::gate::Gate;
use crate::text::{clean, gate};

/// A conversation on its way.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Filled as far as known; the stages behind add to it.
    pub report: SessionReport,
    /// `None`: nothing to extract, see `report.skipped`.
    pub job: Option<Job>,
    /// What `index.json` will hold once it is committed; `None`: nothing changed.
    pub record: Option<SessionRecord>,
    /// Branch the conversation was on.
    pub branch: Option<String>,
}

/// Where a conversation comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The file as the user named it.
    pub source: &'a str,
    /// Project it goes to.
    pub project: &'a str,
    /// Today, `YYYY-MM-DD`, for conversations without a date.
    pub today: &'a str,
    /// Time of the run, RFC 3339.
    pub now: &'a str,
}

/// `YYYY-MM-DD-xxxxxxxx`: the date and the beginning of the transcript's session id (a hash of it if it is not hexadecimal).
pub fn session_name(conversation: &Conversation, today: &str) -> String {
    let day = conversation.day().unwrap_or(today);
    let head: String = conversation.session.chars().take(8).collect();
    let hex = head.len() == 8 && head.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if hex { format!("{day}-{head}") } else { format!("{day}-{}", short_hash(&conversation.session)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}

/// SHA-256 (hex) over speaker and text of the turns up to `last`: tells growth from a changed past in every format.
fn digest(conversation: &Conversation, last: u32) -> String {
    let mut hash = Sha256::new();
    for turn in conversation.turns.iter().filter(|t| t.number <= last) {
        hash.update(turn.speaker.name());
        hash.update((turn.text.len() as u64).to_le_bytes());
        hash.update(&turn.text);
    }
    hex(&hash.finalize())
}

/// Short hashes of the identities of the user's turns: forks and resumes share them.
pub fn prompts(conversation: &Conversation) -> Vec<String> {
    conversation.turns.iter().filter(|t| t.speaker == Speaker::User).filter_map(|t| t.uuid.as_deref().map(short_hash)).collect()
}

/// Takes out what another session already holds (forks and resumes copy records): a known prompt, and what follows it
/// up to the next prompt. Gives the number of prompts taken out.
fn drop_copies(conversation: &mut Conversation, snapshot: &Snapshot) -> usize {
    let others = snapshot.catalogue.sessions.iter().filter(|s| s.transcript != conversation.session);
    let seen: std::collections::BTreeSet<&str> = others.flat_map(|s| s.prompts.iter().map(String::as_str)).collect();
    if seen.is_empty() {
        return 0;
    }
    let (mut copied, mut inside) = (0, false);
    conversation.turns.retain(|turn| {
        if turn.speaker == Speaker::User {
            inside = turn.uuid.as_deref().is_some_and(|u| seen.contains(short_hash(u).as_str()));
            copied += usize::from(inside);
        }
        !inside
    });
    copied
}

/// Prepares one conversation. Pure but for the arguments: nothing is stored, nothing is sent.
pub fn prepare(
    mut conversation: Conversation,
    origin: Origin<'_>,
    snapshots: &[&Snapshot],
    cursor: &Cursor,
    problems: Vec<Problem>,
) -> Prepared {
    let mut report = SessionReport {
        session: session_name(&conversation, origin.today),
        source: origin.source.to_owned(),
        format: conversation.format.to_owned(),
        project: origin.project.to_owned(),
        turns: conversation.turns.len(),
        user_turns: conversation.user_turns(),
        problems,
        ..SessionReport::default()
    };
    let branch = conversation.branch.clone();
    let nothing = |mut report: SessionReport, record, why: &str| {
        report.skipped = Some(why.to_owned());
        Prepared { report, job: None, record, branch: branch.clone() }
    };
    if conversation.user_turns() == 0 {
        return nothing(report, None, "no words of a user in it");
    }
    // What follows the user's last turn may still be written; it is read together with the next one.
    let last = conversation.turns.iter().rfind(|t| t.speaker == Speaker::User).map_or(0, |t| t.number);
    let known_prompts = prompts(&conversation);
    let sha256 = digest(&conversation, last);
    let project = snapshots.first();
    let earlier = project.and_then(|s| s.catalogue.sessions.iter().find(|r| r.transcript == conversation.session));
    let after_turn = match earlier {
        Some(record) => {
            report.session.clone_from(&record.session);
            if record.sha256 == sha256 {
                return nothing(report, None, "nothing new");
            }
            let grown = record.cursor.turns <= last && digest(&conversation, record.cursor.turns) == record.sha256;
            if grown { record.cursor.turns } else { 0 }
        }
        None => 0,
    };
    if let Some(record) = earlier.filter(|_| after_turn == 0) {
        report.notes.push(match record.source == origin.source {
            true => "its earlier turns changed since it was read last; all of it is read again".to_owned(),
            false => format!("the conversation of this name was read from {} before, with other turns; all of it is read", record.source),
        });
    }
    let copied = project.map_or(0, |s| drop_copies(&mut conversation, s));
    let record = SessionRecord {
        session: report.session.clone(),
        transcript: conversation.session.clone(),
        source: origin.source.to_owned(),
        format: report.format.clone(),
        sha256,
        cursor: Cursor { turns: last, ..cursor.clone() },
        ingested: origin.now.to_owned(),
        prompts: known_prompts,
        ..SessionRecord::default()
    };
    if copied > 0 {
        report.notes.push(format!("{copied} of its prompts are copies from an earlier session and were read there"));
        if !conversation.turns.iter().any(|t| t.number > after_turn && t.speaker == Speaker::User) {
            return nothing(report, Some(record), "a copy of a session that was read before");
        }
    }
    let (cleaned, cleaning) = clean(&conversation);
    report.tokens_before = cleaning.tokens_before;
    report.tokens_after = cleaning.tokens_after;
    report.redacted = cleaning.redactions.values().map(|n| u64::from(*n)).sum();
    let mut fresh = cleaned.clone();
    fresh.turns.retain(|t| t.number > after_turn);
    if let Gate::Closed(why) = gate::gate(&fresh) {
        // What was read before, and what is ours or pasted, may have said a lot.
        let apart = match (after_turn > 0, copied > 0, cleaning.tokens_after < cleaning.tokens_before) {
            (true, ..) => " since it was read last",
            (_, true, _) => " apart from what was read in an earlier session",
            (.., true) => " apart from what cleaning took out",
            _ => "",
        };
        return nothing(report, Some(record), &format!("{why}{apart}"));
    }
    let day = cleaned.day().unwrap_or(origin.today).to_owned();
    let known = known::select(snapshots, &cleaned, after_turn);
    let scope = scope_of(origin.project, conversation.cwd.as_deref());
    let job = Job { conversation: cleaned, after_turn, known, day, scope };
    Prepared { report, job: Some(job), record: Some(record), branch }
}

/// The project, as the request names it.
fn scope_of(project: &str, cwd: Option<&str>) -> String {
    if project.is_empty() {
        return cwd.map(Path::new).and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    }
    project.to_owned()
}
