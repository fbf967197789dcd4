//! Which memories matter for a query.

use super::answer::Found;
use crate::model::State;
use crate::store::Snapshot;
use crate::text::words;

/// Memories that hold today, or were turned down, and share words with the query; best first.
pub fn find<'a>(snapshots: &'a [Snapshot], query: &str, today: &str) -> Vec<Found<'a>> {
    let asked = words::token_set(query);
    let mut found: Vec<(usize, Found<'a>)> = Vec::new();
    for memory in snapshots.iter().flat_map(|s| &s.entries).map(|e| &e.memory) {
        if !memory.holds_on(today) && memory.state != State::Rejected {
            continue;
        }
        let text = format!("{} {} {}", memory.topic.as_deref().unwrap_or_default(), memory.summary, memory.keywords.join(" "));
        let shared = words::token_set(&text).intersection(&asked).count();
        if shared > 0 {
            found.push((shared, Found { memory }));
        }
    }
    found.sort_by(|(a, x), (b, y)| {
        b.cmp(a).then_with(|| y.memory.created.cmp(&x.memory.created)).then_with(|| x.memory.id.cmp(&y.memory.id))
    });
    found.into_iter().map(|(_, f)| f).collect()
}
