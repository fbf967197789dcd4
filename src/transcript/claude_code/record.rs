//! One record of a Claude Code transcript: the few fields that matter, borrowed from the line. Everything else
//! (tool inputs, usage, snapshots, copies of requests) is read past without being built.

use serde::Deserialize;

use crate::transcript::content::Content;
use crate::transcript::lenient::{Flag, List, Maybe, Text};

/// A record of any type. Absent and odd fields are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub uuid: Text<'a>,
    #[serde(borrow)]
    pub parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// The same in the stream that `claude -p` prints.
    #[serde(borrow, rename = "session_id")]
    pub printed_session_id: Text<'a>,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow)]
    pub git_branch: Text<'a>,
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    pub is_sidechain: Flag,
    pub is_meta: Flag,
    pub is_compact_summary: Flag,
    pub is_visible_in_transcript_only: Flag,
    pub is_api_error_message: Flag,
    /// `harness` or `hook` where the program wrote the record in the user's name.
    #[serde(borrow)]
    pub row_source: Text<'a>,
    #[serde(borrow)]
    pub origin: Maybe<Origin<'a>>,
    #[serde(borrow)]
    pub message: Maybe<Message<'a>>,
    #[serde(borrow)]
    pub attachment: Maybe<Attachment<'a>>,
    /// Of a `queue-operation`.
    #[serde(borrow)]
    pub operation: Text<'a>,
    /// Of a `queue-operation`: the queued prompt.
    #[serde(borrow)]
    pub content: Content<'a>,
    #[serde(borrow)]
    pub summary: Text<'a>,
    #[serde(borrow)]
    pub leaf_uuid: Text<'a>,
    #[serde(borrow)]
    pub custom_title: Text<'a>,
    #[serde(borrow)]
    pub ai_title: Text<'a>,
}

/// Who caused the record, in newer versions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Origin<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

/// The API message inside a record.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub content: Content<'a>,
}

/// What was attached to a turn; only queued prompts hold the person's words.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub prompt: Content<'a>,
    #[serde(borrow)]
    pub command_mode: Text<'a>,
    #[serde(borrow)]
    pub origin: Maybe<Origin<'a>>,
    pub is_meta: Flag,
}

/// Claude Code on the web: one document around the records.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document<'a> {
    #[serde(borrow)]
    pub loglines: List<Maybe<Record<'a>>>,
}

/// Record types that hold words or titles.
pub const SPOKEN: &[&str] = &["user", "assistant", "attachment", "queue-operation", "summary", "custom-title", "ai-title", "system"];

/// Record types known to hold none of a person's words: read past without a word.
pub const BOOKKEEPING: &[&str] = &[
    "agent-name",
    "agent-color",
    "agent-setting",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "attribution-snapshot",
    "atis-latch",
    "bridge-session",
    "cost-state",
    "content-replacement",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "relocated",
    "result",
    "saved_hook_context",
    "speculation-accept",
    "started",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
];

impl Record<'_> {
    /// Whether a subagent spoke: its `user` is the model that started it.
    pub fn is_subagent(&self) -> bool {
        self.is_sidechain.0 || self.agent_id.get().is_some()
    }

    /// Whether the program wrote this in the user's name. Any one mark is enough; they may contradict each other.
    pub fn is_harness(&self) -> bool {
        self.is_meta.0
            || self.is_compact_summary.0
            || self.is_visible_in_transcript_only.0
            || matches!(self.row_source.str(), "harness" | "hook")
            || is_machine(&self.origin)
    }
}

/// Whether an origin says that no person was the cause.
pub fn is_machine(origin: &Maybe<Origin<'_>>) -> bool {
    origin.0.as_ref().and_then(|o| o.kind.get()).is_some_and(|kind| kind != "human")
}
