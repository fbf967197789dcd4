//! What an extractor proposes, before the checks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::memory::{Kind, Layer, RelationType, State};

/// A quote as the extractor gives it: not yet checked, the turn number may be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// 1-based turn number.
    pub turn: u32,
    /// Claimed words.
    pub quote: String,
}

/// A pointer to a known memory (`m07`), to an earlier chunk's candidate (`c03`) or to one of the same answer (`n2`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The alias shown in the request, or the `ref` of another candidate.
    pub id: String,
    /// What the candidate is to it.
    #[serde(rename = "type")]
    pub kind: RelationType,
}

/// How sure the extractor is. Weak candidates become review items, not memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A person should look first.
    Weak,
    /// Good enough to store if the checks pass.
    #[default]
    Strong,
}

/// Whose words a model says its candidate rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// The user said it.
    #[default]
    User,
    /// The assistant proposed it and the user accepted.
    AssistantAccepted,
    /// Somebody the user reports about.
    ThirdParty,
    /// Tool output.
    Tool,
}

/// One proposed memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Name within its answer, `n1`, `n2`, …
    pub reference: String,
    /// Heading.
    pub topic: Option<String>,
    /// What it says.
    pub kind: Kind,
    /// Where it belongs.
    pub layer: Layer,
    /// One line.
    pub summary: String,
    /// Why, or why not.
    pub reason: Option<String>,
    /// `valid`, `rejected` or `done`.
    pub state: State,
    /// `YYYY-MM-DD`.
    pub until_date: Option<String>,
    /// In words.
    pub until_event: Option<String>,
    /// Path, branch or environment.
    pub scope: Option<String>,
    /// Whose words.
    pub voice: Voice,
    /// 2 to 5.
    pub keywords: Vec<String>,
    /// 1 to 3.
    pub evidence: Vec<Quote>,
    /// To known memories.
    pub relations: Vec<Pointer>,
    /// Store or ask.
    pub strength: Strength,
}

impl Candidate {
    /// A valid candidate with a summary and one quote: the start for builders and tests.
    pub fn new(reference: impl Into<String>, kind: Kind, layer: Layer, summary: impl Into<String>) -> Self {
        Self {
            reference: reference.into(),
            topic: None,
            kind,
            layer,
            summary: summary.into(),
            reason: None,
            state: State::Valid,
            until_date: None,
            until_event: None,
            scope: None,
            voice: Voice::User,
            keywords: Vec::new(),
            evidence: Vec::new(),
            relations: Vec::new(),
            strength: Strength::Strong,
        }
    }
}

/// Why a candidate was dropped or sent to review. The names are part of the JSON contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The quote does not occur in that turn.
    EQuote,
    /// The quote is too short to prove anything.
    EShort,
    /// Not the user's words where only the user can decide.
    ERole,
    /// A number, version, path or identifier that nobody said.
    ENumber,
    /// The summary says more than the quoted turns.
    ECover,
    /// A negation was lost or added.
    ENeg,
    /// Taken back later in the conversation.
    EOverturned,
    /// Our own memory read back.
    EEcho,
    /// Holds a secret.
    ESecret,
    /// Text that addresses an AI, not from the user.
    EInject,
    /// "N/A" and its kin where null belongs.
    ELiteralNull,
    /// Wider than 100 wide characters.
    ELong,
    /// Not a day of the calendar, or before the conversation.
    EDate,
    /// A person rejected this before.
    ETombstone,
    /// Does not fit the schema of answers, also after a repair.
    ESchema,
    /// A weak cue of the offline rules; a person should look.
    Weak,
    /// Points to a memory that was not shown.
    UnknownPointer,
}

impl Code {
    /// The code as printed: `E_QUOTE`, …
    pub fn name(self) -> &'static str {
        match self {
            Self::EQuote => "E_QUOTE",
            Self::EShort => "E_SHORT",
            Self::ERole => "E_ROLE",
            Self::ENumber => "E_NUMBER",
            Self::ECover => "E_COVER",
            Self::ENeg => "E_NEG",
            Self::EOverturned => "E_OVERTURNED",
            Self::EEcho => "E_ECHO",
            Self::ESecret => "E_SECRET",
            Self::EInject => "E_INJECT",
            Self::ELiteralNull => "E_LITERAL_NULL",
            Self::ELong => "E_LONG",
            Self::EDate => "E_DATE",
            Self::ETombstone => "E_TOMBSTONE",
            Self::ESchema => "E_SCHEMA",
            Self::Weak => "WEAK",
            Self::UnknownPointer => "UNKNOWN_POINTER",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
