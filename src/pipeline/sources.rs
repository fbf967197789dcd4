//! Finding transcripts: paths, folders, patterns, and every Claude Code transcript on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Kind, Problem, Result};

/// Endings of files that may be transcripts when a folder is walked; a file named on the command line is always tried.
const ENDINGS: &[&str] = &["jsonl", "json", "md", "txt", "zip", "traj"];

/// Folders that never hold transcripts but may hold thousands of files.
const SKIPPED: &[&str] = &["node_modules", "target", "memory", "tool-results", "file-history", "paste-cache", "plugins"];

/// What was found.
#[derive(Debug, Default)]
pub struct Sources {
    /// Files in the order of their last change, so that later words come later.
    pub files: Vec<PathBuf>,
    /// Folders that could not be read.
    pub problems: Vec<Problem>,
}

/// The files that the arguments name. A folder is walked, a pattern with `*`, `?` or `[` is expanded if no such file exists.
///
/// # Errors
/// [`Kind::NoTranscript`] when a path does not exist or nothing was found in it.
pub fn named(paths: &[PathBuf], env: &Env) -> Result<Sources> {
    let mut sources = Sources::default();
    for typed in paths {
        let path = env.absolute(typed);
        let before = sources.files.len();
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                walk(&path, &mut sources);
                if sources.files.len() == before {
                    return Err(Error::new(Kind::NoTranscript, format!("there is no transcript in {}", typed.display()))
                        .hint("transcripts end in .jsonl, .json, .md, .txt or .zip; name the file itself to try it anyway"));
                }
            }
            Ok(_) => sources.files.push(path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                expand(&path, &mut sources)?;
                if sources.files.len() == before {
                    return Err(Error::new(Kind::NoTranscript, format!("{} does not exist", typed.display()))
                        .hint("check the path; `claude-mem ingest --all-history` finds Claude Code's transcripts by itself"));
                }
            }
            Err(error) => return Err(Error { kind: Kind::NoTranscript, ..Error::io("read", &path, &error) }),
        }
    }
    sources.files.sort();
    sources.files.dedup();
    sort_by_change(&mut sources.files);
    Ok(sources)
}

/// Every Claude Code transcript below the client's configuration folder.
///
/// # Errors
/// [`Kind::NoTranscript`] when there is no such folder or it is empty.
pub fn claude_code(env: &Env) -> Result<Sources> {
    let config = match env.var("CLAUDE_CONFIG_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => env.user_home()?.join(".claude"),
    };
    let projects = config.join("projects");
    let mut sources = Sources::default();
    if projects.is_dir() {
        walk(&projects, &mut sources);
    }
    // Sub-agents are skipped by content too; skipping them by name saves opening thousands of files.
    let sub_agent = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("agent-"));
    sources.files.retain(|p| p.extension().is_some_and(|e| e == "jsonl") && !sub_agent(p));
    if sources.files.is_empty() {
        return Err(Error::new(Kind::NoTranscript, format!("Claude Code has no transcripts in {}", projects.display()))
            .hint("set CLAUDE_CONFIG_DIR if its folder is elsewhere, or name the files to ingest"));
    }
    sort_by_change(&mut sources.files);
    Ok(sources)
}

/// Files that may be transcripts below a folder; symbolic links to folders are not followed.
fn walk(folder: &Path, sources: &mut Sources) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let detail = format!("the folder cannot be read: {error}");
            sources.problems.push(Problem { code: "unreadable", file: folder.display().to_string(), line: None, detail });
            return;
        }
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_ref()) {
                walk(&path, sources);
            }
        } else if path.is_file() && path.extension().is_some_and(|e| ENDINGS.iter().any(|end| e.eq_ignore_ascii_case(end))) {
            sources.files.push(path);
        }
    }
}

fn expand(pattern: &Path, sources: &mut Sources) -> Result<()> {
    let text = pattern.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return Ok(());
    }
    let matches = glob::glob(&text).map_err(|e| Error::new(Kind::Usage, format!("the pattern {text} cannot be read: {}", e.msg)))?;
    for path in matches.flatten() {
        if path.is_dir() { walk(&path, sources) } else { sources.files.push(path) }
    }
    Ok(())
}

fn sort_by_change(files: &mut [PathBuf]) {
    files.sort_by_cached_key(|p| (fs::metadata(p).and_then(|m| m.modified()).ok(), p.clone()));
}
