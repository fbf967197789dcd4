//! Text without what is not its owner's (private passages, injected blocks, our own block), with the lines it stood on.

use crate::text::tags;

/// A text and, for each of its lines, the 1-based line it had before.
pub(super) struct Numbered {
    pub(super) text: String,
    lines: Vec<u64>,
}

impl Numbered {
    /// Cleans a text.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let text = without_our_block(&text);
        let (clean, removed) = tags::remove(&text);
        let count = clean.lines().count();
        if removed == 0 {
            return Self { text: clean, lines: (1..=count as u64).collect() };
        }
        let before: Vec<&str> = text.lines().map(str::trim_end).collect();
        let mut at = 0;
        let mut lines = Vec::with_capacity(count);
        for line in clean.lines().map(str::trim_end) {
            // What was left of a line with a tag in it is equal to none, and stands where the last one ended.
            let same = before.get(at..).and_then(|rest| rest.iter().position(|b| *b == line)).filter(|_| !line.is_empty());
            if let Some(step) = same {
                at += step + 1;
                lines.push(at as u64);
            } else {
                lines.push(at as u64 + 1);
            }
        }
        Self { text: clean, lines }
    }

    /// Where the line with this 0-based number was.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.lines.get(at).copied().unwrap_or(at as u64 + 1)
    }
}

/// Our own block of a CLAUDE.md becomes empty lines, so that what was exported is not read back.
fn without_our_block(text: &str) -> String {
    if !text.contains(tags::BLOCK_BEGIN) {
        return text.to_owned();
    }
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mark = line.trim();
        inside |= mark == tags::BLOCK_BEGIN;
        out.push_str(if inside { "\n" } else { line });
        inside &= mark != tags::BLOCK_END;
    }
    out
}
