//! The reader in the background: one at a time, with a deadline and a cap, over the queue and then gone.
//!
//! It runs only where the owner opted in (`hooks.auto_ingest`), and is started by an event of a session, never by itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::queue::{self, Item};
use super::trouble::{self, Trouble};
use super::{INTERNAL, is_ignored};
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::store::disk;

/// The hidden command that works off the queue.
pub const COMMAND: &str = "hook-worker";

/// How long a second reader waits for the first one to end before it leaves the queue to it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Starts the reader.
///
/// # Errors
/// If it cannot be started.
pub fn start(env: &Env, home: &Path) -> Result<()> {
    detach(env, home, &[COMMAND])
}

/// Starts a command of ours as a process of its own that outlives this one and holds nothing of it.
///
/// # Errors
/// If it cannot be started.
pub fn detach(env: &Env, home: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(env.program()?);
    command.arg("--home").arg(home).args(arguments).env(INTERNAL, "1").current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // DETACHED_PROCESS and CREATE_NO_WINDOW (Windows, process creation flags): no console flashes up.
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, 0x0000_0008 | 0x0800_0000);
    command.spawn().map(drop).map_err(|e| Error::failure(format!("`{}` cannot be started in the background: {e}", arguments.join(" "))))
}

/// What bounds a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// No conversation is begun after this.
    pub time: Duration,
    /// Requests a day, all runs together; 0 is no limit.
    pub daily_calls: u64,
}

/// What the reader needs of its surroundings.
pub struct Reader<'a> {
    /// Clock.
    pub env: &'a Env,
    /// Memory folder.
    pub home: &'a Path,
    /// Bounds.
    pub limits: Limits,
    /// Requests sent today so far.
    pub calls_today: &'a dyn Fn() -> Result<u64>,
    /// Reads one conversation and stores what it holds.
    pub read: &'a dyn Fn(&Item) -> Result<()>,
}

impl Reader<'_> {
    /// Works the queue off. Gives the number of conversations that were read.
    ///
    /// # Errors
    /// If the queue cannot be read or written. What goes wrong with one conversation is written down instead.
    pub fn run(&self) -> Result<usize> {
        let begun = Instant::now();
        disk::create_dir(&queue::folder(self.home))?;
        let lock = disk::open_lock(&queue::folder(self.home).join("lock"))?;
        while lock.try_lock().is_err() {
            if begun.elapsed() > PATIENCE {
                // The other one looks into the queue again before it ends.
                return Ok(0);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        queue::recover(self.home)?;
        let (mut read, mut tried) = (0, BTreeSet::new());
        while let Some(item) = queue::waiting(self.home).into_iter().find(|i| !tried.contains(&i.session)) {
            if begun.elapsed() >= self.limits.time {
                break;
            }
            if let Err(error) = self.within_cap() {
                self.note(&item, &error);
                break;
            }
            if !queue::claim(self.home, &item)? {
                continue;
            }
            match self.one(&item) {
                Ok(()) => {
                    queue::done(self.home, &item)?;
                    read += 1;
                }
                Err(error) => {
                    tried.insert(item.session.clone());
                    // What is not this conversation's fault is no try of it, and the next one would fail likewise.
                    let blameless = matches!(error.kind, Kind::Config | Kind::Busy | Kind::Interrupted);
                    let waits = queue::give_back(self.home, &item, &error, !blameless)?;
                    self.note(&item, &error);
                    if blameless || (waits && error.kind == Kind::Api) {
                        break;
                    }
                }
            }
        }
        Ok(read)
    }

    fn one(&self, item: &Item) -> Result<()> {
        if is_ignored(&item.cwd) {
            return Ok(());
        }
        if !item.transcript.is_file() {
            let gone = format!("{} is gone, so its conversation could not be read", item.transcript.display());
            self.note(item, &Error::failure(gone).hint("Claude Code deletes transcripts after cleanupPeriodDays (30)"));
            return Ok(());
        }
        (self.read)(item)
    }

    fn within_cap(&self) -> Result<()> {
        let (most, sent) = (self.limits.daily_calls, (self.calls_today)()?);
        if most == 0 || sent < most {
            return Ok(());
        }
        Err(Error::new(Kind::Api, format!("{sent} requests were sent today, and hooks.daily_calls is {most}"))
            .hint("the conversations wait until tomorrow; raise it in config.toml to go on now"))
    }

    fn note(&self, item: &Item, error: &Error) {
        // If this cannot be written, the item itself, which stays in the queue with its error, is what is left.
        drop(trouble::note(self.home, &Trouble::new(self.env.now(), "worker", &item.session, error)));
    }
}
