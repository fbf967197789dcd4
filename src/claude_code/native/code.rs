//! Whether the files that a memory names are still there. The one place that would learn more of the repository, such as
//! symbols or what git knows.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::text::words;

/// How a named file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As old as the memory, or older.
    Fresh,
    /// Changed after the memory was written.
    Changed,
    /// Not there any more.
    Gone,
    /// Not a file of this repository, as far as can be told.
    Unknown,
}

/// What can be asked about the code that memories speak of.
pub trait Code {
    /// How a path that a memory names stands; `since` is the day of the memory, `YYYY-MM-DD`.
    fn state(&self, path: &str, since: Option<&str>) -> State;
}

/// No repository: nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Code for Nowhere {
    fn state(&self, _: &str, _: Option<&str>) -> State {
        State::Unknown
    }
}

/// A work tree on disk.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Its top folder.
    pub root: PathBuf,
}

impl Code for Tree {
    fn state(&self, path: &str, since: Option<&str>) -> State {
        let path = path.trim_start_matches("./");
        if let Ok(about) = self.root.join(path).metadata() {
            let changed = about.modified().ok().and_then(|t| Timestamp::try_from(t).ok()).map(|t| t.strftime("%Y-%m-%d").to_string());
            let later = since.is_some_and(|day| changed.is_some_and(|changed| changed.as_str() > day));
            return if later && about.is_file() { State::Changed } else { State::Fresh };
        }
        // A path counts as one of this repository if the folder it begins with is here.
        let known = path.split_once('/').is_some_and(|(first, _)| !first.is_empty() && self.root.join(first).is_dir());
        if known { State::Gone } else { State::Unknown }
    }
}

/// Paths that a text names: relative, with a folder and an ending, no pattern.
pub fn paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@') || words::is_cjk(c);
    let mut found: Vec<String> = Vec::new();
    for piece in
        text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ';' | '，' | '。' | '、' | '（' | '）'))
    {
        let piece = piece.trim_end_matches(['.', ':', '：']);
        // `src/pay.rs:42` is line 42 of it.
        let path =
            piece.split_once(':').map_or(piece, |(path, line)| if line.starts_with(|c: char| c.is_ascii_digit()) { path } else { piece });
        let last = path.rsplit('/').next().unwrap_or_default();
        let ending = last
            .rsplit_once('.')
            .is_some_and(|(stem, end)| !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(char::is_alphanumeric));
        let relative = path.contains('/') && !path.starts_with(['/', '~', '-']) && !path.contains("//") && !path.contains("..");
        if relative && ending && path.chars().all(is_path) && !found.iter().any(|f| f == path) {
            found.push(path.to_owned());
        }
    }
    found
}

/// Days from one day to another, both `YYYY-MM-DD`.
pub fn days_between(from: &str, to: &str) -> Option<i32> {
    let (from, to): (Date, Date) = (from.parse().ok()?, to.parse().ok()?);
    Some((to - from).get_days()).filter(|days| *days >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_text() {
        let text = "See `src/pay.rs:42`, docs/a_b.md and (./tests/it/x.rs). 改 src/支付/回调.rs。 Not https://x.example/a.md, *.rs, src/**/x.rs, /etc/a.conf, and/or, v1.2/3";
        assert_eq!(paths(text), ["src/pay.rs", "docs/a_b.md", "./tests/it/x.rs", "src/支付/回调.rs"]);
        assert_eq!(days_between("2026-06-01", "2026-06-15"), Some(14));
        assert_eq!(days_between("2026-06-15", "2026-06-01"), None);
    }
}
