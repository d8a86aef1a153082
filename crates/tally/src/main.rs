//! `tally`: the command line with the built-in contracts and flows.

use std::process::ExitCode;

fn main() -> ExitCode {
    tally::main_with(|_, _| Ok(()))
}
