//! The command line: clap types, one match, one file per command. A command's doc comment is its help.

pub mod ui;

mod app;
mod backup;
mod belongs;
mod config;
mod edit;
mod forget;
mod history;
mod ingest;
mod inject;
mod list;
mod project;
mod prune;
mod refine;
mod remember;
mod review;
mod shell;
mod stats;
mod transfer;

pub use app::App;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

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
    after_help = "Start with: claude-mem ingest --all-history, then claude-mem inject. Files: ~/.claude-mem. Settings: claude-mem config show."
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
    /// Colour the output
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Global options")]
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
    List(list::ListArgs),
    Show(list::ShowArgs),
    Edit(edit::EditArgs),
    Forget(forget::ForgetArgs),
    Review(review::ReviewArgs),
    Resolve(review::ResolveArgs),
    Refine(refine::RefineArgs),
    Prune(prune::PruneArgs),
    Undo(history::UndoArgs),
    Redo(history::RedoArgs),
    History(history::HistoryArgs),
    Verify(history::VerifyArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
    Project(project::ProjectArgs),
    Stats(stats::StatsArgs),
    Config(config::ConfigArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
    #[command(name = "__clipboard")]
    Clipboard(shell::ClipboardArgs),
}

/// The command line as clap sees it, for completions, the manual and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs one command line and gives the exit code. Errors are printed here and nowhere else.
pub fn run(args: Vec<OsString>, env: &Env) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers (exit 0), the rest is a usage error (exit 2); clap knows which.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
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
    let ui = Ui::new(wishes);
    let outcome = App::new(env, ui, global.home.clone(), global.project.clone()).and_then(|app| cli.command.run(&app));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(wishes, &error),
    }
}

fn fail(wishes: Wishes, error: &Error) -> ExitCode {
    Ui::new(wishes).fail(error);
    ExitCode::from(error.kind.exit_code())
}

/// The program: the surroundings, then one command line.
pub fn main(args: Vec<OsString>) -> ExitCode {
    match Env::system() {
        Ok(env) => {
            crate::store::disk::crash_at(env.var("CLAUDE_MEM_CRASH_AT"));
            run(args, &env)
        }
        Err(error) => fail(Wishes::default(), &error),
    }
}
