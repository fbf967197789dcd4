//! One memory file: frontmatter `name`, `description`, `metadata.type`, then the text with **Why:** and **How to apply:**.
//!
//! Files of others are read as far as they go; what is wrong with them is a list. Our own carry the fields of a memory
//! under `metadata`, so that nothing is lost on the way back.

use std::ops::Range;

use serde::Deserialize;

use super::{INDEX, own_file};
use crate::model::{Kind, Layer, Memory};
use crate::store::markdown::{Document, tidy};
use crate::store::sha256;
use crate::text::links;

/// What a memory file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// Who the user is.
    User,
    /// How the user wants things done.
    Feedback,
    /// What is going on in this project.
    Project,
    /// Where something is to be found.
    Reference,
}

impl Type {
    /// Every type, in the order of the client.
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    /// The name in the frontmatter.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }

    /// The type with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name().eq_ignore_ascii_case(text.trim()))
    }

    /// The type that fits a memory of ours.
    pub fn of(memory: &Memory) -> Self {
        match memory.kind {
            Kind::Preference | Kind::Convention => Self::Feedback,
            Kind::Fact if memory.summary.contains("://") => Self::Reference,
            Kind::Fact if memory.layer == Layer::LongTerm && memory.scope.as_deref() == Some("global") => Self::User,
            Kind::Fact | Kind::Decision | Kind::Todo => Self::Project,
        }
    }

    /// Layer and kind of a memory made from a file of this type.
    pub fn says(self) -> (Layer, Kind) {
        match self {
            Self::User => (Layer::LongTerm, Kind::Fact),
            Self::Feedback => (Layer::LongTerm, Kind::Preference),
            Self::Project | Self::Reference => (Layer::Working, Kind::Fact),
        }
    }
}

/// What is wrong with the frontmatter of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Short stable code.
    pub code: &'static str,
    /// 1-based line.
    pub line: u64,
    /// One sentence.
    pub says: String,
}

/// A file as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Name in the folder.
    pub name: String,
    /// All of it.
    pub text: String,
    /// `name` of the frontmatter.
    pub slug: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `metadata.type`, or `type` as older files have it.
    pub kind: Option<Type>,
    /// Day of the last change, `YYYY-MM-DD`: `modified`, else that of the file.
    pub day: Option<String>,
    /// What is wrong with the frontmatter.
    pub faults: Vec<Fault>,
    /// Where the lines between the `---` stand in the text.
    pub head: Range<usize>,
    /// Where the text begins.
    pub body_at: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    name: Option<String>,
    description: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    modified: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(rename = "type")]
    kind: Option<String>,
    modified: Option<String>,
}

impl File {
    /// Reads a file; `day` is that of its last change on disk.
    pub fn read(name: &str, text: &str, day: Option<String>) -> Self {
        let mut file = Self { name: name.to_owned(), text: text.to_owned(), day, ..Self::default() };
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut at = start;
        let mut lines = text[start..].split_inclusive('\n').map(|line| {
            let from = at;
            at += line.len();
            (from, at, line.trim_end())
        });
        let opened = lines.next().filter(|(_, _, line)| *line == "---").map(|(_, end, _)| end);
        let closed = opened.and_then(|_| lines.find(|(_, _, line)| *line == "---"));
        match (opened, closed) {
            (Some(from), Some((to, body, _))) => {
                (file.head, file.body_at) = (from..to, body);
                file.take_head();
            }
            (Some(_), None) => {
                file.body_at = start;
                file.fault("open_frontmatter", 1, "the frontmatter does not end");
            }
            (None, _) => {
                file.body_at = start;
                file.fault("no_frontmatter", 1, "there is no frontmatter, so neither name, description nor type");
            }
        }
        file
    }

    fn fault(&mut self, code: &'static str, line: u64, says: impl Into<String>) {
        self.faults.push(Fault { code, line, says: says.into() });
    }

    fn take_head(&mut self) {
        let text = self.text[self.head.clone()].to_owned();
        let options = serde_saphyr::options! { leading_zero_numbers_as_strings: true, underscored_numbers_as_strings: true };
        let head: Head = match serde_saphyr::from_str_with_options(&text, options) {
            Ok(head) => head,
            Err(e) => {
                let line = e.location().map_or(1, |l| l.line()) + 1;
                let says = e.without_snippet().to_string();
                self.fault("bad_frontmatter", line, format!("the frontmatter is no YAML: {}", says.lines().next().unwrap_or_default()));
                by_line(&text)
            }
        };
        let metadata = head.metadata.unwrap_or_default();
        let filled = |value: Option<String>| value.map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        (self.slug, self.description) = (filled(head.name), filled(head.description));
        let modified = filled(metadata.modified.or(head.modified)).and_then(|m| m.get(..10).map(str::to_owned));
        self.day = modified.filter(|d| d.parse::<jiff::civil::Date>().is_ok()).or(self.day.take());
        let kind = filled(metadata.kind.or(head.kind));
        self.kind = kind.as_deref().and_then(Type::parse);
        let ours = |line: &str| line.trim_start().starts_with("description:");
        let line = text.lines().position(ours).map_or(2, |n| n as u64 + 2);
        if let Some(whole) = self.cut_description(&text) {
            self.fault("cut_description", line, format!("a # without quotes cuts the description short: “{whole}”"));
        }
        if self.slug.is_none() {
            self.fault("no_name", 2, "name is missing");
        }
        if self.description.is_none() {
            self.fault("no_description", 2, "description is missing, so nothing says when to read this");
        }
        match (&self.kind, kind) {
            (None, Some(other)) => self.fault("bad_type", 2, format!("type is {other:?}, not user, feedback, project or reference")),
            (None, None) => self.fault("no_type", 2, "metadata.type is missing"),
            _ => {}
        }
    }

    /// The description as it was meant where YAML took a ` #` for the beginning of a comment.
    fn cut_description(&self, head: &str) -> Option<String> {
        let raw = head.lines().find_map(|line| line.strip_prefix("description:"))?.trim();
        (raw.contains(" #") && !raw.starts_with(['"', '\'', '|', '>', '#']) && self.description.as_deref() != Some(raw))
            .then(|| raw.to_owned())
    }

    /// The text behind the frontmatter.
    pub fn body(&self) -> &str {
        &self.text[self.body_at..]
    }

    /// The name without `.md`.
    pub fn stem(&self) -> &str {
        self.name.strip_suffix(".md").unwrap_or(&self.name)
    }

    /// What the file says in one line: its description, else its first sentence of text, else its name.
    pub fn statement(&self) -> String {
        let first = || self.body().lines().map(|l| l.trim_start_matches(['#', '-', '*', ' ']).trim()).find(|l| !l.is_empty());
        let text = self.description.as_deref().or_else(first).unwrap_or_else(|| self.stem());
        text.replace("**", "")
    }

    /// Whether a `[[link]]` means this file: by its name in the folder or in the frontmatter.
    pub fn is_called(&self, link: &str) -> bool {
        let link = link.trim_end_matches(".md");
        link == self.stem() || self.slug.as_deref() == Some(link)
    }

    /// The `[[links]]` of its text, each with its 1-based line.
    pub fn links(&self) -> Vec<(u64, String)> {
        // `[[` also opens a test in shells and an attribute in C++.
        let is_link = |link: &&str| link.len() <= 100 && !link.starts_with(['-', ':', '!']) && !link.contains(['"', '$', '=']);
        let lines = self.text.lines().zip(1..);
        lines.flat_map(|(line, n)| links::targets(line).filter(is_link).map(move |link| (n, link.to_owned()))).collect()
    }
}

/// `key: rest of the line`, for frontmatter that is no YAML.
fn by_line(head: &str) -> Head {
    let value = |key: &str| {
        let line = head.lines().find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    };
    Head { name: value("name"), description: value("description"), kind: value("type"), modified: value("modified"), metadata: None }
}

/// SHA-256 of a file of ours without the `modified` that the client adds: tells whether somebody changed it.
pub fn digest(text: &str) -> String {
    let file = File::read("", text, None);
    let head: String = text[file.head.clone()].split_inclusive('\n').filter(|l| !l.trim_start().starts_with("modified:")).collect();
    sha256(format!("{}{head}{}", &text[..file.head.start], &text[file.head.end..]).as_bytes())
}

/// A memory as a file of ours.
pub fn print(memory: &Memory) -> String {
    let memory = tidy(memory);
    let entry = Document::parse("", memory.layer).insert(&memory);
    let fields = between(&entry, "```yaml\n", "```\n");
    let rest = entry.split_once("\n```\n").map_or("", |(_, rest)| rest);
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let stem = own_file(&memory.id);
    let mut out = format!(
        "---\nname: {}\ndescription: {}\nmetadata:\n  type: {}\n  layer: {}\n",
        stem.trim_end_matches(".md"),
        quoted(&memory.summary),
        Type::of(&memory).name(),
        memory.layer.name()
    );
    out.extend(memory.topic.as_ref().map(|topic| format!("  topic: {}\n", quoted(topic))));
    out.extend(fields.lines().map(|line| format!("  {line}\n")));
    out.extend(["---\n\n", memory.summary.as_str(), "\n"]);
    let mut quotes = false;
    for line in rest.lines() {
        // Each label is a paragraph, and so are the quotes together.
        let gap = if line.starts_with('>') && quotes { "" } else { "\n" };
        quotes = line.starts_with('>');
        out.extend([gap, line, "\n"]);
    }
    out
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    text.split_once(open).and_then(|(_, rest)| rest.split_once(close)).map_or("", |(inside, _)| inside)
}

/// A file of ours as a memory; `None` if it is none any more. Who changes it may change the description or the first
/// paragraph: what differs from `known`, the summary we gave it, is what was meant.
pub fn parse(file: &File, known: Option<&str>) -> Option<Memory> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Ours {
        metadata: Where,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Where {
        layer: Option<String>,
        topic: Option<String>,
    }
    let head = &file.text[file.head.clone()];
    let ours: Ours = serde_saphyr::from_str(head).ok()?;
    let layer = Layer::parse(ours.metadata.layer.as_deref()?)?;
    let fields: String = head.lines().filter_map(|l| l.strip_prefix("  ")).map(|l| format!("{}\n", l.trim_end_matches('\r'))).collect();
    let body = file.body().trim_start();
    let (lead, rest) = match body.split_once('\n') {
        _ if body.starts_with("**") || body.starts_with('>') => ("", body),
        Some((lead, rest)) => (lead.trim(), rest),
        None => (body.trim(), ""),
    };
    let candidates = [file.description.as_deref().unwrap_or_default(), lead];
    let summary = candidates.into_iter().find(|s| !s.is_empty() && Some(*s) != known).or(known).unwrap_or_default();
    let entry = format!("### {summary}\n```yaml\n{fields}```\n{}", rest.replace('\r', ""));
    let document = Document::parse(&entry, layer);
    let view = document.entries().next().filter(|v| v.entry.readable && v.entry.id.is_some())?;
    let mut memory = view.entry.memory.clone();
    memory.topic = ours.metadata.topic;
    Some(memory)
}

/// Whether a name in a folder is a memory file.
pub fn is_memory(name: &str) -> bool {
    name.ends_with(".md") && name != INDEX && !name.starts_with('.')
}
