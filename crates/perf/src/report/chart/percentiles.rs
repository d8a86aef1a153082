//! The distribution of latencies: latency over percentile, with the percentiles spaced so that the slow tail is visible.

use super::canvas::{Canvas, LEFT, RIGHT, TOP};
use super::scale::Scale;
use super::series::SERIES_MAX;

/// One distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The index of its colour and dash.
    pub series: usize,
    /// Shares (0 to below 1) with the latency in milliseconds that each does not exceed, ordered by share.
    pub points: Vec<(f64, f64)>,
}

/// Percentiles labelled on the axis.
const NAMED: [(f64, &str); 7] = [
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
];

/// Draws the distributions.
pub fn percentiles(about: &str, distributions: &[Distribution]) -> String {
    let mut canvas = Canvas::new(210.0, about);
    let bottom = canvas.height() - 36.0;
    let points = || distributions.iter().flat_map(|one| &one.points);
    let y = Scale::fitting(points().map(|point| point.1), bottom, TOP);
    let farthest = points().map(|point| spread(point.0)).fold(1.0, f64::max);
    let x = Scale::linear(0.0, farthest, LEFT, RIGHT - 4.0);
    canvas.values_left(&y, 4, RIGHT);
    let ticks: Vec<(f64, String)> = NAMED
        .iter()
        .filter(|(share, _)| spread(*share) <= farthest + 1e-9)
        .map(|(share, name)| (x.at(spread(*share)), (*name).to_owned()))
        .collect();
    for (at, _) in &ticks {
        canvas.line("g", (*at, TOP), (*at, bottom));
    }
    canvas.values_below(&ticks, bottom, "percentile");
    for one in distributions {
        let drawn: Vec<(f64, f64)> = one
            .points
            .iter()
            .map(|(share, ms)| (x.at(spread(*share)), y.at(*ms)))
            .collect();
        let class = format!("l s{}", one.series % SERIES_MAX);
        canvas.path(&class, &drawn);
    }
    canvas.end()
}

/// Returns the position of a share. Each further nine takes as much room as the one before it.
fn spread(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 0.999_999_9)).log10()
}
