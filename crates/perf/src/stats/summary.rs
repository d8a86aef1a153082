//! Summarises stretches in the figures of tables and curves.

use std::collections::BTreeMap;

use super::counter::{Counter, largest_memory};
use super::drift::drifts;
use super::interval::{mean_interval, moments};
use super::kept::kept;
use super::serial::{ceiling, serial_share};
use crate::results::{
    ChainResult, Estimate, LATENCY_PERCENTILES, Point, Process, Stretch, Summary,
    TO_BLOCK_PERCENTILES, samples_needed,
};

/// Metrics that are the rate times a constant of the work: its states, and the bytes of its files.
const BY_RATE: [&str; 2] = ["states_per_s", "file_mb_per_s"];

/// Returns the figures of the repeats of one point. Each is the mean over the repeats with its 95 % interval by Student's
/// t (no interval for one repeat). `states_per_unit` is the workload's number of output states, 0 if unknown. If some
/// stretches lack a figure, it is computed from the others; if all lack it, it is left out. The knee is left out if one search lacks it. A stretch lacks the percentiles
/// that it has too few samples for. With a single repeat, drifts have the interval of their line.
pub fn summarise(stretches: &[Stretch], states_per_unit: f64) -> Summary {
    let mut values: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut alone: BTreeMap<&'static str, Estimate> = BTreeMap::new();
    for stretch in stretches {
        for (name, value) in repeat_figures(stretch, states_per_unit) {
            values.entry(name).or_default().push(value);
        }
        alone.extend(drifts(stretch));
    }
    // A search that ended at its upper bound has a higher knee than the others, so these are no mean of all.
    let searches = stretches.iter().filter(|one| !one.tried.is_empty());
    let searches = searches.count();
    if values
        .get("knee_per_s")
        .is_some_and(|knees| knees.len() < searches)
    {
        values.remove("knee_per_s");
    }
    let metrics = values.into_iter().filter_map(|(name, values)| {
        let line = alone.remove(name).filter(|_| values.len() == 1);
        let estimate = line.or_else(|| mean_interval(&values))?;
        Some((name.to_owned(), estimate))
    });
    let mut metrics: BTreeMap<String, Estimate> = metrics.collect();
    if let Some(ceiling) = metrics.get("serial_us_per_unit").and_then(ceiling) {
        metrics.insert("ceiling_per_s".to_owned(), ceiling);
    }
    Summary { metrics }
}

/// Returns the figures of one repeat, of which [`summarise`] takes the means. Percentiles of too few samples are left out.
pub fn repeat_figures(stretch: &Stretch, states_per_unit: f64) -> BTreeMap<&'static str, f64> {
    let is_sound =
        |(name, value): &(&'static str, f64)| value.is_finite() && is_supported(stretch, name);
    let figures = figures(stretch, states_per_unit);
    let mut found: BTreeMap<&'static str, f64> = figures.into_iter().filter(is_sound).collect();
    let drifts = drifts(stretch).into_iter();
    found.extend(drifts.map(|(name, drift)| (name, drift.value)));
    found
}

/// Returns whether a stretch has enough samples for a metric that is a percentile.
fn is_supported(stretch: &Stretch, metric: &str) -> bool {
    let has = |table: &[(&str, f64)], count: u64| {
        let found = table.iter().find(|(name, _)| *name == metric);
        found.is_none_or(|(_, share)| count >= samples_needed(*share))
    };
    // Only a stretch on a chain has a time to a block.
    let to_block = stretch
        .chain
        .as_ref()
        .map_or(0, |chain| chain.to_block.count());
    has(&LATENCY_PERCENTILES, stretch.latencies.count()) && has(&TO_BLOCK_PERCENTILES, to_block)
}

/// Returns the metrics of a point that are its rate times a constant of the work, with that constant.
pub fn constants_of_work(point: &Point) -> Vec<(&'static str, f64)> {
    let value = |name: &str| point.summary.metrics.get(name).map(|one| one.value);
    let Some(rate) = value("rate_per_s").filter(|rate| *rate > 0.0) else {
        return Vec::new();
    };
    let known = BY_RATE.into_iter();
    let known = known.filter_map(|name| Some((name, value(name)? / rate)));
    known.collect()
}

/// Returns a metric of each repeat of a point. Repeats that lack it are left out.
pub fn repeats_of(point: &Point, metric: &str) -> Vec<f64> {
    let constants = constants_of_work(point);
    let constant = constants.iter().find(|(name, _)| *name == metric);
    let repeats = point.stretches.iter().filter_map(|stretch| {
        let found = figures(stretch, 0.0);
        let found = found.into_iter().find(|(name, _)| *name == metric);
        let of_rate = || constant.map(|(_, factor)| stretch.per_s() * factor);
        let value = found.map(|(_, value)| value).or_else(of_rate)?;
        (value.is_finite() && is_supported(stretch, metric)).then_some(value)
    });
    repeats.collect()
}

/// Returns the standard deviation of a metric over the repeats of a point, or `None` if fewer than two have it.
pub fn deviation(point: &Point, metric: &str) -> Option<f64> {
    let repeats = repeats_of(point, metric);
    let (_, variance) = moments(&repeats);
    (repeats.len() > 1).then(|| variance.sqrt())
}

/// Adds `file_mb_per_s` to a point whose units each move this many bytes of files; nothing if they move none.
pub fn with_files(summary: &mut Summary, bytes_per_unit: f64) {
    let rate = summary.metrics.get("rate_per_s");
    let Some(rate) = rate.filter(|_| bytes_per_unit > 0.0) else {
        return;
    };
    let megabytes = bytes_per_unit / 1e6;
    let moved = Estimate {
        value: rate.value * megabytes,
        low: rate.low.map(|low| low * megabytes),
        high: rate.high.map(|high| high * megabytes),
    };
    summary.metrics.insert("file_mb_per_s".to_owned(), moved);
}

/// Returns the figures of one stretch by metric's name. Percentiles are there whatever the number of samples: a test of
/// two sides allows for their noise. A stretch of a saved run file has its figures already.
pub(super) fn figures(stretch: &Stretch, states_per_unit: f64) -> Vec<(&'static str, f64)> {
    if !stretch.figures.is_empty() {
        return kept(stretch);
    }
    let mut found = counted_figures(stretch);
    let latencies = &stretch.latencies;
    if latencies.count() > 0 {
        found.push(("mean_ms", latencies.mean_ms()));
        for (name, share) in LATENCY_PERCENTILES {
            found.push((name, latencies.quantile_ms(share)));
        }
        found.push(("max_ms", latencies.quantile_ms(1.0)));
    }
    if states_per_unit > 0.0 {
        found.push(("states_per_s", stretch.per_s() * states_per_unit));
    }
    found.extend(resources(stretch));
    found.extend(stretch.chain.iter().flat_map(|chain| on_a_chain(chain)));
    found
}

/// Returns the figures that follow from the counts of a stretch alone, which a saved run file keeps.
pub fn counted_figures(stretch: &Stretch) -> Vec<(&'static str, f64)> {
    let mut found = vec![
        ("rate_per_s", stretch.per_s()),
        ("generator_cpu_cores", stretch.generator.cpu_cores),
    ];
    found.extend(shares(stretch));
    found.extend(stretch.knee_per_s().map(|rate| ("knee_per_s", rate)));
    found
}

/// Returns the figures of the blocks.
fn on_a_chain(chain: &ChainResult) -> Vec<(&'static str, f64)> {
    let mut found = vec![
        ("chain_tps", chain.payments_per_s),
        ("fork_depth_max", f64::from(chain.fork_depth_max())),
    ];
    if chain.blocks > 0 {
        found.push(("block_s", chain.block_seconds_mean));
    }
    if chain.to_block.count() > 0 {
        for (name, share) in TO_BLOCK_PERCENTILES {
            found.push((name, chain.to_block.quantile_ms(share) / 1000.0));
        }
    }
    found.extend(
        chain
            .bytes_per_transaction()
            .map(|bytes| ("chain_bytes_per_tx", bytes)),
    );
    found
}

/// Returns the shares of failed, dropped and late units among those that were due, and the retries of each that was tried.
fn shares(stretch: &Stretch) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    let due = stretch.due_units();
    if due > 0 {
        found.push(("error_share", stretch.failed() as f64 / due as f64));
    }
    // A dropped unit was never tried. Clipped, since a report that was read from a file may hold any numbers.
    let tried = stretch.done.saturating_add(stretch.failed());
    if tried > 0 {
        found.push(("retries_per_unit", stretch.retries as f64 / tried as f64));
    }
    // Only an open loop records late units.
    if stretch.generator.late_after_ms > 0.0 && due > 0 {
        found.push(("dropped_share", stretch.dropped as f64 / due as f64));
        found.push(("late_share", stretch.late as f64 / due as f64));
    }
    found
}

/// Returns the resources that the nodes and their databases used. A sum with an unknown part is left out.
fn resources(stretch: &Stretch) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    let processes = || stretch.processes.iter().filter(|one| !one.is_generator());
    let nodes = || processes().filter(|one| !one.is_database());
    let databases = || processes().filter(|one| one.is_database());
    if processes().next().is_some() && stretch.done > 0 {
        let units = stretch.done as f64;
        for (name, grown, factor) in [
            (
                "cpu_us_per_unit",
                Counter::CPU_MS.observed_sum(processes()),
                1_000.0,
            ),
            // Database servers count no commits.
            (
                "commits_per_unit",
                Counter::COMMITS.observed_sum(nodes()),
                1.0,
            ),
            (
                "written_bytes_per_unit",
                Counter::WRITTEN_BYTES.observed_sum(processes()),
                1.0,
            ),
            ("disk_bytes_per_unit", stretch.disk_bytes, 1.0),
        ] {
            found.extend(grown.map(|grown| (name, grown as f64 * factor / units)));
        }
    }
    if let Some(share) = serial_share(stretch) {
        found.push(("serial_us_per_unit", share.us_per_unit));
    }
    for (name, memory) in [
        ("rss_mb_max", largest_memory(nodes())),
        ("database_rss_mb_max", largest_memory(databases())),
    ] {
        found.extend(memory.map(|bytes| (name, bytes as f64 / 1e6)));
    }
    found.extend(stretch.start_ms.map(|ms| ("start_ms", ms)));
    let first_bank = nodes()
        .find(|node| node.name == "bank-1")
        .or_else(|| nodes().find(|node| node.name != "notary"));
    let is_sending = |node: &&Process| node.samples.last().is_some_and(|last| last.sent_bytes > 0);
    if let Some(rate) = first_bank.filter(is_sending).and_then(sent_per_s) {
        found.push(("sent_mbit_per_s", rate * 8.0 / 1e6));
    }
    found
}

/// Returns the bytes a second that a node sent between its first and last sample.
fn sent_per_s(node: &Process) -> Option<f64> {
    let (first, last) = (node.samples.first()?, node.samples.last()?);
    let ms = last.at_ms.checked_sub(first.at_ms).filter(|ms| *ms > 0)?;
    Some(Counter::SENT_BYTES.growth(node)? as f64 * 1000.0 / ms as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Fault, Generator, Histogram, ProcessSample};

    fn stretch(done: u64) -> Stretch {
        let sample = |at_ms, cpu_ms, rss_bytes, sent_bytes, commits| ProcessSample {
            at_ms,
            cpu_ms,
            rss_bytes,
            sent_bytes,
            commits,
            ..ProcessSample::default()
        };
        let process = |name: &str, samples| Process {
            name: name.to_owned(),
            samples,
        };
        Stretch {
            seconds: 2.0,
            due: done + 50,
            done,
            faults: vec![Fault {
                code: "x.y".to_owned(),
                count: done,
                message: String::new(),
            }],
            dropped: 5,
            retries: done,
            latencies: Histogram {
                buckets: [(1000, done / 2), (3000, done / 2)].into(),
            },
            generator: Generator {
                cpu_cores: 0.25,
                late_after_ms: 10.0,
                ..Generator::default()
            },
            processes: vec![
                process(
                    "generator",
                    vec![
                        sample(0, 0, 9_000_000, 0, 0),
                        sample(2000, 9999, 9_000_000, 0, 0),
                    ],
                ),
                process(
                    "notary",
                    vec![
                        sample(0, 100, 5_000_000, 0, 10),
                        sample(2000, 150, 6_000_000, 0, 60),
                    ],
                ),
                process(
                    "bank-1",
                    vec![
                        sample(0, 100, 7_000_000, 0, 0),
                        sample(1000, 150, 8_000_000, 250_000, 100),
                        sample(2000, 10, 1_000_000, 250_000, 50),
                    ],
                ),
            ],
            disk_bytes: Some(5000),
            start_ms: Some(140.0),
            tried: vec![(100.0, true), (400.0, false), (200.0, true)],
            ..Stretch::default()
        }
    }

    #[test]
    fn every_figure_of_a_stretch() {
        let summary = summarise(&[stretch(100)], 3.0);
        for (name, value) in [
            ("rate_per_s", 50.0),
            ("mean_ms", 2.0),
            ("p50_ms", 1.0),
            ("p90_ms", 3.0),
            ("max_ms", 3.0),
            ("states_per_s", 150.0),
            // 100 completed, 100 failed and 5 dropped were due.
            ("error_share", 100.0 / 205.0),
            ("retries_per_unit", 0.5),
            ("dropped_share", 5.0 / 205.0),
            // The notary 50 ms; the bank 50 ms, and 10 ms after its restart.
            ("cpu_us_per_unit", 1100.0),
            ("commits_per_unit", 2.0),
            ("rss_mb_max", 8.0),
            ("disk_bytes_per_unit", 50.0),
            ("sent_mbit_per_s", 1.0),
            ("start_ms", 140.0),
            ("knee_per_s", 200.0),
            ("generator_cpu_cores", 0.25),
        ] {
            let found = &summary.metrics[name];
            assert!((found.value - value).abs() < 1e-9, "{name}: {found:?}");
            assert_eq!(found.low, None, "one repeat tells nothing of {name}");
        }
        for name in ["p95_ms", "p99_ms"] {
            let found = summary.metrics.get(name);
            assert_eq!(found, None, "100 samples are too few for {name}");
        }
        for name in ["serial_us_per_unit", "ceiling_per_s"] {
            let found = summary.metrics.get(name);
            assert_eq!(found, None, "no node's threads were read for {name}");
        }
    }

    #[test]
    fn a_knee_that_one_search_did_not_reach_is_unknown() {
        let mut above = stretch(100);
        above.tried = vec![(100.0, true), (900.0, true), (900.0, true)];
        for (stretches, expected) in [
            (vec![stretch(100), stretch(100)], Some(200.0)),
            (vec![stretch(100), above.clone()], None),
            (vec![above], None),
        ] {
            let found = summarise(&stretches, 0.0).metrics;
            let knee = found.get("knee_per_s").map(|knee| knee.value);
            assert_eq!(knee, expected);
        }
    }

    #[test]
    fn repeats_have_a_standard_deviation() {
        let rates = [stretch(100), stretch(120), stretch(140)];
        for (repeats, states, metric, expected) in [
            (3, 0.0, "rate_per_s", Some(10.0)),
            (2, 0.0, "rate_per_s", Some(50f64.sqrt())),
            (1, 0.0, "rate_per_s", None),
            // Four states in each unit.
            (3, 4.0, "states_per_s", Some(40.0)),
            (3, 0.0, "states_per_s", None),
            (3, 0.0, "no_metric", None),
        ] {
            let stretches = rates[..repeats].to_vec();
            let point = Point {
                summary: summarise(&stretches, states),
                stretches,
                ..Point::default()
            };
            let found = deviation(&point, metric);
            let is_same = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
                (found, expected) => found == expected,
            };
            assert!(is_same, "{repeats} {metric}: {found:?}");
        }
    }

    #[test]
    fn serial_time_gives_the_ceiling() {
        let read = |serial_us: u64| {
            let mut stretch = stretch(100);
            stretch.processes.truncate(2);
            for (at, sample) in stretch.processes[1].samples.iter_mut().enumerate() {
                sample.kernel_us = Some(500 + at as u64 * (serial_us + 30));
                sample.kernel_jobs_us = Some(at as u64 * 30);
            }
            stretch
        };
        // 40 and 60 us a unit; the last stretch was not read.
        let stretches = [read(4_000), read(6_000), stretch(100)];
        let metrics = summarise(&stretches, 0.0).metrics;
        let (serial, ceiling) = (&metrics["serial_us_per_unit"], &metrics["ceiling_per_s"]);
        assert_eq!((serial.value, ceiling.value), (50.0, 20_000.0));
        assert!(serial.low.is_some_and(|low| low < 0.0));
        assert_eq!(ceiling.high, None, "the interval has no upper end");
    }

    #[test]
    fn repeats_give_intervals_and_what_is_missing_is_left_out() {
        let empty = Stretch {
            seconds: 2.0,
            ..Stretch::default()
        };
        let summary = summarise(&[stretch(100), stretch(120), empty], 0.0);
        let rate = &summary.metrics["rate_per_s"];
        assert!((rate.value - 110.0 / 3.0).abs() < 1e-9);
        assert!(rate.low.is_some_and(|low| low < rate.value));
        assert!(!summary.metrics.contains_key("states_per_s"));
        assert_eq!(
            summary.metrics["p50_ms"].value, 1.0,
            "of the stretches with samples"
        );
        assert!(summarise(&[], 1.0).metrics.is_empty());
        let mut moved = summary.clone();
        with_files(&mut moved, 0.0);
        assert_eq!(moved, summary);
        with_files(&mut moved, 10_000_000.0);
        let rate = summary.metrics["rate_per_s"].value;
        assert_eq!(moved.metrics["file_mb_per_s"].value, 10.0 * rate);
    }
}
