//! What differs between two texts, word by word, marked by brackets and colour: readable without colour, too.

use similar::{ChangeTag, TextDiff};

use super::{Ui, paint, style};
use crate::model::Difference;
use crate::text::words::is_cjk;

/// Texts that share less of their letters than this have nothing worth marking.
const ALIKE: f64 = 0.4;

/// Stretches of one side: whether only this side has it, and the text.
type Runs = Vec<(bool, String)>;

/// Both sides of a change.
pub fn word_diff(old: &str, new: &str) -> (String, String) {
    let diff = TextDiff::from_unicode_words(old, new);
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let shared: usize = diff.iter_all_changes().filter(|c| c.tag() == ChangeTag::Equal).map(|c| letters(c.value())).sum();
    if (shared as f64) < ALIKE * letters(old).max(letters(new)) as f64 {
        return (old.to_owned(), new.to_owned());
    }
    let (mut before, mut after) = (Runs::new(), Runs::new());
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut before, false, change.value());
                push(&mut after, false, change.value());
            }
            ChangeTag::Delete => push(&mut before, true, change.value()),
            ChangeTag::Insert => push(&mut after, true, change.value()),
        }
    }
    (marked(joined(before), style::BAD), marked(joined(after), style::GOOD))
}

fn push(runs: &mut Runs, only: bool, text: &str) {
    match runs.last_mut() {
        Some((last, run)) if *last == only => run.push_str(text),
        _ => runs.push((only, text.to_owned())),
    }
}

/// A space or a single wide character between two marks is part of one mark.
fn joined(runs: Runs) -> Runs {
    let mut out = Runs::new();
    for (n, (only, text)) in runs.iter().enumerate() {
        let inside = n > 0 && n + 1 < runs.len();
        let bridges = text.trim().is_empty() || (text.chars().count() == 1 && text.chars().all(is_cjk));
        push(&mut out, *only || (inside && bridges), text);
    }
    out
}

fn marked(runs: Runs, style: anstyle::Style) -> String {
    let mark = |(only, text): (bool, String)| {
        let inner = text.trim();
        if !only || inner.is_empty() {
            return text;
        }
        // The spaces around a mark stay outside, so that lines can break there.
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len();
        let space = |range: Option<&str>| range.unwrap_or_default().to_owned();
        format!("{}{}{}", space(text.get(..start)), paint(style, &format!("[{inner}]")), space(text.get(end..)))
    };
    runs.into_iter().map(mark).collect()
}

/// Both sides of a change in foreign text.
pub fn words(ui: &Ui, old: &str, new: &str) -> (String, String) {
    word_diff(&ui.foreign(old), &ui.foreign(new))
}

/// Both sides of a change of a list: what only one of them has is marked whole.
fn items(old: &str, new: &str) -> (String, String) {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.split(", ").collect(), new.split(", ").collect());
    let side = |own: &[&str], other: &[&str], style: anstyle::Style| {
        let mark = |item: &&str| if other.contains(item) { (*item).to_owned() } else { paint(style, &format!("[{item}]")) };
        own.iter().map(mark).collect::<Vec<_>>().join(", ")
    };
    (side(&before, &after, style::BAD), side(&after, &before, style::GOOD))
}

/// The fields that differ, as lines below an entry: each with its old and its new words. The summary needs no name.
pub fn fields(ui: &Ui, fields: &[Difference], indent: &str) {
    for Difference { field, old, new } in fields {
        let name = if *field == "summary" { String::new() } else { paint(style::DIM, &format!("{field}: ")) };
        let (before, after) = match *field {
            _ if old.is_empty() || new.is_empty() => (ui.foreign(old), ui.foreign(new)),
            "keywords" | "links" => items(&ui.foreign(old), &ui.foreign(new)),
            _ => words(ui, old, new),
        };
        for (sign, color, text) in [("-", style::BAD, before), ("+", style::GOOD, after)] {
            if !text.is_empty() {
                ui.line(&format!("{indent}{} {name}{text}", paint(color, sign)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_in_brackets() {
        for (old, new, marked_old, marked_new) in [
            ("limited to 20 MB", "limited to 50 MB", "limited to [20] MB", "limited to [50] MB"),
            ("上传限制为 20 MB", "上传限制为 50 MB", "上传限制为 [20] MB", "上传限制为 [50] MB"),
            ("use Redis for the queue", "use NATS for the queue now", "use [Redis] for the queue", "use [NATS] for the queue [now]"),
            ("nothing", "in common here", "nothing", "in common here"),
        ] {
            let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
            let (before, after) = word_diff(old, new);
            assert_eq!((plain(before), plain(after)), (marked_old.to_owned(), marked_new.to_owned()));
        }
    }
}
