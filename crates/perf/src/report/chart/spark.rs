//! A tiny chart without words: how something goes.

use std::fmt::Write;

use super::scale::Scale;

/// Curves of one tiny chart at most.
const CURVES_MAX: usize = 4;
/// Values of a curve at most.
const VALUES_MAX: usize = 60;

/// Draws curves over evenly spaced places; nothing where there is no curve of two values.
pub fn sparkline(curves: &[Vec<f64>]) -> String {
    let curves: Vec<&[f64]> = curves
        .iter()
        .take(CURVES_MAX)
        .map(|curve| &curve[..curve.len().min(VALUES_MAX)])
        .collect();
    let longest = curves.iter().map(|curve| curve.len()).max().unwrap_or(0);
    if longest < 2 {
        return String::new();
    }
    let (width, height) = (300.0, 44.0);
    let y = Scale::fitting(
        curves.iter().flat_map(|curve| curve.iter().copied()),
        height - 5.0,
        5.0,
    );
    let x = Scale::linear(0.0, (longest - 1) as f64, 5.0, width - 5.0);
    let mut out = format!(
        "<svg class=\"spark\" viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    for (series, curve) in curves.iter().enumerate() {
        let mut way = String::new();
        for (at, value) in curve.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let _ = write!(way, "{step}{:.1} {:.1}", x.at(at as f64), y.at(*value));
        }
        let _ = write!(
            out,
            "<path class=\"l s{series}\" vector-effect=\"non-scaling-stroke\" d=\"{way}\"/>"
        );
    }
    out + "</svg>"
}
