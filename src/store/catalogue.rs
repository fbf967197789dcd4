//! `index.json`: what Markdown does not hold. Types and their JSON; reading and writing is the store's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Id;
use crate::model::plan::{ReviewItem, SessionRecord};

/// Version of the format that this program writes. A newer one opens read-only.
pub const VERSION: u64 = 1;

/// One project's catalogue. Schema: `schemas/index.schema.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Catalogue {
    /// [`VERSION`].
    pub version: u64,
    /// Identity.
    pub project: ProjectIdentity,
    /// By file name inside the project: our last write.
    pub files: BTreeMap<String, FileRecord>,
    /// Conversations read, oldest first.
    pub sessions: Vec<SessionRecord>,
    /// By memory id: use and place.
    pub memories: BTreeMap<String, MemoryUse>,
    /// Keyword to ids.
    pub keywords: BTreeMap<String, Vec<Id>>,
    /// Pairs that disagree.
    pub conflicts: Vec<ConflictRecord>,
    /// What a person rejected.
    pub tombstones: Vec<Tombstone>,
    /// Waiting for a person.
    pub review: Vec<ReviewItem>,
    /// Unknown keys of this version, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What makes a project this project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectIdentity {
    /// Name, equal to the folder's.
    pub name: String,
    /// Git common dir or folder that is bound to it; several after `bind`.
    pub roots: Vec<String>,
    /// RFC 3339.
    pub created: String,
}

/// A file as we wrote it last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRecord {
    /// SHA-256, hex.
    pub sha256: String,
    /// RFC 3339.
    pub written: String,
}

/// Use and place of one memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryUse {
    /// Layer name.
    pub layer: String,
    /// File inside the project.
    pub file: String,
    /// Session it came from.
    pub session: Option<String>,
    /// RFC 3339.
    pub created: Option<String>,
    /// RFC 3339; what decay looks at.
    pub last_access: Option<String>,
    /// Times used or confirmed.
    pub hits: u64,
    /// State name.
    pub state: String,
    /// Reserved.
    pub embedding_id: Option<String>,
}

/// Two memories that disagree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConflictRecord {
    /// The one that was there.
    pub older: String,
    /// The one that disagrees.
    pub newer: String,
    /// One line.
    pub reason: String,
    /// Whether the newer claims to replace the older.
    pub supersedes: bool,
    /// RFC 3339.
    pub detected: String,
    /// `pending`, or how it was settled: `new`, `old`, `both`, `merged`.
    pub state: String,
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
    /// RFC 3339.
    pub at: String,
}
