//! Which backend reads, and why: from flags, settings and whether there is a key.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::extract::api::{Key, Timeouts};
use crate::extract::claude::ClaudeSettings;
use crate::extract::retry::Policy;
use crate::extract::{self, Extractor, Setup};

/// What the command line says about extraction.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// `--extractor`.
    pub extractor: Option<String>,
    /// `--max-cost`.
    pub max_cost: Option<f64>,
    /// `--record`.
    pub record: Option<PathBuf>,
    /// `--replay`.
    pub replay: Option<PathBuf>,
    /// `--dump-requests`.
    pub dump: Option<PathBuf>,
}

/// The backend that will read.
pub struct Chosen<'a> {
    /// Ready to be asked.
    pub extractor: Box<dyn Extractor + 'a>,
    /// For the receipt: `by rules, no model (no API key is set)`.
    pub why: String,
}

/// Opens the backend that flags and settings ask for; without a key that is `rules`.
///
/// # Errors
/// An unknown name, or `claude` without a key for a server that wants one.
pub fn choose<'a>(wanted: &Wanted, config: &Config, env: &'a Env, state: PathBuf) -> Result<Chosen<'a>> {
    let asked = wanted.extractor.as_deref().unwrap_or(config.text("extractor"));
    let quiet = wanted.replay.is_some() || wanted.dump.is_some() || asked == "rules";
    let mut settings = settings(config, wanted.max_cost);
    if !quiet {
        settings.key = key(config, env)?;
    }
    let local = !settings.base_url.contains("anthropic.com");
    let name = match asked {
        "auto" if settings.key.is_some() || local => "claude",
        "auto" => "rules",
        name => name,
    };
    if name == "claude" && !quiet && settings.key.is_none() && !local {
        return Err(Error::new(Kind::Config, format!("the extractor claude needs an API key, and {} is not set", config.text("claude.api_key_env")))
            .hint("set it, or use --extractor rules, which needs no key and sends nothing"));
    }
    let model = settings.model.clone();
    let setup = Setup {
        env,
        claude: settings,
        ledger: state.join("ledger.jsonl"),
        record: wanted.record.clone(),
        replay: wanted.replay.clone(),
        dump: wanted.dump.clone(),
    };
    let extractor = extract::open(name, setup)?;
    let why = match extractor.name() {
        "rules" if asked == "auto" => format!("by rules, no model used ({} is not set)", config.text("claude.api_key_env")),
        "rules" => "by rules, no model used".to_owned(),
        "replay" => "from recorded answers".to_owned(),
        other => format!("by {other} with {model}"),
    };
    Ok(Chosen { extractor, why })
}

/// The settings of the Messages API, without the key.
pub fn settings(config: &Config, max_cost: Option<f64>) -> ClaudeSettings {
    let limit = |value: f64| (value > 0.0).then_some(value);
    let total = Duration::from_secs(config.number("claude.timeout_seconds"));
    ClaudeSettings {
        base_url: config.text("claude.base_url").to_owned(),
        model: config.text("claude.model").to_owned(),
        max_input_tokens: config.number("claude.max_input_tokens"),
        max_cost: max_cost.or(limit(config.decimal("claude.max_cost_usd"))),
        daily_cap: limit(config.decimal("claude.daily_cap_usd")),
        timeouts: Timeouts { idle: total.min(Timeouts::default().idle), total, ..Timeouts::default() },
        retry: Policy { retries: u32::try_from(config.number("claude.max_tries").saturating_sub(1)).unwrap_or(u32::MAX), ..Policy::default() },
        ca_file: Some(config.text("claude.ca_file")).filter(|p| !p.is_empty()).map(PathBuf::from),
        ..ClaudeSettings::default()
    }
}

/// The key: from the named variable, else from the configured command. Nowhere else is looked.
fn key(config: &Config, env: &Env) -> Result<Option<Key>> {
    if let Some(key) = env.var(config.text("claude.api_key_env")).and_then(Key::new) {
        return Ok(Some(key));
    }
    let command = config.list("claude.api_key_command");
    let Some((program, args)) = command.split_first() else { return Ok(None) };
    let failed = |what: String| Error::new(Kind::Config, format!("claude.api_key_command {what}")).hint("run it by hand to see why; it must print the key");
    let output = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| failed(format!("cannot run {program}: {e}")))?;
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status)));
    }
    Key::new(&String::from_utf8_lossy(&output.stdout)).map(Some).ok_or_else(|| failed("printed nothing".to_owned()))
}
