//! `MEMORY.md`: one line per memory, `- [Title](file.md) — hook`, and whatever else stands there. The client gives its head to
//! every session and cuts the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::own_id;
use crate::model::Memory;
use crate::recall::escape;
use crate::text::words;

/// Lines of the index that the client delivers.
pub const MOST_LINES: usize = 200;
/// UTF-16 units of the index that the client delivers.
pub const MOST_UNITS: usize = 25_000;

/// Of these limits, what export leaves to the model's own lines.
const ROOM: (usize, usize) = (MOST_LINES / 10, MOST_UNITS / 10);

/// Words that stand around text which poses as an order.
const RECORDED: &str = "recorded: “{text}”";

/// An index line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// 1-based.
    pub number: usize,
    /// What stands in the brackets.
    pub title: String,
    /// The file it leads to.
    pub file: String,
    /// What is said about it.
    pub hook: String,
    /// The heading it stands under.
    pub section: Option<String>,
    /// As it stands there, without the end of line.
    pub text: String,
}

/// An index as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Its index lines.
    pub lines: Vec<Line>,
    /// Files that other lines lead to, with the line number.
    pub mentions: Vec<(usize, String)>,
    /// Lines that are notes by themselves: number, heading, text.
    pub notes: Vec<(usize, Option<String>, String)>,
}

fn entry() -> Option<&'static Regex> {
    static ENTRY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*[-*+]\s+\[(.*?)\]\(<?([^)>]+?)>?\)\s*(?:[—–:：-]+\s*)?(.*?)\s*$").ok());
    ENTRY.as_ref()
}

fn target() -> Option<&'static Regex> {
    static TARGET: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\]\(<?([^)>\s]+\.md)(?:#[^)>]*)?>?\)").ok());
    TARGET.as_ref()
}

/// The file of this folder that a link leads to.
fn local(target: &str) -> Option<String> {
    let target = target.split('#').next()?.trim().trim_start_matches("./").replace("%20", " ");
    (target.ends_with(".md") && !target.contains("://")).then_some(target)
}

impl Index {
    /// Reads an index; never fails.
    pub fn read(text: &str) -> Self {
        let (mut index, mut section) = (Self::default(), None);
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate().map(|(n, line)| (n + 1, line)) {
            if let Some(heading) = line.strip_prefix('#').map(|h| h.trim_start_matches('#').trim()) {
                section = Some(heading.to_owned()).filter(|h| !h.is_empty());
                continue;
            }
            let found = entry().and_then(|e| e.captures(line));
            let part = |i: usize| found.as_ref().and_then(|f| f.get(i)).map_or("", |m| m.as_str());
            if let Some(file) = local(part(2)) {
                let (title, hook) = (part(1).to_owned(), part(3).to_owned());
                index.lines.push(Line { number, title, file, hook, section: section.clone(), text: line.to_owned() });
                continue;
            }
            let before = index.mentions.len();
            let targets = target().into_iter().flat_map(|t| t.captures_iter(line)).filter_map(|c| local(c.get(1)?.as_str()));
            index.mentions.extend(targets.map(|file| (number, file)));
            if index.mentions.len() == before && !line.trim().is_empty() {
                index.notes.push((number, section.clone(), line.to_owned()));
            }
        }
        index
    }

    /// Whether some line leads to a file.
    pub fn leads_to(&self, file: &str) -> bool {
        self.lines.iter().any(|l| l.file == file) || self.mentions.iter().any(|(_, f)| f == file)
    }

    /// The index line of a file.
    pub fn line_of(&self, file: &str) -> Option<&Line> {
        self.lines.iter().find(|l| l.file == file)
    }
}

/// How big an index is, as the client counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub lines: usize,
    /// UTF-16 units.
    pub units: usize,
    /// First line (1-based) that the client cuts.
    pub cut_from: Option<usize>,
}

/// Measures an index.
pub fn size(text: &str) -> Size {
    let mut size = Size::default();
    for line in text.split_inclusive('\n') {
        size.lines += 1;
        size.units += line.encode_utf16().count();
        if size.cut_from.is_none() && (size.lines > MOST_LINES || size.units > MOST_UNITS) {
            size.cut_from = Some(size.lines);
        }
    }
    size
}

/// How many of these lines still fit behind what stands in an index without them, best first, with room for the model.
pub fn fitting(others: &str, lines: &[String]) -> usize {
    let used = size(others);
    // An end of line each; where one was missing, one more.
    let (mut count, mut units) = (used.lines, used.units + 1);
    let fits = |line: &&String| {
        count += 1;
        units += line.encode_utf16().count() + 2;
        count + ROOM.0 <= MOST_LINES && units + ROOM.1 <= MOST_UNITS
    };
    lines.iter().take_while(fits).count()
}

/// The index line of a memory of ours.
pub fn line_for(memory: &Memory) -> String {
    let title = memory.topic.as_ref().or(memory.keywords.first()).map_or_else(|| memory.kind.name().to_owned(), Clone::clone);
    let title = escape::line(&title, 40.0, RECORDED).replace('[', "(").replace(']', ")");
    format!("- [{title}]({}) — {}", super::own_file(&memory.id), escape::line(&memory.summary, words::MAX_WIDTH, RECORDED))
}

/// An index after our lines were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// The new text; every byte that is not ours is as before.
    pub text: String,
    /// Files of ours whose line somebody else wrote or changed; that line stays.
    pub edited: BTreeSet<String>,
}

/// Puts our lines (file and line, in order) into an index and takes those out that we wrote before and want no more.
/// `written` has each line of ours as we wrote it: only these are touched.
pub fn set(text: &str, written: &BTreeMap<&str, &str>, wanted: &[(String, String)]) -> Set {
    let mut rows: Vec<&str> = text.split_inclusive('\n').collect();
    let mut missing: BTreeMap<&str, &str> = wanted.iter().map(|(file, line)| (file.as_str(), line.as_str())).collect();
    let newline = if rows.first().is_some_and(|r| r.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let (mut out, mut edited) = (Vec::new(), BTreeSet::new());
    for row in rows.drain(..) {
        let bare = row.trim_end_matches(['\n', '\r']);
        let file = Index::read(bare).lines.first().map(|l| l.file.clone()).filter(|f| own_id(f).is_some());
        let Some(file) = file else {
            out.push(row.to_owned());
            continue;
        };
        let wanted = missing.remove(file.as_str());
        // The mark at the head of the file is not ours.
        let (mark, bare) = bare.strip_prefix('\u{feff}').map_or(("", bare), |rest| ("\u{feff}", rest));
        let end = &row[mark.len() + bare.len()..];
        if wanted != Some(bare) && written.get(file.as_str()) != Some(&bare) {
            out.push(row.to_owned());
            edited.insert(file);
            continue;
        }
        match wanted {
            Some(line) => out.push(format!("{mark}{line}{end}")),
            None if end.is_empty() => {
                // The last line: the end of line before it came with it.
                out.push(mark.to_owned());
                if let Some(before) = out.iter_mut().rev().find(|r| !r.is_empty()) {
                    let kept = before.strip_suffix(newline).map(str::len);
                    before.truncate(kept.unwrap_or(before.len()));
                }
            }
            None => out.push(mark.to_owned()),
        }
    }
    let mut text = out.concat();
    for (_, line) in wanted.iter().filter(|(file, _)| missing.contains_key(file.as_str())) {
        // A file without a last end of line stays one.
        let bare = text.trim_start_matches('\u{feff}').is_empty();
        let row = if bare || text.ends_with('\n') { [line.as_str(), newline] } else { [newline, line.as_str()] };
        text.extend(row);
    }
    Set { text, edited }
}

/// An index without the lines of ours that stand as we wrote them.
pub fn without_ours(text: &str, written: &BTreeMap<&str, &str>) -> String {
    set(text, written, &[]).text
}

/// Where a line (1-based) stands in a text, its end of line with it.
pub fn span(text: &str, number: usize) -> Range<usize> {
    let start: usize = text.split_inclusive('\n').take(number - 1).map(str::len).sum();
    let length = text[start..].split_inclusive('\n').next().map_or(0, str::len);
    start..start + length
}
