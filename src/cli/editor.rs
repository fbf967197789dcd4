//! Text in the owner's editor ($VISUAL, $EDITOR). Nothing typed is lost: what cannot be used stays in its file. Nothing else
//! stays: the file has a folder of its own, which goes with whatever the editor put beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::app::App;
use crate::error::{Error, Kind, Result};
use crate::store::disk;

/// Editors that need a terminal to be of any use.
const FULL_SCREEN: &[&str] = &["vi", "vim", "nvim", "view", "nano", "pico", "micro", "hx", "helix", "kak", "joe", "ne", "mcedit"];

/// A text on its way through an editor.
#[derive(Debug)]
pub struct Draft {
    folder: TempDir,
    path: PathBuf,
    /// As it was put into the file.
    before: String,
}

fn failed(e: &std::io::Error) -> Error {
    Error::failure(format!("the editor's file cannot be used: {e}"))
}

impl Draft {
    /// Puts the text into a file of its own.
    pub fn new(name: &str, text: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("claude-mem-").tempdir().map_err(|e| failed(&e))?;
        let path = folder.path().join(format!("{name}.md"));
        disk::write(&path, text.as_bytes())?;
        Ok(Self { folder, path, before: text.to_owned() })
    }

    /// Opens it, waits, and gives the text as it was left. If that fails, what was typed is kept ([`Draft::or_kept`]).
    pub fn edit(self, app: &App) -> Result<(Self, String)> {
        match self.edited(app) {
            Ok(text) => Ok((self, text)),
            Err(error) => self.or_kept(Err(error)),
        }
    }

    fn edited(&self, app: &App) -> Result<String> {
        let editor = app.env.var("VISUAL").or_else(|| app.env.var("EDITOR")).unwrap_or("vi");
        let mut command = editor.split_whitespace();
        let program = command.next().unwrap_or("vi");
        let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if FULL_SCREEN.contains(&name) && !app.ui.has_screen() {
            return Err(Error::new(Kind::Decision, format!("there is no terminal to run the editor {program} at"))
                .hint("run it at a terminal, or set EDITOR to a program that needs none"));
        }
        let status = Command::new(program).args(command).arg(&self.path).status();
        let status = status.map_err(|e| {
            Error::new(Kind::Config, format!("the editor {program} cannot be started: {e}")).hint("set EDITOR, or use flags")
        })?;
        if !status.success() {
            return Err(Error::failure(format!("the editor ended with {status}, so nothing was changed")).hint("edit again, or use flags"));
        }
        self.text()
    }

    fn text(&self) -> Result<String> {
        std::fs::read_to_string(&self.path).map_err(|e| failed(&e))
    }

    /// What came of the text. If that is an error and something was typed, the file stays and the error names it.
    pub fn or_kept<T>(self, outcome: Result<T>) -> Result<T> {
        let Err(error) = outcome else { return outcome };
        // What cannot be read as text may be what was typed.
        if self.text().is_ok_and(|text| text == self.before) {
            return Err(error);
        }
        let kept = format!("your text is kept in {}", self.keep().display());
        let hint = error.hint.as_ref().map_or_else(|| kept.clone(), |hint| format!("{hint}; {kept}"));
        Err(error.hint(hint))
    }

    /// Leaves the file behind, and says where.
    pub fn keep(self) -> PathBuf {
        let _stays = self.folder.keep();
        self.path
    }
}
