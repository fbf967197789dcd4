//! The one error type: a sentence, a hint, and the class that decides the exit code.

use std::fmt;

/// Everything that can go wrong for a user. `Result` of the whole library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of a failure; each has one exit code (design: "Commands").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything that has no class of its own: exit 1.
    Failure,
    /// The command line asks for something that does not exist: exit 2.
    Usage,
    /// The configuration is wrong or lacks something: exit 3.
    Config,
    /// No transcript could be read: exit 4.
    NoTranscript,
    /// The API refused or could not be reached: exit 5.
    Api,
    /// A person has to decide first: exit 6.
    Decision,
    /// The store is in use, or changed under us: exit 7.
    Busy,
    /// Ctrl-C: exit 130, as shells expect.
    Interrupted,
}

impl Kind {
    /// The process exit code of this class.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::NoTranscript => 4,
            Self::Api => 5,
            Self::Decision => 6,
            Self::Busy => 7,
            Self::Interrupted => 130,
        }
    }
}

/// One failure: what happened in one sentence, and the one thing to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Class, hence exit code.
    pub kind: Kind,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// The one thing to do, shown as `hint: …`.
    pub hint: Option<String>,
}

impl Error {
    /// An error of a class with its sentence.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A plain failure (exit 1).
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(Kind::Failure, message)
    }

    /// The same error with its hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An I/O error in the words of a user: `cannot {doing} {path}: {cause}`.
    pub fn io(doing: &str, path: &std::path::Path, cause: &std::io::Error) -> Self {
        let hint = match cause.kind() {
            std::io::ErrorKind::NotFound => "check the path",
            std::io::ErrorKind::PermissionDenied => "check who owns it and its permissions",
            std::io::ErrorKind::ReadOnlyFilesystem => "the folder is read-only; choose another with --home",
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "free some disk space and run the same command again; nothing was changed"
            }
            _ => "run the same command again; nothing was changed",
        };
        Self::failure(format!("cannot {doing} {}: {}", path.display(), plain_cause(cause))).hint(hint)
    }
}

/// The cause without the `(os error N)` that means nothing to a reader.
fn plain_cause(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// What a reader met on the way without stopping: counted and reported, never an abort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Short stable code in lower case, such as `bad_json`, `cut_line`, `encoding`.
    pub code: &'static str,
    /// File the problem is in, as shown to the user; empty where the caller knows it.
    pub file: String,
    /// 1-based line, where lines make sense.
    pub line: Option<u64>,
    /// One sentence.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        } else if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{} ({})", self.detail, self.code)
    }
}
