//! A line that says what is waited for, once the waiting gets long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

/// What is shorter needs no word.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks of the line.
const TICK: Duration = Duration::from_millis(120);

/// Shows its line until dropped.
#[derive(Debug)]
pub struct Waiting {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    pub(super) fn new(what: String) -> Self {
        let (done, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let line = ProgressBar::new_spinner();
            // A template that does not parse leaves the library's own line.
            if let Ok(template) = indicatif::ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                line.set_style(template);
            }
            line.set_message(what);
            line.enable_steady_tick(TICK);
            // It ends when the other side goes.
            let _ended = ended.recv();
            line.finish_and_clear();
        });
        Self { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.done.take());
        // A line that cannot be taken away keeps nobody from going on.
        let _joined = self.thread.take().map(JoinHandle::join);
    }
}
