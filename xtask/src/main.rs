//! Repository chores, run as `cargo xtask NAME`.
//!
//! | chore | what it does |
//! |---|---|
//! | `layering` | reads `cargo metadata` and the pure crates' sources; fails on an edge or a name the design forbids |
//! | `deps` | licences and sources of every dependency |
//! | `test` | `cargo test` over the workspace, then the time of each suite |
//! | `bench NAMES..` | runs `tally bench NAME` for each and merges their JSON lines into one |
//!
//! Chores only read the repository, unless their name says otherwise.

mod bench;
mod deps;
mod layering;
mod metadata;
mod source;
mod spdx;
mod suites;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let chore = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let outcome = match chore.as_str() {
        "layering" => layering::run(),
        "deps" => deps::run(),
        "test" => suites::run(&rest),
        "bench" => bench::run(&rest),
        _ => Err(anyhow::anyhow!(
            "unknown chore {chore:?}; there are: layering, deps, test, bench"
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {chore}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
