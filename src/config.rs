//! Configuration: one table of settings; each value knows where it came from.
//!
//! Order: command line, then `CLAUDE_MEM_<KEY>` variables, then `config.toml` in the memory folder, then defaults.
//! Flags are applied by the commands; the rest is resolved here. `config.example.toml` is written from the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toml::Value;

use crate::env::Env;
use crate::error::{Error, Kind, Result};

/// One setting: its dotted key, default, allowed words (empty: free), and what it does.
pub struct Setting {
    /// `claude.model`.
    pub key: &'static str,
    /// Default as TOML text.
    pub default: &'static str,
    /// Allowed words, for texts that are choices.
    pub choices: &'static [&'static str],
    /// One or two sentences for the example file.
    pub doc: &'static str,
}

const fn setting(key: &'static str, default: &'static str, choices: &'static [&'static str], doc: &'static str) -> Setting {
    Setting { key, default, choices, doc }
}

/// Every setting, in the order of the example file.
pub const SETTINGS: &[Setting] = &[
    setting(
        "extractor",
        "\"auto\"",
        &["auto", "claude", "claude-code", "rules"],
        "Who reads conversations: auto (claude if a key is set, else rules), claude (the API), claude-code (claude -p), rules.",
    ),
    setting(
        "claude.api_key_env",
        "\"ANTHROPIC_API_KEY\"",
        &[],
        "Name of the variable that holds the API key. Keys are read from nowhere else.",
    ),
    setting(
        "claude.api_key_command",
        "[]",
        &[],
        "Or a command that prints the key, as a list: [\"pass\", \"show\", \"claude\"]. It is run without a shell.",
    ),
    setting(
        "claude.base_url",
        "\"https://api.anthropic.com\"",
        &[],
        "Any Anthropic-compatible server: Ollama is http://localhost:11434, and then nothing leaves this machine.",
    ),
    setting("claude.model", "\"claude-haiku-5-5\"", &[], "Model that extracts and refines."),
    setting("claude.max_input_tokens", "24000", &[], "Conversations longer than this are read in chunks."),
    setting("claude.concurrency", "3", &[], "Conversations extracted at the same time."),
    setting("claude.max_cost_usd", "0.0", &[], "Stop a run before it costs more than this; 0 is no limit. --max-cost overrides."),
    setting("claude.daily_cap_usd", "1.0", &[], "Stop before a day costs more than this; 0 is no limit."),
    setting("claude.timeout_seconds", "120", &[], "Longest wait for one answer."),
    setting("claude.max_tries", "4", &[], "Tries of one request when the server is busy or the line breaks."),
    setting("claude.ca_file", "\"\"", &[], "Extra root certificate (PEM) of a company proxy."),
    setting("claude_code.command", "\"claude\"", &[], "Claude Code's program, for the extractor claude-code: your subscription pays."),
    setting("claude_code.model", "\"haiku\"", &[], "Model that claude-code asks for."),
    setting("claude_code.timeout_seconds", "180", &[], "Longest wait for one answer of claude-code."),
    setting("inject.mode", "\"standard\"", &["standard", "light", "deep"], "What inject gives by default."),
    setting("inject.budget", "3000", &[], "Size of an injection in tokens (estimated)."),
    setting("inject.language", "\"auto\"", &["auto", "en", "zh"], "Language of the headers: auto follows the memories."),
    setting(
        "hooks.auto_ingest",
        "\"off\"",
        &["off", "rules", "claude", "claude-code"],
        "Who reads a Claude Code conversation when it has ended: off (nobody by itself), rules, claude (the API), claude-code.",
    ),
    setting("hooks.off_projects", "[]", &[], "Projects in which the hooks say nothing and keep nothing."),
    setting("hooks.prompt_memories", "3", &[], "At most so many memories come with one prompt; 0 is none."),
    setting("hooks.daily_calls", "50", &[], "The background reader sends no more requests than this in a day; 0 is no limit."),
    setting("hooks.worker_minutes", "10", &[], "The background reader ends after so many minutes; the rest waits for the next session."),
    setting("store.prune_days", "7", &[], "prune removes transient notes older than this many days (history keeps them)."),
    setting("store.decay_days", "30", &[], "A working memory not used for this many active days moves to the archive."),
    setting("store.max_supersedes", "5", &[], "A run that would replace more memories than this stops and shows its plan."),
    setting("store.wait_seconds", "30", &[], "How long to wait for another claude-mem that is writing."),
    setting("store.trust_hand_edits", "true", &[], "false holds entries that appeared without claude-mem back until they are adopted."),
    setting(
        "search.keep_turns",
        "false",
        &[],
        "true keeps the cleaned turns of conversations for `search --in turns`, in .state/turns.db.",
    ),
];

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Built in.
    Default,
    /// The file.
    File,
    /// A variable, by name.
    Variable(String),
}

/// All settings, resolved.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    values: BTreeMap<&'static str, (Value, Source)>,
}

impl Config {
    /// Reads `config.toml` of the memory folder and the variables.
    ///
    /// # Errors
    /// [`Kind::Config`] for a file that is not TOML, an unknown key, or a value of the wrong type.
    pub fn load(home: &Path, env: &Env) -> Result<Self> {
        let path = home.join("config.toml");
        let file = match std::fs::read_to_string(&path) {
            Ok(text) => flatten(&path, &text)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(Error { kind: Kind::Config, ..Error::io("read", &path, &e) }),
        };
        if let Some(unknown) = file.keys().find(|k| find(k).is_none()) {
            return Err(bad(&path, &format!("has the unknown key `{unknown}`")).hint(nearest(unknown)));
        }
        let mut values = BTreeMap::new();
        for setting in SETTINGS {
            let default = parse(setting.default).ok_or_else(|| Error::failure(format!("the default of {} is not TOML", setting.key)))?;
            let variable = variable(setting.key);
            let (value, source) = match (env.var(&variable), file.get(setting.key)) {
                (Some(text), _) => {
                    let value = match default {
                        Value::String(_) => Some(Value::String(text.to_owned())),
                        _ => parse(text),
                    };
                    let value = value.ok_or_else(|| mistyped(&format!("the variable {variable}"), setting, &default))?;
                    (value, Source::Variable(variable))
                }
                (None, Some(value)) => (value.clone(), Source::File),
                (None, None) => (default.clone(), Source::Default),
            };
            let value = fit(value, &default).ok_or_else(|| mistyped(&place(&source, &path), setting, &default))?;
            if let (Value::String(text), false) = (&value, setting.choices.is_empty())
                && !setting.choices.contains(&text.as_str())
            {
                return Err(Error::new(
                    Kind::Config,
                    format!("{}: {} is {text:?}, which is not a choice", place(&source, &path), setting.key),
                )
                .hint(format!("use one of: {}", setting.choices.join(", "))));
            }
            values.insert(setting.key, (value, source));
        }
        Ok(Self { path, values })
    }

    /// The file, whether or not it exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Key, value as TOML and source of every setting, in the order of the table.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &Value, &Source)> {
        SETTINGS.iter().filter_map(|s| self.values.get(s.key).map(|(v, o)| (s.key, v, o)))
    }

    /// A text setting; empty if there is no such key (a test holds that every key used exists).
    pub fn text(&self, key: &str) -> &str {
        self.values.get(key).and_then(|(v, _)| v.as_str()).unwrap_or_default()
    }

    /// A whole number, never negative.
    pub fn number(&self, key: &str) -> u64 {
        self.values.get(key).and_then(|(v, _)| v.as_integer()).and_then(|n| u64::try_from(n).ok()).unwrap_or_default()
    }

    /// A decimal number.
    pub fn decimal(&self, key: &str) -> f64 {
        self.values.get(key).and_then(|(v, _)| v.as_float()).unwrap_or_default()
    }

    /// A switch.
    pub fn switch(&self, key: &str) -> bool {
        self.values.get(key).and_then(|(v, _)| v.as_bool()).unwrap_or_default()
    }

    /// A list of texts.
    pub fn list(&self, key: &str) -> Vec<String> {
        let array = self.values.get(key).and_then(|(v, _)| v.as_array());
        array.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    }
}

/// `config.example.toml`: every key with its default, commented out.
pub fn example() -> String {
    let mut out = String::from(
        "# claude-mem reads this from config.toml in its folder (~/.claude-mem). Every line is a default: remove the # to change it.\n",
    );
    let mut table = "";
    for setting in SETTINGS {
        let (head, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if head != table {
            table = head;
            // Writing to a String cannot fail.
            let _ = write!(out, "\n[{head}]\n");
        }
        let _ = write!(out, "\n# {}\n# {name} = {}\n", setting.doc, setting.default);
    }
    out
}

/// `text` of `config.toml` with one key set, everything else kept byte for byte.
///
/// # Errors
/// [`Kind::Usage`] for an unknown key or a value of the wrong type, [`Kind::Config`] for a file that is not TOML.
pub fn set(path: &Path, text: &str, key: &str, value: &str) -> Result<String> {
    let setting = find(key).ok_or_else(|| unknown(key))?;
    let default = parse(setting.default).unwrap_or(Value::Boolean(false));
    let new = match default {
        Value::String(_) => Some(Value::String(value.to_owned())),
        _ => parse(value).and_then(|v| fit(v, &default)),
    };
    let new = new.ok_or_else(|| Error { kind: Kind::Usage, ..mistyped("", setting, &default) })?;
    if !setting.choices.is_empty() && !setting.choices.contains(&value) {
        let message = format!("{key} cannot be {value:?}");
        return Err(Error::new(Kind::Usage, message).hint(format!("use one of: {}", setting.choices.join(", "))));
    }
    let mut document = text.parse::<toml_edit::DocumentMut>().map_err(|e| bad(path, &format!("is not TOML: {}", first_line(&e))))?;
    let item = new.to_string().parse::<toml_edit::Value>().map_err(|e| Error::failure(format!("{key}: {}", first_line(&e))))?;
    match key.split_once('.') {
        Some((table, name)) => document[table].or_insert(toml_edit::table())[name] = toml_edit::value(item),
        None => document[key] = toml_edit::value(item),
    }
    Ok(document.to_string())
}

/// There is no such setting; the hint names the one that was meant, if any looks like it.
pub fn unknown(key: &str) -> Error {
    Error::new(Kind::Usage, format!("there is no setting `{key}`")).hint(nearest(key))
}

fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.key == key)
}

fn variable(key: &str) -> String {
    format!("CLAUDE_MEM_{}", key.replace('.', "_").to_uppercase())
}

fn parse(text: &str) -> Option<Value> {
    format!("v = {text}").parse::<toml::Table>().ok()?.remove("v")
}

/// The value if it has the type of the default; a whole number may stand for a decimal one.
fn fit(value: Value, default: &Value) -> Option<Value> {
    match (value, default) {
        (Value::Integer(n), Value::Float(_)) => (n >= 0).then_some(Value::Float(n as f64)),
        (Value::Integer(n), Value::Integer(_)) => (n >= 0).then_some(Value::Integer(n)),
        (Value::Array(list), Value::Array(_)) => list.iter().all(Value::is_str).then_some(Value::Array(list)),
        (Value::Float(n), Value::Float(_)) => (n >= 0.0).then_some(Value::Float(n)),
        (value, default) => value.same_type(default).then_some(value),
    }
}

fn flatten(path: &Path, text: &str) -> Result<BTreeMap<String, Value>> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| text.get(..s.start).map_or(1, |t| t.matches('\n').count() + 1));
        bad(path, &format!("line {line} is not TOML: {}", e.message()))
    })?;
    let mut out = BTreeMap::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => out.extend(inner.into_iter().map(|(name, v)| (format!("{key}.{name}"), v))),
            value => {
                out.insert(key, value);
            }
        }
    }
    Ok(out)
}

fn bad(path: &Path, what: &str) -> Error {
    Error::new(Kind::Config, format!("{} {what}", path.display())).hint("see config.example.toml, or `claude-mem config show`")
}

fn mistyped(place: &str, setting: &Setting, default: &Value) -> Error {
    let wanted = match default {
        Value::Boolean(_) => "true or false",
        Value::Integer(_) => "a whole number, 0 or more",
        Value::Float(_) => "a number, 0 or more",
        Value::Array(_) => "a list of texts",
        _ => "a text in quotes",
    };
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    Error::new(Kind::Config, format!("{place}{} must be {wanted}", setting.key)).hint(format!("the default is {}", setting.default))
}

fn place(source: &Source, path: &Path) -> String {
    match source {
        Source::Variable(name) => format!("the variable {name}"),
        Source::File => path.display().to_string(),
        Source::Default => "the defaults".to_owned(),
    }
}

fn first_line(e: &impl std::fmt::Display) -> String {
    e.to_string().lines().next().unwrap_or_default().to_owned()
}

/// A hint with the key that looks most like the one that was typed.
fn nearest(key: &str) -> String {
    let alike = |s: &&Setting| (similar::TextDiff::from_chars(key, s.key).ratio() * 1000.0) as u32;
    match SETTINGS.iter().max_by_key(alike) {
        Some(best) if alike(&best) > 600 => format!("did you mean `{}`?", best.key),
        _ => "`claude-mem config show` lists every setting".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        let vars = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Env::of(vars, "/".into(), jiff::tz::TimeZone::UTC).unwrap()
    }

    #[test]
    fn the_example_is_the_defaults() {
        let committed = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config.example.toml")).unwrap();
        assert_eq!(committed, example(), "write config.example.toml anew: it is config::example()");
        let live: String = example()
            .lines()
            .map(|l| l.strip_prefix("# ").filter(|l| l.contains(" = ")).unwrap_or(l))
            .fold(String::new(), |a, l| a + l + "\n");
        assert_eq!(flatten(Path::new("x"), &live).unwrap().len(), SETTINGS.len());
    }

    #[test]
    fn file_and_variables_and_their_errors() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| std::io::Write::write_all(&mut tempfile_at(&dir.path().join("config.toml")), text.as_bytes()).unwrap();
        write("[claude]\nmodel = \"m\"\ndaily_cap_usd = 2\n");
        let config = Config::load(dir.path(), &env(&[("CLAUDE_MEM_CLAUDE_MODEL", "v"), ("CLAUDE_MEM_INJECT_BUDGET", "7")])).unwrap();
        assert_eq!((config.text("claude.model"), config.number("inject.budget"), config.decimal("claude.daily_cap_usd")), ("v", 7, 2.0));
        for (text, says) in [
            ("[claude]\nmodle = 1\n", "unknown key `claude.modle`"),
            ("[claude]\nmodel = 1\n", "claude.model must be a text"),
            ("extractor = \"gpt\"\n", "is not a choice"),
            ("a = \n", "line 1 is not TOML"),
            ("[inject]\nbudget = -1\n", "whole number"),
        ] {
            write(text);
            let error = Config::load(dir.path(), &env(&[])).unwrap_err();
            assert!(error.message.contains(says) && error.kind == Kind::Config && error.hint.is_some(), "{text}: {error:?}");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes its own file")]
    fn tempfile_at(path: &Path) -> std::fs::File {
        std::fs::File::create(path).unwrap()
    }

    #[test]
    fn setting_a_key_keeps_the_rest() {
        let path = Path::new("config.toml");
        let text = "# mine\n[claude]\nmodel = \"a\" # why\n";
        assert_eq!(set(path, text, "inject.budget", "900").unwrap(), format!("{text}\n[inject]\nbudget = 900\n"));
        assert!(set(path, text, "claude.modl", "x").unwrap_err().hint.unwrap().contains("claude.model"));
        assert_eq!(set(path, text, "inject.budget", "many").unwrap_err().kind, Kind::Usage);
    }
}
