//! The database of the other claude-mem, as the rows that `store::peer` takes out of it: one JSON object a line.

use serde_json::Value;

use super::{Foreign, Found, Item, kind_of};
use crate::store::peer::{OBSERVATIONS, SUMMARIES, TABLE};

/// Observations, and what was learned according to the summaries of sessions.
pub(super) struct ClaudeMem;

impl Foreign for ClaudeMem {
    fn name(&self) -> &'static str {
        "claude-mem-db"
    }

    fn about(&self) -> &'static str {
        "the SQLite database of the other claude-mem, read-only"
    }

    fn fits(&self, _: &str, text: &str) -> bool {
        text.starts_with(&format!("{{\"{TABLE}\":"))
    }

    fn read(&self, text: &str) -> Found {
        let mut found = Found::default();
        for (line, number) in text.lines().zip(1..) {
            let Ok(row) = serde_json::from_str::<Value>(line) else {
                found.problem("bad_json", number, "not JSON");
                continue;
            };
            let id = row.get("id").and_then(Value::as_u64).unwrap_or(number);
            let item = match text_of(&row, TABLE).as_deref() {
                Some(OBSERVATIONS) => observation(&row, id),
                Some(SUMMARIES) => text_of(&row, "learned").map(|learned| Item::new(id, learned)),
                _ => None,
            };
            match item {
                Some(mut item) => {
                    item.created = text_of(&row, "created_at");
                    item.project = text_of(&row, "merged_into_project").or_else(|| text_of(&row, "project"));
                    found.items.push(item);
                }
                None if text_of(&row, TABLE).as_deref() == Some(SUMMARIES) => {}
                None => found.problem("empty_row", id, "an observation without words"),
            }
        }
        found
    }
}

/// A title with what explains it. Old rows have only a text.
fn observation(row: &Value, id: u64) -> Option<Item> {
    let facts = texts(row, "facts");
    let mut words: Vec<String> = ["title", "subtitle"].iter().filter_map(|key| text_of(row, key)).collect();
    if facts.is_empty() {
        words.extend(text_of(row, "narrative").or_else(|| text_of(row, "text")));
    }
    words.extend(facts);
    let mut words = words.into_iter();
    let mut item = Item::new(id, words.next()?);
    let rest: Vec<String> = words.map(|w| w.trim_end_matches(['.', ';']).to_owned()).collect();
    item.more = (!rest.is_empty()).then(|| rest.join("; "));
    item.kind = kind_of(&text_of(row, "type").unwrap_or_default());
    item.keywords = texts(row, "concepts");
    Some(item)
}

fn text_of(row: &Value, key: &str) -> Option<String> {
    row.get(key).and_then(Value::as_str).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned)
}

/// A JSON list inside a text column; anything else there is one text.
fn texts(row: &Value, key: &str) -> Vec<String> {
    let Some(text) = text_of(row, key) else { return Vec::new() };
    let list = serde_json::from_str::<Vec<Value>>(&text);
    let list = list.map(|list| list.iter().filter_map(Value::as_str).map(|t| t.trim().to_owned()).collect());
    list.unwrap_or_else(|_| vec![text]).into_iter().filter(|t: &String| !t.is_empty()).collect()
}
