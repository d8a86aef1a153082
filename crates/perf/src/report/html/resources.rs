//! Resource use of the processes over time, on the same time axis as the clients' measurements, and, folded away, the nodes'
//! own metrics.

use std::collections::BTreeMap;

use super::figure::{Swatch, figure};
use super::timeline::{Times, stretches};
use crate::report::chart::{Line, SERIES_MAX};
use crate::results::{MissingReadings, Process, ProcessSample, Scenario, is_database};

/// Processes that get a line of their own in a chart; the others share one, their mean.
const LINES_EACH: usize = 5;
/// Node metrics that get a chart; the JSON has all.
const METRICS_MAX: usize = 16;

/// One name's values over time, in parts with gaps between stretches.
type Parts = Vec<Vec<(f64, f64)>>;

/// The drawn value of a process between two samples. A counter that falls belongs to a different process.
enum Drawn {
    /// The value itself.
    Level(fn(&ProcessSample) -> f64),
    /// The growth per second.
    Growth(fn(&ProcessSample) -> f64),
}

/// A chart: its title, its unit, its values, and whether a sample lacks them.
type Chart = (
    &'static str,
    &'static str,
    Drawn,
    fn(&MissingReadings) -> bool,
);

/// Returns the charts; nothing if nothing was monitored.
pub fn section(scenario: &Scenario, times: &Times) -> String {
    let mut out = String::new();
    let charts: [Chart; 7] = [
        (
            "Processor",
            "cores in use",
            Drawn::Growth(|sample| sample.cpu_ms as f64 / 1000.0),
            |missing| missing.process,
        ),
        (
            "Memory",
            "MB resident",
            Drawn::Level(|sample| sample.rss_bytes as f64 / 1e6),
            |missing| missing.process,
        ),
        (
            "Disk writes",
            "MB a second",
            Drawn::Growth(|sample| sample.written_bytes as f64 / 1e6),
            |missing| missing.io,
        ),
        (
            "Files on disk",
            "MB in each node's folder",
            Drawn::Level(|sample| sample.disk_bytes as f64 / 1e6),
            |missing| missing.disk,
        ),
        (
            "Durable commits",
            "a second",
            Drawn::Growth(|sample| sample.commits as f64),
            |missing| missing.counters,
        ),
        (
            "Sent to nodes",
            "Mbit/s on the wire",
            Drawn::Growth(|sample| sample.sent_bytes as f64 * 8.0 / 1e6),
            |missing| missing.counters,
        ),
        (
            "Sent to clients",
            "Mbit/s on the wire",
            Drawn::Growth(|sample| sample.to_clients_bytes as f64 * 8.0 / 1e6),
            |missing| missing.counters,
        ),
    ];
    for (title, about, drawn, lacks) in charts {
        let mut names: BTreeMap<&str, Parts> = BTreeMap::new();
        for stretch in stretches(scenario) {
            for process in &stretch.processes {
                let points = points(process, &drawn, lacks);
                if !points.is_empty() {
                    names.entry(&process.name).or_default().push(points);
                }
            }
        }
        out.push_str(&chart(times, title, about, names));
    }
    match out.is_empty() {
        true => out,
        false => {
            format!("<h3>Resources, on the same time axis</h3><div class=\"charts\">{out}</div>")
        }
    }
}

/// Returns the drawn values of a process. A sample that lacks the reading leaves a gap.
fn points(
    process: &Process,
    drawn: &Drawn,
    lacks: fn(&MissingReadings) -> bool,
) -> Vec<(f64, f64)> {
    let samples = process.samples.iter().filter(|one| !lacks(&one.missing));
    let values = |value: fn(&ProcessSample) -> f64| {
        samples.map(move |sample| (seconds(sample.at_ms), value(sample)))
    };
    match drawn {
        Drawn::Level(value) => values(*value).collect(),
        Drawn::Growth(value) => growth(values(*value)),
    }
}

/// Returns the charts of the nodes' own metrics, folded: they are raw, and few readers need them. Nothing without any.
pub fn own_metrics(scenario: &Scenario, times: &Times) -> String {
    match metrics(scenario, times) {
        charts if charts.is_empty() => charts,
        charts => format!(
            "<details><summary>The nodes' own metrics<span>as they report them</span></summary><div><div \
             class=\"charts\">{charts}</div></div></details>"
        ),
    }
}

/// Charts of the nodes' metrics, one for each name.
fn metrics(scenario: &Scenario, times: &Times) -> String {
    let mut by_name: BTreeMap<&str, BTreeMap<&str, Parts>> = BTreeMap::new();
    for stretch in stretches(scenario) {
        for series in &stretch.metrics {
            let values = series
                .values
                .iter()
                .map(|(at, value)| (seconds(*at), *value));
            let points = if is_counter(&series.name) {
                growth(values)
            } else {
                values.collect()
            };
            let nodes = by_name.entry(&series.name).or_default();
            nodes.entry(&series.node).or_default().push(points);
        }
    }
    let mut out = String::new();
    let mut drawn = 0;
    for (name, nodes) in by_name {
        let about = if is_counter(name) {
            "a second, as the node counts"
        } else {
            "as the node says"
        };
        let svg = chart(times, name, about, nodes);
        if !svg.is_empty() && drawn < METRICS_MAX {
            out.push_str(&svg);
            drawn += 1;
        }
    }
    out
}

/// Returns whether a metric counts from the node's start, according to Prometheus' naming.
fn is_counter(name: &str) -> bool {
    let bare = name.split_once('{').map_or(name, |(bare, _)| bare);
    ["_total", "_count", "_sum", "_bucket"]
        .iter()
        .any(|end| bare.ends_with(end))
}

fn seconds(at_ms: u64) -> f64 {
    at_ms as f64 / 1000.0
}

/// Converts values of a counter to its growth a second, at the end of each interval.
fn growth(values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let values: Vec<(f64, f64)> = values.collect();
    let mut steps: Vec<f64> = values
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    steps.sort_by(f64::total_cmp);
    // The last sample comes when the stretch ends. If it is too soon after another, a tick of the clock would look like a
    // burst.
    let shortest = steps.get(steps.len() / 2).map_or(0.0, |usual| usual * 0.4);
    let mut points = Vec::new();
    let mut from: Option<(f64, f64)> = None;
    for (at, value) in values {
        match from {
            Some((_, before)) if value < before => from = Some((at, value)),
            Some((since, _)) if at - since <= shortest || at <= since => {}
            Some((since, before)) => {
                points.push((at, (value - before) / (at - since)));
                from = Some((at, value));
            }
            None => from = Some((at, value)),
        }
    }
    points
}

/// Returns one chart; nothing if all values are 0.
fn chart(times: &Times, title: &str, about: &str, names: BTreeMap<&str, Parts>) -> String {
    let size = |parts: &Parts| -> f64 {
        let count = parts.iter().map(Vec::len).sum::<usize>().max(1);
        parts
            .iter()
            .flatten()
            .map(|point| point.1.abs())
            .sum::<f64>()
            / count as f64
    };
    if names.values().all(|parts| size(parts) == 0.0) {
        return String::new();
    }
    // The largest lines keep their own line. Colours go by name, so that a process looks the same in neighbouring charts.
    let mut order: Vec<(&str, f64)> = names
        .iter()
        .map(|(name, parts)| (*name, size(parts)))
        .collect();
    // Database servers are no nodes: their mean with those would be the mean of nothing.
    order.sort_by(|one, two| {
        let keys = [one, two].map(|(name, size)| (is_database(name), *size));
        let databases_first = keys[1].0.cmp(&keys[0].0);
        let largest_first = keys[1].1.total_cmp(&keys[0].1);
        databases_first.then(largest_first).then(one.0.cmp(two.0))
    });
    let kept = if order.len() > LINES_EACH + 1 {
        LINES_EACH
    } else {
        order.len()
    };
    let mut own: Vec<&str> = order[..kept].iter().map(|(name, _)| *name).collect();
    let rest: Vec<&Parts> = order[kept..].iter().map(|(name, _)| &names[name]).collect();
    own.sort_by_key(|name| (colour(name), *name));
    let mut lines = Vec::new();
    let mut legend = Vec::new();
    let mut taken = Vec::new();
    for name in own {
        let series = (colour(name)..SERIES_MAX)
            .chain(0..SERIES_MAX)
            .find(|series| !taken.contains(series));
        let series = series.expect("fewer lines than colours");
        taken.push(series);
        let (parts, faint) = (names[name].clone(), false);
        lines.push(Line {
            series,
            faint,
            parts,
        });
        legend.push((Swatch::Line(series), name.to_owned()));
    }
    if !rest.is_empty() {
        let parts = mean(&rest);
        lines.push(Line {
            series: 6,
            faint: false,
            parts,
        });
        legend.push((Swatch::Line(6), format!("mean of {} others", rest.len())));
    }
    let svg = times.chart(title, false, lines);
    figure(title, about, &svg, &legend)
}

/// Returns the colour of a name: the notary and the generator have their own, banks follow.
fn colour(name: &str) -> usize {
    match name {
        "notary" => 1,
        "generator" => 7,
        "bank-1" => 0,
        _ => 2,
    }
}

/// Returns the mean of several lines with about the same times, by position.
fn mean(lines: &[&Parts]) -> Parts {
    // The mean of no lines has no parts, and the mean of no parts has no points.
    let longest = lines.iter().map(|parts| parts.len()).max().unwrap_or(0);
    (0..longest)
        .map(|part| {
            let parts: Vec<&Vec<(f64, f64)>> =
                lines.iter().filter_map(|parts| parts.get(part)).collect();
            let shortest = parts.iter().map(|part| part.len()).min().unwrap_or(0);
            (0..shortest)
                .map(|at| {
                    let sum: f64 = parts.iter().map(|part| part[at].1).sum();
                    (parts[0][at].0, sum / parts.len() as f64)
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_reading_is_a_gap_and_not_0() {
        let sample = |at_ms, rss_bytes, is_missing| ProcessSample {
            at_ms,
            rss_bytes,
            missing: MissingReadings {
                process: is_missing,
                ..MissingReadings::default()
            },
            ..ProcessSample::default()
        };
        let process = Process {
            name: "bank-1".to_owned(),
            samples: vec![
                sample(0, 5_000_000, false),
                sample(1_000, 0, true),
                sample(2_000, 6_000_000, false),
            ],
        };
        let memory = Drawn::Level(|sample| sample.rss_bytes as f64 / 1e6);
        let found = points(&process, &memory, |missing| missing.process);
        assert_eq!(found, [(0.0, 5.0), (2.0, 6.0)]);
    }

    #[test]
    fn growth_skips_looks_too_close_together_and_restarts() {
        let looks = [
            (0.0, 0.0),
            (1.0, 5.0),
            (2.0, 15.0),
            (2.01, 25.0),
            (3.0, 25.0),
            (4.0, 2.0),
            (5.0, 4.0),
        ];
        let found = growth(looks.into_iter());
        assert_eq!(found, [(1.0, 5.0), (2.0, 10.0), (3.0, 10.0), (5.0, 2.0)]);
        assert_eq!(growth([(1.0, 1.0)].into_iter()), []);
        assert_eq!(growth([(1.0, 1.0), (1.0, 2.0)].into_iter()), []);
    }
}
