//! The program: hands its arguments to `claude_mem::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    claude_mem::cli::main(std::env::args_os().collect())
}
