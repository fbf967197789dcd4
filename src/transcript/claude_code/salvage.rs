//! Lines that are not one clean record: records glued together, cut and spliced, half surrogates, bytes that are no
//! UTF-8. Slow path only; what can be read is given, the rest is one problem.

use super::record::{Record, SPOKEN};

/// Why a line is not clean.
#[derive(Debug, PartialEq, Eq)]
pub struct Damage {
    pub code: &'static str,
    pub detail: String,
}

/// How a record begins in the middle of a line whose first record was cut.
const BEGINNINGS: &[&str] = &["{\"type\":", "{\"type\" :", "{\"parentUuid\":", "{\"uuid\":", "{\"sessionId\":"];

/// Gives every record that can be read from the line, in order. Says what was wrong if something was lost or mended.
pub fn records(line: &[u8], give: &mut dyn FnMut(&Record<'_>)) -> Option<Damage> {
    let text = String::from_utf8_lossy(line);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    let mended = mend_surrogates(&text);
    let mut rest: &str = mended.as_deref().unwrap_or(&text);
    let (mut given, mut first_error, mut searching) = (0, None, false);
    loop {
        let (used, error) = stream(rest, searching, &mut given, give);
        let Some(error) = error else { break };
        first_error.get_or_insert(error);
        searching = true;
        // The next record may begin anywhere behind the place where this one began.
        let from = used + rest.get(used..).and_then(|r| r.chars().next()).map_or(1, char::len_utf8);
        let next = rest.get(from..).and_then(|r| BEGINNINGS.iter().filter_map(|b| r.find(b)).min());
        match next.and_then(|at| rest.get(from + at..)) {
            Some(tail) => rest = tail,
            None => break,
        }
    }
    match first_error {
        Some(error) if given == 0 => Some(Damage { code: error.0, detail: error.1 }),
        Some(_) => Some(Damage { code: "spliced", detail: "part of this line is broken; the whole records in it were read".to_owned() }),
        None if lossy => Some(Damage { code: "bad_utf8", detail: "this line has bytes that are no UTF-8; they were replaced".to_owned() }),
        None if mended.is_some() => Some(Damage { code: "bad_escape", detail: "half a character was replaced".to_owned() }),
        None if given > 1 => Some(Damage { code: "glued", detail: format!("{given} records stand on one line; all were read") }),
        None => None,
    }
}

/// Reads values one after another. `strict`: only what is surely a record of its own, since nested objects look alike.
/// Gives where the first unreadable one begins.
fn stream(text: &str, strict: bool, given: &mut usize, give: &mut dyn FnMut(&Record<'_>)) -> (usize, Option<(&'static str, String)>) {
    let mut used = 0;
    loop {
        let rest = text.get(used..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0').len();
        used += blank;
        let rest = text.get(used..).unwrap_or_default();
        if rest.is_empty() {
            return (used, None);
        }
        if !rest.starts_with('{') {
            let detail = match serde_json::from_str::<serde::de::IgnoredAny>(rest) {
                Ok(_) => ("not_a_record", "this line is JSON but no record".to_owned()),
                Err(_) => ("bad_json", "this line is not JSON".to_owned()),
            };
            return (used, Some(detail));
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Record<'_>>();
        match values.next() {
            Some(Ok(record)) => {
                let whole = !strict || (record.kind.get().is_some_and(|k| SPOKEN.contains(&k)) && record.session_id.get().is_some());
                if whole {
                    give(&record);
                    *given += 1;
                }
                used += values.byte_offset();
            }
            Some(Err(error)) => return (used, Some(("bad_json", format!("this line is not whole JSON: {error}")))),
            None => return (used, None),
        }
    }
}

/// Replaces escapes of half a surrogate pair, which no JSON reader accepts. Nothing if there are none.
fn mend_surrogates(text: &str) -> Option<String> {
    if !text.contains("\\u") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let (mut at, mut mended) = (0, false);
    while let Some(found) = text.get(at..).and_then(|r| r.find('\\')) {
        let slash = at + found;
        out.push_str(text.get(at..slash).unwrap_or_default());
        let unit = escape(text, slash);
        let pair = unit.filter(|u| is_high(*u)).and_then(|_| escape(text, slash + 6)).filter(|u| is_low(*u));
        let length = match (unit, pair) {
            (Some(_), Some(_)) => 12,
            (Some(u), None) if is_high(u) || is_low(u) => {
                out.push_str("\\ufffd");
                mended = true;
                at = slash + 6;
                continue;
            }
            (Some(_), None) => 6,
            // Another escape: the backslash and the character it protects.
            (None, _) => 1 + text.get(slash + 1..).and_then(|r| r.chars().next()).map_or(0, char::len_utf8),
        };
        out.push_str(text.get(slash..slash + length).unwrap_or_default());
        at = slash + length;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    mended.then_some(out)
}

/// The UTF-16 unit of a `\uXXXX` escape that begins at this byte.
fn escape(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_pairs_are_replaced_and_whole_ones_stay() {
        assert_eq!(mend_surrogates(r"a \ud83d\ude80 b"), None);
        assert_eq!(mend_surrogates(r"a \ud83d b \udcb2").as_deref(), Some(r"a \ufffd b \ufffd"));
        assert_eq!(mend_surrogates(r"path \\ud83d stays"), None);
        assert_eq!(mend_surrogates(r"\ud83d\ud83d\ude80").as_deref(), Some(r"\ufffd\ud83d\ude80"));
        assert_eq!(mend_surrogates("\\ud8"), None);
        assert_eq!(mend_surrogates("\\"), None);
    }

    #[test]
    fn a_nested_object_of_a_broken_line_is_no_record() {
        let line = br#"{"type":"progress","data":{"x":[REDACTED],"message":{"type":"user","message":{"content":"use sudo"},"uuid":"u"}}}"#;
        let mut given = 0;
        let damage = records(line, &mut |_| given += 1);
        assert_eq!((given, damage.map(|d| d.code)), (0, Some("bad_json")));
    }
}
