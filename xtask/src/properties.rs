//! Repeats the tests of the pure crates for a set time each: properties draw new cases in every run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;
use crate::metadata;

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
        Some(text) => text.parse().context("seconds for each crate")?,
        None => 60,
    };
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
    let binaries = binaries(name)?;
    let folder = metadata::root().join("crates").join(name);
    let start = Instant::now();
    let mut runs = 0;
    while runs == 0 || start.elapsed() < time {
        for binary in &binaries {
            run_once(binary, &folder)?;
        }
        runs += 1;
    }
    Ok(runs)
}

fn run_once(binary: &Path, folder: &Path) -> Result<()> {
    let output = Command::new(binary)
        .arg("--quiet")
        .current_dir(folder)
        .output()
        .with_context(|| binary.display().to_string())?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stdout));
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("found something: see above");
    }
    Ok(())
}

/// Builds the test binaries of a crate and returns them.
fn binaries(name: &str) -> Result<Vec<PathBuf>> {
    let output = cargo()
        .args(["test", "--release", "--locked", "--no-run"])
        .args([
            "--message-format=json",
            "--lib",
            "--tests",
            "--package",
            name,
        ])
        .current_dir(metadata::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo test does not start")?;
    if !output.status.success() {
        bail!("the tests of {name} do not build");
    }
    let text = String::from_utf8(output.stdout).context("output that is not text")?;
    Ok(text.lines().filter_map(executable).collect())
}

/// Returns the test binary that a line of cargo's messages names.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    message["executable"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_binaries_are_run() {
        for (line, expected) in [
            (
                r#"{"profile":{"test":true},"executable":"/t/a"}"#,
                Some("/t/a"),
            ),
            (r#"{"profile":{"test":false},"executable":"/t/b"}"#, None),
            (r#"{"profile":{"test":true},"executable":null}"#, None),
            ("not JSON", None),
        ] {
            assert_eq!(executable(line), expected.map(PathBuf::from), "{line}");
        }
    }
}
