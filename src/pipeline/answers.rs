//! Asking several conversations at once, and noticing Ctrl-C between and during the calls.

use std::future::Future;
use std::pin::Pin;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Runtime;

use crate::error::{Error, Kind, Result};
use crate::extract::{Extraction, Extractor, Job};

/// One answer for each job; `None` where there was no job, or an interruption came first.
pub type Answers = Vec<Option<Result<Extraction>>>;

/// Backends that answer at once and need no runtime: Ctrl-C then ends the process as it always does, which a commit
/// survives.
const OFFLINE: &[&str] = &["rules", "replay"];

/// The calls of one run. The runtime and the watch for Ctrl-C begin with the first call over a network.
#[derive(Default)]
pub struct Calls {
    network: Option<Network>,
    interrupted: bool,
}

struct Network {
    runtime: Runtime,
    /// Registered once and kept, so that no signal falls between two batches.
    interrupt: Pin<Box<dyn Future<Output = std::io::Result<()>>>>,
}

impl Calls {
    /// Runs all jobs at once on a current-thread runtime; Ctrl-C ends the waiting and keeps what has come.
    ///
    /// # Errors
    /// When no runtime can be made. Errors of the calls are among the answers.
    pub fn answer(&mut self, extractor: &dyn Extractor, jobs: &[Option<&Job>]) -> Result<Answers> {
        let ready = |job: &&Job| {
            let answer = extractor.extract(job).now_or_never();
            answer.unwrap_or_else(|| Err(Error::failure(format!("the extractor {} did not answer at once", extractor.name()))))
        };
        if OFFLINE.contains(&extractor.name()) || jobs.iter().all(Option::is_none) {
            return Ok(jobs.iter().map(|job| job.as_ref().map(ready)).collect());
        }
        let mut answers: Answers = jobs.iter().map(|_| None).collect();
        let network = match &mut self.network {
            Some(network) => network,
            none => none.insert(Network::start()?),
        };
        let Network { runtime, interrupt } = network;
        self.interrupted |= runtime.block_on(async {
            let asked = jobs.iter().copied().enumerate().filter_map(|(i, job)| Some((i, job?)));
            let mut pending: FuturesUnordered<_> = asked.map(|(i, job)| extractor.extract(job).map(move |answer| (i, answer))).collect();
            loop {
                tokio::select! {
                    biased;
                    next = pending.next() => match next {
                        Some((i, answer)) => if let Some(slot) = answers.get_mut(i) { *slot = Some(answer) },
                        None => return false,
                    },
                    _ = interrupt.as_mut() => return true,
                }
            }
        });
        Ok(answers)
    }

    /// Fails if Ctrl-C was pressed since the calls began.
    ///
    /// # Errors
    /// [`Kind::Interrupted`].
    pub fn check(&mut self) -> Result<()> {
        if let (false, Some(network)) = (self.interrupted, &mut self.network) {
            let Network { runtime, interrupt } = network;
            self.interrupted = runtime.block_on(async {
                // Lets the runtime see what has arrived, then looks once.
                tokio::task::yield_now().await;
                interrupt.as_mut().now_or_never().is_some()
            });
        }
        if self.interrupted {
            return Err(Error::new(Kind::Interrupted, "interrupted; what was answered is stored")
                .hint("the same command goes on where this one stopped"));
        }
        Ok(())
    }
}

impl Network {
    fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::failure(format!("the runtime for network calls cannot start: {e}")))?;
        let mut interrupt: Pin<Box<dyn Future<Output = std::io::Result<()>>>> = Box::pin(tokio::signal::ctrl_c());
        // The first look registers the signal.
        let inside = runtime.enter();
        let _ = interrupt.as_mut().now_or_never();
        drop(inside);
        Ok(Self { runtime, interrupt })
    }
}
