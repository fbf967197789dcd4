//! The only printer. Data goes to stdout, everything else to stderr; foreign text is made safe for a terminal here.

pub mod bar;
pub mod columns;
pub mod diff;
mod wait;
pub mod wrap;

pub use wait::Waiting;

use std::cell::{Cell, RefCell};
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
    /// Cells of a line on stdout and on stderr, where that is a terminal.
    stdout_width: Option<usize>,
    stderr_width: Option<usize>,
    choice: ColorChoice,
    closed: Cell<bool>,
    /// Why stdout could not be written, if that was not a reader who left.
    failed: RefCell<Option<std::io::Error>>,
    /// The JSON object, until the command ends.
    object: RefCell<Option<Map<String, Value>>>,
}

/// Cells of a line, if there is a terminal and it is wide enough to lay anything out.
fn width_of(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.filter(|_| terminal).map(|(width, _)| usize::from(width.0)).filter(|w| *w >= 20)
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

pub use crate::text::words::count;

/// Times that a question is asked again after an answer that is none.
pub const TRIES: usize = 3;

/// Cells of a progress bar.
const BAR: usize = 24;

/// What every JSON object begins with.
fn head(command: &str) -> Map<String, Value> {
    [("version".to_owned(), Value::from(1)), ("command".to_owned(), Value::from(command))].into_iter().collect()
}

/// Lines that fit; what does not is indented by two cells more than its beginning.
fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let one = |line: &str| wrap::wrap(line, width, line.len() - line.trim_start_matches(' ').len() + 2);
    text.split('\n').map(one).collect::<Vec<_>>().join("\n")
}

impl Ui {
    /// A printer for the real terminal.
    pub fn new(wishes: Wishes) -> Self {
        let choice = match wishes.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            wishes,
            stdout_terminal: out.is_terminal(),
            stdout_width: width_of(out.is_terminal(), terminal_size::terminal_size_of(&out)),
            stderr_width: width_of(err.is_terminal(), terminal_size::terminal_size_of(&err)),
            choice,
            closed: Cell::new(false),
            failed: RefCell::new(None),
            object: RefCell::new(None),
        }
    }

    /// Whether stdout is a terminal: then foreign text is sanitised and layout may be pretty.
    pub fn on_terminal(&self) -> bool {
        self.stdout_terminal
    }

    /// Cells of a line on stdout; `None` off a terminal.
    pub fn width(&self) -> Option<usize> {
        self.stdout_width
    }

    /// Whether a person can be asked.
    pub fn can_ask(&self) -> bool {
        !self.wishes.yes && !self.wishes.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Foreign text (of files, models, transcripts) for one line of human output.
    pub fn foreign(&self, text: &str) -> String {
        sanitise::line(text)
    }

    /// Whether a program that fills the screen, such as an editor, can run: stdin and stdout are the terminal.
    pub fn has_screen(&self) -> bool {
        self.stdout_terminal && std::io::stdin().is_terminal()
    }

    /// Data: to stdout as it is; made safe if that is a terminal. A closed pipe ends output without a word.
    pub fn data(&self, text: &str) {
        if self.stdout_terminal { self.stdout(&sanitise::block(text)) } else { self.stdout(text) }
    }

    /// Our own human-readable lines on stdout, styles included (foreign parts went through [`Ui::foreign`]). At a terminal
    /// long ones are wrapped under their own beginning.
    pub fn line(&self, text: &str) {
        self.stdout(&format!("{}\n", wrapped(text, self.stdout_width)));
    }

    /// The same for what a command did, which `--quiet` leaves out.
    pub fn report(&self, text: &str) {
        if !self.wishes.quiet {
            self.line(text);
        }
    }

    /// The same as [`Ui::line`], with what is wrapped under cell `indent`.
    pub fn hang(&self, text: &str, indent: usize) {
        let text = self.stdout_width.map_or_else(|| text.to_owned(), |width| wrap::wrap(text, width, indent));
        self.stdout(&format!("{text}\n"));
    }

    /// One line of a table: cut at the edge of a terminal, whole anywhere else.
    pub fn row(&self, text: &str) {
        let text = self.stdout_width.map_or_else(|| text.to_owned(), |width| wrap::cut(text, width));
        self.stdout(&format!("{text}\n"));
    }

    /// The outcome of a command that changes something: its JSON object, or `verb what`; after a dry run `would … what`, and
    /// `"dry_run": true`. `verb`: as done and as it would be, such as `("made", "make")`.
    pub fn done(&self, command: &str, mut fields: Map<String, Value>, verb: (&str, &str), what: &str) {
        if self.wishes.json {
            if self.wishes.dry_run {
                fields.insert("dry_run".into(), true.into());
            }
            self.object(command, fields);
        } else if !self.wishes.quiet {
            let verb = if self.wishes.dry_run { paint(style::WARN, &format!("would {}", verb.1)) } else { paint(style::GOOD, verb.0) };
            self.line(&format!("{verb} {what}"));
        }
    }

    /// After a question was answered with no, or there was nothing to do.
    pub fn unchanged(&self) {
        self.say("nothing was changed");
    }

    fn stdout(&self, text: &str) {
        if self.closed.get() {
            return;
        }
        let mut stream = AutoStream::new(std::io::stdout().lock(), self.choice_for(&std::io::stdout()));
        if let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            self.closed.set(true);
            self.failed.replace(Some(error).filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe));
        }
    }

    /// Whether everything so far could be written. A reader who left has what he wanted.
    ///
    /// # Errors
    /// A full disk, and whatever else kept data from where it was to go.
    pub fn written(&self) -> Result<()> {
        match self.failed.take() {
            Some(error) => Err(Error::io("write to", std::path::Path::new("stdout"), &error)),
            None => Ok(()),
        }
    }

    /// stdout as it is, for one helper that speaks to its parent.
    pub fn raw(&self) -> std::io::Stdout {
        std::io::stdout()
    }

    fn choice_for(&self, stream: &impl anstream::stream::RawStream) -> ColorChoice {
        if self.choice == ColorChoice::Auto { AutoStream::choice(stream) } else { self.choice }
    }

    /// The one JSON object of a command: `{"version":1,"command":…,…fields}`. It is printed when the command ends.
    pub fn object(&self, command: &str, fields: Map<String, Value>) {
        let mut object = head(command);
        object.extend(fields);
        if let Some(before) = self.object.replace(Some(object)) {
            self.stdout(&format!("{}\n", Value::Object(before)));
        }
    }

    /// Ends a command: prints its JSON object, with the error in it if there is one, and says whether all could be written.
    pub fn end(&self, command: &str, outcome: Result<()>) -> Result<()> {
        let mut object = self.object.take();
        if let (Err(error), true) = (&outcome, self.wishes.json) {
            let object = object.get_or_insert_with(|| head(command));
            let exit = error.kind.exit_code();
            object.insert("error".into(), serde_json::json!({"message": error.message, "hint": error.hint, "exit": exit}));
        }
        if let Some(object) = object {
            self.stdout(&format!("{}\n", Value::Object(object)));
        }
        outcome.and_then(|()| self.written())
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
        let text = wrapped(text, self.stderr_width);
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice_for(&std::io::stderr()));
        // If stderr is gone there is nobody left to tell.
        let _ = writeln!(stream, "{text}");
    }

    /// Asks for a yes. `--yes` answers; without a terminal it is exit 6. What is neither yes nor no is asked again, a few times.
    pub fn confirm(&self, question: &str) -> Result<bool> {
        if self.wishes.yes {
            return Ok(true);
        }
        for _ in 0..TRIES {
            match self.ask(&format!("{question} [y/N]"))?.trim().to_lowercase().as_str() {
                "y" | "ye" | "yes" | "yep" | "是" | "好" => return Ok(true),
                "" | "n" | "no" | "nope" | "否" | "不" => return Ok(false),
                _ => self.stderr("  answer y or n"),
            }
        }
        Ok(false)
    }

    /// Asks for a line of text; empty at the end of the input.
    pub fn ask(&self, question: &str) -> Result<String> {
        Ok(self.answer(question)?.unwrap_or_default())
    }

    /// Asks until one of the choices is given, by its first letter or whole: (word, what it does). `?` shows what there is to
    /// choose from; the end of the input is the last choice.
    pub fn choose(&self, question: &str, choices: &[(&'static str, &str)]) -> Result<&'static str> {
        let letters: Vec<&str> = choices.iter().filter_map(|(word, _)| word.get(..1)).collect();
        let question = format!("{question} [{},?]", letters.join(","));
        loop {
            let Some(answer) = self.answer(&question)? else { return Ok(choices.last().map_or("", |(word, _)| word)) };
            let answer = answer.trim().to_lowercase();
            let found = choices.iter().find(|(word, _)| answer == *word || word.get(..1) == Some(answer.as_str()));
            if let Some((word, _)) = found {
                return Ok(word);
            }
            if answer != "?" {
                let wrong = if answer.is_empty() { "answer with one".to_owned() } else { format!("`{}` is none", self.foreign(&answer)) };
                self.stderr(&format!("  {wrong} of {}; ? says what they do", letters.join(", ")));
                continue;
            }
            for (word, what) in choices {
                self.stderr(&format!("  {} - {what}", paint(style::STRONG, word)));
            }
        }
    }

    /// A line of the person at the terminal; `None` at the end of the input.
    pub fn answer(&self, question: &str) -> Result<Option<String>> {
        if !self.can_ask() {
            return Err(Error::new(Kind::Decision, format!("{question} needs an answer, and there is no terminal to ask at"))
                .hint("run it at a terminal, or pass --yes"));
        }
        let mut stream = AutoStream::new(std::io::stderr().lock(), self.choice_for(&std::io::stderr()));
        let asked = write!(stream, "{} ", paint(style::STRONG, question)).and_then(|()| stream.flush());
        asked.map_err(|e| Error::failure(format!("the terminal cannot be written to: {e}")))?;
        drop(stream);
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer).map_err(|e| Error::failure(format!("no answer could be read: {e}")))?;
        if read == 0 {
            self.stderr("");
            return Ok(None);
        }
        Ok(Some(answer.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// A name beside a progress bar, cut so that bar and name stay on one line.
    pub fn beside_bar(&self, name: &str) -> String {
        wrap::cut(&self.foreign(name), self.stderr_width.unwrap_or(80).saturating_sub(BAR + 24))
    }

    /// Says after a while what is waited for, as long as what is given back lives; never off a terminal, with `--quiet` or `--json`.
    pub fn waiting(&self, what: &str) -> Option<Waiting> {
        let shown = !self.wishes.quiet && !self.wishes.json && std::io::stderr().is_terminal();
        shown.then(|| Waiting::new(self.beside_bar(what)))
    }

    /// A progress bar over `length` steps; hidden off a terminal, with `--quiet` and `--json`.
    pub fn progress(&self, length: u64) -> indicatif::ProgressBar {
        if self.wishes.quiet || self.wishes.json || length < 2 || !std::io::stderr().is_terminal() {
            return indicatif::ProgressBar::hidden();
        }
        let bar = indicatif::ProgressBar::new(length);
        // A template that does not parse leaves the library's own bar.
        if let Ok(template) = indicatif::ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
            bar.set_style(template);
        }
        bar
    }
}
