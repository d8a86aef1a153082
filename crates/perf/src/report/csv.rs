//! A report as CSV for spreadsheets: one row for each point and metric, one for each second, one for each look at a process.

use super::finite::finite;
use super::units::{Metric, rank};
use crate::results::{Point, Report, Scenario, Stretch};

/// Axes that have columns of their own; a report with more gives the rest in the last.
const AXES_MAX: usize = 4;

/// Returns one row for each scenario, point and metric.
pub fn metrics(report: &Report) -> String {
    let report = finite(report);
    let axes = report.scenarios.iter().map(|scenario| scenario.axes.len());
    // A report without scenarios still has the heading of one axis.
    let axes = axes.max().unwrap_or(0).clamp(1, AXES_MAX);
    let mut head = vec!["scenario".to_owned(), "point".to_owned()];
    for axis in 1..=axes {
        head.extend([format!("axis_{axis}"), format!("case_{axis}")]);
    }
    head.extend(["metric", "unit", "value", "low_95", "high_95", "repeats"].map(str::to_owned));
    let mut out = String::new();
    push(&mut out, &head);
    for (scenario, at, point) in points(&report) {
        let mut names: Vec<&String> = point.summary.metrics.keys().collect();
        names.sort_by_key(|name| (rank(name), *name));
        for name in names {
            let estimate = &point.summary.metrics[name];
            let mut row = vec![text(&scenario.name), at.to_string()];
            for axis in 0..axes {
                let case = point.at.get(axis);
                row.push(case.map_or_else(String::new, |case| text(&case.axis)));
                row.push(case.map_or_else(String::new, |case| text(&case.name)));
            }
            let unit = match Metric::named(name).unit {
                // The stored share is a share; only people are shown it in per cent.
                "%" => "share",
                "/s" => "per s",
                unit => unit,
            };
            let end = |end: Option<f64>| end.map_or_else(String::new, plain);
            row.extend([text(name), unit.to_owned(), plain(estimate.value)]);
            row.extend([end(estimate.low), end(estimate.high)]);
            row.push(point.stretches.len().to_string());
            push(&mut out, &row);
        }
    }
    out
}

/// Returns one row for each second of each measured stretch.
pub fn series(report: &Report) -> String {
    let report = finite(report);
    let head = "scenario,point,case,repeat,at_ms,done,failed,p50_ms,p99_ms,outstanding\n";
    let mut out = head.to_owned();
    for (scenario, at, point, repeat, stretch) in stretches(&report) {
        for second in &stretch.series {
            let mut row = begin(scenario, at, point, repeat);
            row.extend([second.at_ms, second.done, second.failed].map(|count| count.to_string()));
            row.extend([plain(second.p50_ms), plain(second.p99_ms)]);
            row.push(second.outstanding.to_string());
            push(&mut out, &row);
        }
    }
    out
}

/// Returns one row for each sample of each process.
pub fn processes(report: &Report) -> String {
    let report = finite(report);
    let mut out = "scenario,point,case,repeat,process,at_ms,cpu_ms,rss_bytes,read_bytes,written_bytes,commits,sent_bytes,\
                   received_bytes,to_clients_bytes,from_clients_bytes,disk_bytes,kernel_us,kernel_jobs_us\n"
        .to_owned();
    for (scenario, at, point, repeat, stretch) in stretches(&report) {
        for process in &stretch.processes {
            for sample in &process.samples {
                let mut row = begin(scenario, at, point, repeat);
                row.push(text(&process.name));
                let missing = sample.missing;
                let counts = [
                    (sample.at_ms, false),
                    (sample.cpu_ms, missing.process),
                    (sample.rss_bytes, missing.process),
                    (sample.read_bytes, missing.io),
                    (sample.written_bytes, missing.io),
                    (sample.commits, missing.counters),
                    (sample.sent_bytes, missing.counters),
                    (sample.received_bytes, missing.counters),
                    (sample.to_clients_bytes, missing.counters),
                    (sample.from_clients_bytes, missing.counters),
                    (sample.disk_bytes, missing.disk),
                ];
                let cell = |(count, is_missing): (u64, bool)| match is_missing {
                    true => String::new(),
                    false => count.to_string(),
                };
                row.extend(counts.map(cell));
                let readings = [sample.kernel_us, sample.kernel_jobs_us];
                // A reading that is missing stays empty.
                row.extend(readings.map(|us| us.map_or_else(String::new, |us| us.to_string())));
                push(&mut out, &row);
            }
        }
    }
    out
}

fn points(report: &Report) -> impl Iterator<Item = (&Scenario, usize, &Point)> {
    report.scenarios.iter().flat_map(|scenario| {
        let points = scenario.points.iter().enumerate();
        points.map(move |(at, point)| (scenario, at + 1, point))
    })
}

pub(super) fn stretches(
    report: &Report,
) -> impl Iterator<Item = (&Scenario, usize, &Point, usize, &Stretch)> {
    points(report).flat_map(|(scenario, at, point)| {
        let stretches = point.stretches.iter().enumerate();
        stretches.map(move |(repeat, stretch)| (scenario, at, point, repeat + 1, stretch))
    })
}

pub(super) fn begin(scenario: &Scenario, at: usize, point: &Point, repeat: usize) -> Vec<String> {
    let cases: Vec<&str> = point.at.iter().map(|case| case.name.as_str()).collect();
    vec![
        text(&scenario.name),
        at.to_string(),
        text(&cases.join("; ")),
        repeat.to_string(),
    ]
}

/// Formats a number for any program: a decimal point, no thousands separator.
pub(super) fn plain(value: f64) -> String {
    format!("{value}")
}

/// Escapes text for spreadsheets: text that looks like a formula gets an apostrophe before it.
pub(super) fn text(value: &str) -> String {
    match value.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{value}"),
        _ => value.to_owned(),
    }
}

/// Adds a row, quoted according to RFC 4180.
pub(super) fn push(out: &mut String, row: &[String]) {
    for (at, cell) in row.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        field(out, cell);
    }
    out.push('\n');
}

/// Adds one field, in quotation marks where it needs them.
pub(super) fn field(out: &mut String, cell: &str) {
    if cell.contains([',', '"', '\n', '\r']) {
        out.push('"');
        out.push_str(&cell.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(cell);
    }
}
