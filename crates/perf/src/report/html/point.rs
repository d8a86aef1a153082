//! Each point in detail: its repeats overlaid in time, the distribution of its latencies, and the figures of every
//! stretch.

use super::figure::{Swatch, figure};
use super::frame::words;
use super::tables::{parts, table};
use super::timeline::{Drawn, line, p99_of_second};
use crate::report::chart::{Distribution, Line, SERIES_MAX, TimeChart, percentiles, time};
use crate::report::figures::{bytes, figure as number, too_few_samples};
use crate::report::headline::{headline, place};
use crate::results::{Histogram, Point, Scenario, Stretch};
use crate::stats::steadiness;

/// Upper limit on points shown in detail. The files have all.
const POINTS_MAX: usize = 60;
/// Upper limit on stretches shown per point.
const STRETCHES_MAX: usize = 50;
/// Upper limit on points of a curve of percentiles.
const QUANTILES_MAX: usize = 80;
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
    let headline = headline(scenario).map(|headline| headline.point);
    let is_headline = |point: &Point| headline.is_some_and(|one| std::ptr::eq(one, point));
    // The headline's point is always drawn, even if it is one of the last.
    let others = scenario.points.iter().filter(|point| !is_headline(point));
    for point in headline.into_iter().chain(others) {
        let mut all = Histogram::default();
        for stretch in &point.stretches {
            all.merge(&stretch.latencies);
        }
        let points = quantiles(&all);
        if points.is_empty() || curves.len() == SERIES_MAX {
            continue;
        }
        let name = match is_headline(point) {
            true => format!("{} (headline)", place(point)),
            false => place(point),
        };
        legend.push((Swatch::Line(curves.len()), name));
        let series = curves.len();
        curves.push(Distribution { series, points });
    }
    if curves.is_empty() {
        return String::new();
    }
    if scenario.points.len() == 1 {
        legend.clear();
    }
    let about = match scenario.points.len() > curves.len() && curves.len() == SERIES_MAX {
        true => {
            "ms by percentile, all repeats of a point together; the headline's point and the first others of the sweep"
        }
        false => "ms by percentile, all repeats of a point together",
    };
    let svg = percentiles("Latency by percentile", &curves);
    format!(
        "<h3>Latency distribution, and every point</h3><div class=\"charts\">{}</div>",
        figure("Latency distribution", about, &svg, &legend)
    )
}

/// Returns the quantiles of a histogram, as far into the tail as its samples support; none without enough for a median.
fn quantiles(histogram: &Histogram) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut rest = 1.0f64;
    // Ten steps for each nine.
    while points.len() < QUANTILES_MAX {
        let share = 1.0 - rest;
        match histogram.percentile_ms(share) {
            Some(latency_ms) => points.push((share, latency_ms)),
            None => break,
        }
        rest /= 10f64.powf(0.1);
    }
    match histogram.percentile_ms(0.5) {
        Some(_) => points,
        None => Vec::new(),
    }
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
            if repeats.iter().all(Vec::is_empty) {
                continue;
            }
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
                (Drawn::Level(p99_of_second), "99th percentile"),
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

/// A column of the table of stretches: its heading, and its cell, `None` where there is nothing to tell.
type Column = (&'static str, fn(&Stretch) -> Option<String>);

/// Columns after the number of the repeat. Those with nothing to tell of any repeat are left out.
const COLUMNS: [Column; 19] = [
    ("Measured<br>s", |stretch| Some(number(stretch.seconds))),
    ("Rate /s", |stretch| Some(number(stretch.per_s()))),
    ("Steady", |stretch| {
        let (verdict, change) = steadiness(stretch)?;
        let percent = change.value * 100.0;
        Some(format!("{} ({percent:+.1} %)", verdict.as_str()))
    }),
    ("Due", |stretch| count(stretch.due)),
    ("Done", |stretch| Some(number(stretch.done as f64))),
    ("Failed", |stretch| count(stretch.failed())),
    ("Dropped", |stretch| count(stretch.dropped)),
    ("Late", |stretch| count(stretch.late)),
    ("Retries", |stretch| count(stretch.retries)),
    ("p50 ms", |stretch| percentile(&stretch.latencies, 0.5)),
    ("p90 ms", |stretch| percentile(&stretch.latencies, 0.9)),
    ("p95 ms", |stretch| percentile(&stretch.latencies, 0.95)),
    ("p99 ms", |stretch| percentile(&stretch.latencies, 0.99)),
    ("Max ms", |stretch| {
        above_zero(stretch.latencies.quantile_ms(1.0))
    }),
    ("Generator<br>cores", |stretch| {
        above_zero(stretch.generator.cpu_cores)
    }),
    ("Timer lag<br>p99 ms", |stretch| {
        above_zero(stretch.generator.lag_p99_ms)
    }),
    ("Behind<br>max ms", |stretch| {
        above_zero(stretch.generator.behind_max_ms)
    }),
    ("Agents", agents),
    ("Disk", |stretch| {
        let grown = stretch.disk_bytes.filter(|grown| *grown > 0)?;
        Some(bytes(grown as f64))
    }),
];
/// Columns in which an empty cell means none. In the others it means that the figure is not known.
const COUNTED: [&str; 5] = ["Due", "Failed", "Dropped", "Late", "Retries"];
/// Columns that are highlighted if they have a figure.
const WRONG: [&str; 3] = ["Failed", "Dropped", "Late"];

fn above_zero(value: f64) -> Option<String> {
    (value > 0.0).then(|| number(value))
}

fn count(value: u64) -> Option<String> {
    above_zero(value as f64)
}

/// Returns a percentile, or that there are too few samples; `None` without samples.
fn percentile(latencies: &Histogram, share: f64) -> Option<String> {
    let samples = latencies.count();
    let found = latencies.percentile_ms(share).map(number);
    (samples > 0).then(|| found.unwrap_or_else(|| too_few_samples(samples)))
}

/// Returns the number of agents; `None` for a single generator that was not lost.
fn agents(stretch: &Stretch) -> Option<String> {
    let generator = &stretch.generator;
    match (generator.agents, generator.agents_lost) {
        (0 | 1, 0) => None,
        (agents, 0) => Some(agents.to_string()),
        (agents, lost) => Some(format!("{agents}, {lost} lost")),
    }
}

/// Returns the figures of every stretch.
fn stretches(point: &Point) -> String {
    let shown = || point.stretches.iter().take(STRETCHES_MAX);
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, cell)| shown().any(|stretch| cell(stretch).is_some()))
        .collect();
    if columns.is_empty() {
        return "<p class=\"dim\">Nothing was measured.</p>".to_owned();
    }
    parts(&columns, 1)
        .map(|part| stretches_table(point, part))
        .collect()
}

fn stretches_table(point: &Point, columns: &[&Column]) -> String {
    let head: String = columns
        .iter()
        .map(|(name, _)| format!("<th>{name}</th>"))
        .collect();
    let row = |(at, stretch): (usize, &Stretch)| {
        let cells: String = columns
            .iter()
            .map(|(name, cell)| match cell(stretch) {
                Some(text) if WRONG.contains(name) => format!("<td class=\"bad\">{text}</td>"),
                Some(text) => format!("<td>{text}</td>"),
                None if COUNTED.contains(name) => "<td>0</td>".to_owned(),
                None => "<td class=\"dim\">–</td>".to_owned(),
            })
            .collect();
        format!("<tr><td>{}</td>{cells}</tr>", at + 1)
    };
    let shown = point.stretches.iter().take(STRETCHES_MAX);
    let rows: String = shown.enumerate().map(row).collect();
    table(&format!("<th>Repeat</th>{head}"), &rows)
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
            // A kind of work without samples has empty cells.
            let latency = |share: f64| percentile(latencies, share).unwrap_or_default();
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
