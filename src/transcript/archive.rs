//! ZIP archives, as claude.ai and ChatGPT export them: every file inside that is a transcript is read as a stream.

use std::io::{Cursor as Bytes, Read};

use zip::ZipArchive;

use super::encoding::{self, Forward, Found};
use super::{HEAD, Input, ReadOptions, Reading, format_of, nothing};
use crate::error::Result;
use crate::model::{Conversation, Cursor};

/// How a ZIP file begins.
pub const MAGIC: &[u8] = b"PK\x03\x04";

/// Names worth looking into; the other files of an export are about the account, or media.
const ENDINGS: &[&str] = &[".json", ".jsonl", ".md", ".txt"];

/// Reads every transcript inside, in the order of their names.
///
/// # Errors
/// If the archive is broken or holds no transcript.
pub fn read(input: &mut dyn Input, options: &ReadOptions, out: &mut dyn FnMut(Conversation)) -> Result<Reading> {
    let broken = |e: zip::result::ZipError| nothing(format!("the archive cannot be read: {e}"), "unpack it and give the files inside");
    let mut archive = ZipArchive::new(input).map_err(broken)?;
    let mut names: Vec<(String, usize)> = (0..archive.len())
        .filter_map(|at| Some((archive.name_for_index(at)?.ok()?.into_owned(), at)))
        .filter(|(name, _)| ENDINGS.iter().any(|e| name.ends_with(e)) && !name.contains("__MACOSX"))
        .collect();
    names.sort();
    let mut total = Reading::default();
    for (name, at) in names {
        let mut entry = archive.by_index(at).map_err(broken)?;
        let mut head = Vec::new();
        (&mut entry).take(HEAD).read_to_end(&mut head).map_err(|e| super::gather::unreadable(&e))?;
        let found = encoding::of(&head, (head.len() as u64) < HEAD);
        let Found::Utf8(bom) = found else { continue };
        let Some(format) = format_of(&encoding::text(&head, &found)) else { continue };
        // Prose beside an export is a readme, not a conversation.
        if format.name() == "plain" && total.format != "plain" && !total.format.is_empty() {
            continue;
        }
        head.drain(..bom);
        let file_name = name.rsplit('/').next().unwrap_or(&name).to_owned();
        let inside = ReadOptions { file_name, ..options.clone() };
        let mut reading = format.read(&mut Forward::new(Bytes::new(head).chain(entry)), &inside, out)?;
        reading.problems.iter_mut().for_each(|p| p.file.clone_from(&name));
        if total.format.is_empty() {
            total.format = reading.format;
        }
        total.problems.append(&mut reading.problems);
        total.cursor.turns = total.cursor.turns.saturating_add(reading.cursor.turns);
    }
    if total.format.is_empty() {
        return Err(nothing("the archive holds no conversation in a known format", "give an export with conversations.json inside"));
    }
    total.cursor = Cursor { offset: 0, last_uuid: None, ..total.cursor };
    Ok(total)
}
