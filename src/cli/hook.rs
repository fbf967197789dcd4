//! `hook` and `hook-worker`: called by Claude Code and by ourselves. Whatever happens, the exit code is 0.
//!
//! A thread watches the time: what is not done by then is left, the process ends, and says so at the next start. The work itself is
//! done where the process began, since memory is cheaper there than in a thread.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::{Args, Parser};

use super::app::App;
use super::belongs::Belongs;
use super::ui::{Ui, Wishes};
use super::{Cli, Command};
use crate::claude_code;
use crate::claude_code::hooks::{self, Event, Hook, Input};
use crate::claude_code::queue::Item;
use crate::claude_code::told;
use crate::claude_code::trouble::{self, Trouble};
use crate::claude_code::worker::{self, Limits, Reader};
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::extract::backend::{self, Wanted};
use crate::extract::ledger;
use crate::model::Conversation;
use crate::pipeline::ingest::{Run, ingest};
use crate::pipeline::sources::Sources;

/// What a hook has, the start of the process included; the client's patience is longer.
const DEADLINE: Duration = Duration::from_millis(900);

/// The most that is read of a hook's input; prompts are far shorter.
const INPUT: u64 = 16 << 20;

/// Answer a hook of Claude Code
///
/// Called by Claude Code with a JSON object on stdin; `claude-mem install` sets it up. SessionStart gives the memories of
/// the project, UserPromptSubmit those that touch the prompt, PreCompact and SessionEnd queue the conversation. Switch it off
/// with CLAUDE_MEM_OFF=1, a file .claude-memignore in a folder, or hooks.off_projects.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// SessionStart, UserPromptSubmit, PreCompact or SessionEnd [default: as stdin says]
    event: Option<String>,
}

impl HookArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let input = stdin();
        app.ui.line(&answer(app.env, Ok(app), self.event.as_deref(), &input));
        Ok(())
    }
}

/// Read the queued conversations, as far as hooks.auto_ingest allows
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Read nothing; make ready what the next session in this folder is told
    #[arg(long, value_name = "FOLDER")]
    prepare: Option<PathBuf>,
}

impl WorkerArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        match &self.prepare {
            Some(folder) => told::prepare(Hook { env: app.env, config: &app.config, home: &app.home }, folder),
            None => work(app).map(drop),
        }
    }
}

/// Whether a command line is one of these two; decided before it is parsed, for it must not fail.
pub(super) fn is_ours(args: &[OsString]) -> bool {
    let mut args = args.iter().skip(1).map(|a| a.to_string_lossy());
    while let Some(arg) = args.next() {
        match arg.as_ref() {
            "--home" | "--project" | "-p" | "--color" => drop(args.next()),
            flag if flag.starts_with('-') => {}
            command => return command == "hook" || command == worker::COMMAND,
        }
    }
    false
}

/// Runs such a command line.
pub(super) fn main(args: Vec<OsString>) -> ExitCode {
    // Without surroundings (a working folder that is gone, say) there is nothing to find memories by.
    if let Ok(env) = Env::system()
        && (!hooks::is_off(&env) || args.iter().any(|a| a == worker::COMMAND))
    {
        crate::store::disk::crash_at(env.var("CLAUDE_MEM_CRASH_AT"));
        parsed(args, env);
    }
    ExitCode::SUCCESS
}

/// What this hook has: `CLAUDE_MEM_HOOK_MS` gives it more or less, so that a test on a busy machine is about its words alone.
fn deadline(env: &Env, home: Option<PathBuf>) -> Duration {
    let Some(text) = env.var("CLAUDE_MEM_HOOK_MS") else { return DEADLINE };
    text.parse().map(Duration::from_millis).unwrap_or_else(|_| {
        let wrong = Error::failure(format!("CLAUDE_MEM_HOOK_MS has the value {text:?}, which is no number of milliseconds"));
        note_soon(home_of(env, home), Trouble::new(env.now(), "hook", "", &wrong.hint("unset CLAUDE_MEM_HOOK_MS")));
        DEADLINE
    })
}

fn parsed(args: Vec<OsString>, env: Env) {
    let ui = Ui::new(Wishes::default());
    match Cli::try_parse_from(args) {
        Ok(Cli { global, command: Command::Hook(hook) }) => {
            let limit = deadline(&env, global.home.clone());
            let late = Error::failure(format!("it took longer than {} ms and was left", limit.as_millis()));
            let late = Trouble::new(env.now(), "hook", "", &late);
            let watch = Watch::begin(limit, home_of(&env, global.home.clone()), late);
            let input = stdin();
            let app = App::new(&env, Ui::new(Wishes::default()), global.home, global.project);
            let said = answer(&env, app.as_ref().map_err(Clone::clone), hook.event.as_deref(), &input);
            watch.end();
            if !said.is_empty() {
                ui.line(&said);
            }
        }
        Ok(Cli { global, command: Command::HookWorker(worker) }) => {
            let (home, now) = (home_of(&env, global.home.clone()), env.now());
            let minutes =
                App::new(&env, Ui::new(Wishes::default()), global.home.clone(), None).map(|app| app.config.number("hooks.worker_minutes"));
            // One conversation may be under way when the time is over; after twice the time not even that counts.
            let hard = Duration::from_secs(minutes.unwrap_or(10).clamp(1, 24 * 60) * 120);
            let late = Error::failure("the reader in the background took too long and was ended");
            let watch = Watch::begin(hard, home.clone(), Trouble::new(now.clone(), "worker", "", &late));
            let outcome = App::new(&env, Ui::new(Wishes::default()), global.home, None).and_then(|app| worker.run(&app));
            watch.end();
            if let Err(error) = outcome {
                note_soon(home, Trouble::new(now, "worker", "", &error));
            }
        }
        Ok(_) => {}
        // Help was asked for; anything else is a wrong call, and only worth a note.
        Err(error) if error.exit_code() == 0 => drop(error.print()),
        Err(error) => {
            let message = error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let wrong = Error::failure(message).hint("`claude-mem install` sets the hooks up");
            note_soon(home_of(&env, None), Trouble::new(env.now(), "hook", "", &wrong));
        }
    }
}

/// Whoever is first says how it went: the work, or the end of its time.
struct Watch(Arc<AtomicBool>);

impl Watch {
    /// From now on. When the time is over before [`Watch::end`], `late` is written down and the process ends.
    fn begin(limit: Duration, home: Option<PathBuf>, late: Trouble) -> Self {
        let said = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&said);
        // Where no thread can be made, the client's own patience ends the hook.
        drop(std::thread::Builder::new().spawn(move || {
            std::thread::sleep(limit);
            if !over.swap(true, Ordering::SeqCst) {
                note_soon(home, late);
                leave();
            }
        }));
        Self(said)
    }

    /// Comes back if the work is done in time, and it is not cut off any more; if not, the process is about to end.
    fn end(self) {
        while self.0.swap(true, Ordering::SeqCst) {
            std::thread::park();
        }
    }
}

/// Ends the process while its work goes on: every change is safe against that.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "what takes too long may never come back")]
fn leave() -> ! {
    std::process::exit(0)
}

/// Writes a failure down, unless the disk hangs: then the thread that tries ends with the process.
fn note_soon(home: Option<PathBuf>, trouble: Trouble) {
    let Some(home) = home else { return };
    let (done, wait) = mpsc::sync_channel(1);
    let begun = std::thread::Builder::new().spawn(move || {
        drop(trouble::note(&home, &trouble));
        // Nobody is there to hear it when it comes too late.
        let _ = done.send(());
    });
    if begun.is_ok() {
        let _ = wait.recv_timeout(Duration::from_millis(50));
    }
}

fn home_of(env: &Env, home: Option<PathBuf>) -> Option<PathBuf> {
    let home = home.or_else(|| env.var("CLAUDE_MEM_HOME").map(PathBuf::from)).map(|h| env.absolute(&h));
    home.or_else(|| env.user_home().ok().map(|h| h.join(".claude-mem")))
}

/// What the client sent. A person at a terminal sends nothing, and what cannot be read is nothing.
fn stdin() -> Vec<u8> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        drop(stdin.lock().take(INPUT).read_to_end(&mut bytes));
    }
    bytes
}

/// The line to print; empty for none.
fn answer(env: &Env, app: Result<&App<'_>, Error>, event: Option<&str>, stdin: &[u8]) -> String {
    let input = Input::parse(stdin);
    // The client's own word counts: context under another event's name is thrown away.
    let named = input.as_ref().ok().map(|i| i.event.as_str()).filter(|e| !e.is_empty()).or(event);
    let event = named.and_then(Event::parse);
    let json = match (app, input, event) {
        (Ok(app), Ok(input), Some(event)) => hooks::answer(Hook { env, config: &app.config, home: &app.home }, event, &input),
        // Broken settings, no HOME: said at once where somebody sees it.
        (Err(error), _, Some(Event::SessionStart)) => {
            hooks::output(Event::SessionStart, "", trouble::line(&[Trouble::new(env.now(), "SessionStart", "", &error)]))
        }
        (Ok(app), Err(error), event) => {
            let name = event.map_or("hook", Event::name);
            drop(trouble::note(&app.home, &Trouble::new(env.now(), name, "", &error)));
            None
        }
        _ => None,
    };
    json.map(|j| j.to_string()).unwrap_or_default()
}

/// Works the queue off with the backend that the owner chose.
fn work(app: &App) -> Result<usize> {
    let name = app.config.text("hooks.auto_ingest");
    if name == "off" {
        return Err(Error::new(Kind::Config, "no one was chosen to read conversations by themselves")
            .hint("claude-mem config set hooks.auto_ingest rules"));
    }
    let store = app.store()?;
    let chosen = backend::choose(&Wanted { extractor: Some(name), ..Wanted::default() }, &app.config, app.env, &app.home)?;
    let off = app.config.list("hooks.off_projects");
    let belongs = Belongs::new(app, &store, true, true)?;
    let project_of = |conversation: &Conversation| belongs.project_of(conversation);
    let run = Run::new(app.env, &store, &app.config, chosen.extractor.as_ref(), &project_of);
    let run = Run { is_ignored: &claude_code::is_ignored, ..run };
    let read = |item: &Item| {
        if !off.is_empty() && store.project_of(&item.cwd)?.is_some_and(|name| off.contains(&name)) {
            return Ok(());
        }
        let outcome = ingest(&run, &Sources { files: vec![item.transcript.clone()], problems: Vec::new() });
        let stopped = outcome.failure.or_else(|| outcome.sessions.into_iter().find_map(|s| s.failure));
        match stopped.or_else(|| outcome.unreadable.into_iter().next().map(|(_, error)| error)) {
            Some(error) => Err(error),
            None => told::prepare(Hook { env: app.env, config: &app.config, home: &app.home }, &item.cwd),
        }
    };
    let path = backend::ledger_of(&app.home);
    let calls_today = || {
        let today = app.env.today();
        Ok(ledger::read(&path)?.0.iter().filter(|l| l.at.starts_with(&today)).count() as u64)
    };
    let limits = Limits {
        time: Duration::from_secs(app.config.number("hooks.worker_minutes").max(1) * 60),
        daily_calls: app.config.number("hooks.daily_calls"),
    };
    Reader { env: app.env, home: &app.home, limits, calls_today: &calls_today, read: &read }.run()
}
