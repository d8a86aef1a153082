//! Whether a scenario's repeats are long enough for a figure to be quoted.

use crate::plan::{NoChecks, Options, PointPlan, parse, shipped};
use crate::report::digest::plans;
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

/// The size that each repeat of a point needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatSize {
    /// Units.
    pub units: u64,
    /// Seconds; `None` if the number of units suffices.
    pub seconds: Option<f64>,
}

/// The plans that the sizes of a scenario's repeats follow from.
pub struct RepeatSizes {
    /// As it ran, point by point.
    ran: Vec<PointPlan>,
    /// At its published size, if it is shipped.
    published: Vec<PointPlan>,
}

impl RepeatSizes {
    /// Reads the plans of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let options = Options {
            full: true,
            ..Options::default()
        };
        let published = shipped(&scenario.name).and_then(|shipped| {
            let text = shipped.text.as_bytes();
            parse(shipped.name, "shipped", text, &options, &NoChecks).ok()
        });
        // A scenario of another name has no published size.
        let published = published.and_then(|plan| plan.points().ok());
        Self {
            ran: plans(scenario),
            published: published.unwrap_or_default(),
        }
    }

    /// Returns the size for a point. A load that ends by its number of units needs no duration; and no more units than the published size of
    /// that point counts, if that is below a thousand.
    pub fn at(&self, point: &Point) -> RepeatSize {
        if point.summary.metrics.contains_key("file_mb_per_s") {
            return RepeatSize {
                units: FILES_MIN,
                seconds: None,
            };
        }
        let count_in = |plans: &[PointPlan]| {
            let found = plans.iter().find(|one| one.at == point.at);
            found.and_then(|one| one.plan.run.count)
        };
        let all = RepeatSize {
            units: UNITS_MIN,
            seconds: Some(SECONDS_MIN),
        };
        match (count_in(&self.ran), count_in(&self.published)) {
            (None, _) => all,
            (Some(_), None) => RepeatSize {
                seconds: None,
                ..all
            },
            (Some(_), Some(published)) => RepeatSize {
                units: published.min(UNITS_MIN),
                seconds: None,
            },
        }
    }
}

/// Returns why the figures of a scenario are too short to quote: the first point that is, its count, and the expected one.
/// Returns `None` if they can be quoted.
pub fn shortfall(scenario: &Scenario) -> Option<String> {
    if scenario.points.is_empty() {
        return Some("nothing was measured".to_owned());
    }
    let sizes = RepeatSizes::of(scenario);
    let found = scenario.points.iter().find_map(|point| {
        let why = of_point(point, sizes.at(point))?;
        Some((place(point), why))
    });
    found.map(|(place, why)| match place.is_empty() {
        true => why,
        false => format!("{why} at {place}"),
    })
}

fn of_point(point: &Point, size: RepeatSize) -> Option<String> {
    let stretches = &point.stretches;
    // A point without repeats has no units.
    let fewest = stretches.iter().map(|one| one.done).min().unwrap_or(0);
    let is_chain = stretches.iter().any(|one| one.chain.is_some());
    if fewest < size.units {
        let (fewest, least) = (figure(fewest as f64), figure(size.units as f64));
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
    let shortest = stretches.iter().map(|one| one.seconds).reduce(f64::min)?;
    let least = size.seconds.filter(|least| shortest < least * 0.99)?;
    let (found, expected) = (duration(shortest), duration(least));
    Some(format!("a repeat of {found}, expected {expected}"))
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
    fn a_counted_load_needs_the_published_units_and_no_duration() {
        let shipped_source = |name: &str, set: &str| {
            let options = Options {
                full: true,
                set: vec![set.to_owned()],
            };
            let text = shipped(name).expect("shipped").text.as_bytes();
            let plan = parse(name, "x", text, &options, &NoChecks);
            plan.expect("in order").to_toml()
        };
        let own = |run: &str| format!("[work]\nkind = 'pay'\n[run]\n{run}\n");
        let latency = shipped_source("swap-latency", "run.count=1000");
        let trips = shipped_source("round-trips", "run.count=100");
        let rate = shipped_source("issue", "run.seconds=60");
        for (name, source, seconds, done, expected) in [
            ("swap-latency", &latency, 9.0, 1_000, None),
            (
                "swap-latency",
                &latency,
                9.0,
                999,
                Some("999 units in a repeat, expected 1,000"),
            ),
            // A median of the published 100 units.
            ("round-trips", &trips, 9.0, 100, None),
            (
                "round-trips",
                &trips,
                9.0,
                99,
                Some("99 units in a repeat, expected 100"),
            ),
            (
                "issue",
                &rate,
                9.0,
                5_000,
                Some("a repeat of 9 s, expected 60 s"),
            ),
            ("mine", &own("count = 1000\nseconds = 99"), 9.0, 1_000, None),
            (
                "mine",
                &own("count = 100\nseconds = 99"),
                9.0,
                100,
                Some("100 units in a repeat, expected 1,000"),
            ),
        ] {
            let mut measured = scenario(5, seconds, done, "");
            measured.name = name.to_owned();
            measured.source.clone_from(source);
            let at = plans(&measured).into_iter().next().expect("a point").at;
            measured.points[0].at = at;
            let found = shortfall(&measured);
            let found = found
                .as_deref()
                .map(|why| why.split(" at ").next().unwrap_or(why));
            assert_eq!(found, expected, "{name} {done}");
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
