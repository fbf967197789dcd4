//! The SQLite file of the index: opening, making it anew, its locks. What is in the tables is `memories`.
//!
//! Everybody who has the file open holds `search.lock` shared; who replaces the file holds it alone. So a damaged file can be
//! thrown away under many processes without one of them writing into the new one by mistake.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use crate::error::{Error, Kind, Result};
use crate::store::{disk, layout};

/// Changes whenever tables or terms do: an index of another format, older or newer, is made anew.
const FORMAT: i64 = 5;

/// How long to wait for another process that writes the index.
const WAIT: Duration = Duration::from_millis(1500);

/// Tries of a search, a fortieth of a second apart.
const TRIES: usize = 60;

/// An open index file and the lock that keeps it in place.
#[derive(Debug)]
pub(super) struct Db {
    pub(super) sql: Connection,
    /// The file that was opened.
    file: Option<FileId>,
    _shared: File,
}

/// Device and number of a file.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    path.is_file().then_some((0, 0))
}

impl Db {
    /// Whether the file that is open is still the one at its place. Who keeps a lost one open keeps others from making it anew.
    pub(super) fn is_in_place(&self, home: &Path) -> bool {
        self.file.is_some() && file_id(&path(home)) == self.file
    }
}

/// `.state/search.db`.
pub(super) fn path(home: &Path) -> PathBuf {
    layout::state(home).join("search.db")
}

pub(super) fn failed(e: &rusqlite::Error) -> Error {
    let busy = matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
    let kind = if busy { Kind::Busy } else { Kind::Failure };
    Error::new(kind, format!("the search index cannot be used: {e}")).hint("`claude-mem reindex` makes it anew")
}

/// A lock on `search.lock`. The way to it leads through `search.gate`, which whoever wants to be alone shuts while it waits:
/// readers that come and go would keep it out for ever.
fn lock(home: &Path, alone: bool, tries: usize) -> Result<File> {
    let _gate = take(home, "search.gate", alone, tries)?;
    take(home, "search.lock", alone, tries)
}

/// A lock on a file of `.state`, tried for a while.
fn take(home: &Path, name: &str, alone: bool, tries: usize) -> Result<File> {
    let file = disk::open_lock(&layout::state(home).join(name))?;
    for _ in 0..tries {
        let got = if alone { file.try_lock() } else { file.try_lock_shared() };
        match got {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(25)),
            Err(std::fs::TryLockError::Error(e)) => return Err(Error::io("lock", &layout::state(home), &e)),
        }
    }
    Err(Error::new(Kind::Busy, "the search index is in use").hint("run the same command again"))
}

/// Opens an index that is good; `None` if there is none. It is looked for under the lock: to open a missing file would make one.
fn good(home: &Path, tries: usize) -> Result<Option<Db>> {
    let shared = lock(home, false, tries)?;
    if !path(home).is_file() {
        return Ok(None);
    }
    let sql = connect(home)?;
    Ok((format(&sql)? == FORMAT).then(|| Db { sql, file: file_id(&path(home)), _shared: shared }))
}

/// The same without waiting for who replaces it: for a commit, which keeps others waiting.
pub(super) fn open_soon(home: &Path) -> Result<Option<Db>> {
    if path(home).is_file() { good(home, 2) } else { Ok(None) }
}

/// Opens the index, making it if it is missing or of another format.
pub(super) fn open(home: &Path) -> Result<Db> {
    disk::create_dir(&layout::state(home))?;
    if let Some(db) = good(home, TRIES)? {
        return Ok(db);
    }
    renew(home, false)?;
    let shared = lock(home, false, TRIES)?;
    Ok(Db { sql: connect(home)?, file: file_id(&path(home)), _shared: shared })
}

/// Throws the index away and makes an empty one; unless `always`, only if it is not good.
pub(super) fn renew(home: &Path, always: bool) -> Result<()> {
    disk::create_dir(&layout::state(home))?;
    let _alone = lock(home, true, TRIES)?;
    // Somebody else may have done it while we waited.
    if !always && path(home).is_file() && connect(home).and_then(|sql| format(&sql)).is_ok_and(|f| f == FORMAT) {
        return Ok(());
    }
    let file = path(home);
    for end in ["-wal", "-shm", "-journal", ""] {
        let mut name = file.clone().into_os_string();
        name.push(end);
        disk::remove(Path::new(&name))?;
    }
    // An empty file is an empty database; made here so that it is private.
    disk::append(&file, "")?;
    let sql = connect(home)?;
    let make = || -> rusqlite::Result<()> {
        sql.pragma_update(None, "journal_mode", "WAL")?;
        sql.execute_batch(
            "CREATE TABLE project (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, stamps TEXT NOT NULL, \
             docs INTEGER NOT NULL, length INTEGER NOT NULL, unnamed INTEGER NOT NULL)",
        )?;
        sql.pragma_update(None, "user_version", FORMAT)
    };
    make().map_err(|e| failed(&e))
}

fn connect(home: &Path) -> Result<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let sql = Connection::open(path(home))?;
        sql.busy_timeout(WAIT)?;
        sql.pragma_update(None, "synchronous", "NORMAL")?;
        // Else the statements inside of FTS5 are planned anew for each value that they are given: a seventh of a search.
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(sql)
    };
    open().map_err(|e| failed(&e))
}

fn format(sql: &Connection) -> Result<i64> {
    sql.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| failed(&e))
}
