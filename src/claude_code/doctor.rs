//! What `doctor` looks at: one function per room, each gives findings. Reads only; printing is `cli/doctor`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::settings::{self, Part, Program};
use super::wiring::{self, Record, Scope};
use super::{is_ignored, queue, trouble};
use crate::config::Config;
use crate::env::Env;
use crate::error::Error;
use crate::store::{Severity, Store};
use crate::text::words::count;

/// How a finding stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing is broken.
    Note,
    /// Broken, or about to lose something.
    Fault,
}

impl Level {
    /// `ok`, `note`, `fault`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Fault => "fault",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it stands.
    pub level: Level,
    /// One sentence.
    pub says: String,
    /// The one thing to do, for what is not fine.
    pub hint: Option<String>,
}

fn fine(says: impl Into<String>) -> Finding {
    Finding { level: Level::Fine, says: says.into(), hint: None }
}

fn note(says: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { level: Level::Note, says: says.into(), hint: Some(hint.into()) }
}

fn fault(says: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { level: Level::Fault, says: says.into(), hint: Some(hint.into()) }
}

fn failed(error: &Error) -> Finding {
    fault(error.message.clone(), error.hint.clone().unwrap_or_else(|| "run it again with --verbose".to_owned()))
}

/// What the checks work with.
#[derive(Debug)]
pub struct Ground<'a> {
    /// Surroundings.
    pub env: &'a Env,
    /// Settings.
    pub config: &'a Config,
    /// Memory folder.
    pub home: &'a Path,
    /// Top of the work tree.
    pub root: &'a Path,
    /// How the client should start us.
    pub program: &'a Program,
    /// What was wired.
    pub record: &'a Record,
}

/// A room and its check.
pub type Check = (&'static str, fn(&Ground<'_>) -> Vec<Finding>);

/// Every check, in the order of the report.
pub const CHECKS: &[Check] = &[
    ("environment", environment),
    ("folders", folders),
    ("configuration", configuration),
    ("memories", memories),
    ("wiring", wiring_of),
    ("queue", queue),
    ("hooks", hook_errors),
    ("search index", index),
    ("client", client),
    ("other tools", others),
];

fn environment(at: &Ground<'_>) -> Vec<Finding> {
    let mut out = vec![fine(format!("claude-mem {} at {}", env!("CARGO_PKG_VERSION"), at.program.command))];
    let name = if cfg!(windows) { "claude-mem.exe" } else { "claude-mem" };
    let folders = at.env.var("PATH").into_iter().flat_map(|p| std::env::split_paths(p).collect::<Vec<_>>());
    let first = folders.map(|dir| dir.join(name)).find(|path| path.is_file());
    let same = |path: &Path| path.canonicalize().ok() == Path::new(&at.program.command).canonicalize().ok();
    match first {
        Some(path) if !same(&path) => out.push(note(
            format!("`claude-mem` on PATH is another program: {}", path.display()),
            "put the folder of this one before it on PATH, or call it by its path; the hooks are not concerned",
        )),
        Some(_) => {}
        None => out.push(note(
            "`claude-mem` is not on PATH",
            "add its folder to PATH to use it from a shell or through the plugin; the hooks of `install` work without",
        )),
    }
    if at.env.var("CLAUDE_MEM_OFF").is_some() {
        out.push(note("CLAUDE_MEM_OFF is set: every hook is silent", "unset CLAUDE_MEM_OFF to remember again"));
    }
    if is_ignored(&at.env.cwd) {
        out.push(note(
            "a .claude-memignore keeps the hooks out of this folder",
            "remove that file, here or in a folder above, to remember here, too",
        ));
    }
    out
}

fn folders(at: &Ground<'_>) -> Vec<Finding> {
    let home = at.home.display();
    let data = match std::fs::metadata(at.home) {
        Ok(data) => data,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let above = at.home.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
            return vec![match refuses(above) {
                None => fine(format!("{home} is not there yet; the first memory makes it")),
                Some(why) => fault(
                    format!("{home} is not there and cannot be made: {why}"),
                    format!("make {} writable, or choose another folder with --home", above.display()),
                ),
            }];
        }
        Err(e) => return vec![fault(format!("{home} cannot be looked at: {e}"), "choose another folder with --home")],
    };
    if !data.is_dir() {
        return vec![fault(format!("{home} is not a folder"), "move that file away, or choose another folder with --home")];
    }
    let mut out = Vec::new();
    for folder in [at.home.to_path_buf(), at.home.join(".state")].into_iter().filter(|folder| folder.is_dir()) {
        let why = if data.permissions().readonly() { Some("it is read-only".to_owned()) } else { refuses(&folder) };
        out.extend(why.map(|why| {
            let folder = folder.display();
            fault(format!("{folder} cannot be written: {why}"), format!("chmod u+w {folder}, or choose another folder with --home"))
        }));
    }
    #[cfg(unix)]
    out.extend(open_to_others(at.home, &data));
    if out.is_empty() {
        out.push(fine(format!("{home} is yours alone")));
    }
    out
}

/// Why nothing can be written in a folder, owners, modes and the disk itself considered: found out with a file that has no name
/// or is gone at once.
fn refuses(folder: &Path) -> Option<String> {
    tempfile::tempfile_in(folder).err().map(|e| e.to_string())
}

/// The folder shields all that is in it, so its own mode is what counts.
#[cfg(unix)]
fn open_to_others(home: &Path, data: &std::fs::Metadata) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let open = data.permissions().mode() & 0o077 != 0;
    open.then(|| note(format!("others on this machine can look into {}", home.display()), format!("chmod 700 {}", home.display())))
}

fn configuration(at: &Ground<'_>) -> Vec<Finding> {
    let variable = at.config.text("claude.api_key_env");
    let command = !at.config.list("claude.api_key_command").is_empty();
    let key = at.env.var(variable).is_some() || command;
    let source = if command { "from claude.api_key_command" } else { variable };
    let local = !at.config.text("claude.base_url").contains("anthropic.com");
    let lacking = |what: &str| {
        fault(format!("{what} = claude, but there is no API key"), format!("set {variable}, or `claude-mem config set {what} rules`"))
    };
    let mut out = Vec::new();
    let who = at.config.text("extractor");
    match who {
        "claude" if !key && !local => out.push(lacking("extractor")),
        "auto" | "claude" if key => out.push(fine(format!("`ingest` asks the Messages API; the API key {source} pays"))),
        "auto" | "rules" => out.push(fine("`ingest` reads by the local rules; free, no network")),
        other => out.push(fine(format!("`ingest` reads by {other}"))),
    }
    match at.config.text("hooks.auto_ingest") {
        "claude" if !key && !local => out.push(lacking("hooks.auto_ingest")),
        "off" => out.push(note(
            "finished conversations are queued, but not read by themselves",
            "`claude-mem config set hooks.auto_ingest rules` reads them for free; or run `claude-mem ingest --all-history` now and then",
        )),
        "claude" if key => out.push(fine(format!("finished conversations are read by claude; the API key {source} pays"))),
        "claude-code" => out.push(fine("finished conversations are read by claude-code; your subscription pays")),
        on => out.push(fine(format!("finished conversations are read by {on}"))),
    }
    if at.config.path().exists() {
        out.push(fine(format!("{} is in order", at.config.path().display())));
    }
    out
}

fn memories(at: &Ground<'_>) -> Vec<Finding> {
    if !at.home.is_dir() {
        return Vec::new();
    }
    let looked = Store::open(at.home, &at.env.now()).and_then(|opened| {
        let mut store = opened.store;
        store.wait = Duration::from_secs(2);
        Ok((store.projects()?.len(), store.verify()?))
    });
    match looked {
        Err(error) => vec![failed(&error)],
        Ok((projects, findings)) => {
            let bad: Vec<_> = findings.iter().filter(|f| f.severity == Severity::Error).collect();
            let odd = findings.iter().filter(|f| f.severity == Severity::Warning).count();
            match bad.first() {
                Some(first) => vec![fault(format!("{} ({} such)", first.problem, bad.len()), "`claude-mem verify` names every place")],
                None if odd > 0 => vec![note(
                    format!("{} in the memory files", count(odd, "small thing", "small things")),
                    "`claude-mem verify` names every place",
                )],
                None => vec![fine(format!("{}, every file whole", count(projects, "project folder", "project folders")))],
            }
        }
    }
}

/// A JSON file of the client that is there and can be read.
fn json(path: &Path) -> Result<Option<Value>, Error> {
    let Some(text) = wiring::read(path)? else { return Ok(None) };
    settings::read(&text).map(Some).map_err(|e| Error { message: format!("{}: {}", path.display(), e.message), ..e })
}

fn wiring_of(at: &Ground<'_>) -> Vec<Finding> {
    let places = [Scope::User, Scope::Project].map(|s| wiring::places(s, at.env, at.root));
    let mut paths: Vec<PathBuf> = places.into_iter().flatten().flatten().map(|p| p.path).collect();
    paths.push(at.root.join(".claude/settings.json"));
    let (mut out, mut hooked, mut serving) = (Vec::new(), 0, 0);
    for path in paths {
        let value = match json(&path) {
            Ok(Some(value)) => value,
            Ok(None) => continue,
            Err(error) => {
                out.push(failed(&error));
                continue;
            }
        };
        let hooks = settings::hooks(&value, at.program);
        let server = settings::server(&value, at.program);
        hooked += usize::from(!hooks.is_empty());
        serving += usize::from(server.is_some());
        let programs = hooks.iter().map(|h| &h.command).chain(server.iter().map(|(command, _)| command));
        let gone = programs.into_iter().find(|c| Path::new(c.as_str()).is_absolute() && !Path::new(c.as_str()).is_file());
        let shown = path.display();
        if let Some(program) = gone {
            out.push(fault(format!("{shown} calls {program}, which is not there"), "`claude-mem upgrade` points it to this program"));
        } else if !hooks.is_empty() && !settings::complete(&value, &[Part::Hooks], at.program) {
            out.push(fault(format!("the hooks in {shown} are not those of this version"), "`claude-mem upgrade` brings them up to date"));
        } else if server.as_ref().is_some_and(|(_, current)| !current) {
            out.push(note(
                format!("the MCP server in {shown} is set up differently"),
                "`claude-mem upgrade` brings it up to date, if you did not mean it",
            ));
        }
        if value.get("disableAllHooks") == Some(&Value::Bool(true)) {
            out.push(fault(format!("{shown} turns all hooks off"), "take disableAllHooks out of it, or set it to false"));
        }
    }
    let plugin = plugins(at).iter().any(|p| p.starts_with("localmem@"));
    if hooked + usize::from(plugin) > 1 {
        out.push(fault(
            "claude-mem is wired in more than one way, so memories may come twice",
            "keep one of them: `claude-mem uninstall`, or `claude plugin uninstall localmem`, then `claude-mem install` if you like",
        ));
    }
    if hooked == 0 && !plugin {
        out.push(note("Claude Code does not know claude-mem", "`claude-mem install` shows what it would change, and asks"));
    } else if serving == 0 && !plugin {
        out.push(note("the hooks are there, the MCP server is not", "`claude-mem install` adds it"));
    }
    if out.is_empty() {
        out.push(fine(if plugin { "the plugin localmem is on" } else { "hooks and MCP server are in place" }));
    }
    out
}

/// Plugins that are switched on, as `name@marketplace`.
fn plugins(at: &Ground<'_>) -> Vec<String> {
    let settings = wiring::client_folder(at.env).and_then(|f| json(&f.join("settings.json"))).ok().flatten();
    let enabled = settings.as_ref().and_then(|s| s.get("enabledPlugins")).and_then(Value::as_object).into_iter().flatten();
    enabled.filter(|(_, on)| **on != Value::Bool(false)).map(|(name, _)| name.clone()).collect()
}

fn queue(at: &Ground<'_>) -> Vec<Finding> {
    let (waiting, failed) = (queue::waiting(at.home).len(), queue::failed(at.home));
    let mut out = Vec::new();
    if let Some(last) = failed.last() {
        let says = format!(
            "{} not be read after several tries; the last: {}",
            count(failed.len(), "conversation could", "conversations could"),
            last.error
        );
        out.push(fault(says, "`claude-mem ingest --all-history` tries them again"));
    }
    match (waiting, at.config.text("hooks.auto_ingest")) {
        (0, _) => {}
        (n, "off") => out.push(note(
            count(n, "conversation waits to be read", "conversations wait to be read"),
            "`claude-mem ingest --all-history` reads them",
        )),
        (n, _) => out.push(fine(count(n, "conversation waits for the next session", "conversations wait for the next session"))),
    }
    if out.is_empty() {
        out.push(fine("nothing waits"));
    }
    out
}

fn hook_errors(at: &Ground<'_>) -> Vec<Finding> {
    let all = trouble::all(at.home);
    let Some(last) = all.last() else { return vec![fine("no hook has failed")] };
    let says = format!("{} hook failures; the last at {} in {}: {}", all.len(), last.at, last.event, last.message);
    let seen = format!("once that is mended, remove {}", trouble::file(at.home).display());
    vec![note(says, last.hint.clone().unwrap_or(seen))]
}

fn index(at: &Ground<'_>) -> Vec<Finding> {
    let path = at.home.join(".state/search.db");
    let mut head = [0u8; 16];
    let read = std::fs::File::open(&path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut head));
    match read {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => vec![fine("not built yet; the first search builds it")],
        // The 16 bytes that begin every SQLite file (sqlite.org/fileformat2).
        Ok(()) if head == *b"SQLite format 3\0" => {
            let size = std::fs::metadata(&path).map(|m| m.len()).unwrap_or_default();
            vec![fine(format!("{} KB, made from the memory files", size.div_ceil(1024)))]
        }
        _ => vec![note(
            format!("{} is damaged", path.display()),
            "remove that file: it is only a cache, and is built again by the next search",
        )],
    }
}

fn client(at: &Ground<'_>) -> Vec<Finding> {
    let found = wiring::client_folder(at.env).and_then(|f| Ok((json(&f.join("settings.json"))?, f)));
    let (settings, folder) = match found {
        Ok((settings, folder)) => (settings.unwrap_or_default(), folder),
        // The wiring has said it.
        Err(_) => return Vec::new(),
    };
    if !folder.is_dir() {
        return vec![note(
            format!("there is no {}: Claude Code was not used here", folder.display()),
            "nothing to do if you only paste what `inject` gives",
        )];
    }
    let mut out = Vec::new();
    // The two switches of the client's own memory (its settings reference). Another tool of our name sets the second one.
    let variable = "CLAUDE_CODE_DISABLE_AUTO_MEMORY";
    let set = |value: &str| !matches!(value, "" | "0" | "false");
    let by_variable =
        settings.pointer(&format!("/env/{variable}")).and_then(Value::as_str).or_else(|| at.env.var(variable)).is_some_and(set);
    if by_variable || settings.get("autoMemoryEnabled") == Some(&Value::Bool(false)) {
        let which = if by_variable { variable } else { "autoMemoryEnabled" };
        out.push(note(
            format!("Claude Code's own memory is switched off ({which}); not by this program"),
            format!("nothing to do if you meant it; else take {which} out of {}", folder.join("settings.json").display()),
        ));
    }
    // The client's default is 30 days (its settings reference, cleanupPeriodDays).
    let days = settings.get("cleanupPeriodDays").and_then(Value::as_u64).unwrap_or(30);
    let off = at.config.text("hooks.auto_ingest") == "off";
    let says = format!("Claude Code deletes conversations after {}", count(usize::try_from(days).unwrap_or(usize::MAX), "day", "days"));
    if days < 7 || (off && days <= 30) {
        let hint = "run `claude-mem ingest --all-history` before that, or set a larger cleanupPeriodDays in the client's settings.json";
        out.push(note(says, hint));
    } else {
        out.push(fine(says));
    }
    out
}

/// What another tool of this name (npm `claude-mem`) keeps in the same folder.
const FOREIGN_FILES: &[&str] = &["claude-mem.db", "chroma", "vector-db", "settings.json", "worker.pid", "logs", "hooks"];

fn others(at: &Ground<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let theirs: Vec<&str> = FOREIGN_FILES.iter().copied().filter(|f| at.home.join(f).symlink_metadata().is_ok()).collect();
    if !theirs.is_empty() {
        out.push(note(
            format!("another tool keeps files in {}: {}", at.home.display(), theirs.join(", ")),
            "they are never read, written or deleted by this program; remove them with that tool if you do not use it",
        ));
    }
    if let Some(plugin) = plugins(at).iter().find(|p| p.starts_with("claude-mem@")) {
        out.push(note(
            format!("the plugin {plugin} of the same name is on, with hooks of its own"),
            format!("both work, but both inject; `claude plugin uninstall {plugin}` if you want only this one"),
        ));
    }
    let settings = wiring::client_folder(at.env).and_then(|f| json(&f.join("settings.json"))).ok().flatten().unwrap_or_default();
    let ours = settings::hooks(&settings, at.program).len();
    let named = settings::handlers(&settings).iter().filter(|(_, h)| h.to_string().contains("claude-mem")).count();
    if named > ours {
        out.push(note(
            format!("{} hooks in the client's settings belong to another tool of this name", named - ours),
            "they stay as they are; remove them with that tool if you do not use it",
        ));
    }
    if out.is_empty() {
        out.push(fine("none of the same name"));
    }
    out
}
