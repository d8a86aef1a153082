//! `tally`: the command line. Each command is a file under `commands`; the laboratory's are `demo` and `bench`.

mod allocator;
mod bench;
mod cli;
mod commands;
mod demo;
mod failure;
mod output;
mod target;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.command.wants_json();
    match cli::run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
