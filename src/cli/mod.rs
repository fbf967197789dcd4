//! The command line: clap types, one match, one file per command. A command's doc comment is its help.

pub mod ui;

mod app;
mod backup;
mod belongs;
mod check;
mod config;
mod doctor;
mod edit;
mod editor;
mod edits;
mod export;
mod forget;
mod graph;
mod history;
mod hook;
mod import;
mod ingest;
mod inject;
mod install;
mod list;
mod mcp;
mod native;
mod project;
mod prune;
mod refine;
mod remember;
mod review;
mod search;
mod selftest;
mod shell;
mod stats;
mod test;
mod turns;
mod usage;

pub use app::App;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::env::Env;
use crate::error::{Error, Result};
use ui::{Color, Ui, Wishes};

/// The memory for Claude that its owner can read, check and trust
///
/// Reads finished conversations, keeps the few things worth knowing as Markdown you can open, and gives the right
/// ones to the next conversation. No daemon, no port, no account.
#[derive(Debug, Parser)]
#[command(name = "claude-mem", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Start with: claude-mem ingest --all-history, then claude-mem inject. More: claude-mem help COMMAND.\nFiles: ~/.claude-mem. Settings: claude-mem config show."
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
struct Global {
    /// Folder of the memories [default: $CLAUDE_MEM_HOME or ~/.claude-mem]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    home: Option<PathBuf>,
    /// Project to work on [default: the one of this repository]
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Global options")]
    project: Option<String>,
    /// Print one JSON object
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Print nothing but data and errors
    #[arg(long, short, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Say more about what is done
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Global options")]
    verbose: bool,
    /// auto, always or never colour [default: auto]
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Global options")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: Color,
    /// Show what would be done and change nothing
    #[arg(long, short = 'n', global = true, help_heading = "Global options")]
    dry_run: bool,
    /// Answer every question with yes
    #[arg(long, short, global = true, help_heading = "Global options")]
    yes: bool,
}

/// Declares the commands: the enum and the one match. Their help is the doc comment of the struct.
macro_rules! commands {
    ($($(#[$meta:meta])* $variant:ident($module:ident::$args:ident)),+ $(,)?) => {
        #[derive(Debug, Subcommand)]
        enum Command { $($(#[$meta])* $variant($module::$args)),+ }

        impl Command {
            fn run(&self, app: &App) -> Result<()> {
                match self { $(Self::$variant(args) => args.run(app)),+ }
            }
        }
    };
}

commands! {
    Ingest(ingest::IngestArgs),
    Inject(inject::InjectArgs),
    Remember(remember::RememberArgs),
    Search(search::SearchArgs),
    WhyNot(search::WhyNotArgs),
    List(list::ListArgs),
    Show(list::ShowArgs),
    Edit(edit::EditArgs),
    Forget(forget::ForgetArgs),
    Review(review::ReviewArgs),
    Resolve(review::ResolveArgs),
    Refine(refine::RefineArgs),
    Prune(prune::PruneArgs),
    Test(test::TestArgs),
    Undo(history::UndoArgs),
    Redo(history::RedoArgs),
    History(history::HistoryArgs),
    Blame(history::BlameArgs),
    Diff(history::DiffArgs),
    Verify(history::VerifyArgs),
    Check(check::CheckArgs),
    Graph(graph::GraphArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Reindex(search::ReindexArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Native(native::NativeArgs),
    Project(project::ProjectArgs),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Upgrade(install::UpgradeArgs),
    Doctor(doctor::DoctorArgs),
    Selftest(selftest::SelftestArgs),
    Stats(stats::StatsArgs),
    Hook(hook::HookArgs),
    #[command(name = "hook-worker", hide = true)]
    HookWorker(hook::WorkerArgs),
    Config(config::ConfigArgs),
    Mcp(mcp::McpArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
    #[command(name = "__clipboard")]
    Clipboard(shell::ClipboardArgs),
}

/// The command line as clap sees it, for completions, the manual and tests.
pub fn command() -> clap::Command {
    usage::shape(Cli::command())
}

/// Runs one command line and gives the exit code. Errors are printed here and nowhere else.
pub fn run(args: Vec<OsString>, env: &Env) -> ExitCode {
    let args = usage::spelled_out(args);
    let parsed = command().try_get_matches_from(&args);
    let name = match &parsed {
        Ok(matches) => matches.subcommand_name().unwrap_or_default().to_owned(),
        Err(_) => usage::command_of(&args, &command()),
    };
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if usage::is_answer(&error) => return answer(&error),
        Err(error) => {
            let json = args.iter().take_while(|a| *a != "--").any(|a| a == "--json");
            return fail(&Ui::new(Wishes { json, ..Wishes::default() }), &name, usage::mistake(&error, &name));
        }
    };
    let global = &cli.global;
    let wishes = Wishes {
        json: global.json,
        quiet: global.quiet,
        verbose: global.verbose,
        yes: global.yes,
        dry_run: global.dry_run,
        color: global.color,
    };
    match App::new(env, Ui::new(wishes), global.home.clone(), global.project.clone()) {
        Err(error) => fail(&Ui::new(wishes), &name, error),
        Ok(app) => match app.ui.end(&name, cli.command.run(&app)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => exit(&app.ui, &error),
        },
    }
}

/// Help and version go to stdout and are exit 0; help that nobody asked for is a usage error (exit 2). Clap knows which.
fn answer(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::from(1),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
    }
}

/// An error before a command could begin.
fn fail(ui: &Ui, command: &str, error: Error) -> ExitCode {
    match ui.end(command, Err(error)) {
        Err(error) => exit(ui, &error),
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn exit(ui: &Ui, error: &Error) -> ExitCode {
    ui.fail(error);
    ExitCode::from(error.kind.exit_code())
}

/// The program: the surroundings, then one command line.
pub fn main(args: Vec<OsString>) -> ExitCode {
    if hook::is_ours(&args) {
        return hook::main(args);
    }
    match Env::system() {
        Ok(env) => {
            crate::store::disk::crash_at(env.var("CLAUDE_MEM_CRASH_AT"));
            run(args, &env)
        }
        Err(error) => fail(&Ui::new(Wishes::default()), "", error),
    }
}
