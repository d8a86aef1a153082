//! `tally`: the command line, with what is built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    tally::main_with(|_, _| Ok(()))
}
