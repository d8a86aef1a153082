//! Runs a thousand networks with crashes and harmful members, repeats seeds, and looks for planted bugs.

use std::ops::Range;
use std::sync::Mutex;

use sim::{Adversary, Bug, Report, SimOptions, Tally, run, run_like};

/// Runs a range of seeds, and returns their reports in the order of the seeds.
fn reports(seeds: Range<u64>, bug: Option<Bug>, keep_trace: bool) -> Vec<Report> {
    let options = SimOptions {
        bug,
        keep_trace,
        ..SimOptions::new(0)
    };
    reports_like(seeds, &options)
}

fn reports_like(seeds: Range<u64>, options: &SimOptions) -> Vec<Report> {
    let all = Mutex::new(Vec::new());
    run_like(seeds, options, |report| {
        all.lock().expect("no panic within").push(report);
    });
    let mut all = all.into_inner().expect("no panic within");
    all.sort_by_key(|report| report.options.seed);
    all
}

fn check_clean(reports: &[Report]) {
    let failures: Vec<String> = reports
        .iter()
        .filter(|report| !report.is_clean())
        .map(Report::failure)
        .collect();
    let shown: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} of {} seeds failed; the first:\n{}",
        failures.len(),
        reports.len(),
        shown.join("\n")
    );
}

#[test]
fn a_thousand_networks_do_as_predicted() {
    let reports = reports(1..1_001, None, false);
    check_clean(&reports);
    let mut all = sim::Tally::default();
    for report in &reports {
        let tally = report.tally;
        let seed = report.options.seed;
        assert!(tally.flows >= 50, "seed {seed}: {tally:?}");
        assert!(tally.crashes >= 1, "seed {seed}: {tally:?}");
        all += tally;
    }
    // Check that the faults took effect: batches were lost, connections broke and messages were lost.
    assert!(all.batches_lost > 100, "{all:?}");
    assert!(all.breaks > 1_000, "{all:?}");
    assert!(all.messages_lost > 1_000, "{all:?}");
    assert!(all.cancelled > 100, "{all:?}");
    assert!(all.files > 1_000, "{all:?}");
    assert!(all.sessions_refused > 1_000, "{all:?}");
    assert!(all.replays > 10_000, "{all:?}");
    assert!(all.clock_jumps > 500, "{all:?}");
    assert!(all.silences > 100, "{all:?}");
    assert!(all.garbage > 100_000, "{all:?}");
    assert!(all.pruned > 10_000, "{all:?}");
    assert!(all.slowed > 100 && all.cut_offs > 100, "{all:?}");
    println!("{all:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let first = reports(1..21, None, true);
    let second = reports(1..21, None, true);
    for (one, other) in first.iter().zip(&second) {
        let seed = one.options.seed;
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert!(one.text.is_some() && one.text == other.text, "seed {seed}");
    }
    assert_ne!(first[0].trace, first[1].trace);
}

#[test]
fn a_failure_says_how_to_replay_it() {
    let options = SimOptions {
        bug: Some(Bug::SyncSkipped),
        ..SimOptions::new(3)
    };
    let report = run(&options);
    assert!(!report.is_clean());
    let command = "cargo run --profile checked -p sim -- --seed 3 --bug sync-skipped --trace";
    assert!(report.failure().ends_with(command), "{}", report.failure());
    assert_eq!(run(&options).failure(), report.failure());
}

/// Seeds that run before the failures are looked at. The search for a bug ends once it is found.
const SEEDS_AT_ONCE: usize = 10;

/// Checks that the bug is found within the seeds, with each of the expected complaints.
fn check_found(bug: Bug, seeds: u64, complaints: &[&str]) {
    check_found_by(None, bug, seeds, complaints);
}

/// Checks the same with this adversary in every seed.
fn check_found_by(adversary: Option<Adversary>, bug: Bug, seeds: u64, complaints: &[&str]) {
    let options = SimOptions {
        bug: Some(bug),
        adversary,
        ..SimOptions::new(0)
    };
    let mut failures: Vec<String> = Vec::new();
    for first in (1..=seeds).step_by(SEEDS_AT_ONCE) {
        let end = (first + SEEDS_AT_ONCE as u64).min(seeds + 1);
        let reports = reports_like(first..end, &options);
        let unclean = reports.iter().filter(|report| !report.is_clean());
        failures.extend(unclean.map(Report::failure));
        let is_found = |complaint: &&str| failures.iter().any(|text| text.contains(complaint));
        if !failures.is_empty() && complaints.iter().all(is_found) {
            return;
        }
    }
    assert!(!failures.is_empty(), "{} was not found", bug.name());
    for complaint in complaints {
        assert!(
            failures.iter().any(|failure| failure.contains(complaint)),
            "{}: expected a failure with {complaint:?}, found first: {}",
            bug.name(),
            failures[0]
        );
    }
}

#[test]
fn forgotten_locks_are_found() {
    check_found(Bug::LockForgotten, 100, &["notary.conflict"]);
}

#[test]
fn repeated_messages_are_found() {
    check_found(Bug::MessageRepeated, 20, &["(sim.converse): answered"]);
}

#[test]
fn skipped_syncs_are_found() {
    check_found(Bug::SyncSkipped, 20, &["before it was durable"]);
}

#[test]
fn torn_batches_are_found() {
    check_found(Bug::BatchTorn, 150, &[]);
}

#[test]
fn lost_client_ids_are_found() {
    check_found(Bug::ClientIdLost, 60, &["may have happened twice"]);
}

#[test]
fn early_acknowledgements_are_found() {
    check_found(Bug::DeliveryAcknowledgedEarly, 20, &["told delivered, but"]);
}

#[test]
fn forgotten_consumption_is_found() {
    check_found(Bug::ConsumptionForgotten, 20, &["but the notary has None"]);
}

#[test]
fn stale_views_are_found() {
    check_found(Bug::ViewStale, 20, &["states too many", "notary.conflict"]);
}

#[test]
fn lost_files_are_found() {
    check_found(Bug::FilesLost, 40, &["lacks its file"]);
}

#[test]
fn fresh_keys_that_a_view_does_not_know_are_found() {
    check_found(Bug::FreshKeysUnseen, 40, &["states too many and"]);
}

#[test]
fn lost_schedules_are_found() {
    check_found(Bug::ScheduleLost, 60, &["was never released"]);
}

#[test]
fn unwritten_claims_are_found_by_the_replayer() {
    let replayer = Some(Adversary::Replayer);
    let complaints = ["may have happened twice", "was predicted"];
    check_found_by(replayer, Bug::ClaimsForgotten, 30, &complaints);
}

#[test]
fn notaries_that_trust_a_jumped_clock_are_found() {
    let complaints = ["outside its window", "notary.time_window_invalid"];
    check_found_by(Some(Adversary::Clocks), Bug::ClockTrusted, 120, &complaints);
}

#[test]
fn locks_freed_while_their_transaction_can_be_notarised_are_found() {
    let silent = Some(Adversary::Silent);
    let complaints = ["can still be notarised"];
    check_found_by(silent, Bug::LocksFreedEarly, 100, &complaints);
}

#[test]
fn locks_that_a_silent_counterparty_keeps_are_found() {
    let silent = Some(Adversary::Silent);
    check_found_by(silent, Bug::LocksNeverFreed, 30, &["does not end"]);
}

#[test]
fn results_of_jobs_in_another_order_are_found() {
    let complaints = ["notary.invalid_request", "a signature on transaction"];
    check_found(Bug::JobsMisordered, 20, &complaints);
}

/// Number of seeds of the long run: `SIM_RUNS`, or 10,000.
fn long_runs() -> u64 {
    let runs = std::env::var("SIM_RUNS").ok();
    runs.and_then(|runs| runs.parse().ok()).unwrap_or(10_000)
}

#[test]
#[ignore = "takes an hour: make slow"]
fn ten_thousand_networks_do_as_predicted() {
    let (failures, all) = (Mutex::new(Vec::new()), Mutex::new(Tally::default()));
    run_like(1_001..1_001 + long_runs(), &SimOptions::new(0), |report| {
        if !report.is_clean() {
            println!("{}", report.failure());
            let failed = report.options.seed;
            failures.lock().expect("no panic within").push(failed);
        }
        *all.lock().expect("no panic within") += report.tally;
    });
    println!("{:?}", all.into_inner().expect("no panic within"));
    let failures = failures.into_inner().expect("no panic within");
    assert!(failures.is_empty(), "seeds {failures:?} failed");
}
