//! The clients' measurements over the whole scenario, per second: rate, failures, latency and units outstanding.

use super::figure::{Swatch, figure};
use crate::report::chart::{Band, Line, TimeChart, bands, time};
use crate::report::headline::place;
use crate::results::{Scenario, Second, Stretch, samples_needed};

/// Stretches that are set off by bands; beyond it the bands would be hairs.
const BANDS_MAX: usize = 60;

/// The time axis that all charts of a scenario have.
pub struct Times {
    /// The beginning, seconds since the scenario began.
    from: f64,
    /// The end.
    to: f64,
    /// The name of the bands of its stretches, if they are drawn.
    bands: Option<String>,
    hidden: String,
}

impl Times {
    /// Returns the time axis of a scenario, the `at`th of the page.
    pub fn of(scenario: &Scenario, at: usize) -> Self {
        let (from, to) = span(scenario);
        let stretches = stretch_bands(scenario);
        let name = format!("b{at}");
        let (bands, hidden) = match stretches.is_empty() {
            true => (None, String::new()),
            false => {
                let hidden = bands(&name, (from, to), &stretches);
                (Some(name), hidden)
            }
        };
        Times {
            from,
            to,
            bands,
            hidden,
        }
    }

    /// Returns the bands that the charts refer to. They precede the charts on the page.
    pub fn hidden(&self) -> &str {
        &self.hidden
    }

    /// Draws a chart over it.
    pub fn chart(&self, title: &str, may_be_log: bool, lines: Vec<Line>) -> String {
        time(&TimeChart {
            about: format!("{title} over time"),
            from: self.from,
            to: self.to,
            since: "since the scenario began",
            may_be_log,
            lines,
            bands: self.bands.clone(),
        })
    }
}

/// Returns the times of the first and the last sample, seconds since the scenario began.
fn span(scenario: &Scenario) -> (f64, f64) {
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
fn stretch_bands(scenario: &Scenario) -> Vec<Band> {
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

/// Returns every stretch of a scenario.
pub fn stretches(scenario: &Scenario) -> impl Iterator<Item = &Stretch> {
    scenario.points.iter().flat_map(|point| &point.stretches)
}

/// Returns the charts; nothing if no second was measured.
pub fn section(scenario: &Scenario, times: &Times) -> String {
    if stretches(scenario).all(|stretch| stretch.series.is_empty()) {
        return String::new();
    }
    let count: usize = stretches(scenario).count();
    let chart = |title: &str, about: &str, lines: Vec<Line>, legend: &[(Swatch, String)]| {
        let svg = times.chart(title, title == "Latency", lines);
        figure(title, about, &svg, legend)
    };
    let all = |value: Drawn, series: usize| Line {
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
    let mut lines = vec![all(Drawn::Count(|second| second.done), 0)];
    let mut legend = Vec::new();
    if stretches(scenario)
        .flat_map(|stretch| &stretch.series)
        .any(|second| second.failed > 0)
    {
        lines.push(all(Drawn::Count(|second| second.failed), 1));
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
    let mut latency = vec![all(
        Drawn::Level(|second| (second.done > 0).then_some(second.p50_ms)),
        0,
    )];
    let mut legend = vec![(Swatch::Line(0), "median".to_owned())];
    let mut about = "ms, of the units completed in each second".to_owned();
    let mut seconds = stretches(scenario).flat_map(|stretch| &stretch.series);
    if seconds.any(|second| p99_of_second(second).is_some()) {
        latency.push(all(Drawn::Level(p99_of_second), 1));
        legend.push((Swatch::Line(1), "99th percentile".to_owned()));
    } else {
        about.push_str("; a second has too few for a 99th percentile");
    }
    out.push_str(&chart("Latency", &about, latency, &legend));
    let outstanding = vec![all(
        Drawn::Level(|second| Some(second.outstanding as f64)),
        0,
    )];
    out.push_str(&chart(
        "Outstanding",
        "units, at the end of each second",
        outstanding,
        &[],
    ));
    out + "</div>"
}

/// Returns the 99th percentile of a second that has enough units for it. A median is drawn of any number: its line shows
/// changes, and no figure is read from it.
pub fn p99_of_second(second: &Second) -> Option<f64> {
    (second.done >= samples_needed(0.99)).then_some(second.p99_ms)
}

/// The drawn value of a second.
#[derive(Clone, Copy)]
pub enum Drawn {
    /// A count, shown as a rate.
    Count(fn(&Second) -> u64),
    /// A figure, if the second has it.
    Level(fn(&Second) -> Option<f64>),
}

/// A stretch's last second is drawn only if at least this share of it was measured.
const SHARE_MIN: f64 = 0.3;

/// Converts one stretch's seconds to points of a line, in seconds since `zero_ms`. A last second that was hardly measured
/// is left out. A count of a partial second becomes a rate, so that a line does not fall because the stretch ended.
pub fn line(stretch: &Stretch, zero_ms: u64, drawn: Drawn) -> Vec<(f64, f64)> {
    let end_ms = stretch.started_ms as f64 + stretch.seconds * 1000.0;
    let mut points: Vec<(f64, f64)> = stretch
        .series
        .iter()
        .enumerate()
        .filter_map(|(number, second)| {
            let measured = ((end_ms - second.at_ms as f64) / 1000.0).min(1.0);
            if measured < SHARE_MIN && number > 0 {
                return None;
            }
            let value = match drawn {
                Drawn::Count(count) => count(second) as f64 / measured.max(SHARE_MIN),
                Drawn::Level(value) => value(second)?,
            };
            // No second begins before the zero, except in a damaged report. It is then drawn at the zero.
            let at = second.at_ms.saturating_sub(zero_ms) as f64 / 1000.0;
            Some((at, value))
        })
        .collect();
    points.sort_by(|one, two| one.0.total_cmp(&two.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_cut_short_is_no_fall_of_the_rate() {
        let second = |at_ms, done| Second {
            at_ms,
            done,
            ..Second::default()
        };
        let mut stretch = Stretch {
            started_ms: 5000,
            seconds: 2.5,
            series: vec![second(5000, 100), second(6000, 104), second(7000, 51)],
            ..Stretch::default()
        };
        let rate = Drawn::Count(|second| second.done);
        let points = line(&stretch, 5000, rate);
        assert_eq!(points, [(0.0, 100.0), (1.0, 104.0), (2.0, 102.0)]);
        stretch.seconds = 2.1;
        assert_eq!(line(&stretch, 0, rate), [(5.0, 100.0), (6.0, 104.0)]);
        stretch.seconds = 0.0;
        assert_eq!(line(&stretch, 0, rate).len(), 1);
    }
}
