//! A home with so many memories, the program run in it, and what a run of it costs.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{baseline, data};

/// A scratch home, and how often to measure in it.
pub struct World {
    folder: tempfile::TempDir,
    pub program: String,
    pub size: usize,
    rounds: usize,
}

impl World {
    /// A home with this many memories in the project `bench`.
    pub fn new(program: &str, size: usize, rounds: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let world = Self { folder, program: program.to_owned(), size, rounds };
        fs::create_dir(world.work()).expect("a folder");
        world.command(&["project", "init", "bench"]);
        if size > 0 {
            let rows: Vec<String> = (0..size).map(data::memory).collect();
            let file = world.path("import.jsonl");
            fs::write(&file, rows.join("\n")).expect("written");
            // As its owner's own word: otherwise what reads like a rule would wait for review instead of being stored.
            world.in_project(&["import", "--trust", &file]);
        }
        world.in_project(&["project", "bind", "bench"]);
        world.command(&["reindex"]);
        world
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("bench")
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The program with arguments, in the project's folder.
    pub fn process(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(self.home()).args(arguments).env("HOME", self.folder.path()).current_dir(self.work());
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Duration {
        timed(&mut self.process(arguments), "")
    }

    /// Waits until the index is up to date, whoever is making it; for a large store that takes longer than a command waits.
    pub fn catch_up(&self) {
        let up_to_date = || self.process(&["reindex", "--update"]).output().expect("a process").status.success();
        let tries = 60;
        assert!((0..tries).any(|_| up_to_date()), "no index after {tries} tries");
    }

    pub fn in_project(&self, arguments: &[&str]) -> Duration {
        self.command(&[&["--project", "bench"], arguments].concat())
    }

    /// A hook as the client calls it, in a session of its own.
    pub fn hook(&self, event: &str) -> Duration {
        let session = "0cba8f0c-26e8-4770-bench";
        let input = serde_json::json!({
            "hook_event_name": event, "session_id": session, "cwd": self.work(), "source": "startup",
            "prompt": "how does the payment callback retry? 支付回调如何重试",
        });
        // What a session has been given already is not given again.
        fs::remove_file(self.home().join(".state/sessions").join(session)).unwrap_or_default();
        timed(&mut self.process(&["hook", event]), &input.to_string())
    }

    pub fn baseline(&self, arguments: &[&str]) -> Duration {
        timed(Command::new(std::env::current_exe().expect("this program")).args(arguments), "")
    }

    pub fn forget_caches(&self) {
        for name in ["search.db", "search.db-wal", "search.db-shm"] {
            fs::remove_file(self.home().join(".state").join(name)).unwrap_or_default();
        }
        fs::remove_dir_all(self.home().join(".state/cache")).unwrap_or_default();
    }

    /// A bare FTS5 table of the same texts.
    pub fn bare_index(&self) -> String {
        let file = self.path("bare.db");
        baseline::make_index(Path::new(&file), (0..self.size).map(data::memory));
        file
    }

    /// Copies of the files that a commit replaces, as an argument of `swap`.
    pub fn files(&self) -> String {
        let copy = |name: &str| {
            let to = self.path(&format!("bare-{name}"));
            fs::copy(self.home().join("bench").join(name), &to).is_ok().then_some(to)
        };
        ["working-memory.md", "index.json"].into_iter().filter_map(copy).collect::<Vec<_>>().join(":")
    }

    pub fn transcript(&self, n: usize) -> String {
        let file = self.path(&format!("talk-{n}.json"));
        fs::write(&file, data::conversation(n)).expect("written");
        file
    }

    /// Bytes of the files below a folder of the home whose names end so.
    pub fn bytes(&self, folder: &str, end: &str) -> u64 {
        let items = self.home().join(folder).read_dir().into_iter().flatten().flatten();
        items.filter(|i| i.file_name().to_string_lossy().ends_with(end)).filter_map(|i| i.metadata().ok()).map(|m| m.len()).sum()
    }

    /// Command and baseline in turns.
    pub fn pair(&self, name: &str, command: impl FnMut() -> Duration, base: impl FnMut() -> Duration) -> Figure {
        Figure::of(name, self.rounds, command, base)
    }

    /// The same, for what takes long.
    pub fn few(&self, name: &str, command: impl FnMut() -> Duration, base: impl FnMut() -> Duration) -> Figure {
        Figure::of(name, self.rounds.div_ceil(5), command, base)
    }
}

/// Runs a process to its end. What is made ready before it is not counted.
fn timed(command: &mut Command, input: &str) -> Duration {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().expect("a process");
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing may be gone already.
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap_or_default();
    }
    let output = child.wait_with_output().expect("an end");
    let took = begun.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    took
}

/// One row of the table.
pub struct Figure {
    name: String,
    median: f64,
    least: f64,
    /// Mean of a run, in milliseconds: what a busy machine does not distort so much.
    cpu: f64,
    ratio: f64,
    unit: &'static str,
    target: Option<(f64, bool)>,
}

impl Figure {
    fn of(name: &str, rounds: usize, mut command: impl FnMut() -> Duration, mut base: impl FnMut() -> Duration) -> Self {
        let (mut all, mut bases, mut cpu) = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..rounds {
            bases.push(base());
            let before = cpu_of_children();
            all.push(command());
            cpu += cpu_of_children() - before;
        }
        let bases = Self::times("", bases);
        let figure = Self::times(name, all);
        Self { ratio: figure.median / bases.median, cpu: cpu / rounds as f64, ..figure }
    }

    /// The median of some times.
    pub fn times(name: &str, times: Vec<Duration>) -> Self {
        Self { median: rank(&times, 0.5), least: rank(&times, 0.0), ..Self::empty(name, "ms") }
    }

    /// The time below which 99 of 100 are.
    pub fn slow(name: &str, times: &[Duration]) -> Self {
        Self { median: rank(times, 0.99), least: rank(times, 0.0), ..Self::empty(name, "ms") }
    }

    /// Bytes beside those of something else.
    pub fn size(name: &str, bytes: u64, beside: u64, what: &str) -> Self {
        let kb = |bytes: u64| bytes as f64 / 1024.0;
        let name = if what.is_empty() { name.to_owned() } else { format!("{name}, x {what}") };
        Self { median: kb(bytes), least: kb(bytes), ratio: bytes as f64 / beside.max(1) as f64, ..Self::empty(&name, "KB") }
    }

    fn empty(name: &str, unit: &'static str) -> Self {
        Self { name: name.to_owned(), median: 0.0, least: 0.0, cpu: f64::NAN, ratio: f64::NAN, unit, target: None }
    }

    /// At most this many times the baseline.
    pub fn at_most(self, ratio: f64) -> Self {
        Self { target: Some((ratio, true)), ..self }
    }

    /// At most this long, or large.
    pub fn at_most_ms(self, most: f64) -> Self {
        Self { target: Some((most, false)), ..self }
    }

    pub fn at_most_ms_if(self, most: Option<f64>) -> Self {
        Self { target: most.map(|most| (most, false)), ..self }
    }

    /// Without a ratio.
    pub fn alone(self) -> Self {
        Self { ratio: f64::NAN, ..self }
    }

    pub fn is_missed(&self) -> bool {
        self.target.is_some_and(|(most, by_ratio)| if by_ratio { self.ratio > most } else { self.median > most })
    }
}

/// Milliseconds of processor time of all processes that were waited for so far, where the system says so (in steps of 10).
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything, `cutime` and `cstime` are the 14th and 15th field.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(13).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}

/// In milliseconds, the time at this place among all, from 0 to 1.
fn rank(times: &[Duration], place: f64) -> f64 {
    let mut ms: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1000.0).collect();
    ms.sort_by(f64::total_cmp);
    ms.get(((ms.len().max(1) - 1) as f64 * place).round() as usize).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |figure: f64| if figure.is_nan() { String::new() } else { format!("{figure:.2}") };
        let (cpu, ratio) = (show(self.cpu), show(self.ratio));
        let target = self.target.map_or_else(String::new, |(most, by_ratio)| {
            let unit = if by_ratio { " x base" } else { self.unit };
            format!("<= {most}{unit}{}", if self.is_missed() { "  MISSED" } else { "" })
        });
        write!(f, "{:<34} {:>7.2} {} {:>7.2} {} {cpu:>8} {ratio:>9}  {target}", self.name, self.median, self.unit, self.least, self.unit)
    }
}
