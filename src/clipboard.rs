//! The clipboard, wherever there is one: the desktop's own, a helper that keeps the text alive on Linux, the terminal's
//! over SSH (OSC 52), else a private file.
//!
//! Not here: what is copied. The order is a table ([`ways`]); each way either works or says why not, and the next is tried.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::store::disk;

/// The hidden subcommand by which this program calls itself to serve the clipboard ([`serve`]).
pub const HELPER: &str = "__clipboard";

/// How long the helper keeps the text on offer.
const KEEP: Duration = Duration::from_secs(600);
/// How long to wait for the helper to say that it holds the clipboard.
const READY: Duration = Duration::from_secs(2);
/// The longest OSC 52 payload, in base64 characters: terminals cut or ignore longer ones (hterm and tmux near 74,994).
const OSC52_MOST: usize = 74_000;

/// What the choice depends on, as values.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// A desktop session is reachable (`DISPLAY` or `WAYLAND_DISPLAY`).
    pub display: bool,
    /// Logged in from another machine (`SSH_CONNECTION`, `SSH_TTY`, `SSH_CLIENT`).
    pub remote: bool,
    /// Inside tmux (`TMUX`).
    pub tmux: bool,
    /// The terminal to speak OSC 52 to (`/dev/tty`), if there is a person at one.
    pub terminal: Option<PathBuf>,
    /// This program, to start the helper with.
    pub program: PathBuf,
    /// Where the text goes if there is no clipboard: a file in the store's `.state/`.
    pub file: PathBuf,
}

impl Surroundings {
    /// Reads the variables. `at_terminal`: whether a person is at the terminal.
    pub fn of(env: &Env, at_terminal: bool, program: PathBuf, file: PathBuf) -> Self {
        let any = |names: &[&str]| names.iter().any(|name| env.var(name).is_some());
        Self {
            display: any(&["DISPLAY", "WAYLAND_DISPLAY"]),
            remote: any(&["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"]),
            tmux: any(&["TMUX"]),
            terminal: at_terminal.then(|| PathBuf::from("/dev/tty")),
            program,
            file,
        }
    }
}

/// The way a text was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is on the desktop's clipboard.
    Arboard,
    /// The terminal was asked to put it on its clipboard; terminals do not answer.
    Osc52,
    /// It is in this file.
    File(PathBuf),
}

/// The outcome of [`copy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The way that worked.
    pub how: How,
    /// What the person should know: why it is not the clipboard, what to do if nothing arrives.
    pub note: Option<String>,
}

/// One row of the table of ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Direct,
    Helper,
    Osc52,
    File,
}

/// Whether this platform's clipboard outlives the process that fills it.
const LASTING_CLIPBOARD: bool = cfg!(any(target_os = "macos", windows));

/// The ways to try, in order. Over SSH the clipboard of a Mac or PC is the wrong machine's; an X display that SSH
/// forwards is the right one's.
fn ways(place: &Surroundings, lasting_clipboard: bool) -> Vec<Way> {
    let by_terminal = (place.remote || place.tmux) && place.terminal.is_some();
    let table = [
        (Way::Direct, lasting_clipboard && !place.remote),
        (Way::Helper, !lasting_clipboard && place.display),
        (Way::Osc52, by_terminal),
        (Way::File, true),
    ];
    table.into_iter().filter(|(_, open)| *open).map(|(way, _)| way).collect()
}

/// Puts a text on the clipboard, by the first way that works.
///
/// # Errors
/// When not even the file can be written.
pub fn copy(text: &str, place: &Surroundings) -> Result<Outcome> {
    let mut failures = Vec::new();
    for way in ways(place, LASTING_CLIPBOARD) {
        let done = match way {
            Way::Direct => direct(text).map(|()| How::Arboard),
            Way::Helper => helper(text, &place.program, READY).map(|()| How::Arboard),
            Way::Osc52 => osc52(text, place).map(|()| How::Osc52),
            Way::File => file(text, &place.file).map(|()| How::File(place.file.clone())),
        };
        match done {
            Ok(how) => return Ok(Outcome { note: note(&how, place, &failures), how }),
            Err(error) if way == Way::File => return Err(error),
            Err(error) => failures.push(error.message),
        }
    }
    Err(Error::failure("the text could not be copied").hint("use --print"))
}

/// What there is to say about a way: the failures before it, and what cannot be known.
fn note(how: &How, place: &Surroundings, failures: &[String]) -> Option<String> {
    let mut notes = failures.to_vec();
    match how {
        How::Arboard => {}
        How::Osc52 if place.tmux => notes.push("if nothing arrives, run: tmux set -g set-clipboard on".to_owned()),
        How::Osc52 => notes.push("if nothing arrives, the terminal does not support OSC 52: use --print".to_owned()),
        How::File(_) if notes.is_empty() => notes.push("no clipboard was found".to_owned()),
        How::File(_) => {}
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn unreachable_clipboard(error: &arboard::Error) -> Error {
    Error::failure(format!("the clipboard cannot be reached: {}", error.to_string().trim_end_matches('.').to_lowercase()))
        .hint("use --print and copy the text from the terminal")
}

fn direct(text: &str) -> Result<()> {
    arboard::Clipboard::new().and_then(|mut c| c.set_text(text)).map_err(|e| unreachable_clipboard(&e))
}

/// Holds the clipboard until another program takes it, at most ten minutes: the body of the hidden subcommand.
/// `ready` gets one byte as soon as the clipboard is ours.
///
/// # Errors
/// When no clipboard can be reached.
pub fn serve(text: &str, ready: &mut dyn Write) -> Result<()> {
    let mut clipboard = arboard::Clipboard::new().map_err(|e| unreachable_clipboard(&e))?;
    clipboard.set_text(text).map_err(|e| unreachable_clipboard(&e))?;
    // Nobody may be waiting any more; the text is on offer all the same.
    let _ = ready.write_all(b"1").and_then(|()| ready.flush());
    hold(&mut clipboard, text).map_err(|e| unreachable_clipboard(&e))
}

#[cfg(all(unix, not(target_os = "macos")))]
fn hold(clipboard: &mut arboard::Clipboard, text: &str) -> Result<(), arboard::Error> {
    use arboard::SetExtLinux;
    clipboard.set().wait_until(Instant::now() + KEEP).text(text)
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn hold(_: &mut arboard::Clipboard, _: &str) -> Result<(), arboard::Error> {
    Ok(())
}

/// Starts this program again to hold the clipboard, and waits until it does.
fn helper(text: &str, program: &Path, patience: Duration) -> Result<()> {
    let failed = |what: &str| Error::failure(format!("the clipboard helper {what}"));
    let mut command = Command::new(program);
    command.arg(HELPER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(root) = program.ancestors().last().filter(|r| r.is_absolute()) {
        command.current_dir(root); // so that it does not keep a folder busy
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0); // Ctrl-C at our terminal is not meant for it
    let mut child = command.spawn().map_err(|_| failed("cannot be started"))?;
    let fed = child.stdin.take().is_some_and(|mut pipe| pipe.write_all(text.as_bytes()).is_ok());
    if fed && says_ready(&mut child, patience) {
        return Ok(());
    }
    // It is our own child: it must not stay behind. Both calls fail only if it is gone already.
    let _ = child.kill();
    let _ = child.wait();
    Err(failed("found no clipboard"))
}

/// Waits for one byte. The reading thread ends with the pipe, at the latest when the child is killed.
fn says_ready(child: &mut Child, patience: Duration) -> bool {
    let Some(mut pipe) = child.stdout.take() else { return false };
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(pipe.read_exact(&mut [0]).is_ok()));
    told.recv_timeout(patience).unwrap_or(false)
}

/// The terminal's clipboard control (xterm "Ps = 52"). tmux takes it if `set-clipboard` is on, and passes the wrapped
/// copy through if `allow-passthrough` is; it ignores the other.
fn osc52_sequence(payload: &str, tmux: bool) -> String {
    let plain = format!("\u{1b}]52;c;{payload}\u{7}");
    if tmux { format!("{plain}\u{1b}Ptmux;{}\u{1b}\\", plain.replace('\u{1b}', "\u{1b}\u{1b}")) } else { plain }
}

fn osc52(text: &str, place: &Surroundings) -> Result<()> {
    let payload = base64::engine::general_purpose::STANDARD.encode(text);
    if payload.len() > OSC52_MOST {
        return Err(Error::failure("the text is too long for the clipboard of the terminal").hint("lower --budget"));
    }
    let Some(terminal) = &place.terminal else { return Err(Error::failure("there is no terminal")) };
    let mut options = std::fs::OpenOptions::new();
    #[expect(clippy::disallowed_methods, reason = "a terminal device, not a user's file")]
    let opened = options.write(true).open(terminal);
    opened
        .and_then(|mut tty| tty.write_all(osc52_sequence(&payload, place.tmux).as_bytes()))
        .map_err(|e| Error::io("write to", terminal, &e))
}

fn file(text: &str, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        disk::create_dir(folder)?;
    }
    disk::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(display: bool, remote: bool, tmux: bool, terminal: Option<&Path>) -> Surroundings {
        Surroundings { display, remote, tmux, terminal: terminal.map(Path::to_path_buf), ..Surroundings::default() }
    }

    #[test]
    fn the_order_of_ways() {
        use Way::{Direct, File, Helper, Osc52};
        let tty = Some(Path::new("/dev/tty"));
        for (surroundings, lasting, wanted) in [
            (place(false, false, false, None), false, vec![File]),
            (place(false, false, false, tty), false, vec![File]),
            (place(true, false, false, tty), false, vec![Helper, File]),
            (place(true, true, false, tty), false, vec![Helper, Osc52, File]),
            (place(false, true, false, tty), false, vec![Osc52, File]),
            (place(false, true, false, None), false, vec![File]),
            (place(false, false, true, tty), false, vec![Osc52, File]),
            (place(false, false, false, tty), true, vec![Direct, File]),
            (place(false, true, false, tty), true, vec![Osc52, File]),
        ] {
            assert_eq!(ways(&surroundings, lasting), wanted, "{surroundings:?}");
        }
    }

    #[test]
    fn without_any_clipboard_a_private_file_holds_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let mut here = place(false, false, false, None);
        here.file = folder.path().join(".state/clipboard.txt");
        if LASTING_CLIPBOARD {
            return;
        }
        let outcome = copy("text 文本", &here).unwrap();
        assert_eq!(outcome.how, How::File(here.file.clone()));
        assert!(outcome.note.is_some());
        assert_eq!(std::fs::read_to_string(&here.file).unwrap(), "text 文本");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&here.file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_terminal_gets_one_sequence() {
        let folder = tempfile::tempdir().unwrap();
        let terminal = folder.path().join("tty");
        disk::write(&terminal, b"").unwrap();
        let here = place(false, true, false, Some(&terminal));
        assert_eq!(copy("hi", &here).unwrap().how, How::Osc52);
        assert_eq!(std::fs::read_to_string(&terminal).unwrap(), "\u{1b}]52;c;aGk=\u{7}");
        assert_eq!(osc52_sequence("aGk=", true), "\u{1b}]52;c;aGk=\u{7}\u{1b}Ptmux;\u{1b}\u{1b}]52;c;aGk=\u{7}\u{1b}\\");
    }

    #[cfg(unix)]
    #[test]
    fn too_long_a_text_goes_to_the_file_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut here = place(false, true, false, Some(&folder.path().join("tty")));
        here.file = folder.path().join("clipboard.txt");
        let outcome = copy(&"x".repeat(60_000), &here).unwrap();
        assert_eq!(outcome.how, How::File(here.file));
        assert!(outcome.note.unwrap().contains("too long"));
    }

    #[cfg(unix)]
    #[test]
    fn a_helper_that_finds_no_clipboard_is_given_up() {
        // `false` and a program that is not there both end without a word.
        for program in ["/bin/false", "/nonexistent/claude-mem"] {
            assert!(helper("text", Path::new(program), READY).is_err(), "{program}");
        }
    }
}
