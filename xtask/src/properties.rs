//! Repeats the tests of the pure crates for a set time each: properties draw new cases in every run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::programs::{self, Program};

/// The pure crates (`ARCHITECTURE.md`).
const PURE: &[&str] = &[
    "primitives",
    "ledger",
    "vault",
    "notary",
    "flow",
    "chain",
    "transfer",
    "finance",
    "kernel",
];

/// Runs the chore. Its arguments are the seconds for each crate, then names of crates (default: all).
pub fn run(arguments: &[String]) -> Result<()> {
    let seconds: u64 = match arguments.first() {
        Some(text) => text
            .parse()
            .context("the first argument must be the number of seconds for each crate")?,
        None => 60,
    };
    // Without names, all crates run.
    let wanted = arguments.get(1..).unwrap_or_default();
    for name in PURE {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            let runs = repeat(name, Duration::from_secs(seconds))?;
            println!("properties: {name:<12} {runs:>5} runs, nothing found");
        }
    }
    Ok(())
}

/// Runs a crate's tests until the time is over, at least once, and returns the number of runs.
fn repeat(name: &str, time: Duration) -> Result<u64> {
    let arguments = ["--lib", "--tests", "--package", name].map(str::to_owned);
    let programs = programs::build(&arguments)?;
    let start = Instant::now();
    let mut runs = 0;
    while runs == 0 || start.elapsed() < time {
        for program in &programs {
            run_once(program)?;
        }
        runs += 1;
    }
    Ok(runs)
}

fn run_once(program: &Program) -> Result<()> {
    let output = program
        .command()
        .arg("--quiet")
        .output()
        .with_context(|| program.executable.display().to_string())?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stdout));
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("found something: see above");
    }
    Ok(())
}
