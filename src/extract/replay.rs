//! Requests and answers as files named by the request's key: `--record`, `--replay`, `--dump-requests`.
//!
//! `KEY.request.json` is the request without model and server. `KEY.answer.json` is either a recorded answer of the API
//! or the bare `{"memories": …, "open_threads": …}`; both are accepted.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::api;
use super::ladder::{self, About, Asked, Reply, Stop, Wire};
use super::prompt::Request;
use super::{Extractor, Job, Pending, Usage};
use crate::error::{Error, Kind, Result};
use crate::store::disk;

/// Writes a request and its answer.
pub fn save(dir: &Path, request: &Request, answer: &Value) -> Result<()> {
    save_request(dir, request)?;
    disk::write(&dir.join(format!("{}.answer.json", request.key())), pretty(answer).as_bytes())
}

/// Writes a request alone.
pub fn save_request(dir: &Path, request: &Request) -> Result<()> {
    disk::create_dir(dir)?;
    disk::write(&dir.join(format!("{}.request.json", request.key())), pretty(&request.file()).as_bytes())
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The recorded answer to a request, if there is one.
pub fn load(dir: &Path, request: &Request) -> Result<Option<Reply>> {
    let path = dir.join(format!("{}.answer.json", request.key()));
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("read", &path, &e)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let message = serde_json::from_str::<Value>(&text).ok().as_ref().and_then(api::message);
    // A replayed answer costs nothing and is no call, whatever its recording says.
    let reply = |text, stop, model| Reply { text, stop, usage: Usage::default(), model, notes: vec![] };
    Ok(Some(match message {
        Some(message) => reply(message.text, message.stop, message.model),
        None => reply(text.into_owned(), Stop::End, None),
    }))
}

/// Recorded answers instead of a network; with `dump`, requests without an answer are written there and not asked.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Folder of answers.
    pub answers: Option<PathBuf>,
    /// Folder for requests.
    pub dump: Option<PathBuf>,
    /// `max_input_tokens` of the recording: other pieces would be other requests.
    pub budget: u64,
}

impl Wire for Replay {
    fn ask<'a>(&'a self, _: About<'a>, request: &'a Request) -> Asked<'a> {
        Box::pin(async move {
            let reply = match &self.answers {
                Some(dir) => load(dir, request)?,
                None => None,
            };
            match (&self.dump, reply) {
                (Some(dir), reply) => save_request(dir, request).map(|()| reply),
                (None, Some(reply)) => Ok(Some(reply)),
                (None, None) => {
                    let dir = self.answers.as_deref().unwrap_or(Path::new(""));
                    let name = format!("{}.answer.json", request.key());
                    Err(Error::new(Kind::Config, format!("there is no recorded answer {}", dir.join(name).display())).hint(
                        "the conversation or the prompt has changed since: record again, or write the requests with --dump-requests DIR",
                    ))
                }
            }
        })
    }
}

impl Extractor for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn extract<'a>(&'a self, job: &'a Job) -> Pending<'a> {
        Box::pin(ladder::run(self, job, self.budget))
    }
}
