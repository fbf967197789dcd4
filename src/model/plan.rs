//! Every write is a plan first: what would change, to be shown, then committed as one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::candidate::Code;
use super::conversation::Cursor;
use super::memory::{Evidence, Id, Memory, Origin};

/// SHA-256 (hex) of every file of a project as the planner saw it; a file that was absent is not listed.
/// A commit refuses a plan whose base is not the store's present state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base(pub BTreeMap<String, String>);

/// Changes to one project, made for one state of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Project name; `_global` for memories of scope global.
    pub project: String,
    /// The state it was made for.
    pub base: Base,
    /// The command that made it, for the history: `ingest`, `remember`, `edit`, …
    pub command: String,
    /// RFC 3339 time of the command, with offset.
    pub at: String,
    /// In order.
    pub changes: Vec<Change>,
}

impl Plan {
    /// A plan without changes.
    pub fn new(project: impl Into<String>, base: Base, command: impl Into<String>, at: impl Into<String>) -> Self {
        Self { project: project.into(), base, command: command.into(), at: at.into(), changes: Vec::new() }
    }

    /// The ids that `Add` brings in.
    pub fn added(&self) -> impl Iterator<Item = &Memory> {
        self.changes.iter().filter_map(|c| match c {
            Change::Add(memory) => Some(memory),
            _ => None,
        })
    }
}

/// One change to a project.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A new entry, under its topic, in the file of its layer.
    Add(Memory),
    /// The entry with this id says this from now on (a changed layer moves it to the other file).
    /// Only the lines of that entry change.
    Amend(Memory),
    /// Seen again: counts as access; the quote, if any, is added to the entry (at most 5 are kept).
    Confirm {
        /// The entry.
        id: Id,
        /// The new words.
        evidence: Option<Evidence>,
    },
    /// Leaves working life: the entry moves to the transient archive of its month.
    Archive {
        /// The entry.
        id: Id,
    },
    /// The entry goes; history keeps it.
    Forget {
        /// The entry.
        id: Id,
        /// What keeps the same claim from coming back, if it shall not (`reconcile::duplicate::fingerprint`).
        tombstone: Option<Tombstone>,
    },
    /// Used by an injection, a search or a read.
    Touch {
        /// The entries.
        ids: Vec<Id>,
    },
    /// Both entries stay and are flagged; a person decides. Also sets `relations` on both entries.
    Conflict {
        /// The entry that was there.
        older: Id,
        /// The entry that disagrees.
        newer: Id,
        /// Why they are thought to disagree, in one line.
        reason: String,
        /// Whether the newer one claims to replace the older one.
        supersedes: bool,
    },
    /// A pair was decided.
    Settle {
        /// The entry that was there.
        older: Id,
        /// The entry that disagreed.
        newer: Id,
        /// `new`, `old`, `both` or `merged`.
        how: String,
        /// What keeps the losing claim from coming back out of an older conversation.
        tombstone: Option<Tombstone>,
    },
    /// Something for `review`.
    Ask(Box<ReviewItem>),
    /// A review item was dealt with.
    Answer {
        /// The review item.
        id: Id,
        /// What keeps the claim from coming back, if it was turned down for good.
        tombstone: Option<Tombstone>,
    },
    /// The owner has looked at what was added or changed outside, and takes it over as it stands.
    Accept {
        /// The entries.
        ids: Vec<Id>,
    },
    /// The owner was told that these were added or changed outside.
    Announced {
        /// The entries.
        ids: Vec<Id>,
    },
    /// Proposals of `refine` that were turned down or read: not made again while the entry says the same.
    Decline {
        /// Stable names of the proposals.
        keys: Vec<String>,
    },
    /// Progress of a transcript. Replaces the record of the same session.
    Session(SessionRecord),
}

/// What must not come back: never the text, only hashes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tombstone {
    /// SHA-256 (hex) of the normalised content, see `reconcile::duplicate::fingerprint`.
    pub hash: String,
    /// Short hashes (8 hex) of the content tokens, sorted: near-equal candidates are recognised without keeping text.
    pub tokens: Vec<String>,
    /// Short hashes (8 hex) of the exact tokens (numbers, names, paths), sorted: these must agree.
    pub exact: Vec<String>,
    /// RFC 3339; the store sets it to the time of the plan if it is empty.
    pub at: String,
    /// It lost against another memory and was not thrown out: a conversation of a later day may say it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// Something a person should decide; kept in `index.json` until answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewItem {
    /// Its own id; a candidate that is accepted keeps it as its memory id.
    pub id: Id,
    /// Reason codes: `WEAK`, `E_COVER`, …
    pub codes: Vec<Code>,
    /// The memory as it would be stored.
    pub memory: MemoryRecord,
}

/// What is known of one conversation in `index.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// `YYYY-MM-DD-xxxxxxxx`: names the transient file.
    pub session: String,
    /// Session id as the transcript has it: the key for re-ingest.
    pub transcript: String,
    /// Path of the transcript when last read.
    pub source: String,
    /// Format name.
    pub format: String,
    /// SHA-256 (hex) of the bytes up to the cursor.
    pub sha256: String,
    /// How far.
    pub cursor: Cursor,
    /// Backend and model used last.
    pub extractor: String,
    /// Model, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// RFC 3339 time of the last ingest.
    pub ingested: String,
    /// Memories stored, sent to review, dropped.
    pub stored: u32,
    /// Sent to review.
    pub review: u32,
    /// Dropped by a check.
    pub dropped: u32,
    /// First 8 hex digits of the SHA-256 of each user turn's uuid: recognises forks and resumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<String>,
}

/// A memory as JSON holds it (review items, import, export, `--json`). One shape everywhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryRecord {
    /// Ten characters; empty on import.
    pub id: String,
    /// Project name.
    pub project: String,
    /// `transient`, `working`, `long_term`.
    pub layer: String,
    /// See [`super::Kind`].
    pub kind: String,
    /// Heading.
    pub topic: Option<String>,
    /// One line.
    pub summary: String,
    /// Why.
    pub reason: Option<String>,
    /// See [`super::State`].
    pub state: String,
    /// `lasting`, `session`, `until`.
    pub validity: String,
    /// `YYYY-MM-DD`.
    pub until_date: Option<String>,
    /// In words.
    pub until_event: Option<String>,
    /// Where it holds.
    pub scope: Option<String>,
    /// To find it by.
    pub keywords: Vec<String>,
    /// Quotes.
    pub evidence: Vec<Evidence>,
    /// Links.
    pub relations: Vec<super::Relation>,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// See [`Origin`].
    pub origin: String,
    /// Whose word it rests on: `user`, `assistant`, `tool`, `manual`, `import`. Follows from origin and quotes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// `YYYY-MM-DD-xxxxxxxx`.
    pub session: Option<String>,
    /// RFC 3339.
    pub created: Option<String>,
    /// RFC 3339.
    pub last_access: Option<String>,
    /// Times used or confirmed.
    pub hits: u64,
    /// File inside the home, with `/`.
    pub file: Option<String>,
    /// 1-based line of the heading.
    pub line: Option<u64>,
    /// What was turned down in favour of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    /// How to act on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how_to_apply: Option<String>,
    /// Git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Never decays.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

impl MemoryRecord {
    /// The JSON shape of a memory of `project`, without what only the store knows (access, file, line).
    pub fn of(memory: &Memory, project: &str) -> Self {
        Self {
            id: memory.id.to_string(),
            project: project.to_owned(),
            layer: memory.layer.name().to_owned(),
            kind: memory.kind.name().to_owned(),
            topic: memory.topic.clone(),
            summary: memory.summary.clone(),
            reason: memory.reason.clone(),
            state: memory.state.name().to_owned(),
            validity: memory.validity.name().to_owned(),
            until_date: memory.validity.until_date().map(str::to_owned),
            until_event: memory.lapses_when.clone(),
            scope: memory.scope.clone(),
            keywords: memory.keywords.clone(),
            evidence: memory.evidence.clone(),
            relations: memory.relations.clone(),
            confidence: memory.confidence,
            origin: memory.origin.name().to_owned(),
            lane: memory.lane().to_owned(),
            session: memory.session.clone(),
            created: memory.created.clone(),
            last_access: None,
            hits: 0,
            file: None,
            line: None,
            rejected: memory.rejected.clone(),
            how_to_apply: memory.how_to_apply.clone(),
            branch: memory.branch.clone(),
            pinned: memory.pinned,
        }
    }

    /// The memory this record describes. `Err` names the field that does not fit.
    pub fn to_memory(&self, id: Id) -> Result<Memory, String> {
        use super::{Kind, Layer, State, Validity};
        fn named<T>(field: &str, text: &str, parse: fn(&str) -> Option<T>, default: T) -> Result<T, String> {
            if text.is_empty() { Ok(default) } else { parse(text).ok_or_else(|| format!("{field}: unknown value {text:?}")) }
        }
        if self.summary.trim().is_empty() {
            return Err("summary: missing".to_owned());
        }
        let kind = named("kind", &self.kind, Kind::parse, Kind::Fact)?;
        let mut memory = Memory::new(id, named("layer", &self.layer, Layer::parse, Layer::Working)?, kind, self.summary.trim());
        memory.state = named("state", &self.state, State::parse, State::Valid)?;
        memory.origin = named("origin", &self.origin, Origin::parse, Origin::Import)?;
        memory.validity = match (self.validity.as_str(), &self.until_date) {
            (_, Some(day)) => Validity::Until(day.clone()),
            ("session", None) => Validity::Session,
            ("" | "lasting", None) => Validity::Lasting,
            (other, None) => return Err(format!("validity: unknown value {other:?}")),
        };
        memory.topic.clone_from(&self.topic);
        memory.reason.clone_from(&self.reason);
        memory.lapses_when.clone_from(&self.until_event);
        memory.scope.clone_from(&self.scope);
        memory.keywords.clone_from(&self.keywords);
        memory.evidence.clone_from(&self.evidence);
        memory.relations.clone_from(&self.relations);
        memory.confidence = self.confidence;
        memory.session.clone_from(&self.session);
        memory.created.clone_from(&self.created);
        memory.rejected.clone_from(&self.rejected);
        memory.how_to_apply.clone_from(&self.how_to_apply);
        memory.branch.clone_from(&self.branch);
        memory.pinned = self.pinned;
        Ok(memory)
    }
}
