//! What happens with each reply: the piece is halved, the answer repaired, put aside or taken. The same for every way of
//! asking (network, recorded answers), which is behind [`Wire`].

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use super::answer::{self, Answer, Faulty};
use super::prompt::{self, Request};
use super::{Extraction, Job, Unfinished, Usage, carry, chunk};
use crate::error::{Error, Kind, Result};
use crate::text::words::count;

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Said all it had to say.
    End,
    /// Cut off at the output limit.
    MaxTokens,
    /// The request is longer than the model takes.
    TooLong,
    /// The model will not answer; its category if it names one.
    Refusal(String),
}

/// One reply to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The text of the answer, thinking left out.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// Cost, failed tries included.
    pub usage: Usage,
    /// Model that answered.
    pub model: Option<String>,
    /// For the receipt.
    pub notes: Vec<String>,
}

/// A future that a wire returns; `None` if the request was written down and not asked.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Result<Option<Reply>>> + 'a>>;

/// One way to have a request answered.
pub trait Wire {
    /// Asks once. `about` names what the request belongs to in the ledger.
    ///
    /// # Errors
    /// When there is no answer to be had.
    fn ask<'a>(&'a self, about: About<'a>, request: &'a Request) -> Asked<'a>;
}

/// What a request belongs to.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Project name.
    pub project: &'a str,
    /// Session id, or the command.
    pub session: &'a str,
}

/// Extracts from one job in pieces of at most `budget` input tokens.
pub async fn run(wire: &dyn Wire, job: &Job, budget: u64) -> Result<Extraction> {
    let turns = &job.conversation.turns;
    let about = About { project: &job.scope, session: &job.conversation.session };
    let mut out = Extraction::default();
    let mut queue: VecDeque<_> = chunk::cut(turns, job.after_turn, piece_budget(job, budget)).into();
    let (mut answered, mut refusals, mut stale) = (0, Vec::new(), 0);
    while let Some(piece) = queue.pop_front() {
        let request = prompt::build(job, &piece, &out.candidates, &out.open_threads);
        let Some(reply) = wire.ask(about, &request).await? else {
            return Ok(Extraction { unfinished: Some(Unfinished::Dumped(request.key())), ..out });
        };
        let stop = reply.stop.clone();
        note(&mut out, &reply);
        match stop {
            Stop::MaxTokens | Stop::TooLong => {
                let Some([first, second]) = chunk::halve(turns, &piece) else { return Err(cannot_halve(&stop)) };
                out.notes.push(format!("a piece of {} turns did not fit and was halved", piece.body.len()));
                queue.push_front(second);
                queue.push_front(first);
                continue;
            }
            Stop::Refusal(category) => {
                refusals.push(category);
                continue;
            }
            Stop::End => {}
        }
        let answer = match usable(wire, about, &request, reply.text, &mut out).await? {
            Ok(answer) => answer,
            Err(unfinished) => {
                // Nothing of this job may be stored: the cursor knows no half-read conversation.
                return Ok(Extraction { candidates: vec![], open_threads: vec![], unfinished: Some(unfinished), ..out });
            }
        };
        answered += 1;
        let first_own = turns.get(piece.body.start).map_or(0, |t| t.number);
        stale += carry::merge(&mut out.candidates, answer.candidates, |turn| turn >= first_own);
        out.open_threads = answer.open_threads;
        out.refused.extend(answer.refused);
    }
    if stale > 0 {
        out.notes.push(count(
            stale,
            "entry rested only on turns read before and was left out",
            "entries rested only on turns read before and were left out",
        ));
    }
    if let Some(category) = refusals.first() {
        let reason = format!("the model refused to read it ({category})");
        if answered == 0 {
            out.skipped = Some(reason);
        } else {
            out.notes.push(format!("{} of {} pieces skipped: {reason}", refusals.len(), answered + refusals.len()));
        }
    }
    Ok(out)
}

/// What is left of the budget for turns, after the prompt and the known memories. At least a quarter: a budget smaller
/// than the prompt would otherwise mean one request per turn.
pub(super) fn piece_budget(job: &Job, budget: u64) -> u64 {
    let empty = chunk::Chunk { context: 0..0, body: 0..0 };
    let fixed = prompt::build(job, &empty, &[], &[]).tokens();
    budget.saturating_sub(fixed).max(budget / 4).max(1)
}

/// Reads the answer; if it has faults, asks once for a repair. The inner `Err` says why nothing can be used.
async fn usable(
    wire: &dyn Wire,
    about: About<'_>,
    request: &Request,
    text: String,
    out: &mut Extraction,
) -> Result<Result<Answer, Unfinished>> {
    let faults = match answer::read(&text) {
        Ok(answer) => return Ok(Ok(answer)),
        Err(Faulty { faults, .. }) => faults,
    };
    let repair = request.repair(&text, &faults);
    let Some(reply) = wire.ask(about, &repair).await? else {
        return Ok(Err(Unfinished::Dumped(repair.key())));
    };
    note(out, &reply);
    out.notes.push(format!("the answer did not fit the schema and was asked for again ({})", faults.first().map_or("", String::as_str)));
    Ok(match answer::read(&reply.text) {
        Ok(answer) if reply.stop == Stop::End => Ok(answer),
        Err(Faulty { rest: Some(rest), .. }) if reply.stop == Stop::End => {
            out.notes.push(format!("{} entries still did not fit and were left out", rest.refused.len()));
            Ok(rest)
        }
        _ => Err(Unfinished::Quarantine(reply.text)),
    })
}

/// Books a reply's cost, model and notes.
fn note(out: &mut Extraction, reply: &Reply) {
    out.usage.add(&reply.usage);
    if reply.model.is_some() {
        out.model.clone_from(&reply.model);
    }
    for note in &reply.notes {
        if !out.notes.contains(note) {
            out.notes.push(note.clone());
        }
    }
}

fn cannot_halve(stop: &Stop) -> Error {
    match stop {
        Stop::TooLong => Error::new(Kind::Api, "one turn alone is longer than the model takes")
            .hint("use a model with a larger context, or set max_input_tokens lower than its context"),
        _ => Error::new(Kind::Api, "the answer for one turn alone is longer than max_output_tokens")
            .hint("raise max_output_tokens in config.toml"),
    }
}
