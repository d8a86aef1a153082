//! The table of measured and published figures of one metric.

use super::markdown::{Table, plain};
use crate::report::headline::{main_metric, published_at};
use crate::report::units::Metric;
use crate::results::{CASES_JOINED, Estimate, Point, Published, Scenario, Stretch};

/// Metrics with a chart and a table of their own.
const METRICS_MAX: usize = 4;
/// Further figures of the headline point, in the order of their table.
const FURTHER: [&str; 13] = [
    "rate_per_s",
    "states_per_s",
    "file_mb_per_s",
    "mean_ms",
    "p50_ms",
    "p99_ms",
    "error_share",
    "cpu_us_per_unit",
    "serial_us_per_unit",
    "ceiling_per_s",
    "rss_mb_max",
    "database_rss_mb_max",
    "disk_bytes_per_unit",
];
/// Further figures of a long repeat. A drift by the hour says nothing about a minute.
const FURTHER_OF_LONG: [&str; 5] = [
    "rate_drift_percent_per_h",
    "p50_drift_percent_per_h",
    "rss_drift_mb_per_h",
    "database_rss_drift_mb_per_h",
    "disk_mb_per_h",
];

/// Least duration of a long repeat, in seconds.
const LONG_SECONDS_MIN: f64 = 600.0;

/// Returns the metrics that are shown: the main one, then others with published figures, if they were measured.
pub fn metrics(scenario: &Scenario) -> Vec<Metric> {
    let mut names = vec![main_metric(scenario)];
    for line in &scenario.published {
        if !names.contains(&line.metric.as_str()) {
            names.push(&line.metric);
        }
    }
    let is_measured = |name: &&str| {
        let mut points = scenario.points.iter();
        points.any(|point| point.summary.metrics.contains_key(*name))
    };
    let names = names.into_iter().filter(is_measured).take(METRICS_MAX);
    names.map(Metric::named).collect()
}

/// Returns the table of a metric: each point with its interval and its repeats, and the published figures for it. Published
/// figures without a point of ours follow.
pub fn table(scenario: &Scenario, metric: &Metric) -> String {
    let lines: Vec<(usize, &Published)> = scenario.published.iter().enumerate().collect();
    let lines: Vec<(usize, &Published)> = lines
        .into_iter()
        .filter(|(_, line)| line.metric == metric.name)
        .collect();
    let unit = match metric.unit {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let mut headings: Vec<String> = scenario.axes.iter().map(|axis| plain(axis)).collect();
    headings.push(format!(">ours{unit}"));
    headings.push(">95 % interval".to_owned());
    headings.push(">repeats".to_owned());
    headings.push(">units in all".to_owned());
    headings.extend(
        lines
            .iter()
            .map(|(at, line)| format!(">{} ({})", plain(&line.label), at + 1)),
    );
    let mut table = Table::new(&headings);
    for point in &scenario.points {
        let Some(estimate) = point.summary.metrics.get(&metric.name) else {
            continue;
        };
        let mut cells: Vec<String> = point.at.iter().map(|case| plain(&case.name)).collect();
        cells.push(metric.figure(estimate.value));
        cells.push(interval(metric, estimate));
        cells.push(repeats(point, metric).to_string());
        cells.push(units(point));
        cells.extend(lines.iter().map(|(_, line)| theirs(metric, line, point)));
        table.row(cells);
    }
    for key in elsewhere(scenario, &lines) {
        let mut cells: Vec<String> = key.split(CASES_JOINED).map(plain).collect();
        cells.resize(scenario.axes.len(), "any".to_owned());
        cells.push("not measured".to_owned());
        cells.extend([const { String::new() }; 3]);
        cells.extend(lines.iter().map(|(_, line)| {
            let value = line.values.get(&key);
            value.map_or(String::new(), |value| metric.figure(*value))
        }));
        table.row(cells);
    }
    table.end()
}

/// Returns the ends of an interval.
fn interval(metric: &Metric, estimate: &Estimate) -> String {
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{} to {}", metric.figure(low), metric.figure(high)),
        None => "none".to_owned(),
    }
}

/// Returns the number of repeats that have the metric.
fn repeats(point: &Point, metric: &Metric) -> usize {
    let repeats = point.stretches.iter();
    let with = repeats.filter(|repeat| repeat.figures.contains_key(&metric.name));
    match with.count() {
        // A figure that follows from others has their repeats.
        0 => point.stretches.len(),
        count => count,
    }
}

fn units(point: &Point) -> String {
    let done = point.stretches.iter().map(|repeat| repeat.done);
    let sum = done.fold(0u64, u64::saturating_add);
    Metric::named("units").figure(sum as f64)
}

fn theirs(metric: &Metric, line: &Published, point: &Point) -> String {
    let Some(value) = published_at(line, point) else {
        return String::new();
    };
    match line.deviation_at(&point.at) {
        Some(deviation) => format!(
            "{} (s.d. {})",
            metric.figure(value),
            metric.figure(deviation)
        ),
        None => metric.figure(value),
    }
}

/// Returns the cases of published figures that no point of ours has, in the order of numbers, then of names.
fn elsewhere(scenario: &Scenario, lines: &[(usize, &Published)]) -> Vec<String> {
    let is_measured = |key: &str| {
        let wanted: Vec<&str> = key.split(CASES_JOINED).collect();
        let mut points = scenario.points.iter();
        key.is_empty()
            || points.any(|point| {
                let names: Vec<&str> = point.at.iter().map(|case| case.name.as_str()).collect();
                names.starts_with(&wanted)
            })
    };
    let keys = lines.iter().flat_map(|(_, line)| line.values.keys());
    let mut keys: Vec<String> = keys.filter(|key| !is_measured(key)).cloned().collect();
    let number = |key: &str| {
        let first = key.split(CASES_JOINED).next().unwrap_or_default();
        first.parse::<f64>().unwrap_or(f64::INFINITY)
    };
    keys.sort_by(|one, two| number(one).total_cmp(&number(two)).then(one.cmp(two)));
    keys.dedup();
    keys
}

/// Returns the table of further figures at the headline point; empty if there are none.
pub fn further(point: &Point, main: &str) -> String {
    let is_long = |stretch: &Stretch| stretch.seconds >= LONG_SECONDS_MIN;
    let of_long = match point.stretches.iter().any(is_long) {
        true => &FURTHER_OF_LONG[..],
        false => &[],
    };
    let found = FURTHER.iter().chain(of_long).filter(|name| **name != main);
    let mut found = found
        .filter_map(|name| Some((Metric::named(name), point.summary.metrics.get(*name)?)))
        .peekable();
    if found.peek().is_none() {
        return String::new();
    }
    let mut table = Table::new(&[
        "further figures".to_owned(),
        ">ours".to_owned(),
        ">95 % interval".to_owned(),
    ]);
    for (metric, estimate) in found {
        table.row([
            plain(&metric.title),
            metric.with_unit(estimate.value),
            interval(&metric, estimate),
        ]);
    }
    table.end()
}
