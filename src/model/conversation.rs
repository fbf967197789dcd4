//! A conversation as read from a transcript.

use serde::{Deserialize, Serialize};

/// Who speaks in a turn. Only real user turns speak for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person's own words.
    User,
    /// The model's prose.
    Assistant,
    /// Output of a tool, a web page, a file that was read.
    Tool,
    /// The program around the model: reminders, hooks, notices.
    Harness,
}

impl Speaker {
    /// The lower-case name used in files, JSON and prompts.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Harness => "harness",
        }
    }
}

/// One turn. `number` is 1-based and counts the turns as read, before cleaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// 1-based number within the conversation; stable when the transcript grows.
    pub number: u32,
    /// Who speaks.
    pub speaker: Speaker,
    /// The words, as read or (after `text::clean`) as cleaned.
    pub text: String,
    /// RFC 3339 time, as found.
    pub at: Option<String>,
    /// The record's own identity where the format has one: forks and resumes copy it.
    pub uuid: Option<String>,
}

/// One conversation with its ordered turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Session id as found in the file; else derived from the content (never from the file name alone).
    pub session: String,
    /// Name of the format that read it, such as `claude-code`.
    pub format: &'static str,
    /// Title given by the person or the tool.
    pub title: Option<String>,
    /// Working folder inside the records: decides the project.
    pub cwd: Option<String>,
    /// Project named by the transcript itself (neutral form only).
    pub project: Option<String>,
    /// Git branch at the end.
    pub branch: Option<String>,
    /// First time seen, RFC 3339 or `YYYY-MM-DD`: relative dates are resolved against it.
    pub date: Option<String>,
    /// The turns in order.
    pub turns: Vec<Turn>,
}

impl Conversation {
    /// The turn with this 1-based number.
    pub fn turn(&self, number: u32) -> Option<&Turn> {
        // Numbers are dense and ascending, so the guess is nearly always right; cleaning may leave gaps.
        let guess = (number as usize).checked_sub(1)?;
        match self.turns.get(guess) {
            Some(turn) if turn.number == number => Some(turn),
            _ => self.turns.iter().find(|t| t.number == number),
        }
    }

    /// `YYYY-MM-DD` of the conversation, if known and a day of the calendar (it names a file).
    pub fn day(&self) -> Option<&str> {
        self.date.as_deref().and_then(|d| d.get(..10)).filter(|d| d.parse::<jiff::civil::Date>().is_ok())
    }

    /// How many turns are the user's own.
    pub fn user_turns(&self) -> usize {
        self.turns.iter().filter(|t| t.speaker == Speaker::User).count()
    }
}

/// How far a transcript has been ingested. Moves only after the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Bytes read up to the last whole line.
    pub offset: u64,
    /// Turns read so far; extraction continues behind this one.
    pub turns: u32,
    /// Identity of the last record, where the format has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_uuid: Option<String>,
}
