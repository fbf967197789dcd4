//! JSON values of a stream as bytes, one at a time: objects one after another, pretty-printed or not, or the elements
//! of one list at the top. An export of hundreds of MB is thus read one conversation at a time, and one broken
//! conversation does not take the others with it.

use std::io;

use super::Input;
use super::gather::{Problems, unreadable};
use super::held::{Held, LONGEST};
use crate::error::Result;

/// One value of the stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Value<'b> {
    /// Its bytes, from the first bracket or letter to the last.
    pub bytes: &'b [u8],
    /// 1-based line it begins in.
    pub line: u64,
    /// Whether it ended before the input did.
    pub ended: bool,
    /// Whether it was too long to hold and is not given.
    pub too_long: bool,
    /// Whether long strings in it were shortened to hold it.
    pub shortened: bool,
}

/// Reads values; `offset` is behind the last whole one.
pub struct Values<'i> {
    input: &'i mut dyn Input,
    held: Held,
    line: u64,
    position: u64,
    list: bool,
    /// Whether a bracket was met before: only the first one may open the list at the top.
    begun: bool,
    /// Whether each line is one value, as the first one was: then a line end ends a broken value too.
    lines: bool,
    /// Whether the last value was cut: what it began with may be completed later.
    cut: bool,
    /// Bytes from the start of the file to the end of the last whole value.
    pub offset: u64,
}

/// Where in a value the reading stands.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    depth: u32,
    string: bool,
    escape: bool,
    scalar: bool,
}

impl<'i> Values<'i> {
    /// Values from where the input stands.
    ///
    /// # Errors
    /// If the position cannot be told.
    pub fn new(input: &'i mut dyn Input) -> io::Result<Self> {
        let offset = input.stream_position()?;
        Ok(Self { input, held: Held::default(), line: 1, position: offset, list: false, begun: false, lines: false, cut: false, offset })
    }

    /// The next value; nothing at the end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next(&mut self) -> io::Result<Option<Value<'_>>> {
        self.held.clear();
        let mut inside = Inside::default();
        let (mut first_line, mut started) = (self.line, false);
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                let ended = inside.depth == 0 && !inside.string;
                self.cut |= !ended;
                if !self.cut {
                    self.offset = self.position;
                }
                return Ok(started.then(|| self.value(first_line, ended)));
            }
            let (mut used, mut from, mut done) = (0, 0, false);
            for &b in chunk {
                used += 1;
                if b == b'\n' {
                    self.line += 1;
                }
                if !started {
                    from = used;
                    if b == b'[' && !self.begun {
                        (self.list, self.begun) = (true, true);
                        continue;
                    }
                    if b.is_ascii_whitespace() || matches!(b, 0 | b',') || (self.list && b == b']') {
                        continue;
                    }
                    (started, self.begun, first_line, from) = (true, true, self.line, used - 1);
                }
                let ends = inside.step(b);
                // No string goes on over a line end: what was cut there must not swallow what follows.
                if ends || (b == b'\n' && (inside.string || self.lines)) {
                    self.lines |= ends && !self.list && first_line == self.line;
                    done = true;
                    break;
                }
            }
            if started {
                self.held.push(chunk.get(from..used).unwrap_or_default());
            }
            self.input.consume(used);
            self.position += used as u64;
            if done {
                self.offset = self.position;
                return Ok(Some(self.value(first_line, true)));
            }
        }
    }
}

impl Values<'_> {
    /// What is held, as a value.
    fn value(&self, line: u64, ended: bool) -> Value<'_> {
        let (too_long, shortened) = (self.held.too_long, self.held.is_shortened());
        Value { bytes: self.held.bytes.trim_ascii_end(), line, ended, too_long, shortened }
    }
}

/// What to say of a record that was too long.
pub fn long(skipped: bool) -> String {
    let done = if skipped { "was skipped" } else { "was shortened: long strings in it were cut" };
    format!("a record of more than {} MiB {done}", LONGEST >> 20)
}

/// Gives every whole object of a stream to `take`; all that is none, or that `take` cannot read, is a problem. Ends with
/// the offset behind the last whole value.
///
/// # Errors
/// Those of the input.
pub fn each_object(input: &mut dyn Input, problems: &mut Problems, take: &mut dyn FnMut(&[u8]) -> serde_json::Result<()>) -> Result<u64> {
    let mut values = Values::new(input).map_err(|e| unreadable(&e))?;
    while let Some(value) = values.next().map_err(|e| unreadable(&e))? {
        let line = Some(value.line);
        if value.shortened {
            problems.add("long_line", line, long(value.too_long));
        }
        if value.too_long {
            continue;
        }
        if !value.bytes.starts_with(b"{") {
            problems.add("not_a_record", line, "this is no JSON object");
        } else if !value.ended {
            problems.add("cut_line", line, "the last object is cut off");
        } else if let Err(e) = take(value.bytes) {
            problems.add("bad_json", line, format!("this is not whole JSON: {e}"));
        }
    }
    Ok(values.offset)
}

impl Inside {
    /// Takes one byte; says whether the value is complete with it.
    fn step(&mut self, b: u8) -> bool {
        if self.string {
            match b {
                _ if self.escape => self.escape = false,
                b'\\' => self.escape = true,
                b'"' => self.string = false,
                _ => {}
            }
            return !self.string && self.depth == 0;
        }
        if self.scalar {
            return b.is_ascii_whitespace() || b == b',';
        }
        match b {
            b'"' => self.string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ if self.depth == 0 => self.scalar = true,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    fn all(text: &str, capacity: usize) -> Vec<String> {
        let mut input = BufReader::with_capacity(capacity, Cursor::new(text.as_bytes().to_vec()));
        let mut values = Values::new(&mut input).unwrap();
        let mut out = Vec::new();
        while let Some(value) = values.next().unwrap() {
            let mark = if value.ended { "" } else { "…" };
            out.push(format!("{}:{}{mark}", value.line, String::from_utf8_lossy(value.bytes)));
        }
        out
    }

    #[test]
    fn lists_objects_and_scalars_are_split() {
        for capacity in [1, 2, 7, 4096] {
            assert_eq!(all("[{\"a\":\"]}\\\"\"},\n {\"b\":[1,{}]} ]", capacity), ["1:{\"a\":\"]}\\\"\"}", "2:{\"b\":[1,{}]}"]);
            assert_eq!(all("{\n}\n{\"c\":1}", capacity), ["1:{\n}", "3:{\"c\":1}"]);
            assert_eq!(all("42 null \"x\" {", capacity), ["1:42", "1:null", "1:\"x\"", "1:{…"]);
            assert_eq!(
                all("{\"a\":1}\n{\"b\":\n{\"c\":\"x\n{\"d\":2}", capacity),
                ["1:{\"a\":1}", "2:{\"b\":", "3:{\"c\":\"x", "4:{\"d\":2}"]
            );
            assert_eq!(all("  ", capacity), Vec::<String>::new());
        }
    }
}
