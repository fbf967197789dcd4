//! The only file that changes the disk: private folders, whole-file writes, appends. Everything else asks here.
#![expect(clippy::disallowed_methods, reason = "this is the one writer that clippy.toml guards")]

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Makes a folder and its parents, 0700 on Unix.
pub fn create_dir(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|e| Error::io("make the folder", path, &e))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Appends whole lines to a private (0600) file, made if needed, in one write.
pub fn append(path: &Path, text: &str) -> Result<()> {
    let mut file = private().append(true).create(true).open(path).map_err(|e| Error::io("open", path, &e))?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io("write to", path, &e))
}

/// Puts a whole private (0600) file in place: temp file beside it, fsync, rename, fsync of the folder.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |e: &std::io::Error| Error::io("write", path, e);
    let mut temp = tempfile::NamedTempFile::new_in(parent).map_err(|e| failed(&e))?;
    temp.write_all(bytes).and_then(|()| temp.as_file().sync_all()).map_err(|e| failed(&e))?;
    temp.persist(path).map_err(|e| failed(&e.error))?;
    sync_dir(parent)
}

/// Replaces another program's file as a whole, through a link if it is one, keeping its mode; a new one is private (0600).
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = folder_of(path);
    create_dir(parent)?;
    replace_with(path, bytes, tempfile::Builder::new())
}

/// As [`replace`], for a file among the user's own: a new one has the mode that any other new file would have, and its folder
/// must be there.
pub fn replace_shared(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut new = tempfile::Builder::new();
    #[cfg(unix)]
    new.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    replace_with(path, bytes, new)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn replace_with(path: &Path, bytes: &[u8], new: tempfile::Builder<'_, '_>) -> Result<()> {
    let failed = |e: &std::io::Error| Error::io("write", path, e);
    let target = match fs::symlink_metadata(path) {
        Ok(_) => path.canonicalize().map_err(|e| failed(&e))?,
        Err(_) => path.to_path_buf(),
    };
    let parent = folder_of(&target);
    let mode = fs::metadata(&target).ok().map(|m| m.permissions());
    if mode.as_ref().is_some_and(fs::Permissions::readonly) {
        return Err(Error::failure(format!("{} is read-only", path.display()))
            .hint("make it writable, or make the change where the file comes from; nothing was changed"));
    }
    let mut temp = new.tempfile_in(parent).map_err(|e| failed(&e))?;
    temp.write_all(bytes).map_err(|e| failed(&e))?;
    if let Some(mode) = mode {
        temp.as_file().set_permissions(mode).map_err(|e| failed(&e))?;
    }
    temp.as_file().sync_all().map_err(|e| failed(&e))?;
    temp.persist(&target).map_err(|e| failed(&e.error))?;
    sync_dir(parent)
}

/// Puts a whole private file in place in one step, without fsync: only for what can be made anew.
pub fn write_cache(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |e: &std::io::Error| Error::io("write", path, e);
    let mut temp = tempfile::NamedTempFile::new_in(parent).map_err(|e| failed(&e))?;
    temp.write_all(bytes).map_err(|e| failed(&e))?;
    temp.persist(path).map(drop).map_err(|e| failed(&e.error))
}

/// Writes a new private file and brings it to the disk. The name must be free, or left over from a run that was cut off.
pub fn stage(path: &Path, bytes: &[u8]) -> Result<()> {
    remove(path)?;
    let failed = |e: &std::io::Error| Error::io("write", path, e);
    let mut file = private().write(true).create_new(true).open(path).map_err(|e| failed(&e))?;
    #[cfg(feature = "crash-test")]
    {
        file.write_all(&bytes[..bytes.len() / 2]).map_err(|e| failed(&e))?;
        crash_point("half a file");
        file.write_all(&bytes[bytes.len() / 2..]).map_err(|e| failed(&e))?;
    }
    #[cfg(not(feature = "crash-test"))]
    file.write_all(bytes).map_err(|e| failed(&e))?;
    file.sync_data().map_err(|e| failed(&e))
}

/// Moves a file over another one, in one step.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io("put in place", to, &e))
}

/// Keeps what a file holds now under a second name: a hard link (we replace files, never write into them), else a copy.
pub fn keep(from: &Path, to: &Path) -> Result<()> {
    remove(to)?;
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let bytes = fs::read(from).map_err(|e| Error::io("read", from, &e))?;
    stage(to, &bytes)
}

/// Copies another program's file as it is now; the copy is private (0600).
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(|e| Error::io("read", from, &e))?;
    let failed = |e: &std::io::Error| Error::io("write", to, e);
    let mut file = private().write(true).create_new(true).open(to).map_err(|e| failed(&e))?;
    std::io::copy(&mut source, &mut file).map(drop).map_err(|e| failed(&e))
}

/// Removes a file; one that is not there is removed already.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, &e)),
        _ => Ok(()),
    }
}

/// Removes a folder of ours with all that is in it.
pub fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, &e)),
        _ => Ok(()),
    }
}

/// Removes a folder if nothing is in it; whether it is gone.
pub fn remove_empty(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}

/// Brings the names in a folder to the disk. Where folders cannot be opened (Windows) the system does so itself.
pub fn sync_dir(path: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(path).and_then(|dir| dir.sync_all()).map_err(|e| Error::io("write", path, &e))?;
    }
    Ok(())
}

/// Opens the lock file, making it if needed.
pub fn open_lock(path: &Path) -> Result<File> {
    let opened = private().read(true).write(true).create(true).truncate(false).open(path);
    opened.map_err(|e| Error::io("open the lock file", path, &e))
}

/// Where a crash test wants the process to end.
#[cfg(feature = "crash-test")]
static CRASH_AT: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Names the step at which this process shall abort (the first call counts): by name, by `name:2` (the second time), or by
/// number (`17`: the 17th step of all). Only for crash tests; without the feature `crash-test` nothing happens.
pub fn crash_at(step: Option<&str>) {
    #[cfg(feature = "crash-test")]
    if let Some(step) = step {
        CRASH_AT.get_or_init(|| step.to_owned());
    }
    #[cfg(not(feature = "crash-test"))]
    let _ = step;
}

/// A step of a commit: the process ends here if [`crash_at`] named it.
pub(super) fn crash_point(name: &str) {
    #[cfg(feature = "crash-test")]
    {
        static SEEN: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
        let (Some(at), Ok(mut seen)) = (CRASH_AT.get(), SEEN.lock()) else { return };
        seen.push(name.to_owned());
        let times = seen.iter().filter(|s| *s == name).count();
        if *at == seen.len().to_string() || *at == format!("{name}:{times}") || (at == name && times == 1) {
            std::process::abort();
        }
    }
    #[cfg(not(feature = "crash-test"))]
    let _ = name;
}
