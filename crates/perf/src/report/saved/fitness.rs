//! Whether a scenario's repeats are long enough for a figure to be quoted.

use crate::report::figures::{duration, figure};
use crate::report::headline::place;
use crate::results::{Point, Scenario, Stretch};

/// Repeats of each point.
const REPEATS_MIN: usize = 5;
/// Seconds of each repeat. A hundredth less is allowed: the last unit may end before the second does.
const SECONDS_MIN: f64 = 60.0;
/// Units of each repeat.
const UNITS_MIN: u64 = 1_000;
/// Units of each repeat that moves files. A published stretch had 100 of them, and 1,000 large files would fill a disk.
const FILES_MIN: u64 = 100;
/// From this length on, one stretch is enough: it is a soak, with intervals of its drifts.
const LONG_SECONDS_MIN: f64 = 3_600.0;
/// The same on a chain. The shortest published run took 2,800 s. Its repeats are its blocks.
const LONG_ON_CHAIN_SECONDS_MIN: f64 = 2_700.0;

/// Returns why the figures of a scenario are too short to quote: the first point that is, its count, and the expected one.
/// Returns `None` if they can be quoted.
pub fn shortfall(scenario: &Scenario) -> Option<String> {
    if scenario.points.is_empty() {
        return Some("nothing was measured".to_owned());
    }
    let found = scenario.points.iter().find_map(|point| {
        let why = of_point(point)?;
        Some((place(point), why))
    });
    found.map(|(place, why)| match place.is_empty() {
        true => why,
        false => format!("{why} at {place}"),
    })
}

fn of_point(point: &Point) -> Option<String> {
    let stretches = &point.stretches;
    let fewest = stretches.iter().map(|one| one.done).min().unwrap_or(0);
    let seconds = stretches.iter().map(|one| one.seconds);
    let shortest = seconds.reduce(f64::min).unwrap_or(0.0);
    let is_chain = stretches.iter().any(|one| one.chain.is_some());
    let moves_files = point.summary.metrics.contains_key("file_mb_per_s");
    let units_min = if moves_files { FILES_MIN } else { UNITS_MIN };
    if fewest < units_min {
        let (fewest, least) = (figure(fewest as f64), figure(units_min as f64));
        return Some(format!("{fewest} units in a repeat, expected {least}"));
    }
    if is_long(stretches, is_chain) {
        return None;
    }
    if stretches.len() < REPEATS_MIN {
        return Some(format!(
            "repeats: {}, expected {REPEATS_MIN} (or one of {})",
            stretches.len(),
            duration(long_seconds(is_chain))
        ));
    }
    if shortest < SECONDS_MIN * 0.99 && !moves_files {
        return Some(format!(
            "a repeat of {}, expected {}",
            duration(shortest),
            duration(SECONDS_MIN)
        ));
    }
    None
}

fn long_seconds(is_chain: bool) -> f64 {
    match is_chain {
        true => LONG_ON_CHAIN_SECONDS_MIN,
        false => LONG_SECONDS_MIN,
    }
}

fn is_long(stretches: &[Stretch], is_chain: bool) -> bool {
    let least = long_seconds(is_chain);
    !stretches.is_empty() && stretches.iter().all(|one| one.seconds >= least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ChainResult, Estimate};

    fn scenario(repeats: usize, seconds: f64, done: u64, kind: &str) -> Scenario {
        let stretch = Stretch {
            seconds,
            done,
            chain: (kind == "chain").then(|| Box::new(ChainResult::default())),
            ..Stretch::default()
        };
        let mut point = Point {
            stretches: vec![stretch; repeats],
            ..Point::default()
        };
        if kind == "files" {
            let metrics = &mut point.summary.metrics;
            metrics.insert("file_mb_per_s".to_owned(), Estimate::default());
        }
        Scenario {
            points: vec![point],
            ..Scenario::default()
        }
    }

    #[test]
    fn a_figure_needs_repeats_seconds_and_units_or_one_long_stretch() {
        for (repeats, seconds, done, kind, expected) in [
            (5, 60.0, 1_000, "", None),
            (5, 59.8, 1_000, "", None),
            (5, 59.0, 1_000, "", Some("a repeat of 59 s, expected 60 s")),
            (
                4,
                60.0,
                1_000,
                "",
                Some("repeats: 4, expected 5 (or one of 1 h 00 min)"),
            ),
            (
                5,
                60.0,
                999,
                "",
                Some("999 units in a repeat, expected 1,000"),
            ),
            (1, 3_600.0, 1_000, "", None),
            (
                1,
                2_800.0,
                9_000,
                "",
                Some("repeats: 1, expected 5 (or one of 1 h 00 min)"),
            ),
            (1, 2_800.0, 9_000, "chain", None),
            (
                1,
                600.0,
                9_000,
                "chain",
                Some("repeats: 1, expected 5 (or one of 45 min 00 s)"),
            ),
            (5, 4.0, 100, "files", None),
            (
                5,
                400.0,
                99,
                "files",
                Some("99 units in a repeat, expected 100"),
            ),
            (0, 0.0, 0, "", Some("0 units in a repeat, expected 1,000")),
        ] {
            let found = shortfall(&scenario(repeats, seconds, done, kind));
            assert_eq!(
                found.as_deref(),
                expected,
                "{repeats} {seconds} {done} {kind}"
            );
        }
        let none = shortfall(&Scenario::default());
        assert_eq!(none.as_deref(), Some("nothing was measured"));
    }
}
