//! Whether a project's files are as the index knows them, without reading them; by digest where that is not sure.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::plan::Base;
use crate::store::{journal, read};

/// A file that was changed this shortly before it was looked at may change again within the same tick of its clock.
const YOUNG_NANOS: i128 = 2_000_000_000;

/// The files of a project as the index knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamps {
    /// By file name: time of change in nanoseconds, size, inode.
    files: BTreeMap<String, (i128, u64, u64)>,
    /// By file name: SHA-256, hex.
    digests: BTreeMap<String, String>,
    /// Whether a file was so new that its time of change proves nothing.
    young: bool,
}

/// What a look at the files says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing has changed.
    Same,
    /// The files say the same, but their times are others.
    Restamp(Stamps),
    /// Something else is in them; the stamps to keep once that is read.
    Changed(Stamps),
}

impl Stamps {
    /// Takes the files' times. `now` is in nanoseconds since 1970.
    pub(super) fn take(home: &Path, project: &str, now: i128) -> Result<Self> {
        let mut stamps = Self::default();
        for file in read::files(home, project, false, &mut Vec::new())? {
            let Ok(meta) = std::fs::symlink_metadata(home.join(project).join(&file)) else { continue };
            let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos() as i128);
            #[cfg(unix)]
            let (changed, inode) = {
                use std::os::unix::fs::MetadataExt;
                (i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()), meta.ino())
            };
            #[cfg(not(unix))]
            let (changed, inode) = (modified, 0);
            let at = modified.max(changed);
            stamps.young |= at + YOUNG_NANOS > now;
            stamps.files.insert(file, (at, meta.len(), inode));
        }
        Ok(stamps)
    }

    /// The stamps of files that were written this moment, so that only their digests prove anything.
    pub(super) fn just_written(home: &Path, project: &str, base: &Base) -> Result<Self> {
        Ok(Self::take(home, project, i128::MIN)?.with(base))
    }

    /// Whether they were taken of files with these digests.
    pub(super) fn is_of(&self, base: &Base) -> bool {
        self.digests == base.0
    }

    /// Bytes of all files.
    pub(super) fn size(&self) -> u64 {
        self.files.values().map(|(_, size, _)| size).sum()
    }

    /// Compares the files with what is known of them.
    pub(super) fn look(known: Option<&Self>, home: &Path, project: &str, now: i128) -> Result<Look> {
        let mut stamps = Self::take(home, project, now)?;
        let Some(known) = known else { return Ok(Look::Changed(stamps)) };
        if known.files == stamps.files && !known.young {
            return Ok(Look::Same);
        }
        if !known.files.keys().eq(stamps.files.keys()) || journal::is_open(home) {
            return Ok(Look::Changed(stamps));
        }
        for (file, digest) in &known.digests {
            let Ok(bytes) = std::fs::read(home.join(project).join(file)) else { return Ok(Look::Changed(stamps)) };
            if journal::sha256(&bytes) != *digest {
                return Ok(Look::Changed(stamps));
            }
        }
        if known.files == stamps.files && stamps.young {
            return Ok(Look::Same);
        }
        stamps.digests.clone_from(&known.digests);
        Ok(Look::Restamp(stamps))
    }

    /// The same with the digests of what was read.
    pub(super) fn with(mut self, base: &Base) -> Self {
        self.digests.clone_from(&base.0);
        self
    }
}
