//! What git knows, asked as a child process: no shell, no locks, no network, and nothing of the repository run.
//!
//! A repository may be anybody's. Its settings name programs (monitors, hooks, signature checkers, converters, clean filters,
//! transports), so each of these is switched off, and no question is asked for which git would read a file of the work tree
//! through a filter.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;

/// What a repository's own settings may not say.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
];

/// Runs git and gives its output; `None` if it is not there, fails, or takes longer than `limit`. Exit 1 counts as an answer
/// (`grep` that finds nothing).
fn run(folder: &Path, args: &[&str], paths: &BTreeSet<String>, limit: Duration) -> Option<Vec<u8>> {
    run_with(folder, &[], args, paths, limit)
}

/// The same with more settings.
fn run_with(folder: &Path, settings: &[String], args: &[&str], paths: &BTreeSet<String>, limit: Duration) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    for setting in SETTINGS.iter().copied().chain(settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    command.arg("--no-pager");
    command.args(["--no-optional-locks", "--literal-pathspecs", "-C"]).arg(folder).args(args);
    if !paths.is_empty() {
        command.arg("--").args(paths);
    }
    // A partial clone would fetch what it lacks.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
    let quiet =
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = quiet.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.read_to_end(&mut bytes);
        // Nobody listens any more after the limit.
        drop(send.send(read.map(|_| bytes)));
    });
    let answer = receive.recv_timeout(limit);
    if answer.is_err() {
        // It may have ended by itself just now.
        drop(child.kill());
    }
    let status = child.wait().ok()?;
    let bytes = answer.ok()?.ok()?;
    status.code().is_some_and(|code| code <= 1).then_some(bytes)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|b| *b == b'\n' || *b == 0).filter_map(|line| std::str::from_utf8(line).ok()).filter(|line| !line.is_empty())
}

/// Every tracked file.
pub(super) fn tracked(folder: &Path, limit: Duration) -> Option<Vec<String>> {
    let bytes = run(folder, &["ls-files", "-z"], &BTreeSet::new(), limit)?;
    Some(lines(&bytes).map(str::to_owned).collect())
}

/// Times of the commits since `oldest` that touched these paths, by file, newest first.
pub(super) fn changes(folder: &Path, oldest: Date, paths: &BTreeSet<String>, limit: Duration) -> Option<BTreeMap<String, Vec<Timestamp>>> {
    let since = format!("--since={oldest}T00:00:00");
    let bytes = run(folder, &["log", "--format=%x01%cI", "--name-only", "--no-renames", "--relative", &since], paths, limit)?;
    let mut found: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    let mut at: Option<Timestamp> = None;
    for line in lines(&bytes) {
        match line.strip_prefix('\u{1}') {
            Some(time) => at = time.parse().ok(),
            None => found.entry(line.to_owned()).or_default().extend(at),
        }
    }
    Some(found)
}

/// Those of these paths that differ from the last commit.
pub(super) fn dirty(folder: &Path, paths: &BTreeSet<String>, limit: Duration) -> Option<BTreeSet<String>> {
    // By the times of files and by the index. Where a file is as new as the index git compares contents all the same, for which
    // clean filters would be run.
    let filters = without_filters(folder, limit)?;
    let common = ["--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative"];
    let unstaged = run_with(folder, &filters, &[&["diff-files"], common.as_slice()].concat(), paths, limit)?;
    let staged = run_with(folder, &filters, &[&["diff-index", "--cached"], common.as_slice(), &["HEAD"]].concat(), paths, limit)?;
    Some(lines(&unstaged).chain(lines(&staged)).map(str::to_owned).collect())
}

/// Settings that empty every filter that the repository's own settings name; `None` if one of them cannot be emptied.
fn without_filters(folder: &Path, limit: Duration) -> Option<Vec<String>> {
    let bytes = run(folder, &["config", "--name-only", "--get-regexp", r"^filter\."], &BTreeSet::new(), limit)?;
    // `-c` splits at the first `=`, so a name with one could not be meant.
    lines(&bytes).map(|key| (!key.contains('=')).then(|| format!("{key}="))).collect()
}

/// Which of these words stand in tracked files, as whole words.
pub(super) fn words(folder: &Path, names: &BTreeSet<String>, limit: Duration) -> Option<BTreeSet<String>> {
    if names.is_empty() {
        return Some(BTreeSet::new());
    }
    let mut args = vec!["grep", "--no-textconv", "-I", "-h", "-o", "-w", "-F"];
    names.iter().for_each(|name| args.extend(["-e", name]));
    let bytes = run(folder, &args, &BTreeSet::new(), limit)?;
    Some(lines(&bytes).map(str::to_owned).collect())
}

/// The day of the last commit that added or removed this word; `None` if there is none.
pub(super) fn last_with(folder: &Path, name: &str, limit: Duration) -> Option<Date> {
    let find = format!("-S{name}");
    let bytes = run(folder, &["log", "-1", "--format=%cI", "--no-textconv", &find], &BTreeSet::new(), limit)?;
    lines(&bytes).next()?.get(..10)?.parse().ok()
}
