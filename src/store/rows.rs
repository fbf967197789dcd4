//! A map of the catalogue as it stands in `index.json`: a line of JSON for each value, which is read when somebody asks for it.
//! A commit changes a few rows of thousands; the others are written back as they are.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by key, in the order of the keys.
#[derive(Clone)]
pub struct Rows<V> {
    /// What the lines are pieces of.
    text: Arc<str>,
    lines: Vec<Line<V>>,
    /// What was written since, or taken out (`None`); it goes before the lines.
    changed: BTreeMap<String, Option<V>>,
}

#[derive(Clone)]
struct Line<V> {
    key: Range<usize>,
    value: Range<usize>,
    read: OnceLock<Option<Box<V>>>,
}

/// One value of either kind.
enum Row<'a, V> {
    Line(&'a Line<V>),
    Changed(&'a V),
}

impl<V: Clone + DeserializeOwned> Rows<V> {
    /// The rows of a section of a file that is known to be as it was written: `\n"key": value` for each, a comma between. `None` if
    /// it is no such section.
    pub(super) fn of_lines(text: &Arc<str>, section: Range<usize>) -> Option<Self> {
        let mut rows = Self { text: Arc::clone(text), ..Self::default() };
        let mut at = section.start;
        for line in text.get(section)?.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let line = line.trim_end_matches('\n').trim_end_matches(',');
            if line.is_empty() {
                continue;
            }
            let end = line.strip_prefix('"')?.find('"')? + 1;
            let key = begin + 1..begin + end;
            let value = begin + end + "\": ".len()..begin + line.len();
            if line.get(1..end)?.contains('\\') {
                let (key, value) = serde_json::from_str::<BTreeMap<String, V>>(&format!("{{{line}}}")).ok()?.pop_first()?;
                rows.changed.insert(key, Some(value));
            } else if line.get(end..)?.starts_with("\": ")
                && rows.lines.last().is_none_or(|last| text[last.key.clone()] < text[key.clone()])
            {
                rows.lines.push(Line { key, value, read: OnceLock::new() });
            } else {
                return None;
            }
        }
        Some(rows)
    }

    fn line(&self, key: &str) -> Option<&Line<V>> {
        let at = self.lines.binary_search_by(|line| self.text[line.key.clone()].cmp(key)).ok()?;
        self.lines.get(at)
    }

    fn read<'a>(&'a self, line: &'a Line<V>) -> Option<&'a V> {
        // It was written by us and has not changed since, or there would be no lines: so it can be read.
        let read = || serde_json::from_str(&self.text[line.value.clone()]).ok().map(Box::new);
        line.read.get_or_init(read).as_deref()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.read(self.line(key)?),
        }
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        if !self.changed.contains_key(key) {
            let value = self.get(key)?.clone();
            self.changed.insert(key.to_owned(), Some(value));
        }
        self.changed.get_mut(key)?.as_mut()
    }

    /// Whether there is a value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.changed.get(key).map_or_else(|| self.line(key).is_some(), Option::is_some)
    }

    /// Sets a value; gives the one that was there.
    pub fn insert(&mut self, key: String, value: V) -> Option<V> {
        let old = self.remove(&key);
        self.changed.insert(key, Some(value));
        old
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let there = self.line(key).is_some();
        match self.changed.get_mut(key) {
            Some(changed) => changed.take(),
            None if there => {
                let old = self.get(key).cloned();
                self.changed.insert(key.to_owned(), None);
                old
            }
            None => None,
        }
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows().map(|(key, _)| key)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }

    /// All of them, sorted by key. This reads every line.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.such(|_| true)
    }

    /// The values, sorted by key. This reads every line.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Those of which the JSON is `such`, and all that were changed since; the others are not read.
    pub fn such(&self, such: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &V)> {
        self.rows().filter_map(move |(key, row)| match row {
            Row::Line(line) if !such(&self.text[line.value.clone()]) => None,
            Row::Line(line) => Some((key, self.read(line)?)),
            Row::Changed(value) => Some((key, value)),
        })
    }
}

impl<V> Rows<V> {
    fn rows(&self) -> Merged<'_, V> {
        Merged { text: &self.text, lines: self.lines.iter().peekable(), changed: self.changed.iter().peekable() }
    }
}

impl<V: Serialize> Rows<V> {
    /// Writes them as [`Rows::of_lines`] reads them.
    pub(super) fn write(&self, out: &mut String) -> serde_json::Result<()> {
        for (n, (key, row)) in self.rows().enumerate() {
            out.push_str(if n == 0 { "\n" } else { ",\n" });
            match row {
                Row::Line(line) => out.push_str(&self.text[line.key.start - 1..line.value.end]),
                Row::Changed(value) => out.extend([&serde_json::to_string(key)?, ": ", &serde_json::to_string(value)?]),
            }
        }
        Ok(())
    }
}

/// Lines and changes as one list.
struct Merged<'a, V> {
    text: &'a str,
    lines: Peekable<std::slice::Iter<'a, Line<V>>>,
    changed: Peekable<btree_map::Iter<'a, String, Option<V>>>,
}

impl<'a, V> Iterator for Merged<'a, V> {
    type Item = (&'a str, Row<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.lines.peek().map(|line| &self.text[line.key.clone()]);
            let Some(changed) = self.changed.next_if(|(key, _)| line.is_none_or(|line| key.as_str() <= line)) else {
                return Some((line?, Row::Line(self.lines.next()?)));
            };
            if line == Some(changed.0) {
                self.lines.next();
            }
            if let Some(value) = changed.1 {
                return Some((changed.0, Row::Changed(value)));
            }
        }
    }
}

impl<V> Default for Rows<V> {
    fn default() -> Self {
        Self { text: Arc::from(""), lines: Vec::new(), changed: BTreeMap::new() }
    }
}

impl<V: Clone + DeserializeOwned + fmt::Debug> fmt::Debug for Rows<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V: Clone + DeserializeOwned + PartialEq> PartialEq for Rows<V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<V> FromIterator<(String, V)> for Rows<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(items: I) -> Self {
        Self { changed: items.into_iter().map(|(key, value)| (key, Some(value))).collect(), ..Self::default() }
    }
}

impl<V: Clone + DeserializeOwned + Serialize> Serialize for Rows<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Rows<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::<String, V>::deserialize(deserializer).map(|map| map.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_a_map(
            first in proptest::collection::btree_map("[a-c\"\\\\é]{0,2}", 0u8.., 0..6),
            steps in proptest::collection::vec(("[a-c\"\\\\é]{0,2}", proptest::option::of(0u8..)), 0..8),
        ) {
            let mut plain = first;
            let mut rows: Rows<u8> = plain.clone().into_iter().collect();
            for (key, value) in steps {
                let mut text = String::new();
                rows.write(&mut text).unwrap();
                let text: Arc<str> = text.into();
                rows = Rows::of_lines(&text, 0..text.len()).unwrap();
                match value {
                    Some(value) => prop_assert_eq!(rows.insert(key.clone(), value), plain.insert(key.clone(), value)),
                    None => prop_assert_eq!(rows.remove(&key), plain.remove(&key)),
                }
                prop_assert_eq!(rows.get(&key), plain.get(&key));
                prop_assert_eq!(rows.contains_key("a"), plain.contains_key("a"));
                if let (Some(row), Some(value)) = (rows.get_mut("b"), plain.get_mut("b")) {
                    (*row, *value) = (7, 7);
                }
                prop_assert_eq!(rows.len(), plain.len());
                prop_assert!(rows.iter().eq(plain.iter().map(|(key, value)| (key.as_str(), value))));
            }
        }
    }
}
