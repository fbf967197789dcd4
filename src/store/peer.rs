//! The database of the other claude-mem, which may be in use: its rows, without touching it or anything beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};

use super::disk;
use crate::error::{Error, Kind, Problem, Result};

/// Key of the table's name in every row.
pub const TABLE: &str = "table";
/// What that program noted.
pub const OBSERVATIONS: &str = "observations";
/// What it said at the end of sessions.
pub const SUMMARIES: &str = "session_summaries";

/// Columns that hold what can be taken over; those that a version of the schema lacks are left out.
const COLUMNS: &[&str] = &[
    "id",
    "project",
    "merged_into_project",
    "type",
    "title",
    "subtitle",
    "facts",
    "narrative",
    "concepts",
    "text",
    "learned",
    "created_at",
];

/// How a SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What SQLite keeps beside a database that has changes which are not in it yet.
const BESIDE: &[&str] = &["-wal", "-journal"];

/// Times that a database in use is copied before it is given up.
const COPIES: usize = 3;

/// Whether a file is a SQLite database, by its first bytes.
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Its rows as JSON, one object a line, and the tables that could not be read to their end.
///
/// # Errors
/// If it cannot be opened, or has no table of that program.
pub fn rows(path: &Path) -> Result<(String, Vec<Problem>)> {
    let failed = |e: &dyn std::fmt::Display| {
        Error::failure(format!("{} cannot be read: {e}", path.display()))
            .hint("quit the program it belongs to and run the same command again")
    };
    // What belongs to a database lies beside the file itself, not beside a link to it.
    let path = &path.canonicalize().map_err(|e| Error::io("read", path, &e))?;
    // Kept until the rows are read.
    let copy;
    let sql = if BESIDE.iter().any(|end| fs::metadata(beside(path, end)).is_ok_and(|m| m.len() > 0)) {
        copy = copied(path)?;
        Connection::open_with_flags(copy.path().join("copy.db"), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(uri(path), flags)
    }
    .map_err(|e| failed(&e))?;
    let (mut out, mut problems, mut tables) = (String::new(), Vec::new(), 0);
    for table in [OBSERVATIONS, SUMMARIES] {
        let there =
            sql.query_row("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1", [table], |row| row.get::<_, i64>(0));
        if there.map_err(|e| failed(&e))? == 0 {
            continue;
        }
        tables += 1;
        if let Err(error) = read(&sql, table, &mut out) {
            problems.push(Problem { code: "bad_table", file: String::new(), line: None, detail: format!("{table} ends early: {error}") });
        }
    }
    if tables == 0 {
        return Err(Error::new(Kind::Usage, format!("{} is a database, but not one of the other claude-mem", path.display()))
            .hint("that program keeps its memories in ~/.claude-mem/claude-mem.db"));
    }
    Ok((out, problems))
}

fn read(sql: &Connection, table: &str, out: &mut String) -> rusqlite::Result<()> {
    let mut statement = sql.prepare(&format!("SELECT * FROM {table} ORDER BY id"))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut object = Map::from_iter([(TABLE.to_owned(), Value::from(table))]);
        for (at, name) in names.iter().enumerate().filter(|(_, n)| COLUMNS.contains(&n.as_str())) {
            let value = match row.get_ref(at)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
                ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
            };
            object.insert(name.clone(), value);
        }
        out.push_str(&Value::Object(object).to_string());
        out.push('\n');
    }
    Ok(())
}

/// Immutable: no lock, no file beside it, whatever its journal mode.
fn uri(path: &Path) -> String {
    let mut name = String::from("file:");
    for c in path.to_string_lossy().chars() {
        match c {
            '?' | '#' | '%' => name.extend([format!("%{:02x}", u32::from(c))]),
            '\\' if cfg!(windows) => name.push('/'),
            _ => name.push(c),
        }
    }
    name + "?mode=ro&immutable=1"
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Size and time of a database and of what is beside it: the same before and after a copy, or the copy is none.
fn stamps(path: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |end: &&str| fs::metadata(beside(path, end)).ok().and_then(|m| Some((m.len(), m.modified().ok()?)));
    std::iter::once(&"").chain(BESIDE).map(stamp).collect()
}

/// A copy in a private folder: the newest changes stand only beside the database, and to read them there is to write there.
fn copied(path: &Path) -> Result<tempfile::TempDir> {
    for _ in 0..COPIES {
        let folder = tempfile::tempdir().map_err(|e| Error::io("make a folder for a copy of", path, &e))?;
        let before = stamps(path);
        for end in std::iter::once(&"").chain(BESIDE) {
            let from = beside(path, end);
            if from.exists() {
                disk::copy(&from, &folder.path().join(format!("copy.db{end}")))?;
            }
        }
        if stamps(path) == before {
            return Ok(folder);
        }
    }
    Err(Error::new(Kind::Busy, format!("{} is being written to", path.display()))
        .hint("quit the program it belongs to and run the same command again"))
}
