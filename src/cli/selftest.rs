//! `selftest`: an acceptance round of this very program on a scratch folder, step by step.

use std::io::Write;
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::ui::{paint, style};
use crate::error::{Error, Result};
use crate::store::disk;

/// Try the program out on a scratch folder: read, inject, undo, verify
///
/// Your memories are not touched, no model is asked, nothing goes over the network. Exit 1 if a step fails.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// The short round: a few seconds (there is no other yet)
    #[arg(long)]
    quick: bool,
}

/// One step: what it shows, the command line, what goes in, and what must be (or, with `!` in front, must not be) in what
/// comes out.
struct Step {
    shows: &'static str,
    args: &'static [&'static str],
    stdin: &'static str,
    out: &'static [&'static str],
}

const fn step(shows: &'static str, args: &'static [&'static str], stdin: &'static str, out: &'static [&'static str]) -> Step {
    Step { shows, args, stdin, out }
}

/// A conversation in both languages: a decision with a reason, a preference, small talk. The secret is put together at run time.
const SAMPLE: &str = r#"[{"session_id": "5e1f7e57-0001", "date": "2026-06-01"},
{"role": "user", "content": "Decision: we use SQLite for the task queue, because it needs no server. SECRET"},
{"role": "assistant", "content": "Good, SQLite it is."},
{"role": "user", "content": "以后接口文档都用中文写，不要用英文。"},
{"role": "assistant", "content": "好的。"},
{"role": "user", "content": "Thanks, have a nice day!"}]"#;

/// The round.
const STEPS: &[Step] = &[
    step("a project is made", &["project", "init", "selftest"], "", &[]),
    step("a conversation is read and stored", &["ingest", "-", "--extractor", "rules"], SAMPLE, &["SQLite", "接口文档"]),
    step("reading it again changes nothing", &["ingest", "-", "--extractor", "rules", "--json"], SAMPLE, &["\"memories\":[]"]),
    step("memories come back, without the secret", &["inject", "--print"], "", &["SQLite", "接口文档", "!sk-ant-"]),
    step("search finds one by its words", &["search", "task queue"], "", &["SQLite", "!接口文档"]),
    step(
        "a session starts with them",
        &["hook"],
        r#"{"hook_event_name": "SessionStart", "session_id": "5e1f7e57-0002"}"#,
        &["additionalContext", "SQLite"],
    ),
    step(
        "a prompt gets what it asks for",
        &["hook"],
        r#"{"hook_event_name": "UserPromptSubmit", "prompt": "Why do we use SQLite for the task queue?"}"#,
        &["additionalContext", "SQLite", "!接口文档"],
    ),
    step("an entry by hand is stored", &["remember", "The staging server is restarted every Monday at 06:00"], "", &[]),
    step("it is listed", &["list"], "", &["staging server"]),
    step("undo takes it back", &["undo"], "", &[]),
    step("it is gone", &["list"], "", &["SQLite", "!staging server"]),
    step("every file is whole", &["verify"], "", &[]),
];

impl SelftestArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        if !self.quick {
            app.ui.detail("there is one round so far, the quick one");
        }
        let scratch = tempfile::tempdir().map_err(|e| Error::failure(format!("there is no room for a scratch folder: {e}")))?;
        let program = app.env.program()?;
        let folder = scratch.path().join("work");
        // A repository, so that hooks find its project.
        disk::create_dir(&folder.join(".git"))?;
        disk::write(&folder.join(".git/HEAD"), b"ref: refs/heads/main\n")?;
        // Assembled, so that no file of ours holds what looks like a key.
        let secret = format!("The key is sk-{}-api03-{}.", "ant", "Qx7".repeat(30));
        let mut rows = Vec::new();
        let mut failed = None;
        for step in STEPS {
            let mut command = Command::new(&program);
            command.arg("--home").arg(scratch.path().join("memory")).args(["--project", "selftest"]).args(step.args);
            if step.args.first() == Some(&"project") {
                command = Command::new(&program);
                command.arg("--home").arg(scratch.path().join("memory")).args(step.args);
            }
            command.current_dir(&folder).env_clear().env("HOME", scratch.path());
            let wrong = play(command, &step.stdin.replace("SECRET", &secret), step.out);
            rows.push(json!({"step": step.shows, "ok": wrong.is_none(), "says": wrong}));
            if !app.ui.wishes.json {
                let (look, word) = if wrong.is_none() { (style::GOOD, "ok    ") } else { (style::BAD, "failed") };
                app.ui.line(&format!("{} {}", paint(look, word), step.shows));
            }
            if let Some(says) = wrong {
                failed.get_or_insert((step, says));
            }
        }
        if app.ui.wishes.json {
            app.ui.object("selftest", fields([("ok", failed.is_none().into()), ("steps", Value::from(rows))]));
        }
        match failed {
            None => Ok(()),
            Some((step, says)) => Err(Error::failure(format!("the step `{}` failed: {says}", step.shows))
                .hint("run `claude-mem doctor`; if that finds nothing, report this with what is said above")),
        }
    }
}

/// Runs one command; says what is wrong.
fn play(mut command: Command, stdin: &str, wanted: &[&str]) -> Option<String> {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) => return Some(format!("it cannot be started: {e}")),
    };
    if let Some(mut pipe) = child.stdin.take() {
        // A command that reads nothing may close its end first.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let output = match child.wait_with_output() {
        Ok(output) => output,
        Err(e) => return Some(format!("it cannot be waited for: {e}")),
    };
    if !output.status.success() {
        let says = String::from_utf8_lossy(&output.stderr);
        return Some(format!("{}: {}", output.status, says.lines().next().unwrap_or_default()));
    }
    let out = String::from_utf8_lossy(&output.stdout);
    wanted.iter().find_map(|word| match word.strip_prefix('!') {
        Some(unwanted) => out.contains(unwanted).then(|| format!("{unwanted:?} is in what it printed")),
        None => (!out.contains(word)).then(|| format!("{word:?} is not in what it printed")),
    })
}
