//! What ties claude-mem to Claude Code: its hooks, the queue of conversations that have ended, the reader in the background,
//! the wiring in its settings, and its own memory.

pub mod doctor;
pub mod hooks;
pub mod native;
pub mod queue;
pub mod session;
pub mod settings;
pub mod told;
pub mod trouble;
pub mod wiring;
pub mod worker;

use std::path::Path;

/// A file of this name in a folder or above it switches everything off there.
pub const IGNORE: &str = ".claude-memignore";

/// Set for our children: a hook that sees it does nothing, so a reader that starts Claude Code is never read itself.
pub const INTERNAL: &str = "CLAUDE_MEM_INTERNAL";

/// Whether the owner keeps claude-mem out of this folder.
pub fn is_ignored(cwd: &Path) -> bool {
    cwd.ancestors().any(|folder| folder.join(IGNORE).symlink_metadata().is_ok())
}

/// A session id as a file name: as it is where it is a plain one, else its digest.
fn file_name(session: &str) -> String {
    let plain = !session.is_empty() && session.len() <= 64 && session.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if plain { session.to_owned() } else { crate::store::sha256(session.as_bytes()).chars().take(32).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_never_a_path() {
        assert_eq!(file_name("0cba8f0c-26e8-4770"), "0cba8f0c-26e8-4770");
        for foreign in ["", "../../etc/passwd", "a/b", "会话", "a b", &"x".repeat(65)] {
            let name = file_name(foreign);
            assert!(name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit()), "{foreign}: {name}");
        }
    }
}
