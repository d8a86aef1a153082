//! Nodes that are put back on older copies of their disks. They must notice it, stop and recover, and no money may be doubled.

use std::ops::Range;
use std::sync::Mutex;

use sim::{Report, SimOptions, Tally, run_like};

#[test]
fn no_older_copy_makes_double_money() {
    let tally = check(1..101);
    let (rollbacks, old_marks) = (tally.rollbacks, tally.old_marks);
    assert!(rollbacks > 60, "only {rollbacks} copies were older");
    assert!(old_marks > 30, "only {old_marks} nodes kept old marks");
    let late = tally.late_witnesses;
    assert!(
        late < 20,
        "{late} witnesses were late: most must be in time"
    );
}

/// Number of seeds of the long run: `SIM_RUNS`, or 10,000.
#[test]
#[ignore = "takes an hour: make slow"]
fn ten_thousand_older_copies_make_no_double_money() {
    let runs = std::env::var("SIM_RUNS").ok();
    let runs = runs.and_then(|runs| runs.parse().ok()).unwrap_or(10_000);
    println!("{:?}", check(101..101 + runs));
}

/// Runs the seeds, which must be clean.
fn check(seeds: Range<u64>) -> Tally {
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
    let mut tally = Tally::default();
    all.into_iter().for_each(|report| tally += report.tally);
    tally
}
