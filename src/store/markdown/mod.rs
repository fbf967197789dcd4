//! Memories in Markdown: read, print, and change without touching a byte of anything else (design: section 3).
//!
//! A document is a row of pieces that together are the file, byte for byte. Only entries are understood; front text,
//! prose, comments and unknown keys are carried along. Pure: no files, no clock.

mod edit;
mod entry;
mod print;
mod scan;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use memchr::memmem::Finder;

pub use entry::Entry;
pub use print::{is_general, one_line, tidy};

use crate::error::Problem;
use crate::model::{Id, Layer, Memory};
use crate::text::links;
use scan::{Unclosed, bare, block_end, heading, is_blank, lines, may_open, newline_of};

/// One file of memories.
#[derive(Clone, Debug)]
pub struct Document {
    /// A byte order mark, if the file begins with one.
    bom: &'static str,
    pieces: Vec<Piece>,
    layer: Layer,
    newline: &'static str,
    /// Where an entry was found last.
    last: Place,
}

/// The place of a piece: an entry that a change is about is asked for many times in a row, in a file with thousands.
#[derive(Debug, Default)]
struct Place(AtomicUsize);

impl Clone for Place {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Ordering::Relaxed)))
    }
}

/// A stretch of the file from one heading to the next.
#[derive(Clone, Debug)]
struct Piece {
    what: What,
    text: String,
    /// What an entry says, once somebody asked.
    entry: OnceLock<Box<Entry>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// Before the first heading, or under a `#` heading: no topic.
    Prose,
    /// From a `##` heading on.
    Topic(Arc<str>),
    /// From a `###` heading on, with the topic it stands under.
    Entry(Option<Arc<str>>),
}

impl Piece {
    fn new(what: What, text: impl Into<String>) -> Self {
        Self { what, text: text.into(), entry: OnceLock::new() }
    }

    fn is_entry(&self) -> bool {
        matches!(self.what, What::Entry(_))
    }

    fn entry(&self, layer: Layer) -> Option<&Entry> {
        let What::Entry(topic) = &self.what else { return None };
        Some(self.entry.get_or_init(|| Box::new(Entry::read(&self.text, topic.as_deref(), layer))))
    }

    /// The id, as far as it can be seen without reading the entry.
    fn likely_id(&self) -> Option<Id> {
        Id::parse(self.id_line()?)
    }

    /// What stands where the id of an entry is written, as long as an id.
    fn id_line(&self) -> Option<&str> {
        static ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\nid: "));
        let at = ID.find(self.text.as_bytes())? + ID.needle().len();
        self.text.get(at..)?.get(..Id::LEN)
    }
}

/// An entry and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// 1-based line of its heading.
    pub line: u64,
    /// What it says.
    pub entry: &'a Entry,
    /// Its text, as it stands in the file.
    pub text: &'a str,
}

impl Document {
    /// Reads a file of a layer. Never fails: what cannot be read stays as text and is a [`Problem`].
    pub fn parse(text: &str, layer: Layer) -> Self {
        let (bom, rest) = bom(text);
        let pieces = split(rest).into_iter().map(|(what, text)| Piece::new(what, text)).collect();
        Self { bom, pieces, layer, newline: newline_of(text), last: Place::default() }
    }

    /// Whether `text` would be read as exactly this document.
    pub fn reads_as(&self, text: &str) -> bool {
        let (bom, rest) = bom(text);
        let pieces = split(rest);
        bom == self.bom
            && pieces.len() == self.pieces.len()
            && pieces.iter().zip(&self.pieces).all(|((what, text), p)| *what == p.what && *text == p.text)
    }

    /// The file. Without changes, exactly the bytes that were read.
    pub fn render(&self) -> String {
        std::iter::once(self.bom).chain(self.pieces.iter().map(|p| p.text.as_str())).collect()
    }

    /// Whether nothing but white space is left.
    pub fn is_blank(&self) -> bool {
        self.pieces.iter().all(|p| p.text.trim().is_empty())
    }

    /// Lets the links to an old name (its slug) lead to a new one, and gives the entries whose text changed by that. Quotes stay
    /// as they were said.
    pub fn relink(&mut self, old: &str, new: &str) -> Vec<Id> {
        let mut changed = Vec::new();
        let layer = self.layer;
        for piece in self.pieces.iter_mut().filter(|p| p.is_entry()) {
            let line = |line: &str| match line.trim_start().starts_with('>') {
                true => line.to_owned(),
                false => links::renamed(line, old, new).unwrap_or_else(|| line.to_owned()),
            };
            let text: String = piece.text.split_inclusive('\n').map(line).collect();
            if text == piece.text {
                continue;
            }
            *piece = Piece::new(piece.what.clone(), text);
            changed.extend(piece.entry(layer).and_then(|entry| entry.id.clone()));
        }
        changed
    }

    /// The pieces that are entries, each with the line of its heading.
    fn placed(&self) -> impl Iterator<Item = (u64, &Piece)> {
        let mut line = 1;
        let pieces = self.pieces.iter().map(move |piece| {
            let at = line;
            line += newlines(&piece.text);
            (at, piece)
        });
        pieces.filter(|(_, piece)| piece.is_entry())
    }

    fn view<'a>(&'a self, (line, piece): (u64, &'a Piece)) -> Option<View<'a>> {
        Some(View { line, entry: piece.entry(self.layer)?, text: &piece.text })
    }

    /// The entries in order, also those without id and those that cannot be read.
    pub fn entries(&self) -> impl Iterator<Item = View<'_>> {
        self.placed().filter_map(|placed| self.view(placed))
    }

    /// Reads what the entries of one of `shares` equal shares say: the same as asking for each, but callable from many threads.
    pub fn read_share(&self, at: usize, shares: usize) {
        let size = self.pieces.len().div_ceil(shares.max(1)).max(1);
        for piece in self.pieces.chunks(size).nth(at).into_iter().flatten() {
            piece.entry(self.layer);
        }
    }

    /// How many stretches between headings there are.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// What the headings of the entries say, in order; no entry is read.
    pub fn summaries(&self) -> impl Iterator<Item = &str> {
        let texts = self.pieces.iter().filter(|p| p.is_entry()).map(|piece| piece.text.as_str());
        texts.map(|text| heading(text.split_inclusive('\n').next().unwrap_or_default()).map_or("", |(_, summary)| summary))
    }

    /// The entries at these places among all entries, of which the first here has the place `first`; no other is read.
    pub fn at<'a>(&'a self, first: usize, places: &'a BTreeSet<usize>) -> impl Iterator<Item = View<'a>> {
        let picked = (first..).zip(self.placed()).filter(|(place, _)| places.contains(place));
        picked.filter_map(|(_, placed)| self.view(placed))
    }

    /// Those of these memories that stand here, in order; no other entry is read.
    pub fn find<'a>(&'a self, ids: &'a BTreeSet<Id>) -> impl Iterator<Item = View<'a>> {
        let likely = self.placed().filter(|(_, piece)| piece.likely_id().is_some_and(|id| ids.contains(&id)));
        let is = |view: &View<'_>| view.entry.readable && view.entry.id.as_ref().is_some_and(|id| ids.contains(id));
        likely.filter_map(|placed| self.view(placed)).filter(is)
    }

    /// What was odd, with line numbers of the file and the heading; `file` is left empty.
    pub fn problems(&self) -> Vec<Problem> {
        let placed = |view: View<'_>, p: &Problem| {
            let heading = match view.entry.memory.summary.as_str() {
                "" => String::new(),
                summary => format!("“{summary}”: "),
            };
            Problem { line: p.line.map(|l| l + view.line - 1), detail: format!("{heading}{}", p.detail), ..p.clone() }
        };
        self.entries().flat_map(|v| v.entry.problems.iter().map(move |p| placed(v, p))).collect()
    }

    fn position(&self, id: &Id) -> Option<usize> {
        let is = |p: &Piece| p.entry(self.layer).is_some_and(|e| e.readable && e.id.as_ref() == Some(id));
        // Whoever is asked for an id goes past thousands of entries, so the text is compared before it is read as one.
        let maybe = |line: &str| line.eq_ignore_ascii_case(id.as_str()) || !line.bytes().all(|b| b.is_ascii_alphanumeric());
        let likely = |p: &Piece| p.is_entry() && p.id_line().is_none_or(maybe) && is(p);
        let last = self.last.0.load(Ordering::Relaxed);
        if self.pieces.get(last).is_some_and(likely) {
            return Some(last);
        }
        let found = self.pieces.iter().position(likely).or_else(|| self.pieces.iter().position(is))?;
        self.last.0.store(found, Ordering::Relaxed);
        Some(found)
    }

    /// The memory with this id.
    pub fn get(&self, id: &Id) -> Option<&Memory> {
        Some(&self.pieces.get(self.position(id)?)?.entry(self.layer)?.memory)
    }

    /// The text of the entry with this id, without the blank lines behind it.
    pub fn text(&self, id: &Id) -> Option<&str> {
        self.pieces.get(self.position(id)?).map(|p| p.text.trim_end())
    }

    /// Puts a new entry at the end of its topic; the heading is made if there is none. Gives its text.
    pub fn insert(&mut self, memory: &Memory) -> String {
        let memory = tidy(memory);
        let text = print::entry(&memory, self.newline);
        self.insert_text(&text, &memory);
        text
    }

    /// Puts an entry that came from another file at the end of its topic, with its text as it was there.
    pub fn insert_text(&mut self, text: &str, memory: &Memory) {
        let text = text.trim_end();
        let (at, heading) = self.place(memory);
        let nl = self.newline;
        let last = at == self.pieces.len();
        let before = at.checked_sub(1).and_then(|i| self.pieces.get_mut(i)).map(|p| &mut p.text);
        let mut behind = nl.to_owned();
        if let Some(before) = before {
            if lines(before).last().is_some_and(|l| is_blank(l)) {
                behind.push_str(nl);
            } else if !before.ends_with('\n') {
                before.push_str(nl);
                before.push_str(nl);
                behind.clear();
            } else if last {
                before.push_str(nl);
            }
        }
        let topic = memory.topic.as_deref().map(Arc::from);
        let piece = Piece::new(What::Entry(topic), format!("{text}{behind}"));
        let topic = heading.map(|name| Piece::new(What::Topic(name.as_str().into()), format!("## {name}{nl}{nl}")));
        self.pieces.splice(at..at, topic.into_iter().chain([piece]));
    }

    /// Where an entry of this topic goes, and the heading to make for it, if any.
    fn place(&self, memory: &Memory) -> (usize, Option<String>) {
        let fits = |name: &str| match &memory.topic {
            Some(topic) => name == topic.as_str(),
            None => print::is_general(name),
        };
        match self.pieces.iter().position(|p| matches!(&p.what, What::Topic(name) if fits(name))) {
            Some(at) => {
                let more = self.pieces[at + 1..].iter().take_while(|p| p.is_entry()).count();
                (at + 1 + more, None)
            }
            None => {
                let name = memory.topic.clone().unwrap_or_else(|| print::general(&memory.summary).to_owned());
                (self.pieces.len(), Some(name))
            }
        }
    }

    /// Takes an entry out and gives its text; a topic heading that has nothing left under it goes too.
    pub fn remove(&mut self, id: &Id) -> Option<String> {
        let at = self.position(id)?;
        let text = self.pieces.remove(at).text;
        let mut start = at;
        let heading = at.checked_sub(1).filter(|i| {
            let next_is_entry = self.pieces.get(at).is_some_and(Piece::is_entry);
            !next_is_entry
                && self.pieces.get(*i).is_some_and(|p| matches!(&p.what, What::Topic(_)) && lines(&p.text)[1..].iter().all(|l| is_blank(l)))
        });
        if let Some(heading) = heading {
            self.pieces.remove(heading);
            start = heading;
        }
        // At the end of the file the blank line before the entry was its own, as `insert` puts it.
        let before = start.checked_sub(1).filter(|_| start == self.pieces.len()).and_then(|i| self.pieces.get_mut(i));
        if let Some(before) = before
            && !lines(&text).last().is_some_and(|l| is_blank(l))
            && let Some(blank) = lines(&before.text).last().filter(|l| is_blank(l)).map(|l| l.len())
        {
            before.text.truncate(before.text.len() - blank);
            if !text.ends_with('\n') {
                before.text.truncate(bare(&before.text).len());
            }
        }
        Some(text)
    }

    /// Lets the entry with the id of `memory` say `memory`. Only the lines that change are touched; a new topic moves it.
    /// `Ok(false)` if it already says so, or is not here.
    ///
    /// # Errors
    /// A sentence, if the entry cannot be changed safely; nothing is changed then.
    pub fn replace(&mut self, memory: &Memory) -> Result<bool, String> {
        let new = tidy(memory);
        let Some(at) = self.position(&new.id) else { return Ok(false) };
        self.replace_at(at, new)
    }

    fn replace_at(&mut self, at: usize, new: Memory) -> Result<bool, String> {
        let nl = self.newline;
        let layer = self.layer;
        let Some(piece) = self.pieces.get_mut(at) else { return Ok(false) };
        let Some(entry) = piece.entry(layer) else { return Ok(false) };
        let old = tidy(&entry.memory);
        let new = Memory { layer: old.layer, ..new };
        if old == new && entry.id.as_ref() == Some(&new.id) {
            return Ok(false);
        }
        let edited = edit::edit(&piece.text, &old, &new, nl)?;
        let moves = old.topic != new.topic;
        *piece = Piece::new(piece.what.clone(), edited);
        if moves && let Some(text) = self.remove(&new.id) {
            self.insert_text(&text, &new);
        }
        Ok(true)
    }

    /// Gives an id (and `created`) to each entry typed by hand, and to each whose id is already in `taken` (a copied entry).
    /// Unreadable entries stay as they are. Adds all ids of this file to `taken`; returns the new ones.
    ///
    /// # Errors
    /// Only if `new_id` fails.
    pub fn adopt(
        &mut self,
        taken: &mut BTreeSet<Id>,
        new_id: &mut dyn FnMut() -> crate::error::Result<Id>,
        created: &str,
    ) -> crate::error::Result<Vec<Id>> {
        let mut adopted = Vec::new();
        for at in 0..self.pieces.len() {
            let Some(entry) = self.pieces.get(at).and_then(|p| p.entry(self.layer)) else { continue };
            if !entry.readable || entry.id.as_ref().is_some_and(|id| taken.insert(id.clone())) {
                continue;
            }
            let mut memory = tidy(&entry.memory);
            memory.id = new_id()?;
            while !taken.insert(memory.id.clone()) {
                memory.id = new_id()?;
            }
            if memory.created.is_none() {
                memory.created = Some(created.to_owned());
            }
            let id = memory.id.clone();
            // An entry that cannot be changed stays without an id; `verify` names it.
            if self.replace_at(at, memory).is_ok_and(|changed| changed) {
                adopted.push(id);
            }
        }
        Ok(adopted)
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// A byte order mark, if there is one, and the rest.
fn bom(text: &str) -> (&'static str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest))
}

/// A text cut before each heading of level 1 to 3.
fn split(text: &str) -> Vec<(What, &str)> {
    let lines = lines(text);
    let mut pieces = Vec::new();
    let mut unclosed = Unclosed::default();
    let (mut topic, mut what): (Option<Arc<str>>, What) = (None, What::Prose);
    let (mut start, mut offset, mut skip_to) = (0, 0, 0);
    for (at, line) in lines.iter().enumerate() {
        if at >= skip_to && may_open(line) {
            if let Some(end) = block_end(&lines, at, &mut unclosed) {
                skip_to = end + 1;
            } else if let Some((level, name)) = heading(line).filter(|(level, _)| *level <= 3) {
                if start < offset {
                    pieces.push((what, &text[start..offset]));
                }
                start = offset;
                what = match level {
                    1 => {
                        topic = None;
                        What::Prose
                    }
                    2 => {
                        let name: Arc<str> = name.into();
                        topic = Some(name.clone()).filter(|t| !t.is_empty() && !print::is_general(t));
                        What::Topic(name)
                    }
                    _ => What::Entry(topic.clone()),
                };
            }
        }
        offset += line.len();
    }
    if start < text.len() {
        pieces.push((what, &text[start..]));
    }
    pieces
}
