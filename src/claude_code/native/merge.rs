//! Two files that say the same as one: the first as it is, then every paragraph and every field that only the second has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::file::File;

/// What the client notes about a file, not what the file says; it goes with the file.
const OF_THE_FILE: [&str; 6] = ["name", "description", "type", "modified", "node_type", "originSessionId"];

/// The text of `keep` with what only `gone` says. Paragraphs are the same if they differ in nothing but white space.
pub fn merged(keep: &File, gone: &File) -> String {
    let newline = if keep.text.contains("\r\n") { "\r\n" } else { "\n" };
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut text, left) = with_fields(keep, gone, newline);
    let mut there: BTreeSet<String> =
        paragraphs(keep.body(), newline).iter().chain(&keep.description).map(|paragraph| folded(paragraph)).collect();
    let theirs = gone.description.iter().cloned().chain(paragraphs(gone.body(), newline)).chain(left);
    for paragraph in theirs.filter(|p| !p.trim().is_empty()) {
        if there.insert(folded(&paragraph)) {
            let gap = if text.ends_with('\n') { newline.to_owned() } else { newline.repeat(2) };
            text.extend([gap.as_str(), &paragraph, newline]);
        }
    }
    text
}

/// What stands between blank lines; a fenced block is not cut.
fn paragraphs(body: &str, newline: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = vec![Vec::new()];
    let mut open = None;
    for line in body.lines() {
        let fence = ["```", "~~~"].into_iter().find(|fence| line.trim_start().starts_with(fence));
        open = match (open, fence) {
            (None, fence) => fence,
            (Some(_), Some(_)) if open == fence => None,
            _ => open,
        };
        match found.last_mut() {
            Some(last) if open.is_some() || !line.trim().is_empty() => last.push(line),
            _ => found.push(Vec::new()),
        }
    }
    found.iter().map(|lines| lines.join(newline)).filter(|paragraph| !paragraph.is_empty()).collect()
}

/// The text of `keep` with the fields of the other's frontmatter that it lacks, and as paragraphs those that fit nowhere.
fn with_fields(keep: &File, gone: &File, newline: &str) -> (String, Vec<String>) {
    let Some(theirs) = fields(gone) else {
        return (keep.text.clone(), vec![gone.text[gone.head.clone()].trim().to_owned()]);
    };
    let (mut file, mut left) = (keep.clone(), Vec::new());
    for (place, value) in theirs {
        let ours = fields(&file).unwrap_or_default();
        if ours.get(&place) == Some(&value) {
            continue;
        }
        let (inside, key) = &place;
        let line = format!("{key}: {value}");
        let better = with_line(&file, *inside, &line, newline).map(|text| File::read(&file.name, &text, file.day.clone()));
        let fits = |f: &File| f.faults.len() <= file.faults.len() && fields(f).is_some_and(|now| now.get(&place) == Some(&value));
        match better.filter(|better| !ours.contains_key(&place) && fits(better)) {
            Some(better) => file = better,
            None => left.push(line),
        }
    }
    (file.text, left)
}

/// The fields of a frontmatter, each with whether it stands under `metadata`; `None` if it cannot be read.
fn fields(file: &File) -> Option<BTreeMap<(bool, String), Value>> {
    let head = &file.text[file.head.clone()];
    let mut all: Map<String, Value> = if head.trim().is_empty() { Map::new() } else { serde_saphyr::from_str(head).ok()? };
    let inside = match all.remove("metadata") {
        Some(Value::Object(inside)) => inside,
        Some(Value::Null) | None => Map::new(),
        Some(other) => Map::from_iter([("metadata".to_owned(), other)]),
    };
    let placed = all.into_iter().map(|(key, value)| ((false, key), value));
    let placed = placed.chain(inside.into_iter().map(|(key, value)| ((true, key), value)));
    Some(placed.filter(|((_, key), _)| !OF_THE_FILE.contains(&key.as_str())).collect())
}

/// The file with one more line in its frontmatter, if it has one.
fn with_line(file: &File, inside: bool, line: &str, newline: &str) -> Option<String> {
    let (start, end) = (file.head.start, file.head.end);
    if start == 0 {
        return None;
    }
    let head = &file.text[start..end];
    let mut at = start;
    let metadata = head.split_inclusive('\n').find_map(|l| {
        at += l.len();
        (l.trim_end() == "metadata:").then_some(at)
    });
    let (at, line) = match metadata {
        _ if !inside => (end, format!("{line}{newline}")),
        None => (end, format!("metadata:{newline}  {line}{newline}")),
        Some(at) => {
            let next = file.text[at..end].split('\n').next().unwrap_or_default();
            let indent = &next[..next.len() - next.trim_start().len()];
            (at, format!("{}{line}{newline}", if indent.is_empty() { "  " } else { indent }))
        }
    };
    Some(format!("{}{line}{}", &file.text[..at], &file.text[at..]))
}
