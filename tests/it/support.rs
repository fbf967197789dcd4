//! A hermetic world for one test: an empty HOME, no inherited environment, a fixed clock and fixed ids.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// One test's world.
pub struct World {
    dir: tempfile::TempDir,
    vars: BTreeMap<String, String>,
    runs: AtomicU64,
}

/// What a run printed, and its exit code.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Requires exit 0.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Requires this exit code and these words on stderr, and a hint where a user can act.
    pub fn fails(self, code: i32, says: &str) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert!(self.err.contains(says), "stderr lacks {says:?}:\n{}", self.err);
        assert!(self.err.contains("hint: "), "no hint:\n{}", self.err);
        self
    }

    /// stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }
}

impl World {
    /// An empty HOME with a git repository `shop` to stand in.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temp folder");
        let world = Self { dir, vars: BTreeMap::new(), runs: AtomicU64::new(0) };
        std::fs::create_dir_all(world.cwd().join(".git")).expect("a repository");
        std::fs::write(world.cwd().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a repository");
        std::fs::create_dir_all(world.home()).expect("a home");
        world
    }

    /// The same world with a variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// HOME.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Where memories are.
    pub fn store(&self) -> PathBuf {
        self.home().join(".claude-mem")
    }

    /// The repository that commands are run in.
    pub fn cwd(&self) -> PathBuf {
        self.dir.path().join("shop")
    }

    /// Writes a file in the working folder and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.cwd().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// A command ready to run.
    pub fn command(&self, args: &[&str]) -> Command {
        // Another build of the program, for figures: CLAUDE_MEM_BIN.
        let program = std::env::var_os("CLAUDE_MEM_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_claude-mem").into());
        let mut command = Command::new(program);
        command.args(args).current_dir(self.cwd()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        // Every run has ids of its own, the same in every test.
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        command.env("CLAUDE_MEM_NOW", "2026-06-15T12:00:00Z").env("CLAUDE_MEM_SEED", (run * 1_000_003).to_string());
        command.envs(&self.vars);
        command
    }

    /// Runs to the end.
    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().expect("the program runs"))
    }

    /// Runs with something on stdin.
    pub fn pipe(&self, args: &[&str], input: &str) -> Ran {
        use std::io::Write;
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
        child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("stdin is read");
        ran(child.wait_with_output().expect("the program ends"))
    }

    /// Every file of the store with its bytes, lock files aside.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut out = BTreeMap::new();
        walk(&self.store(), &self.store(), &mut out);
        out
    }
}

/// What a process printed. No thread or task of it may have panicked, not even one whose panic is caught in a build that unwinds:
/// a release build ends there.
pub fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let panicked = String::from_utf8_lossy(&output.stderr).contains("panicked at");
    assert!(!panicked, "{}", String::from_utf8_lossy(&output.stderr));
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn walk(root: &Path, folder: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(root, &path, out);
        } else if path.file_name().is_some_and(|n| n != "lock") {
            out.insert(path.strip_prefix(root).expect("inside").to_owned(), std::fs::read(&path).expect("readable"));
        }
    }
}

/// The same command on a disk without room: every write to a file fails (EFBIG); pipes work.
pub fn on_a_full_disk(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// The shared data folder, if this machine has it; tests that need it say that they skip.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub fn shared() -> Option<PathBuf> {
    let found =
        std::env::var_os("CLAUDE_MEM_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if !found.join("gold").is_dir() {
        println!("skipped: no shared data beside this folder");
        return None;
    }
    Some(found)
}

/// A fixture of the project.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Plays every file of `tests/cases/FOLDER` (or the one that `CASE` names) and fails with all that went wrong.
pub fn cases(folder: &str, play: impl Fn(&str, &str) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("cases").flatten().map(|e| e.path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let only = std::env::var("CASE").ok();
    let mut failed = Vec::new();
    for path in files {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a case");
        if let Err(what) = play(&name, &text) {
            failed.push(format!("{name}: {what}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
