//! Charts of a sweep: a curve along a numeric axis or rows for named cases, with published figures.

use super::figure::{Swatch, figure};
use crate::report::chart::{
    Curve, Dot, IntervalChart, Mark, Reference, Row, Rows, SERIES_MAX, WORDS_MAX, intervals,
    is_geometric, rows,
};
use crate::report::figures::beyond;
use crate::report::headline::{is_repeated, main_metric, place, published_at};
use crate::report::units::Metric;
use crate::results::{CASES_JOINED, Estimate, Point, Published, Scenario};
use crate::stats::deviation;

/// Named cases of one chart at most; the table has all.
const ROWS_MAX: usize = 40;

/// Metrics that are drawn, the main one before them.
const DRAWN: [&str; 13] = [
    "rate_per_s",
    "p50_ms",
    "p99_ms",
    "states_per_s",
    "file_mb_per_s",
    "knee_per_s",
    "error_share",
    "cpu_us_per_unit",
    "serial_us_per_unit",
    "ceiling_per_s",
    "sent_mbit_per_s",
    "disk_bytes_per_unit",
    "rss_mb_max",
];

/// Returns all charts of a sweep; nothing without one.
pub fn charts(scenario: &Scenario) -> String {
    if scenario.axes.is_empty() || scenario.points.len() < 2 {
        return String::new();
    }
    let main = main_metric(scenario);
    let mut names = vec![main];
    names.extend(
        DRAWN
            .into_iter()
            .filter(|name| *name != main && !is_repeated(scenario, name)),
    );
    let mut out = String::from("<h3>What was varied</h3><div class=\"charts\">");
    for name in names {
        let figures = scenario
            .points
            .iter()
            .filter_map(|point| point.summary.metrics.get(name));
        let figures: Vec<&Estimate> = figures.collect();
        // Errors that never happened and costs that were not measured get no chart.
        if figures.iter().any(|estimate| estimate.value != 0.0) {
            out.push_str(&chart(scenario, &Metric::named(name)));
        }
    }
    out + "</div>"
}

/// Returns the key of a series: the cases of all axes but the first.
fn series_of(point: &Point) -> String {
    let others: Vec<&str> = point
        .at
        .iter()
        .skip(1)
        .map(|case| case.name.as_str())
        .collect();
    others.join(", ")
}

fn chart(scenario: &Scenario, metric: &Metric) -> String {
    let drawing = drawing(scenario, metric);
    figure(
        &metric.heading(),
        &drawing.words,
        &drawing.svg,
        &drawing.legend,
    )
}

/// A chart without its page.
pub(in crate::report) struct Drawing {
    /// The chart.
    pub svg: String,
    /// The symbols and names of its series.
    pub legend: Vec<(Swatch, String)>,
    /// A caption.
    pub words: String,
}

/// Draws a metric of a sweep, with at least one axis.
pub(in crate::report) fn drawing(scenario: &Scenario, metric: &Metric) -> Drawing {
    let mut series = series_names(scenario);
    let left_out = beyond(series.len(), SERIES_MAX);
    series.truncate(SERIES_MAX);
    let lines = scenario
        .published
        .iter()
        .filter(|line| line.metric == metric.name);
    let lines: Vec<&Published> = lines.take(SERIES_MAX).collect();
    let number = |point: &Point| point.at.first().and_then(|case| case.number);
    let numeric = scenario.points.iter().all(|point| number(point).is_some());
    let about = format!("{} by {}", metric.heading(), scenario.axes[0]);
    let svg = match numeric {
        true => curves(scenario, metric, &series, &lines, &about),
        false => cases(scenario, metric, &series, &lines, &about),
    };
    let mut legend = Vec::new();
    if series.len() > 1 {
        for (at, name) in series.iter().enumerate() {
            let swatch = if numeric {
                Swatch::Marked(at)
            } else {
                Swatch::Mark(at)
            };
            legend.push((swatch, name.clone()));
        }
    } else if !lines.is_empty() {
        legend.push((Swatch::Marked(0), "measured here".to_owned()));
    }
    for (at, line) in lines.iter().enumerate() {
        legend.push((Swatch::Published(at), format!("published: {}", line.label)));
    }
    let mut words = format!("by {}", scenario.axes[0]);
    if scenario
        .points
        .iter()
        .any(|point| has_interval(point, metric))
    {
        words.push_str(", with 95 % confidence intervals");
    }
    if !numeric && has_deviations(&lines) {
        words.push_str(", and bars of one standard deviation");
    }
    if left_out > 0 {
        words.push_str(&format!("; {left_out} more series are in the table"));
    }
    Drawing { svg, legend, words }
}

/// Returns whether a published line has standard deviations. Then the repeats are shown with theirs.
fn has_deviations(lines: &[&Published]) -> bool {
    lines.iter().any(|line| !line.deviations.is_empty())
}

fn has_interval(point: &Point, metric: &Metric) -> bool {
    let estimate = point.summary.metrics.get(&metric.name);
    estimate.is_some_and(|estimate| estimate.low.is_some())
}

/// Returns the estimate in the displayed unit.
pub fn drawn(metric: &Metric, estimate: &Estimate) -> (f64, Option<(f64, f64)>) {
    let ends = estimate.low.zip(estimate.high);
    let interval = ends.map(|(low, high)| (low * metric.scale, high * metric.scale));
    (estimate.value * metric.scale, interval)
}

/// Returns the words shown when a point is pointed at.
pub fn hint(metric: &Metric, point: &Point, estimate: &Estimate) -> String {
    format!(
        "{}: {} {}",
        place(point),
        metric.supported(estimate),
        metric.unit
    )
}

/// Returns the names of the series of a scenario, as many as can be told apart.
pub fn series_names(scenario: &Scenario) -> Vec<String> {
    let mut series: Vec<String> = Vec::new();
    for point in &scenario.points {
        let name = series_of(point);
        if !series.contains(&name) {
            series.push(name);
        }
    }
    series
}

/// Returns a metric along a numeric axis, one curve for each series.
pub fn curves_of(scenario: &Scenario, metric: &Metric, series: &[String]) -> Vec<Curve> {
    let dots_of = |name: &String| {
        let points = scenario.points.iter();
        let points = points.filter(|point| series_of(point) == *name);
        let mut dots: Vec<Dot> = points
            .filter_map(|point| {
                let x = point.at.first()?.number?;
                let estimate = point.summary.metrics.get(&metric.name)?;
                let (value, interval) = drawn(metric, estimate);
                let hint = hint(metric, point, estimate);
                Some(Dot {
                    x,
                    value,
                    interval,
                    hint,
                })
            })
            .collect();
        dots.sort_by(|one, two| one.x.total_cmp(&two.x));
        dots
    };
    series
        .iter()
        .enumerate()
        .map(|(at, name)| Curve {
            series: at,
            dots: dots_of(name),
        })
        .collect()
}

fn curves(
    scenario: &Scenario,
    metric: &Metric,
    series: &[String],
    lines: &[&Published],
    about: &str,
) -> String {
    let numbered = || {
        let points = scenario.points.iter();
        points.filter_map(|point| point.at.first()?.number.map(|x| (x, point)))
    };
    let curves = curves_of(scenario, metric, series);
    let references: Vec<Reference> = lines
        .iter()
        .enumerate()
        .map(|(mark, line)| {
            let points = numbered()
                .filter_map(|(x, point)| published_at(line, point).map(|value| (x, value)));
            let is_measured = |at: f64| numbered().any(|(x, _)| x == at);
            let elsewhere = published_elsewhere(line, is_measured);
            let mut points: Vec<(f64, f64, String)> = points
                .chain(elsewhere)
                .map(|(x, value)| (x, value * metric.scale, published_hint(metric, line, value)))
                .collect();
            points.sort_by(|one, two| one.0.total_cmp(&two.0));
            points.dedup_by(|one, two| one.0 == two.0 && one.1 == two.1);
            Reference { mark, points }
        })
        .collect();
    let mut places: Vec<f64> = numbered().map(|(x, _)| x).collect();
    let published = references.iter().flat_map(|line| &line.points);
    places.extend(published.map(|(x, _, _)| *x));
    places.sort_by(f64::total_cmp);
    places.dedup();
    let axis = match is_geometric(&places) {
        true => format!("{} (log scale)", scenario.axes[0]),
        false => scenario.axes[0].clone(),
    };
    intervals(&IntervalChart {
        about,
        title: &axis,
        curves: &curves,
        references: &references,
        ..IntervalChart::default()
    })
}

/// Returns the published figures at numbers of the first axis that were not measured here, such as more cores than this
/// machine has.
fn published_elsewhere(
    line: &Published,
    is_measured: impl Fn(f64) -> bool,
) -> impl Iterator<Item = (f64, f64)> {
    line.values.iter().filter_map(move |(cases, value)| {
        let first = cases.split(CASES_JOINED).next()?;
        let x: f64 = first.parse().ok()?;
        (x.is_finite() && !is_measured(x)).then_some((x, *value))
    })
}

/// Returns the words shown when a published figure is pointed at.
pub fn published_hint(metric: &Metric, line: &Published, value: f64) -> String {
    format!(
        "published: {}: {}. {}",
        line.label,
        metric.with_unit(value),
        line.source
    )
}

fn cases(
    scenario: &Scenario,
    metric: &Metric,
    series: &[String],
    lines: &[&Published],
    about: &str,
) -> String {
    let mut cases: Vec<Row> = Vec::new();
    for point in &scenario.points {
        let (Some(case), Some(estimate)) =
            (point.at.first(), point.summary.metrics.get(&metric.name))
        else {
            continue;
        };
        let Some(number) = series.iter().position(|name| *name == series_of(point)) else {
            continue;
        };
        let at = match cases.iter().position(|row| row.name == case.name) {
            Some(at) => at,
            None if cases.len() == ROWS_MAX => continue,
            None => {
                let (name, marks) = (case.name.clone(), Vec::new());
                cases.push(Row { name, marks });
                cases.len() - 1
            }
        };
        for (mark, line) in lines.iter().enumerate() {
            let Some(value) = published_at(line, point) else {
                continue;
            };
            let mark = Mark {
                series: mark,
                value: value * metric.scale,
                interval: None,
                deviation: line
                    .deviation_at(&point.at)
                    .map(|around| around * metric.scale),
                published: true,
                words: metric.figure(value),
                reach: String::new(),
                hint: published_hint(metric, line, value),
            };
            // A figure published for a case of the first axis alone appears once for all its points.
            let known = |other: &Mark| {
                other.published && other.series == mark.series && other.value == mark.value
            };
            if !cases[at].marks.iter().any(known) {
                cases[at].marks.push(mark);
            }
        }
        let (value, interval) = drawn(metric, estimate);
        let deviation = match has_deviations(lines) {
            true => deviation(point, &metric.name),
            false => None,
        };
        // Our figures come before published ones.
        let ours = cases[at]
            .marks
            .iter()
            .filter(|mark| !mark.published)
            .count();
        cases[at].marks.insert(
            ours,
            Mark {
                series: number,
                value,
                interval,
                deviation: deviation.map(|around| around * metric.scale),
                published: false,
                words: metric.estimate_within(estimate, WORDS_MAX),
                reach: String::new(),
                hint: hint(metric, point, estimate),
            },
        );
    }
    rows(&Rows {
        about: about.to_owned(),
        title: metric.heading(),
        neutral: None,
        limits: None,
        rows: cases,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_are_drawn_beyond_the_measured_cases() {
        let line = |values: &[(&str, f64)]| Published {
            values: values
                .iter()
                .map(|(cases, value)| ((*cases).to_owned(), *value))
                .collect(),
            ..Published::default()
        };
        for (values, expected) in [
            (&[("2", 22.0), ("4", 46.0)][..], &[(4.0, 46.0)][..]),
            (
                &[("1 / issue", 90.0), ("32 / issue", 1001.0)],
                &[(32.0, 1001.0)],
            ),
            (&[("default", 5.0), ("inf", 6.0)], &[]),
        ] {
            let line = line(values);
            let found = published_elsewhere(&line, |x| x <= 2.0);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{values:?}");
        }
    }
}
