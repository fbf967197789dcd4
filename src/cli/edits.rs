//! Edits of other programs' files, shown before they are made: a unified diff for people, rows for JSON.

use serde_json::{Value, json};
use similar::TextDiff;

use super::app::App;
use super::ui::{paint, style};
use crate::claude_code::wiring::Edit;

/// The diff of every file, on stdout.
pub fn show(app: &App, edits: &[&Edit]) {
    for line in edits.iter().flat_map(|edit| diff(edit).lines().map(str::to_owned).collect::<Vec<_>>()) {
        let look = match line.chars().next() {
            _ if line.starts_with("+++") || line.starts_with("---") => style::STRONG,
            Some('+') => style::GOOD,
            Some('-') => style::BAD,
            Some('@') => style::HINT,
            _ => style::DIM,
        };
        app.ui.line(&paint(look, &app.ui.foreign(&line)));
    }
}

/// The same for JSON.
pub fn rows(edits: &[&Edit]) -> Value {
    edits.iter().map(|e| json!({"path": e.path, "change": change(e), "note": e.note, "diff": diff(e)})).collect()
}

fn change(edit: &Edit) -> &'static str {
    match (&edit.now, &edit.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "edit",
    }
}

/// A unified diff with two lines around each change.
fn diff(edit: &Edit) -> String {
    let name = |text: &Option<String>| if text.is_some() { edit.path.display().to_string() } else { "/dev/null".to_owned() };
    let (now, after) = (edit.now.as_deref().unwrap_or_default(), edit.after.as_deref().unwrap_or_default());
    TextDiff::from_lines(now, after).unified_diff().context_radius(2).header(&name(&edit.now), &name(&edit.after)).to_string()
}
