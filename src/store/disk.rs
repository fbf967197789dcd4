//! The only file that changes the disk: private folders, whole-file writes, appends. Everything else asks here.
#![expect(clippy::disallowed_methods, reason = "this is the one writer that clippy.toml guards")]

use std::fs::{self, OpenOptions};
use std::io::Write;
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

/// Appends whole lines to a private (0600) file, made if needed, in one write.
pub fn append(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|e| Error::io("open", path, &e))?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io("write to", path, &e))
}

/// Puts a whole private (0600) file in place: temp file beside it, fsync, rename.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = path.parent().ok_or_else(|| Error::failure(format!("{} has no folder", path.display())))?;
    let failed = |e: &std::io::Error| Error::io("write", path, e);
    let mut temp = tempfile::NamedTempFile::new_in(parent).map_err(|e| failed(&e))?;
    temp.write_all(bytes).and_then(|()| temp.as_file().sync_all()).map_err(|e| failed(&e))?;
    temp.persist(path).map_err(|e| failed(&e.error))?;
    Ok(())
}
