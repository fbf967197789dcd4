//! The backend `claude`: any server that speaks Anthropic's Messages API, with caps, ledger, recording, and the steps
//! down when a model or server does not take part of a request.

use std::cell::RefCell;
use std::path::PathBuf;

use super::api::{self, Failure, Key, Server, Shape, Timeouts};
use super::ladder::{self, About, Asked, Reply, Stop, Wire};
use super::ledger::{self, Line};
use super::prompt::Request;
use super::retry::{self, Attempt, Policy};
use super::{Extractor, Job, Pending, Usage, prices, replay};
use crate::env::Env;
use crate::error::{Error, Kind, Result};

/// Everything config decides about this backend.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaudeSettings {
    /// Any Anthropic-compatible server, with or without `/v1`.
    pub base_url: String,
    /// Model id.
    pub model: String,
    /// The key, if the server wants one.
    pub key: Option<Key>,
    /// Sent to models that take it; `None` never sends it.
    pub temperature: Option<f64>,
    /// Estimated input tokens of one request, the prompt included.
    pub max_input_tokens: u64,
    /// `max_tokens` of one request; thinking counts.
    pub max_output_tokens: u32,
    /// US dollars for this run.
    pub max_cost: Option<f64>,
    /// US dollars for one calendar day, all runs together.
    pub daily_cap: Option<f64>,
    /// Waiting.
    pub timeouts: Timeouts,
    /// Repeating.
    pub retry: Policy,
    /// A PEM file with further certificates to trust (company proxies).
    pub ca_file: Option<PathBuf>,
}

impl Default for ClaudeSettings {
    fn default() -> Self {
        Self {
            base_url: "https://api.anthropic.com".into(),
            model: "claude-haiku-5-5".into(),
            key: None,
            temperature: Some(0.0),
            max_input_tokens: 24_000,
            max_output_tokens: 16_000,
            max_cost: None,
            daily_cap: Some(1.0),
            timeouts: Timeouts::default(),
            retry: Policy::default(),
            ca_file: None,
        }
    }
}

/// What this run has learned about the model, and spent.
#[derive(Debug, Default)]
struct Learned {
    no_temperature: bool,
    no_format: bool,
    no_cache: bool,
    spent: f64,
    /// The most that requests under way can cost: several conversations may be extracted at once.
    under_way: f64,
}

/// The backend.
pub struct Claude<'a> {
    settings: ClaudeSettings,
    server: Server,
    client: reqwest::Client,
    env: &'a Env,
    ledger: PathBuf,
    record: Option<PathBuf>,
    learned: RefCell<Learned>,
}

impl<'a> Claude<'a> {
    /// A client for the settings. `ledger` is the file of all calls; `record` a folder for requests and answers.
    ///
    /// # Errors
    /// Configuration: no key, a bad address, a price that is not known where `max_cost` asks for one.
    pub fn new(settings: ClaudeSettings, env: &'a Env, ledger: PathBuf, record: Option<PathBuf>) -> Result<Self> {
        let server = Server::new(&settings.base_url, settings.key.clone())?;
        if settings.max_cost.is_some() && prices::find(&settings.model).is_none() {
            return Err(Error::new(Kind::Config, format!("the price of {} is not known, so --max-cost cannot be kept", settings.model))
                .hint("leave --max-cost out, or use a model of the price table"));
        }
        let pem = match &settings.ca_file {
            Some(path) => Some(std::fs::read(path).map_err(|e| Error { kind: Kind::Config, ..Error::io("read", path, &e) })?),
            None => None,
        };
        let client = api::client(settings.timeouts, pem.as_deref())?;
        Ok(Self { settings, server, client, env, ledger, record, learned: RefCell::default() })
    }

    /// What is sent to this model as far as is known, and what the receipt should say about it.
    fn shape(&self) -> (Shape, Vec<String>) {
        let learned = self.learned.borrow();
        let (model, known) = (&self.settings.model, prices::find(&self.settings.model));
        let takes_temperature = known.is_none_or(|m| m.temperature) && !learned.no_temperature;
        // A server that is not Anthropic's and runs a model we do not know is most likely a local one.
        let takes_format = known.map_or(self.server.is_anthropic(), |m| m.format) && !learned.no_format;
        let mut notes = Vec::new();
        if self.settings.temperature.is_some() && !takes_temperature {
            notes.push(format!("{model} does not accept temperature: sent without"));
        }
        if learned.no_format {
            notes.push(format!("{model} does not accept output_config here: the schema went into the prompt"));
        }
        if known.is_none() && self.settings.daily_cap.is_some() {
            notes.push(format!("the price of {model} is not known: the daily cap was not checked"));
        }
        let temperature = self.settings.temperature.filter(|_| takes_temperature);
        (Shape { temperature, format: takes_format, cache: self.server.is_anthropic() && !learned.no_cache }, notes)
    }

    /// Stops before a request that could pass a cap, counting the requests that are under way.
    fn check_caps(&self, next: f64) -> Result<()> {
        let (spent, under_way) = (self.learned.borrow().spent, self.learned.borrow().under_way);
        if let Some(cap) = self.settings.max_cost.filter(|cap| spent + under_way + next > *cap) {
            let message = format!("the next request could cost ${next:.4}, and ${spent:.4} of --max-cost ${cap:.4} are spent");
            return Err(Error::new(Kind::Api, message).hint("raise --max-cost; --plan shows calls and price before any is made"));
        }
        if let Some(cap) = self.settings.daily_cap {
            let today = ledger::spent_on(&ledger::read(&self.ledger)?.0, &self.env.today());
            if today + under_way + next > cap {
                let message = format!("the next request could cost ${next:.4}, and ${today:.4} of the daily cap ${cap:.2} are spent");
                return Err(Error::new(Kind::Api, message).hint("raise claude.daily_cap_usd in config.toml, or run again tomorrow"));
            }
        }
        Ok(())
    }

    /// One request with its repeats; every try is in the ledger.
    async fn send(
        &self,
        about: About<'_>,
        request: &Request,
        shape: Shape,
        usage: &mut Usage,
        notes: &mut Vec<String>,
    ) -> Result<Reply, Box<Failure>> {
        let body = api::body(request, &self.settings.model, self.settings.max_output_tokens, shape);
        let key = request.key();
        // A model without a price: no cap can be checked, and `shape` says so.
        let most = most(&self.settings, request);
        retry::retry(self.settings.retry, async || {
            most.map_or(Ok(()), |next| self.check_caps(next)).map_err(capped)?;
            let line = Line {
                at: self.env.now(),
                project: about.project.to_owned(),
                session: about.session.to_owned(),
                model: self.settings.model.clone(),
                request: key.clone(),
                prompt: request.version.to_owned(),
                ..Line::default()
            };
            let under_way = UnderWay::begin(self, most.unwrap_or(0.0), line);
            let result = api::post(&self.client, &self.server, &body).await;
            let mut line = under_way.end();
            match &result {
                Ok((message, _)) => {
                    let Usage { input, output, cache_read, cache_write, .. } = message.usage;
                    let cost_usd = prices::cost(&self.settings.model, &message.usage);
                    line = Line { input, output, cache_read, cache_write, cost_usd, status: 200, outcome: message.reason.clone(), ..line };
                }
                Err(Attempt::Fatal(failure) | Attempt::Again { error: failure, .. }) => {
                    line = Line { status: failure.status, outcome: failure.outcome.clone(), ..line };
                    if matches!(result, Err(Attempt::Again { .. })) {
                        notes.push(format!("a request failed: {}", failure.error));
                    }
                }
            }
            usage.add(&line.usage());
            self.learned.borrow_mut().spent += line.cost_usd.unwrap_or(0.0);
            // The answer is paid for: a ledger that cannot be written must not lose it.
            if let Err(e) = ledger::append(&self.ledger, &line) {
                notes.push(format!("this call is missing in the ledger: {e}"));
            }
            let (message, raw) = result?;
            if let Some(dir) = &self.record
                && let Err(e) = replay::save(dir, request, &raw)
            {
                notes.push(format!("the answer was not recorded: {e}"));
            }
            Ok(Reply { text: message.text, stop: message.stop, usage: Usage::default(), model: message.model, notes: vec![] })
        })
        .await
    }

    /// Takes out of later requests what this failure says is not accepted. `false` if it says nothing of the kind.
    fn learn(&self, failure: &Failure, shape: Shape) -> bool {
        let words = failure.detail.to_lowercase();
        let says = |names: &[&str]| names.iter().any(|n| words.contains(n));
        let mut learned = self.learned.borrow_mut();
        if failure.status != 400 {
            return false;
        }
        if shape.temperature.is_some() && says(&["temperature"]) {
            learned.no_temperature = true;
        } else if shape.format && says(&["output_config", "json_schema", "output format", "schema is too complex"]) {
            learned.no_format = true;
        } else if shape.cache && says(&["cache_control"]) {
            learned.no_cache = true;
        } else {
            return false;
        }
        true
    }
}

/// A request under way. Dropped before its end (Ctrl-C) it is in the ledger all the same: it may be billed.
struct UnderWay<'c> {
    claude: &'c Claude<'c>,
    most: f64,
    line: Option<Line>,
}

impl<'c> UnderWay<'c> {
    fn begin(claude: &'c Claude<'c>, most: f64, line: Line) -> Self {
        claude.learned.borrow_mut().under_way += most;
        Self { claude, most, line: Some(line) }
    }

    /// Its ledger line, now to be completed.
    fn end(mut self) -> Line {
        self.line.take().unwrap_or_default()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.claude.learned.borrow_mut().under_way -= self.most;
        if let Some(line) = self.line.take() {
            // Nobody is left who could be told of a failure.
            let _ = ledger::append(&self.claude.ledger, &Line { outcome: "interrupted".into(), ..line });
        }
    }
}

/// The most a request can cost, in dollars: the estimate with a margin for newer tokenizers, and the whole output limit.
pub(super) fn most(settings: &ClaudeSettings, request: &Request) -> Option<f64> {
    let usage = Usage { input: request.tokens() * 13 / 10, output: settings.max_output_tokens.into(), ..Usage::default() };
    prices::cost(&settings.model, &usage)
}

/// A cap is no failure of a request: it goes to the user as it is, and not into the ledger.
fn capped(error: Error) -> Attempt<Box<Failure>> {
    Attempt::Fatal(Box::new(Failure { status: 0, outcome: "cap".into(), detail: String::new(), error }))
}

fn too_long(failure: &Failure) -> bool {
    let words = failure.detail.to_lowercase();
    failure.status == 400 && ["prompt is too long", "context size", "context length", "context window"].iter().any(|n| words.contains(n))
}

impl Wire for Claude<'_> {
    fn ask<'a>(&'a self, about: About<'a>, request: &'a Request) -> Asked<'a> {
        Box::pin(async move {
            let (mut usage, mut repeats) = (Usage::default(), Vec::new());
            loop {
                let (shape, mut notes) = self.shape();
                let result = self.send(about, request, shape, &mut usage, &mut repeats).await;
                notes.append(&mut repeats);
                return match result {
                    Ok(reply) => Ok(Some(Reply { usage, notes, ..reply })),
                    Err(failure) if self.learn(&failure, shape) => continue,
                    Err(failure) if too_long(&failure) => {
                        Ok(Some(Reply { text: String::new(), stop: Stop::TooLong, usage, model: None, notes }))
                    }
                    Err(failure) => Err(failure.error),
                };
            }
        })
    }
}

impl Extractor for Claude<'_> {
    fn name(&self) -> &'static str {
        "claude"
    }

    /// Dropping the future (Ctrl-C) ends the request; nothing is stored and the cursor has not moved.
    fn extract<'a>(&'a self, job: &'a Job) -> Pending<'a> {
        Box::pin(ladder::run(self, job, self.settings.max_input_tokens))
    }
}
