//! The program: see `claude_mem::cli`.

fn main() {}
