//! Names: what the home folder holds, what a project may be called, which file a memory goes into (design: section 2).

use std::path::{Path, PathBuf};

use super::GLOBAL;
use crate::error::{Error, Kind, Result};
use crate::model::{Layer, Memory};

/// Memories of [`Layer::Working`].
pub const WORKING: &str = "working-memory.md";
/// Memories of [`Layer::LongTerm`].
pub const LONG_TERM: &str = "long-term-preferences.md";
/// Folder of one file per conversation.
pub const TRANSIENT: &str = "transient";
/// Folder of what decay moved out, one file per month.
pub const ARCHIVE: &str = "transient/archive";
/// The owner's memory tests. Never written by us but to start it, never read as memories.
pub const TESTS: &str = "tests.toml";
/// The catalogue.
pub const INDEX: &str = "index.json";

/// Our own folder inside the home.
pub fn state(home: &Path) -> PathBuf {
    home.join(".state")
}

/// The file that a writer locks.
pub fn lock(home: &Path) -> PathBuf {
    state(home).join("lock")
}

/// Where new files wait, with `commit.json` as the journal.
pub fn journal(home: &Path) -> PathBuf {
    state(home).join("journal")
}

/// The last commits, one folder each.
pub fn history(home: &Path) -> PathBuf {
    state(home).join("history")
}

/// What injections put in front of conversations, one JSON object per line.
pub fn injections(home: &Path) -> PathBuf {
    state(home).join("injections.jsonl")
}

/// Whether a project can have this name: a letter or digit, then at most 63 letters, digits, `.`, `_`, `-`; no dot at the end.
/// Letters of every script, with the vowel signs that some scripts spell them with.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(char::is_alphanumeric)
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && name.chars().count() <= 64
        && !name.ends_with('.')
}

/// Refuses what cannot be the name of a project (`_global` is one).
pub fn check_name(name: &str) -> Result<()> {
    if name == GLOBAL || is_name(name) {
        return Ok(());
    }
    Err(Error::new(Kind::Usage, format!("{name:?} cannot be the name of a project"))
        .hint("use letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 64 characters"))
}

/// `name` made to fit [`is_name`].
pub fn fit_name(name: &str) -> String {
    let fitted: String = name.trim().chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }).collect();
    let fitted: String = fitted.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().take(64).collect();
    let fitted = fitted.trim_end_matches(['.', '-']);
    if fitted.is_empty() { "project".to_owned() } else { fitted.to_owned() }
}

/// Whether a file name inside a project is one that we read: the layer it holds. The archive is not read for everyday work.
pub fn layer_of(file: &str) -> Option<Layer> {
    match file {
        WORKING => Some(Layer::Working),
        LONG_TERM => Some(Layer::LongTerm),
        _ => {
            let name = file.strip_prefix("transient/")?;
            let name = name.strip_prefix("archive/").unwrap_or(name);
            is_stem(name.strip_suffix(".md")?).then_some(Layer::Transient)
        }
    }
}

/// Whether a file is in the archive.
pub fn is_archive(file: &str) -> bool {
    file.starts_with("transient/archive/")
}

/// Whether a path inside a project is a file of ours (also the catalogue).
pub fn is_ours(file: &str) -> bool {
    file == INDEX || layer_of(file).is_some()
}

/// A name without folder or extension: nothing hidden, no separators.
fn is_stem(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}

/// The file a new memory goes into. `at` (RFC 3339) names the day where the memory has no session.
pub fn file_for(memory: &Memory, at: &str) -> Result<String> {
    match memory.layer {
        Layer::Working => Ok(WORKING.to_owned()),
        Layer::LongTerm => Ok(LONG_TERM.to_owned()),
        Layer::Transient => {
            let day = || format!("{}-manual", memory.created.as_deref().unwrap_or(at).get(..10).unwrap_or("undated"));
            let name = memory.session.clone().unwrap_or_else(day);
            if !is_stem(&name) || name.len() > 120 {
                return Err(Error::failure(format!("{name:?} cannot name a conversation's file"))
                    .hint("a session is named like 2025-06-10-1234abcd"));
            }
            Ok(format!("{TRANSIENT}/{name}.md"))
        }
    }
}

/// The archive file for what is put away at a time (RFC 3339): `transient/archive/2025-06.md`.
pub fn archive_for(memory: &Memory, at: &str) -> String {
    let month = |text: &str| text.get(..7).filter(|m| m.len() == 7 && is_stem(m)).map(str::to_owned);
    let month = memory.created.as_deref().and_then(month).or_else(|| month(at));
    format!("{ARCHIVE}/{}.md", month.as_deref().unwrap_or("undated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["payment-api", "订单服务", "a", "v2.1_x", "परियोजना", "ｘ"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "_global", ".state", "a/b", "a b", "..", "-x", "a\\b", "x.", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
        for (from, to) in [("my app", "my-app"), ("_x", "x"), ("...", "project"), ("订单 服务", "订单-服务"), ("a/../b", "a-..-b")]
        {
            assert_eq!(fit_name(from), to);
            assert!(is_name(&fit_name(from)));
        }
    }

    #[test]
    fn only_our_files() {
        for ours in [INDEX, WORKING, "transient/2025-06-10-1234abcd.md", "transient/archive/2025-06.md"] {
            assert!(is_ours(ours), "{ours}");
        }
        for foreign in
            ["notes.md", TESTS, "transient/.hidden.md", "transient/a/b.md", "../working-memory.md", "transient/../../x.md", "chroma/a.md"]
        {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }
}
