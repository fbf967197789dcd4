//! Plain text with role lines (`User:`, `Assistant:`, `用户：`, `助手：` …). Text without any is one user turn if it is
//! clearly prose, with the problem `no_roles`; other text is no transcript.

use super::gather::{Problems, add_line, one, push};
use super::roles::{self, Name, RoleLine, Style};
use super::{Format, Input, ReadOptions, Reading, text};
use crate::error::Result;
use crate::model::{Conversation, Speaker};
use crate::text::words::is_cjk;

/// The format.
#[derive(Debug)]
pub struct Plain;

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn detect(&self, head: &str) -> bool {
        has_roles(head, |r| r.style == Style::Colon) || is_prose(head)
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut dialogue = Dialogue::default();
        let offset = text::each_line(input, &mut problems, &mut |line| dialogue.line(line))?;
        if !dialogue.has_begun() {
            problems.add("no_roles", None, "no line says who speaks; the whole text is taken as the user's");
        }
        Ok(one(self.name(), dialogue.finish(), problems, offset, out))
    }
}

/// Whether role lines of the wanted styles make a dialogue: the user speaks, and so does the model, or the text begins
/// with a role.
pub fn has_roles(head: &str, wanted: fn(&RoleLine<'_>) -> bool) -> bool {
    let mut dialogue = Dialogue::default();
    let mut first_is_role = None;
    for line in head.lines() {
        if !line.trim().is_empty() && first_is_role.is_none() {
            first_is_role = Some(roles::role_line(line).is_some_and(|r| wanted(&r)));
        }
        if dialogue.style.is_some() || roles::role_line(line).is_none_or(|r| wanted(&r)) {
            dialogue.line(line);
        }
    }
    let has = |speaker| dialogue.heard.contains(&speaker);
    has(Speaker::User) && (has(Speaker::Assistant) || first_is_role == Some(true))
}

/// Whether text is written by a person for a person: neither data, code, markup nor a log.
fn is_prose(head: &str) -> bool {
    let start = head.trim_start();
    if start.starts_with(['{', '[', '<', '#', '@'])
        || start.starts_with("---")
        || head.chars().any(|c| c.is_control() && !c.is_whitespace())
    {
        return false;
    }
    let (mut letters, mut marks, mut lines, mut code) = (0usize, 0usize, 0usize, 0usize);
    for line in head.lines().map(str::trim).filter(|l| !l.is_empty()) {
        lines += 1;
        code += usize::from(
            line.ends_with([';', '{', '}', '>', ')', ',', '|']) || line.starts_with(['<', '}', '|', '/']) || line.contains("]("),
        );
        letters += line.chars().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
        marks += line.chars().filter(|c| !c.is_alphabetic() && !c.is_whitespace()).count();
    }
    let several_words = start.trim_end().contains(char::is_whitespace) || start.chars().filter(|c| is_cjk(*c)).count() >= 4;
    several_words && letters >= 8 && letters >= marks * 4 && code * 4 <= lines
}

/// A dialogue line by line.
#[derive(Debug, Default)]
pub struct Dialogue {
    conversation: Conversation,
    /// Style and sureness of the first role line: only such lines are roles in this file.
    style: Option<(Style, Name)>,
    heard: Vec<Speaker>,
    speaker: Option<Speaker>,
    at: Option<String>,
    text: String,
    /// Mark that closes the code block we are in, and where in `text` it was opened.
    fence: Option<(String, usize)>,
    no_fences: bool,
}

impl Dialogue {
    /// Takes one line.
    pub fn line(&mut self, line: &str) {
        if self.in_fence(line) {
            self.keep(line);
            return;
        }
        let role = roles::role_line(line).filter(|r| self.accepts(r));
        match role {
            Some(role) => {
                self.style.get_or_insert((role.style, role.name));
                self.close();
                self.heard.push(role.speaker);
                self.heard.dedup();
                self.speaker = Some(role.speaker);
                self.at = role.time.map(str::to_owned);
                self.text.push_str(role.rest);
            }
            None => self.keep(line),
        }
    }

    fn accepts(&self, role: &RoleLine<'_>) -> bool {
        match self.style {
            None => true,
            Some((style, first)) => style == role.style && (role.name == Name::Strong || first == Name::Weak),
        }
    }

    fn keep(&mut self, line: &str) {
        add_line(&mut self.text, line);
    }

    /// Follows code fences; says whether the line is inside one or closes it.
    fn in_fence(&mut self, line: &str) -> bool {
        if self.no_fences {
            return false;
        }
        match &self.fence {
            Some((mark, _)) => {
                if text::closes(line, mark) {
                    self.fence = None;
                }
                true
            }
            None => {
                self.fence = text::fence(line).map(|mark| (mark.to_owned(), self.text.len()));
                self.fence.is_some()
            }
        }
    }

    /// Whether a role line was met.
    pub fn has_begun(&self) -> bool {
        self.style.is_some()
    }

    /// Ends the turn that is being read. Text before the first role line is a heading of the file, not a turn.
    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        let at = self.at.take();
        match self.speaker {
            Some(Speaker::Harness) | None => {}
            Some(Speaker::Tool) => {
                push(&mut self.conversation, Speaker::Tool, &super::gather::clip(text.trim()), at, None);
            }
            Some(speaker) => {
                push(&mut self.conversation, speaker, &text, at, None);
            }
        }
    }

    /// The conversation. A code block that was never closed is read again with its role lines.
    pub fn finish(mut self) -> Conversation {
        if let Some((_, from)) = self.fence.take() {
            let tail = self.text.split_off(from.min(self.text.len()));
            self.no_fences = true;
            tail.strip_prefix('\n').unwrap_or(&tail).lines().for_each(|line| self.line(line));
        }
        if self.style.is_none() {
            self.speaker = Some(Speaker::User);
        }
        self.close();
        self.conversation
    }
}
