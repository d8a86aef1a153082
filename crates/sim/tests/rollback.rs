//! Nodes that are put back on older copies of their disks: they notice, stop, recover, and no money doubles.

use std::sync::Mutex;

use sim::{Report, SimOptions, run_like};

#[test]
fn no_older_copy_makes_double_money() {
    let options = SimOptions {
        rollback: true,
        ..SimOptions::new(0)
    };
    let all = Mutex::new(Vec::new());
    run_like(1..101, &options, |report| {
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
    let rollbacks: u64 = all.iter().map(|report| report.tally.rollbacks).sum();
    assert!(rollbacks > 60, "only {rollbacks} copies were older");
}
