//! A buffer for one record that stays small: when a record grows beyond a limit, its long strings (pictures, tool
//! output, documents) are shortened on the way in, so that it stays whole JSON and the words in it are kept.

/// Most bytes held of one record.
pub const LONGEST: usize = 16 << 20;

/// Bytes kept of one string in a record that is too long.
const STRING: usize = 64 << 10;

/// The bytes of one record.
#[derive(Debug, Default)]
pub struct Held {
    /// What is held.
    pub bytes: Vec<u8>,
    squeeze: Option<Squeeze>,
    /// Whether even the shortened record was too long: then nothing is held.
    pub too_long: bool,
}

impl Held {
    /// Begins a new record; gives memory back after a large one.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > LONGEST / 4 {
            self.bytes.shrink_to(1 << 16);
        }
        (self.squeeze, self.too_long) = (None, false);
    }

    /// Whether strings were shortened.
    pub fn is_shortened(&self) -> bool {
        self.squeeze.is_some()
    }

    /// Adds the next bytes of the record.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.squeeze {
            _ if self.too_long => {}
            None => {
                self.bytes.extend_from_slice(bytes);
                if self.bytes.len() >= LONGEST {
                    self.shorten();
                }
            }
            Some(squeeze) => squeeze.feed(bytes, &mut self.bytes),
        }
        if self.bytes.len() > LONGEST {
            self.too_long = true;
            self.bytes = Vec::new();
        }
    }

    /// Shortens what is held so far, and everything that follows.
    pub fn shorten(&mut self) {
        let mut squeeze = Squeeze::default();
        let mut shorter = Vec::new();
        squeeze.feed(&self.bytes, &mut shorter);
        self.bytes = shorter;
        self.squeeze = Some(squeeze);
    }
}

/// Where in the JSON we are: only strings and their escapes matter.
#[derive(Debug, Default)]
struct Squeeze {
    string: bool,
    /// Bytes of the string kept so far.
    kept: usize,
    /// Bytes of an escape still to come.
    escape: u8,
    dropping: bool,
}

impl Squeeze {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &b in bytes {
            if !self.string {
                (self.string, self.kept, self.dropping) = (b == b'"', 0, false);
                out.push(b);
                continue;
            }
            // A string is cut between two letters, never inside an escape.
            self.dropping |= self.escape == 0 && self.kept >= STRING && b & 0xc0 != 0x80;
            let closes = self.escape == 0 && b == b'"';
            self.escape = match (self.escape, b) {
                (0, b'\\') => 1,
                (0, _) => 0,
                // The letter behind the backslash: `u` brings four digits.
                (1, b'u') => 5,
                (1, _) => 0,
                // Digits count down to 2, never to 1, which stands for the letter.
                (2, _) => 0,
                (n, _) => n - 1,
            };
            if closes || !self.dropping {
                out.push(b);
                self.kept += 1;
            }
            self.string = !closes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_and_the_record_stays_json() {
        for piece in ["x", "é", "茶", "\\n", "\\u8336", "\\\"", "\\\\"] {
            let json = format!("{{\"a\":\"{}\",\"b\":[1,\"short \\\" one\"]}}", piece.repeat(STRING));
            let mut squeeze = Squeeze::default();
            let mut out = Vec::new();
            json.as_bytes().chunks(7).for_each(|chunk| squeeze.feed(chunk, &mut out));
            let value: serde_json::Value = serde_json::from_slice(&out).expect(piece);
            assert_eq!(value["b"][1], "short \" one");
            assert!(out.len() < STRING + 100, "{piece}: {}", out.len());
        }
    }

    #[test]
    fn a_record_of_many_short_strings_is_given_up() {
        let mut held = Held::default();
        for _ in 0..40 {
            held.push(&b"[\"short\"],".repeat(1 << 16));
        }
        assert!(held.too_long && held.bytes.is_empty());
        held.clear();
        held.push(b"{}");
        assert_eq!((held.bytes.as_slice(), held.too_long, held.is_shortened()), (b"{}".as_slice(), false, false));
    }
}
