//! Reading transcripts: every fixture against its golden reading, the odd records, the corpus, growth and noise.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests fail and speak as tests do")]

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
    writeln!(out, "], \"turns\": {}, \"offset\": {}, \"conversations\": [", reading.cursor.turns, reading.cursor.offset).unwrap();
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

#[test]
fn subagents_are_read_only_when_asked_for_and_never_as_the_user() {
    let bytes = std::fs::read(Path::new(FIXTURES).join("claude-code/sidechain.jsonl")).unwrap();
    let options = ReadOptions { sidechains: true, ..ReadOptions::default() };
    let mut conversations = Vec::new();
    transcript::read(&mut Cursor::new(bytes), &options, &mut |c| conversations.push(c)).unwrap();
    assert_eq!(voices(&conversations), "uhata");
}

#[test]
fn a_fork_is_named_after_its_own_session() {
    let bytes = std::fs::read(Path::new(FIXTURES).join("claude-code/fork.jsonl")).unwrap();
    let session = |name: &str| read(&bytes, name).unwrap().1[0].session.clone();
    assert_eq!(session("0e400000-0000-4000-8000-000000000002.jsonl"), "0e400000-0000-4000-8000-000000000002");
    assert_eq!(session("another-name.jsonl"), "01d00000-0000-4000-8000-000000000001");
}

/// A line of 50 MB keeps its words, and so does everything around it.
#[test]
fn long_lines_are_survived() {
    let record = |n: u32, text: &str, ballast: usize| {
        format!(
            r#"{{"type":"user","uuid":"{n}","sessionId":"s","message":{{"content":"{text}"}},"toolUseResult":{{"stdout":"{}"}}}}"#,
            "x".repeat(ballast)
        )
    };
    let text = [record(1, "first", 0), record(2, "large", 12 << 20), record(3, "huge", 50 << 20), record(4, "last", 0)].join("\n");
    let (reading, conversations) = read(text.as_bytes(), "x").unwrap();
    let words: Vec<&str> = conversations[0].turns.iter().map(|t| t.text.as_str()).collect();
    assert_eq!(words, ["first", "large", "huge", "last"]);
    assert_eq!(reading.problems.iter().map(|p| (p.code, p.line)).collect::<Vec<_>>(), [("long_line", Some(3))]);
    assert_eq!(reading.cursor.offset, text.len() as u64);
}

/// Rows of a table of ours: tab-separated, `#` begins a comment.
fn table(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(Path::new(CASES).join(name)).unwrap();
    text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split('\t').map(str::to_owned).collect()).collect()
}

/// `u a t h` for the speakers in order, conversations apart by `|`.
fn voices(conversations: &[Conversation]) -> String {
    let letter = |s: Speaker| s.name().chars().next().unwrap();
    conversations.iter().map(|c| c.turns.iter().map(|t| letter(t.speaker)).collect::<String>()).collect::<Vec<_>>().join("|")
}

/// Each odd record is read as the table says: its voices, its problems, words that must or must not be the user's.
#[test]
fn odd_records_read_as_described() {
    let Some(corpus) = corpus() else { return };
    let rows = table("odd.tsv");
    let mut wrong = Vec::new();
    for path in files(&corpus.join("odd-records")) {
        let name = file_name(&path);
        let Some(row) = rows.iter().find(|r| name.starts_with(&format!("{}-", r[0]))) else {
            wrong.push(format!("{name} has no row"));
            continue;
        };
        let result = read(&std::fs::read(&path).unwrap(), &name);
        let (format, found, problems, users) = match &result {
            Err(e) => {
                assert_eq!(e.kind, Kind::NoTranscript, "{name}");
                ("error".to_owned(), "-".to_owned(), String::new(), String::new())
            }
            Ok((reading, conversations)) => {
                let codes: Vec<&str> = reading.problems.iter().map(|p| p.code).collect();
                let users: Vec<&str> =
                    conversations.iter().flat_map(|c| &c.turns).filter(|t| t.speaker == Speaker::User).map(|t| t.text.as_str()).collect();
                let voices = voices(conversations);
                (reading.format.to_owned(), if voices.is_empty() { "-".to_owned() } else { voices }, codes.join(","), users.join("\n"))
            }
        };
        let column = |at: usize| row.get(at).map_or("", |c| if c == "-" && at > 2 { "" } else { c });
        if [format.as_str(), found.as_str(), problems.as_str()] != [column(1), column(2), column(3)] {
            wrong.push(format!("{name}: {format}\t{found}\t{problems}"));
        }
        for word in column(4).split('+').filter(|w| !w.is_empty()) {
            let (word, wanted) = word.strip_prefix('!').map_or((word, true), |w| (w, false));
            if users.contains(word) != wanted {
                wrong.push(format!("{name}: the user's words contain {word:?}: {}", !wanted));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Names of the corpus for our formats.
const CORPUS_NAMES: &[(&str, &str)] = &[
    ("markdown/specstory", "specstory"),
    ("markdown/aider", "aider"),
    ("plaintext/console", "claude-export"),
    ("other/gemini-cli", "gemini"),
    ("other/kimi", "kimi"),
    ("other/swe-agent", "swe-agent"),
    ("other/pi", "pi"),
];

#[test]
fn every_transcript_of_the_corpus_is_read() {
    let Some(corpus) = corpus() else { return };
    let manifest = std::fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let refused = table("refused.tsv");
    let mut wrong = Vec::new();
    for row in manifest.lines().skip(1).map(|l| l.split('\t').collect::<Vec<_>>()).filter(|r| r[0].starts_with("transcripts/")) {
        let path = corpus.join(row[0]);
        let format = CORPUS_NAMES.iter().find(|(theirs, _)| *theirs == row[1]).map_or(row[1], |(_, ours)| ours);
        let result = read(&std::fs::read(&path).unwrap(), &file_name(&path));
        let is_refused = refused.iter().any(|r| row[0].ends_with(&r[0]));
        match &result {
            Err(_) if is_refused => {}
            Ok((reading, conversations)) if !is_refused && reading.format == format => {
                for conversation in conversations {
                    let dense = conversation.turns.iter().zip(1..).all(|(t, n)| t.number == n);
                    assert!(dense && !conversation.session.is_empty(), "{}", row[0]);
                }
            }
            _ => wrong.push(format!("{} should be {format}: {:?}", row[0], result.map(|(r, _)| r))),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Notes and instructions are no conversations: nothing of them may be taken for a user's words.
#[test]
fn memory_folders_are_no_transcripts() {
    let Some(corpus) = corpus() else { return };
    let found: Vec<String> = files(&corpus.join("memory-dirs"))
        .iter()
        .filter_map(|p| read(&std::fs::read(p).unwrap(), &file_name(p)).ok().map(|(r, _)| format!("{}: {}", p.display(), r.format)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Text for comparing with an oracle: letters only.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Each prompt another tool found in the same file is a user turn of ours, but for a list with reasons.
#[test]
fn oracles_agree_about_the_prompts() {
    let Some(corpus) = corpus() else { return };
    let known = table("oracle-differences.tsv");
    let mut wrong = Vec::new();
    for path in files(&corpus.join("oracles")).iter().filter(|p| file_name(p).ends_with(".prompts.txt")) {
        let name = file_name(path).replace(".prompts.txt", ".jsonl");
        let (_, conversations) = read(&std::fs::read(corpus.join("transcripts/claude-code").join(&name)).unwrap(), &name).unwrap();
        let ours: Vec<String> =
            conversations.iter().flat_map(|c| &c.turns).filter(|t| t.speaker == Speaker::User).map(|t| squeezed(&t.text)).collect();
        let theirs = std::fs::read_to_string(path).unwrap();
        // A notification has such rules inside; it is one prompt of the oracle.
        let (mut prompts, mut inside) = (Vec::new(), false);
        for part in theirs.split("\n\n---\n\n") {
            if !inside {
                prompts.push(squeezed(part));
            }
            inside = (inside || part.starts_with("<task-notification>")) && !part.contains("</task-notification>");
        }
        for prompt in prompts.into_iter().filter(|p| !p.is_empty()) {
            let found =
                ours.iter().any(|o| *o == prompt || (prompt.contains(o.as_str()) && o.len() * 2 > prompt.len()) || o.contains(&prompt));
            let expected = known.iter().any(|r| name.starts_with(&r[0]) && prompt.starts_with(&squeezed(&r[1])));
            if !found && !expected {
                wrong.push(format!("{name}: {}", prompt.chars().take(150).collect::<String>()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

fn now_text(conversation: &Conversation, index: usize) -> &str {
    conversation.turns.get(index).map_or("", |t| t.text.as_str())
}

/// Turns of a shorter reading are those of the longer one: same numbers, and the same words, a longer answer, or taken
/// back since. Only the last turn may still grow, or be a cut text of its own.
fn assert_grows(name: &str, short: &[Conversation], long: &[Conversation]) {
    for (at, conversation) in short.iter().enumerate() {
        let Some(later) = long.get(at) else { panic!("{name}: a conversation vanished") };
        for (index, turn) in conversation.turns.iter().enumerate() {
            let grown = turn.speaker == Speaker::Assistant && now_text(later, index).starts_with(&turn.text);
            let last = at + 1 == short.len() && index + 1 == conversation.turns.len();
            let now = later.turns.get(index);
            let same = now.is_some_and(|n| n.number == turn.number && n.speaker == turn.speaker && n.text == turn.text);
            let withdrawn = now.is_some_and(|n| n.speaker == Speaker::Harness && n.text == "[withdrawn]");
            assert!(same || grown || withdrawn || last, "{name}: turn {} was {turn:?} and is {now:?}", turn.number);
        }
    }
}

/// Formats whose files grow by appending.
const GROWING: &[&str] = &["claude-code", "codex", "gemini", "aider", "claude-export", "plain", "neutral"];

/// Those of them that are text, not records.
const TEXT: &[&str] = &["aider", "claude-export", "plain"];

fn check_growth(name: &str, bytes: &[u8], steps: usize) {
    let Ok((reading, whole)) = read(bytes, name) else { return };
    if !GROWING.contains(&reading.format) || reading.problems.iter().any(|p| p.code == "encoding") {
        return;
    }
    for step in 1..steps {
        let mut cut = bytes.len() * step / steps;
        // Half a line of text is no state of a file that grows by turns; half a record is, and is left for later.
        if TEXT.contains(&reading.format) {
            cut = bytes[..cut].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        }
        if let Ok((shorter, part)) = read(&bytes[..cut], name)
            && shorter.format == reading.format
        {
            assert!(shorter.cursor.offset <= cut as u64, "{name}");
            assert_grows(&format!("{name} cut at {cut}"), &part, &whole);
        }
    }
}

#[test]
fn a_growing_file_never_changes_its_turns() {
    for path in files(Path::new(FIXTURES)).iter().filter(|p| !file_name(p).ends_with(".turns.json")) {
        check_growth(&path.display().to_string(), &std::fs::read(path).unwrap(), 40);
    }
    let Some(corpus) = corpus() else { return };
    for path in files(&corpus.join("transcripts/claude-code")) {
        let bytes = std::fs::read(&path).unwrap();
        let steps = if bytes.len() > 600_000 { 4 } else { 12 };
        check_growth(&file_name(&path), &bytes, steps);
    }
}

/// Four recorded states of one session, each the beginning of the next.
#[test]
fn a_recorded_session_grows() {
    let Some(corpus) = corpus() else { return };
    let states: Vec<(u64, Whole)> = (1..=4)
        .map(|n| std::fs::read(corpus.join(format!("transcripts/claude-code/en-chainA-{n}.jsonl"))).unwrap())
        .map(|bytes| (bytes.len() as u64, read(&bytes, "x").unwrap()))
        .collect();
    for pair in states.windows(2) {
        let ((length, short), (_, long)) = (&pair[0], &pair[1]);
        assert_eq!(short.0.cursor.offset, *length);
        assert!(short.0.cursor.turns < long.0.cursor.turns);
        assert_grows("en-chainA", &short.1, &long.1);
        assert_eq!(short.1[0].session, long.1[0].session);
    }
}

/// Everything of our fixtures in one heap, to be broken.
fn material() -> Vec<Vec<u8>> {
    let all = files(Path::new(FIXTURES));
    all.iter().filter(|p| !file_name(p).ends_with(".turns.json")).map(|p| std::fs::read(p).unwrap()).filter(|b| b.len() < 20_000).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes, "x");
    }

    #[test]
    fn any_text_is_survived(text in "(\\PC|[\\n{}\\[\\]\":,`#>*_<]){0,300}") {
        let _ = read(text.as_bytes(), "x");
    }

    #[test]
    fn broken_transcripts_are_survived(
        pick in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8, any::<u8>()), 1..12),
    ) {
        let material = material();
        let mut bytes = pick.get(&material).clone();
        for (at, what, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                3 => bytes.truncate(at),
                _ => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend_from_slice(&tail[..tail.len().min(300)]);
                }
            }
        }
        if let Ok((_, conversations)) = read(&bytes, "x") {
            for c in conversations {
                prop_assert!(c.turns.iter().zip(1..).all(|(t, n)| t.number == n && !t.text.is_empty()));
            }
        }
    }
}
