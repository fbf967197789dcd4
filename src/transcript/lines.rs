//! Lines of a stream as bytes, one reused buffer. Knows offsets, NUL runs, CRLF; very long lines are shortened.

use std::io::{self, BufRead, Read};

use super::Input;
use super::held::{Held, LONGEST};

/// One line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'b> {
    /// 1-based number.
    pub number: u64,
    /// The bytes without line end, NUL runs and surrounding blanks.
    pub bytes: &'b [u8],
    /// The bytes without line end only: for text, where indentation means something.
    pub raw: &'b [u8],
    /// Whether a line end followed.
    pub ended: bool,
    /// Whether the line was too long to hold and is not given.
    pub too_long: bool,
    /// Whether long strings in it were shortened to hold it.
    pub shortened: bool,
}

/// Reads lines; `offset` is where the next one begins.
pub struct Lines<'i> {
    input: &'i mut dyn Input,
    held: Held,
    number: u64,
    /// Bytes from the start of the file to the end of the last line given.
    pub offset: u64,
}

impl<'i> Lines<'i> {
    /// Lines from where the input stands.
    ///
    /// # Errors
    /// If the position cannot be told.
    pub fn new(input: &'i mut dyn Input) -> io::Result<Self> {
        let offset = input.stream_position()?;
        Ok(Self { input, held: Held::default(), number: 0, offset })
    }

    /// The next line; nothing at the end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.held.clear();
        let mut length = (&mut *self.input).take(LONGEST as u64).read_until(b'\n', &mut self.held.bytes)?;
        if length == 0 {
            return Ok(None);
        }
        let mut ended = self.held.bytes.last() == Some(&b'\n');
        if !ended && length == LONGEST {
            self.held.shorten();
            let rest = self.rest()?;
            length += rest.0;
            ended = rest.1;
        }
        self.number += 1;
        self.offset += length as u64;
        let raw = self.held.bytes.strip_suffix(b"\n").unwrap_or(&self.held.bytes);
        let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        let (too_long, shortened) = (self.held.too_long, self.held.is_shortened());
        Ok(Some(Line { number: self.number, bytes: trim(raw), raw, ended, too_long, shortened }))
    }

    /// Reads the rest of a line that is too long to be held as it is: how many bytes, and whether it ended.
    fn rest(&mut self) -> io::Result<(usize, bool)> {
        let mut read = 0;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok((read, false));
            }
            let end = chunk.iter().position(|b| *b == b'\n');
            let used = end.map_or(chunk.len(), |at| at + 1);
            self.held.push(chunk.get(..used).unwrap_or_default());
            self.input.consume(used);
            read += used;
            if end.is_some() {
                return Ok((read, true));
            }
        }
    }
}

/// Without NUL and ASCII blanks at both ends.
fn trim(bytes: &[u8]) -> &[u8] {
    let noise = |b: &u8| *b == 0 || b.is_ascii_whitespace();
    let start = bytes.iter().position(|b| !noise(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !noise(b)).map_or(start, |at| at + 1);
    bytes.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn nul_and_crlf_are_trimmed_and_offsets_are_those_of_the_file() {
        let mut input = Cursor::new(b"\0\0{a}\r\n\n{b}".to_vec());
        let mut lines = Lines::new(&mut input).unwrap();
        let first = lines.next().unwrap().unwrap();
        assert_eq!((first.number, first.bytes, first.ended), (1, b"{a}".as_slice(), true));
        assert_eq!(lines.offset, 7);
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"");
        let last = lines.next().unwrap().unwrap();
        assert_eq!((last.number, last.bytes, last.ended), (3, b"{b}".as_slice(), false));
        assert_eq!(lines.offset, 11);
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn a_line_too_long_is_shortened_or_read_past() {
        let mut bytes = format!("{{\"a\":\"{}\",\"b\":1}}\n", "x".repeat(LONGEST + 10)).into_bytes();
        bytes.extend(vec![b'x'; LONGEST * 2]);
        bytes.extend_from_slice(b"\nnext\n");
        let mut input = Cursor::new(bytes);
        let mut lines = Lines::new(&mut input).unwrap();
        let shorter = lines.next().unwrap().unwrap();
        assert!(shorter.shortened && shorter.ended && shorter.bytes.ends_with(b"x\",\"b\":1}"));
        let long = lines.next().unwrap().unwrap();
        assert!(long.too_long && long.ended && long.bytes.is_empty());
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"next");
    }
}
