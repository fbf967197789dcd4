//! The last commits: a folder each with a manifest and the files as they were before, and which of them can be undone or
//! redone. Walking back and forth is in `undo`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::journal::{self, ADOPT, Manifest};
use super::{disk, layout};
use crate::error::{Error, Result};

/// How many commits are kept.
pub const KEPT: usize = 20;

/// Name of the command that takes commits back.
pub(super) const UNDO: &str = "undo";
/// Name of the command that takes an undo back.
pub(super) const REDO: &str = "redo";

/// Name of the command that gives a project another name.
pub(super) const RENAME: &str = "project rename";

/// Who or what made a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A conversation that was read.
    Ingest,
    /// The owner, by a command.
    Person,
    /// A proposal of `refine` that the owner accepted.
    Refine,
    /// Age: `prune`.
    Decay,
    /// Another store: `import`, `restore`.
    Import,
    /// The owner, with an editor in the Markdown itself.
    Hand,
}

impl By {
    /// Who uses a command. One that is not known here is a person's.
    pub fn of(command: &str) -> Self {
        match command.split(' ').next().unwrap_or_default() {
            "ingest" => Self::Ingest,
            "refine" => Self::Refine,
            "prune" | "promote" => Self::Decay,
            "import" | "restore" | "native" => Self::Import,
            ADOPT => Self::Hand,
            _ => Self::Person,
        }
    }

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Person => "person",
            Self::Refine => "refine",
            Self::Decay => "decay",
            Self::Import => "import",
            Self::Hand => "by hand",
        }
    }
}

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

/// Drops all but the last [`KEPT`] commits that can be undone or redone, and what commits that never came to be left behind.
/// Of what undo walks over (adoptions, pairs of undo and redo, what was undone for good) as many are kept.
pub(super) fn trim(home: &Path) -> Result<()> {
    let (whole, cut): (Vec<u64>, Vec<u64>) =
        numbers(home)?.into_iter().partition(|seq| journal::folder(home, *seq).join("manifest.json").exists());
    let mut old = Vec::new();
    if whole.len() > KEPT {
        let Stacks { done, undone } = stacks(&list(home)?);
        let walked: BTreeSet<u64> = done.iter().chain(&undone).map(|m| m.seq).collect();
        let (steps, others): (Vec<u64>, Vec<u64>) = whole.into_iter().partition(|seq| walked.contains(seq));
        for kind in [steps, others] {
            old.extend_from_slice(&kind[..kind.len().saturating_sub(KEPT)]);
        }
    }
    for seq in old.iter().chain(&cut) {
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

/// The names that projects had, each as long as it was theirs: a project stays itself when it is renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<Span>);

/// A name, and the commits between which it was that of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    name: String,
    from: u64,
    to: u64,
}

impl Names {
    /// The projects that are called so now, with what they were called before. `history`: newest first.
    pub fn of(history: &[Manifest], now: &[String]) -> Self {
        let mut spans: Vec<Span> = now.iter().map(|name| Span { name: name.clone(), from: 0, to: u64::MAX }).collect();
        for (seq, old, new) in history.iter().filter_map(renamed) {
            let theirs = |span: &Span| span.name == new && (span.from..=span.to).contains(&seq);
            let Some(span) = spans.iter_mut().find(|span| theirs(span)) else { continue };
            span.from = seq;
            spans.push(Span { name: old.to_owned(), from: 0, to: seq });
        }
        Self(spans)
    }

    /// Whether a commit touched one of them.
    pub fn has(&self, manifest: &Manifest) -> bool {
        let projects = manifest.projects();
        self.0.iter().any(|span| projects.contains(span.name.as_str()) && (span.from..=span.to).contains(&manifest.seq))
    }

    /// Whether one of them was ever called so.
    pub fn knows(&self, name: &str) -> bool {
        self.0.iter().any(|span| span.name == name)
    }
}

/// The number, the name before and the name behind of a commit that renamed a project, or took that back.
fn renamed(manifest: &Manifest) -> Option<(u64, &str, &str)> {
    let command = manifest.takes_back.as_ref().map_or(&manifest.command, |back| &back.command);
    if command != RENAME {
        return None;
    }
    let catalogues = manifest.files.iter().filter_map(|f| Some((f.path.split_once('/').filter(|(_, file)| *file == layout::INDEX)?.0, f)));
    let (gone, came): (Vec<_>, Vec<_>) = catalogues.partition(|(_, f)| f.after.is_none());
    let ([(old, _)], [(new, _)]) = (gone.as_slice(), came.as_slice()) else { return None };
    Some((manifest.seq, old, new))
}

/// What can be taken back, and what was taken back and can come again; oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// What `undo` takes back, from the end.
    pub done: Vec<Manifest>,
    /// The undoing that `redo` takes back, from the end.
    pub undone: Vec<Manifest>,
}

/// Reads the history (newest first) like an editor: an undo moves its commit to the other side, a redo moves it back, and
/// whatever is committed anew ends what could be redone in its projects. Adopting what was typed by hand is no step.
pub fn stacks(history: &[Manifest]) -> Stacks {
    let mut stacks = Stacks::default();
    for manifest in history.iter().rev().filter(|m| !m.is_adoption()) {
        let taken = |list: &mut Vec<Manifest>, seq| list.iter().position(|m| m.seq == seq).map(|at| list.remove(at));
        match &manifest.takes_back {
            Some(back) if manifest.command == UNDO => {
                // A commit that is not kept any more was older than all that are.
                taken(&mut stacks.done, back.seq);
                stacks.undone.push(manifest.clone());
            }
            Some(back) => {
                taken(&mut stacks.undone, back.seq);
                stacks.done.push(manifest.clone());
            }
            None => {
                let projects = manifest.projects();
                stacks.undone.retain(|m| m.projects().is_disjoint(&projects));
                stacks.done.push(manifest.clone());
            }
        }
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prune_does_is_not_put_down_to_a_person() {
        assert_eq!(["prune", "promote", "resolve"].map(By::of), [By::Decay, By::Decay, By::Person]);
    }
}
