//! Writing the index: a project as a whole, or what one commit changed of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::db::{self, failed};
use super::doc::Doc;
use super::memories::{Index, Refreshed, sum_of, to_json};
use super::stamps::Stamps;
use crate::error::Result;
use crate::model::Id;
use crate::model::plan::Base;
use crate::store::{Manifest, Snapshot, layout};

/// How long a commit waits for somebody who writes the index; then the next search brings it up to date.
const PATIENCE: Duration = Duration::from_millis(50);

/// Brings the index from the state before a commit to the one behind it; `part` has what was written, as it stands now. An index
/// that did not know the state before, or cannot be written, is left to the next search, which sees that it is behind.
pub fn follow(home: &Path, before: &Base, manifest: &Manifest, part: &Snapshot, gone: &[Id]) {
    if db::path(home).is_file() {
        drop(Index::open(home).and_then(|index| index.follow(before, manifest, part, gone)));
    }
}

/// Forgets a project. What is left of it where that fails goes at the next `reindex`.
pub fn forget(home: &Path, project: &str) {
    if db::path(home).is_file() {
        drop(Index::open(home).and_then(|index| index.remove(&|name| name == project)));
    }
}

impl Index {
    /// Forgets the projects that are not among these.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn retain(&self, projects: &[String]) -> Result<()> {
        self.remove(&|name| !projects.iter().any(|p| p == name))
    }

    fn remove(&self, is_gone: &dyn Fn(&str) -> bool) -> Result<()> {
        let gone = || -> rusqlite::Result<()> {
            let mut all = self.sql().prepare("SELECT key, name FROM project")?;
            let all: Vec<(i64, String)> = all.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
            for (key, _) in all.iter().filter(|(_, name)| is_gone(name)) {
                self.sql().execute_batch(&format!(
                    "BEGIN IMMEDIATE; DROP TABLE IF EXISTS vocab_{key}; DROP TABLE IF EXISTS words_{key}; \
                     DROP TABLE IF EXISTS doc_{key}; DELETE FROM project WHERE key = {key}; COMMIT"
                ))?;
            }
            Ok(())
        };
        gone().map_err(|e| failed(&e))
    }

    /// Writes a project as a whole: rows that have changed, and only those.
    pub(super) fn write(&self, snapshot: &Snapshot, stamps: &Stamps) -> Result<Refreshed> {
        let rows = Doc::all(snapshot).into_iter().map(New::of).collect::<Result<Vec<New>>>()?;
        let stamps = to_json(stamps)?;
        self.whole(|sql| {
            let table = Table::make(sql, &snapshot.project)?;
            let mut old = table.all()?;
            let rows = rows.into_iter().map(|new| (old.remove(&new.doc.record.id), new));
            let changed: Vec<(Option<Old>, New)> = rows.filter(|(old, new)| old.as_ref().is_none_or(|o| o.sum != new.sum)).collect();
            let done = Refreshed { written: changed.len(), removed: old.len(), unnamed: 0 };
            table.put(changed)?;
            old.values().try_for_each(|old| table.take_out(old))?;
            table.close(&stamps)?;
            Ok(done)
        })
    }

    fn follow(&self, before: &Base, manifest: &Manifest, part: &Snapshot, gone: &[Id]) -> Result<()> {
        let project = &part.project;
        let mut after = before.clone();
        for file in &manifest.files {
            let Some(name) = file.path.strip_prefix(project.as_str()).and_then(|rest| rest.strip_prefix('/')) else { continue };
            match file.after.clone().filter(|_| !layout::is_archive(name)) {
                Some(sha) => drop(after.0.insert(name.to_owned(), sha)),
                None => drop(after.0.remove(name)),
            }
        }
        let rows = Doc::all(part).into_iter().map(New::of).collect::<Result<Vec<New>>>()?;
        let stamps = to_json(&Stamps::just_written(self.home(), project, &after)?)?;
        self.sql().busy_timeout(PATIENCE).map_err(|e| failed(&e))?;
        self.whole(|sql| {
            if !self.stamps(project)?.is_some_and(|known| known.is_of(before)) {
                return Ok(());
            }
            let table = Table::make(sql, project)?;
            let rows = rows.into_iter().map(|new| Ok((table.one(&new.doc.record.id)?, new))).collect::<rusqlite::Result<Vec<_>>>()?;
            table.put(rows)?;
            for id in gone {
                if let Some(old) = table.one(id.as_str())? {
                    table.take_out(&old)?;
                }
            }
            table.close(&stamps)
        })
    }

    /// Does all of `work`, or none of it.
    fn whole<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let sql = self.sql();
        sql.execute_batch("BEGIN IMMEDIATE").map_err(|e| failed(&e))?;
        match work(sql) {
            Ok(done) => self.end().map(|()| done),
            Err(error) => {
                // The first error is the one to tell.
                let _ = sql.execute_batch("ROLLBACK");
                Err(failed(&error))
            }
        }
    }
}

/// A memory to be written; its terms are made only if it is new.
struct New {
    doc: Doc,
    record: String,
    /// Of record and `held`: tells whether it has changed.
    sum: i64,
}

impl New {
    fn of(doc: Doc) -> Result<Self> {
        let record = to_json(&doc.record)?;
        Ok(Self { sum: sum_of(&(&record, doc.held)), record, doc })
    }
}

/// What is there of a memory.
struct Old {
    n: i64,
    sum: i64,
    words: i64,
}

impl Old {
    const COLUMNS: &str = "n, sum, words, id";

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { n: row.get(0)?, sum: row.get(1)?, words: row.get(2)? })
    }
}

/// The tables of one project.
struct Table<'a> {
    sql: &'a Connection,
    key: i64,
}

impl<'a> Table<'a> {
    fn make(sql: &'a Connection, project: &str) -> rusqlite::Result<Self> {
        sql.execute("INSERT OR IGNORE INTO project (name, stamps, docs, length) VALUES (?1, '', 0, 0)", [project])?;
        let key: i64 = sql.query_row("SELECT key FROM project WHERE name = ?1", [project], |r| r.get(0))?;
        sql.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS doc_{key} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, \
             words INTEGER NOT NULL, length INTEGER NOT NULL, held INTEGER NOT NULL, record TEXT NOT NULL); \
             CREATE INDEX IF NOT EXISTS length_{key} ON doc_{key} (length); \
             CREATE VIRTUAL TABLE IF NOT EXISTS words_{key} USING fts5(topic, keywords, summary, reason, evidence, \
             tokenize = \"ascii tokenchars '.+#'\"); \
             CREATE VIRTUAL TABLE IF NOT EXISTS vocab_{key} USING fts5vocab(words_{key}, 'row')"
        ))?;
        Ok(Self { sql, key })
    }

    fn all(&self) -> rusqlite::Result<BTreeMap<String, Old>> {
        let mut all = self.sql.prepare(&format!("SELECT {} FROM doc_{}", Old::COLUMNS, self.key))?;
        all.query_map([], |r| Ok((r.get(3)?, Old::of(r)?)))?.collect()
    }

    fn one(&self, id: &str) -> rusqlite::Result<Option<Old>> {
        let mut one = self.sql.prepare(&format!("SELECT {} FROM doc_{} WHERE id = ?1", Old::COLUMNS, self.key))?;
        one.query_row([id], Old::of).optional()
    }

    /// Writes memories, each in the place of what is there of it. Records first, then words: whatever is written to another
    /// table in between makes FTS5 write out what it has gathered so far, which costs most of the time.
    fn put(&self, rows: Vec<(Option<Old>, New)>) -> rusqlite::Result<()> {
        let key = self.key;
        let mut keep = self.sql.prepare(&format!(
            "INSERT OR REPLACE INTO doc_{key} (n, id, sum, words, length, held, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        ))?;
        let mut reworded = Vec::new();
        for (old, New { mut doc, record, sum }) in rows {
            doc.analyse();
            let terms = doc.terms.each_ref().map(|t| t.join(" "));
            let (n, words) = (old.as_ref().map(|old| old.n), sum_of(&terms));
            keep.execute(params![n, doc.record.id, sum, words, doc.length() as i64, doc.held, record])?;
            if old.is_none_or(|old| old.words != words) {
                reworded.push((n.unwrap_or_else(|| self.sql.last_insert_rowid()), n.is_some(), terms));
            }
        }
        let mut insert = self.sql.prepare(&format!(
            "INSERT INTO words_{key} (rowid, topic, keywords, summary, reason, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        ))?;
        for (n, is_there, [topic, keywords, summary, reason, evidence]) in reworded {
            if is_there {
                self.sql.execute(&format!("DELETE FROM words_{key} WHERE rowid = ?1"), [n])?;
            }
            insert.execute(params![n, topic, keywords, summary, reason, evidence])?;
        }
        Ok(())
    }

    fn take_out(&self, old: &Old) -> rusqlite::Result<()> {
        for table in ["words", "doc"] {
            let column = if table == "doc" { "n" } else { "rowid" };
            self.sql.prepare(&format!("DELETE FROM {table}_{} WHERE {column} = ?1", self.key))?.execute([old.n])?;
        }
        Ok(())
    }

    /// Writes down what the rows are now.
    fn close(&self, stamps: &str) -> rusqlite::Result<()> {
        let key = self.key;
        let close = format!(
            "UPDATE project SET stamps = ?1, docs = (SELECT count(*) FROM doc_{key}), \
             length = (SELECT coalesce(sum(length), 0) FROM doc_{key}) WHERE key = {key}"
        );
        self.sql.execute(&close, [stamps]).map(drop)
    }
}
