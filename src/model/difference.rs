//! What differs between two states of one memory, field by field, in words.

use super::Memory;

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Its name, as `show` has it.
    pub field: &'static str,
    /// As it was; empty if there was nothing.
    pub old: String,
    /// As it is; empty if there is nothing.
    pub new: String,
}

/// Every field as one line of text. The place in a file is none of them.
fn fields(memory: &Memory) -> [(&'static str, String); 16] {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let until = memory.validity.until_date().map_or_else(|| memory.validity.name().to_owned(), |day| format!("until {day}"));
    let links: Vec<String> = memory.relations.iter().map(|r| format!("{} {}", r.kind, r.id)).collect();
    let quotes: Vec<String> = memory.evidence.iter().map(|e| format!("“{}”", e.quote)).collect();
    [
        ("summary", memory.summary.clone()),
        ("kind", memory.kind.name().to_owned()),
        ("layer", memory.layer.name().replace('_', "-")),
        ("state", memory.state.name().to_owned()),
        ("keywords", memory.keywords.join(", ")),
        ("validity", until),
        ("why", text(&memory.reason)),
        ("topic", text(&memory.topic)),
        ("not", text(&memory.rejected)),
        ("apply", text(&memory.how_to_apply)),
        ("scope", text(&memory.scope)),
        ("branch", text(&memory.branch)),
        ("ends when", text(&memory.lapses_when)),
        ("pinned", memory.pinned.to_string()),
        ("links", links.join(", ")),
        ("quotes", quotes.join(" ")),
    ]
}

/// The fields in which two states differ.
pub fn differences(old: &Memory, new: &Memory) -> Vec<Difference> {
    let pairs = fields(old).into_iter().zip(fields(new));
    pairs.filter(|((_, old), (_, new))| old != new).map(|((field, old), (_, new))| Difference { field, old, new }).collect()
}
