//! Memories as pages, one for each topic, with an index: to read, to print, to put beside the documents of a project.
//!
//! The same memories give the same bytes. A page says what holds and what was turned down; what was replaced stays in the store.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::escape;
use crate::model::{Kind, Memory, State};
use crate::store::Snapshot;
use crate::text::words::{self, fold};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its name, without a folder.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// Name of the index.
const INDEX: &str = "index.md";

/// Topic of memories without one.
const GENERAL: &str = "General";

/// Longest name of a file in bytes, without hash and ending.
const LONGEST: usize = 80;

/// Widest topic and reason, in wide characters; quotes and reasons may be pages long.
const TOPIC: f64 = 60.0;
const LONG: f64 = 400.0;

/// Names that some systems keep for themselves, and our own.
const RESERVED: &[&str] = &["index", "con", "prn", "aux", "nul"];

/// The index, then the pages by name.
pub fn pages(snapshots: &[Snapshot]) -> Vec<Page> {
    let mut topics: BTreeMap<String, (String, Vec<&Memory>)> = BTreeMap::new();
    for memory in snapshots.iter().flat_map(|s| &s.entries).map(|e| &e.memory) {
        if !matches!(memory.state, State::Superseded | State::Lapsed) {
            let topic = memory.topic.as_deref().unwrap_or(GENERAL);
            let page = topics.entry(file_name(topic)).or_insert_with(|| (topic.to_owned(), Vec::new()));
            // Spellings of one topic share a page, under the first by the alphabet.
            page.0 = page.0.clone().min(topic.to_owned());
            page.1.push(memory);
        }
    }
    let mut index = String::from("# Topics\n\n");
    let mut pages = Vec::new();
    for (file, (topic, mut memories)) in topics {
        memories.sort_by_key(|m| (!m.pinned, m.kind, m.day(), &m.id));
        let topic = line(&topic, TOPIC);
        let open = memories.iter().filter(|m| m.kind == Kind::Todo && m.state == State::Valid).count();
        let open = if open > 0 { format!(", {open} open") } else { String::new() };
        let name = topic.replace('[', "\\[").replace(']', "\\]");
        index.extend([format!("- [{name}](<{file}>) ({}{open})\n", memories.len())]);
        pages.push(Page { text: page(&topic, &memories), file });
    }
    pages.insert(0, Page { file: INDEX.to_owned(), text: index });
    pages
}

/// A file name that every system takes: letters and digits of any script, `-` between. If that loses more than spaces and
/// case, a hash of the topic keeps `C` and `C++` apart.
fn file_name(topic: &str) -> String {
    let folded = fold(topic.trim());
    let mut name = String::new();
    let mut loses = false;
    for c in folded.chars() {
        if c.is_alphanumeric() || c == '_' {
            if name.len() + c.len_utf8() > LONGEST {
                loses = true;
                break;
            }
            name.push(c);
        } else {
            loses |= !(c.is_whitespace() || c == '-');
            if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
    }
    let name = name.trim_end_matches('-');
    let device = name.len() == 4 && (name.starts_with("com") || name.starts_with("lpt"));
    if !loses && !name.is_empty() && !RESERVED.contains(&name) && !device {
        return format!("{name}.md");
    }
    let hash: String = Sha256::digest(folded.as_bytes()).iter().take(3).map(|b| format!("{b:02x}")).collect();
    format!("{}-{hash}.md", if name.is_empty() { "topic" } else { name })
}

fn line(text: &str, most: f64) -> String {
    escape::line(text, most, "as recorded: “{text}”")
}

fn page(topic: &str, memories: &[&Memory]) -> String {
    let mut out = format!("# {topic}\n");
    let mut section = |name: &str, lines: Vec<String>| {
        let lines = if lines.is_empty() { "None.\n".to_owned() } else { lines.concat() };
        out.extend([format!("\n## {name}\n\n"), lines]);
    };
    let of = |wanted: &dyn Fn(&Memory) -> bool, say: &dyn Fn(&Memory) -> String| -> Vec<String> {
        memories.iter().filter(|m| wanted(m)).map(|m| say(m)).collect()
    };
    let decides = |m: &Memory| m.kind == Kind::Decision || m.state == State::Rejected;
    section("Summary", of(&|m| m.kind != Kind::Todo && !decides(m), &|m| item("", m)));
    let mut keywords: Vec<String> = Vec::new();
    for keyword in memories.iter().flat_map(|m| &m.keywords) {
        if !keywords.iter().any(|k| fold(k) == fold(keyword)) {
            keywords.push(line(keyword, TOPIC));
        }
    }
    keywords.sort();
    section("Keywords", if keywords.is_empty() { Vec::new() } else { vec![format!("{}\n", keywords.join(", "))] });
    section(
        "Key Decisions",
        of(&|m| m.kind != Kind::Todo && decides(m), &|m| item(if m.state == State::Rejected { "Turned down: " } else { "" }, m)),
    );
    section(
        "TODO",
        of(&|m| m.kind == Kind::Todo && m.state != State::Rejected, &|m| item(if m.state == State::Done { "[x] " } else { "[ ] " }, m)),
    );
    let excerpts = memories.iter().flat_map(|m| m.evidence.iter().map(move |e| (m, e)));
    let excerpts = excerpts.map(|(m, e)| {
        let session = e.session.as_ref().or(m.session.as_ref()).map(|s| format!("{} ", line(s, TOPIC))).unwrap_or_default();
        format!("> {}\n> ({session}T{}, {}; `{}`)\n\n", line(&e.quote, LONG), e.turn, e.speaker.name(), m.id)
    });
    section("Raw Excerpts", excerpts.collect());
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// `- statement (kind, 2025-06-10, id)`, with its reason below it.
fn item(mark: &str, memory: &Memory) -> String {
    let day = memory.day().map(|d| format!("{d}, ")).unwrap_or_default();
    let mut out = format!("- {mark}{} ({}, {day}`{}`)\n", line(&memory.summary, words::MAX_WIDTH), memory.kind, memory.id);
    for (name, text) in [("Why", &memory.reason), ("Rejected", &memory.rejected), ("How to apply", &memory.how_to_apply)] {
        out.extend(text.as_deref().map(|t| format!("  - {name}: {}\n", line(t, LONG))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_stable() {
        for (topic, file) in [
            ("Order payments", "order-payments.md"),
            ("订单支付", "订单支付.md"),
            ("决济・注文", "决济-注文-"),
            ("C++", "c-"),
            ("C", "c.md"),
            ("../../etc/passwd", "etc-passwd-"),
            ("CON", "con-"),
            ("index", "index-"),
            ("🎉", "topic-"),
            ("", "topic-"),
        ] {
            let name = file_name(topic);
            assert!(name == file || (name.starts_with(file) && !file.ends_with(".md")), "{topic}: {name}");
            assert_eq!(name, file_name(topic));
            assert!(!name.contains(['/', '\\', ':', ' ']) && !name.starts_with('.') && name.len() < 120, "{name}");
        }
        assert!(file_name(&"长".repeat(500)).len() < 120);
        assert_ne!(file_name("C++"), file_name("C#"));
    }
}
