//! Where the client keeps the memory of a repository.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::claude_code::{settings, wiring};
use crate::env::Env;
use crate::error::Result;
use crate::store::identity::Root;

/// Longest name that the client gives a project's folder before it cuts and adds a hash.
const LONGEST: usize = 200;

/// The name of a path among the client's projects: every UTF-16 unit but ASCII letters and digits is a hyphen.
pub fn key(path: &str) -> String {
    let units: Vec<u16> = path.encode_utf16().collect();
    let plain = |unit: &u16| u8::try_from(*unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    let name: String = units.iter().map(plain).collect();
    if name.len() <= LONGEST {
        return name;
    }
    let hash = units.iter().fold(0_i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(*unit)));
    format!("{}-{}", &name[..LONGEST], base36(hash.unsigned_abs()))
}

fn base36(mut n: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(n % 36, 36).unwrap_or('0'));
        n /= 36;
        if n == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

/// What is known about the place of a repository's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder, whether it is there or not.
    pub folder: PathBuf,
    /// Why the client does not use it, if it does not.
    pub off: Option<String>,
    /// Whether other repositories can have the same folder: their names differ only in what the client writes as hyphens.
    pub shared: bool,
    /// Settings in the work tree that name the folder: they may have come with the repository.
    pub chosen_by: Option<PathBuf>,
}

/// Where the memory of a repository is: all its work trees and subfolders have one, named after the main one.
///
/// # Errors
/// If the home folder is not known, or a settings file cannot be read.
pub fn of(env: &Env, root: &Root) -> Result<Place> {
    let main = match root.path.file_name() {
        Some(name) if name == ".git" => root.path.parent().unwrap_or(&root.folder),
        _ => &root.folder,
    };
    let main_name = main.to_string_lossy();
    let client = wiring::client_folder(env)?;
    let name = env.var("CLAUDE_CODE_PROJECT_DIR_NAME").filter(|_| env.var("CLAUDE_CONFIG_DIR").is_some());
    let mut folder = client.join("projects").join(name.map_or_else(|| key(&main_name), str::to_owned)).join("memory");
    let mut off =
        env.var("CLAUDE_CODE_DISABLE_AUTO_MEMORY").filter(|v| *v != "0").map(|_| "CLAUDE_CODE_DISABLE_AUTO_MEMORY is set".to_owned());
    let mut shared = !main_name.is_ascii();
    let mut chosen_by = None;
    // Later files go before earlier ones, as with the client.
    let files = [client.join("settings.json"), root.folder.join(".claude/settings.json"), root.folder.join(".claude/settings.local.json")];
    for path in &files {
        let Some(text) = wiring::read(path)? else { continue };
        // A file that the client cannot read says nothing; `doctor` reports it.
        let Ok(value) = settings::read(&text) else { continue };
        if let Some(own) = value.get("autoMemoryDirectory").and_then(Value::as_str).and_then(|dir| moved(env, dir)) {
            if own != folder {
                chosen_by = Some(path).filter(|path| **path != files[0]).cloned();
            }
            (folder, shared) = (own, false);
        }
        match value.get("autoMemoryEnabled").and_then(Value::as_bool) {
            Some(false) => off = Some(format!("autoMemoryEnabled is false in {}", path.display())),
            Some(true) if off.as_ref().is_some_and(|o| o.starts_with("auto")) => off = None,
            _ => {}
        }
    }
    Ok(Place { folder, off, shared, chosen_by })
}

/// A folder that settings name: absolute, or below the home.
fn moved(env: &Env, dir: &str) -> Option<PathBuf> {
    match dir.strip_prefix("~/") {
        Some(rest) => Some(env.user_home().ok()?.join(rest)),
        None => Some(PathBuf::from(dir)).filter(|p: &PathBuf| Path::is_absolute(p)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for (path, wanted) in [
            ("/tmp/a.b_c d", "-tmp-a-b-c-d"),
            ("/tmp/x/项目-目录", "-tmp-x------"),
            ("/tmp/🙂", "-tmp---"),
            ("/home/Dev/Shop2", "-home-Dev-Shop2"),
        ] {
            assert_eq!(key(path), wanted);
        }
        let long = format!("/{}", "a".repeat(240));
        assert!(key(&long).starts_with(&format!("-{}-", "a".repeat(199))) && key(&long).len() > 201);
        assert_ne!(key(&long), key(&format!("{long}b")));
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35 * 36 + 10), "za");
    }
}
