//! Notes in the manner of basic-memory: front matter, `- [category] words #tag (context)`, `- relation [[Target]]`.

use super::numbered::Numbered;
use super::{Foreign, Found, Item, kind_of, spoken};
use crate::model::Kind;

/// A Markdown note with observations and relations.
pub(super) struct BasicMemory;

impl Foreign for BasicMemory {
    fn name(&self) -> &'static str {
        "basic-memory"
    }

    fn about(&self) -> &'static str {
        "a note, or a folder of notes, with observations and relations"
    }

    fn fits(&self, _: &str, text: &str) -> bool {
        let text = text.trim_start_matches('\u{feff}');
        let head = front_matter(text).0;
        let has = |key: &str| head.iter().any(|(name, _)| *name == key);
        let marked = || text.lines().filter(|line| matches!(Line::of(line), Some(Line::Observation { .. }))).count();
        has("permalink") || (has("title") && has("type")) || marked() >= 2
    }

    fn read(&self, text: &str) -> Found {
        let text = Numbered::of(text);
        let mut found = Found::default();
        let (head, body) = front_matter(&text.text);
        let of = |key: &str| head.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let heading = || text.text.lines().find_map(|l| l.strip_prefix("# ")).map(|t| t.trim().to_owned());
        let title = of("title").filter(|t| !t.is_empty()).or_else(heading);
        let tags: Vec<String> = of("tags").map(|t| list(&t)).unwrap_or_default();
        let created = of("created").or_else(|| of("date")).filter(|d| d.get(..10).is_some_and(|d| d.parse::<jiff::civil::Date>().is_ok()));
        let (mut code, mut prose) = (false, 0);
        for (at, line) in text.text.lines().enumerate().skip(body) {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            let Some(parsed) = Line::of(line).filter(|_| !code) else {
                prose += usize::from(!code && !fence && !line.trim().is_empty() && !line.starts_with('#'));
                continue;
            };
            let mut item = Item::new(text.line(at), String::new());
            item.topic.clone_from(&title);
            item.created.clone_from(&created);
            item.keywords.clone_from(&tags);
            match parsed {
                Line::Observation { category, words } => {
                    let (words, context) = context(words);
                    let (words, own) = hashtags(words);
                    item.kind = kind_of(category);
                    item.text = words;
                    item.more = context.map(str::to_owned);
                    item.keywords.splice(..0, own);
                }
                Line::Relation { name, target, rest } => {
                    let from = title.as_deref().unwrap_or("this note");
                    item.text = format!("{from} {} {target}", if name.is_empty() { "relates to".to_owned() } else { spoken(name) });
                    item.more = context(rest).1.map(str::to_owned);
                    item.keywords.insert(0, target.to_owned());
                }
                Line::Task { done: true, .. } => continue,
                Line::Task { words, .. } => {
                    item.kind = Kind::Todo;
                    words.clone_into(&mut item.text);
                }
            }
            if item.text.is_empty() {
                found.problem("empty_row", item.line, "an observation without words");
            } else {
                found.items.push(item);
            }
        }
        found.left_alone(prose, "line of free text", "lines of free text");
        found
    }
}

/// A list item that says something in this format.
enum Line<'a> {
    Observation { category: &'a str, words: &'a str },
    Relation { name: &'a str, target: &'a str, rest: &'a str },
    Task { done: bool, words: &'a str },
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))?.trim_start();
        if let Some((category, words)) = item.strip_prefix('[').filter(|r| !r.starts_with('[')).and_then(|r| r.split_once(']')) {
            // `[words](address)` is a link, `[x]` a task.
            return match category {
                " " | "" | "-" | "/" => Some(Self::Task { done: false, words: words.trim() }),
                "x" | "X" => Some(Self::Task { done: true, words: words.trim() }),
                _ => {
                    let plain = category.len() <= 60 && words.starts_with(char::is_whitespace);
                    plain.then(|| Self::Observation { category, words: words.trim() })
                }
            };
        }
        let (name, rest) = item.split_once("[[")?;
        let (target, rest) = rest.split_once("]]")?;
        // A name of a relation is a word or a few; anything longer is a sentence with a link in it.
        let (name, rest) = (name.trim().trim_matches('"'), rest.trim());
        let ends = rest.is_empty() || (rest.starts_with('(') && rest.ends_with(')'));
        (ends && name.split_whitespace().count() <= 4).then_some(Self::Relation { name, target: target.trim(), rest })
    }
}

/// Words, and the context in brackets at their end.
fn context(words: &str) -> (&str, Option<&str>) {
    let inner = words.trim_end().strip_suffix(')').and_then(|w| w.rsplit_once('('));
    match inner.filter(|(before, _)| before.is_empty() || before.ends_with(char::is_whitespace)) {
        Some((before, context)) if !context.trim().is_empty() => (before.trim_end(), Some(context.trim())),
        _ => (words, None),
    }
}

/// Words without the tags at their end; every tag in them.
fn hashtags(words: &str) -> (String, Vec<String>) {
    let is_tag = |w: &&str| w.len() > 1 && w.starts_with('#') && !w[1..].starts_with(|c: char| c.is_ascii_digit() || c == '#');
    let all: Vec<&str> = words.split_whitespace().collect();
    let tags = all.iter().filter(|w| is_tag(w)).map(|w| w.trim_start_matches('#').trim_end_matches([',', '.']).to_owned()).collect();
    let end = all.iter().rposition(|w| !is_tag(w)).map_or(0, |at| at + 1);
    (all[..end].join(" "), tags)
}

/// Keys of the front matter, and the number of the first line behind it.
fn front_matter(text: &str) -> (Vec<(&str, String)>, usize) {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, first)| first.trim_end() != "---") {
        return (Vec::new(), 0);
    }
    let mut keys: Vec<(&str, String)> = Vec::new();
    for (at, line) in lines {
        if line.trim_end() == "---" {
            return (keys, at + 1);
        }
        let unquoted = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
        if let Some(element) = line.trim_start().strip_prefix("- ") {
            if let Some((_, value)) = keys.last_mut() {
                value.push(',');
                value.push_str(&unquoted(element));
            }
        } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t'])) {
            keys.push((key.trim(), unquoted(value)));
        }
    }
    // Without an end it is no front matter.
    (Vec::new(), 0)
}

/// `[a, b]` or `a, b`.
fn list(text: &str) -> Vec<String> {
    let items = text.trim_matches(['[', ']']).split(',').map(|t| t.trim().trim_matches(['"', '\'', '#']).to_owned());
    items.filter(|t| !t.is_empty()).collect()
}
