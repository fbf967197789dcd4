//! The memories in the index: one FTS5 table per project, so that counts of words are those of the project.
//!
//! Terms come analysed (`text::terms`); FTS5 only splits them at blanks. A row keeps the record as JSON, so that a search reads
//! no Markdown, and a checksum, so that damage that SQLite does not see is seen here.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::db::{self, Db, failed};
use super::doc::{Doc, FIELDS};
use super::near;
use super::stamps::{Look, Stamps};
use crate::error::{Error, Result};
use crate::store::Store;

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

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn sql(&self) -> &Connection {
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
                self.write(&snapshot, &stamps).map(|done| Refreshed { unnamed, ..done })
            }
        }
    }

    /// Those of these projects that a search can answer for in no time: the index has them, give or take what changed since, or
    /// their files have at most `small` bytes.
    ///
    /// # Errors
    /// If files or index cannot be read.
    pub fn at_hand(home: &Path, projects: &[String], small: u64, now: i128) -> Result<Vec<String>> {
        let index = if db::path(home).is_file() { Some(Self::open(home)?) } else { None };
        let mut near = Vec::new();
        for project in projects {
            let known = match &index {
                Some(index) => index.stamps(project).map_err(|e| failed(&e))?,
                None => None,
            };
            near.extend((known.is_some() || Stamps::take(home, project, now)?.size() <= small).then(|| project.clone()));
        }
        Ok(near)
    }

    pub(super) fn stamps(&self, project: &str) -> rusqlite::Result<Option<Stamps>> {
        let found = self.sql().query_row("SELECT stamps FROM project WHERE name = ?1", [project], |row| row.get::<_, String>(0));
        Ok(found.optional()?.and_then(|text| serde_json::from_str(&text).ok()))
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
pub(super) fn sum_of(value: &impl Hash) -> i64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as i64
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::failure(format!("the search index cannot be written: {e}")))
}
