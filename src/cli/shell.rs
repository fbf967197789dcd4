//! `completions` and `man`: made from the same definitions as the help.

use clap::Args;
use clap_complete::Shell;
use std::io::Read;

use super::app::App;
use crate::clipboard;
use crate::error::{Error, Result};

/// Print completions for a shell
///
/// For bash: claude-mem completions bash > ~/.local/share/bash-completion/completions/claude-mem
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl CompletionsArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut out = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "claude-mem", &mut out);
        app.ui.data(&String::from_utf8_lossy(&out));
        Ok(())
    }
}

/// Print the manual page
///
/// Read it with: claude-mem man | man -l -
#[derive(Debug, Args)]
pub struct ManArgs {}

impl ManArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut out = Vec::new();
        let mut command = super::command();
        command.build();
        let failed = |e: std::io::Error| Error::failure(format!("the manual cannot be made: {e}"));
        let page = clap_mangen::Man::new(command.clone());
        let parts = [
            clap_mangen::Man::render_title,
            clap_mangen::Man::render_name_section,
            clap_mangen::Man::render_synopsis_section,
            clap_mangen::Man::render_description_section,
            clap_mangen::Man::render_options_section,
        ];
        for part in parts {
            part(&page, &mut out).map_err(failed)?;
        }
        out.extend_from_slice(b".SH COMMANDS\n");
        for sub in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            out.extend_from_slice(manual(sub, sub.get_name()).as_bytes());
        }
        app.ui.data(&String::from_utf8_lossy(&out));
        Ok(())
    }
}

/// A command in the manual: how it is called, what it does, its own options; then the commands below it.
fn manual(command: &clap::Command, name: &str) -> String {
    // A backslash and a dot or quote at the beginning of a line mean something to the formatter.
    let roff = |text: &str| {
        let escaped = text.replace('\\', "\\e").replace('-', "\\-");
        escaped.lines().map(|l| if l.starts_with(['.', '\'']) { format!("\\&{l}") } else { l.to_owned() }).collect::<Vec<_>>().join("\n")
    };
    let about = [command.get_about(), command.get_before_help()].into_iter().flatten().map(|text| format!("{}\n", roff(&text.to_string())));
    let own = |arg: &&clap::Arg| !arg.is_hide_set() && !arg.is_global_set() && arg.get_id() != "help";
    let args: Vec<&clap::Arg> = command.get_arguments().filter(own).collect();
    let positional = args.iter().filter(|a| a.is_positional()).map(|a| format!(" {a}")).collect::<String>();
    let mut out = format!(".SS \"{} [options]{}\"\n", roff(name), roff(&positional).replace('"', "'"));
    out.push_str(&about.collect::<Vec<_>>().join(".PP\n"));
    for arg in args {
        let short = arg.get_short().map(|s| format!("-{s}, ")).unwrap_or_default();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        out.extend([".TP\n\\fB", &roff(&format!("{short}{arg}")), "\\fR\n", &roff(&help), "\n"]);
    }
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        out.push_str(&manual(sub, &format!("{name} {}", sub.get_name())));
    }
    out
}

/// Hold a text on the clipboard for a while; started by inject, not by people
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ClipboardArgs {}

impl ClipboardArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(|e| Error::failure(format!("stdin cannot be read: {e}")))?;
        clipboard::serve(&text, &mut app.ui.raw())
    }
}
