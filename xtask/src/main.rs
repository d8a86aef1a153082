//! Repository chores, run as `cargo xtask NAME`.
//!
//! | chore | task |
//! |---|---|
//! | `layering` | reads `cargo metadata` and the pure crates' sources; fails on an edge or a name the design forbids; `layering cycles` lists uses between files that form a cycle |
//! | `secrets` | reads all sources; fails on a field with the name of a secret whose type shows its value |
//! | `deps` | licences and sources of every dependency |
//! | `docs [--check]` | writes (or compares) pages generated from the code, checks links and listings; then writes the book |
//! | `results` | writes the pages of docs/results from the saved run files, as `docs` does |
//! | `test [ARGUMENTS..]` | `cargo test` over the workspace or the given crates, one suite after another, then the time of each suite |
//! | `bench NAMES..` | runs each benchmark and merges their JSON lines into one |
//! | `lab [--json] [--full] [NAMES..]` | runs the shipped scenarios of the laboratory into target/lab; with `--json` prints their main figures as one line |
//! | `properties [SECONDS] [CRATES..]` | runs the tests of the pure crates again and again |
//! | `fuzz [SECONDS] [TARGETS..]` | runs the fuzz targets one after another |
//!
//! Only `docs` and `results` change tracked files.

mod bench;
mod book;
mod cargo;
mod codes;
mod cycles;
mod deps;
mod docs;
mod error_pages;
mod errors;
mod fields;
mod fuzz;
mod lab;
mod layering;
mod lexer;
mod limits;
mod links;
mod listings;
mod metadata;
mod metrics;
mod programs;
mod properties;
mod results;
mod secrets;
mod source;
mod spdx;
mod suites;
mod tree;
mod value;
mod walks;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    // Without a chore, the empty name leads to the usage.
    let chore = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let outcome = match chore.as_str() {
        "layering" => layering::run(&rest),
        "secrets" => secrets::run(),
        "deps" => deps::run(),
        "docs" => docs::run(&rest).and_then(|()| book::run(&rest)),
        "results" => docs::run_results(&rest),
        "fuzz" => fuzz::run(&rest),
        "properties" => properties::run(&rest),
        "test" => suites::run(&rest),
        "bench" => bench::run(&rest),
        "lab" => lab::run(&rest),
        _ => Err(anyhow::anyhow!(
            "unknown chore {chore:?}; there are: layering, secrets, deps, docs, results, test, bench, lab, properties or fuzz"
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
