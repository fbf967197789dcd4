//! Writing the index: a project as a whole, or what one commit changed of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use super::db::failed;
use super::doc::{Doc, records};
use super::memories::{self, Index, Refreshed, sum_of, to_json};
use super::stamps::Stamps;
use crate::error::Result;
use crate::model::Id;
use crate::model::plan::{Base, MemoryRecord};
use crate::store::{Manifest, Snapshot, layout};

/// How long a commit waits for somebody who writes the index; then the next search brings it up to date.
const PATIENCE: Duration = Duration::from_millis(50);

/// Brings the index from the state before a commit to the one behind it; `part` has what was written, as it stands now. An index
/// that did not know the state before, or cannot be written, is left to the next search, which sees that it is behind.
pub fn follow(home: &Path, before: &Base, manifest: &Manifest, part: &Snapshot, gone: &[Id]) {
    if let Ok(Some(index)) = Index::soon(home) {
        drop(index.follow(before, manifest, part, gone));
    }
}

/// Forgets a project. What is left of it where that fails goes at the next `reindex`.
pub fn forget(home: &Path, project: &str) {
    if let Ok(Some(index)) = Index::existing(home) {
        drop(index.remove(&|name| name == project));
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
                     DROP TABLE IF EXISTS doc_{key}; DROP TABLE IF EXISTS record_{key}; DELETE FROM project WHERE key = {key}; COMMIT"
                ))?;
            }
            Ok(())
        };
        gone().map_err(|e| failed(&e))
    }

    /// Writes a project as a whole: rows that have changed, and only those.
    pub(super) fn write(&self, snapshot: &Snapshot, stamps: &Stamps) -> Result<Refreshed> {
        let rows = records(snapshot).map(New::of).collect::<Result<Vec<New>>>()?;
        let stamps = to_json(stamps)?;
        let unnamed = snapshot.unnamed();
        self.whole(|sql| {
            let mut table = Table::make(sql, &snapshot.project)?;
            let mut old = table.all()?;
            let rows = rows.into_iter().map(|new| (old.remove(&new.record.id), new));
            let changed: Vec<(Option<Old>, New)> = rows.filter(|(old, new)| old.as_ref().is_none_or(|o| o.sum != new.sum)).collect();
            let done = Refreshed { written: changed.len(), removed: old.len(), unnamed };
            table.put(changed)?;
            old.values().try_for_each(|old| table.take_out(old))?;
            table.close(&stamps, unnamed)?;
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
        let rows = records(part).map(New::of).collect::<Result<Vec<New>>>()?;
        let stamps = to_json(&Stamps::just_written(self.home(), project, &after)?)?;
        self.sql().busy_timeout(PATIENCE).map_err(|e| failed(&e))?;
        self.whole(|sql| {
            if !self.stamps(project)?.is_some_and(|known| known.is_of(before)) {
                return Ok(());
            }
            let mut table = Table::make(sql, project)?;
            let rows = rows.into_iter().map(|new| Ok((table.one(&new.record.id)?, new))).collect::<rusqlite::Result<Vec<_>>>()?;
            table.put(rows)?;
            for id in gone {
                if let Some(old) = table.one(id.as_str())? {
                    table.take_out(&old)?;
                }
            }
            // A commit begins by giving ids to what was typed by hand.
            table.close(&stamps, 0)
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
    record: MemoryRecord,
    held: bool,
    json: String,
    /// Of record and `held`: tells whether it has changed.
    sum: i64,
}

impl New {
    fn of((record, held): (MemoryRecord, bool)) -> Result<Self> {
        let json = to_json(&said(&record)?)?;
        Ok(Self { sum: sum_of(&(&json, held)), json, record, held })
    }
}

/// A record without the fields that are empty; they are what a field that is not there is read as.
fn said(record: &MemoryRecord) -> Result<Map<String, Value>> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(record) else { return Err(memories::damaged()) };
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    Ok(fields)
}

/// What is there of a memory.
struct Old {
    n: i64,
    sum: i64,
}

impl Old {
    const COLUMNS: &str = "n, sum, id";

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { n: row.get(0)?, sum: row.get(1)? })
    }
}

/// The tables of one project.
struct Table<'a> {
    sql: &'a Connection,
    key: i64,
    /// By how much memories and terms in all have grown.
    docs: i64,
    length: i64,
}

impl<'a> Table<'a> {
    fn make(sql: &'a Connection, project: &str) -> rusqlite::Result<Self> {
        sql.execute("INSERT OR IGNORE INTO project (name, stamps, docs, length, unnamed) VALUES (?1, '', 0, 0, 0)", [project])?;
        let key: i64 = sql.query_row("SELECT key FROM project WHERE name = ?1", [project], |r| r.get(0))?;
        sql.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS doc_{key} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, \
             noted INTEGER NOT NULL, whole INTEGER NOT NULL, row TEXT NOT NULL); \
             CREATE TABLE IF NOT EXISTS record_{key} (n INTEGER PRIMARY KEY, record TEXT NOT NULL); \
             CREATE VIRTUAL TABLE IF NOT EXISTS words_{key} USING fts5(said, behind, content = '', detail = column, columnsize = 0, \
             tokenize = \"ascii tokenchars '.+#'\"); \
             CREATE VIRTUAL TABLE IF NOT EXISTS vocab_{key} USING fts5vocab(words_{key}, 'row')"
        ))?;
        Ok(Self { sql, key, docs: 0, length: 0 })
    }

    fn all(&self) -> rusqlite::Result<BTreeMap<String, Old>> {
        let mut all = self.sql.prepare(&format!("SELECT {} FROM doc_{}", Old::COLUMNS, self.key))?;
        all.query_map([], |r| Ok((r.get(3)?, Old::of(r)?)))?.collect()
    }

    fn one(&self, id: &str) -> rusqlite::Result<Option<Old>> {
        let mut one = self.sql.prepare(&format!("SELECT {} FROM doc_{} WHERE id = ?1", Old::COLUMNS, self.key))?;
        one.query_row([id], Old::of).optional()
    }

    /// A memory as it is there, for FTS5 must be told what to forget.
    fn row(&self, n: i64) -> rusqlite::Result<Doc> {
        let mut row = self.sql.prepare(&format!("SELECT row, whole FROM doc_{} WHERE n = ?1", self.key))?;
        let doc = row.query_row([n], |r| Ok(memories::doc_of(n, r.get_ref(0)?.as_str()?, r.get(1)?)))?;
        doc.map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error)))
    }

    /// Writes memories, each in the place of what is there of it. Records first, then words: whatever is written to another
    /// table in between makes FTS5 write out what it has gathered so far, which costs most of the time.
    fn put(&mut self, rows: Vec<(Option<Old>, New)>) -> rusqlite::Result<()> {
        let key = self.key;
        let mut keep = self
            .sql
            .prepare(&format!("INSERT OR REPLACE INTO doc_{key} (n, id, sum, noted, whole, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"))?;
        let (mut reworded, mut said) = (Vec::new(), Vec::new());
        for (old, New { record, held, json, sum }) in rows {
            let mut doc = Doc::of(&record, held, 0);
            let before = old.map(|old| self.row(old.n)).transpose()?;
            let (n, row) = (before.as_ref().map(|before| before.place), doc.to_row());
            keep.execute(params![n, doc.facts.id, sum, doc.facts.when(), sum_of(&row.as_str()), row])?;
            doc.place = n.unwrap_or_else(|| self.sql.last_insert_rowid());
            said.push((doc.place, json));
            if before.as_ref().is_none_or(|before| before.terms != doc.terms) {
                reworded.push((before, doc));
            }
        }
        let mut keep = self.sql.prepare(&format!("INSERT OR REPLACE INTO record_{key} (n, record) VALUES (?1, ?2)"))?;
        for (n, json) in said {
            keep.execute(params![n, json])?;
        }
        let mut insert = self.sql.prepare(&format!("INSERT INTO words_{key} (rowid, said, behind) VALUES (?1, ?2, ?3)"))?;
        for (before, doc) in reworded {
            if let Some(before) = before {
                self.unsay(&before)?;
            }
            let (said, behind) = doc.halves();
            insert.execute(params![doc.place, said, behind])?;
            self.count(&doc, 1);
        }
        Ok(())
    }

    /// Takes the terms of a memory out of FTS5.
    fn unsay(&mut self, doc: &Doc) -> rusqlite::Result<()> {
        let key = self.key;
        let mut forget =
            self.sql.prepare(&format!("INSERT INTO words_{key} (words_{key}, rowid, said, behind) VALUES ('delete', ?1, ?2, ?3)"))?;
        let (said, behind) = doc.halves();
        forget.execute(params![doc.place, said, behind])?;
        self.count(doc, -1);
        Ok(())
    }

    fn count(&mut self, doc: &Doc, by: i64) {
        self.docs += by;
        self.length += by * doc.length as i64;
    }

    fn take_out(&mut self, old: &Old) -> rusqlite::Result<()> {
        let doc = self.row(old.n)?;
        self.unsay(&doc)?;
        for table in ["doc", "record"] {
            self.sql.execute(&format!("DELETE FROM {table}_{} WHERE n = ?1", self.key), [old.n])?;
        }
        Ok(())
    }

    /// Writes down what the rows are now.
    fn close(&self, stamps: &str, unnamed: usize) -> rusqlite::Result<()> {
        let close = "UPDATE project SET stamps = ?2, docs = docs + ?3, length = length + ?4, unnamed = ?5 WHERE key = ?1";
        self.sql.execute(close, params![self.key, stamps, self.docs, self.length, unnamed as i64]).map(drop)
    }
}
