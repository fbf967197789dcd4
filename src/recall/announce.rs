//! What is said once about entries that appeared or changed without us.

use crate::store::Snapshot;
use crate::text::words;

/// Most entries that are named.
const NAMED: usize = 3;
/// Widest name of an entry, in wide characters.
const WIDTH: f64 = 40.0;

/// One sentence about entries that were added or changed outside and that their owner has not been told of; `None` if there
/// are none. Foreign words in it are as they stand in the file.
pub fn announcement(snapshot: &Snapshot, trusted: bool) -> Option<String> {
    let new: Vec<_> = snapshot.unannounced.iter().filter_map(|id| snapshot.entry(id)).collect();
    let added = new.iter().filter(|e| snapshot.is_added(&e.memory.id)).count();
    let verb = match (added, new.len() - added) {
        (0, 0) => return None,
        (_, 0) => "added",
        (0, _) => "changed",
        _ => "added or changed",
    };
    let (entries, were) = if new.len() == 1 { ("entry", "was") } else { ("entries", "were") };
    let names: Vec<String> = new.iter().take(NAMED).map(|e| format!("“{}”", words::clip(&e.memory.summary, WIDTH))).collect();
    let more = if new.len() > NAMED { ", …" } else { "" };
    let held = match (trusted, new.len()) {
        (true, _) => "",
        (false, 1) => "; it is held back until you take it over",
        (false, _) => "; they are held back until you take them over",
    };
    Some(format!(
        "{} {entries} {were} {verb} outside claude-mem: {}{more}{held}; claude-mem review shows more",
        new.len(),
        names.join(", ")
    ))
}
