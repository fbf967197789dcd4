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
                self.write(&snapshot, &to_json(&stamps)?)
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
        for doc in &docs {
            rows.push((to_json(&doc.record)?, doc.terms.each_ref().map(|t| t.join(" ")), doc));
        }
        self.sql().execute_batch("BEGIN IMMEDIATE").map_err(|e| failed(&e))?;
        match self.write_rows(&snapshot.project, &rows, stamps) {
            Ok(done) => self.end().map(|()| done),
            Err(error) => {
                // The first error is the one to tell.
                let _ = self.sql().execute_batch("ROLLBACK");
                Err(failed(&error))
            }
        }
    }

    fn write_rows(&self, project: &str, rows: &[(String, [String; FIELDS], &Doc)], stamps: &str) -> rusqlite::Result<Refreshed> {
        let sql = self.sql();
        let length: usize = rows.iter().map(|(_, _, doc)| doc.length()).sum();
        sql.execute(
            "INSERT INTO project (name, stamps, docs, length) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET \
             stamps = ?2, docs = ?3, length = ?4",
            params![project, stamps, rows.len() as i64, length as i64],
        )?;
        let key: i64 = sql.query_row("SELECT key FROM project WHERE name = ?1", [project], |r| r.get(0))?;
        sql.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS doc_{key} (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, words INTEGER NOT NULL, \
             sum INTEGER NOT NULL, held INTEGER NOT NULL, record TEXT NOT NULL); \
             CREATE VIRTUAL TABLE IF NOT EXISTS words_{key} USING fts5(topic, keywords, summary, reason, evidence, \
             tokenize = \"ascii tokenchars '.+#'\"); \
             CREATE VIRTUAL TABLE IF NOT EXISTS vocab_{key} USING fts5vocab(words_{key}, 'row')"
        ))?;
        let mut old: BTreeMap<String, (i64, i64, i64)> = BTreeMap::new();
        let mut all = sql.prepare(&format!("SELECT id, n, words, sum FROM doc_{key}"))?;
        for row in all.query_map([], |r| Ok((r.get(0)?, (r.get(1)?, r.get(2)?, r.get(3)?))))? {
            let (id, place) = row?;
            old.insert(id, place);
        }
        let mut done = Refreshed::default();
        let mut unword = sql.prepare(&format!("DELETE FROM words_{key} WHERE rowid = ?1"))?;
        let mut reword = sql
            .prepare(&format!("INSERT INTO words_{key} (rowid, topic, keywords, summary, reason, evidence) VALUES (?1,?2,?3,?4,?5,?6)"))?;
        let mut keep =
            sql.prepare(&format!("INSERT OR REPLACE INTO doc_{key} (n, id, words, sum, held, record) VALUES (?1,?2,?3,?4,?5,?6)"))?;
        for (record, terms, doc) in rows {
            let (words, sum) = (sum_of(terms), sum_of(&(record, doc.held, terms)));
            let place = old.remove(&doc.record.id);
            if place.is_some_and(|(_, _, s)| s == sum) {
                continue;
            }
            let n = place.map(|(n, _, _)| n);
            keep.execute(params![n, doc.record.id, words, sum, doc.held, record])?;
            done.written += 1;
            if place.is_some_and(|(_, w, _)| w == words) {
                continue;
            }
            let n = match n {
                Some(n) => {
                    unword.execute([n])?;
                    n
                }
                None => sql.last_insert_rowid(),
            };
            let [topic, keywords, summary, reason, evidence] = terms;
            reword.execute(params![n, topic, keywords, summary, reason, evidence])?;
        }
        let mut undoc = sql.prepare(&format!("DELETE FROM doc_{key} WHERE n = ?1"))?;
        for (n, _, _) in old.values() {
            unword.execute([n])?;
            undoc.execute([n])?;
            done.removed += 1;
        }
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
                "SELECT d.record, d.held, d.sum, w.topic, w.keywords, w.summary, w.reason, w.evidence FROM doc_{key} d \
             JOIN words_{key} w ON w.rowid = d.n WHERE d.n = ?1"
            ))
            .map_err(|e| failed(&e))?;
        let mut found: Vec<Doc> = Vec::new();
        for group in ranked.chunk_by(|a, b| a.0 == b.0) {
            let mut same = Vec::new();
            for (_, n) in group {
                let row = load.query_row([n], |r| {
                    let terms: [String; FIELDS] = [r.get(3)?, r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?];
                    Ok((r.get::<_, String>(0)?, r.get::<_, bool>(1)?, r.get::<_, i64>(2)?, terms))
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

/// A row as it was read: record, held, checksum, terms.
type Row = (String, bool, i64, [String; FIELDS]);

fn doc_of((record, held, sum, terms): Row) -> Result<Doc> {
    let damaged = || Error::failure("the search index is damaged").hint("`claude-mem reindex` makes it anew");
    if sum_of(&(&record, held, &terms)) != sum {
        return Err(damaged());
    }
    let terms = terms.map(|t| t.split(' ').filter(|t| !t.is_empty()).map(str::to_owned).collect());
    Ok(Doc { record: serde_json::from_str(&record).map_err(|_| damaged())?, held, terms })
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
