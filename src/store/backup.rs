//! All projects in one ZIP file, and back.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::catalogue::{Head, VERSION};
use super::journal::{self, FileSwap};
use super::layout::{self, INDEX, TESTS};
use super::read::{self, Raw};
use super::{Receipt, Store, disk};
use crate::error::{Error, Kind, Result};

/// The largest file that is taken from a backup, in bytes: a catalogue of a million memories is smaller.
const MAX_FILE: u64 = 1 << 30;

fn zip_error(doing: &str, path: &Path, cause: &zip::result::ZipError) -> Error {
    Error::failure(format!("cannot {doing} {}: {cause}", path.display())).hint("check that it is a backup made by claude-mem")
}

impl Store {
    /// Writes all projects into a new ZIP file (not `.state`: no history, no search index). Gives the number of files in it.
    ///
    /// # Errors
    /// If `path` is there already, or cannot be written.
    pub fn backup(&self, path: &Path) -> Result<usize> {
        if path.exists() {
            return Err(Error::failure(format!("{} is there already", path.display())).hint("choose another file name"));
        }
        // Without a lock file nothing was ever written, so there is nobody to wait for.
        let _no_writer = if layout::lock(&self.home).exists() { Some(journal::lock_for_reading(&self.home, self.wait)?) } else { None };
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let mut count = 0;
        for name in self.projects()? {
            for (file, raw) in self.all_files(&name)? {
                let options =
                    SimpleFileOptions::default().unix_permissions(0o600).large_file(raw.bytes.len() as u64 >= u64::from(u32::MAX));
                zip.start_file(format!("{name}/{file}"), options).map_err(|e| zip_error("write", path, &e))?;
                zip.write_all(&raw.bytes).map_err(|e| Error::io("write", path, &e))?;
                count += 1;
            }
        }
        let bytes = zip.finish().map_err(|e| zip_error("write", path, &e))?.into_inner();
        disk::write(path, &bytes)?;
        Ok(count)
    }

    /// Every file of ours in a project, and its memory tests.
    fn all_files(&self, name: &str) -> Result<BTreeMap<String, Raw>> {
        let mut files = BTreeMap::new();
        for file in read::files(&self.home, name, true, &mut Vec::new())?.into_iter().chain([TESTS.to_owned()]) {
            if let Some(raw) = Raw::read(&self.home.join(name).join(&file))? {
                files.insert(file, raw);
            }
        }
        Ok(files)
    }

    /// The projects that [`Store::restore`] would write, and whether each is here already, as another one. Changes nothing.
    ///
    /// # Errors
    /// As for `restore`, if the file is no backup of ours.
    pub fn would_restore(&self, path: &Path) -> Result<Vec<(String, bool)>> {
        let mut out = Vec::new();
        for (name, files) in open(path)? {
            let here = self.replaced(&name, &files)?;
            let same = here.len() == files.len() && here.iter().all(|(file, raw)| files.get(file) == Some(&raw.bytes));
            out.extend((!same).then_some((name, !here.is_empty())));
        }
        Ok(out)
    }

    /// The files of a project that a backup would replace. Memory tests that it does not know stay.
    fn replaced(&self, name: &str, backup: &BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, Raw>> {
        let mut here = self.all_files(name)?;
        here.retain(|file, _| file != TESTS || backup.contains_key(TESTS));
        Ok(here)
    }

    /// Puts the projects of a backup back, as one commit that can be undone. Projects that are not in it stay as they are.
    ///
    /// # Errors
    /// [`Kind::Decision`] if a project here differs and `overwrite` is not set; a failure if the file holds anything that is
    /// no backup of ours. Nothing is changed then.
    pub fn restore(&self, path: &Path, overwrite: bool) -> Result<Receipt> {
        let mut projects = open(path)?;
        let lock = self.lock()?;
        let (mut swaps, mut differ) = (Vec::new(), Vec::new());
        for (name, files) in &mut projects {
            self.read_locked(name)?;
            let here = self.replaced(name, files)?;
            let before = swaps.len();
            for (file, raw) in &here {
                let bytes = files.remove(file);
                if bytes.as_ref() != Some(&raw.bytes) {
                    swaps.push(FileSwap::new(format!("{name}/{file}"), Some((raw.sha.clone(), raw.stamp)), bytes));
                }
            }
            let new = std::mem::take(files);
            swaps.extend(new.into_iter().map(|(file, bytes)| FileSwap::new(format!("{name}/{file}"), None, Some(bytes))));
            if !here.is_empty() && swaps.len() > before {
                differ.push(name.clone());
            }
        }
        if !differ.is_empty() && !overwrite {
            return Err(Error::new(Kind::Decision, format!("the backup would replace {}", differ.join(", ")))
                .hint("add --yes to replace them; `claude-mem undo` brings them back"));
        }
        self.swap_now(&lock, "restore", "", swaps)
    }
}

/// Projects and their files in a backup. Anything that has no place in a store is refused.
fn open(path: &Path) -> Result<BTreeMap<String, BTreeMap<String, Vec<u8>>>> {
    let file = std::fs::File::open(path).map_err(|e| Error::io("open", path, &e))?;
    let mut zip = ZipArchive::new(std::io::BufReader::new(file)).map_err(|e| zip_error("read", path, &e))?;
    let mut projects: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for n in 0..zip.len() {
        let entry = zip.by_index(n).map_err(|e| zip_error("read", path, &e))?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().map_err(|e| zip_error("read", path, &e))?.into_owned();
        let (project, inner) = name.split_once('/').unwrap_or(("", &name));
        if layout::check_name(project).is_err() || !(layout::is_ours(inner) || inner == TESTS) || entry.size() > MAX_FILE {
            return Err(Error::failure(format!("{} is no backup of claude-mem: it holds {name:?}", path.display()))
                .hint("`claude-mem import` reads files of other tools"));
        }
        let mut bytes = Vec::new();
        entry.take(MAX_FILE).read_to_end(&mut bytes).map_err(|e| Error::io("read", path, &e))?;
        projects.entry(project.to_owned()).or_default().insert(inner.to_owned(), bytes);
    }
    for (project, files) in &projects {
        let head = files.get(INDEX).and_then(|bytes| Head::read(bytes.as_slice()));
        if head.as_ref().is_none_or(|h| h.version > VERSION) {
            let why = if head.is_some() { "was made by a newer claude-mem" } else { "has no catalogue" };
            return Err(Error::failure(format!("{}: {project} {why}", path.display())).hint("nothing was changed"));
        }
    }
    if projects.is_empty() {
        return Err(Error::failure(format!("{} holds no project", path.display())).hint("check the file name"));
    }
    Ok(projects)
}
