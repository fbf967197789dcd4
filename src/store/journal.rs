//! All or nothing for several files: lock, copies, staged files, journal, swap, check; and what a cut-off run left behind.
//!
//! The journal is `.state/journal/commit.json`, put in place by a rename. From that moment the commit will happen, by
//! this process or by the next one; before it, nothing has. At the end the same file becomes the manifest in the history.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::disk::{self, crash_point};
use super::layout;
use crate::error::{Error, Kind, Result};
use crate::model::Id;

/// SHA-256 in hex.
pub fn sha256(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    digest.iter().flat_map(|b| [HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]).map(char::from).collect()
}

/// What tells a file from the same file later, without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(Option<SystemTime>, u64, u64);

impl Stamp {
    /// `None` if there is no such file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Self(meta.modified().ok(), meta.len(), inode))
    }
}

/// One commit as the journal and the history know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Number of the commit; ascending within a home.
    pub seq: u64,
    /// Command that made it.
    pub command: String,
    /// RFC 3339.
    pub at: String,
    /// Project; empty if it was several.
    pub project: String,
    /// Files with their digests before and after.
    pub files: Vec<FileChange>,
    /// Memories it touched.
    pub ids: Vec<Id>,
    /// Whether the history keeps it. Mere access counts are not kept, or they would push out what `undo` is for.
    #[serde(default)]
    pub quiet: bool,
    /// The summary of the first memory it touched; empty if it touched none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What an `undo` or `redo` took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_back: Option<Back>,
    /// Files that were edited by hand and taken in by this step, with their digest behind it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken_in: BTreeMap<String, String>,
}

/// The commit that was taken back, and what it was, for a history in which it is not kept any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Back {
    /// Its number.
    pub seq: u64,
    /// The command that changed something in the first place, behind all undoing and redoing.
    pub command: String,
    /// When that was, RFC 3339.
    pub at: String,
}

/// Name of the step that takes in what was typed by hand.
pub const ADOPT: &str = "adopt";

impl Manifest {
    /// Whether it only took in what was typed or changed by hand: `undo` walks over it.
    pub fn is_adoption(&self) -> bool {
        self.command == ADOPT
    }

    /// The projects whose files it touched.
    pub fn projects(&self) -> BTreeSet<&str> {
        let folders = self.files.iter().filter_map(|f| Some(f.path.split_once('/')?.0));
        folders.chain([self.project.as_str()]).filter(|name| !name.is_empty()).collect()
    }

    /// The digest that a file had behind it, if it touched the file: `Some(None)` if it took the file away.
    pub fn left(&self, path: &str) -> Option<Option<&str>> {
        let file = self.files.iter().find(|f| f.path == path).map(|f| f.after.as_deref());
        file.or_else(|| self.taken_in.get(path).map(|sha| Some(sha.as_str())))
    }

    /// This commit as one that is taken back names it.
    pub fn as_back(&self) -> Back {
        match &self.takes_back {
            Some(back) => Back { seq: self.seq, ..back.clone() },
            None => Back { seq: self.seq, command: self.command.clone(), at: self.at.clone() },
        }
    }
}

/// What happened to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Inside the home, with `/`.
    pub path: String,
    /// SHA-256 (hex) before; `None` if there was no such file.
    pub before: Option<String>,
    /// SHA-256 (hex) after; `None` if it is gone.
    pub after: Option<String>,
}

/// One file to put in place or take away.
#[derive(Clone, Debug)]
pub(super) struct FileSwap {
    /// Inside the home, with `/`.
    pub(super) path: String,
    /// Digest and stamp of what was read; `None` if there was no file.
    pub(super) seen: Option<(String, Stamp)>,
    /// What it shall hold, with its digest; `None` to take it away.
    pub(super) after: Option<(String, Vec<u8>)>,
}

impl FileSwap {
    pub(super) fn new(path: String, seen: Option<(String, Stamp)>, bytes: Option<Vec<u8>>) -> Self {
        Self { path, seen, after: bytes.map(|bytes| (sha256(&bytes), bytes)) }
    }
}

/// The right to change the home; ends when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    /// What was finished or taken back on the way in.
    pub(super) said: Option<String>,
}

/// Takes the lock of the home, waiting at most `wait` for whoever has it.
pub(super) fn lock(home: &Path, wait: Duration) -> Result<Lock> {
    disk::create_dir(&layout::state(home))?;
    let path = layout::lock(home);
    acquire(&path, disk::open_lock(&path)?, wait, (File::try_lock, File::lock))
}

/// Waits until no writer is at work, and keeps writers out until dropped. Needs no right to write.
pub(super) fn lock_for_reading(home: &Path, wait: Duration) -> Result<Lock> {
    let path = layout::lock(home);
    let file = File::open(&path).map_err(|e| Error::io("open the lock file", &path, &e))?;
    acquire(&path, file, wait, (File::try_lock_shared, File::lock_shared))
}

/// One way to lock: at once or not at all, and waiting.
type Ways = (fn(&File) -> Result<(), TryLockError>, fn(&File) -> std::io::Result<()>);

fn acquire(path: &Path, file: File, wait: Duration, (now, waiting): Ways) -> Result<Lock> {
    let failed = |e: &std::io::Error| Error::io("lock", path, e);
    match now(&file) {
        Ok(()) => return Ok(Lock { _file: file, said: None }),
        Err(TryLockError::Error(e)) => return Err(failed(&e)),
        Err(TryLockError::WouldBlock) => {}
    }
    // The system serves those who wait in turn, but knows no time limit: so a thread waits, and we wait for the thread. If it
    // gets the lock too late, nobody takes it from the channel and it is given back at once.
    let (send, receive) = std::sync::mpsc::sync_channel(0);
    std::thread::spawn(move || {
        let locked = waiting(&file).map(|()| file);
        drop(send.send(locked));
    });
    match receive.recv_timeout(wait) {
        Ok(locked) => Ok(Lock { _file: locked.map_err(|e| failed(&e))?, said: None }),
        Err(_) => Err(Error::new(Kind::Busy, "another claude-mem is writing to the memory folder")
            .hint(format!("try again in a moment; the lock is on {}", path.display()))),
    }
}

fn commit_json(home: &Path) -> PathBuf {
    layout::journal(home).join("commit.json")
}

/// Whether a commit is under way, or was cut off.
pub(super) fn is_open(home: &Path) -> bool {
    commit_json(home).exists()
}

/// Folder of a commit in the history.
pub(super) fn folder(home: &Path, seq: u64) -> PathBuf {
    layout::history(home).join(format!("{seq:06}"))
}

/// The copy of file number `n` as it was before a commit.
pub(super) fn copy_of(home: &Path, manifest: &Manifest, n: usize) -> PathBuf {
    let path = manifest.files.get(n).map_or("", |f| f.path.as_str());
    folder(home, manifest.seq).join(format!("{n}-{}", path.rsplit('/').next().unwrap_or_default()))
}

fn staged(home: &Path, manifest: &Manifest, n: usize) -> PathBuf {
    layout::journal(home).join(format!("{:06}.{n}", manifest.seq))
}

/// Makes all changes of `swaps`, or none. `manifest` brings who and when; its files are filled in here.
pub(super) fn run(home: &Path, _lock: &Lock, mut manifest: Manifest, swaps: Vec<FileSwap>) -> Result<Manifest> {
    clear_leftovers(home)?;
    manifest.seq = super::history::last_seq(home)? + 1;
    manifest.files = swaps
        .iter()
        .map(|s| FileChange {
            path: s.path.clone(),
            before: s.seen.as_ref().map(|(sha, _)| sha.clone()),
            after: s.after.as_ref().map(|(sha, _)| sha.clone()),
        })
        .collect();
    crash_point("locked");
    if let Err(error) = prepare(home, &manifest, &swaps) {
        // Nothing was changed yet; what was prepared is cleared now or by the next commit.
        drop(clear_leftovers(home));
        drop(disk::remove_tree(&folder(home, manifest.seq)));
        return Err(error);
    }
    crash_point("journaled");
    if let Err(error) = finish(home, &manifest, &[], &swaps) {
        return Err(match roll_back(home, &manifest) {
            Ok(()) => error,
            Err(_) => error.hint("free the disk or folder; the next command finishes or takes back what was begun"),
        });
    }
    Ok(manifest)
}

/// Everything up to and with the journal.
fn prepare(home: &Path, manifest: &Manifest, swaps: &[FileSwap]) -> Result<()> {
    let (journal, history) = (layout::journal(home), folder(home, manifest.seq));
    disk::create_dir(&journal)?;
    disk::create_dir(&history)?;
    for (n, swap) in swaps.iter().enumerate() {
        let target = home.join(&swap.path);
        refuse_link(home, &target)?;
        if swap.seen.is_some() {
            disk::keep(&target, &copy_of(home, manifest, n))?;
            crash_point("copied");
        }
        if let Some((_, bytes)) = &swap.after {
            if let Some(parent) = target.parent() {
                disk::create_dir(parent)?;
            }
            disk::stage(&staged(home, manifest, n), bytes)?;
            crash_point("staged");
        }
    }
    for swap in swaps {
        if Stamp::of(&home.join(&swap.path)) != swap.seen.as_ref().map(|(_, stamp)| *stamp) {
            return Err(Error::new(Kind::Busy, format!("{} was changed by someone else just now", swap.path))
                .hint("run the same command again; nothing was changed"));
        }
    }
    let text = serde_json::to_string(manifest).map_err(|e| Error::failure(format!("the journal cannot be written: {e}")))?;
    let temp = journal.join("commit.json.new");
    disk::stage(&temp, text.as_bytes())?;
    crash_point("journal staged");
    disk::rename(&temp, &commit_json(home))?;
    disk::sync_dir(&journal)
}

/// Refuses to write through or over a symbolic link below the home.
fn refuse_link(home: &Path, target: &Path) -> Result<()> {
    for path in target.ancestors().take_while(|p| *p != home) {
        if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink()) {
            return Err(Error::failure(format!("{} is a symbolic link, which claude-mem does not follow", path.display()))
                .hint("put the real file or folder there, or move the whole memory folder with --home"));
        }
    }
    Ok(())
}

/// Puts every staged file in place, checks it, and turns the journal into history. Can be repeated after any crash.
/// Files in `edited` were changed by hand after they were put in place, so they are not checked. What was meant to be written is
/// compared as it is where it is still at hand, in `swaps`, and else by its digest.
fn finish(home: &Path, manifest: &Manifest, edited: &[&str], swaps: &[FileSwap]) -> Result<()> {
    let mut folders = BTreeSet::new();
    for (n, file) in manifest.files.iter().enumerate() {
        let target = home.join(&file.path);
        let backup = home.join(format!("{}.bak", file.path));
        let staged = staged(home, manifest, n);
        folders.extend(target.parent().map(Path::to_path_buf));
        match &file.after {
            Some(_) if staged.exists() => {
                if let Some(parent) = target.parent() {
                    disk::create_dir(parent)?;
                }
                if target.exists() {
                    disk::keep(&target, &backup)?;
                    crash_point("backup");
                }
                disk::rename(&staged, &target)?;
            }
            Some(_) => {}
            // What is gone for good needs no backup beside it; the history has it.
            None => {
                disk::remove(&target)?;
                disk::remove(&backup)?;
                for folder in target.ancestors().skip(1).take_while(|f| *f != home) {
                    if !disk::remove_empty(folder) {
                        break;
                    }
                }
            }
        }
        crash_point("swapped");
    }
    for folder in folders.iter().filter(|f| f.exists()) {
        disk::sync_dir(folder)?;
    }
    crash_point("synced");
    for (n, file) in manifest.files.iter().enumerate().filter(|(_, f)| !edited.contains(&f.path.as_str())) {
        let target = home.join(&file.path);
        let is = fs::read(&target).ok();
        let is_whole = match swaps.get(n) {
            Some(swap) => is.as_deref() == swap.after.as_ref().map(|(_, bytes)| bytes.as_slice()),
            None => is.map(|bytes| sha256(&bytes)) == file.after,
        };
        if !is_whole {
            return Err(Error::failure(format!("{} does not hold what was written to it", target.display()))
                .hint("check the disk; the old state was put back"));
        }
    }
    crash_point("checked");
    close(home, manifest)
}

/// Ends the journal: it becomes the manifest in the history. What comes after that cannot fail the commit any more: what is
/// left over is cleared by the next one.
fn close(home: &Path, manifest: &Manifest) -> Result<()> {
    let folder = folder(home, manifest.seq);
    if manifest.quiet {
        disk::remove(&commit_json(home))?;
    } else {
        disk::create_dir(&folder)?;
        disk::rename(&commit_json(home), &folder.join("manifest.json"))?;
    }
    crash_point("closed");
    // The rename is not brought to the disk: after a power cut the journal is simply found and closed again.
    drop(super::history::trim(home));
    crash_point("trimmed");
    Ok(())
}

/// Puts everything back as it was before the commit, and forgets the commit.
fn roll_back(home: &Path, manifest: &Manifest) -> Result<()> {
    for (n, file) in manifest.files.iter().enumerate() {
        let target = home.join(&file.path);
        let is = fs::read(&target).ok().map(|bytes| sha256(&bytes));
        // A file edited by hand in between is left to its owner.
        if is == file.before || (is.is_some() && is != file.after) {
            continue;
        }
        if file.before.is_none() {
            disk::remove(&target)?;
            continue;
        }
        let temp = layout::journal(home).join(format!("back.{n}"));
        disk::keep(&copy_of(home, manifest, n), &temp)?;
        disk::rename(&temp, &target)?;
        if let Some(parent) = target.parent() {
            disk::sync_dir(parent)?;
        }
    }
    disk::remove(&commit_json(home))?;
    clear_leftovers(home)?;
    disk::remove_tree(&folder(home, manifest.seq))
}

/// Removes staged files that belong to no journal.
fn clear_leftovers(home: &Path) -> Result<()> {
    if is_open(home) {
        return Ok(());
    }
    for item in fs::read_dir(layout::journal(home)).into_iter().flatten().flatten() {
        disk::remove(&item.path())?;
    }
    Ok(())
}

/// Finishes or takes back a commit that was cut off. Says what was done; `None` if there was nothing to do.
pub(super) fn recover(home: &Path, _lock: &Lock) -> Result<Option<String>> {
    let path = commit_json(home);
    let Ok(bytes) = fs::read(&path) else { return Ok(None) };
    let Ok(manifest) = serde_json::from_slice::<Manifest>(&bytes) else {
        let aside = layout::state(home).join("journal-unreadable.json");
        disk::rename(&path, &aside)?;
        return Ok(Some(format!("an unreadable journal was put aside as {}; run `claude-mem verify`", aside.display())));
    };
    let (mut overwritten, mut edited, mut complete) = (Vec::new(), Vec::new(), true);
    for (n, file) in manifest.files.iter().enumerate() {
        let target = home.join(&file.path);
        let is = fs::read(&target).ok().map(|bytes| sha256(&bytes));
        let waiting = staged(home, &manifest, n).exists();
        // Staged files were all there when the journal was written; one that is missing was put in place, or is lost.
        complete &= waiting || file.after.is_none() || is != file.before || is == file.after;
        if is.is_some() && is != file.before && is != file.after {
            if waiting || file.after.is_none() {
                disk::create_dir(&folder(home, manifest.seq))?;
                disk::keep(&target, &folder(home, manifest.seq).join(format!("edited-{n}")))?;
                overwritten.push(file.path.as_str());
            } else {
                edited.push(file.path.as_str());
            }
        }
    }
    let name = format!("`{}` of {}", manifest.command, manifest.at);
    let mut said = if complete {
        finish(home, &manifest, &edited, &[])?;
        format!("{name} had been cut off; it was finished")
    } else {
        roll_back(home, &manifest)?;
        format!("{name} had been cut off; it was taken back")
    };
    if complete && !overwritten.is_empty() {
        let kept = folder(home, manifest.seq);
        said = format!("{said}; {} had been edited since, that version is in {}", overwritten.join(", "), kept.display());
    }
    Ok(Some(said))
}
