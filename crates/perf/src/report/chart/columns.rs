//! Columns along a numeric axis, each as wide as its range, with a line over them.

use super::canvas::{Canvas, LEFT, RIGHT, TOP};
use super::scale::Scale;
use crate::report::figures::compact;

/// One column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The beginning of its range.
    pub from: f64,
    /// The end of its range.
    pub to: f64,
    /// The value of the column.
    pub value: f64,
    /// Shown when it is pointed at.
    pub hint: String,
}

/// The content of the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// For people who cannot see it.
    pub about: String,
    /// Under the axis.
    pub title: String,
    /// The columns, by where they begin.
    pub columns: Vec<Column>,
    /// Places and values of a line over them, by place.
    pub line: Vec<(f64, f64)>,
}

/// Draws them.
pub fn columns(chart: &Columns) -> String {
    let mut canvas = Canvas::new(200.0, &chart.about);
    let bottom = canvas.height() - 36.0;
    let values = chart.columns.iter().map(|column| column.value);
    let values = values.chain(chart.line.iter().map(|point| point.1));
    let y = Scale::from_zero(values, bottom, TOP);
    let low = chart
        .columns
        .iter()
        .map(|column| column.from)
        .fold(f64::INFINITY, f64::min);
    let high = chart
        .columns
        .iter()
        .map(|column| column.to)
        .fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    let x = Scale::linear(low, high, LEFT, RIGHT);
    canvas.values_left(&y, 4, RIGHT);
    for column in &chart.columns {
        let (from, to) = (x.at(column.from), x.at(column.to));
        // A little air between columns that are wide enough for it.
        let air = if to - from > 4.0 { 1.0 } else { 0.0 };
        let top = y.at(column.value);
        canvas.rect(
            "f",
            (from + air / 2.0, top),
            (to - from - air, bottom - top),
            &column.hint,
        );
    }
    let line: Vec<(f64, f64)> = chart
        .line
        .iter()
        .map(|point| (x.at(point.0), y.at(point.1)))
        .collect();
    canvas.path("l s1", &line);
    let ticks: Vec<(f64, String)> = x
        .ticks(6)
        .into_iter()
        .map(|tick| (x.at(tick), compact(tick)))
        .collect();
    canvas.values_below(&ticks, bottom, &chart.title);
    canvas.end()
}
