//! What changed in a text, word by word.

use similar::{ChangeTag, TextDiff};

use super::{Ui, paint, style};
use crate::model::Difference;

/// Both sides of a change, with what differs marked by brackets and colour: readable without colour, too.
pub fn words(ui: &Ui, old: &str, new: &str) -> (String, String) {
    let (old, new) = (ui.foreign(old), ui.foreign(new));
    let diff = TextDiff::from_unicode_words(&old, &new);
    let (mut before, mut after) = (String::new(), String::new());
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                before.push_str(text);
                after.push_str(text);
            }
            ChangeTag::Delete => before.push_str(&paint(style::BAD, &format!("[{text}]"))),
            ChangeTag::Insert => after.push_str(&paint(style::GOOD, &format!("[{text}]"))),
        }
    }
    (before, after)
}

/// The fields that differ, as lines below an entry: each with its old and its new words. The summary needs no name.
pub fn fields(ui: &Ui, fields: &[Difference], indent: &str) {
    for Difference { field, old, new } in fields {
        let name = if *field == "summary" { String::new() } else { paint(style::DIM, &format!("{field}: ")) };
        let (before, after) = if old.is_empty() || new.is_empty() { (ui.foreign(old), ui.foreign(new)) } else { words(ui, old, new) };
        for (sign, color, text) in [("-", style::BAD, before), ("+", style::GOOD, after)] {
            if !text.is_empty() {
                ui.line(&format!("{indent}{} {name}{text}", paint(color, sign)));
            }
        }
    }
}
