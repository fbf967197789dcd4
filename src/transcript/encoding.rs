//! How the bytes of a file spell letters: UTF-8 nearly always; UTF-16 from PowerShell, GBK and Windows code pages from
//! old editors are found and decoded as a stream.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::Input;

/// What the first bytes say.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// UTF-8, perhaps behind a byte order mark of this many bytes.
    Utf8(usize),
    /// Another encoding, to be decoded.
    Other(&'static Encoding),
    /// No text; what it seems to be.
    Binary(&'static str),
}

/// Beginnings of files that people take for transcripts, and what they are.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"%PDF-", "a PDF"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\x7fELF", "a program"),
];

/// Judges the beginning of a file; `whole`: there is no more of it.
pub fn of(head: &[u8], whole: bool) -> Found {
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Found::Binary(what);
    }
    if let Some((encoding, length)) = Encoding::for_bom(head) {
        return if encoding == UTF_8 { Found::Utf8(length) } else { Found::Other(encoding) };
    }
    if let Some(encoding) = unmarked_utf16(head) {
        return Found::Other(encoding);
    }
    let (valid, invalid) = multibyte(head, whole);
    // JSON is UTF-8 by definition: a few bad bytes are damage, not another encoding.
    let json = head.trim_ascii_start().starts_with(b"{");
    if invalid == 0 || valid >= invalid * 2 || (json && invalid <= 3) {
        return Found::Utf8(0);
    }
    let strange = head.iter().filter(|b| b.is_ascii_control() && !matches!(b, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b)).count();
    if strange * 50 > head.len() {
        return Found::Binary("binary data");
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(head, whole);
    Found::Other(detector.guess(None, chardetng::Utf8Detection::Deny))
}

/// UTF-16 without a mark: every second byte of Latin text is zero.
fn unmarked_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let mostly = |many: usize, few: usize| pairs >= 8 && many * 10 >= pairs * 4 && few * 20 <= pairs;
    if mostly(odd, even) {
        Some(UTF_16LE)
    } else if mostly(even, odd) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Letters beyond ASCII that are valid UTF-8, and sequences that are not.
fn multibyte(head: &[u8], whole: bool) -> (usize, usize) {
    let (mut valid, mut invalid) = (0, 0);
    let mut chunks = head.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        // The head may end in the middle of a letter.
        let cut = !whole && chunks.peek().is_none();
        invalid += usize::from(!chunk.invalid().is_empty() && !cut);
    }
    (valid, invalid)
}

/// The text of a head for telling formats apart: decoded, without a byte order mark.
pub fn text(head: &[u8], found: &Found) -> String {
    match found {
        Found::Utf8(bom) => String::from_utf8_lossy(head.get(*bom..).unwrap_or_default()).trim_end_matches('\u{fffd}').to_owned(),
        Found::Other(encoding) => encoding.decode(head).0.into_owned(),
        Found::Binary(_) => String::new(),
    }
}

/// A stream decoded to UTF-8 on the way.
pub struct Decoding<R> {
    inner: R,
    decoder: Decoder,
    raw: Vec<u8>,
    decoded: Vec<u8>,
    given: usize,
    finished: bool,
}

impl<R: Read> Decoding<R> {
    /// Decodes from the beginning of `inner`; a byte order mark is removed.
    pub fn new(inner: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { inner, decoder, raw: Vec::new(), decoded: Vec::new(), given: 0, finished: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 8192];
        let length = self.inner.read(&mut chunk)?;
        self.finished = length == 0;
        self.raw.extend_from_slice(chunk.get(..length).unwrap_or_default());
        let room = self.decoder.max_utf8_buffer_length(self.raw.len()).unwrap_or(self.raw.len() * 4 + 16);
        self.decoded.resize(room, 0);
        let (_, used, written, _) = self.decoder.decode_to_utf8(&self.raw, &mut self.decoded, self.finished);
        self.raw.drain(..used);
        self.decoded.truncate(written);
        self.given = 0;
        Ok(())
    }
}

impl<R: Read> Read for Decoding<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.given >= self.decoded.len() && !self.finished {
            self.refill()?;
        }
        let ready = self.decoded.get(self.given..).unwrap_or_default();
        let length = ready.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..length), ready.get(..length)) {
            to.copy_from_slice(from);
        }
        self.given += length;
        Ok(length)
    }
}

/// A stream that only goes forward, in the shape of an [`Input`]: asking for the position works, going elsewhere fails.
pub struct Forward<R> {
    inner: BufReader<R>,
    position: u64,
}

impl<R: Read> Forward<R> {
    /// A stream that stands at 0.
    pub fn new(inner: R) -> Self {
        Self { inner: BufReader::with_capacity(1 << 16, inner), position: 0 }
    }
}

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buf)?;
        self.position += length as u64;
        Ok(length)
    }
}

impl<R: Read> BufRead for Forward<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.position += amount as u64;
    }
}

impl<R> Seek for Forward<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) => Ok(self.position),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "this stream only goes forward")),
        }
    }
}

/// Up to `limit` first bytes, with the input back where it was.
///
/// # Errors
/// Those of the input.
pub fn peek(input: &mut dyn Input, limit: u64) -> io::Result<Vec<u8>> {
    let start = input.stream_position()?;
    let mut head = Vec::new();
    (&mut *input).take(limit).read_to_end(&mut head)?;
    input.seek(SeekFrom::Start(start))?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, &'static str) {
        match of(bytes, true) {
            Found::Utf8(bom) => (String::from_utf8_lossy(&bytes[bom..]).into_owned(), "UTF-8"),
            Found::Other(encoding) => {
                let mut out = String::new();
                Decoding::new(bytes, encoding).read_to_string(&mut out).unwrap();
                (out, encoding.name())
            }
            Found::Binary(_) => (String::new(), "binary"),
        }
    }

    #[test]
    fn encodings_are_found_and_decoded() {
        let text = "用户：我们决定用制表符缩进，接口要加幂等校验。\n助手：好的，已经记下来了。\n".repeat(40);
        assert_eq!(decoded(text.as_bytes()), (text.clone(), "UTF-8"));
        assert_eq!(decoded(&encoding_rs::GBK.encode(&text).0), (text.clone(), "GBK"));
        let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decoded(&utf16), (text, "UTF-16LE"));
        let latin = "User: hello there, plain words\n";
        let unmarked: Vec<u8> = latin.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(&unmarked), (latin.to_owned(), "UTF-16BE"));
        assert_eq!(decoded(b"\x1f\x8b\x08\0").1, "binary");
        assert_eq!(decoded(b"{\"a\":\"b\xff\"}").1, "UTF-8");
    }
}
