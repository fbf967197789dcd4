//! What a session is told at its start: made from the memories, and kept until they or the settings change.
//!
//! Not here: when it is said (`hooks`), and what the text looks like (`recall`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hooks::{Hook, Place, language};
use super::trouble::{self, Trouble};
use super::worker;
use crate::error::{Error, Result};
use crate::model::{Change, Id, Plan};
use crate::pipeline::staleness;
use crate::recall::{self, Budget, Request};
use crate::store::{LeftOut, Snapshot, Store, disk, layout};

/// Memories that a receipt names as left out, at most.
const RECEIPT: usize = 50;

/// Bytes of memories that a hook reads and indexes itself; more is done by a process of its own, for which nobody waits.
pub(super) const SMALL: u64 = 192 << 10;

/// Bytes of memories with their catalogue that may take longer than a hook may.
const HUGE: u64 = 16 << 20;

/// How long the start of a session waits for what another process makes ready; the hook's own time is a little longer.
const PATIENCE: Duration = Duration::from_millis(700);

/// What a session is told at its start. Kept in a file until the memories or the settings change, or one of them lapses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    key: String,
    /// From this day, `YYYY-MM-DD`, up to and with the other it would be the same; empty: for ever.
    made: String,
    holds: String,
    pub(super) text: String,
    pub(super) ids: Vec<Id>,
    pub(super) left_out: Vec<LeftOut>,
    /// Files of the repository that the memories name, with the times of their last write.
    files: BTreeMap<String, Option<String>>,
}

/// What was kept for this session, or is made now; of very many memories by a process of its own, so that the work is not lost
/// where it takes longer than a hook may.
pub(super) fn told(hook: Hook<'_>, place: &Place) -> Result<Told> {
    if let Some(kept) = kept(hook, place) {
        return Ok(kept);
    }
    if place.size() <= HUGE {
        return tell(hook, place);
    }
    make_ready(hook, place)?;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
        if let Some(kept) = kept(hook, place) {
            return Ok(kept);
        }
    }
    let text = format!("the memories of {} are so many that they are still being made ready; the next session has them", place.name());
    Err(Error::failure(text))
}

/// What the text of a session depends on, as far as one knows without reading the memories.
fn key(hook: Hook<'_>, place: &Place) -> String {
    let store = &place.store;
    let mut key = format!("{};{};{};", env!("CARGO_PKG_VERSION"), hook.config.text("inject.language"), store.trust_hand_edits);
    key.extend(place.names().map(|name| format!("{name}:{}", store.stamp(name))));
    key
}

/// The folder of the texts, and the file of this one.
fn cache(hook: Hook<'_>, place: &Place) -> (PathBuf, PathBuf) {
    let folder = layout::state(hook.home).join("cache");
    let file = folder.join(format!("start-{}.json", place.name()));
    (folder, file)
}

/// The text that was made earlier, if it still is what would be made now.
fn kept(hook: Hook<'_>, place: &Place) -> Option<Told> {
    let kept: Told = serde_json::from_slice(&std::fs::read(cache(hook, place).1).ok()?).ok()?;
    let today = hook.env.today();
    let same_day = kept.made <= today && (kept.holds.is_empty() || today <= kept.holds);
    let same_files = || place.repo(hook).is_none_or(|repo| staleness::still(&kept.files, &repo));
    (kept.key == key(hook, place) && same_day && same_files()).then_some(kept)
}

/// Lets a process of its own make the text of the next session.
fn make_ready(hook: Hook<'_>, place: &Place) -> Result<()> {
    worker::detach(hook.env, hook.home, &[worker::COMMAND, "--prepare", &place.cwd.to_string_lossy()])
}

/// Makes the text of a session and keeps it.
fn tell(hook: Hook<'_>, place: &Place) -> Result<Told> {
    let (store, today, key) = (&place.store, hook.env.today(), key(hook, place));
    let repo = place.repo(hook);
    let snapshots = place.names().map(|name| lasting(hook, store, name)).collect::<Result<Vec<Snapshot>>>()?;
    let refs: Vec<&Snapshot> = snapshots.iter().collect();
    let ends = refs.iter().flat_map(|s| &s.entries).filter_map(|e| e.memory.validity.until_date());
    let mut holds = ends.filter(|day| *day >= today.as_str()).min().unwrap_or_default().to_owned();
    let request = Request { budget: Budget::HOOK, language: language(hook.config), ..Request::new(&today) };
    let mut injection = recall::inject(&refs, &request);
    let mut files = BTreeMap::new();
    if let Some(repo) = &repo {
        let memories = staleness::said(&refs, &injection);
        files = staleness::stamps(memories.iter().copied(), repo);
        let aged = staleness::aged(memories, repo, &request.today);
        if !aged.is_empty() {
            // It says how many days old they are.
            holds.clone_from(&today);
            injection = recall::inject(&refs, &Request { aged, ..request });
        }
    }
    let left_out = injection.left_out.iter().take(RECEIPT).map(|l| LeftOut { id: l.id.clone(), why: l.reason.words().to_owned() });
    let left_out = left_out.collect();
    let ids = injection.items.into_iter().map(|i| i.id).collect();
    let told = Told { key, made: today, holds, ids, left_out, text: injection.text, files };
    let (folder, file) = cache(hook, place);
    if !told.text.is_empty()
        && let Ok(bytes) = serde_json::to_vec(&told)
    {
        // A folder that cannot be written makes the next start slower, nothing else.
        drop(disk::create_dir(&folder).and_then(|()| disk::write_cache(&file, &bytes)));
    }
    Ok(told)
}

/// Lets a process of its own make the text again, if it was made before and would take a while now.
pub(super) fn renew(hook: Hook<'_>, place: &Place) -> Result<()> {
    let is_old = place.size() > SMALL && cache(hook, place).1.is_file() && kept(hook, place).is_none();
    if is_old { make_ready(hook, place) } else { Ok(()) }
}

/// Makes ready what the next session in a folder is told, so that it need not wait for that.
///
/// # Errors
/// If the memories cannot be read.
pub fn prepare(hook: Hook<'_>, cwd: &Path) -> Result<()> {
    let place = Place::find(hook, cwd)?;
    kept(hook, &place).map_or_else(|| tell(hook, &place), Ok).map(drop)
}

/// The lasting memories of a project. What was typed by hand since gets its id first, so that it counts from the first look
/// on; what was added or changed outside is announced, once.
pub(super) fn lasting(hook: Hook<'_>, store: &Store, name: &str) -> Result<Snapshot> {
    let snapshot = store.peek(name)?;
    if snapshot.unannounced.is_empty() && snapshot.unnamed() == 0 {
        return Ok(snapshot);
    }
    let mut said = None;
    let plan = &mut |now: &Snapshot| {
        let mut plan = Plan::new(&now.project, now.base.clone(), "adopt", hook.env.now());
        said = recall::announce::announcement(now, store.trust_hand_edits);
        plan.changes.extend(said.is_some().then(|| Change::Announced { ids: now.unannounced.clone() }));
        Ok(plan)
    };
    match store.update(name, &hook.env.now(), &|| hook.env.new_id(), plan) {
        Ok(receipt) => {
            for notice in receipt.notices.into_iter().chain(said) {
                // The memories are read all the same.
                drop(trouble::note(hook.home, &Trouble::notice(hook.env.now(), &notice)));
            }
            store.peek(name)
        }
        // Somebody is writing, or nobody can: what has an id is given, the rest the next time.
        Err(_) => Ok(snapshot),
    }
}
