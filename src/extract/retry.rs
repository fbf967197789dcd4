//! Repeating a request that failed for a passing reason. The only file that names the crate `backoff`.
//!
//! What is a passing reason is decided in `api`; here is only when to try again, and when to stop.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff;

/// How patiently to repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Repeats after the first try.
    pub retries: u32,
    /// First wait; doubled each time, with half of it up or down as jitter.
    pub first: Duration,
    /// Longest wait of our own choice.
    pub longest: Duration,
    /// No new try begins after this much time; a longer `retry-after` ends the repeating at once.
    pub elapsed: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { retries: 4, first: Duration::from_millis(500), longest: Duration::from_secs(30), elapsed: Duration::from_secs(180) }
    }
}

/// How one try failed.
#[derive(Debug)]
pub enum Attempt<E> {
    /// Repeating cannot help.
    Fatal(E),
    /// May pass.
    Again {
        /// What went wrong this time.
        error: E,
        /// What the server asked to wait (`retry-after`).
        after: Option<Duration>,
    },
}

/// Runs `op` until it succeeds, fails for good, or the policy is used up; then the last error is returned.
///
/// Dropping the future (Ctrl-C) ends the wait or the request at once.
pub async fn retry<T, E>(policy: Policy, mut op: impl AsyncFnMut() -> Result<T, Attempt<E>>) -> Result<T, E> {
    let mut waits = ExponentialBackoffBuilder::new()
        .with_initial_interval(policy.first)
        .with_max_interval(policy.longest)
        .with_multiplier(2.0)
        .with_randomization_factor(0.5)
        .with_max_elapsed_time(Some(policy.elapsed))
        .build();
    let mut left = policy.retries;
    loop {
        let (error, after) = match op().await {
            Ok(value) => return Ok(value),
            Err(Attempt::Fatal(error)) => return Err(error),
            Err(Attempt::Again { error, after }) => (error, after),
        };
        let spent = waits.get_elapsed_time();
        let wait = match after {
            // A little more than asked: servers count whole seconds.
            Some(asked) => Some(asked.saturating_add(policy.first / 10)).filter(|w| spent.saturating_add(*w) <= policy.elapsed),
            None => waits.next_backoff(),
        };
        match wait {
            Some(wait) if left > 0 => tokio::time::sleep(wait).await,
            _ => return Err(error),
        }
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(retries: u32) -> Policy {
        Policy { retries, first: Duration::from_millis(1), longest: Duration::from_millis(2), elapsed: Duration::from_secs(20) }
    }

    /// Runs `op` with the failures given; returns the result and the number of tries.
    fn run(policy: Policy, mut failures: Vec<Attempt<&'static str>>) -> (Result<(), &'static str>, u32) {
        let mut tries = 0;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let result = runtime.block_on(retry(policy, async || {
            tries += 1;
            if failures.is_empty() { Ok(()) } else { Err(failures.remove(0)) }
        }));
        (result, tries)
    }

    fn again(error: &'static str) -> Attempt<&'static str> {
        Attempt::Again { error, after: None }
    }

    #[test]
    fn repeats_only_what_may_pass() {
        assert_eq!(run(quick(4), vec![again("a"), again("b")]), (Ok(()), 3));
        assert_eq!(run(quick(4), vec![again("a"), Attempt::Fatal("no")]), (Err("no"), 2));
        assert_eq!(run(quick(2), vec![again("a"), again("b"), again("c"), again("d")]), (Err("c"), 3));
        assert_eq!(run(quick(0), vec![again("a")]), (Err("a"), 1));
    }

    #[test]
    fn a_wait_longer_than_the_bound_ends_at_once() {
        let long = Attempt::Again { error: "hour", after: Some(Duration::from_secs(3600)) };
        assert_eq!(run(quick(4), vec![long]), (Err("hour"), 1));
    }
}
