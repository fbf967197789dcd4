//! `ledger.jsonl`: one line for every request that was sent, whatever came of it. Read for caps and `stats --cost`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Usage;
use crate::error::{Error, Problem, Result};
use crate::store::disk;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// RFC 3339 time with offset, when it was sent.
    pub at: String,
    /// Project name.
    pub project: String,
    /// Session id as the transcript has it.
    pub session: String,
    /// Model asked for.
    pub model: String,
    /// Input tokens not from cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from cache.
    pub cache_read: u64,
    /// Input tokens written to cache.
    pub cache_write: u64,
    /// US dollars; null if the model's price is not known.
    pub cost_usd: Option<f64>,
    /// HTTP status; 0 if there was no answer.
    pub status: u16,
    /// The stop reason, or the API's error type, or `connect`, `timeout`, `cut`, `web_page`, `spend_cap`, `interrupted`.
    pub outcome: String,
    /// Key of the request: the same request has the same key.
    pub request: String,
    /// Version of the prompt.
    pub prompt: String,
}

impl Line {
    /// Tokens as a [`Usage`] of one call.
    pub fn usage(&self) -> Usage {
        let Self { input, output, cache_read, cache_write, cost_usd, .. } = *self;
        Usage { calls: 1, input, output, cache_read, cache_write, cost_usd }
    }
}

/// Appends one line, 0600.
pub fn append(path: &Path, line: &Line) -> Result<()> {
    let json = serde_json::to_string(line).map_err(|e| Error::failure(format!("the ledger line cannot be written: {e}")))?;
    if let Some(folder) = path.parent() {
        disk::create_dir(folder)?;
    }
    disk::append(path, &format!("{json}\n"))
}

/// Every line that can be read, and the ones that cannot. No file is an empty ledger.
pub fn read(path: &Path) -> Result<(Vec<Line>, Vec<Problem>)> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((vec![], vec![])),
        Err(e) => return Err(Error::io("read", path, &e)),
    };
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(bytes.split(|b| *b == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(text) {
            Ok(line) => lines.push(line),
            Err(e) => problems.push(Problem {
                code: "bad_json",
                file: path.display().to_string(),
                line: Some(number),
                detail: format!("this line of the ledger cannot be read: {e}"),
            }),
        }
    }
    Ok((lines, problems))
}

/// Dollars spent on a day (`YYYY-MM-DD`, local as written).
pub fn spent_on(lines: &[Line], day: &str) -> f64 {
    lines.iter().filter(|l| l.at.starts_with(day)).filter_map(|l| l.cost_usd).sum()
}

/// Sums by whatever `key` makes of a line: project, model, month (`l.at.get(..7)`), …
pub fn sums<'a>(lines: &'a [Line], key: impl Fn(&'a Line) -> &'a str) -> BTreeMap<&'a str, Usage> {
    let mut sums: BTreeMap<&str, Usage> = BTreeMap::new();
    for line in lines {
        sums.entry(key(line)).or_default().add(&line.usage());
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, project: &str, cost_usd: Option<f64>) -> Line {
        Line { at: at.into(), project: project.into(), input: 10, cost_usd, ..Line::default() }
    }

    #[test]
    fn lines_come_back_and_broken_ones_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.jsonl");
        assert_eq!(read(&path).unwrap(), (vec![], vec![]));
        let lines = [line("2026-03-01T10:00:00+08:00", "支付", Some(0.5)), line("2026-03-02T10:00:00+08:00", "b", None)];
        append(&path, &lines[0]).unwrap();
        disk::append(&path, "{broken\n\n").unwrap();
        append(&path, &lines[1]).unwrap();
        let (back, problems) = read(&path).unwrap();
        assert_eq!(back, lines);
        assert_eq!(problems[0].line, Some(2));
    }

    #[test]
    fn sums_by_day_and_project() {
        let lines = [
            line("2026-03-01T10:00:00+08:00", "a", Some(0.5)),
            line("2026-03-01T11:00:00+08:00", "b", None),
            line("2026-03-02T10:00:00+08:00", "a", Some(0.25)),
        ];
        assert!((spent_on(&lines, "2026-03-01") - 0.5).abs() < 1e-12);
        let by_project = sums(&lines, |l| &l.project);
        assert_eq!((by_project["a"].calls, by_project["a"].cost_usd), (2, Some(0.75)));
        assert_eq!(by_project["b"].cost_usd, None);
        assert_eq!(sums(&lines, |l| l.at.get(..7).unwrap_or("")).len(), 1);
    }
}
