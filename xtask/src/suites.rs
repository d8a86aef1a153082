//! Runs the tests of the whole workspace in the one release profile, and reports the time of each suite.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo::cargo;
use crate::metadata;

/// The result of one test binary, or of one crate's documentation tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Suite {
    name: String,
    passed: u64,
    failed: u64,
    ignored: u64,
    took: Duration,
}

/// Runs the chore and passes `arguments` to `cargo test`.
pub fn run(arguments: &[String]) -> Result<()> {
    let mut child = cargo()
        .args([
            "test",
            "--release",
            "--locked",
            "--workspace",
            "--no-fail-fast",
        ])
        .args(arguments)
        .current_dir(metadata::root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo test does not start")?;
    let stderr = child.stderr.take().context("no stderr")?;
    let stdout = child.stdout.take().context("no stdout")?;
    // Cargo names a suite on stderr before its start, and the suite prints its result on stdout. Both are forwarded at once.
    let (names, received) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            if let Some(name) = suite_name(&line) {
                // The receiver lives as long as the loop below.
                let _ = names.send((name, Instant::now()));
            }
        }
    });
    let mut suites = Vec::new();
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        println!("{line}");
        if let Some(mut suite) = result_line(&line) {
            if let Ok((name, started)) = received.recv_timeout(Duration::from_secs(10)) {
                suite.name = name;
                suite.took = started.elapsed();
            }
            suites.push(suite);
        }
    }
    let status = child.wait()?;
    // The reader ends with the pipe that the child just closed.
    let _ = reader.join();
    print(&suites);
    let failed: u64 = suites.iter().map(|suite| suite.failed).sum();
    if !status.success() || failed > 0 {
        bail!("tests failed ({status})");
    }
    Ok(())
}

fn print(suites: &[Suite]) {
    println!("\nsuite                                     passed failed ignored  seconds");
    for suite in suites {
        if suite.passed + suite.failed + suite.ignored > 0 {
            println!(
                "{:<41} {:>6} {:>6} {:>7} {:>6}.{:02}",
                suite.name,
                suite.passed,
                suite.failed,
                suite.ignored,
                suite.took.as_secs(),
                suite.took.subsec_millis() / 10
            );
        }
    }
    let sum = |count: fn(&Suite) -> u64| suites.iter().map(count).sum::<u64>();
    println!(
        "\n{} passed, {} failed, {} skipped",
        sum(|suite| suite.passed),
        sum(|suite| suite.failed),
        sum(|suite| suite.ignored)
    );
}

/// Returns the short name of the suite that cargo announces with this line, such as `crate unittests`, `crash` or `doc ledger`.
fn suite_name(line: &str) -> Option<String> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc {name}"));
    }
    let rest = line.strip_prefix("Running ")?;
    let (what, binary) = rest.rsplit_once(" (")?;
    let file = binary.trim_end_matches(')').rsplit('/').next()?;
    let short = file.rsplit_once('-').map_or(file, |(short, _)| short);
    Some(if what.starts_with("unittests") {
        format!("{short} (unit)")
    } else {
        short.to_owned()
    })
}

/// Parses `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
fn result_line(line: &str) -> Option<Suite> {
    let rest = line.strip_prefix("test result: ")?;
    let count = |word: &str| {
        let before = rest.split(word).next()?;
        before
            .rsplit([' ', ';', '.'])
            .find(|part| !part.is_empty())?
            .parse()
            .ok()
    };
    Some(Suite {
        passed: count(" passed")?,
        failed: count(" failed")?,
        ignored: count(" ignored")?,
        ..Suite::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(suite_name(line).as_deref(), expected, "{line}");
        };
        check(
            "     Running unittests src/lib.rs (target/release/deps/ledger-0123456789abcdef)",
            Some("ledger (unit)"),
        );
        check(
            "     Running tests/crash.rs (target/release/deps/crash-0123456789abcdef)",
            Some("crash"),
        );
        check("   Doc-tests flow", Some("doc flow"));
        check("   Compiling flow v0.1.0", None);
    }

    #[test]
    fn results() {
        let suite = result_line(
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.50s",
        );
        assert_eq!(
            suite,
            Some(Suite {
                passed: 12,
                failed: 3,
                ignored: 1,
                ..Suite::default()
            })
        );
        assert_eq!(result_line("test ledger::x ... ok"), None);
    }
}
