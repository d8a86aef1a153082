//! A metric over time: lines over seconds, minutes or hours.

use super::canvas::{Canvas, LEFT, RIGHT, TOP};
use super::scale::Scale;
use super::series::SERIES_MAX;
use super::thin::{envelope, thin};
use super::way::Spot;

/// Buckets that the lines of a chart are thinned to; the plot is hardly wider in points.
const BUCKETS: usize = 130;

/// Upper limit on the lines of one chart. Callers aggregate or drop further ones.
pub const LINES_MAX: usize = 40;

/// One line, in parts where there are gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The index of its colour and dash.
    pub series: usize,
    /// Drawn thin and pale, behind the others: one of several repeats.
    pub faint: bool,
    /// Seconds and values, sorted by time within each part.
    pub parts: Vec<Vec<(f64, f64)>>,
}

/// The content of a chart over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeChart {
    /// For people who cannot see it.
    pub about: String,
    /// The beginning, seconds.
    pub from: f64,
    /// The end, seconds.
    pub to: f64,
    /// The origin of the axis in words: `since the scenario began`.
    pub since: &'static str,
    /// Whether a logarithmic axis is allowed. It is for latencies, but not for rates.
    pub may_be_log: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// The [`bands`] of this name lie behind it; they have the same times.
    pub bands: Option<String>,
}

/// Height of every chart over time.
const HEIGHT: f64 = 190.0;
/// The lower edge of the plot.
const BOTTOM: f64 = HEIGHT - 36.0;

/// A named band: its beginning and end, and its name.
pub type Band = (f64, f64, String);

/// Bands that several charts from `from` to `to` have behind them: once on the page, where nothing of them is shown.
pub fn bands(name: &str, (from, to): (f64, f64), bands: &[Band]) -> String {
    let mut canvas = Canvas::hidden(name, HEIGHT);
    let x = Scale::linear(from, to, LEFT, RIGHT);
    for (at, (from, to, name)) in bands.iter().enumerate() {
        let (from, to) = (x.at(*from), x.at(*to));
        let class = if at % 2 == 0 { "b" } else { "b e" };
        canvas.rect(class, (from, TOP), (to - from, BOTTOM - TOP), name);
    }
    canvas.end_hidden()
}

/// Draws it.
pub fn time(chart: &TimeChart) -> String {
    let mut canvas = Canvas::new(HEIGHT, &chart.about);
    let bottom = BOTTOM;
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
    if let Some(bands) = &chart.bands {
        canvas.again(bands);
    }
    canvas.values_left(&y, 4, RIGHT);
    let ticks: Vec<(f64, String)> = x
        .ticks(6)
        .into_iter()
        .map(|tick| (x.at(tick), crate::report::figures::compact(tick)))
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
        line.series % SERIES_MAX,
        if line.faint { " w" } else { "" }
    );
    let drawn = |points: Vec<(f64, f64)>| -> Vec<Spot> {
        let places = points.into_iter();
        places
            .map(|(at, value)| (x.at(at / divisor), y.at(value)))
            .collect()
    };
    if line.parts.len() > BUCKETS {
        let parts = envelope(&line.parts, BUCKETS).into_iter();
        canvas.parts(&class, parts.map(drawn));
        return;
    }
    let all: usize = line.parts.iter().map(Vec::len).sum();
    let parts = line.parts.iter().map(|part| {
        let share = (BUCKETS * part.len()).div_ceil(all.max(1)).max(2);
        drawn(thin(part, share))
    });
    canvas.parts(&class, parts);
}
