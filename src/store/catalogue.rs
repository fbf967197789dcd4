//! `index.json`: what Markdown does not hold. Types and their JSON; reading and writing is the store's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::journal::sha256;
pub use super::rows::Rows;
use crate::model::Id;
pub use crate::model::plan::Tombstone;
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
    pub memories: Rows<MemoryUse>,
    /// Keyword to ids.
    pub keywords: Rows<Vec<Id>>,
    /// Pairs that disagree.
    pub conflicts: Vec<ConflictRecord>,
    /// What a person rejected.
    pub tombstones: Vec<Tombstone>,
    /// Waiting for a person.
    pub review: Vec<ReviewItem>,
    /// Stable names of proposals that `refine` does not make again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<String>,
    /// The checksum at the end of the file; [`Catalogue::read`] has looked at it.
    #[serde(skip_serializing)]
    pub sum: IgnoredAny,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// RFC 3339; what decay looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_access: Option<String>,
    /// Times used or confirmed.
    pub hits: u64,
    /// State name.
    pub state: String,
    /// First 16 hex digits of the SHA-256 of the entry's text as last written or accepted: tells a hand edit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Added or changed outside, and its owner has not looked at it; with `trust_hand_edits = false` it is held back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Of what is `held`: the digest it had when it was last written or accepted; empty if it was not there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub was: String,
    /// Of what is `held`: its owner was told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
    /// Changed by hand after it was written, so its quotes cannot be checked any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Other conversations in which the user said it again, in the order of reading.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said_again: Vec<String>,
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

/// The beginning of a catalogue: enough to know whose it is without reading all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Format version.
    pub version: u64,
    /// Identity.
    pub project: ProjectIdentity,
}

impl Head {
    /// Reads only as far as needed; `None` if this is no catalogue of ours.
    pub fn read(input: impl std::io::Read) -> Option<Self> {
        struct First<'a>(&'a mut (Option<u64>, Option<ProjectIdentity>));
        impl<'de> serde::de::Visitor<'de> for First<'_> {
            type Value = ();

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a catalogue")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while self.0.0.is_none() || self.0.1.is_none() {
                    match map.next_key::<String>()?.as_deref() {
                        Some("version") => self.0.0 = Some(map.next_value()?),
                        Some("project") => self.0.1 = Some(map.next_value()?),
                        Some(_) => drop(map.next_value::<serde::de::IgnoredAny>()?),
                        None => break,
                    }
                }
                // Both are known: stop reading here.
                Err(serde::de::Error::custom("enough"))
            }
        }
        let mut found = (None, None);
        let mut json = serde_json::Deserializer::from_reader(std::io::BufReader::new(input));
        // The error is how reading stops; what was found by then is the answer.
        drop(serde::Deserializer::deserialize_map(&mut json, First(&mut found)));
        match found {
            (Some(version), Some(project)) => Some(Self { version, project }),
            // A newer format may say whose it is in another way; it is no broken catalogue for that.
            (Some(version), None) if version > VERSION => Some(Self { version, ..Self::default() }),
            _ => None,
        }
    }
}

impl Catalogue {
    /// Whether it knows of nothing but whose it is.
    pub fn is_blank(&self) -> bool {
        let Self { version: _, project: _, files, sessions, memories, keywords, conflicts, tombstones, review, declined, sum: _, extra } =
            self;
        files.is_empty()
            && sessions.is_empty()
            && memories.is_empty()
            && keywords.is_empty()
            && conflicts.is_empty()
            && tombstones.is_empty()
            && review.is_empty()
            && declined.is_empty()
            && extra.is_empty()
    }

    /// Lets keywords lead to a memory that they do not lead to yet.
    pub fn link(&mut self, id: &Id, keywords: &[String]) {
        for keyword in keywords {
            match self.keywords.get_mut(keyword) {
                Some(ids) if ids.last() == Some(id) => {}
                Some(ids) => ids.push(id.clone()),
                None => drop(self.keywords.insert(keyword.clone(), vec![id.clone()])),
            }
        }
    }

    /// The keywords that lead to a memory.
    pub fn keywords_of(&self, id: &Id) -> Vec<String> {
        let leading = self.keywords.such(|json| json.contains(id.as_str())).filter(|(_, ids)| ids.contains(id));
        leading.map(|(keyword, _)| keyword.to_owned()).collect()
    }

    /// Lets no keyword lead to these memories any more.
    pub fn unlink(&mut self, gone: &BTreeSet<&str>) {
        let is_gone = |id: &Id| gone.contains(id.as_str());
        // To look for many ids in a text takes longer than to read it.
        let concerns = |json: &str| gone.len() > 8 || gone.iter().any(|id| json.contains(id));
        let found = self.keywords.such(concerns).filter(|(_, ids)| ids.iter().any(is_gone));
        let found: Vec<String> = found.map(|(keyword, _)| keyword.to_owned()).collect();
        for keyword in found {
            let Some(ids) = self.keywords.get_mut(&keyword) else { continue };
            ids.retain(|id| !is_gone(id));
            if ids.is_empty() {
                self.keywords.remove(&keyword);
            }
        }
    }

    /// Memories added or changed by hand that their owner has not looked at.
    pub fn held(&self) -> impl Iterator<Item = (&str, &MemoryUse)> {
        self.memories.such(is_held).filter(|(_, known)| known.held)
    }

    /// What ranking needs: most memories were never used, and are not read here.
    pub fn used(&self) -> Self {
        let used = self.memories.such(|json| !json.contains("\"hits\":0,") || is_held(json));
        let memories = used.map(|(id, known)| (id.to_owned(), known.clone())).collect();
        Self { memories, conflicts: self.conflicts.clone(), ..Self::default() }
    }

    /// Reads what [`Catalogue::to_json`] wrote. Where the checksum says that nobody has changed it since, the rows of memories and
    /// keywords are read only when they are asked for.
    ///
    /// # Errors
    /// What `serde_json` says.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        std::str::from_utf8(bytes).ok().and_then(Self::read_lines).map_or_else(|| serde_json::from_slice(bytes), Ok)
    }

    fn read_lines(text: &str) -> Option<Self> {
        let (body, end) = text.rsplit_once(SUM)?;
        if end.strip_suffix(END)? != sum(body) {
            return None;
        }
        let text: Arc<str> = Arc::from(body);
        let mut rest = String::new();
        let mut at = 0;
        // No value of ours has a line end, so these are the sections themselves.
        let mut section = |begin: &str, end: &str| {
            let from = at + text.get(at..)?.find(begin)? + begin.len();
            let to = from + text.get(from..)?.find(end)?;
            rest.push_str(text.get(at..from)?);
            at = to;
            Some(from..to)
        };
        let memories = section("\n\"memories\": {", "},\n\"keywords\": {")?;
        let keywords = section("\n\"keywords\": {", "},\n\"conflicts\": [")?;
        rest.push_str(text.get(at..)?);
        rest.push('}');
        let catalogue: Self = serde_json::from_str(&rest).ok()?;
        Some(Self { memories: Rows::of_lines(&text, memories)?, keywords: Rows::of_lines(&text, keywords)?, ..catalogue })
    }

    /// As JSON with one line for each session, memory, keyword and so on, so that a person can read it and `diff` is short. At the
    /// end is a checksum of all that is above it.
    ///
    /// # Errors
    /// What `serde_json` says; no value of ours causes it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut out = format!("{{\n\"version\": {},\n\"project\": {}", VERSION, serde_json::to_string(&self.project)?);
        map(&mut out, "files", &self.files)?;
        list(&mut out, "sessions", &self.sessions)?;
        section(&mut out, "memories", ('{', '}'), |out| self.memories.write(out))?;
        section(&mut out, "keywords", ('{', '}'), |out| self.keywords.write(out))?;
        list(&mut out, "conflicts", &self.conflicts)?;
        list(&mut out, "tombstones", &self.tombstones)?;
        list(&mut out, "review", &self.review)?;
        if !self.declined.is_empty() {
            list(&mut out, "declined", &self.declined)?;
        }
        for (key, value) in &self.extra {
            out.extend([",\n", &serde_json::to_string(key)?, ": ", &value.to_string()]);
        }
        let sum = sum(&out);
        out.extend([SUM, &sum, END]);
        Ok(out)
    }
}

/// How the last line of the file begins and ends; between is the checksum.
const SUM: &str = ",\n\"sum\": \"";
const END: &str = "\"\n}\n";

/// Whether the row of a memory, as `serde_json` writes it, says that it is held.
fn is_held(json: &str) -> bool {
    json.contains("\"held\":true")
}

fn sum(body: &str) -> String {
    let mut sum = sha256(body.as_bytes());
    sum.truncate(16);
    sum
}

fn map<T: Serialize>(out: &mut String, name: &str, items: &BTreeMap<String, T>) -> serde_json::Result<()> {
    let lines = items.iter().map(|(key, value)| Ok(format!("{}: {}", serde_json::to_string(key)?, serde_json::to_string(value)?)));
    rows(out, name, ('{', '}'), lines)
}

fn list<T: Serialize>(out: &mut String, name: &str, items: &[T]) -> serde_json::Result<()> {
    rows(out, name, ('[', ']'), items.iter().map(serde_json::to_string))
}

fn rows(
    out: &mut String,
    name: &str,
    around: (char, char),
    lines: impl Iterator<Item = serde_json::Result<String>>,
) -> serde_json::Result<()> {
    section(out, name, around, |out| {
        for (n, line) in lines.enumerate() {
            out.push_str(if n == 0 { "\n" } else { ",\n" });
            out.push_str(&line?);
        }
        Ok(())
    })
}

fn section(
    out: &mut String,
    name: &str,
    (open, close): (char, char),
    lines: impl FnOnce(&mut String) -> serde_json::Result<()>,
) -> serde_json::Result<()> {
    out.extend([",\n\"", name, "\": "]);
    out.push(open);
    lines(out)?;
    out.push(close);
    Ok(())
}
