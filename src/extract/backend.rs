//! Which backend reads a conversation: the table of backends, and what flags, configuration and key make of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::claude_code;
use super::ladder::Wire;
use super::rules::Rules;
use super::{Claude, ClaudeCode, ClaudeSettings, Extractor, Key, Policy, Replay, Timeouts};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};

/// What the command line asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// `--extractor NAME`.
    pub extractor: Option<&'a str>,
    /// `--max-cost USD`.
    pub max_cost: Option<f64>,
    /// `--record DIR`.
    pub record: Option<&'a Path>,
    /// `--replay DIR`.
    pub replay: Option<&'a Path>,
    /// `--dump-requests DIR`.
    pub dump: Option<&'a Path>,
}

/// End of [`Chosen::why`] where the local rules read for want of a key.
pub const NO_KEY: &str = ", as there is no API key";

/// A backend that is ready, and why it is this one.
pub struct Chosen<'a> {
    /// The backend.
    pub extractor: Box<dyn Extractor + 'a>,
    /// For the run's first and last line.
    pub why: String,
}

/// What a backend is made of.
struct Parts<'a> {
    config: &'a Config,
    env: &'a Env,
    ledger: PathBuf,
    wanted: Wanted<'a>,
}

/// A backend by its name.
pub struct Backend {
    /// Name in flags, config and receipts.
    pub name: &'static str,
    /// One line for help and `doctor`.
    pub about: &'static str,
    open: for<'a> fn(&Parts<'a>) -> Result<Box<dyn Extractor + 'a>>,
}

/// Every backend. A new one is a file and a row here.
pub const BACKENDS: &[Backend] = &[
    Backend {
        name: "claude",
        about: "the Messages API, or any server that speaks it (claude.base_url)",
        open: |p| Ok(Box::new(claude(p)?)),
    },
    Backend {
        name: "claude-code",
        about: "your own claude -p; the subscription pays, no key is used",
        open: |p| Ok(Box::new(through_client(p))),
    },
    Backend { name: "rules", about: "local rules, no model, no network", open: |_| Ok(Box::new(Rules)) },
    Backend { name: "replay", about: "recorded answers of --replay DIR, no network", open: |p| Ok(Box::new(replay(p)?)) },
];

fn claude<'a>(parts: &Parts<'a>) -> Result<Claude<'a>> {
    let mut settings = settings(parts.config, parts.env, parts.wanted.max_cost);
    settings.key = key(parts.config, parts.env)?;
    Claude::new(settings, parts.env, parts.ledger.clone(), parts.wanted.record.map(Path::to_owned))
}

fn through_client<'a>(parts: &Parts<'a>) -> ClaudeCode<'a> {
    let Parts { config, env, ledger, .. } = parts;
    let api = settings(config, env, None);
    let settings = claude_code::Settings {
        command: config.text("claude_code.command").to_owned(),
        model: config.text("claude_code.model").to_owned(),
        timeout: Duration::from_secs(config.number("claude_code.timeout_seconds").max(1)),
        max_input_tokens: api.max_input_tokens,
        daily_cap: api.daily_cap,
    };
    ClaudeCode::new(settings, env, ledger.clone())
}

fn replay(parts: &Parts<'_>) -> Result<Replay> {
    let Wanted { replay, dump, .. } = parts.wanted;
    if replay.is_none() && dump.is_none() {
        return Err(Error::new(Kind::Usage, "the extractor replay needs recorded answers").hint("add --replay DIR"));
    }
    // The pieces must be those of the recording, so the budget is the one of the API.
    let budget = settings(parts.config, parts.env, None).max_input_tokens;
    Ok(Replay { answers: replay.map(Path::to_owned), dump: dump.map(Path::to_owned), budget })
}

/// The backend for these wishes. `--dump-requests` and `--replay` make no call, so they come before any name.
///
/// # Errors
/// An unknown name, or whatever the backend lacks.
pub fn choose<'a>(wanted: &Wanted<'a>, config: &'a Config, env: &'a Env, home: &Path) -> Result<Chosen<'a>> {
    let configured = config.text("extractor");
    let (name, why) = match (wanted.extractor.unwrap_or(configured), wanted) {
        (_, Wanted { dump: Some(_), .. }) => ("replay", "the requests are written, none is sent".to_owned()),
        (_, Wanted { replay: Some(_), .. }) => ("replay", "answered from recorded answers".to_owned()),
        ("auto", _) if has_key(config, env) => ("claude", format!("read by {}", config.text("claude.model"))),
        ("auto", _) => ("rules", format!("read by the local rules{NO_KEY}")),
        ("claude", _) => ("claude", format!("read by {}", config.text("claude.model"))),
        ("claude-code", _) => ("claude-code", "read by your own claude -p; the subscription pays".to_owned()),
        (name, _) => (name, format!("read by {name}")),
    };
    let backend = BACKENDS.iter().find(|b| b.name == name).ok_or_else(|| {
        let names: Vec<_> = BACKENDS.iter().map(|b| b.name).collect();
        Error::new(Kind::Usage, format!("there is no extractor {name:?}")).hint(format!("use one of: {}", names.join(", ")))
    })?;
    let parts = Parts { config, env, ledger: ledger_of(home), wanted: *wanted };
    Ok(Chosen { extractor: (backend.open)(&parts)?, why })
}

/// Whether these wishes lead to a model, recorded or not: `refine` works without one, too.
pub fn asks_model(wanted: &Wanted<'_>, config: &Config, env: &Env) -> bool {
    let name = wanted.extractor.unwrap_or(config.text("extractor"));
    wanted.replay.is_some() || wanted.dump.is_some() || matches!(name, "claude" | "claude-code") || (name == "auto" && has_key(config, env))
}

/// The way to ask a model for `refine`: recorded answers or a dump if wished, `claude -p` if chosen, else the Messages API.
///
/// # Errors
/// Whatever the API lacks, first of all a key.
pub fn wire<'a>(wanted: &Wanted<'a>, config: &'a Config, env: &'a Env, home: &Path) -> Result<Box<dyn Wire + 'a>> {
    let parts = Parts { config, env, ledger: ledger_of(home), wanted: *wanted };
    match wanted.extractor.unwrap_or(config.text("extractor")) {
        _ if wanted.replay.is_some() || wanted.dump.is_some() => Ok(Box::new(replay(&parts)?)),
        "claude-code" => Ok(Box::new(through_client(&parts))),
        _ => Ok(Box::new(claude(&parts)?)),
    }
}

/// The ledger of a memory folder.
pub fn ledger_of(home: &Path) -> PathBuf {
    home.join(".state/ledger.jsonl")
}

/// The settings of the Messages API as configured, without the key. A cap of 0 is no cap.
pub fn settings(config: &Config, env: &Env, max_cost: Option<f64>) -> ClaudeSettings {
    let cap = |key: &str| Some(config.decimal(key)).filter(|usd| *usd > 0.0);
    let wait = Duration::from_secs(config.number("claude.timeout_seconds").max(1));
    let defaults = ClaudeSettings::default();
    ClaudeSettings {
        base_url: config.text("claude.base_url").to_owned(),
        model: config.text("claude.model").to_owned(),
        max_input_tokens: config.number("claude.max_input_tokens"),
        max_cost: max_cost.or_else(|| cap("claude.max_cost_usd")),
        daily_cap: cap("claude.daily_cap_usd"),
        timeouts: Timeouts { idle: wait, total: wait, ..defaults.timeouts },
        retry: Policy { retries: (config.number("claude.max_tries") as u32).saturating_sub(1), ..defaults.retry },
        ca_file: Some(config.text("claude.ca_file")).filter(|f| !f.is_empty()).map(|f| env.absolute(Path::new(f))),
        ..defaults
    }
}

/// Whether there is, or could be, a key. A command is not run for this.
fn has_key(config: &Config, env: &Env) -> bool {
    env.var(config.text("claude.api_key_env")).is_some() || !config.list("claude.api_key_command").is_empty()
}

/// The key: from the variable that config names, else from the command, which is run without a shell.
///
/// # Errors
/// [`Kind::Config`] if the command cannot be run, fails or prints nothing. What it printed is never shown.
pub fn key(config: &Config, env: &Env) -> Result<Option<Key>> {
    if let Some(key) = env.var(config.text("claude.api_key_env")).and_then(Key::new) {
        return Ok(Some(key));
    }
    let command = config.list("claude.api_key_command");
    let Some((program, args)) = command.split_first() else { return Ok(None) };
    let failed = |why: &str| {
        Error::new(Kind::Config, format!("claude.api_key_command ({program}) {why}"))
            .hint("run it by hand: it must print the key and exit 0")
    };
    let output = Command::new(program).args(args).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| failed(&format!("cannot be run: {}", e.kind())))?;
    if !output.status.success() {
        return Err(failed("failed"));
    }
    Key::new(&String::from_utf8_lossy(&output.stdout)).map(Some).ok_or_else(|| failed("printed nothing"))
}
