//! `.state/turns.db`: the turns of conversations, kept only where the owner wants it (`search.keep_turns`).
//!
//! Cleaned and redacted before they come here. Unlike the index this is no cache: the client deletes its transcripts. So a
//! damaged file is never thrown away by itself. One table and one FTS5 index per project; terms come analysed (`text::terms`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::{disk, layout};
use crate::error::{Error, Kind, Result};
use crate::text::terms;

/// Version of the tables; what is behind is brought up, what is ahead is left alone.
const FORMAT: i64 = 1;

/// One kept turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its name: `SESSION#7`, or the one it was imported with.
    pub id: String,
    /// Project.
    pub project: String,
    /// Conversation.
    pub session: String,
    /// Place in the conversation, dense.
    pub seq: i64,
    /// RFC 3339, or a part of it.
    pub ts: Option<String>,
    /// Who speaks.
    pub speaker: String,
    /// The words.
    pub text: String,
    /// The words as terms.
    pub terms: Vec<String>,
}

impl Turn {
    /// The day it was said.
    pub fn day(&self) -> Option<jiff::civil::Date> {
        self.ts.as_deref()?.get(..10)?.parse().ok()
    }
}

/// The open database.
#[derive(Debug)]
pub struct TurnStore {
    sql: Connection,
}

/// One project in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlace {
    key: i64,
    name: String,
    /// Number of turns.
    pub docs: usize,
    /// Terms in all.
    pub length: usize,
}

fn path(home: &Path) -> PathBuf {
    layout::state(home).join("turns.db")
}

fn failed(e: &rusqlite::Error) -> Error {
    let busy = matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
    let kind = if busy { Kind::Busy } else { Kind::Failure };
    Error::new(kind, format!("the kept turns cannot be used: {e}"))
        .hint("`claude-mem reindex` repairs their index; `.state/turns.db` may be removed, and then the turns in it are gone")
}

impl TurnStore {
    /// Opens what is kept; `None` if nothing is, and `make` is not wanted.
    ///
    /// # Errors
    /// If the file cannot be used, or a newer program wrote it.
    pub fn open(home: &Path, make: bool) -> Result<Option<Self>> {
        let file = path(home);
        if !file.is_file() {
            if !make {
                return Ok(None);
            }
            disk::create_dir(&layout::state(home))?;
            // An empty file is an empty database; made here so that it is private.
            disk::append(&file, "")?;
        }
        let open = || -> rusqlite::Result<(Connection, i64)> {
            let sql = Connection::open(&file)?;
            sql.busy_timeout(Duration::from_secs(5))?;
            sql.pragma_update(None, "journal_mode", "WAL")?;
            let format = sql.query_row("PRAGMA user_version", [], |r| r.get(0))?;
            Ok((sql, format))
        };
        let (sql, format) = open().map_err(|e| failed(&e))?;
        if format > FORMAT {
            return Err(Error::failure("the kept turns were written by a newer claude-mem").hint("upgrade claude-mem"));
        }
        if format < FORMAT {
            let make = sql.execute_batch(&format!(
                "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS project (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, \
                 docs INTEGER NOT NULL, length INTEGER NOT NULL); PRAGMA user_version = {FORMAT}; COMMIT"
            ));
            make.map_err(|e| failed(&e))?;
        }
        Ok(Some(Self { sql }))
    }

    /// Keeps turns of a project. Those of a conversation take the place of what was kept of it if `replace`, else they are put
    /// behind it; one with an id that is there already is left out. Gives how many are new.
    ///
    /// # Errors
    /// If they cannot be written; then none is.
    pub fn keep(&self, project: &str, turns: &[Turn], replace: bool) -> Result<usize> {
        self.inside(|sql| {
            sql.execute("INSERT OR IGNORE INTO project (name, docs, length) VALUES (?1, 0, 0)", [project])?;
            let key: i64 = sql.query_row("SELECT key FROM project WHERE name = ?1", [project], |r| r.get(0))?;
            tables(sql, key)?;
            if replace {
                let mut sessions: Vec<&str> = turns.iter().map(|t| t.session.as_str()).collect();
                sessions.dedup();
                for session in sessions {
                    drop_session(sql, key, session)?;
                }
            }
            let mut last = sql.prepare(&format!("SELECT max(seq) FROM turn_{key} WHERE session = ?1"))?;
            let mut keep =
                sql.prepare(&format!("INSERT OR IGNORE INTO turn_{key} (id, session, seq, ts, speaker, text) VALUES (?1,?2,?3,?4,?5,?6)"))?;
            let mut word = sql.prepare(&format!("INSERT INTO words_{key} (rowid, terms) VALUES (?1, ?2)"))?;
            let mut new = 0;
            for turn in turns {
                let seq = last.query_row([&turn.session], |r| r.get::<_, Option<i64>>(0))?.map_or(0, |n| n + 1);
                if keep.execute(params![turn.id, turn.session, seq, turn.ts, turn.speaker, turn.text])? == 1 {
                    word.execute(params![sql.last_insert_rowid(), terms::of_text(&turn.text).join(" ")])?;
                    new += 1;
                }
            }
            count(sql, key)?;
            Ok(new)
        })
    }

    /// Forgets a conversation in every project. Gives how many turns went.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn forget(&self, session: &str) -> Result<usize> {
        self.inside(|sql| {
            let mut gone = 0;
            for key in keys(sql)? {
                gone += drop_session(sql, key, session)?;
                count(sql, key)?;
            }
            Ok(gone)
        })
    }

    /// How many turns of a conversation are kept.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn count(&self, session: &str) -> Result<usize> {
        let one = |key: i64| {
            self.sql.query_row(&format!("SELECT count(*) FROM turn_{key} WHERE session = ?1"), [session], |r| r.get::<_, i64>(0))
        };
        let all = || keys(&self.sql)?.into_iter().try_fold(0, |n, key| Ok::<_, rusqlite::Error>(n + one(key)?));
        Ok(all().map_err(|e| failed(&e))? as usize)
    }

    /// Makes the index of words anew from the turns.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn reindex(&self) -> Result<()> {
        self.inside(|sql| {
            for key in keys(sql)? {
                sql.execute_batch(&format!("DROP TABLE IF EXISTS vocab_{key}; DROP TABLE IF EXISTS words_{key}"))?;
                tables(sql, key)?;
                let mut all = sql.prepare(&format!("SELECT n, text FROM turn_{key}"))?;
                let mut word = sql.prepare(&format!("INSERT INTO words_{key} (rowid, terms) VALUES (?1, ?2)"))?;
                let mut rows = all.query([])?;
                while let Some(row) = rows.next()? {
                    word.execute(params![row.get::<_, i64>(0)?, terms::of_text(&row.get::<_, String>(1)?).join(" ")])?;
                }
                count(sql, key)?;
            }
            Ok(())
        })
    }

    fn inside<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.sql.execute_batch("BEGIN IMMEDIATE").map_err(|e| failed(&e))?;
        let done = work(&self.sql).and_then(|value| self.sql.execute_batch("COMMIT").map(|()| value));
        done.map_err(|e| {
            // The first error is the one to tell.
            let _ = self.sql.execute_batch("ROLLBACK");
            failed(&e)
        })
    }

    /// A project's turns; `None` if none are kept.
    pub fn place(&self, project: &str) -> Result<Option<TurnPlace>> {
        let found = self.sql.query_row("SELECT key, name, docs, length FROM project WHERE name = ?1", [project], |r| {
            Ok(TurnPlace { key: r.get(0)?, name: r.get(1)?, docs: r.get::<_, i64>(2)? as usize, length: r.get::<_, i64>(3)? as usize })
        });
        found.optional().map_err(|e| failed(&e))
    }

    /// In how many turns a term is.
    pub fn holders(&self, place: &TurnPlace, term: &str) -> Result<usize> {
        let sql = format!("SELECT doc FROM vocab_{} WHERE term = ?1", place.key);
        let found = self.sql.query_row(&sql, [term], |r| r.get::<_, i64>(0)).optional();
        Ok(found.map_err(|e| failed(&e))?.unwrap_or(0) as usize)
    }

    /// Everybody who speaks.
    pub fn authors(&self, place: &TurnPlace) -> Result<Vec<String>> {
        self.list(&format!("SELECT DISTINCT speaker FROM turn_{} WHERE speaker <> ''", place.key))
    }

    /// Every day on which something was said, `YYYY-MM-DD`.
    pub fn days(&self, place: &TurnPlace) -> Result<Vec<String>> {
        self.list(&format!("SELECT DISTINCT substr(ts, 1, 10) FROM turn_{} WHERE ts IS NOT NULL", place.key))
    }

    fn list(&self, sql: &str) -> Result<Vec<String>> {
        let read = || self.sql.prepare(sql)?.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<Vec<String>>>();
        read().map_err(|e| failed(&e))
    }

    /// Conversation and place of the best `most` turns that hold one of the terms, and of those said on a day in `[from, to)`.
    pub fn candidates(&self, place: &TurnPlace, terms: &[String], most: usize, days: Option<(&str, &str)>) -> Result<Vec<(String, i64)>> {
        let key = place.key;
        let asked: Vec<String> = terms.iter().map(|t| format!("\"{t}\"")).collect();
        let read = || -> rusqlite::Result<Vec<(String, i64)>> {
            let mut found = self.sql.prepare(&format!(
                "SELECT t.session, t.seq FROM (SELECT rowid AS n FROM words_{key} WHERE words_{key} MATCH ?1 \
                 ORDER BY bm25(words_{key}), rowid LIMIT ?2) JOIN turn_{key} t USING (n)"
            ))?;
            let pair = |r: &rusqlite::Row<'_>| Ok((r.get(0)?, r.get(1)?));
            let mut all: Vec<(String, i64)> =
                found.query_map(params![asked.join(" OR "), most as i64], pair)?.collect::<rusqlite::Result<_>>()?;
            if let Some((from, to)) = days {
                let mut said = self.sql.prepare(&format!("SELECT session, seq FROM turn_{key} WHERE ts >= ?1 AND ts < ?2"))?;
                all.extend(said.query_map([from, to], pair)?.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            all.sort();
            all.dedup();
            Ok(all)
        };
        read().map_err(|e| failed(&e))
    }

    /// The turns from `from` to `to` (both included) of a conversation.
    pub fn stretch(&self, place: &TurnPlace, session: &str, from: i64, to: i64) -> Result<Vec<Turn>> {
        let key = place.key;
        let read = || -> rusqlite::Result<Vec<Turn>> {
            let mut found = self.sql.prepare(&format!(
                "SELECT t.id, t.seq, t.ts, t.speaker, t.text, w.terms FROM turn_{key} t JOIN words_{key} w ON w.rowid = t.n \
                 WHERE t.session = ?1 AND t.seq BETWEEN ?2 AND ?3 ORDER BY t.seq"
            ))?;
            let turn = |r: &rusqlite::Row<'_>| {
                let terms: String = r.get(5)?;
                Ok(Turn {
                    id: r.get(0)?,
                    project: place.name.clone(),
                    session: session.to_owned(),
                    seq: r.get(1)?,
                    ts: r.get(2)?,
                    speaker: r.get(3)?,
                    text: r.get(4)?,
                    terms: terms.split(' ').filter(|t| !t.is_empty()).map(str::to_owned).collect(),
                })
            };
            found.query_map(params![session, from, to], turn)?.collect()
        };
        read().map_err(|e| failed(&e))
    }
}

fn keys(sql: &Connection) -> rusqlite::Result<Vec<i64>> {
    sql.prepare("SELECT key FROM project")?.query_map([], |r| r.get(0))?.collect()
}

fn tables(sql: &Connection, key: i64) -> rusqlite::Result<()> {
    sql.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS turn_{key} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, \
         seq INTEGER NOT NULL, ts TEXT, speaker TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (session, seq)); \
         CREATE INDEX IF NOT EXISTS turn_{key}_ts ON turn_{key} (ts); CREATE INDEX IF NOT EXISTS turn_{key}_speaker ON turn_{key} (speaker); \
         CREATE VIRTUAL TABLE IF NOT EXISTS words_{key} USING fts5(terms, tokenize = \"ascii tokenchars '.+#'\"); \
         CREATE VIRTUAL TABLE IF NOT EXISTS vocab_{key} USING fts5vocab(words_{key}, 'row')"
    ))
}

fn drop_session(sql: &Connection, key: i64, session: &str) -> rusqlite::Result<usize> {
    sql.execute(&format!("DELETE FROM words_{key} WHERE rowid IN (SELECT n FROM turn_{key} WHERE session = ?1)"), [session])?;
    sql.execute(&format!("DELETE FROM turn_{key} WHERE session = ?1"), [session])
}

/// Keeps the number of turns and of their terms beside the project.
fn count(sql: &Connection, key: i64) -> rusqlite::Result<()> {
    sql.execute_batch(&format!(
        "UPDATE project SET docs = (SELECT count(*) FROM turn_{key}), length = (SELECT coalesce(sum(cnt), 0) FROM vocab_{key}) WHERE key = {key}"
    ))
}
