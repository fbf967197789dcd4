//! The backend `claude-code`: asks through the user's own `claude -p`, so that their subscription pays and no key is needed.
//!
//! The client is started bare: no hooks, no MCP, no tools, no memory, no transcript (facts of its command line: 2.1.197 and
//! later). It gets no API key of ours, so it cannot bill one behind the user's back; if nobody is logged in it says so.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ladder::{self, About, Asked, Reply, Stop, Wire};
use super::ledger::{self, Line};
use super::prompt::Request;
use super::{Extractor, Job, Pending, Usage};
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::store::disk;

/// Set for the client, so that a hook of ours in it does nothing.
const INTERNAL: &str = "CLAUDE_MEM_INTERNAL";

/// Variables that would make the client bill an API key instead of the subscription.
const KEYS: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];

/// Bytes of an answer that are read; the largest real ones are some 100 KB.
const MOST: u64 = 32 << 20;

/// How long an ended client's pipes are listened to.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How often the client is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Everything config decides about this backend.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client's program.
    pub command: String,
    /// Model, by the client's own name.
    pub model: String,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// Estimated input tokens of one request.
    pub max_input_tokens: u64,
    /// US dollars for one calendar day by the client's own reckoning.
    pub daily_cap: Option<f64>,
}

/// The backend.
pub struct ClaudeCode<'a> {
    settings: Settings,
    env: &'a Env,
    ledger: PathBuf,
}

/// What the client left when it ended.
struct Ended {
    status: ExitStatus,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl<'a> ClaudeCode<'a> {
    /// A backend that keeps its ledger, and its working folder, beside each other.
    pub fn new(settings: Settings, env: &'a Env, ledger: PathBuf) -> Self {
        Self { settings, env, ledger }
    }

    /// Stops before a request once the day's cap is reached; what the next one costs is not known before.
    fn check_cap(&self) -> Result<()> {
        let Some(cap) = self.settings.daily_cap else { return Ok(()) };
        let spent = ledger::spent_on(&ledger::read(&self.ledger)?.0, &self.env.today());
        if spent < cap {
            return Ok(());
        }
        Err(Error::new(Kind::Api, format!("${spent:.4} of the daily cap ${cap:.2} are used up (list price; the subscription pays)"))
            .hint("raise claude.daily_cap_usd in config.toml, or run again tomorrow"))
    }

    fn command(&self, request: &Request) -> Result<Command> {
        let folder = self.ledger.parent().map(PathBuf::from).unwrap_or_default();
        disk::create_dir(&folder)?;
        let mut command = Command::new(&self.settings.command);
        command.args(["-p", "--safe-mode", "--tools", "", "--no-session-persistence", "--output-format", "json"]);
        command.args(["--json-schema", request.schema, "--system-prompt", &request.system.concat(), "--model", &self.settings.model]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A folder of our own: nothing of a project is read, not even its settings. A permanent error is not tried for minutes.
        command.current_dir(folder).env(INTERNAL, "1").env("CLAUDE_CODE_MAX_RETRIES", "1");
        for key in KEYS {
            command.env_remove(key);
        }
        // CREATE_NO_WINDOW (Windows, process creation flags).
        #[cfg(windows)]
        std::os::windows::process::CommandExt::creation_flags(&mut command, 0x0800_0000);
        Ok(command)
    }

    async fn send(&self, about: About<'_>, request: &Request) -> Result<Reply> {
        self.check_cap()?;
        let (command, text, timeout) = (self.command(request)?, words(request), self.settings.timeout);
        let program = self.settings.command.clone();
        let ended = tokio::task::spawn_blocking(move || run(command, &text, timeout, &program)).await;
        let result = ended.map_err(|e| Error::failure(format!("claude -p could not be waited for: {e}"))).and_then(|e| e);
        let (reply, outcome) = match result.and_then(|ended| read(&ended)) {
            Ok((reply, outcome)) => (Ok(reply), outcome),
            Err(error) => (Err(error), "error".to_owned()),
        };
        let usage = reply.as_ref().map(|r| r.usage).unwrap_or_default();
        let line = Line {
            at: self.env.now(),
            project: about.project.to_owned(),
            session: about.session.to_owned(),
            model: format!("claude-code:{}", self.settings.model),
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost_usd: usage.cost_usd,
            status: if reply.is_ok() { 200 } else { 0 },
            outcome,
            request: request.key(),
            prompt: request.version.to_owned(),
        };
        let kept = ledger::append(&self.ledger, &line);
        let mut reply = reply?;
        reply.notes.push("asked through claude -p: the subscription pays; the price shown is the list price".to_owned());
        if let Err(e) = kept {
            reply.notes.push(format!("this call is missing in the ledger: {e}"));
        }
        Ok(reply)
    }
}

/// The conversation as one text, since the client takes one prompt.
fn words(request: &Request) -> String {
    let parts = request.messages.iter().map(|(role, text)| match *role {
        "assistant" => format!("Your answer was:\n{text}\n"),
        _ => text.clone(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Runs the client to its end or to the timeout. Its streams are served by threads, so that no full pipe stops it; a process
/// that it left behind may hold them open, so what they say is not waited for longer than [`LAST_WORDS`].
fn run(mut command: Command, text: &str, timeout: Duration, program: &str) -> Result<Ended> {
    let missing = |e: std::io::Error| {
        Error::new(Kind::Config, format!("{program} cannot be started: {}", e.kind()))
            .hint("install Claude Code, or set claude_code.command to its path")
    };
    let mut child = command.spawn().map_err(missing)?;
    let (input, out, err) = (child.stdin.take(), listen(child.stdout.take()), listen(child.stderr.take()));
    let text = text.to_owned();
    std::thread::spawn(move || {
        // A client that ends early closes its stdin; how it ended says why.
        input.map(|mut pipe| pipe.write_all(text.as_bytes()))
    });
    let status = wait(&mut child, timeout)?;
    Ok(Ended { status, out: all(&out), err: all(&err) })
}

/// What comes out of a pipe, piece by piece.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, pieces) = channel();
    std::thread::spawn(move || {
        let Some(pipe) = pipe else { return };
        let (mut pipe, mut piece) = (pipe.take(MOST), vec![0; 1 << 16]);
        // What came before a broken pipe is what there is.
        while let Ok(n @ 1..) = pipe.read(&mut piece) {
            if send.send(piece[..n].to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}

fn all(pieces: &Receiver<Vec<u8>>) -> Vec<u8> {
    std::iter::from_fn(|| pieces.recv_timeout(LAST_WORDS).ok()).flatten().collect()
}

fn wait(child: &mut Child, timeout: Duration) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begun.elapsed() < timeout => std::thread::sleep(LOOK),
            other => {
                drop(child.kill());
                drop(child.wait());
                let why = other
                    .err()
                    .map_or_else(|| format!("did not answer within {} seconds", timeout.as_secs()), |e| format!("was lost: {e}"));
                return Err(Error::new(Kind::Api, format!("claude -p {why}"))
                    .hint("run the same command again, or raise claude_code.timeout_seconds"));
            }
        }
    }
}

/// Makes a reply of what the client left. All three are looked at: exit code, `is_error`, and whether there is an answer in
/// the wanted form; `subtype` says "success" even where it was none.
fn read(ended: &Ended) -> Result<(Reply, String)> {
    let said = String::from_utf8_lossy(&ended.err);
    let said = said.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().trim();
    let Ok(result) = serde_json::from_slice::<Value>(&ended.out) else {
        let hint = if said.contains("unknown option") {
            "update Claude Code: 2.1.197 is the first version with all of the options"
        } else {
            "run `claude -p hello` to see what it says"
        };
        return Err(Error::new(
            Kind::Api,
            format!("claude -p gave no JSON ({}){}", ended.status, if said.is_empty() { String::new() } else { format!(": {said}") }),
        )
        .hint(hint));
    };
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let outcome = [text("terminal_reason"), text("subtype")].into_iter().find(|t| !t.is_empty()).unwrap_or("unknown").to_owned();
    let reply = |text: String, stop| Reply { text, stop, usage: usage(&result), model: model(&result), notes: Vec::new() };
    let words = text("result").to_lowercase();
    match text("stop_reason") {
        "refusal" => return Ok((reply(String::new(), Stop::Refusal("claude-code".to_owned())), outcome)),
        "max_tokens" => return Ok((reply(String::new(), Stop::MaxTokens), outcome)),
        _ => {}
    }
    if words.contains("prompt is too long") {
        return Ok((reply(String::new(), Stop::TooLong), outcome));
    }
    let form = result.get("structured_output").filter(|v| v.is_object());
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or(true);
    match form {
        Some(form) if ended.status.success() && !is_error => Ok((reply(form.to_string(), Stop::End), outcome)),
        // The model never found the form. Its words may hold the answer all the same; if not, the ladder asks once for a repair.
        _ if outcome.contains("structured_output") || (ended.status.success() && !is_error) => {
            Ok((reply(text("result").to_owned(), Stop::End), outcome))
        }
        _ if words.contains("/login") || words.contains("not logged in") => Err(Error::new(Kind::Config, "Claude Code is not logged in")
            .hint("run `claude` and then /login; no API key is used, and hooks are handed no CLAUDE_CODE_OAUTH_TOKEN")),
        _ => {
            let status = result.get("api_error_status").and_then(Value::as_u64).map(|s| format!(" (status {s})")).unwrap_or_default();
            let words: String = text("result").chars().take(200).collect();
            Err(Error::new(Kind::Api, format!("claude -p failed{status}: {words}")).hint("run the same command again in a moment"))
        }
    }
}

fn usage(result: &Value) -> Usage {
    let count = |key: &str| result.pointer(&format!("/usage/{key}")).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        calls: 1,
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cost_usd: result.get("total_cost_usd").and_then(Value::as_f64),
    }
}

fn model(result: &Value) -> Option<String> {
    result.get("modelUsage").and_then(Value::as_object)?.keys().next().cloned()
}

impl Wire for ClaudeCode<'_> {
    fn ask<'a>(&'a self, about: About<'a>, request: &'a Request) -> Asked<'a> {
        Box::pin(async move { self.send(about, request).await.map(Some) })
    }
}

impl Extractor for ClaudeCode<'_> {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn extract<'a>(&'a self, job: &'a Job) -> Pending<'a> {
        Box::pin(ladder::run(self, job, self.settings.max_input_tokens))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn ended(code: i32, out: &str) -> Ended {
        Ended { status: ExitStatus::from_raw(code << 8), out: out.into(), err: b"\nerror: unknown option '--safe-mode'\n".to_vec() }
    }

    /// A wrapper that is killed leaves its child with the pipes: neither is waited for.
    #[test]
    fn a_client_that_hangs_is_ended() {
        let shell = |script: &str, limit| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let begun = Instant::now();
            let ended = run(command, &"long ".repeat(100_000), Duration::from_millis(limit), "claude");
            assert!(begun.elapsed() < Duration::from_secs(25), "{script}: {:?}", begun.elapsed());
            ended
        };
        let late = shell("sleep 30; true", 100).err().expect("it is late");
        assert!(late.kind == Kind::Api && late.message.contains("did not answer"), "{late:?}");
        assert_eq!(shell("sleep 30 & echo said", 20_000).expect("it ended").out, b"said\n");
    }

    /// The shapes are those of the real client 2.1.332, cut down to what is read.
    #[test]
    fn every_way_a_call_can_end() {
        let ok = r#"{"is_error":false,"subtype":"success","structured_output":{"memories":[]},"usage":{"input_tokens":7,"output_tokens":3},"total_cost_usd":0.5,"modelUsage":{"m":{}}}"#;
        let (reply, _) = read(&ended(0, ok)).unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.stop, reply.usage.input, reply.usage.cost_usd),
            (r#"{"memories":[]}"#, Stop::End, 7, Some(0.5))
        );
        assert_eq!(reply.model.as_deref(), Some("m"));
        assert!(read(&ended(1, ok)).is_err(), "an exit code that says no is a no");
        for (code, out, stop, text) in [
            (0, r#"{"is_error":false,"subtype":"success","result":"I found nothing"}"#, Stop::End, "I found nothing"),
            (
                1,
                r#"{"is_error":true,"subtype":"error_max_structured_output_retries","terminal_reason":"structured_output_retry_exhausted"}"#,
                Stop::End,
                "",
            ),
            (1, r#"{"is_error":true,"stop_reason":"refusal","result":"no"}"#, Stop::Refusal("claude-code".into()), ""),
            (0, r#"{"is_error":false,"stop_reason":"max_tokens"}"#, Stop::MaxTokens, ""),
            (1, r#"{"is_error":true,"result":"Prompt is too long"}"#, Stop::TooLong, ""),
        ] {
            let (reply, _) = read(&ended(code, out)).unwrap();
            assert_eq!((reply.stop, reply.text.as_str()), (stop, text), "{out}");
        }
        for (out, kind, says) in [
            (r#"{"is_error":true,"subtype":"success","result":"Not logged in · Please run /login"}"#, Kind::Config, "not logged in"),
            (r#"{"is_error":true,"subtype":"success","api_error_status":529,"result":"Overloaded"}"#, Kind::Api, "status 529"),
            ("", Kind::Api, "unknown option"),
            ("[1", Kind::Api, "no JSON"),
        ] {
            let error = read(&ended(1, out)).unwrap_err();
            assert!(error.kind == kind && error.message.contains(says) && error.hint.is_some(), "{out}: {error:?}");
        }
    }
}
