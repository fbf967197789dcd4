//! Text in the owner's editor ($VISUAL, $EDITOR). Nothing typed is lost: what cannot be used stays in its file.

use std::path::PathBuf;
use std::process::Command;

use tempfile::NamedTempFile;

use super::app::App;
use crate::error::{Error, Kind, Result};

/// A text on its way through an editor.
#[derive(Debug)]
pub struct Draft(NamedTempFile);

fn failed(e: &std::io::Error) -> Error {
    Error::failure(format!("the editor's file cannot be used: {e}"))
}

impl Draft {
    /// Puts the text into a file of its own.
    pub fn new(name: &str, text: &str) -> Result<Self> {
        let file = tempfile::Builder::new().prefix(&format!("{name}-")).suffix(".md").tempfile().map_err(|e| failed(&e))?;
        std::io::Write::write_all(&mut file.as_file(), text.as_bytes()).map_err(|e| failed(&e))?;
        Ok(Self(file))
    }

    /// Opens it, waits, and gives the text as it was left.
    pub fn edit(&self, app: &App) -> Result<String> {
        let editor = app.env.var("VISUAL").or_else(|| app.env.var("EDITOR")).unwrap_or("vi");
        let mut command = editor.split_whitespace();
        let program = command.next().unwrap_or("vi");
        let status = Command::new(program).args(command).arg(self.0.path()).status();
        let status = status.map_err(|e| {
            Error::new(Kind::Config, format!("the editor {program} cannot be started: {e}")).hint("set EDITOR, or use flags")
        })?;
        if !status.success() {
            return Err(Error::failure(format!("the editor ended with {status}, so nothing was changed")).hint("edit again, or use flags"));
        }
        std::fs::read_to_string(self.0.path()).map_err(|e| failed(&e))
    }

    /// What came of the text. If that is an error, the file stays and the error names it.
    pub fn or_kept<T>(self, outcome: Result<T>) -> Result<T> {
        let Err(error) = outcome else { return outcome };
        let kept = format!("your text is kept in {}", self.keep()?.display());
        let hint = error.hint.as_ref().map_or_else(|| kept.clone(), |hint| format!("{hint}; {kept}"));
        Err(error.hint(hint))
    }

    /// Leaves the file behind, and says where.
    pub fn keep(self) -> Result<PathBuf> {
        self.0.into_temp_path().keep().map_err(|e| Error::failure(format!("the edited text could not be kept: {e}")))
    }
}
