//! Coverage-guided fuzzing of every decoder with the pinned stable toolchain: libFuzzer from the registry, and the compiler's
//! coverage instrumentation switched on by code-generation flags (no nightly compiler, nothing to install but `c++`).

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::cargo;
use crate::metadata;

/// Flags that make the compiler count edges for libFuzzer.
const INSTRUMENTATION: &[&str] = &[
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];
/// Memory limit of a target. A target that exceeds it has found an allocation that its input does not justify.
const MEMORY_MB_MAX: u32 = 512;
/// Time limit of an input, in seconds. An input that exceeds it has found a loop.
const SECONDS_MAX: u32 = 10;

/// Runs the chore. Its arguments are the seconds for each target, then names of targets (default: all).
pub fn run(arguments: &[String]) -> Result<()> {
    let seconds: u32 = match arguments.first() {
        Some(text) => text
            .parse()
            .context("the first argument must be the number of seconds for each target")?,
        None => 60,
    };
    let folder = metadata::root().join("fuzz");
    let host = host()?;
    let status = cargo()
        .args([
            "build",
            "--release",
            "--locked",
            "--target",
            &host,
            "--bins",
        ])
        .current_dir(&folder)
        .env("RUSTFLAGS", INSTRUMENTATION.join(" "))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .status()
        .context("cargo build does not start")?;
    if !status.success() {
        bail!("the fuzz targets do not build");
    }
    let mut failed = Vec::new();
    let mut names = targets(&folder)?;
    if arguments.len() > 1 {
        names.retain(|name| arguments[1..].contains(name));
    }
    for name in &names {
        let corpus = folder.join("corpus").join(name);
        let artifacts = folder.join("artifacts").join(name);
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&artifacts)?;
        let output = Command::new(folder.join("target").join(&host).join("release").join(name))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-rss_limit_mb={MEMORY_MB_MAX}"))
            .arg(format!("-timeout={SECONDS_MAX}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args(["-print_final_stats=1", "-verbosity=0"])
            .arg(&corpus)
            .output()
            .with_context(|| format!("{name} does not start"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            let inputs = said
                .lines()
                .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
                // An older libFuzzer does not tell the number.
                .unwrap_or("?");
            println!(
                "fuzz: {name:<20} {:>12} inputs, nothing found",
                inputs.trim()
            );
        } else {
            eprintln!("{said}");
            failed.push(format!("{name}: see {}", artifacts.display()));
        }
    }
    if !failed.is_empty() {
        bail!("found something:\n{}", failed.join("\n"));
    }
    println!(
        "fuzz: {} targets, {seconds} s each, nothing found",
        names.len()
    );
    Ok(())
}

/// Returns the targets, one for each file.
fn targets(folder: &std::path::Path) -> Result<Vec<String>> {
    let targets = folder.join("src").join("bin");
    let mut names = Vec::new();
    for entry in fs::read_dir(&targets).with_context(|| targets.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let stem = path.file_stem().context("a fuzz target has no file name")?;
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the host's target triple. With an explicit target, cargo does not pass the flags to build scripts.
fn host() -> Result<String> {
    // Outside of cargo, it is the one of the search path.
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()
        .context("rustc does not start")?;
    let text = String::from_utf8(output.stdout).context("rustc -vV is not text")?;
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc -vV names no host")
}
