//! The memories in the index: one FTS5 table per project, so that counts of words are those of the project.
//!
//! Terms come analysed (`text::terms`); FTS5 only splits them at blanks, and keeps which memories have them, no text and no
//! places in it. `doc` has what ranking weighs, `record` what is shown, as JSON, so that a search
//! reads no Markdown. Checksums show damage that SQLite does not see.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::db::{self, Db, failed};
use super::doc::Doc;
use super::near;
use super::stamps::{Look, Stamps};
use crate::error::{Error, Result};
use crate::model::plan::MemoryRecord;
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

    /// The index, for a commit: `None` if there is none that can be had at once.
    pub(super) fn soon(home: &Path) -> Result<Option<Self>> {
        Ok(db::open_soon(home)?.map(|db| Self { home: home.to_path_buf(), db }))
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn sql(&self) -> &Connection {
        &self.db.sql
    }

    /// Whether the file that is open is still the one at its place.
    pub fn is_in_place(&self) -> bool {
        self.db.is_in_place(&self.home)
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
            Look::Same => self.unnamed(project),
            Look::Restamp(stamps) => {
                let text = to_json(&stamps)?;
                let set = self.sql().execute("UPDATE project SET stamps = ?2 WHERE name = ?1", params![project, text]);
                set.map_err(|e| failed(&e))?;
                self.unnamed(project)
            }
            Look::Changed(stamps) => {
                let snapshot = store.snapshot(project)?;
                self.write(&snapshot, &stamps.with(&snapshot.base))
            }
        }
    }

    /// What a refresh found that had nothing to do.
    fn unnamed(&self, project: &str) -> Result<Refreshed> {
        let found = self.sql().query_row("SELECT unnamed FROM project WHERE name = ?1", [project], |row| row.get::<_, i64>(0));
        found.map(|unnamed| Refreshed { unnamed: unnamed as usize, ..Refreshed::default() }).map_err(|e| failed(&e))
    }

    /// The index as it is there; `None` if there is none.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn existing(home: &Path) -> Result<Option<Self>> {
        if db::path(home).is_file() { Self::open(home).map(Some) } else { Ok(None) }
    }

    /// Those of these projects that a search can answer for in no time: the `index`, if there is one, has them, give or take what
    /// changed since, or their files have at most `small` bytes.
    ///
    /// # Errors
    /// If files or index cannot be read.
    pub fn at_hand(index: Option<&Self>, home: &Path, projects: &[String], small: u64, now: i128) -> Result<Vec<String>> {
        let mut near = Vec::new();
        for project in projects {
            let known = match index {
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

    /// In how many memories of a project each of these terms is.
    pub fn holders(&self, place: &Place, terms: &[&str]) -> Result<Vec<usize>> {
        let read = || -> rusqlite::Result<Vec<usize>> {
            let mut count = self.sql().prepare(&format!("SELECT doc FROM vocab_{} WHERE term = ?1", place.key))?;
            let count = |term| count.query_row([term], |r| r.get::<_, i64>(0)).optional().map(|n| n.unwrap_or(0) as usize);
            terms.iter().map(count).collect()
        };
        read().map_err(|e| failed(&e))
    }

    /// Terms of a project one slip away from one that nobody holds.
    pub fn near(&self, place: &Place, term: &str) -> Result<Vec<String>> {
        if !near::can_slip(term) {
            return Ok(Vec::new());
        }
        let first: String = term.chars().take(1).collect();
        let read = || -> rusqlite::Result<Vec<String>> {
            let sql = format!("SELECT term FROM vocab_{} WHERE term >= ?1 AND term < ?2", place.key);
            let mut found = self.sql().prepare(&sql)?;
            found.query_map([&first, &format!("{first}\u{10ffff}")], |r| r.get(0))?.collect()
        };
        let terms = read().map_err(|e| failed(&e))?;
        Ok(near::nearest(term, terms.iter().map(String::as_str)))
    }

    /// The places of the memories that hold a term: of those that say it first with `true`, then of those that say it behind.
    pub fn having(&self, place: &Place, term: &str) -> Result<Vec<(i64, bool)>> {
        let key = place.key;
        let read = || -> rusqlite::Result<Vec<(i64, bool)>> {
            let mut matches = self.sql().prepare(&format!("SELECT rowid FROM words_{key} WHERE words_{key} MATCH ?1"))?;
            let mut found = Vec::new();
            for (column, first) in [("said", true), ("behind", false)] {
                let rows = matches.query_map([format!("{column} : \"{term}\"")], |r| Ok((r.get(0)?, first)))?;
                for row in rows {
                    found.push(row?);
                }
            }
            Ok(found)
        };
        read().map_err(|e| failed(&e))
    }

    /// Brings places into the order in which their memories were noted, the latest first.
    pub fn sort(&self, place: &Place, places: &mut [i64]) -> Result<()> {
        let mut noted = self.sql().prepare(&format!("SELECT noted FROM doc_{} WHERE n = ?1", place.key)).map_err(|e| failed(&e))?;
        let mut dated = Vec::new();
        for n in places.iter() {
            dated.push((noted.query_row([n], |r| r.get::<_, i64>(0)).map_err(|e| failed(&e))?, *n));
        }
        dated.sort_unstable_by(|a, b| b.cmp(a));
        places.iter_mut().zip(dated).for_each(|(place, (_, n))| *place = n);
        Ok(())
    }

    /// The memories at these places, in their order.
    ///
    /// # Errors
    /// If the index cannot be read, or a row is not what was written.
    pub fn docs(&self, place: &Place, places: &[i64]) -> Result<Vec<Doc>> {
        let mut load = self.sql().prepare(&format!("SELECT row, whole FROM doc_{} WHERE n = ?1", place.key)).map_err(|e| failed(&e))?;
        let doc = |n: &i64| load.query_row([n], |r| Ok(doc_of(*n, r.get_ref(0)?.as_str()?, r.get(1)?))).map_err(|e| failed(&e))?;
        places.iter().map(doc).collect()
    }

    /// What candidates say in full.
    ///
    /// # Errors
    /// As [`Index::docs`].
    pub fn records(&self, place: &Place, docs: &[&Doc]) -> Result<Vec<MemoryRecord>> {
        let key = place.key;
        let sql = format!("SELECT r.record, d.sum FROM record_{key} r JOIN doc_{key} d ON d.n = r.n WHERE r.n = ?1");
        let mut load = self.sql().prepare(&sql).map_err(|e| failed(&e))?;
        let record = |doc: &&Doc| {
            let row = load.query_row([doc.place], |r| Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)?)));
            let (record, sum) = row.map_err(|e| failed(&e))?;
            let is_whole = sum_of(&(&record, doc.facts.held)) == sum;
            serde_json::from_str(&record).ok().filter(|_| is_whole).ok_or_else(damaged)
        };
        docs.iter().map(record).collect()
    }
}

pub(super) fn damaged() -> Error {
    Error::failure("the search index is damaged").hint("`claude-mem reindex` makes it anew")
}

/// What was written, or an error if it is not that.
pub(super) fn doc_of(n: i64, row: &str, whole: i64) -> Result<Doc> {
    Doc::of_row(n, row).filter(|_| sum_of(&row) == whole).ok_or_else(damaged)
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
