//! CLAUDE.md, AGENTS.md and their kin: the owner's own rules, one a paragraph or list item.

use super::numbered::Numbered;
use super::{Foreign, Found, Item, outline};
use crate::model::{Kind, Speaker};
use crate::text::words::fold;

/// Rules for an assistant in Markdown.
pub(super) struct ClaudeMd;

/// Names of files that a person keeps for assistants.
const NAMES: &[&str] = &["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];

/// Titles that only name the file.
const TITLES: &[&str] = &["claude.md", "claude.local.md", "agents.md", "gemini.md", "claude", "agents", "instructions"];

/// How the line begins that tools put into the files they make.
const BOILERPLATE: &[&str] = &["this file provides guidance to", "此文件为 claude code"];

impl Foreign for ClaudeMd {
    fn name(&self) -> &'static str {
        "claude-md"
    }

    fn about(&self) -> &'static str {
        "a CLAUDE.md or AGENTS.md, whose lines are conventions"
    }

    fn voice(&self) -> Speaker {
        Speaker::User
    }

    /// By its name: any other Markdown may be somebody else's rules. What is written by others fits them first.
    fn fits(&self, name: &str, _: &str) -> bool {
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        NAMES.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn read(&self, text: &str) -> Found {
        let text = Numbered::of(text);
        let mut found = Found::default();
        let mut imports = 0;
        for point in outline::points(&text.text) {
            if is_import(&point.text) {
                imports += 1;
                continue;
            }
            if BOILERPLATE.iter().any(|b| fold(&point.text).starts_with(b)) {
                continue;
            }
            let mut item = Item::new(text.line(point.line), point.text);
            item.kind = match point.done {
                Some(true) => continue,
                Some(false) => Kind::Todo,
                None => Kind::Convention,
            };
            item.more = point.details;
            item.topic = point.heading.filter(|h| !TITLES.contains(&fold(h).as_str()));
            found.items.push(item);
        }
        found.left_alone(imports, "@import", "@imports");
        found
    }
}

/// A line that only names another file to load.
fn is_import(text: &str) -> bool {
    text.split_whitespace().all(|word| word.len() > 1 && word.starts_with('@'))
}
