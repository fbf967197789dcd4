//! `memories.json` of a claude.ai export: what claude.ai wrote down about its user, as Markdown inside JSON.

use serde_json::Value;

use super::{Foreign, Found, Item, outline};
use crate::text::tags;

/// The memories of a claude.ai account.
pub(super) struct ClaudeAi;

/// The memory of all conversations, and those of projects by their id.
const ACCOUNT: &str = "conversations_memory";
const PROJECTS: &str = "project_memories";

impl Foreign for ClaudeAi {
    fn name(&self) -> &'static str {
        "claude-ai"
    }

    fn about(&self) -> &'static str {
        "memories.json of a claude.ai export"
    }

    fn fits(&self, _: &str, text: &str) -> bool {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        text.starts_with(['[', '{']) && (text.contains("\"conversations_memory\"") || text.contains("\"project_memories\""))
    }

    fn read(&self, text: &str) -> Found {
        let mut found = Found::default();
        let accounts = match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Array(accounts)) => accounts,
            Ok(one) => vec![one],
            Err(error) => {
                found.problem("bad_json", error.line() as u64, format!("not JSON: {error}"));
                return found;
            }
        };
        for (account, number) in accounts.iter().zip(1..) {
            let Some(account) = account.as_object() else {
                found.problem("bad_row", number, "an account that is no object");
                continue;
            };
            match account.get(ACCOUNT) {
                Some(Value::String(text)) => statements(text, &mut found),
                None | Some(Value::Null) => {}
                Some(_) => found.problem("bad_row", number, format!("{ACCOUNT} is no text")),
            }
            for (project, text) in account.get(PROJECTS).and_then(Value::as_object).into_iter().flatten() {
                match text {
                    Value::String(text) => statements(text, &mut found),
                    Value::Null => {}
                    _ => found.problem("bad_row", number, format!("the memory of project {project} is no text")),
                }
            }
        }
        found
    }
}

/// Lines inside a JSON string mean nothing to a reader of the file: statements are numbered.
fn statements(text: &str, found: &mut Found) {
    for point in outline::points(&tags::remove(text).0) {
        let mut item = Item::new(found.items.len() as u64 + 1, point.text);
        item.more = point.details;
        item.topic = point.heading;
        found.items.push(item);
    }
}
