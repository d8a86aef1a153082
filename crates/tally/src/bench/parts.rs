//! The scenarios that a benchmark runs, and the figures that it takes from their results.

use std::collections::BTreeMap;

use perf::measure::median;
use perf::plan::Plan;
use perf::results::{Machine, Point, Report, Scenario, Stretch};
use perf::run::Events;
use serde_json::{Value, json};

use super::BenchArgs;
use crate::failure::Failure;
use crate::lab::run as lab;
use crate::lab::scenario::Opening;

/// A shipped scenario with the settings of a benchmark.
pub(crate) struct Part {
    scenario: &'static str,
    opening: Opening,
}

impl Part {
    /// Returns a scenario at its default size.
    pub fn of(scenario: &'static str) -> Self {
        let opening = Opening::sized(false);
        Self { scenario, opening }
    }

    /// Returns a scenario at its published size.
    pub fn full(scenario: &'static str) -> Self {
        let opening = Opening::sized(true);
        Self { scenario, opening }
    }

    /// Adds settings, as `--set` takes them.
    #[must_use]
    pub fn with<S: ToString>(mut self, settings: impl IntoIterator<Item = S>) -> Self {
        let settings: Vec<String> = settings.into_iter().map(|set| set.to_string()).collect();
        self.opening = self.opening.with(&settings);
        self
    }

    /// Adds the windows of the command line: their length, their number, and a second of warm-up.
    #[must_use]
    pub fn in_windows(self, arguments: &BenchArgs) -> Self {
        self.with([
            format!("run.seconds={}", arguments.window_seconds),
            format!("run.repeats={}", arguments.windows),
            "run.warm_up_s=1".to_owned(),
        ])
    }

    /// Opens and checks the scenario.
    pub fn open(&self) -> Result<Plan, Failure> {
        self.opening.open(self.scenario)
    }
}

/// Runs scenarios, draws their progress, and returns a report with one result for each of them. Leaves the last network
/// running if `keep`. Fails if the run was interrupted.
pub(crate) fn measure(title: &str, parts: &[Part], keep: bool) -> Result<Report, Failure> {
    let plans: Result<Vec<Plan>, Failure> = parts.iter().map(Part::open).collect();
    let plans = plans?;
    let mut options = lab::options(title.to_owned(), false)?;
    options.keep = keep;
    let stop = options.stop.clone();
    let run = async |events: &Events| perf::run::run(&plans, &options, events).await;
    let report = lab::to_the_end(&stop, run)?;
    let whole = report.filter(|report| report.scenarios.len() == parts.len());
    whole.filter(|report| !report.interrupted).ok_or_else(|| {
        let message = format!("{title} was interrupted");
        Failure::local("tally.failed", message, "Run it again.")
    })
}

/// Runs the scenarios of a benchmark. Fails if an audit found violations, or a scenario did not end.
pub(super) fn run<const N: usize>(
    name: &str,
    parts: [Part; N],
) -> Result<(Report, [Scenario; N]), Failure> {
    let mut report = measure(&format!("bench {name}"), &parts, false)?;
    lab::verdict(&report)?;
    let scenarios = std::mem::take(&mut report.scenarios);
    let scenarios = scenarios.try_into().expect("a result for each part");
    Ok((report, scenarios))
}

/// Returns the point of a scenario at these cases, one for each axis.
pub(super) fn at<'a>(scenario: &'a Scenario, cases: &[&str]) -> Result<&'a Point, Failure> {
    let is_there = |point: &&Point| {
        let names = point.at.iter().map(|case| case.name.as_str());
        names.eq(cases.iter().copied())
    };
    let found = scenario.points.iter().find(is_there);
    let found = found.filter(|point| point.stretches.iter().any(|stretch| stretch.done > 0));
    found.ok_or_else(|| nothing(scenario, &cases.join(" / ")))
}

/// Returns the only point of a scenario without a sweep, or with one case of each axis.
pub(super) fn only(scenario: &Scenario) -> Result<&Point, Failure> {
    let first = scenario.points.first();
    let cases = first.map_or_else(Vec::new, |point| {
        point.at.iter().map(|case| case.name.as_str()).collect()
    });
    at(scenario, &cases)
}

/// Returns the units completed per second: the median of the stretches.
pub(super) fn per_s(point: &Point) -> f64 {
    median_of(point, Stretch::per_s)
}

/// Returns the median of a figure over the stretches.
pub(super) fn median_of(point: &Point, figure: impl Fn(&Stretch) -> f64) -> f64 {
    let figures: Vec<f64> = point.stretches.iter().map(figure).collect();
    median(&figures)
}

/// Returns the median over the stretches of a percentile of the latencies, in milliseconds.
pub(super) fn latency_ms(point: &Point, share: f64) -> f64 {
    median_of(point, |stretch| stretch.latencies.quantile_ms(share))
}

/// Returns a metric of a point's summary: the mean of the stretches.
pub(super) fn metric(point: &Point, name: &str) -> Result<f64, Failure> {
    let estimate = point.summary.metrics.get(name);
    let missing = || {
        let message = format!("the run has no figure {name}");
        Failure::local("tally.failed", message, "Use longer windows.")
    };
    estimate.map(|estimate| estimate.value).ok_or_else(missing)
}

/// Returns the median of a figure over the stretches of each point, by the point's cases on all axes, as in `1000000 / 100`.
pub(super) fn by_point(
    scenario: &Scenario,
    figure: impl Fn(&Stretch) -> f64,
) -> Result<BTreeMap<String, f64>, Failure> {
    let mut medians = BTreeMap::new();
    for point in &scenario.points {
        let names: Vec<&str> = point.at.iter().map(|case| case.name.as_str()).collect();
        let point = at(scenario, &names)?;
        medians.insert(names.join(" / "), median_of(point, &figure));
    }
    Ok(medians)
}

/// Returns the largest resident memory of a node in any of these scenarios, in megabytes (10^6).
pub(super) fn rss_mb_max<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> f64 {
    let points = scenarios.into_iter().flat_map(|scenario| &scenario.points);
    let found = points.filter_map(|point| point.summary.metrics.get("rss_mb_max"));
    found.map(|found| found.value).fold(0.0, f64::max)
}

/// Returns the machine and its limits, with the names of the line.
pub(super) fn machine(machine: &Machine) -> Value {
    let limits = machine.limits.clone().unwrap_or_default();
    json!({
        "cores": machine.cores,
        "processor": machine.processor,
        "signatures_per_s": limits.signs_per_s,
        "verifications_batch_per_s": limits.checks_per_s,
        "sha256_mb_per_s": limits.hash_mb_per_s,
        "durable_commits_per_s": limits.commits_per_s,
        "load_before": machine.load_average_before,
        "load_after": machine.load_average_after,
    })
}

/// Rounds all numbers of a line to three decimals below 100, and to none above 10,000.
pub(super) fn rounded(mut value: Value) -> Value {
    match &mut value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
                let scale = match float.abs() {
                    small if small < 100.0 => 1000.0,
                    middle if middle < 10_000.0 => 10.0,
                    _ => 1.0,
                };
                return json!((float * scale).round() / scale);
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = rounded(item.take())),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|field| *field = rounded(field.take()));
        }
        _ => {}
    }
    value
}

fn nothing(scenario: &Scenario, at: &str) -> Failure {
    let message = format!("{}: nothing was measured at {at:?}", scenario.name);
    Failure::local("tally.failed", message, "Use longer windows.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::CaseResult;

    #[test]
    fn rounding() {
        let value = json!({"a": [1.23456, 123.456, 12345.67], "b": 7, "c": "x"});
        let expected = json!({"a": [1.235, 123.5, 12346.0], "b": 7, "c": "x"});
        assert_eq!(rounded(value), expected);
    }

    #[test]
    fn figures_are_medians_of_the_stretches_of_one_point() {
        let stretch = |done| Stretch {
            seconds: 1.0,
            done,
            ..Stretch::default()
        };
        let point = |name: &str, done: &[u64]| Point {
            at: vec![CaseResult {
                name: name.to_owned(),
                ..CaseResult::default()
            }],
            stretches: done.iter().copied().map(stretch).collect(),
            ..Point::default()
        };
        let scenario = Scenario {
            points: vec![
                point("1", &[10, 50, 20]),
                point("4", &[7]),
                point("5", &[0]),
            ],
            ..Scenario::default()
        };
        for (case, expected) in [
            ("1", Some(20.0)),
            ("4", Some(7.0)),
            ("5", None),
            ("6", None),
        ] {
            let found = at(&scenario, &[case]).ok().map(per_s);
            assert_eq!(found, expected, "{case}");
        }
        assert_eq!(only(&scenario).ok().map(per_s), Some(20.0));
        assert!(
            by_point(&scenario, Stretch::per_s).is_err(),
            "one has nothing"
        );
    }
}
