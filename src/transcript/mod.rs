//! Reading transcripts: one file per foreign format behind one trait. Takes bytes, gives conversations and problems.
//!
//! Nothing here opens files, reads clocks or prints. A bad line is counted, never an abort. What all formats agree on:
//! turns are numbered 1, 2, 3 … in file order, and a growing file never changes the number of a turn; only prompts and
//! the model's prose are `user` and `assistant`; tool output is a clipped `tool` turn; text of the program around the
//! model is left out, except what the person did with it (`harness`: slash commands, shell lines, withdrawn prompts).

mod agents;
mod aider;
mod archive;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod claude_export;
mod codex;
mod content;
mod encoding;
mod export;
mod gather;
mod gemini;
mod held;
mod lenient;
mod lines;
mod markdown;
mod neutral;
mod plain;
mod roles;
mod sniff;
mod specstory;
mod text;
mod values;

use std::io::{BufRead, Seek};

use self::encoding::{Decoding, Forward, Found};
use crate::error::{Error, Kind, Problem, Result};
use crate::model::{Conversation, Cursor};

/// What a format reads from: seekable, so that archives and second looks work; never loaded whole.
pub trait Input: BufRead + Seek {}
impl<T: BufRead + Seek> Input for T {}

/// Choices of the reader.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Also read sidechains and `agent-*.jsonl` (off by default).
    pub sidechains: bool,
    /// File name without folder, for formats that keep the date or session only there.
    pub file_name: String,
}

/// What a reading reports beside its conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Name of the format, such as `claude-code`.
    pub format: &'static str,
    /// What was skipped or mended, with line and reason.
    pub problems: Vec<Problem>,
    /// Where reading may go on when the file has grown: behind the last whole line.
    pub cursor: Cursor,
}

/// One foreign format.
pub trait Format: Sync {
    /// Stable name: shown in receipts, stored in `index.json`, named in fixtures.
    fn name(&self) -> &'static str;

    /// Whether the first bytes (up to 64 KiB, BOM removed, UTF-8 with replacement) are of this format.
    fn detect(&self, head: &str) -> bool;

    /// Reads everything, one conversation at a time into `out`, and says what was odd. The input stands at the first
    /// byte of text, behind a byte order mark; it is UTF-8, perhaps with bad bytes.
    ///
    /// # Errors
    /// Only if the input itself cannot be read; odd content is a [`Problem`].
    fn read(&self, input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading>;
}

/// Every format, asked in this order: the most telling signs first, prose last.
pub static FORMATS: &[&dyn Format] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &claude_ai::ClaudeAi,
    &chatgpt::ChatGpt,
    &agents::PI,
    &agents::KIMI,
    &agents::SWE_AGENT,
    &neutral::Neutral,
    &specstory::SpecStory,
    &aider::Aider,
    &claude_export::ClaudeExport,
    &markdown::Markdown,
    &plain::Plain,
];

/// How many first bytes decide about the format.
const HEAD: u64 = 64 << 10;

/// JSON that is known and holds no conversation: its telling keys, and what to say.
const NO_TRANSCRIPTS: &[(&[&str], &str, &str)] = &[
    (
        &["display", "pastedContents"],
        "this is the list of typed prompts of Claude Code, not a transcript",
        "give the files in ~/.claude/projects instead",
    ),
    (
        &["conversations_memory"],
        "these are the memories of a claude.ai account, not a conversation",
        "run claude-mem import with this file",
    ),
    (&["email_address"], "this is the account file of an export, not a conversation", "give conversations.json of the same export"),
];

/// The format of a file by its first bytes; never by its name. Nothing for archives, binary data and unknown text.
pub fn detect(head: &[u8]) -> Option<&'static dyn Format> {
    format_of(&encoding::text(head, &encoding::of(head, false)))
}

/// The format of decoded text.
fn format_of(head: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.detect(head))
}

/// Reads any transcript: finds out encoding and format by content, looks into archives.
///
/// # Errors
/// [`Kind::NoTranscript`] if the input is empty, binary or of no known format, or cannot be read. A transcript in which
/// the user says nothing is no error.
pub fn read(input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
    let unreadable = |e: std::io::Error| gather::unreadable(&e);
    let head = encoding::peek(input, HEAD).map_err(unreadable)?;
    if head.iter().all(|b| *b == 0 || b.is_ascii_whitespace()) {
        return Err(nothing("the file is empty", "give a transcript with at least one message"));
    }
    if head.starts_with(archive::MAGIC) {
        return archive::read(input, options, out);
    }
    let found = encoding::of(&head, (head.len() as u64) < HEAD);
    let text = encoding::text(&head, &found);
    let format = match found {
        Found::Binary(what) => {
            return Err(nothing(format!("this is {what}, not a transcript"), "unpack or export it to text or JSON first"));
        }
        _ => format_of(&text).ok_or_else(|| unknown(&text))?,
    };
    let mut reading = match found {
        Found::Other(encoding) => {
            let mut reading = format.read(&mut Forward::new(Decoding::new(&mut *input, encoding)), options, out)?;
            let detail = format!("the file is {}, not UTF-8; it was decoded", encoding.name());
            reading.problems.insert(0, Problem { code: "encoding", file: String::new(), line: None, detail });
            reading
        }
        Found::Utf8(bom) => {
            let start = i64::try_from(bom).unwrap_or_default();
            input.seek(std::io::SeekFrom::Current(start)).map_err(unreadable)?;
            format.read(input, options, out)?
        }
        Found::Binary(_) => Reading::default(),
    };
    let first_is_cut = reading.cursor.turns == 0 && reading.cursor.offset <= 3 && reading.problems.iter().any(|p| p.code == "cut_line");
    if first_is_cut {
        return Err(nothing("the file is cut off in its first record", "copy it again, or wait until it is written"));
    }
    if matches!(found, Found::Other(_)) {
        // Offsets of the decoded text mean nothing in the file.
        reading.cursor.offset = input.stream_position().map_err(unreadable)?;
    }
    Ok(reading)
}

/// What to say about text that is no transcript.
fn unknown(head: &str) -> Error {
    let shape = sniff::Shape::of(head);
    let known = NO_TRANSCRIPTS.iter().find(|(keys, ..)| shape.objects.iter().any(|o| o.has_all(keys)));
    match known {
        Some((_, message, hint)) => nothing(*message, *hint),
        None if head.trim_start().starts_with(['{', '[']) => nothing(
            "this JSON is no transcript in a known format",
            "known are: Claude Code, claude.ai, ChatGPT, Codex, Gemini, and a list of {role, content}",
        ),
        None => nothing(
            "this file is no transcript in a known format",
            "begin each turn of a text with a line such as \"User:\" or \"Assistant:\"",
        ),
    }
}

/// The error of an input that holds no transcript.
fn nothing(message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(Kind::NoTranscript, message).hint(hint)
}
