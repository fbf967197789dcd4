//! Stores of other tools: one file per format behind `trait Foreign`, detected by content (the owner's own rules by name); the table is [`STORES`].
//!
//! Pure: text in, statements and problems out. Not here: opening files (`cli::import`, `store::peer`), and what a statement
//! may become (`pipeline::import`).

mod basic_memory;
mod claude_ai;
mod claude_md;
mod claude_mem;
mod knowledge_graph;
mod numbered;
mod outline;
pub mod statement;

use crate::error::Problem;
use crate::model::{Kind, Speaker};
use crate::text::words::count;

/// One statement of a foreign store.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// 1-based line, or number of the row or statement where lines mean nothing.
    pub line: u64,
    /// What it states; may be too long for a summary.
    pub text: String,
    /// What its store adds: a reason, an explanation.
    pub more: Option<String>,
    /// What its store says that it is.
    pub kind: Kind,
    /// Heading it stands under.
    pub topic: Option<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// RFC 3339, where the store knows.
    pub created: Option<String>,
    /// Project in the foreign store, where it has several.
    pub project: Option<String>,
}

impl Item {
    /// A fact and nothing else: the start for every reader.
    fn new(line: u64, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), more: None, kind: Kind::Fact, topic: None, keywords: Vec::new(), created: None, project: None }
    }
}

/// What was read from one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Statements, in the order of the text.
    pub items: Vec<Item>,
    /// Rows that could not be read; `file` is empty.
    pub problems: Vec<Problem>,
    /// What was left alone on purpose, in words.
    pub notes: Vec<String>,
}

impl Found {
    fn problem(&mut self, code: &'static str, line: u64, detail: impl Into<String>) {
        self.problems.push(Problem { code, file: String::new(), line: Some(line), detail: detail.into() });
    }

    /// Notes how many things of a kind were left alone.
    fn left_alone(&mut self, number: usize, one: &str, many: &str) {
        if number > 0 {
            self.notes.push(format!("{} left alone", count(number, one, many)));
        }
    }
}

/// A store of another tool.
pub trait Foreign: Sync {
    /// Name for `--from`.
    fn name(&self) -> &'static str;
    /// What it is, for people.
    fn about(&self) -> &'static str;
    /// Whose words it holds. Only the owner's own file may state rules.
    fn voice(&self) -> Speaker {
        Speaker::Assistant
    }
    /// Whether a file is one of these, by its text; by its name where the text cannot tell whose words it holds.
    fn fits(&self, name: &str, text: &str) -> bool;
    /// Reads a text; what cannot be read is a problem, never an end.
    fn read(&self, text: &str) -> Found;
}

/// Every foreign store. The first that fits is taken, hence the most particular one comes first.
pub static STORES: &[&dyn Foreign] =
    &[&claude_mem::ClaudeMem, &claude_ai::ClaudeAi, &knowledge_graph::KnowledgeGraph, &basic_memory::BasicMemory, &claude_md::ClaudeMd];

/// The store with this name.
pub fn named(name: &str) -> Option<&'static dyn Foreign> {
    STORES.iter().copied().find(|s| s.name() == name)
}

/// The store that a file comes from.
pub fn detect(name: &str, text: &str) -> Option<&'static dyn Foreign> {
    STORES.iter().copied().find(|s| s.fits(name, text))
}

/// What the words of a foreign store for a sort of statement mean here.
fn kind_of(word: &str) -> Kind {
    const KINDS: &[(Kind, &[&str])] = &[
        (Kind::Decision, &["decision", "choice", "adr", "决定", "决策", "決定", "결정"]),
        (Kind::Preference, &["preference", "user_preference", "style", "偏好", "喜好", "好み", "선호"]),
        (
            Kind::Convention,
            &[
                "convention",
                "rule",
                "requirement",
                "constraint",
                "guideline",
                "policy",
                "standard",
                "principle",
                "instruction",
                "must",
                "约定",
                "规范",
                "规则",
                "要求",
                "约束",
                "規約",
                "ルール",
                "규칙",
            ],
        ),
        (Kind::Todo, &["todo", "task", "action", "next", "next_step", "待办", "任务", "タスク", "할일"]),
    ];
    let word = crate::text::words::fold(word.trim()).replace([' ', '-'], "_");
    let word = word.strip_suffix('s').unwrap_or(&word);
    KINDS.iter().find(|(_, words)| words.contains(&word)).map_or(Kind::Fact, |(kind, _)| *kind)
}

/// A word of an identifier for people: `depends_on` is `depends on`.
fn spoken(name: &str) -> String {
    name.replace(['_', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
