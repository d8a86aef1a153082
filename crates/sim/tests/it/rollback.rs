//! Nodes that are put back on older copies of their disks. They must notice it, stop and recover, and no money may be doubled.

use std::ops::Range;
use std::sync::Mutex;

use sim::{Report, SimOptions, run_like};

#[test]
fn no_older_copy_makes_double_money() {
    let rollbacks = check(1..101);
    assert!(rollbacks > 60, "only {rollbacks} copies were older");
}

/// Number of seeds of the long run: `SIM_RUNS`, or 10,000.
#[test]
#[ignore = "takes an hour: make slow"]
fn ten_thousand_older_copies_make_no_double_money() {
    let runs = std::env::var("SIM_RUNS").ok();
    let runs = runs.and_then(|runs| runs.parse().ok()).unwrap_or(10_000);
    let rollbacks = check(101..101 + runs);
    println!("{rollbacks} copies were older");
}

/// Runs the seeds, which must be clean. Returns the number of nodes that were put back on older copies.
fn check(seeds: Range<u64>) -> u64 {
    let options = SimOptions {
        rollback: true,
        ..SimOptions::new(0)
    };
    let all = Mutex::new(Vec::new());
    run_like(seeds, &options, |report| {
        all.lock().expect("no panic within").push(report);
    });
    let all = all.into_inner().expect("no panic within");
    let failures = all.iter().filter(|report| !report.is_clean());
    let failures: Vec<String> = failures.map(Report::failure).collect();
    let shown: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} seeds failed; the first:\n{}",
        failures.len(),
        shown.join("\n")
    );
    all.iter().map(|report| report.tally.rollbacks).sum()
}
