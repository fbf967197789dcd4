//! The knowledge graph of the reference MCP memory server: JSON lines of entities and relations, or both in one object.

use serde_json::Value;

use super::{Foreign, Found, Item, kind_of, spoken};
use crate::text::words::fold;

/// Entities with observations, and relations between them.
pub(super) struct KnowledgeGraph;

impl Foreign for KnowledgeGraph {
    fn name(&self) -> &'static str {
        "mcp-memory"
    }

    fn about(&self) -> &'static str {
        "the knowledge graph (JSON lines) of the reference MCP memory server"
    }

    fn fits(&self, _: &str, text: &str) -> bool {
        let is_row = |row: &Value| matches!(str_of(row, "type"), Some("entity" | "relation"));
        let first = text.trim_start_matches('\u{feff}').lines().filter_map(|l| serde_json::from_str::<Value>(l).ok()).next();
        first.is_some_and(|row| is_row(&row)) || whole(text).is_some()
    }

    fn read(&self, text: &str) -> Found {
        let mut found = Found::default();
        if let Some((entities, relations)) = whole(text) {
            // Rows of one object have a number instead of a line.
            let rows = entities.iter().map(|e| (e, entity as Reader)).chain(relations.iter().map(|r| (r, relation as Reader)));
            rows.zip(1..).for_each(|((row, read), number)| read(row, number, &mut found));
            return found;
        }
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(l, _)| !l.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Err(error) => found.problem("bad_json", number, format!("not JSON: {error}")),
                Ok(row) => match str_of(&row, "type") {
                    Some("entity") => entity(&row, number, &mut found),
                    Some("relation") => relation(&row, number, &mut found),
                    _ => found.problem("bad_row", number, "neither an entity nor a relation"),
                },
            }
        }
        found
    }
}

type Reader = fn(&Value, u64, &mut Found);

fn str_of<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str).map(str::trim).filter(|t| !t.is_empty())
}

/// Entities and relations of a graph that is one JSON object.
fn whole(text: &str) -> Option<(Vec<Value>, Vec<Value>)> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('{') || !text.contains("\"entities\"") {
        return None;
    }
    let mut graph: Value = serde_json::from_str(text).ok()?;
    let mut take = |key: &str| match graph.get_mut(key).map(Value::take) {
        Some(Value::Array(rows)) => Some(rows),
        _ => None,
    };
    Some((take("entities")?, take("relations").unwrap_or_default()))
}

fn entity(row: &Value, line: u64, found: &mut Found) {
    let Some(name) = str_of(row, "name").map(spoken) else {
        return found.problem("bad_row", line, "an entity without a name");
    };
    let sort = str_of(row, "entityType").unwrap_or_default();
    let Some(observations) = row.get("observations").and_then(Value::as_array) else {
        return found.problem("bad_row", line, "an entity without observations");
    };
    for observation in observations {
        // Some servers keep more than the words of an observation.
        let words = observation.as_str().or_else(|| str_of(observation, "content")).map(str::trim).filter(|w| !w.is_empty());
        let Some(words) = words else {
            found.problem("bad_row", line, "an observation that is no text");
            continue;
        };
        let named = fold(words).contains(&fold(&name));
        let mut item = Item::new(line, if named { words.to_owned() } else { format!("{name}: {words}") });
        item.kind = kind_of(sort);
        item.topic = Some(name.clone());
        item.keywords = [&*name, sort].into_iter().filter(|k| !k.is_empty()).map(spoken).collect();
        item.created = str_of(observation, "timestamp").map(str::to_owned);
        found.items.push(item);
    }
}

fn relation(row: &Value, line: u64, found: &mut Found) {
    let ends = (str_of(row, "from"), str_of(row, "relationType"), str_of(row, "to"));
    let (Some(from), Some(name), Some(to)) = ends else {
        return found.problem("bad_row", line, "a relation without its ends or its name");
    };
    let (from, to) = (spoken(from), spoken(to));
    let mut item = Item::new(line, format!("{from} {} {to}", spoken(name)));
    item.topic = Some(from.clone());
    item.keywords = vec![from, to];
    found.items.push(item);
}
