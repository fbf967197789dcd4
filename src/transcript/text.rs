//! What text formats share: reading lines as text, and times written for people.

use std::borrow::Cow;

use super::Input;
use super::gather::{Problems, unreadable};
use super::lines::Lines;
use crate::error::Result;

/// Gives every line as text, without its line end. Ends with the offset behind the last one.
///
/// # Errors
/// Those of the input.
pub fn each_line(input: &mut dyn Input, problems: &mut Problems, take: &mut dyn FnMut(&str)) -> Result<u64> {
    let mut lines = Lines::new(input).map_err(|e| unreadable(&e))?;
    while let Some(line) = lines.next().map_err(|e| unreadable(&e))? {
        if line.shortened {
            problems.add("long_line", Some(line.number), "a line too long to hold was skipped");
            continue;
        }
        let text = String::from_utf8_lossy(line.raw);
        if matches!(text, Cow::Owned(_)) {
            problems.add("bad_utf8", Some(line.number), "this line has bytes that are no UTF-8; they were replaced");
        }
        take(&text);
    }
    Ok(lines.offset)
}

/// RFC 3339 of a time written for people: `2026-01-05 10:00Z`, `2026-01-05 10:00:03`, `2026-01-05`. What follows is
/// ignored. Without a zone it is left without one.
pub fn time(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|w| !is_day(w));
    let day = words.next()?.get(..10)?;
    let clock = words.next().unwrap_or_default().trim_end_matches([')', ',', ']']);
    let zone = if clock.ends_with('Z') { "Z" } else { "" };
    let clock = clock.trim_end_matches('Z');
    let digits = clock.chars().all(|c| c.is_ascii_digit() || c == ':');
    match clock.len() {
        5 if digits => Some(format!("{day}T{clock}:00{zone}")),
        8 if digits => Some(format!("{day}T{clock}{zone}")),
        _ => Some(day.to_owned()),
    }
}

/// Whether a word begins with `YYYY-MM-DD`.
fn is_day(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 10 && bytes.iter().take(10).enumerate().all(|(at, b)| if at == 4 || at == 7 { *b == b'-' } else { b.is_ascii_digit() })
}

/// A code fence that a line opens: its mark, such as three backticks.
pub fn fence(line: &str) -> Option<&str> {
    let start = line.trim_start();
    let tick = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = start.chars().take_while(|c| *c == tick).count();
    if length < 3 { None } else { start.get(..length) }
}

/// Whether a line closes the fence that was opened with `mark`.
pub fn closes(line: &str, mark: &str) -> bool {
    let start = line.trim();
    start.starts_with(mark) && start.trim_matches(['`', '~']).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people_become_rfc_3339() {
        let cases = [
            ("2026-01-05 10:00Z", Some("2026-01-05T10:00:00Z")),
            ("claude-x 2026-01-05 10:00:03Z", Some("2026-01-05T10:00:03Z")),
            ("2026-01-05 10:00:03", Some("2026-01-05T10:00:03")),
            ("2026-01-05 10:00Z) -->", Some("2026-01-05T10:00:00Z")),
            ("2026-01-05 noon", Some("2026-01-05")),
            ("model default", None),
            ("2026-01-0", None),
        ];
        for (text, time) in cases {
            assert_eq!(super::time(text).as_deref(), time, "{text}");
        }
    }

    #[test]
    fn fences_open_and_close() {
        assert_eq!(fence("  ```rust"), Some("```"));
        assert_eq!(fence("``x"), None);
        assert!(closes("```  ", "```") && closes("````", "```") && !closes("```rust", "```"));
    }
}
