//! The memories in the index: one FTS5 table per project, so that counts of words are those of the project.
//!
//! Terms come analysed (`text::terms`); FTS5 only splits them at blanks. A row keeps the record as JSON, so that a search reads
//! no Markdown, and a checksum, so that damage that SQLite does not see is seen here.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::db::{self, Db, failed};
use super::doc::{Doc, FIELDS};
use super::near;
use super::stamps::{Look, Stamps};
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// The open index.
#[derive(Debug)]
pub struct Index {
    home: PathBuf,
    db: Db,
}

/// One project in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    key: i64,
    /// Number of memories.
    pub docs: usize,
    /// Terms in all.
    pub length: usize,
}

/// What a refresh had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Memories written anew.
    pub written: usize,
    /// Memories taken out.
    pub removed: usize,
    /// Entries typed by hand that have no id yet; they are not in the index.
    pub unnamed: usize,
}

impl Index {
    /// Opens `.state/search.db`; a missing one, or one of another format, is made anew (empty: [`Index::refresh`] fills it).
    ///
    /// # Errors
    /// If it cannot be opened or made; a search must then do without.
    pub fn open(home: &Path) -> Result<Self> {
        Ok(Self { home: home.to_path_buf(), db: db::open(home)? })
    }

    /// Throws the index away, whatever state it is in, and makes an empty one.
    ///
    /// # Errors
    /// If another process does not let go of it, or the folder cannot be written.
    pub fn renew(home: &Path) -> Result<()> {
        db::renew(home, true)
    }

    /// Bytes on disk.
    pub fn size(home: &Path) -> u64 {
        std::fs::metadata(db::path(home)).map_or(0, |m| m.len())
    }

    fn sql(&self) -> &Connection {
        &self.db.sql
    }

    /// Begins a read that sees one state of the index until [`Index::end`].
    pub fn begin(&self) -> Result<()> {
        self.sql().execute_batch("BEGIN").map_err(|e| failed(&e))
    }

    /// Ends what [`Index::begin`] began.
    pub fn end(&self) -> Result<()> {
        self.sql().execute_batch("COMMIT").map_err(|e| failed(&e))
    }

    /// Brings a project up to what its files say. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// If the files cannot be read or the index cannot be written.
    pub fn refresh(&self, store: &Store, project: &str, now: i128) -> Result<Refreshed> {
        let known = self.stamps(project).map_err(|e| failed(&e))?;
        match Stamps::look(known.as_ref(), &self.home, project, now)? {
            Look::Same => Ok(Refreshed::default()),
            Look::Restamp(stamps) => {
                let text = to_json(&stamps)?;
                let set = self.sql().execute("UPDATE project SET stamps = ?2 WHERE name = ?1", params![project, text]);
                set.map_err(|e| failed(&e))?;
                Ok(Refreshed::default())
            }
            Look::Changed(stamps) => {
                let snapshot = store.snapshot(project)?;
                let stamps = stamps.with(&snapshot.base);
                let unnamed = snapshot.problems.iter().filter(|p| p.code == "no_id").count();
                self.write(&snapshot, &to_json(&stamps)?).map(|done| Refreshed { unnamed, ..done })
            }
        }
    }

    fn stamps(&self, project: &str) -> rusqlite::Result<Option<Stamps>> {
        let found = self.sql().query_row("SELECT stamps FROM project WHERE name = ?1", [project], |row| row.get::<_, String>(0));
        Ok(found.optional()?.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Forgets the projects that are not among these.
    pub fn retain(&self, projects: &[String]) -> Result<()> {
        let gone = || -> rusqlite::Result<()> {
            let mut all = self.sql().prepare("SELECT key, name FROM project")?;
            let all: Vec<(i64, String)> = all.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
            for (key, _) in all.iter().filter(|(_, name)| !projects.contains(name)) {
                self.sql().execute_batch(&format!(
                    "BEGIN IMMEDIATE; DROP TABLE IF EXISTS vocab_{key}; DROP TABLE IF EXISTS words_{key}; \
                     DROP TABLE IF EXISTS doc_{key}; DELETE FROM project WHERE key = {key}; COMMIT"
                ))?;
            }
            Ok(())
        };
        gone().map_err(|e| failed(&e))
    }

    fn write(&self, snapshot: &Snapshot, stamps: &str) -> Result<Refreshed> {
        let docs = Doc::all(snapshot);
        let mut rows = Vec::with_capacity(docs.len());
        for doc in docs {
            let record = to_json(&doc.record)?;
            rows.push(New { sum: sum_of(&(&record, doc.held)), record, doc });
        }
        self.sql().execute_batch("BEGIN IMMEDIATE").map_err(|e| failed(&e))?;
        match self.write_rows(&snapshot.project, rows, stamps) {
            Ok(done) => self.end().map(|()| done),
            Err(error) => {
                // The first error is the one to tell.
                let _ = self.sql().execute_batch("ROLLBACK");
                Err(failed(&error))
            }
        }
    }

    fn write_rows(&self, project: &str, rows: Vec<New>, stamps: &str) -> rusqlite::Result<Refreshed> {
        let sql = self.sql();
        sql.execute(
            "INSERT INTO project (name, stamps, docs, length) VALUES (?1, ?2, ?3, 0) ON CONFLICT (name) DO UPDATE SET stamps = ?2, docs = ?3",
            params![project, stamps, rows.len() as i64],
        )?;
        let key: i64 = sql.query_row("SELECT key FROM project WHERE name = ?1", [project], |r| r.get(0))?;
        sql.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS doc_{key} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, \
             words INTEGER NOT NULL, length INTEGER NOT NULL, held INTEGER NOT NULL, record TEXT NOT NULL); \
             CREATE VIRTUAL TABLE IF NOT EXISTS words_{key} USING fts5(topic, keywords, summary, reason, evidence, \
             tokenize = \"ascii tokenchars '.+#'\"); \
             CREATE VIRTUAL TABLE IF NOT EXISTS vocab_{key} USING fts5vocab(words_{key}, 'row')"
        ))?;
        let mut old: BTreeMap<String, Old> = BTreeMap::new();
        let mut all = sql.prepare(&format!("SELECT id, n, sum, words FROM doc_{key}"))?;
        for row in all.query_map([], |r| Ok((r.get(0)?, Old { n: r.get(1)?, sum: r.get(2)?, words: r.get(3)? })))? {
            let (id, place) = row?;
            old.insert(id, place);
        }
        let mut done = Refreshed::default();
        let mut unword = sql.prepare(&format!("DELETE FROM words_{key} WHERE rowid = ?1"))?;
        let mut reword = sql.prepare(&format!(
            "INSERT INTO words_{key} (rowid, topic, keywords, summary, reason, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        ))?;
        let mut keep = sql.prepare(&format!(
            "INSERT OR REPLACE INTO doc_{key} (n, id, sum, words, length, held, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        ))?;
        for New { record, sum, mut doc } in rows {
            let place = old.remove(&doc.record.id);
            if place.as_ref().is_some_and(|p| p.sum == sum) {
                continue;
            }
            doc.analyse();
            let terms = doc.terms.each_ref().map(|t| t.join(" "));
            let words = sum_of(&terms);
            keep.execute(params![place.as_ref().map(|p| p.n), doc.record.id, sum, words, doc.length() as i64, doc.held, record])?;
            done.written += 1;
            if place.as_ref().is_some_and(|p| p.words == words) {
                continue;
            }
            let n = match place {
                Some(Old { n, .. }) => {
                    unword.execute([n])?;
                    n
                }
                None => sql.last_insert_rowid(),
            };
            let [topic, keywords, summary, reason, evidence] = terms;
            reword.execute(params![n, topic, keywords, summary, reason, evidence])?;
        }
        let mut undoc = sql.prepare(&format!("DELETE FROM doc_{key} WHERE n = ?1"))?;
        for Old { n, .. } in old.values() {
            unword.execute([n])?;
            undoc.execute([n])?;
            done.removed += 1;
        }
        sql.execute_batch(&format!("UPDATE project SET length = (SELECT coalesce(sum(length), 0) FROM doc_{key}) WHERE key = {key}"))?;
        Ok(done)
    }

    /// Where a project is; `None` if it was never written.
    pub fn place(&self, project: &str) -> Result<Option<Place>> {
        let found = self.sql().query_row("SELECT key, docs, length FROM project WHERE name = ?1", [project], |r| {
            Ok(Place { key: r.get(0)?, docs: r.get::<_, i64>(1)? as usize, length: r.get::<_, i64>(2)? as usize })
        });
        found.optional().map_err(|e| failed(&e))
    }

    /// In how many memories of a project a term is.
    pub fn holders(&self, place: &Place, term: &str) -> Result<usize> {
        let sql = format!("SELECT doc FROM vocab_{} WHERE term = ?1", place.key);
        let found = self.sql().query_row(&sql, [term], |r| r.get::<_, i64>(0)).optional();
        Ok(found.map_err(|e| failed(&e))?.unwrap_or(0) as usize)
    }

    /// Terms of a project one slip away from one that nobody holds.
    pub fn near(&self, place: &Place, term: &str) -> Result<Vec<String>> {
        let first: String = term.chars().take(1).collect();
        if !first.bytes().all(|b| b.is_ascii_lowercase()) {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut found = self.sql().prepare(&format!("SELECT term FROM vocab_{} WHERE term >= ?1 AND term < ?2", place.key))?;
            found.query_map([&first, &format!("{first}\u{10ffff}")], |r| r.get(0))?.collect()
        };
        let terms = read().map_err(|e| failed(&e))?;
        Ok(near::nearest(term, terms.iter().map(String::as_str)))
    }

    /// The best `most` memories that hold one of the terms and are accepted, by BM25, then by id.
    ///
    /// # Errors
    /// If the index cannot be read, or a row is not what was written.
    pub fn candidates(&self, place: &Place, terms: &[String], most: usize, accept: &dyn Fn(&Doc) -> bool) -> Result<Vec<Doc>> {
        let key = place.key;
        let asked: Vec<String> = terms.iter().map(|t| format!("\"{t}\"")).collect();
        let read = || -> rusqlite::Result<Vec<(i64, i64)>> {
            let mut matches =
                self.sql().prepare(&format!("SELECT bm25(words_{key}), rowid FROM words_{key} WHERE words_{key} MATCH ?1"))?;
            let score = |r: &rusqlite::Row<'_>| Ok(((r.get::<_, f64>(0)? * 1e6).round() as i64, r.get(1)?));
            matches.query_map([asked.join(" OR ")], score)?.collect()
        };
        let mut ranked = read().map_err(|e| failed(&e))?;
        ranked.sort_unstable();
        let mut load = self
            .sql()
            .prepare(&format!(
                "SELECT d.record, d.held, d.sum, d.words, w.topic, w.keywords, w.summary, w.reason, w.evidence FROM doc_{key} d \
             JOIN words_{key} w ON w.rowid = d.n WHERE d.n = ?1"
            ))
            .map_err(|e| failed(&e))?;
        let mut found: Vec<Doc> = Vec::new();
        for group in ranked.chunk_by(|a, b| a.0 == b.0) {
            let mut same = Vec::new();
            for (_, n) in group {
                let row = load.query_row([n], |r| {
                    let terms: [String; FIELDS] = [r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?, r.get(8)?];
                    Ok(Row { record: r.get(0)?, held: r.get(1)?, sum: r.get(2)?, words: r.get(3)?, terms })
                });
                let doc = doc_of(row.map_err(|e| failed(&e))?)?;
                if accept(&doc) {
                    same.push(doc);
                }
            }
            same.sort_by(|a, b| a.record.id.cmp(&b.record.id));
            found.extend(same);
            if found.len() >= most {
                break;
            }
        }
        found.truncate(most);
        Ok(found)
    }
}

/// A memory to be written; its terms are made only if it is new.
struct New {
    doc: Doc,
    record: String,
    /// Of record and `held`: tells whether it has changed.
    sum: i64,
}

/// What is there of a memory.
struct Old {
    n: i64,
    sum: i64,
    words: i64,
}

/// A row as it was read, with the checksums of its two halves.
struct Row {
    record: String,
    held: bool,
    sum: i64,
    words: i64,
    terms: [String; FIELDS],
}

fn doc_of(row: Row) -> Result<Doc> {
    let damaged = || Error::failure("the search index is damaged").hint("`claude-mem reindex` makes it anew");
    if sum_of(&(&row.record, row.held)) != row.sum || sum_of(&row.terms) != row.words {
        return Err(damaged());
    }
    let terms = row.terms.map(|t| t.split(' ').filter(|t| !t.is_empty()).map(str::to_owned).collect());
    Ok(Doc { record: serde_json::from_str(&row.record).map_err(|_| damaged())?, held: row.held, terms })
}

/// A checksum against damage, not against people.
fn sum_of(value: &impl Hash) -> i64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as i64
}

fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::failure(format!("the search index cannot be written: {e}")))
}
