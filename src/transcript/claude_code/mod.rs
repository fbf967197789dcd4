//! Claude Code JSONL, clients 1.0 to 2.1, and the one-document form of Claude Code on the web.
//!
//! Which records become turns: prompts, queued prompts, refusal reasons and answered questions are `user`; text blocks
//! of one model message are one `assistant` turn; tool results are clipped `tool` turns; slash commands and `!` lines
//! are short `harness` turns. Skipped without a turn: thinking, tool calls, injected text (hooks, reminders, skill
//! bodies, compact summaries, notifications), API errors, subagents, bookkeeping. A prompt that was taken back keeps its
//! number as a `harness` turn with the text `[withdrawn]`, so that numbers never move.

mod branch;
mod record;
mod salvage;
mod turns;
pub mod words;

use std::io;

use self::record::{Document, Record};
use self::turns::Turns;
use super::gather::{Problems, one, unreadable};
use super::lines::{Line, Lines};
use super::sniff::{Shape, Sketch};
use super::values::{Values, long};
use super::{Format, Input, ReadOptions, Reading};
use crate::error::Result;
use crate::model::Conversation;

/// The format.
#[derive(Debug)]
pub struct ClaudeCode;

/// Control records that stand alone at the start of a file and have neither `uuid` nor `message`.
const CONTROL: &[&str] = &["file-history-snapshot", "mode", "permission-mode", "queue-operation", "last-prompt", "progress", "attachment"];

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn detect(&self, head: &str) -> bool {
        Shape::of(head).objects.iter().any(is_record) || cut_record(head)
    }

    fn read(&self, input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut file = File { turns: Turns::new(options), problems: Problems::default(), offset: 0, last_uuid: None };
        let pretty = starts_pretty(input).map_err(|e| unreadable(&e))?;
        if pretty { file.values(input) } else { file.lines(input) }.map_err(|e| unreadable(&e))?;
        let File { turns, mut problems, offset, last_uuid } = file;
        let conversation = turns.finish(&mut problems);
        let mut reading = one(self.name(), conversation, problems, offset, out);
        reading.cursor.last_uuid = last_uuid;
        Ok(reading)
    }
}

/// Whether these keys are those of a record of ours.
fn is_record(object: &Sketch) -> bool {
    if object.has("loglines") {
        return true;
    }
    let Some(kind) = object.get("type") else { return false };
    let ours = object.has("sessionId") || object.has("uuid") || object.has("leafUuid");
    match kind {
        "user" | "assistant" => object.has("message"),
        "summary" => object.has("leafUuid"),
        "file-history-snapshot" => object.has("snapshot") || ours,
        kind => ours && (CONTROL.contains(&kind) || record::BOOKKEEPING.contains(&kind) || record::SPOKEN.contains(&kind)),
    }
}

/// The first record is so long that the head ends inside it, or broken: judged by its first keys.
fn cut_record(head: &str) -> bool {
    let start = head.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
    let first = super::gather::head(start, 600);
    first.starts_with('{') && first.contains("\"parentUuid\":") && first.contains("\"isSidechain\":")
}

/// Whether the file is one document or pretty-printed objects, not lines: its first line is no whole object.
fn starts_pretty(input: &mut dyn Input) -> io::Result<bool> {
    let chunk = input.fill_buf()?;
    let start = chunk.iter().position(|b| !b.is_ascii_whitespace() && *b != 0).unwrap_or(chunk.len());
    let line: &[u8] = chunk.get(start..).unwrap_or_default().split(|b| *b == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    Ok(matches!(line, b"{" | b"[") || line.starts_with(b"[{") || line.starts_with(b"{\"loglines\""))
}

/// The state of one reading.
struct File<'o> {
    turns: Turns<'o>,
    problems: Problems,
    offset: u64,
    last_uuid: Option<String>,
}

impl File<'_> {
    /// One record for each line, which is how the client writes.
    fn lines(&mut self, input: &mut dyn Input) -> io::Result<()> {
        let mut lines = Lines::new(input)?;
        self.offset = lines.offset;
        while let Some(line) = lines.next()? {
            let whole = self.line(&line);
            // A last line that is cut may be completed later: the cursor stays before it.
            if whole {
                self.offset = lines.offset;
            }
        }
        Ok(())
    }

    /// Reads one line; says whether it is done with for good.
    fn line(&mut self, line: &Line<'_>) -> bool {
        let number = Some(line.number);
        if line.shortened {
            self.problems.add("long_line", number, long(line.too_long));
        }
        if line.too_long {
            return line.ended;
        }
        if line.bytes.is_empty() {
            return true;
        }
        if line.bytes.first() == Some(&b'{')
            && let Ok(record) = serde_json::from_slice::<Record<'_>>(line.bytes)
        {
            self.take(&record);
            return true;
        }
        let problem = salvage::records(line.bytes, &mut |record| self.take(record));
        if let Some(problem) = problem {
            if line.ended {
                self.problems.add(problem.code, number, problem.detail);
            } else {
                let detail = format!("the last line is cut off; its beginning at byte {} is kept for the next run", self.offset);
                self.problems.add("cut_line", number, detail);
                return false;
            }
        }
        true
    }

    /// A whole document, or pretty-printed objects one after another.
    fn values(&mut self, input: &mut dyn Input) -> io::Result<()> {
        let mut values = Values::new(input)?;
        while let Some(value) = values.next()? {
            let number = Some(value.line);
            if value.shortened {
                self.problems.add("long_line", number, long(value.too_long));
            }
            if value.too_long {
                continue;
            }
            if value.bytes.first() != Some(&b'{') {
                self.problems.add("not_a_record", number, "this value is no record");
            } else if let Ok(document) = serde_json::from_slice::<Document<'_>>(value.bytes)
                && !document.loglines.0.is_empty()
            {
                document.loglines.0.iter().filter_map(|r| r.0.as_ref()).for_each(|r| self.take(r));
            } else if let Some(problem) = salvage::records(value.bytes, &mut |record| self.take(record)) {
                self.problems.add(problem.code, number, problem.detail);
            }
        }
        self.offset = values.offset;
        Ok(())
    }

    fn take(&mut self, record: &Record<'_>) {
        if let Some(uuid) = record.uuid.get() {
            let last = self.last_uuid.get_or_insert_default();
            last.clear();
            last.push_str(uuid);
        }
        self.turns.take(record);
    }
}
