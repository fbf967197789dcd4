//! Markdown with role headings or bold role lines, as many exporters write it: `## 👤 User`, `## 🤖 Claude`,
//! `**Human:**`, `### Assistant`. The first role line fixes the style; other headings are content.

use super::gather::{Problems, one};
use super::plain::{Dialogue, has_roles};
use super::roles::Style;
use super::{Format, Input, ReadOptions, Reading, text};
use crate::error::Result;
use crate::model::{Conversation, Speaker, Turn};

/// The format.
#[derive(Debug)]
pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn detect(&self, head: &str) -> bool {
        has_roles(head, |r| matches!(r.style, Style::Heading(_) | Style::Bold))
    }

    fn read(&self, input: &mut dyn Input, _options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
        let mut problems = Problems::default();
        let mut dialogue = Dialogue::default();
        let mut about = Conversation::default();
        let offset = text::each_line(input, &mut problems, &mut |line| {
            if !dialogue.has_begun() {
                heading(&mut about, line);
            }
            dialogue.line(line);
        })?;
        about.turns = joined(dialogue.finish().turns);
        Ok(one(self.name(), about, problems, offset, out))
    }
}

/// What stands before the first turn: a title, a session id, a date.
fn heading(about: &mut Conversation, line: &str) {
    let plain = line.trim().trim_start_matches(['*', '-', ' ']).replace("**", "");
    let value = |names: &[&str]| {
        let (name, value) = plain.split_once([':', '：'])?;
        names.iter().any(|n| name.trim().eq_ignore_ascii_case(n)).then(|| value.trim().trim_matches('`').to_owned())
    };
    if let Some(id) = value(&["session id", "session", "conversation id", "会话"]) {
        about.session = id;
    } else if let Some(date) = value(&["date", "created", "日期", "时间"]) {
        about.date = text::time(&date);
    } else if let Some(title) = line.strip_prefix("# ") {
        about.title.get_or_insert_with(|| title.trim().to_owned());
    }
}

/// Turns without the rules between them and without tool calls; neighbouring sections of the model are one turn.
fn joined(turns: Vec<Turn>) -> Vec<Turn> {
    let mut out: Vec<Turn> = Vec::new();
    for mut turn in turns {
        let words = turn.text.split("🔧 Using tool:").next().unwrap_or_default();
        let words = words.trim().trim_end_matches("---").trim().to_owned();
        turn.text = if turn.speaker == Speaker::Assistant { words } else { turn.text.trim().trim_end_matches("---").trim().to_owned() };
        match out.last_mut() {
            _ if turn.text.is_empty() => {}
            Some(last) if last.speaker == Speaker::Assistant && turn.speaker == Speaker::Assistant => {
                last.text.push_str("\n\n");
                last.text.push_str(&turn.text);
            }
            _ => {
                turn.number = u32::try_from(out.len()).unwrap_or(u32::MAX).saturating_add(1);
                out.push(turn);
            }
        }
    }
    out
}
