//! What stands on a terminal: Claude Code's `/export` text and copies from the screen, also of CLIs that look like it.
//! Glyphs decide: `>` or `❯` the person, `⏺` `●` `✦` the model, `⎿` tool output; boxes, tips and clocks are noise.

use super::claude_code::words::{self, Words};
use super::gather::{Problems, clip, one, push};
use super::{Format, Input, ReadOptions, Reading, text};
use crate::error::Result;
use crate::model::{Conversation, Speaker};
use crate::text::words::is_cjk;

/// The format.
#[derive(Debug)]
pub struct ClaudeExport;

/// Glyphs of the person's prompts.
const PERSON: &[&str] = &["❯ ", "> ", "❯\u{a0}", ">\u{a0}"];
/// Glyphs of the model's words and of its tool calls.
const MODEL: &[&str] = &["⏺ ", "● ", "✦ ", "⏺\u{a0}", "●\u{a0}"];

impl Format for ClaudeExport {
    fn name(&self) -> &'static str {
        "claude-export"
    }

    fn detect(&self, head: &str) -> bool {
        let any = |glyphs: &[&str]| head.lines().any(|l| glyphs.iter().any(|g| l.starts_with(g)));
        let banner = head.contains("Claude Code");
        // A bullet and a quotation are ordinary in other texts.
        let telling = any(&["⏺", "✦ "]) || any(&["❯"]) || head.contains('⎿') || banner;
        any(MODEL) && telling && (any(PERSON) || banner)
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut screen = Screen::default();
        let offset = text::each_line(input, &mut problems, &mut |line| screen.line(line))?;
        screen.close();
        Ok(one(self.name(), screen.conversation, problems, offset, out))
    }
}

/// The state of one reading.
#[derive(Debug, Default)]
struct Screen {
    conversation: Conversation,
    /// Whose block we are in; nothing in noise and behind a tool call.
    speaker: Option<Speaker>,
    text: String,
}

impl Screen {
    fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(words) = PERSON.iter().find_map(|g| line.strip_prefix(g)) {
            self.open(Some(Speaker::User), words);
        } else if let Some(words) = MODEL.iter().find_map(|g| line.strip_prefix(g)) {
            let speaker = if is_call(words) { None } else { Some(Speaker::Assistant) };
            self.open(speaker, words);
        } else if let Some(output) = line.trim_start().strip_prefix('⎿') {
            self.open(Some(Speaker::Tool), output);
        } else if line.is_empty() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
        } else if line.starts_with("  ") && !is_noise(line) {
            self.go_on(line);
        } else if !line.starts_with("  ") {
            if self.conversation.cwd.is_none()
                && let Some((_, cwd)) = line.split_once("cwd: ")
            {
                self.conversation.cwd = Some(cwd.trim_end_matches(['│', ' ']).to_owned());
            }
            self.open(None, "");
        }
    }

    fn open(&mut self, speaker: Option<Speaker>, words: &str) {
        self.close();
        self.speaker = speaker;
        self.text.push_str(words.trim());
    }

    /// A further line of a block: joined to the line before if that was only broken to fit the screen.
    fn go_on(&mut self, line: &str) {
        if self.speaker.is_none() {
            return;
        }
        let words = line.trim_start();
        let indented = line.len() - words.len() > 2;
        let is_item = words.starts_with(['-', '*', '•', '│', '☐', '☒']) || words.starts_with(|c: char| c.is_ascii_digit());
        let is_new = indented || is_item || self.speaker == Some(Speaker::Tool) || self.text.ends_with('\n') || self.text.is_empty();
        let wide = self.text.chars().next_back().is_some_and(is_cjk) && words.chars().next().is_some_and(is_cjk);
        self.text.push_str(match (is_new, wide) {
            (true, _) => "\n",
            (false, true) => "",
            (false, false) => " ",
        });
        self.text.push_str(words);
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        let Some(speaker) = self.speaker.take() else { return };
        match (speaker, words::read(&text)) {
            (Speaker::Tool, _) => {
                push(&mut self.conversation, Speaker::Tool, &clip(&text), None, None);
            }
            (Speaker::User, _) if is_command(&text) => {
                push(&mut self.conversation, Speaker::Harness, &clip(&text), None, None);
            }
            (Speaker::User, Words::Person(own)) => {
                push(&mut self.conversation, Speaker::User, &own, None, None);
            }
            (Speaker::User, _) => {}
            _ => {
                push(&mut self.conversation, speaker, &text, None, None);
            }
        }
    }
}

/// A slash command, a shell line or a memory note typed at the prompt; a path is none.
fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let slash = first.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'));
    (slash && text.split_whitespace().count() <= 3) || text.starts_with('!')
}

/// A tool call, `Name(arguments)`, or the one-line report of one.
fn is_call(words: &str) -> bool {
    let name = words.split('(').next().unwrap_or_default();
    let called = words.contains('(') && name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains(' ');
    called || is_noise(words) || matches!(words, "Read Todos" | "Update Todos")
}

/// Lines of the program among the model's words.
fn is_noise(line: &str) -> bool {
    line.contains("(ctrl+o to expand)") || line.contains("(ctrl+r to expand)")
}
