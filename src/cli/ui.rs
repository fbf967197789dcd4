//! The only printer. Data goes to stdout, everything else to stderr; foreign text is made safe for a terminal here.

use std::cell::Cell;
use std::io::{BufRead, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};
use crate::text::sanitise;

/// What was asked of the output on the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// One JSON object on stdout.
    pub json: bool,
    /// Nothing on stderr but errors.
    pub quiet: bool,
    /// More on stderr.
    pub verbose: bool,
    /// Never ask: yes.
    pub yes: bool,
    /// Change nothing.
    pub dry_run: bool,
    /// Colour.
    pub color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The terminal, or what stands for it.
#[derive(Debug)]
pub struct Ui {
    /// What was asked.
    pub wishes: Wishes,
    stdout_terminal: bool,
    choice: ColorChoice,
    closed: Cell<bool>,
}

/// Styles by meaning; colour never carries meaning alone.
pub mod style {
    use super::{AnsiColor, Style};
    /// Headings, names.
    pub const STRONG: Style = Style::new().bold();
    /// Secondary.
    pub const DIM: Style = Style::new().dimmed();
    /// Done, added.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// Look here.
    pub const WARN: Style = AnsiColor::Yellow.on_default();
    /// Failed, removed.
    pub const BAD: Style = AnsiColor::Red.on_default();
    /// Hints, ids.
    pub const HINT: Style = AnsiColor::Cyan.on_default();
}

/// `text` in a style; the stream drops the style where it does not belong.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// `1 memory`, `2 memories`: a count with the right form of its noun.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

impl Ui {
    /// A printer for the real terminal.
    pub fn new(wishes: Wishes) -> Self {
        let choice = match wishes.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Self { wishes, stdout_terminal: std::io::stdout().is_terminal(), choice, closed: Cell::new(false) }
    }

    /// Whether stdout is a terminal: then foreign text is sanitised and layout may be pretty.
    pub fn on_terminal(&self) -> bool {
        self.stdout_terminal
    }

    /// Whether a person can be asked.
    pub fn can_ask(&self) -> bool {
        !self.wishes.yes && !self.wishes.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Foreign text (of files, models, transcripts) for one line of human output.
    pub fn foreign(&self, text: &str) -> String {
        sanitise::line(text)
    }

    /// Data: to stdout as it is; made safe if that is a terminal. A closed pipe ends output without a word.
    pub fn data(&self, text: &str) {
        if self.stdout_terminal { self.stdout(&sanitise::block(text)) } else { self.stdout(text) }
    }

    /// Our own human-readable lines on stdout, styles included (foreign parts went through [`Ui::foreign`]).
    pub fn line(&self, text: &str) {
        self.stdout(&format!("{text}\n"));
    }

    fn stdout(&self, text: &str) {
        if self.closed.get() {
            return;
        }
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.choice_for(&std::io::stdout()));
        if stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).is_err() {
            self.closed.set(true);
        }
    }

    /// stdout as it is, for one helper that speaks to its parent.
    pub fn raw(&self) -> std::io::Stdout {
        std::io::stdout()
    }

    fn choice_for(&self, stream: &impl anstream::stream::RawStream) -> ColorChoice {
        if self.choice == ColorChoice::Auto { AutoStream::choice(stream) } else { self.choice }
    }

    /// The one JSON object of a command: `{"version":1,"command":…,…fields}`.
    pub fn object(&self, command: &str, fields: Map<String, Value>) {
        let mut object = Map::new();
        object.insert("version".into(), Value::from(1));
        object.insert("command".into(), Value::from(command));
        object.extend(fields);
        self.stdout(&format!("{}\n", Value::Object(object)));
    }

    /// For people, on stderr, unless quiet.
    pub fn say(&self, text: &str) {
        if !self.wishes.quiet {
            self.stderr(text);
        }
    }

    /// Only with `--verbose`.
    pub fn detail(&self, text: &str) {
        if self.wishes.verbose {
            self.stderr(&paint(style::DIM, text));
        }
    }

    /// Something a person should know although the command goes on.
    pub fn warn(&self, text: &str) {
        self.stderr(&format!("{} {text}", paint(style::WARN, "warning:")));
    }

    /// A failure: one sentence, then the hint.
    pub fn fail(&self, error: &Error) {
        self.stderr(&format!("{} {}", paint(style::BAD, "error:"), sanitise::block(&error.message)));
        if let Some(hint) = &error.hint {
            self.stderr(&format!("{} {}", paint(style::HINT, "hint:"), sanitise::block(hint)));
        }
    }

    fn stderr(&self, text: &str) {
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice_for(&std::io::stderr()));
        // If stderr is gone there is nobody left to tell.
        let _ = writeln!(stream, "{text}");
    }

    /// Asks for a yes. `--yes` answers; without a terminal it is exit 6.
    pub fn confirm(&self, question: &str) -> Result<bool> {
        if self.wishes.yes {
            return Ok(true);
        }
        Ok(self.ask(&format!("{question} [y/N]"))?.trim().to_lowercase().starts_with('y'))
    }

    /// Asks for a line of text.
    pub fn ask(&self, question: &str) -> Result<String> {
        if !self.can_ask() {
            return Err(Error::new(Kind::Decision, format!("{question} needs an answer, and there is no terminal to ask at"))
                .hint("run it at a terminal, or pass --yes"));
        }
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice_for(&std::io::stderr()));
        let asked = write!(stream, "{} ", paint(style::STRONG, question)).and_then(|()| stream.flush());
        asked.map_err(|e| Error::failure(format!("the terminal cannot be written to: {e}")))?;
        drop(stream);
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map_err(|e| Error::failure(format!("no answer could be read: {e}")))?;
        Ok(answer.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// A progress bar over `length` steps; hidden off a terminal, with `--quiet` and `--json`.
    pub fn progress(&self, length: u64) -> indicatif::ProgressBar {
        if self.wishes.quiet || self.wishes.json || length < 2 || !std::io::stderr().is_terminal() {
            return indicatif::ProgressBar::hidden();
        }
        let bar = indicatif::ProgressBar::new(length);
        // A template that does not parse leaves the library's own bar.
        if let Ok(template) = indicatif::ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
            bar.set_style(template);
        }
        bar
    }
}
