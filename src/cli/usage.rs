//! Mistakes on the command line in our own shape, and the shape of the help: one screen, global options last.
//!
//! Not here: the commands and their options (`cli`).

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction};

use crate::error::{Error, Kind};

/// About, then what the doc comment says beyond its first paragraph, then how it is called.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The help of a command and of all below it: the short form, so that it fits a screen, with the whole doc comment.
pub fn shape(command: clap::Command) -> clap::Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let more = long.strip_prefix(&about).unwrap_or_default().trim().to_owned();
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help");
    let shaped = command.disable_help_flag(true).help_template(TEMPLATE).mut_subcommands(shape);
    let shaped = if more.is_empty() { shaped } else { shaped.before_help(more) };
    shaped.arg(help.help_heading("Global options").display_order(usize::MAX))
}

/// `help COMMAND…` as `COMMAND… --help`; everything else as it is.
pub fn spelled_out(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|a| a == "help") {
        args.remove(1);
        args.retain(|a| a != "--help" && a != "-h");
        args.push("--help".into());
    }
    args
}

/// The command that a command line names, for errors found before it could be read.
pub fn command_of(args: &[OsString], command: &clap::Command) -> String {
    let names = args.iter().skip(1).filter_map(|a| a.to_str());
    let known = |name: &&str| command.find_subcommand(name).is_some();
    names.take_while(|a| *a != "--").find(known).unwrap_or_default().to_owned()
}

/// Whether help or the version was asked for: an answer, not a mistake.
pub fn is_answer(error: &clap::Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// A mistake on the command line as a sentence and a hint. `command`: the one that was meant, if any.
pub fn mistake(error: &clap::Error, command: &str) -> Error {
    let get = |kind| error.get(kind).map(words).unwrap_or_default();
    let argument = get(ContextKind::InvalidArg);
    let value = get(ContextKind::InvalidValue);
    let message = match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with('-') => format!("there is no option {argument}"),
        ErrorKind::UnknownArgument => format!("`{argument}` is one argument too many"),
        ErrorKind::InvalidSubcommand => format!("there is no command `{}`", get(ContextKind::InvalidSubcommand)),
        ErrorKind::MissingSubcommand => format!("{command} needs to know what to do"),
        ErrorKind::MissingRequiredArgument => format!("{argument} is missing"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if value.is_empty() => format!("{argument} needs a value"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => format!("`{value}` is no value for {argument}"),
        ErrorKind::ArgumentConflict => format!("{argument} and {} do not go together", get(ContextKind::PriorArg)),
        _ => first_paragraph(error),
    };
    Error::new(Kind::Usage, message).hint(hint(error, command))
}

fn hint(error: &clap::Error, command: &str) -> String {
    use ContextKind::{SuggestedArg, SuggestedSubcommand, SuggestedValue, ValidSubcommand, ValidValue};
    let find = |kinds: &[ContextKind]| kinds.iter().find_map(|k| error.get(*k)).map(words).filter(|t| !t.is_empty());
    if let Some(meant) = find(&[SuggestedArg, SuggestedSubcommand, SuggestedValue]) {
        return format!("did you mean {meant}?");
    }
    if let Some(choices) = find(&[ValidValue, ValidSubcommand]) {
        return format!("use one of: {choices}");
    }
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    // The words of number parsers in the standard library.
    if ["invalid digit", "number too large", "is not in ", "cannot parse integer"].iter().any(|w| cause.contains(w)) {
        return "use a whole number, 0 or more".to_owned();
    }
    match cause.as_str() {
        "" if command.is_empty() => "`claude-mem --help` lists the commands".to_owned(),
        "" => format!("`claude-mem {command} --help` shows what it takes"),
        "invalid float literal" => "use a number".to_owned(),
        cause => format!("use {cause}"),
    }
}

fn words(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(list) => list.join(", "),
        other => other.to_string(),
    }
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|l| !l.is_empty());
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

/// A number of things to show: none is no answer to anything.
///
/// # Errors
/// A sentence, if it is no number or 0.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a whole number, 1 or more".to_owned())
}
