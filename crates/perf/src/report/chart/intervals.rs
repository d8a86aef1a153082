//! A metric along a numeric axis: one curve for each series with 95 % confidence intervals, and published figures.

use super::canvas::{Anchor, Canvas, LEFT, RIGHT, TOP};
use super::scale::{Scale, is_geometric};
use super::series::SERIES_MAX;
use crate::report::figures::compact;

/// One measured place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dot {
    /// Its position on the axis.
    pub x: f64,
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// In words, shown when it is pointed at.
    pub hint: String,
}

/// One series of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The index of its colour, dash and mark.
    pub series: usize,
    /// Its places, by x.
    pub dots: Vec<Dot>,
}

/// A published series: never ours, and never drawn like ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// The index of its mark.
    pub mark: usize,
    /// Places by x; the words of the hint.
    pub points: Vec<(f64, f64, String)>,
}

/// How both axes run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Logarithmic if the places grow by factors, or if the values are far apart.
    #[default]
    Fitting,
    /// Linear from 0, so that growth in proportion is a straight line through the corner.
    FromZero,
    /// The places linear from 0, the values as with [`Axes::Fitting`].
    PlacesFromZero,
}

/// The content of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalChart<'a> {
    /// For people who cannot see it.
    pub about: &'a str,
    /// Under the axis.
    pub title: &'a str,
    /// The axes.
    pub axes: Axes,
    /// Series of ours.
    pub curves: &'a [Curve],
    /// Published series.
    pub references: &'a [Reference],
    /// A place with a line of its own, and its words.
    pub marked: Option<(f64, String)>,
}

/// Draws it.
pub fn intervals(chart: &IntervalChart<'_>) -> String {
    let (curves, references) = (chart.curves, chart.references);
    let mut canvas = Canvas::new(240.0, chart.about);
    let bottom = canvas.height() - 36.0;
    let top = match chart.marked {
        Some(_) => TOP + 12.0,
        None => TOP,
    };
    let dots = || curves.iter().flat_map(|curve| &curve.dots);
    let published = || references.iter().flat_map(|line| &line.points);
    let ends = dots().flat_map(|dot| {
        // Without an interval, the axis has to show the value alone.
        let (low, high) = dot.interval.unwrap_or((dot.value, dot.value));
        // A non-negative metric cannot be below 0, so its interval is cut there.
        let low = if dot.value >= 0.0 { low.max(0.0) } else { low };
        [dot.value, low, high]
    });
    let ends: Vec<f64> = ends.chain(published().map(|point| point.1)).collect();
    let y = match ends.iter().copied().filter(|end| *end <= 0.0).count() {
        _ if chart.axes == Axes::FromZero => Scale::from_zero(ends.iter().copied(), bottom, top),
        0 => Scale::fitting(ends.iter().copied(), bottom, top),
        _ => Scale::fitting(ends.iter().copied().chain([0.0]), bottom, top),
    };
    let mut places: Vec<f64> = dots().map(|dot| dot.x).collect();
    places.extend(published().map(|point| point.0));
    places.extend(chart.marked.iter().map(|(place, _)| *place));
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (low, high) = match (places.first(), places.last()) {
        (Some(low), Some(high)) => (*low, *high),
        _ => (0.0, 1.0),
    };
    let inset = 14.0;
    let x = match is_geometric(&places) {
        _ if chart.axes != Axes::Fitting => Scale::linear(low.min(0.0), high, LEFT, RIGHT - inset),
        true => Scale::log(low, high, LEFT + inset, RIGHT - inset),
        false if high > low => Scale::linear(low, high, LEFT + inset, RIGHT - inset),
        // One place stands in the middle.
        false => Scale::linear(low - 1.0, low + 1.0, LEFT, RIGHT),
    };
    canvas.values_left(&y, 5, RIGHT);
    let ticks = match chart.axes {
        Axes::Fitting => places,
        Axes::FromZero | Axes::PlacesFromZero => x.ticks(6),
    };
    let ticks: Vec<(f64, String)> = ticks.iter().map(|at| (x.at(*at), compact(*at))).collect();
    canvas.values_below(&ticks, bottom, chart.title);
    if let Some((place, words)) = &chart.marked {
        let at = x.at(*place);
        canvas.line("z", (at, TOP + 8.0), (at, bottom));
        // The words stand on the side with more room.
        let (anchor, aside) = match at > (LEFT + RIGHT) / 2.0 {
            true => (Anchor::End, at - 4.0),
            false => (Anchor::Start, at + 4.0),
        };
        canvas.text("t k", (aside, TOP + 8.0), anchor, words);
    }
    for line in references {
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .map(|point| (x.at(point.0), y.at(point.1)))
            .collect();
        canvas.path("l p", &points);
        for (at, (_, _, hint)) in points.iter().zip(&line.points) {
            canvas.mark("q", line.mark + 1, *at, hint);
        }
    }
    // Series that share their places stand a little apart, so that their intervals can be told.
    let apart = if curves.len() > 1 { 3.0 } else { 0.0 };
    for (at, curve) in curves.iter().enumerate() {
        let shift = (at as f64 - (curves.len() as f64 - 1.0) / 2.0) * apart;
        draw(&mut canvas, curve, &x, &y, shift.clamp(-9.0, 9.0));
    }
    canvas.end()
}

fn draw(canvas: &mut Canvas, curve: &Curve, x: &Scale, y: &Scale, shift: f64) {
    let series = curve.series % SERIES_MAX;
    let points: Vec<(f64, f64)> = curve
        .dots
        .iter()
        .map(|dot| (x.at(dot.x) + shift, y.at(dot.value)))
        .collect();
    canvas.path(&format!("l s{series}"), &points);
    for (at, dot) in points.iter().zip(&curve.dots) {
        if let Some((low, high)) = dot.interval {
            whisker(canvas, series, at.0, y, (low, high));
        }
        canvas.mark(&format!("m s{series}"), series, *at, &dot.hint);
    }
}

/// Draws an interval. An end beyond the axis becomes an arrow head.
fn whisker(canvas: &mut Canvas, series: usize, x: f64, y: &Scale, (low, high): (f64, f64)) {
    let class = format!("i s{series}");
    canvas.line(&class, (x, y.at(low)), (x, y.at(high)));
    for (end, way) in [(low, 1.0), (high, -1.0)] {
        let place = y.at(end);
        match y.holds(end) {
            true => canvas.line(&class, (x - 3.5, place), (x + 3.5, place)),
            false => canvas.arrow(&format!("m s{series}"), (x, place), (0.0, way), ""),
        }
    }
}
