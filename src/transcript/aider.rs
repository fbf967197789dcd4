//! aider's `.aider.chat.history.md`: months of chats in one file. Every line a person typed begins with `#### ` and ends
//! in two blanks; lines with `> ` are aider's own; the rest is the model's. Each chat is one conversation.

use super::gather::{Problems, add_line, clip, finish, push};
use super::{Format, Input, ReadOptions, Reading, text};
use crate::error::Result;
use crate::model::{Conversation, Cursor, Speaker};

/// The format.
#[derive(Debug)]
pub struct Aider;

/// How a chat begins.
const HEADER: &str = "# aider chat started at ";

/// Commands whose words are for the model; all others are settings.
const ASKING: &[&str] = &["/ask ", "/code ", "/architect ", "/help "];

/// Beginnings of messages that aider itself sends in the user's name.
const MACHINE_BEGINNINGS: &[&str] =
    &["# Fix any errors below", "The LLM did not conform to the edit format", "I ran this command:", "# The other files in"];

/// What follows a question that was asked with `/help`: aider's own manual.
const MANUAL: &str = "# Relevant docs:";

impl Format for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn detect(&self, head: &str) -> bool {
        let starts = |begin: &str| head.lines().any(|l| l.starts_with(begin));
        starts(HEADER) || starts("> Aider v") || (starts("#### ") && starts("> Tokens:"))
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut history = History { turns: 0, ..History::default() };
        let offset = text::each_line(input, &mut problems, &mut |line| {
            if let Some(at) = line.strip_prefix(HEADER) {
                history.end(out);
                history.chat.date = text::time(at);
            } else {
                history.line(line);
            }
        })?;
        history.end(out);
        if history.turns == 0 {
            problems.add("no_turns", None, "nobody says anything in this file");
        }
        Ok(Reading { format: self.name(), problems: problems.list(), cursor: Cursor { offset, turns: history.turns, last_uuid: None } })
    }
}

/// The state of one reading.
#[derive(Debug, Default)]
struct History {
    chat: Conversation,
    /// Turns of the chats already given.
    turns: u32,
    speaker: Option<Speaker>,
    text: String,
    fence: Option<String>,
    /// Whether aider itself said something since the model's last words.
    pause: bool,
}

impl History {
    fn line(&mut self, line: &str) {
        if line.starts_with("> ") || line == ">" {
            // Such a line inside a code block is code, unless it is the one that ends an answer.
            if self.fence.is_some() && !line.starts_with("> Tokens:") && !line.starts_with("> ^C") {
                self.say(Speaker::Assistant, line);
                return;
            }
            self.fence = None;
            self.close();
            self.pause = true;
            return;
        }
        let typed = line.strip_prefix("#### ").or(line.strip_prefix("####").filter(|rest| rest.trim().is_empty()));
        let answering = self.speaker == Some(Speaker::Assistant) && !self.text.trim().is_empty() && !self.pause;
        match typed.filter(|_| self.fence.is_none() && (line.ends_with("  ") || !answering)) {
            Some(words) => self.say(Speaker::User, words.trim_end()),
            None if line.trim().is_empty() && self.speaker == Some(Speaker::User) => {}
            None => {
                match &self.fence {
                    Some(mark) if text::closes(line, mark) => self.fence = None,
                    Some(_) => {}
                    None => self.fence = text::fence(line).map(str::to_owned),
                }
                self.say(Speaker::Assistant, line);
            }
        }
    }

    fn say(&mut self, speaker: Speaker, line: &str) {
        let is_command = speaker == Speaker::User && line.starts_with('/');
        let was_command = self.speaker == Some(Speaker::User) && self.text.starts_with('/');
        if self.speaker != Some(speaker) || is_command || was_command {
            self.close();
        }
        if !line.trim().is_empty() {
            self.pause = false;
        }
        self.speaker = Some(speaker);
        add_line(&mut self.text, line);
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        let Some(speaker) = self.speaker.take() else { return };
        let asked = ASKING.iter().find_map(|command| text.strip_prefix(command));
        let (speaker, text) = match (speaker, asked) {
            (Speaker::User, Some(words)) => (speaker, words.to_owned()),
            (Speaker::User, _) if MACHINE_BEGINNINGS.iter().any(|b| text.starts_with(b)) => return,
            (Speaker::User, None) if text.starts_with("# Question:") => {
                let question = text.split(MANUAL).next().unwrap_or(&text);
                (speaker, question.trim_start_matches("# Question:").to_owned())
            }
            (Speaker::User, None) if text.starts_with(['/', '!']) => (Speaker::Harness, clip(&text)),
            _ => (speaker, text),
        };
        push(&mut self.chat, speaker, &text, None, None);
    }

    /// Gives the chat that ends here.
    fn end(&mut self, out: &mut dyn FnMut(Conversation)) {
        self.close();
        (self.fence, self.pause) = (None, false);
        let chat = std::mem::take(&mut self.chat);
        self.turns = self.turns.saturating_add(u32::try_from(chat.turns.len()).unwrap_or(u32::MAX));
        if let Some(chat) = finish(chat, "aider") {
            out(chat);
        }
    }
}
