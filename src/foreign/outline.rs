//! Markdown as statements: paragraphs and list items with the headings above them. Code, tables and HTML are left out.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::statement::one_line;

/// A paragraph or list item.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// 0-based line it begins on.
    pub(super) line: usize,
    /// Nearest heading.
    pub(super) heading: Option<String>,
    /// Its words; behind those that led to its list.
    pub(super) text: String,
    /// What stands under it in the list.
    pub(super) details: Option<String>,
    /// A task: whether it is done.
    pub(super) done: Option<bool>,
}

/// A list item, or a paragraph that leads to a list, while it is read.
#[derive(Default)]
struct Node {
    line: usize,
    text: String,
    done: Option<bool>,
    children: Vec<Node>,
}

/// Level of a paragraph that is all bold: below every heading. One in italics is one lower.
const BOLD: usize = 7;

/// The statements of a text, in order.
pub(super) fn points(text: &str) -> Vec<Point> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::default();
    let mut skipped = 0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) if is_left_out(&tag) => skipped += 1,
            Event::End(tag) if is_left_out_end(tag) => skipped -= 1,
            _ if skipped > 0 => {}
            Event::Start(Tag::Heading { .. }) => reader.words.clear(),
            Event::End(TagEnd::Heading(level)) => reader.heading(level_of(level)),
            Event::Start(Tag::List(_)) => reader.open_list(),
            Event::End(TagEnd::List(_)) => reader.close_list(),
            Event::Start(Tag::Item) => reader.open(line_of(range.start)),
            Event::End(TagEnd::Item) => reader.close(),
            Event::Start(Tag::Paragraph) => reader.flush(),
            Event::End(TagEnd::Paragraph) => reader.paragraph(line_of(range.start), text.get(range).unwrap_or_default()),
            Event::Text(words) => reader.words.push_str(&words),
            Event::Code(words) => reader.words.extend(["`", &words, "`"]),
            Event::SoftBreak | Event::HardBreak => reader.words.push(' '),
            Event::TaskListMarker(done) => {
                if let Some(node) = reader.open.last_mut() {
                    node.done = Some(done);
                }
            }
            _ => {}
        }
    }
    reader.finish();
    reader.points
}

fn is_left_out(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_) | Tag::Image { .. } | Tag::MetadataBlock(_))
}

fn is_left_out_end(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Table | TagEnd::Image | TagEnd::MetadataBlock(_))
}

fn level_of(level: HeadingLevel) -> usize {
    level as usize
}

#[derive(Default)]
struct Reader {
    words: String,
    headings: Vec<(usize, String)>,
    open: Vec<Node>,
    /// Lists that are open, and whether the outermost one stands under a paragraph that leads to it.
    lists: usize,
    led: bool,
    /// The last paragraph, until it is known whether a list follows.
    last: Option<Node>,
    points: Vec<Point>,
}

impl Reader {
    fn heading(&mut self, level: usize) {
        self.settle();
        let name = one_line(&std::mem::take(&mut self.words));
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, name.trim_end_matches([':', '：']).to_owned()));
    }

    fn open_list(&mut self) {
        self.flush();
        if self.lists == 0 {
            // A paragraph that ends in a colon is the beginning of every item of its list.
            self.led = self.last.as_ref().is_some_and(|node| leads(&node.text));
            if self.led {
                self.open.extend(self.last.take());
            } else {
                self.settle();
            }
        }
        self.lists += 1;
    }

    fn close_list(&mut self) {
        self.lists = self.lists.saturating_sub(1);
        if self.lists == 0 && std::mem::take(&mut self.led) {
            self.close();
        }
    }

    fn open(&mut self, line: usize) {
        self.flush();
        self.open.push(Node { line, ..Node::default() });
    }

    fn close(&mut self) {
        self.flush();
        let Some(node) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => self.keep(&node, &[]),
        }
    }

    /// Words so far belong to the item that is open.
    fn flush(&mut self) {
        let words = one_line(&std::mem::take(&mut self.words));
        if let Some(node) = self.open.last_mut().filter(|_| !words.is_empty()) {
            if !node.text.is_empty() {
                node.text.push(' ');
            }
            node.text.push_str(&words);
        }
    }

    fn paragraph(&mut self, line: usize, raw: &str) {
        if !self.open.is_empty() {
            return self.flush();
        }
        if let Some(level) = emphasised(raw.trim()) {
            return self.heading(level);
        }
        self.settle();
        let text = one_line(&std::mem::take(&mut self.words));
        self.last = Some(Node { line, text, ..Node::default() }).filter(|n| !n.text.is_empty());
    }

    /// Keeps the last paragraph by itself, unless it only led to something that was left out.
    fn settle(&mut self) {
        if let Some(node) = self.last.take().filter(|node| !leads(&node.text)) {
            self.keep(&node, &[]);
        }
    }

    fn finish(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
        self.settle();
    }

    /// A node as points: items under a lead each stand for themselves, items under a statement explain it.
    fn keep(&mut self, node: &Node, leads_so_far: &[&str]) {
        if leads(&node.text) || node.text.is_empty() {
            let name = node.text.trim_end_matches([':', '：']).trim_end();
            let all: Vec<&str> = leads_so_far.iter().copied().chain((!name.is_empty()).then_some(name)).collect();
            node.children.iter().for_each(|child| self.keep(child, &all));
            return;
        }
        let text = leads_so_far.iter().copied().chain([node.text.as_str()]).collect::<Vec<_>>().join(": ");
        let mut under = Vec::new();
        node.children.iter().for_each(|child| words_of(child, &mut under));
        let heading = self.headings.last().map(|(_, name)| name.clone()).filter(|name| !name.is_empty());
        let details = (!under.is_empty()).then(|| under.join("; "));
        self.points.push(Point { line: node.line, heading, text, details, done: node.done });
    }
}

fn words_of(node: &Node, out: &mut Vec<String>) {
    out.extend((!node.text.is_empty()).then(|| node.text.trim_end_matches(['.', ';', '。', '；']).to_owned()));
    node.children.iter().for_each(|child| words_of(child, out));
}

/// Whether a text only leads to what follows it.
fn leads(text: &str) -> bool {
    text.ends_with([':', '：'])
}

/// The level of a paragraph that is all bold or all italic, as some tools write headings.
fn emphasised(raw: &str) -> Option<usize> {
    let inside = |mark: &str| {
        let inner = raw.strip_prefix(mark)?.strip_suffix(mark)?;
        (!inner.is_empty() && inner.len() <= 80 && !inner.contains(['*', '\n'])).then_some(())
    };
    inside("**").map(|()| BOLD).or_else(|| inside("*").map(|()| BOLD + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<(usize, String, Option<String>)> {
        points(text).into_iter().map(|p| (p.line, p.text, p.details)).collect()
    }

    #[test]
    fn lists_are_joined_where_that_makes_sense() {
        let text = "# Rules\nBefore a commit:\n- run `make lint`\n- run tests\n\n- Use tabs\n  - in Go\n  - in C.\n- 测试：\n  - 先跑单测\n\nDone with:\n```sh\nmake\n```\n";
        let wanted = [
            (2, "Before a commit: run `make lint`", None),
            (3, "Before a commit: run tests", None),
            (5, "Before a commit: Use tabs", Some("in Go; in C")),
            (9, "Before a commit: 测试: 先跑单测", None),
        ];
        let found = said(text);
        assert_eq!(found, wanted.map(|(line, text, details)| (line, text.to_owned(), details.map(str::to_owned))), "{found:?}");
    }

    #[test]
    fn bold_lines_are_headings() {
        let points = points("**Work context**\n\nWrites Rust.\n\n*Recent months*\n\nMoved to Lyon.\n");
        let found: Vec<_> = points.iter().map(|p| (p.heading.as_deref(), p.text.as_str())).collect();
        assert_eq!(found, [(Some("Work context"), "Writes Rust."), (Some("Recent months"), "Moved to Lyon.")]);
    }
}
