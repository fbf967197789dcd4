//! The YAML block of an entry: known keys with their values as text. Whatever else stands there is not ours.
//!
//! Blocks as we write them are read line by line, which is some twenty times faster than a YAML parser; everything
//! else goes to the parser. Both readings agree (property test below). Values stay strings, so `no` and `012` mean themselves.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Keys with one value, in the order in which they are written.
pub(super) const SCALARS: &[&str] = &[
    "id",
    "kind",
    "validity",
    "until",
    "lapses_when",
    "scope",
    "source",
    "created",
    "state",
    "branch",
    "confidence",
    "origin",
    "pinned",
    "reason",
    "rejected",
    "how_to_apply",
];

/// Keys with a list; a single value is read as a list of one.
pub(super) const LISTS: &[&str] =
    &["keywords", "supersedes", "superseded_by", "conflicts_with", "depends_on", "refines", "completes", "duplicate_of"];

/// What a block says: known keys in their order; a key without a value is not here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(&'static str, Vec<String>)>);

impl Fields {
    /// The value of a key with one value.
    pub(super) fn one(&self, key: &str) -> Option<&str> {
        self.many(key).first().map(String::as_str).filter(|v| !v.is_empty())
    }

    /// The values of a key with a list.
    pub(super) fn many(&self, key: &str) -> &[String] {
        self.0.iter().find(|(k, _)| *k == key).map_or(&[], |(_, v)| v)
    }
}

/// A known key, and whether it has a list.
fn known(key: &str) -> Option<(&'static str, bool)> {
    let among = |keys: &[&'static str]| keys.iter().find(|k| **k == key).copied();
    among(SCALARS).map(|k| (k, false)).or_else(|| among(LISTS).map(|k| (k, true)))
}

/// Reads a block. `Err` has the 1-based line inside the block and a sentence.
pub(super) fn read(block: &str) -> Result<Fields, (u64, String)> {
    match read_plain(block) {
        Some(fields) => Ok(fields),
        None => read_any(block),
    }
}

/// The block by the YAML parser.
fn read_any(block: &str) -> Result<Fields, (u64, String)> {
    let options = serde_saphyr::options! { leading_zero_numbers_as_strings: true, underscored_numbers_as_strings: true };
    serde_saphyr::from_str_with_options(&bracketed(block), options).map_err(|e| {
        let line = e.location().map_or(1, |l| l.line());
        let text = e.without_snippet().to_string();
        (line, text.lines().next().unwrap_or_default().to_owned())
    })
}

/// The block with `key: word` as `key: [word]` where a list is meant: only inside a list does the parser keep `no` a word.
fn bracketed(block: &str) -> String {
    let line = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        let value = value.trim();
        let single = LISTS.contains(&key) && scalar(value)?.is_some() && !value.contains([',', '[', ']', '{', '}']);
        single.then(|| format!("{key}: [{value}]\n"))
    };
    block.split_inclusive('\n').map(|l| line(l).unwrap_or_else(|| l.to_owned())).collect()
}

/// The block line by line, or `None` if anything in it is more than a plain or simply quoted value.
fn read_plain(block: &str) -> Option<Fields> {
    let mut fields = Fields::default();
    for line in block.lines() {
        let line = line.trim_end_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once(':')?;
        if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            return None;
        }
        let values = if value.is_empty() {
            Vec::new()
        } else {
            let value = value.strip_prefix(' ')?.trim_start_matches(' ');
            match value.strip_prefix('[') {
                Some(items) => list(items.strip_suffix(']')?)?,
                None => scalar(value)?.into_iter().collect(),
            }
        };
        // Unknown keys take the slow way: two of the same name would be an error there.
        let (key, has_list) = known(key)?;
        if fields.0.iter().any(|(k, _)| *k == key) || (!has_list && value.trim_start().starts_with('[')) {
            return None;
        }
        fields.0.push((key, values));
    }
    fields.0.retain(|(_, v)| !v.is_empty());
    Some(fields)
}

fn list(items: &str) -> Option<Vec<String>> {
    if items.trim_matches(' ').is_empty() {
        return Some(Vec::new());
    }
    items.split(',').map(|item| scalar(item.trim_matches(' ')).filter(|_| !item.contains(['[', ']', '{', '}']))?).collect()
}

/// A plain or simply quoted value; the inner `None` is YAML's null.
#[expect(clippy::option_option, reason = "outer: readable here; inner: null")]
fn scalar(value: &str) -> Option<Option<String>> {
    if let Some(inner) = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        return (!inner.bytes().any(|b| matches!(b, b'"' | b'\\')) && !is_odd(inner)).then(|| Some(inner.to_owned()));
    }
    let first = value.chars().next()?;
    let simple = (first.is_alphanumeric() || matches!(first, '/' | '_' | '(' | '$')) && !value.ends_with(':') && !is_odd(value);
    let marked = || value.as_bytes().windows(2).any(|pair| matches!(pair, b": " | b" #"));
    (simple && !marked()).then(|| (!matches!(value, "null" | "Null" | "NULL")).then(|| value.to_owned()))
}

/// Whether a text has a control character, a line end of Unicode or a byte order mark. Byte by byte, for it decides how fast
/// thousands of entries are read.
fn is_odd(text: &str) -> bool {
    let (mut third, mut second) = (0, 0);
    text.bytes().any(|b| {
        let odd =
            matches!((third, second, b), (_, _, 0..=0x1f | 0x7f) | (_, 0xc2, 0x80..=0x9f) | (0xe2, 0x80, 0xa8 | 0xa9) | (0xef, 0xbb, 0xbf));
        (third, second) = (second, b);
        odd
    })
}

/// A value as YAML: plain where every YAML reader takes it as this string, else in double quotes.
pub(super) fn quoted(value: &str, in_list: bool) -> String {
    let number = value.starts_with(|c: char| c.is_ascii_digit())
        && value.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'e' | b'E' | b'+' | b'x' | b'o' | b':'));
    let word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].iter().any(|w| value.eq_ignore_ascii_case(w));
    let listed = in_list && value.contains([',', '[', ']', '{', '}']);
    let plain = scalar(value).is_some_and(|v| v.as_deref() == Some(value));
    if plain && !value.starts_with('"') && !number && !word && !listed && value.trim() == value {
        return value.to_owned();
    }
    // JSON's strings are YAML's double-quoted ones.
    serde_json::Value::from(value).to_string()
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Block;
        impl<'de> Visitor<'de> for Block {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some(key) = map.next_key::<String>()? {
                    match known(&key) {
                        None => drop(map.next_value::<IgnoredAny>()?),
                        Some((key, false)) => {
                            let value = map.next_value::<Option<String>>()?;
                            fields.0.extend(value.map(|v| (key, vec![v])));
                        }
                        Some((key, true)) => {
                            let values = map.next_value::<Texts>()?.0;
                            fields.0.extend((!values.is_empty()).then_some((key, values)));
                        }
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Block)
    }
}

/// A list of strings, or one.
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Many;
        impl<'de> Visitor<'de> for Many {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of words")
            }
            fn visit_unit<E>(self) -> Result<Texts, E> {
                Ok(Texts(Vec::new()))
            }
            fn visit_bool<E>(self, v: bool) -> Result<Texts, E> {
                Ok(Texts(vec![v.to_string()]))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Texts, E> {
                Ok(Texts(vec![v.to_string()]))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Texts, E> {
                Ok(Texts(vec![v.to_string()]))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Texts, E> {
                Ok(Texts(vec![v.to_string()]))
            }
            fn visit_str<E>(self, v: &str) -> Result<Texts, E> {
                Ok(Texts(vec![v.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element::<Option<String>>()? {
                    values.extend(value);
                }
                Ok(Texts(values))
            }
        }
        deserializer.deserialize_any(Many)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_and_numbers_stay_text() {
        let fields = read("id: 0123456789\nkind: no\nkeywords: [012, yes, 1e3, 数据库]\nscope: ~\n").unwrap();
        assert_eq!(fields.one("id"), Some("0123456789"));
        assert_eq!(fields.one("kind"), Some("no"));
        assert_eq!(fields.many("keywords"), ["012", "yes", "1e3", "数据库"]);
        assert_eq!(fields.one("scope"), None);
    }

    #[test]
    fn what_is_no_yaml_is_an_error_with_its_line() {
        let (line, text) = read("id: a\nkeywords: [a, b\n").unwrap_err();
        assert!(line >= 2 && !text.is_empty(), "{line} {text}");
        assert!(read("id: a\nid: b\n").is_err());
    }

    proptest! {
        #[test]
        fn quoting_keeps_the_value(text in "\\PC{0,12}|no|~|null|[0-9]{1,4}|[-:#,\\[\\]{}\"'| a日]{1,8}", more in "\\PC{1,6}") {
            let block = format!("reason: {}\nkeywords: [{}, {}]\n", quoted(&text, false), quoted(&text, true), quoted(&more, true));
            let any = read_any(&block);
            let fields = any.as_ref().map_err(|e| TestCaseError::fail(format!("{e:?} in {block:?}")))?;
            prop_assert_eq!(fields.many("reason"), [text.clone()]);
            prop_assert_eq!(fields.many("keywords"), [text, more]);
            if let Some(plain) = read_plain(&block) {
                prop_assert_eq!(&plain, fields);
            }
        }

        #[test]
        fn both_readings_agree(value in "[-a-z0-9:#,\\[\\]{}\"'|>&*!%@` ~=.日]{0,9}", key in "(reason|keywords|kind)") {
            let block = format!("{key}: {value}\nid: x\n");
            if let Some(plain) = read_plain(&block) {
                let any = read_any(&block);
                prop_assert_eq!(any.as_ref(), Ok(&plain), "{:?}", block);
            }
        }
    }
}
