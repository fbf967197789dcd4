//! The last commits: list, and undo. A folder per commit with a manifest and the files as they were before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::journal::{self, FileSwap, Manifest, Stamp, sha256};
use super::{disk, layout};
use crate::error::{Error, Kind, Result};

/// How many commits are kept.
pub const KEPT: usize = 20;

/// Numbers of the folders in the history, ascending; also of commits that never came to be.
fn numbers(home: &Path) -> Result<Vec<u64>> {
    let folder = layout::history(home);
    let items = match fs::read_dir(&folder) {
        Ok(items) => items,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", &folder, &e)),
    };
    let mut numbers: Vec<u64> = items.flatten().filter_map(|i| i.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Number of the last commit; 0 if there was none.
pub(super) fn last_seq(home: &Path) -> Result<u64> {
    Ok(numbers(home)?.last().copied().unwrap_or(0))
}

/// Drops all but the last [`KEPT`] commits, and what commits that never came to be left behind.
pub(super) fn trim(home: &Path) -> Result<()> {
    let (whole, cut): (Vec<u64>, Vec<u64>) =
        numbers(home)?.into_iter().partition(|seq| journal::folder(home, *seq).join("manifest.json").exists());
    let old = whole.len().saturating_sub(KEPT);
    for seq in whole.iter().take(old).chain(&cut) {
        disk::remove_tree(&journal::folder(home, *seq))?;
    }
    Ok(())
}

/// The commits that are kept, newest first.
pub fn list(home: &Path) -> Result<Vec<Manifest>> {
    let read = |seq: u64| {
        let bytes = fs::read(journal::folder(home, seq).join("manifest.json")).ok()?;
        serde_json::from_slice::<Manifest>(&bytes).ok()
    };
    Ok(numbers(home)?.into_iter().rev().filter_map(read).collect())
}

/// The files that take back the last `steps` commits. Undoing an `undo` brings back what it took away.
///
/// # Errors
/// If there are not so many commits, or (without `force`) a file was changed by hand since.
pub(super) fn undo_swaps(home: &Path, steps: usize, force: bool) -> Result<(Vec<Manifest>, Vec<FileSwap>)> {
    let undone: Vec<Manifest> = list(home)?.into_iter().take(steps).collect();
    if undone.len() < steps || steps == 0 {
        return Err(
            Error::failure(format!("there are {} commits to undo, not {steps}", undone.len())).hint("`claude-mem history` lists them")
        );
    }
    // For each file the newest digest is what must still stand there, and the oldest copy is what comes back.
    let mut expected: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut copies: BTreeMap<&str, Option<(&Manifest, usize)>> = BTreeMap::new();
    for manifest in &undone {
        for (n, file) in manifest.files.iter().enumerate() {
            expected.entry(&file.path).or_insert(file.after.as_deref());
            copies.insert(&file.path, file.before.as_ref().map(|_| (manifest, n)));
        }
    }
    let mut swaps = Vec::new();
    for (path, copy) in copies {
        let expected = expected.get(path).copied().flatten();
        let target = home.join(path);
        let stamp = Stamp::of(&target);
        let now = fs::read(&target).ok().map(|bytes| sha256(&bytes));
        if now.as_deref() != expected && !force && !path.ends_with(layout::INDEX) {
            return Err(Error::new(Kind::Busy, format!("{path} was changed since the last commit"))
                .hint("`claude-mem undo --force` takes it back all the same; the changed file stays in the history"));
        }
        let bytes = match copy {
            Some((manifest, n)) => {
                let copy = journal::copy_of(home, manifest, n);
                let bytes = fs::read(&copy).map_err(|e| Error::io("read", &copy, &e))?;
                if manifest.files.get(n).and_then(|f| f.before.as_deref()) != Some(&sha256(&bytes)) {
                    return Err(Error::failure(format!("{} is damaged, so it cannot be brought back", copy.display()))
                        .hint("`claude-mem verify` names every damaged file; nothing was changed"));
                }
                Some(bytes)
            }
            None => None,
        };
        let swap = FileSwap::new(path.to_owned(), now.clone().zip(stamp), bytes);
        if swap.after.as_ref().map(|(sha, _)| sha) != now.as_ref() {
            swaps.push(swap);
        }
    }
    Ok((undone, swaps))
}
