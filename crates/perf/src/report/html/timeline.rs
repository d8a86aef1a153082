//! What clients saw over the whole scenario: rate, failures, latency and units outstanding, second by second.

use super::figure::{Swatch, figure};
use super::headline::place;
use crate::report::chart::{Line, TimeChart, time};
use crate::results::{Scenario, Second, Stretch};

/// Stretches that are set off by bands; beyond it the bands would be hairs.
const BANDS_MAX: usize = 60;

/// From the first look at anything to the last, seconds since the scenario began.
pub fn span(scenario: &Scenario) -> (f64, f64) {
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for stretch in stretches(scenario) {
        let seconds = stretch.series.iter().map(|second| second.at_ms);
        let looks = stretch
            .processes
            .iter()
            .flat_map(|process| &process.samples);
        let looks = looks.map(|sample| sample.at_ms);
        let values = stretch.metrics.iter().flat_map(|series| &series.values);
        let values = values.map(|value| value.0);
        for at in seconds.chain(looks).chain(values) {
            let at = at as f64 / 1000.0;
            (from, to) = (from.min(at), to.max(at));
        }
    }
    if to >= from {
        (from, to.max(from + 1.0))
    } else {
        (0.0, 1.0)
    }
}

/// Bands of the points, in the order of time; none where there is only one.
pub fn bands(scenario: &Scenario) -> Vec<(f64, f64, String)> {
    let mut bands = Vec::new();
    for point in &scenario.points {
        for (repeat, stretch) in point.stretches.iter().enumerate() {
            let from = stretch.started_ms as f64 / 1000.0;
            let name = format!("{} repeat {}", place(point), repeat + 1);
            bands.push((from, from + stretch.seconds, name.trim().to_owned()));
        }
    }
    if bands.len() < 2 || bands.len() > BANDS_MAX {
        return Vec::new();
    }
    bands.sort_by(|one, two| one.0.total_cmp(&two.0));
    bands
}

/// Every stretch of a scenario.
pub fn stretches(scenario: &Scenario) -> impl Iterator<Item = &Stretch> {
    scenario.points.iter().flat_map(|point| &point.stretches)
}

/// The charts; nothing where no second was measured.
pub fn section(scenario: &Scenario) -> String {
    if stretches(scenario).all(|stretch| stretch.series.is_empty()) {
        return String::new();
    }
    let count: usize = stretches(scenario).count();
    let chart = |title: &str, about: &str, lines: Vec<Line>, legend: &[(Swatch, String)]| {
        let (from, to) = span(scenario);
        let svg = time(&TimeChart {
            about: format!("{title} over time"),
            from,
            to,
            since: "since the scenario began",
            lines,
            bands: bands(scenario),
        });
        figure(title, about, &svg, legend)
    };
    let all = |value: fn(&Second) -> Option<f64>, series: usize| Line {
        series,
        faint: false,
        parts: stretches(scenario)
            .map(|stretch| line(stretch, 0, value))
            .collect(),
    };
    let shaded = match count {
        1 => String::new(),
        count => format!("; {count} stretches, each repeat of a point one, shaded in turn"),
    };
    let mut out = String::from("<h3>Over time</h3><div class=\"charts\">");
    let mut lines = vec![all(|second| Some(second.done as f64), 0)];
    let mut legend = Vec::new();
    if stretches(scenario)
        .flat_map(|stretch| &stretch.series)
        .any(|second| second.failed > 0)
    {
        lines.push(all(|second| Some(second.failed as f64), 1));
        legend = vec![
            (Swatch::Line(0), "completed".to_owned()),
            (Swatch::Line(1), "failed".to_owned()),
        ];
    }
    out.push_str(&chart(
        "Rate",
        &format!("units a second{shaded}"),
        lines,
        &legend,
    ));
    let latency = vec![
        all(|second| (second.done > 0).then_some(second.p50_ms), 0),
        all(|second| (second.done > 0).then_some(second.p99_ms), 1),
    ];
    let legend = [
        (Swatch::Line(0), "median".to_owned()),
        (Swatch::Line(1), "99th percentile".to_owned()),
    ];
    out.push_str(&chart(
        "Latency",
        "ms, of the units completed in each second",
        latency,
        &legend,
    ));
    let outstanding = vec![all(|second| Some(second.outstanding as f64), 0)];
    out.push_str(&chart(
        "Outstanding",
        "units, at the end of each second",
        outstanding,
        &[],
    ));
    out + "</div>"
}

/// One stretch's seconds as points of a line, in seconds since `zero_ms`.
pub fn line(
    stretch: &Stretch,
    zero_ms: u64,
    value: impl Fn(&Second) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = stretch
        .series
        .iter()
        .filter_map(|second| {
            let at = second.at_ms.saturating_sub(zero_ms) as f64 / 1000.0;
            value(second).map(|value| (at, value))
        })
        .collect();
    points.sort_by(|one, two| one.0.total_cmp(&two.0));
    points
}
