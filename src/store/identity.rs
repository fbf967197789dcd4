//! Which project a working folder belongs to: by its git common dir, read from the `.git` files without starting git.

use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{self, fit_name};
use super::{GLOBAL, Store};
use crate::error::Result;

/// What a project can be bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The git common dir (the same for all worktrees), else the folder itself. Canonical.
    pub path: PathBuf,
    /// The top of the work tree, else the folder itself: paths inside the project count from here.
    pub folder: PathBuf,
}

impl Root {
    /// Whether it is a repository, not just a folder.
    pub fn is_repository(&self) -> bool {
        self.path != self.folder
    }
}

/// Where a working folder stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Here {
    /// In a project that has memories.
    Project(String),
    /// In a repository that is no project yet: its root, and the name it would get.
    Repository(Root, String),
    /// Neither.
    Nowhere,
}

/// The root of a working folder.
pub fn root_of(cwd: &Path) -> Root {
    let cwd = canonical(cwd);
    let found = cwd.ancestors().find_map(|folder| Some((folder, common_dir(&folder.join(".git"))?)));
    match found {
        Some((folder, common)) => Root { path: common, folder: folder.to_path_buf() },
        None => Root { path: cwd.clone(), folder: cwd },
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The common dir behind a `.git`: the folder itself, or where the file of a worktree or submodule leads
/// (gitrepository-layout: `gitdir: PATH`, then `commondir` in there).
fn common_dir(git: &Path) -> Option<PathBuf> {
    let folder = if git.is_dir() {
        // A folder that is only called so, without a HEAD, is no repository.
        git.join("HEAD").exists().then(|| git.to_path_buf())?
    } else {
        let text = fs::read_to_string(git).ok()?;
        let target = text.lines().next()?.strip_prefix("gitdir:")?.trim();
        git.parent()?.join(target)
    };
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(text) => folder.join(text.trim()),
        Err(_) => folder,
    };
    Some(canonical(&common))
}

/// The name a new project would get: its main folder's name, made to fit.
pub fn plain_name(root: &Root) -> String {
    let file_name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = match file_name(&root.path).as_deref() {
        // The main work tree names the project, also seen from another worktree.
        Some(".git") => root.path.parent().and_then(file_name),
        Some(name) => Some(name.strip_suffix(".git").filter(|n| !n.is_empty()).unwrap_or(name).to_owned()),
        None => None,
    };
    fit_name(&name.unwrap_or_default())
}

impl Store {
    /// The project that a working folder belongs to: bound to its git common dir, else to the nearest folder above it.
    ///
    /// # Errors
    /// If the home cannot be read.
    pub fn project_of(&self, cwd: &Path) -> Result<Option<String>> {
        let root = root_of(cwd);
        let cwd = canonical(cwd);
        let in_repository = root.is_repository();
        // How deep a binding that applies here is. One to a folder above a repository does not reach into it.
        let depth = |bound: &str| {
            let bound = Path::new(bound);
            let folder = if bound == root.path { &root.folder } else { bound };
            let applies = cwd.starts_with(folder) && (!in_repository || folder.starts_with(&root.folder));
            applies.then(|| folder.components().count())
        };
        let deepest = |roots: &[String]| roots.iter().filter_map(|r| depth(r)).max();
        let projects = self.project_infos()?.into_iter().filter(|p| p.name != GLOBAL);
        Ok(projects.filter_map(|p| Some((deepest(&p.roots)?, p.name))).max().map(|(_, name)| name))
    }

    /// Where a working folder stands.
    ///
    /// # Errors
    /// If the home cannot be read.
    pub fn here(&self, cwd: &Path) -> Result<Here> {
        if let Some(name) = self.project_of(cwd)? {
            return Ok(Here::Project(name));
        }
        let root = root_of(cwd);
        if !root.is_repository() {
            return Ok(Here::Nowhere);
        }
        let name = self.default_name(&root)?;
        Ok(Here::Repository(root, name))
    }

    /// A free name for a new project at this root: the plain one, or with `-2`, `-3`, … where that is taken.
    ///
    /// # Errors
    /// If the home cannot be read.
    pub fn default_name(&self, root: &Root) -> Result<String> {
        let plain = plain_name(root);
        let taken: Vec<String> = self.projects()?;
        let numbered = (2..).map(|n| {
            let suffix = format!("-{n}");
            let stem: String = plain.chars().take(64 - suffix.len()).collect();
            format!("{stem}{suffix}")
        });
        layout::check_name(&plain)?;
        for name in std::iter::once(plain.clone()).chain(numbered).take(10_000) {
            // "API" and "api" are one folder on a disk that knows no case.
            let clash = taken.iter().any(|p| *p != name && p.to_lowercase() == name.to_lowercase());
            if !clash && self.is_vacant(&name)? {
                return Ok(name);
            }
        }
        Ok(plain)
    }
}
