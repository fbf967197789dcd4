//! Notes that stand in `MEMORY.md` itself, as older folders have them: each item of a list is one memory, read on request.
//!
//! Nothing but its words tells a note, so a changed one is a new memory; what stays is known by what it says.

use super::INDEX;
use super::folder::Folder;
use super::take::{CONFIDENCE, Fate, Reading, Taken, Wish, doubt, review_item, scrub, short};
use crate::error::Result;
use crate::extract::ground;
use crate::model::{Change, Evidence, Id, Kind, Layer, Memory, Origin, Speaker};
use crate::pipeline::by_hand;
use crate::reconcile::duplicate::{self, Twins};
use crate::store::Snapshot;
use crate::text::words;

/// Fewer words than these say nothing by themselves.
const LEAST: usize = 3;

/// Plans to take the notes of an index over; what each becomes is told as `MEMORY.md:LINE`.
///
/// # Errors
/// Only if `new_id` fails.
pub fn plan(folder: &Folder, snapshot: &Snapshot, wish: &Wish<'_>, new_id: &dyn Fn() -> Result<Id>) -> Result<(Vec<Change>, Vec<Taken>)> {
    let (mut changes, mut taken) = (Vec::new(), Vec::new());
    let source = folder.path.join(INDEX).to_string_lossy().into_owned();
    let notes: Vec<_> = folder.index().notes.into_iter().filter_map(|(line, topic, text)| Some((line, topic, item(&text)?))).collect();
    let text: String = notes.iter().flat_map(|(_, _, text)| [text.as_str(), "\n"]).collect();
    let reading = Reading::begin(snapshot, source, &text, wish.at.get(..10).unwrap_or_default()).filter(|_| !notes.is_empty());
    let Some(reading) = reading else { return Ok((changes, taken)) };
    let session = reading.session.clone();
    let mut twins = Twins::of(snapshot.entries.iter().map(|e| e.memory.clone()));
    for (line, topic, text) in notes {
        let mut memory = Memory::new(new_id()?, Layer::Working, Kind::Fact, short(&text));
        memory.topic = topic;
        memory.keywords = ground::keywords(&[], memory.topic.as_deref(), &memory.summary);
        (memory.origin, memory.confidence) = (Origin::Import, Some(CONFIDENCE));
        (memory.created, memory.session) = (Some(wish.at.to_owned()), Some(session.clone()));
        let turn = u32::try_from(line).unwrap_or(1);
        memory.evidence = vec![Evidence { session: None, turn, speaker: Speaker::Assistant, quote: text }];
        scrub(&mut memory);
        if memory.summary.is_empty() {
            continue;
        }
        let waits = snapshot.catalogue.review.iter().find(|r| duplicate::alike(&r.memory.summary, &memory.summary));
        let fate = if let Some(id) = twins.find(&memory).map(|m| m.id.clone()).or(waits.map(|r| r.id.clone())) {
            Fate::Known(id)
        } else if by_hand::is_buried(snapshot, &memory) {
            Fate::Buried
        } else if let Some(code) = doubt(&memory, wish.trust) {
            changes.push(review_item(&memory, code, &snapshot.project));
            Fate::Review(code)
        } else {
            changes.push(Change::Add(memory.clone()));
            twins.add(memory.clone());
            Fate::New
        };
        taken.push(Taken { file: format!("{INDEX}:{line}"), fate, memory: Some(memory) });
    }
    let stored = taken.iter().filter(|t| t.fate == Fate::New).count();
    changes.push(reading.end(wish.at, u32::try_from(stored).unwrap_or(u32::MAX), 0));
    Ok((changes, taken))
}

/// The text of a list item that says something by itself.
fn item(line: &str) -> Option<String> {
    let line = line.trim();
    let text = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))?.replace("**", "");
    (words::tokens(&text).len() >= LEAST && !text.trim_end().ends_with([':', '：'])).then_some(text)
}
