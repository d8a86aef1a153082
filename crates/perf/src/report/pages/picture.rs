//! The charts of a page: ours next to the published figures.

use super::catalogue::Page;
use super::chart_file::{ChartFile, chart_file};
use super::load::Topic;
use crate::report::chart::{Line, Mark, Row, Rows, TimeChart, WORDS_MAX, clip, rows, time};
use crate::report::headline::{headline, published_at};
use crate::report::html::figure::Swatch;
use crate::report::html::sweep::drawing;
use crate::report::saved::shortfall;
use crate::report::units::{Better, Metric};
use crate::results::{Estimate, Machine, Point, Published, Report, Scenario, Second, Stretch};

/// Letters of a row's name.
const NAME_LETTERS: usize = 46;
/// Cases of a chart without a sweep.
const ROWS_MAX: usize = 24;
const MS_PER_S: f64 = 1000.0;
const BYTES_PER_MB: f64 = 1e6;

/// Returns the file of a topic's picture.
pub fn topic_file(page: &Page) -> String {
    format!("{}.svg", page.name)
}

/// Returns the chart of a metric as a file's text.
pub fn of_metric(report: &Report, scenario: &Scenario, metric: &Metric) -> Option<String> {
    let mut content = ChartFile {
        title: format!("{}: {}", scenario.title, metric.heading()),
        subtitle: about(&[&report.machine], metric, &Marks::of(scenario, metric)),
        ..ChartFile::default()
    };
    match (scenario.axes.is_empty(), scenario.points.first()) {
        (true, Some(point)) => {
            content.svg = alone(report, scenario, point, metric)?;
        }
        _ => {
            let drawing = drawing(scenario, metric);
            (content.svg, content.legend) = (drawing.svg, drawing.legend);
        }
    }
    chart_file(&content)
}

/// Describes our machines, and tells that the others have theirs. Nothing is said of marks that the chart lacks.
fn about(machines: &[&Machine], metric: &Metric, cases: &Marks) -> String {
    let mut ours: Vec<String> = Vec::new();
    for machine in machines {
        let name = format!("{} ({} cores)", machine.processor.trim(), machine.cores);
        if !ours.contains(&name) {
            ours.push(name);
        }
    }
    let intervals = match cases.intervals {
        true => ", with 95 % intervals",
        false => "",
    };
    let mut words = format!(
        "Filled marks: measured on {}{intervals}.",
        ours.join(" and ")
    );
    if ours.len() > 1 {
        words.push_str(" Compare only marks of the same machine.");
    }
    if cases.published {
        words.push_str(" Hollow marks: published, on other hardware.");
    }
    match metric.better {
        Some(Better::Higher) => words.push_str(" More is better."),
        Some(Better::Lower) => words.push_str(" Less is better."),
        None => {}
    }
    words
}

/// The marks that a chart has.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// Whether ours have intervals.
    intervals: bool,
    /// Whether there are published figures.
    published: bool,
}

impl Marks {
    /// Returns those of a scenario's metric.
    fn of(scenario: &Scenario, metric: &Metric) -> Self {
        let estimates = scenario.points.iter();
        let mut estimates = estimates.filter_map(|one| one.summary.metrics.get(&metric.name));
        let mut lines = scenario.published.iter();
        Self {
            intervals: estimates.any(|one| one.low.is_some()),
            published: lines.any(|line| line.metric == metric.name),
        }
    }
}

/// Draws a single point above the published figures.
fn alone(report: &Report, scenario: &Scenario, point: &Point, metric: &Metric) -> Option<String> {
    let estimate = point.summary.metrics.get(&metric.name)?;
    let mut cases = vec![ours(ours_name(&report.machine), metric, estimate)];
    cases.extend(published(scenario, point, metric));
    Some(rows(&Rows {
        about: format!("{}: ours and published", metric.heading()),
        title: metric.heading(),
        rows: cases,
        ..Rows::default()
    }))
}

fn ours_name(machine: &Machine) -> String {
    format!("Tallystick, {} cores", machine.cores)
}

fn ours(name: String, metric: &Metric, estimate: &Estimate) -> Row {
    let ends = estimate.low.zip(estimate.high);
    let mark = Mark {
        value: estimate.value * metric.scale,
        interval: ends.map(|(low, high)| (low * metric.scale, high * metric.scale)),
        words: metric.estimate_within(estimate, WORDS_MAX),
        ..Mark::default()
    };
    Row {
        name,
        marks: vec![mark],
    }
}

/// Returns the name of a row: the work and its system. A long work is clipped, so that the system is told in full.
fn of_work(work: &str, system: &str) -> String {
    let room = NAME_LETTERS.saturating_sub(system.chars().count() + 2);
    match room {
        0 => system.to_owned(),
        room => format!("{}: {system}", clip(work, room)),
    }
}

/// Returns a row for each published figure at a point.
fn published(scenario: &Scenario, point: &Point, metric: &Metric) -> Vec<Row> {
    let lines = scenario.published.iter();
    let lines = lines.filter(|line| line.metric == metric.name);
    let row = |line: &Published| {
        let value = published_at(line, point)?;
        let mark = Mark {
            value: value * metric.scale,
            deviation: line
                .deviation_at(&point.at)
                .map(|around| around * metric.scale),
            published: true,
            words: metric.figure(value),
            ..Mark::default()
        };
        Some(Row {
            name: line.label.clone(),
            marks: vec![mark],
        })
    };
    lines.filter_map(row).take(ROWS_MAX).collect()
}

/// Returns the picture of a topic: the headline figure of each run above the published ones. Runs that are too short to quote, or
/// have another metric than the first, are left out. `None` without a run.
pub fn of_topic(topic: &Topic) -> Option<String> {
    let found = topic.runs.iter().filter_map(|run| run.measured());
    let found = found.filter(|(_, scenario)| shortfall(scenario).is_none());
    let found =
        found.filter_map(|(report, scenario)| Some((report, scenario, headline(scenario)?)));
    let found: Vec<_> = found.collect();
    let (_, _, head) = found.first()?;
    let metric = head.metric.clone();
    let mut cases = Vec::new();
    let mut machines = Vec::new();
    let mut marks = Marks::default();
    for (report, scenario, head) in &found {
        if head.metric.name != metric.name {
            continue;
        }
        machines.push(&report.machine);
        marks.intervals |= head.estimate.low.is_some();
        let named = |label: &str| of_work(&scenario.title, label);
        let name = named(&ours_name(&report.machine));
        cases.push(ours(name, &metric, head.estimate));
        let mut theirs = published(scenario, head.point, &metric);
        marks.published |= !theirs.is_empty();
        theirs
            .iter_mut()
            .for_each(|row| row.name = named(&row.name));
        cases.extend(theirs);
    }
    chart_file(&ChartFile {
        title: format!("{}: {}", topic.page.title, metric.heading()),
        subtitle: about(&machines, &metric, &marks),
        svg: rows(&Rows {
            about: topic.page.question.clone(),
            title: metric.heading(),
            rows: cases,
            ..Rows::default()
        }),
        legend: Vec::new(),
    })
}

/// Returns charts over the time of a long run: the name's ending, the caption, and the file's text.
pub fn over_time(scenario: &Scenario) -> Vec<(&'static str, &'static str, String)> {
    let stretches = || scenario.points.iter().flat_map(|point| &point.stretches);
    let [point] = scenario.points.as_slice() else {
        return Vec::new();
    };
    if point.stretches.is_empty() || stretches().any(|stretch| stretch.series.len() < 2) {
        return Vec::new();
    }
    let of_seconds = |drawn: fn(&Second) -> f64, series: usize| Line {
        series,
        faint: false,
        parts: stretches().map(|one| seconds(one, drawn)).collect(),
    };
    let rate = vec![of_seconds(|second| second.done as f64, 0)];
    let latency = vec![
        of_seconds(|second| second.p50_ms, 0),
        of_seconds(|second| second.p99_ms, 1),
    ];
    let latency_names = ["median", "highest 99th percentile of a second"];
    let mut names: Vec<&str> = Vec::new();
    let processes = || stretches().flat_map(|one| &one.processes);
    for process in processes().filter(|process| !process.is_generator()) {
        if !names.contains(&process.name.as_str()) {
            names.push(&process.name);
        }
    }
    let of_process = |(series, name): (usize, &&str)| Line {
        series,
        faint: false,
        parts: stretches().map(|one| memory(one, name)).collect(),
    };
    let memory = names.iter().enumerate().map(of_process).collect();
    let drawn = [
        ("rate", "Rate, units a second", rate, Vec::new()),
        ("latency", "Latency, ms", latency, latency_names.to_vec()),
        ("memory", "Resident memory, MB", memory, names),
    ];
    let charts = drawn
        .into_iter()
        .filter_map(|(ending, title, lines, names)| {
            let text = chart(scenario, title, lines, &names)?;
            Some((ending, title, text))
        });
    charts.collect()
}

fn chart(scenario: &Scenario, title: &str, lines: Vec<Line>, names: &[&str]) -> Option<String> {
    let times = || lines.iter().flat_map(|line| &line.parts).flatten();
    let from = times().map(|point| point.0).reduce(f64::min)?;
    let to = times().map(|point| point.0).reduce(f64::max)?;
    let svg = time(&TimeChart {
        about: format!("{title} over time"),
        from,
        to,
        since: "since the scenario began",
        may_be_log: false,
        lines,
        bands: None,
    });
    let names = names.iter().enumerate();
    chart_file(&ChartFile {
        title: format!("{}: {title}", scenario.title),
        subtitle: String::new(),
        svg,
        legend: names
            .map(|(series, name)| (Swatch::Line(series), (*name).to_owned()))
            .collect(),
    })
}

fn seconds(stretch: &Stretch, drawn: fn(&Second) -> f64) -> Vec<(f64, f64)> {
    let series = stretch.series.iter();
    series
        .map(|second| (second.at_ms as f64 / MS_PER_S, drawn(second)))
        .collect()
}

fn memory(stretch: &Stretch, name: &str) -> Vec<(f64, f64)> {
    let processes = stretch.processes.iter();
    let samples = processes
        .filter(|process| process.name == name)
        .flat_map(|process| &process.samples)
        .filter(|sample| !sample.missing.process);
    samples
        .map(|sample| {
            let megabytes = sample.rss_bytes as f64 / BYTES_PER_MB;
            (sample.at_ms as f64 / MS_PER_S, megabytes)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtitle_names_every_machine_and_only_marks_that_are_drawn() {
        let machine = |processor: &str, cores| Machine {
            processor: processor.to_owned(),
            cores,
            ..Machine::default()
        };
        let (small, large) = (machine("EPYC", 2), machine("Xeon", 16));
        let rate = Metric::named("rate_per_s");
        for (machines, intervals, published, expected) in [
            (
                vec![&small, &small],
                true,
                true,
                "Filled marks: measured on EPYC (2 cores), with 95 % intervals. Hollow marks: published, on other hardware. More is better.",
            ),
            (
                vec![&small, &large],
                true,
                false,
                "Filled marks: measured on EPYC (2 cores) and Xeon (16 cores), with 95 % intervals. Compare only marks of the same machine. \
                 More is better.",
            ),
            (
                vec![&small],
                false,
                false,
                "Filled marks: measured on EPYC (2 cores). More is better.",
            ),
        ] {
            let marks = Marks {
                intervals,
                published,
            };
            assert_eq!(about(&machines, &rate, &marks), expected);
        }
    }
}
