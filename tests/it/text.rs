//! Cleaning, redaction and the gate. A new case is a new folder or line below `tests/cases/{text,redact}`; no code.
//!
//! `‖` in a case joins parts of a fake secret, so that none stands whole in the repository.

#![expect(clippy::panic, clippy::disallowed_methods, reason = "a test may fail loudly and find its data by a variable")]

use std::fs;
use std::path::{Path, PathBuf};

use claude_mem::model::{Conversation, Speaker, Turn};
use claude_mem::text::{CleanReport, Gate, clean, clean_text, gate, has_secret, redact, tags};
use proptest::prelude::*;

const SPEAKERS: [(&str, Speaker); 4] =
    [("user", Speaker::User), ("assistant", Speaker::Assistant), ("tool", Speaker::Tool), ("harness", Speaker::Harness)];

fn cases(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).replace('‖', "")
}

fn conversation<'a>(turns: impl IntoIterator<Item = (Speaker, &'a str)>) -> Conversation {
    let turn = |(index, (speaker, text)): (usize, (Speaker, &str))| Turn {
        number: index as u32 + 1,
        speaker,
        text: text.to_owned(),
        at: None,
        uuid: None,
    };
    Conversation { turns: turns.into_iter().enumerate().map(turn).collect(), ..Conversation::default() }
}

/// The text of the only turn after cleaning; empty if it was left out.
fn cleaned(speaker: Speaker, text: &str) -> String {
    clean(&conversation([(speaker, text)])).0.turns.first().map(|turn| turn.text.clone()).unwrap_or_default()
}

/// Each folder holds one turn, in a file named after its speaker, and `expected.md`.
#[test]
fn cleaning_cases() {
    let mut wrong = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(cases("text/clean")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 30);
    for folder in folders {
        let (file, speaker) = SPEAKERS
            .map(|(name, speaker)| (folder.join(format!("{name}.md")), speaker))
            .into_iter()
            .find(|(file, _)| file.exists())
            .unwrap();
        let want = read(&folder.join("expected.md"));
        let got = cleaned(speaker, &read(&file));
        if got.trim_end() != want.trim_end() {
            wrong.push(format!("== {}\n-- want\n{want}\n-- got\n{got}\n", folder.display()));
        }
        let again = cleaned(speaker, &got);
        if again != got {
            wrong.push(format!("== {} is not stable\n-- once\n{got}\n-- twice\n{again}\n", folder.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `redacted.txt`: `text => what it becomes`; `survives.txt`: texts that nothing may touch.
#[test]
fn redaction_cases() {
    let mut wrong = Vec::new();
    let mut judge = |text: &str, want: &str| {
        let got = redact(text);
        if got.text != want || has_secret(text) != (text != want) || redact(&got.text).text != got.text {
            wrong.push(format!("{text}\n  want {want}\n  got  {}", got.text));
        }
    };
    let lines = |name: &str| {
        read(&cases("redact").join(name))
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("# "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for line in lines("redacted.txt") {
        let (text, want) = line.split_once(" => ").unwrap_or_else(|| panic!("no ` => ` in {line}"));
        judge(text, want);
    }
    for line in lines("survives.txt") {
        judge(&line, &line);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Conversations separated by blank lines, `U:`, `A:` or `T:` before each turn.
#[test]
fn gate_cases() {
    let mut wrong = Vec::new();
    for (name, open) in [("open.txt", true), ("closed.txt", false)] {
        for block in read(&cases("text/gate").join(name)).split("\n\n").filter(|block| !block.trim().is_empty()) {
            let turns = block.lines().filter(|line| !line.starts_with('#')).map(|line| {
                let (speaker, text) = line.split_once(": ").unwrap_or_else(|| panic!("no speaker in {line}"));
                (
                    match speaker {
                        "U" => Speaker::User,
                        "A" => Speaker::Assistant,
                        "T" => Speaker::Tool,
                        other => panic!("{other}?"),
                    },
                    text,
                )
            });
            let (cleaned, _) = clean(&conversation(turns));
            if (gate(&cleaned) == Gate::Open) != open {
                wrong.push(format!("{name}: {:?}\n{block}\n", gate(&cleaned)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn inject_then_clean_leaves_nothing() {
    let body = "\n## payments\n- use order_no as the unique index (why: double clicks)\n\n- not debounce: callbacks repeat\n";
    for (header, tail) in tags::HEADERS.iter().zip(tags::TAILS) {
        let note = format!("{header}, with dates. They may be outdated.\n{body}\n{tail} …\n{} 3\n", tags::TAILS[2]);
        let block = format!("{}\n{note}{}", tags::OPEN, tags::CLOSE);
        for (text, want) in [
            (block.clone(), ""),
            (format!("{block}\n\nnow fix the retry"), "now fix the retry"),
            (format!("before\n{block}"), "before"),
            (format!("```\n{block}\n```\nok then use pnpm"), "ok then use pnpm"),
            (format!("{note}Now fix the retry"), "Now fix the retry"),
            (format!("{note}\n- and my own list\n- stays"), "- and my own list\n- stays"),
            (format!("{header}\n{body}\nNow fix the retry"), "Now fix the retry"),
            (format!("{}\n{note}", tags::OPEN), ""),
        ] {
            let got = cleaned(Speaker::User, &text);
            let words: Vec<_> = got.lines().filter(|line| !line.is_empty() && !claude_mem::text::strip::is_stub_line(line)).collect();
            assert_eq!(words.join("\n"), want, "{text}");
        }
    }
}

#[test]
fn the_report_counts() {
    let text = "<system-reminder>x</system-reminder>\nmail a@‖example.org\n```rust\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said he\n".replace('‖', "");
    let (out, report) = clean(&conversation([(Speaker::User, text.as_str()), (Speaker::Harness, "notice"), (Speaker::Assistant, "")]));
    assert_eq!(out.turns.len(), 1);
    assert_eq!((report.blocks, report.tables, report.logs, report.quotes, report.injected), (1, 1, 0, 1, 2));
    assert_eq!(report.redactions.get("email"), Some(&1));
    assert!(report.tokens_after < report.tokens_before);
}

#[test]
fn turn_numbers_stay() {
    let (out, _) = clean(&conversation([
        (Speaker::User, "one thing"),
        (Speaker::Harness, "x"),
        (Speaker::Tool, "ok"),
        (Speaker::User, "<private>p</private>"),
        (Speaker::User, "last thing"),
    ]));
    assert_eq!(out.turns.iter().map(|t| t.number).collect::<Vec<_>>(), [1, 3, 5]);
}

/// Real prompts of the shared corpus: cleaning keeps them whole where they have nothing foreign in them.
#[test]
fn gold_dialogues_keep_their_words() {
    let shared =
        std::env::var_os("CLAUDE_MEM_SHARED").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let Ok(entries) = fs::read_dir(shared.join("gold/cases")) else {
        println!("skipped: no shared gold set");
        return;
    };
    for entry in entries.map(Result::unwrap) {
        let case: serde_json::Value = serde_json::from_str(&fs::read_to_string(entry.path()).unwrap()).unwrap();
        for session in case["sessions"].as_array().unwrap() {
            let turns: Vec<(Speaker, String)> = session["turns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| {
                    let role = turn["role"].as_str().unwrap_or_default();
                    let speaker = SPEAKERS.iter().find(|(name, _)| *name == role).map_or(Speaker::Harness, |(_, speaker)| *speaker);
                    (speaker, turn["text"].as_str().unwrap_or_default().to_owned())
                })
                .collect();
            let (cleaned, _) = clean(&conversation(turns.iter().map(|(speaker, text)| (*speaker, text.as_str()))));
            if case["gold"].as_array().is_some_and(|gold| !gold.is_empty()) {
                assert_eq!(gate(&cleaned), Gate::Open, "{}", entry.path().display());
            }
        }
    }
}

/// Pieces from which awkward texts are built.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "<private>",
        "</private>",
        "<claude-mem>",
        "</claude-mem>",
        "<system-reminder>",
        "</system-reminder>",
        "<pasted_content id=\"1\">",
        "</pasted_content>",
        "```",
        "```rust\n",
        "~~~",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "| a | b |\n",
        "|---|---|\n",
        "> q\n",
        ">= 3",
        "- ",
        "1. ",
        "`",
        "let x = 1;\n",
        "use pnpm ",
        "用订单号 ",
        "2026-06-10T14:03:22Z ERROR x\n",
        "    at f (a.js:1:2)\n",
        "password: ",
        "hunter2!x ",
        "[code: 3 lines]\n",
        "[",
        "]",
        "\u{feff}",
        "\r\n",
        "<",
        ">",
        "&",
        "# h\n",
    ];
    let piece = prop_oneof![4 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => "\\PC{0,8}"];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cleaning_twice_is_cleaning_once(text in pieces(), speaker in prop::sample::select(&SPEAKERS[..3])) {
        let once = cleaned(speaker.1, &text);
        prop_assert_eq!(cleaned(speaker.1, &once), once);
    }

    #[test]
    fn cleaning_never_panics(text in any::<String>()) {
        clean_text(&text, &mut CleanReport::default());
    }

    #[test]
    fn nothing_private_survives(before in pieces(), secret in "canary[a-z]{12}", after in pieces(), unclosed: bool, tag in prop::sample::select(&["private", "claude-mem"][..])) {
        // An odd backtick before would make the tag a word in inline code; a line of its own keeps it a tag.
        let close = if unclosed && tag == "private" { String::new() } else { format!("</{tag}>") };
        let text = format!("{before}\n<{tag}>\n{secret}\n{close}\n{after}");
        let got = cleaned(Speaker::User, &text);
        prop_assert!(!got.contains(&secret), "{}", got);
    }
}
