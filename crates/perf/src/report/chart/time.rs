//! Something over time: lines over seconds, minutes or hours.

use super::canvas::{Canvas, LEFT, RIGHT, TOP};
use super::scale::Scale;
use super::thin::thin;

/// Buckets that the lines of a chart are thinned to; the plot is hardly wider in points.
const BUCKETS: usize = 130;

/// Lines of one chart at most; callers sum up or leave out what is more.
pub const LINES_MAX: usize = 40;

/// One line, in parts where there are gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Which colour and dash.
    pub series: usize,
    /// Drawn thin and pale, behind the others: one of several repeats.
    pub faint: bool,
    /// Seconds and values, sorted by time within each part.
    pub parts: Vec<Vec<(f64, f64)>>,
}

/// What a chart over time needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeChart {
    /// For people who cannot see it.
    pub about: String,
    /// From when, seconds.
    pub from: f64,
    /// Until when, seconds.
    pub to: f64,
    /// What the axis counts from: `since the scenario began`.
    pub since: &'static str,
    /// Whether the values may be put on a logarithmic axis: latencies, not rates.
    pub may_be_log: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// Times that are set off, with a name: from, to, name.
    pub bands: Vec<(f64, f64, String)>,
}

/// Draws it.
pub fn time(chart: &TimeChart) -> String {
    let mut canvas = Canvas::new(190.0, &chart.about);
    let bottom = canvas.height() - 36.0;
    let values = chart.lines.iter().flat_map(|line| &line.parts).flatten();
    let values = values.map(|point| point.1);
    let y = match chart.may_be_log {
        true => Scale::fitting(values, bottom, TOP),
        false => Scale::from_zero(values, bottom, TOP),
    };
    let (divisor, unit) = match chart.to - chart.from {
        range if range > 10_800.0 => (3600.0, "hours"),
        range if range > 300.0 => (60.0, "minutes"),
        _ => (1.0, "seconds"),
    };
    let x = Scale::linear(chart.from / divisor, chart.to / divisor, LEFT, RIGHT);
    for (at, (from, to, name)) in chart.bands.iter().enumerate() {
        let (from, to) = (x.at(from / divisor), x.at(to / divisor));
        let class = if at % 2 == 0 { "b" } else { "b e" };
        canvas.rect(class, (from, TOP), (to - from, bottom - TOP), name);
    }
    canvas.values_left(&y, 4, RIGHT);
    let ticks: Vec<(f64, String)> = x
        .ticks(6)
        .into_iter()
        .map(|tick| (x.at(tick), crate::report::units::compact(tick)))
        .collect();
    canvas.values_below(&ticks, bottom, &format!("{unit} {}", chart.since));
    let faint_first = [true, false];
    for faint in faint_first {
        let lines = chart.lines.iter().take(LINES_MAX);
        for line in lines.filter(|line| line.faint == faint) {
            draw(&mut canvas, line, &x, &y, divisor);
        }
    }
    canvas.end()
}

fn draw(canvas: &mut Canvas, line: &Line, x: &Scale, y: &Scale, divisor: f64) {
    let class = format!(
        "l s{}{}",
        line.series % super::SERIES_MAX,
        if line.faint { " w" } else { "" }
    );
    let all: usize = line.parts.iter().map(Vec::len).sum();
    for part in &line.parts {
        let share = (BUCKETS * part.len()).div_ceil(all.max(1)).max(2);
        let drawn: Vec<(f64, f64)> = thin(part, share)
            .into_iter()
            .map(|(at, value)| (x.at(at / divisor), y.at(value)))
            .collect();
        canvas.path(&class, &drawn);
    }
}
