//! Reading transcripts: every fixture against its golden reading, the odd records, the corpus, growth and noise.

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use claude_mem::error::{Kind, Result};
use claude_mem::model::{Conversation, Speaker};
use claude_mem::transcript::{self, ReadOptions, Reading};
use proptest::prelude::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/transcripts");
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/transcripts");

/// A reading with all its conversations.
type Whole = (Reading, Vec<Conversation>);

fn read(bytes: &[u8], name: &str) -> Result<Whole> {
    let options = ReadOptions { file_name: name.to_owned(), ..ReadOptions::default() };
    let mut conversations = Vec::new();
    let reading = transcript::read(&mut Cursor::new(bytes), &options, &mut |c| conversations.push(c))?;
    Ok((reading, conversations))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The shared data, or nothing with a word on why the test does nothing.
#[expect(clippy::disallowed_methods, reason = "tests find the shared data by a variable")]
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).to_path_buf();
    let shared = std::env::var_os("CLAUDE_MEM_SHARED").map_or(beside, PathBuf::from);
    let corpus = shared.join("corpus");
    if !corpus.is_dir() {
        println!("skipped: no shared corpus beside the project");
        return None;
    }
    Some(corpus)
}

/// A reading as stable JSON, one turn a line.
fn golden(result: &Result<Whole>) -> String {
    let text = |s: &str| serde_json::to_string(s).unwrap();
    let option = |s: &Option<String>| s.as_deref().map_or("null".to_owned(), text);
    let (reading, conversations) = match result {
        Ok(whole) => whole,
        Err(e) => return format!("{{\"error\": {}, \"hint\": {}}}\n", text(&e.message), option(&e.hint)),
    };
    let mut out = format!("{{\"format\": {}, \"problems\": [", text(reading.format));
    for (at, p) in reading.problems.iter().enumerate() {
        let line = p.line.map_or(String::new(), |l| format!(":{l}"));
        write!(out, "{}{}", if at > 0 { ", " } else { "" }, text(&format!("{}{line}", p.code))).unwrap();
    }
    writeln!(out, "], \"turns\": {}, \"conversations\": [", reading.cursor.turns).unwrap();
    for (at, c) in conversations.iter().enumerate() {
        let fields = [("title", &c.title), ("cwd", &c.cwd), ("project", &c.project), ("branch", &c.branch), ("date", &c.date)];
        write!(out, "{{\"session\": {}", text(&c.session)).unwrap();
        for (name, value) in fields.iter().filter(|(_, v)| v.is_some()) {
            write!(out, ", \"{name}\": {}", option(value)).unwrap();
        }
        out.push_str(", \"turns\": [\n");
        for (at, t) in c.turns.iter().enumerate() {
            let comma = if at + 1 < c.turns.len() { "," } else { "" };
            writeln!(out, "[{}, \"{}\", {}]{comma}", t.number, t.speaker.name(), text(&t.text)).unwrap();
        }
        out.push_str(if at + 1 < conversations.len() { "]},\n" } else { "]}\n" });
    }
    out.push_str("]}\n");
    out
}

#[test]
#[expect(clippy::disallowed_methods, reason = "goldens are rewritten on demand")]
fn fixtures_read_as_their_goldens_say() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in files(Path::new(FIXTURES)).iter().filter(|p| !file_name(p).ends_with(".turns.json")) {
        seen += 1;
        let found = golden(&read(&std::fs::read(path).unwrap(), &file_name(path)));
        let _: serde_json::Value = serde_json::from_str(&found).expect("the golden form is JSON");
        let beside = path.with_file_name(format!("{}.turns.json", file_name(path)));
        if update {
            std::fs::write(&beside, &found).unwrap();
        } else if std::fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(seen >= 20, "only {seen} fixtures were found");
    assert!(wrong.is_empty(), "{} fixtures read differently; UPDATE_GOLDEN=1 rewrites them:\n{}", wrong.len(), wrong.join("\n"));
}

/// The fixture's folder names its format.
#[test]
fn fixtures_are_detected_by_content() {
    for path in files(Path::new(FIXTURES)).iter().filter(|p| !file_name(p).ends_with(".turns.json")) {
        let folder = file_name(path.parent().unwrap());
        let found = read(&std::fs::read(path).unwrap(), "x").map(|(reading, _)| reading.format);
        match folder.as_str() {
            "none" => assert_eq!(found.map_err(|e| e.kind), Err(Kind::NoTranscript), "{}", path.display()),
            _ => assert_eq!(found, Ok(folder.as_str()), "{}", path.display()),
        }
    }
}
