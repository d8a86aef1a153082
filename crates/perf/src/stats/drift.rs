//! Finds drift in long stretches: rate, latency, memory and disk, by lines through block means.

use std::collections::BTreeMap;

use super::line::{block_means, fit};
use crate::results::{Estimate, Process, ProcessSample, Second, Stretch};

/// A shorter stretch has no meaningful drift.
const SECONDS_MIN: f64 = 60.0;
/// Number of blocks that a stretch is averaged over before a line is fitted.
const BLOCKS: usize = 20;
/// Minimum number of blocks with values for a line.
const BLOCKS_MIN: usize = 8;
const MS_PER_H: f64 = 3_600_000.0;
const MB: f64 = 1e6;

/// The drifts by metric's name.
const NAMES: [&str; 5] = [
    "rate_drift_percent_per_h",
    "p50_drift_percent_per_h",
    "rss_drift_mb_per_h",
    "database_rss_drift_mb_per_h",
    "disk_mb_per_h",
];

/// Returns the drifts of one stretch by metric's name; none for a short one.
pub(super) fn drifts(stretch: &Stretch) -> BTreeMap<&'static str, Estimate> {
    let blocks = drift_blocks(stretch);
    let drifts = NAMES.into_iter().filter_map(|name| {
        let blocks = blocks.get(name)?;
        let is_enough = blocks.len() >= BLOCKS_MIN;
        let line = is_enough.then(|| fit(blocks)).flatten()?;
        Some((name, line.slope))
    });
    drifts.collect()
}

/// Returns the block means that the lines of a stretch's drifts go through, by metric's name: hours, and the value in the metric's
/// unit. A stretch of a saved run file has them already, or none.
pub fn drift_blocks(stretch: &Stretch) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut found = stretch.drift_blocks.clone();
    if stretch.seconds < SECONDS_MIN || !found.is_empty() || !stretch.figures.is_empty() {
        return found;
    }
    let latency: Vec<_> = whole(stretch)
        .iter()
        .filter(|second| second.done > 0)
        .map(|second| (second.at_ms as f64, second.p50_ms))
        .collect();
    for (name, points) in [
        ("rate_drift_percent_per_h", rates(stretch)),
        ("p50_drift_percent_per_h", latency),
    ] {
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len().max(1) as f64;
        if mean > 0.0 {
            found.insert(name.to_owned(), blocks_of(&points, 100.0 / mean));
        }
    }
    for (name, of) in [
        ("rss_drift_mb_per_h", Of::Memory),
        ("database_rss_drift_mb_per_h", Of::DatabaseMemory),
        ("disk_mb_per_h", Of::Disk),
    ] {
        found.insert(name.to_owned(), blocks_of(&together(stretch, of), 1.0 / MB));
    }
    found.retain(|_, blocks| blocks.len() >= BLOCKS_MIN);
    found
}

/// Returns the block means of values over milliseconds, in hours and in another unit.
fn blocks_of(points: &[(f64, f64)], factor: f64) -> Vec<(f64, f64)> {
    let blocks = block_means(points, BLOCKS).into_iter();
    let scaled = blocks.map(|(ms, value)| (ms / MS_PER_H, value * factor));
    scaled.collect()
}

/// Returns the seconds of a stretch without the last one, which is incomplete.
fn whole(stretch: &Stretch) -> &[Second] {
    match stretch.series.split_last() {
        Some((_, whole)) => whole,
        None => &[],
    }
}

/// Returns the units completed in each whole second, with its time in milliseconds.
pub(super) fn rates(stretch: &Stretch) -> Vec<(f64, f64)> {
    let seconds = whole(stretch).iter();
    seconds
        .map(|second| (second.at_ms as f64, second.done as f64))
        .collect()
}

/// A sum over processes.
#[derive(Clone, Copy)]
enum Of {
    /// Resident memory of the nodes.
    Memory,
    /// Resident memory of the database servers.
    DatabaseMemory,
    /// Files of the nodes and of the database servers, since either may keep the ledger.
    Disk,
}

impl Of {
    fn counts(self, process: &Process) -> bool {
        match self {
            Of::Memory => !process.is_generator() && !process.is_database(),
            Of::DatabaseMemory => process.is_database(),
            Of::Disk => !process.is_generator(),
        }
    }

    /// Returns the value of a sample; `None` if it lacks it.
    fn value(self, sample: &ProcessSample) -> Option<u64> {
        let (value, is_missing) = match self {
            Of::Memory | Of::DatabaseMemory => (sample.rss_bytes, sample.missing.process),
            Of::Disk => (sample.disk_bytes, sample.missing.disk),
        };
        // Reports of earlier versions have 0 for a reading that is missing.
        (value > 0 && !is_missing).then_some(value)
    }
}

/// Returns the sum of the processes over time. Samples of one round have one time. A round without all of them is left out.
fn together(stretch: &Stretch, of: Of) -> Vec<(f64, f64)> {
    let mut rounds: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    let mut count = 0;
    for process in stretch.processes.iter().filter(|one| of.counts(one)) {
        count += 1;
        for sample in &process.samples {
            if let Some(value) = of.value(sample) {
                let round = rounds.entry(sample.at_ms).or_default();
                round.0 += 1;
                // Clipped, since a report that was read from a file may hold any numbers.
                round.1 = round.1.saturating_add(value);
            }
        }
    }
    let full = rounds.iter().filter(|(_, (known, _))| *known == count);
    full.map(|(at, (_, sum))| (*at as f64, *sum as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soak(seconds: u64, rate: impl Fn(u64) -> u64, rss: impl Fn(u64) -> u64) -> Stretch {
        Stretch {
            seconds: seconds as f64,
            series: (0..=seconds)
                .map(|at| Second {
                    at_ms: at * 1000,
                    done: rate(at),
                    p50_ms: 4.0,
                    ..Second::default()
                })
                .collect(),
            processes: ["notary", "bank-1", "generator"]
                .map(|name| Process {
                    name: name.to_owned(),
                    samples: (0..=seconds)
                        .map(|at| ProcessSample {
                            at_ms: at * 1000,
                            rss_bytes: rss(at),
                            ..ProcessSample::default()
                        })
                        .collect(),
                })
                .into(),
            ..Stretch::default()
        }
    }

    #[test]
    fn a_leak_is_a_slope_of_the_nodes_together() {
        let drifts = drifts(&soak(600, |_| 100, |at| 50_000_000 + at * 1000));
        let memory = &drifts["rss_drift_mb_per_h"];
        assert!((memory.value - 7.2).abs() < 1e-6, "{memory:?}");
        assert!(memory.low > Some(7.1));
        assert!(drifts["rate_drift_percent_per_h"].value.abs() < 1e-9);
        assert!(!drifts.contains_key("disk_mb_per_h"), "nobody looked");
    }

    #[test]
    fn databases_have_a_drift_of_their_own() {
        let mut stretch = soak(600, |_| 100, |at| 50_000_000 + at * 1000);
        let mut database = stretch.processes[0].clone();
        database.name = "database".to_owned();
        for sample in &mut database.samples {
            sample.rss_bytes = 900_000_000 + sample.at_ms * 5;
        }
        stretch.processes.push(database);
        let with = drifts(&stretch);
        for (name, expected) in [
            ("rss_drift_mb_per_h", 7.2),
            ("database_rss_drift_mb_per_h", 18.0),
        ] {
            let found = &with[name];
            assert!((found.value - expected).abs() < 1e-6, "{name}: {found:?}");
        }
        // A round in which one node was not read tells nothing of their sum.
        for sample in &mut stretch.processes[0].samples {
            sample.missing.process = true;
        }
        assert!(!drifts(&stretch).contains_key("rss_drift_mb_per_h"));
    }

    #[test]
    fn a_falling_rate_is_found_and_a_noisy_one_is_not() {
        let falling = drifts(&soak(600, |at| 1000 - at / 4 + at * 7 % 13, |_| 1));
        let rate = &falling["rate_drift_percent_per_h"];
        assert!(rate.high < Some(0.0), "{rate:?}");
        let noisy = drifts(&soak(600, |at| 1000 + at * at * 7919 % 101, |_| 1));
        let rate = &noisy["rate_drift_percent_per_h"];
        assert!(rate.low < Some(0.0) && rate.high > Some(0.0), "{rate:?}");
        assert!(
            drifts(&soak(30, |at| 1000 - at, |_| 1)).is_empty(),
            "too short"
        );
    }
}
