//! What git knows, asked as a child process: no shell, no hooks, no locks, no file of the repository run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use jiff::civil::Date;

/// Runs git and gives its output; `None` if it is not there, fails, or takes longer than `limit`. Exit 1 counts as an answer
/// (`grep` that finds nothing).
fn run(folder: &Path, args: &[&str], paths: &BTreeSet<String>, limit: Duration) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    // A repository's own settings must not run anything.
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "--no-pager"]);
    command.args(["--no-optional-locks", "--literal-pathspecs", "-C"]).arg(folder).args(args).arg("--").args(paths);
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

/// Days of the commits since `oldest` that touched these paths, by file, newest first.
pub(super) fn changes(folder: &Path, oldest: Date, paths: &BTreeSet<String>, limit: Duration) -> Option<BTreeMap<String, Vec<Date>>> {
    let since = format!("--since={oldest}T00:00:00");
    let bytes = run(folder, &["log", "--format=%x01%cI", "--name-only", "--no-renames", "--relative", &since], paths, limit)?;
    let mut found: BTreeMap<String, Vec<Date>> = BTreeMap::new();
    let mut day: Option<Date> = None;
    for line in lines(&bytes) {
        match line.strip_prefix('\u{1}') {
            Some(time) => day = time.get(..10).and_then(|d| d.parse().ok()),
            None => found.entry(line.to_owned()).or_default().extend(day),
        }
    }
    Some(found)
}

/// Those of these paths that differ from the last commit.
pub(super) fn dirty(folder: &Path, paths: &BTreeSet<String>, limit: Duration) -> Option<BTreeSet<String>> {
    let bytes = run(folder, &["diff", "--name-only", "--no-ext-diff", "--no-textconv", "--relative", "HEAD"], paths, limit)?;
    Some(lines(&bytes).map(str::to_owned).collect())
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
