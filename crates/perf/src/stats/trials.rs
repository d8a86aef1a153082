//! Tests of the comparison with known noise: its rate of false findings, and its rate of found changes.

use super::compare::{Case, CompareError, Design, compare};
use super::comparison::{Comparison, Method, Scale, Side, Verdict};
use crate::load::engine::Chance;
use crate::results::{Fault, Histogram, Process, ProcessSample, Stretch};

/// The kind of noise of stretches, apart from its size.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Independent and normally distributed.
    Plain,
    /// Correlated between neighbouring stretches, with a drift over the whole.
    Alike,
    /// Occasional outliers, always slower.
    HeavyTailed,
}

/// A source of noisy stretches, in order of execution.
struct Machine {
    chance: Chance,
    noise: Noise,
    size: f64,
    last: f64,
    count: f64,
}

impl Machine {
    fn new(noise: Noise, size: f64, seed: u64) -> Self {
        Self {
            chance: Chance::new(seed, 0),
            noise,
            size,
            last: 0.0,
            count: 0.0,
        }
    }

    /// Returns an approximately standard normal number.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.chance.share()).sum::<f64>() - 6.0
    }

    /// Returns the noise that all metrics of the next stretch share.
    fn weather(&mut self) -> f64 {
        self.count += 1.0;
        let fresh = self.bell();
        match self.noise {
            Noise::Plain => fresh,
            Noise::Alike => {
                self.last = 0.9 * self.last + 0.436 * fresh;
                self.last + 0.2 * self.count
            }
            // Pareto-like: no variance to speak of.
            Noise::HeavyTailed => fresh * 0.3 + (1.0 - self.chance.share()).powf(-0.7) - 1.0,
        }
    }

    /// Returns the next stretch, of a system that is `factor` times slower than usual.
    fn stretch(&mut self, factor: f64) -> Stretch {
        let weather = self.weather();
        let mut value = |usual: f64| {
            let own = self.bell();
            usual * factor * (self.size * (0.8 * weather + 0.6 * own)).exp()
        };
        let micros = |ms: f64| (ms * 1000.0).round().max(1.0) as u64;
        let buckets =
            [(5.0, 900), (9.0, 90), (20.0, 10)].map(|(ms, count)| (micros(value(ms)), count));
        let seconds = value(2.0);
        let look = |at_ms, cpu_ms, commits| ProcessSample {
            at_ms,
            cpu_ms,
            commits,
            rss_bytes: 1,
            ..ProcessSample::default()
        };
        let (cpu_ms, commits) = (value(4e6) as u64, value(1e6) as u64);
        let rss_bytes = value(5e7) as u64;
        Stretch {
            seconds,
            done: 1000,
            latencies: Histogram {
                buckets: buckets.into(),
            },
            processes: vec![Process {
                name: "bank-1".to_owned(),
                samples: vec![
                    look(0, 0, 0),
                    ProcessSample {
                        rss_bytes,
                        ..look(2000, cpu_ms, commits)
                    },
                ],
            }],
            disk_bytes: Some(value(1e6) as u64),
            ..Stretch::default()
        }
    }

    /// Returns rounds of two stretches, each in random order.
    fn pairs(&mut self, count: usize, factor: f64) -> Case {
        let mut stretches = vec![Vec::new(), Vec::new()];
        for _ in 0..count {
            let swapped = self.chance.next_u64() & 1 == 1;
            for place in [usize::from(swapped), usize::from(!swapped)] {
                let stretch = self.stretch(if place == 1 { factor } else { 1.0 });
                stretches[place].push(stretch);
            }
        }
        Case {
            at: String::new(),
            stretches,
        }
    }
}

fn sides(count: usize) -> Vec<Side> {
    (0..count)
        .map(|at| Side {
            name: at.to_string(),
            about: String::new(),
        })
        .collect()
}

fn compared(noise: Noise, size: f64, pairs: usize, factor: f64, seed: u64) -> Comparison {
    let case = Machine::new(noise, size, seed).pairs(pairs, factor);
    compare(sides(2), &[case], Design::Random, seed).expect("enough pairs")
}

/// Returns how many of `runs` found something.
fn found(noise: Noise, size: f64, pairs: usize, factor: f64, runs: u64) -> u64 {
    let run = |seed: &u64| compared(noise, size, pairs, factor, *seed * 7919 + 1).is_changed();
    (0..runs).filter(run).count() as u64
}

#[test]
fn the_same_against_itself_is_found_different_once_in_a_hundred_times_at_most() {
    for noise in [Noise::Plain, Noise::Alike, Noise::HeavyTailed] {
        let found = found(noise, 0.03, 10, 1.0, 2000);
        // 1 % of 2,000 is 20; three standard deviations above it.
        assert!(found <= 34, "{noise:?}: {found} of 2000");
        // 5 of 512 arrangements are at most 1 %: the test is not more conservative than necessary.
        assert!(found >= 7, "{noise:?}: {found} of 2000");
    }
}

#[test]
fn twenty_comparisons_of_the_same_find_nothing() {
    assert_eq!(found(Noise::Alike, 0.05, 10, 1.0, 20), 0);
}

#[test]
fn five_percent_are_found_where_pairs_differ_by_a_few_percent() {
    // Two stretches differ by 1.4 times the noise of one.
    for (size, pairs, least) in [(0.01, 10, 98), (0.02, 10, 80), (0.03, 16, 80)] {
        let found = found(Noise::Plain, size, pairs, 1.05, 100);
        assert!(
            found >= least,
            "noise {size}, {pairs} pairs: {found} of 100"
        );
    }
}

#[test]
fn what_would_have_been_seen_is_seen_four_times_of_five() {
    let quiet = compared(Noise::Plain, 0.03, 12, 1.0, 5);
    let rate = |comparison: &Comparison| {
        comparison
            .metrics
            .iter()
            .find(|metric| metric.metric == "mean_ms")
            .cloned()
            .expect("compared")
    };
    let seen_from = rate(&quiet).seen_from.expect("twelve pairs see something");
    assert!(seen_from > 1.01 && seen_from < 1.2, "{seen_from}");
    let seen = (0..100)
        .filter(|seed| {
            rate(&compared(Noise::Plain, 0.03, 12, seen_from, *seed)).verdict == Verdict::Higher
        })
        .count();
    assert!((60..=97).contains(&seen), "{seen} of 100 at {seen_from}");
}

#[test]
fn changes_have_their_size_and_direction() {
    let comparison = compared(Noise::Plain, 0.01, 12, 1.1, 3);
    let by_name = |name: &str| {
        comparison
            .metrics
            .iter()
            .find(|metric| metric.metric == name)
            .expect("compared")
    };
    let latency = by_name("p50_ms");
    assert_eq!(
        (latency.verdict, latency.scale),
        (Verdict::Higher, Scale::Ratio)
    );
    assert!((latency.change.value - 1.1).abs() < 0.02, "{latency:?}");
    assert!(latency.change.low < Some(1.1) && latency.change.high > Some(1.09));
    let rate = by_name("rate_per_s");
    assert_eq!(rate.verdict, Verdict::Lower);
    assert_eq!(comparison.test.method, Method::PairedRandomOrder);
    assert!(
        comparison
            .metrics
            .iter()
            .all(|metric| metric.metric != "error_share"),
        "nothing failed, nothing to test"
    );
}

#[test]
fn errors_are_compared_as_differences() {
    let mut case = Machine::new(Noise::Plain, 0.02, 9).pairs(10, 1.0);
    for (at, stretch) in case.stretches[1].iter_mut().enumerate() {
        stretch.faults = vec![Fault {
            code: "x.y".to_owned(),
            count: 10 + at as u64,
            message: String::new(),
        }];
    }
    let comparison = compare(sides(2), &[case], Design::Random, 0).expect("enough");
    let errors = comparison
        .metrics
        .iter()
        .find(|metric| metric.metric == "error_share")
        .expect("compared");
    assert_eq!(
        (errors.scale, errors.verdict),
        (Scale::Difference, Verdict::Higher)
    );
    assert!((errors.change.value - 0.0143).abs() < 0.001, "{errors:?}");
}

#[test]
fn separate_runs_are_compared_and_hold_the_same_rate() {
    let runs = |seed: u64, factor: f64| {
        let mut machine = Machine::new(Noise::Plain, 0.02, seed);
        let mut run = |factor| (0..6).map(|_| machine.stretch(factor)).collect::<Vec<_>>();
        let case = Case {
            at: "parties 4".to_owned(),
            stretches: vec![run(1.0), run(factor)],
        };
        compare(sides(2), &[case], Design::Separate, 0)
            .expect("enough")
            .is_changed()
    };
    let wrong = (0..1000).filter(|seed| runs(*seed, 1.0)).count();
    assert!(wrong <= 20, "{wrong} of 1000");
    let right = (0..50).filter(|seed| runs(*seed, 1.2)).count();
    assert!(right >= 48, "{right} of 50");
}

#[test]
fn three_sides_share_the_error_rate() {
    let mut machine = Machine::new(Noise::Plain, 0.01, 4);
    let mut case = machine.pairs(12, 1.0);
    case.stretches
        .push((0..12).map(|_| machine.stretch(1.2)).collect());
    let comparison = compare(sides(3), &[case], Design::Random, 0).expect("enough");
    let changed = |side: usize| {
        let of_side = comparison
            .metrics
            .iter()
            .filter(|metric| metric.side == side);
        of_side
            .filter(|metric| metric.verdict != Verdict::NotShown)
            .count()
    };
    assert_eq!(changed(1), 0);
    assert!(changed(2) >= 8, "{}", changed(2));
}

#[test]
fn what_cannot_be_compared_is_refused_or_left_out() {
    let case = |pairs| Machine::new(Noise::Plain, 0.01, 4).pairs(pairs, 1.0);
    for (sides, cases, design, expected) in [
        (
            sides(1),
            vec![case(10)],
            Design::Random,
            CompareError::Sides(1),
        ),
        (
            sides(2),
            vec![case(9)],
            Design::Fixed,
            CompareError::Repeats {
                have: 9,
                needed: 10,
                what: "pairs".to_owned(),
            },
        ),
        (
            sides(2),
            vec![case(1)],
            Design::Separate,
            CompareError::Repeats {
                have: 1,
                needed: 2,
                what: "repeats of each point".to_owned(),
            },
        ),
        (
            sides(2),
            vec![],
            Design::Random,
            CompareError::Nothing("no point that all sides have".to_owned()),
        ),
    ] {
        assert_eq!(compare(sides, &cases, design, 0), Err(expected));
    }
    let mut gaps = case(10);
    gaps.stretches[0][3].latencies = Histogram::default();
    gaps.stretches[1]
        .iter_mut()
        .for_each(|stretch| stretch.processes.clear());
    let comparison = compare(sides(2), &[gaps], Design::Random, 0).expect("some metrics");
    let left: Vec<&str> = comparison
        .left_out
        .iter()
        .map(|left| left.metric.as_str())
        .collect();
    assert!(
        left.contains(&"p50_ms") && left.contains(&"cpu_us_per_unit"),
        "{left:?}"
    );
    assert!(
        comparison
            .metrics
            .iter()
            .any(|metric| metric.metric == "rate_per_s")
    );
}

#[test]
fn a_comparison_is_the_same_document_after_a_round_trip() {
    let comparison = compared(Noise::Plain, 0.01, 20, 1.1, 3);
    assert!(
        comparison.test.drawn.is_some(),
        "twenty pairs are too many to count all"
    );
    let text = serde_json::to_string(&comparison).expect("JSON");
    let back: Comparison = serde_json::from_str(&text).expect("the same form");
    assert_eq!(back.metrics.len(), comparison.metrics.len());
    assert_eq!(back.test, comparison.test);
}
