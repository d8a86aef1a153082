//! Chain networks with everything that goes wrong, and what must hold in the end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sim::chain::{ChainBug, ChainOptions, ChainReport, ChainTally, run_chain};

/// Runs so many seeds on all processors; the reports in the order of the seeds.
fn reports(first: u64, runs: u64, nodes: usize) -> Vec<ChainReport> {
    let next = AtomicU64::new(first);
    let all = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs {
                        return;
                    }
                    let report = run_chain(&ChainOptions {
                        nodes,
                        ..ChainOptions::new(seed)
                    });
                    all.lock().expect("no panic within").push(report);
                }
            });
        }
    });
    let mut all = all.into_inner().expect("no panic within");
    all.sort_by_key(|report| report.options.seed);
    all
}

fn check_clean(reports: &[ChainReport]) -> ChainTally {
    let failures: Vec<String> = reports
        .iter()
        .filter(|report| !report.is_clean())
        .map(ChainReport::failure)
        .collect();
    let shown: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} of {} seeds failed; the first:\n{}",
        failures.len(),
        reports.len(),
        shown.join("\n")
    );
    let mut all = ChainTally::default();
    for report in reports {
        all += report.tally;
    }
    println!("{all:?}");
    all
}

#[test]
fn small_networks_converge_and_lose_nothing() {
    let all = check_clean(&reports(1, 200, 0));
    // The faults have teeth.
    assert!(all.forks > 100 && all.deepest_fork >= 3, "{all:?}");
    assert!(all.crashes > 100 && all.batches_lost > 20, "{all:?}");
    assert!(all.attacks > 1_000 && all.bans > 10, "{all:?}");
    assert!(all.messages_lost > 100, "{all:?}");
    assert!(all.resigned > 100, "{all:?}");
}

#[test]
fn the_audit_finds_planted_bugs() {
    for bug in ChainBug::ALL {
        let found = (1..40).find(|seed| {
            let options = ChainOptions {
                bug: Some(bug),
                ..ChainOptions::new(*seed)
            };
            !run_chain(&options).is_clean()
        });
        assert!(found.is_some(), "{bug:?}");
        println!("{bug:?}: found by seed {found:?}");
    }
}

#[test]
fn a_network_of_two_dozen_nodes_converges() {
    check_clean(&reports(1, 2, 24));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, second) = (reports(1, 6, 0), reports(1, 6, 0));
    for (one, other) in first.iter().zip(&second) {
        let seed = one.options.seed;
        assert_eq!(
            (one.trace, one.tally),
            (other.trace, other.tally),
            "seed {seed}"
        );
    }
    assert_ne!(first[0].trace, first[1].trace);
}

/// Some minutes, or as many seeds as `CHAIN_SIM_RUNS` says: `cargo test --release -p sim --test chain -- --ignored`.
#[test]
#[ignore = "minutes; for the slow profile"]
fn thousands_of_small_networks_converge_and_lose_nothing() {
    let asked = std::env::var("CHAIN_SIM_RUNS").ok();
    let runs = asked.and_then(|text| text.parse().ok()).unwrap_or(3_000);
    check_clean(&reports(10_000, runs, 0));
    check_clean(&reports(20_000, runs / 100, 24));
}
