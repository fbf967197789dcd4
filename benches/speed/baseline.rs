//! The least that the machine needs: starting a program, asking an FTS5 table, bringing files to the disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use rusqlite::Connection;

/// Runs a baseline if these are the arguments of one.
pub fn run(arguments: &[String]) -> bool {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["empty"] => {}
        ["fts", file] => ask(file),
        ["swap", files] => swap(files),
        _ => return false,
    }
    true
}

/// Opens a database, asks it for the ten best and shows them.
fn ask(file: &str) {
    let sql = Connection::open(file).expect("a database");
    let mut best = sql
        .prepare("SELECT text, bm25(notes) FROM notes WHERE notes MATCH 'payment OR callback OR 支付' ORDER BY rank LIMIT 10")
        .expect("a query");
    let rows = best.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    rows.flatten().for_each(|text| println!("{text}"));
}

/// An FTS5 table of these texts.
pub fn make_index(file: &Path, texts: impl Iterator<Item = String>) {
    let sql = Connection::open(file).expect("a database");
    sql.execute_batch("CREATE VIRTUAL TABLE notes USING fts5(text); BEGIN").expect("a table");
    for text in texts {
        sql.execute("INSERT INTO notes (text) VALUES (?1)", [text]).expect("a row");
    }
    sql.execute_batch("COMMIT").expect("a commit");
}

/// Replaces files (`a:b:c`) by copies of themselves: write, fsync, rename, fsync of the folder.
fn swap(files: &str) {
    for file in files.split(':').filter(|f| !f.is_empty()).map(Path::new) {
        let bytes = fs::read(file).expect("a file");
        let temp = file.with_extension("new");
        let mut new = File::create(&temp).expect("a new file");
        new.write_all(&bytes).and_then(|()| new.sync_data()).expect("written");
        fs::rename(&temp, file).expect("renamed");
        let folder = file.parent().expect("a folder");
        File::open(folder).and_then(|f| f.sync_all()).expect("synced");
    }
}
