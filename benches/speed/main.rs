//! How long people wait: the program measured from outside, beside the least that the machine needs for the same, in one run.
//!
//!     cargo bench --bench speed                          0, 1,000, 10,000 and 100,000 memories; some minutes
//!     cargo bench --bench speed -- --quick               1,000 memories, few rounds, no limits
//!     cargo bench --bench speed -- --sizes 1000,10000 --bin target/release/claude-mem
//!
//! Baselines are this same program, called as `empty`, `fts` or `swap`. Each figure is a median of whole processes (or of calls,
//! for MCP); a ratio compares the medians of one loop, in which command and baseline take turns.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench plays the user, and shows what it measured"
)]

mod baseline;
mod data;
mod server;
mod world;

use std::process::ExitCode;

use world::{Figure, World};

/// What is measured, and how thoroughly.
struct Wanted {
    program: String,
    sizes: Vec<usize>,
    rounds: usize,
    /// Whether a missed target is a failure.
    strict: bool,
}

impl Wanted {
    fn of(arguments: &[String]) -> Self {
        let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
        let quick = arguments.iter().any(|a| a == "--quick");
        let sizes = value("--sizes").unwrap_or_else(|| if quick { "1000".into() } else { "0,1000,10000,100000".into() });
        Self {
            program: value("--bin").unwrap_or_else(|| env!("CARGO_BIN_EXE_claude-mem").to_owned()),
            sizes: sizes.split(',').map(|n| n.parse().expect("a number of memories")).collect(),
            rounds: value("--rounds").map_or(if quick { 5 } else { 15 }, |n| n.parse().expect("a number of rounds")),
            strict: arguments.iter().any(|a| a == "--strict"),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if baseline::run(&arguments) {
        return ExitCode::SUCCESS;
    }
    let wanted = Wanted::of(&arguments);
    println!("{:>7}  {:<34} {:>10} {:>10} {:>8} {:>9}  target", "n", "what", "median", "least", "cpu ms", "x base");
    let mut missed = 0;
    for size in &wanted.sizes {
        let world = World::new(&wanted.program, *size, wanted.rounds);
        let mut show = |figure: Figure| {
            missed += usize::from(figure.is_missed());
            println!("{size:>7}  {figure}");
        };
        readers(&world, &mut show);
        server::measure(&world, &mut show);
        writers(&world, &mut show);
        index(&world, &mut show);
    }
    println!("{missed} of the targets missed on this machine, as busy as it is now");
    if wanted.strict && missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What only reads: the start, hooks and search, with and without an index.
fn readers(world: &World, show: &mut dyn FnMut(Figure)) {
    let empty = || world.baseline(&["empty"]);
    show(world.pair("--version", || world.command(&["--version"]), empty).at_most_ms(3.0));
    for event in ["SessionStart", "UserPromptSubmit"] {
        world.hook(event);
        show(world.pair(&format!("{event}, warm"), || world.hook(event), empty).at_most_ms(8.0));
        let cold = || {
            world.forget_caches();
            let took = world.hook(event);
            // What it began in the background shall not be in the way of the next one.
            world.catch_up();
            took
        };
        show(world.pair(&format!("{event}, no index"), cold, empty).at_most_ms(8.0));
    }
    if world.size == 0 {
        return;
    }
    let bare = world.bare_index();
    let fts = || world.baseline(&["fts", &bare]);
    show(world.pair("search", || world.in_project(&["search", "payment callback 支付"]), fts).at_most(1.5));
    show(world.pair("inject --print", || world.in_project(&["inject", "--print"]), empty));
}

/// What brings something to the disk, beside writing as many bytes in the same number of files.
fn writers(world: &World, show: &mut dyn FnMut(Figure)) {
    let swap = || world.baseline(&["swap", &world.files()]);
    let mut n = 0;
    let remember = || {
        n += 1;
        world.in_project(&["remember", &data::statement(world.size + n)])
    };
    show(world.pair("remember", remember, swap).at_most(2.0));
    let mut n = 0;
    let ingest = || {
        n += 1;
        let transcript = world.transcript(n);
        world.in_project(&["ingest", &transcript, "--extractor", "rules"])
    };
    show(world.pair("ingest of one conversation", ingest, swap).at_most(3.0));
}

fn index(world: &World, show: &mut dyn FnMut(Figure)) {
    if world.size == 0 {
        return;
    }
    let empty = || world.baseline(&["empty"]);
    let whole = (world.size == 10_000).then_some(700.0);
    show(world.few("reindex", || world.command(&["reindex"]), empty).at_most_ms_if(whole));
    let same = (world.size <= 10_000).then_some(25.0);
    show(world.pair("reindex --update, nothing changed", || world.command(&["reindex", "--update"]), empty).at_most_ms_if(same));
    let (index, markdown) = (world.bytes(".state", "search.db"), world.bytes("bench", ".md"));
    show(Figure::size("search.db", index, markdown, "Markdown"));
    show(Figure::size("index.json", world.bytes("bench", "index.json"), markdown, "Markdown"));
}
