//! Each point in detail: its repeats overlaid in time, the distribution of its latencies, and the figures of every
//! stretch.

use super::figure::{Swatch, figure};
use super::frame::words;
use super::tables::table;
use super::timeline::{Drawn, line};
use crate::report::chart::{Distribution, Line, SERIES_MAX, TimeChart, percentiles, time};
use crate::report::figures::{bytes, figure as number};
use crate::report::headline::place;
use crate::results::{Histogram, Point, Scenario, Stretch};

/// Upper limit on points shown in detail. The files have all.
const POINTS_MAX: usize = 60;
/// Upper limit on stretches shown per point.
const STRETCHES_MAX: usize = 50;
/// Upper limit on steps of a search shown.
const TRIED_MAX: usize = 60;

/// Returns the distributions of all points in one chart, then every point.
pub fn details(scenario: &Scenario) -> String {
    let mut out = distribution(scenario);
    let alone = scenario.points.len() == 1;
    for point in scenario.points.iter().take(POINTS_MAX) {
        let name = match place(point) {
            place if place.is_empty() => "Every repeat".to_owned(),
            place => place,
        };
        let open = if alone { " open" } else { "" };
        let count = point.stretches.len();
        let repeats = if count == 1 {
            "1 repeat".to_owned()
        } else {
            format!("{count} repeats")
        };
        out.push_str(&format!(
            "<details{open}><summary>{}<span>{repeats}</span></summary><div>",
            words(&name, 160)
        ));
        if count > 1 {
            out.push_str(&overlaid(point));
        }
        out.push_str(&stretches(point));
        out.push_str(&works(point));
        out.push_str(&tried(point));
        out.push_str("</div></details>");
    }
    out
}

/// Returns latency over percentile, one curve for each point.
fn distribution(scenario: &Scenario) -> String {
    let mut curves = Vec::new();
    let mut legend = Vec::new();
    for point in &scenario.points {
        let mut all = Histogram::default();
        for stretch in &point.stretches {
            all.merge(&stretch.latencies);
        }
        let points = quantiles(&all);
        if points.is_empty() || curves.len() == SERIES_MAX {
            continue;
        }
        legend.push((Swatch::Line(curves.len()), place(point)));
        let series = curves.len();
        curves.push(Distribution { series, points });
    }
    if curves.is_empty() {
        return String::new();
    }
    if legend.len() == 1 {
        legend.clear();
    }
    let about = match scenario.points.len() > curves.len() && curves.len() == SERIES_MAX {
        true => "ms by percentile, all repeats of a point together; the first points of the sweep",
        false => "ms by percentile, all repeats of a point together",
    };
    let svg = percentiles("Latency by percentile", &curves);
    format!(
        "<h3>Latency distribution, and every point</h3><div class=\"charts\">{}</div>",
        figure("Latency distribution", about, &svg, &legend)
    )
}

/// Returns the quantiles of a histogram, as far into the tail as it has samples.
fn quantiles(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count();
    if count == 0 {
        return Vec::new();
    }
    let mut shares = vec![0.0];
    let mut rest = 1.0f64;
    // Ten steps for each nine. The last quantile is that of the greatest sample.
    while rest > 1.0 / count as f64 && shares.len() < 80 {
        rest /= 10f64.powf(0.1);
        shares.push((1.0 - rest).min(1.0 - 1.0 / count as f64));
    }
    shares.dedup();
    let mut points: Vec<(f64, f64)> = shares
        .into_iter()
        .map(|share| (share, histogram.quantile_ms(share)))
        .collect();
    if let Some(last) = points.last_mut() {
        last.1 = histogram.quantile_ms(1.0);
    }
    points
}

/// Returns rate and latency of all repeats overlaid, with their median.
fn overlaid(point: &Point) -> String {
    let mut lengths = point.stretches.iter().map(|stretch| stretch.series.len());
    if lengths.all(|seconds| seconds < 2) {
        return String::new();
    }
    let chart = |title: &str, about: &str, values: &[(Drawn, &str)]| {
        let mut lines = Vec::new();
        let mut legend = Vec::new();
        for (series, (value, name)) in values.iter().enumerate() {
            let repeats: Vec<Vec<(f64, f64)>> = point
                .stretches
                .iter()
                .take(STRETCHES_MAX)
                .map(|stretch| line(stretch, stretch.started_ms, *value))
                .collect();
            let parts = vec![median(&repeats)];
            lines.push(Line {
                series,
                faint: true,
                parts: repeats,
            });
            lines.push(Line {
                series,
                faint: false,
                parts,
            });
            legend.push((
                Swatch::Line(series),
                format!("{name}, median of the repeats"),
            ));
            legend.push((Swatch::Faint(series), format!("{name}, each repeat")));
        }
        let ends = lines.iter().flat_map(|line| &line.parts).flatten();
        let to = ends.map(|point| point.0).fold(1.0, f64::max);
        let svg = time(&TimeChart {
            about: format!("{title} over time, all repeats"),
            from: 0.0,
            to,
            since: "since the measuring began",
            may_be_log: title == "Latency",
            lines,
            bands: None,
        });
        figure(title, about, &svg, &legend)
    };
    format!(
        "<div class=\"charts\">{}{}</div>",
        chart(
            "Rate",
            "units a second, repeats over each other",
            &[(Drawn::Count(|second| second.done), "rate")]
        ),
        chart(
            "Latency",
            "ms, repeats over each other",
            &[
                (
                    Drawn::Level(|second| (second.done > 0).then_some(second.p50_ms)),
                    "median"
                ),
                (
                    Drawn::Level(|second| (second.done > 0).then_some(second.p99_ms)),
                    "99th percentile"
                ),
            ]
        )
    )
}

/// Returns the median of several lines, second by second.
fn median(lines: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut by_second: std::collections::BTreeMap<u64, Vec<f64>> =
        std::collections::BTreeMap::new();
    for (at, value) in lines.iter().flatten() {
        by_second
            .entry(at.round().max(0.0) as u64)
            .or_default()
            .push(*value);
    }
    by_second
        .into_iter()
        .map(|(second, mut values)| {
            values.sort_by(f64::total_cmp);
            let middle = values.len() / 2;
            let median = match values.len() % 2 {
                0 => (values[middle - 1] + values[middle]) / 2.0,
                _ => values[middle],
            };
            (second as f64, median)
        })
        .collect()
}

/// Returns the figures of every stretch.
fn stretches(point: &Point) -> String {
    let head: String = [
        "Repeat",
        "Measured s",
        "Rate /s",
        "Due",
        "Done",
        "Failed",
        "Dropped",
        "Late",
        "Retries",
        "p50 ms",
        "p90 ms",
        "p95 ms",
        "p99 ms",
        "Max ms",
        "Generator cores",
        "Timer lag p99 ms",
        "Behind max ms",
        "Agents",
        "Disk",
    ]
    .iter()
    .map(|name| format!("<th>{name}</th>"))
    .collect();
    let count = |value: u64| number(value as f64);
    let row = |(at, stretch): (usize, &Stretch)| {
        let generator = &stretch.generator;
        let latency = |share: f64| number(stretch.latencies.quantile_ms(share));
        let agents = match generator.agents_lost {
            0 => generator.agents.to_string(),
            lost => format!("{}, {lost} lost", generator.agents),
        };
        let cells = [
            (at + 1).to_string(),
            number(stretch.seconds),
            number(stretch.per_s()),
            count(stretch.due),
            count(stretch.done),
            count(stretch.failed()),
            count(stretch.dropped),
            count(stretch.late),
            count(stretch.retries),
            latency(0.5),
            latency(0.9),
            latency(0.95),
            latency(0.99),
            latency(1.0),
            number(generator.cpu_cores),
            number(generator.lag_p99_ms),
            number(generator.behind_max_ms),
            agents,
            bytes(stretch.disk_bytes as f64),
        ];
        // Failed, dropped and late units are highlighted if there are any.
        let wrong = |at: usize, cell: &str| matches!(at, 5..=7) && cell != "0";
        let cells: String = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| match wrong(at, cell) {
                true => format!("<td class=\"bad\">{cell}</td>"),
                false => format!("<td>{cell}</td>"),
            })
            .collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = point
        .stretches
        .iter()
        .take(STRETCHES_MAX)
        .enumerate()
        .map(row)
        .collect();
    match rows.is_empty() {
        true => "<p class=\"dim\">Nothing was measured.</p>".to_owned(),
        false => table(&head, &rows),
    }
}

/// Returns the figures by kind of work over all repeats, if there are several kinds.
fn works(point: &Point) -> String {
    let mut labels: Vec<(&str, u64, u64, Histogram)> = Vec::new();
    for work in point.stretches.iter().flat_map(|stretch| &stretch.works) {
        match labels.iter_mut().find(|label| label.0 == work.label) {
            Some(label) => {
                // A report from a file may state any numbers. No run makes a sum above the largest of them.
                label.1 = label.1.saturating_add(work.done);
                label.2 = label.2.saturating_add(work.failed);
                label.3.merge(&work.latencies);
            }
            None => labels.push((&work.label, work.done, work.failed, work.latencies.clone())),
        }
    }
    if labels.len() < 2 {
        return String::new();
    }
    let rows: String = labels
        .iter()
        .take(STRETCHES_MAX)
        .map(|(label, done, failed, latencies)| {
            let latency = |share: f64| number(latencies.quantile_ms(share));
            format!(
                "<tr><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                words(label, 80),
                number(*done as f64),
                number(*failed as f64),
                latency(0.5),
                latency(0.95),
                latency(0.99)
            )
        })
        .collect();
    let head = "<th class=\"l\">By kind of work</th><th>Done</th><th>Failed</th><th>p50 ms</th><th>p95 ms</th><th>p99 ms</th>";
    table(head, &rows)
}

/// Returns the steps of a search for the knee.
fn tried(point: &Point) -> String {
    let tried = point.stretches.iter().enumerate();
    let rows: String = tried
        .flat_map(|(repeat, stretch)| stretch.tried.iter().map(move |tried| (repeat + 1, tried)))
        .take(TRIED_MAX)
        .map(|(repeat, (rate, met))| {
            let verdict = if *met {
                "✓ met the target"
            } else {
                "✗ missed the target"
            };
            format!(
                "<tr><td>{repeat}</td><td>{}</td><td class=\"l\">{verdict}</td></tr>",
                number(*rate)
            )
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => table(
            "<th>Repeat</th><th>Tried, a second</th><th class=\"l\">The search</th>",
            &rows,
        ),
    }
}
