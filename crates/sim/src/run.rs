//! Runs one simulation, or many on all cores.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use primitives::Hash;

use crate::world::World;
use crate::{Bug, Report, SimOptions, Tally, Violation};

/// Runs one simulation from its seed. A panic counts as a violation.
pub fn run(options: &SimOptions) -> Report {
    let outcome = catch_unwind(AssertUnwindSafe(|| World::new(options).run()));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let what = format!(
            "panicked: {}",
            text.unwrap_or("with a value that is not text")
        );
        Report {
            options: options.clone(),
            trace: Hash::ZERO,
            lines: 0,
            text: None,
            violations: vec![Violation(what)],
            tally: Tally::default(),
        }
    })
}

/// Runs many simulations on all cores, and passes on each report when it is ready.
pub fn run_all(
    seeds: Range<u64>,
    bug: Option<Bug>,
    keep_trace: bool,
    tell: impl Fn(Report) + Sync,
) {
    let options = SimOptions {
        bug,
        keep_trace,
        ..SimOptions::new(0)
    };
    run_like(seeds, &options, tell);
}

/// Runs many simulations on all cores, with these options and other seeds.
pub fn run_like(seeds: Range<u64>, options: &SimOptions, tell: impl Fn(Report) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    tell(run(&SimOptions {
                        seed,
                        ..options.clone()
                    }));
                }
            });
        }
    });
}
