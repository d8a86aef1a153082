//! Chain networks with all faults, and the checks at the end of a run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sim::chain::{ChainBug, ChainOptions, ChainReport, ChainTally, Scenario, run_chain};

/// Runs a range of seeds on all processors, and returns the reports in the order of the seeds.
fn reports(first: u64, runs: u64, nodes: usize) -> Vec<ChainReport> {
    reports_of(Scenario::Mixed, first, runs, nodes)
}

fn reports_of(scenario: Scenario, first: u64, runs: u64, nodes: usize) -> Vec<ChainReport> {
    reports_with(first, runs, |seed| ChainOptions {
        nodes,
        scenario,
        ..ChainOptions::new(seed)
    })
}

fn reports_with(
    first: u64,
    runs: u64,
    options: impl Fn(u64) -> ChainOptions + Sync,
) -> Vec<ChainReport> {
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
                    let report = run_chain(&options(seed));
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
    // Check that the faults took effect.
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
fn networks_among_more_liars_than_honest_links_converge() {
    let all = check_clean(&reports_of(Scenario::Liars, 1, 60, 0));
    assert!(all.dismissed > 100 && all.attacks > 10_000, "{all:?}");
}

/// Runs sieges of attackers with 11 and 20 % of the stake.
fn besiege(seeds: u64, blocks: u32, production: bool) {
    for stake_percent in [11, 20] {
        let siege = Scenario::Siege {
            stake_percent,
            blocks,
            production,
        };
        let all = check_clean(&reports_of(siege, 1, seeds, 4));
        let expected = seeds * u64::from(blocks) * 6 / 10;
        assert!(all.blocks > expected, "{stake_percent} %: {all:?}");
        assert!(
            all.attacks > 0 && all.deep_branches > 0,
            "{stake_percent} %: {all:?}"
        );
    }
}

#[test]
fn an_honest_majority_never_stops_under_siege() {
    besiege(2, 700, false);
}

#[test]
fn a_forger_that_equivocates_each_time_delays_and_divides_no_node() {
    for stake_percent in [10, 30] {
        let (seeds, blocks) = (4, 300);
        let scenario = Scenario::Equivocation {
            stake_percent,
            blocks,
        };
        let all = check_clean(&reports_of(scenario, 1, seeds, 5));
        assert!(all.attacks > 50, "{stake_percent} %: {all:?}");
        assert!(all.evidence >= 5 * seeds * 8, "{stake_percent} %: {all:?}");
        let expected = seeds * u64::from(blocks) * 8 / 10;
        assert!(all.blocks > expected, "{stake_percent} %: {all:?}");
    }
}

/// Returns the difference between two shares of blocks: that of a node with a fast clock, and that of the same accounts with a
/// right clock. The second is about their stake. The luck of the draw is the same in both runs.
fn advantage(stake_tenths: usize, drift_percent: u32, seeds: u64, blocks: u32) -> f64 {
    let [right, fast] =
        [0, drift_percent].map(|drift_percent| share(stake_tenths, drift_percent, seeds, blocks));
    println!("{stake_tenths} tenths, {drift_percent} % of the drift: {right:.4} to {fast:.4}");
    fast - right
}

/// Returns the share of the blocks forged by a node whose clock is ahead by this percentage of the drift.
fn share(stake_tenths: usize, drift_percent: u32, seeds: u64, blocks: u32) -> f64 {
    let fast = Scenario::FastClock {
        stake_tenths,
        drift_percent,
        blocks,
    };
    let all = check_clean(&reports_of(fast, 1, seeds, 4));
    all.fast_blocks as f64 / all.blocks as f64
}

#[test]
fn a_fast_clock_forges_at_most_two_percent_above_its_stake() {
    for drift_percent in [50, 100, 300] {
        assert!(
            advantage(3, drift_percent, 4, 1_500) <= 0.02,
            "{drift_percent} %"
        );
    }
}

/// Five simulated days with the constants of a public network, and fast clocks over tens of thousands of blocks.
#[test]
#[ignore = "takes minutes: make slow"]
fn an_honest_majority_goes_on_for_days() {
    besiege(2, 5 * 1_440, true);
    for (stake_tenths, drift_percent) in [(1, 100), (3, 100), (4, 100), (3, 300)] {
        assert!(advantage(stake_tenths, drift_percent, 8, 5_000) <= 0.02);
    }
    // Ten drifts ahead is more than two block times. Such a forger extends its own losing blocks before it learns of the better
    // ones. A dishonest forger can do the same with a clock that is right, so this measures that power and not the clock.
    assert!(advantage(3, 1_000, 8, 5_000) <= 0.10);
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

/// Draws the adversaries of a seed: of 100 seeds five have many liars, and four a forger that equivocates or lays siege.
fn drawn(seed: u64) -> ChainOptions {
    let stake_percent = if seed.is_multiple_of(200) { 11 } else { 20 };
    let (scenario, nodes) = match seed % 100 {
        0 => {
            let siege = Scenario::Siege {
                stake_percent,
                blocks: 700,
                production: false,
            };
            (siege, 4)
        }
        1..=3 => {
            let equivocation = Scenario::Equivocation {
                stake_percent,
                blocks: 300,
            };
            (equivocation, 5)
        }
        4..=8 => (Scenario::Liars, 0),
        _ => (Scenario::Mixed, 0),
    };
    ChainOptions {
        nodes,
        scenario,
        ..ChainOptions::new(seed)
    }
}

/// Takes some minutes. `CHAIN_SIM_RUNS` sets the number of seeds: `cargo test --profile checked -p sim --test it chain:: -- --ignored`.
#[test]
#[ignore = "takes minutes: make slow"]
fn thousands_of_small_networks_converge_and_lose_nothing() {
    let asked = std::env::var("CHAIN_SIM_RUNS").ok();
    let runs = asked.and_then(|text| text.parse().ok()).unwrap_or(10_000);
    check_clean(&reports_with(10_000, runs, drawn));
    check_clean(&reports(100_000, runs / 200, 24));
}
