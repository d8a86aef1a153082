//! Tiny charts without words: a metric along a numeric axis, or a comparison of named cases.

use std::fmt::Write;

use super::scale::{Scale, is_geometric};

/// Upper limit on the curves of one tiny chart.
const CURVES_MAX: usize = 4;
/// Upper limit on the values of a curve, or on named cases.
const VALUES_MAX: usize = 60;
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 44.0;
/// The margin around the plot.
const EDGE: f64 = 5.0;

/// Draws curves along a numeric axis: x and value, by x. Nothing where there is no curve of two values.
pub fn sparkline(curves: &[Vec<(f64, f64)>]) -> String {
    let curves = || {
        let curves = curves.iter().take(CURVES_MAX);
        curves.map(|curve| &curve[..curve.len().min(VALUES_MAX)])
    };
    if curves().all(|curve| curve.len() < 2) {
        return String::new();
    }
    let mut places: Vec<f64> = curves().flatten().map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (Some(low), Some(high)) = (places.first(), places.last()) else {
        return String::new();
    };
    let x = match is_geometric(&places) {
        true => Scale::log(*low, *high, EDGE, WIDTH - EDGE),
        false => Scale::linear(*low, *high, EDGE, WIDTH - EDGE),
    };
    let values = curves().flatten().map(|point| point.1);
    let y = Scale::fitting(values, HEIGHT - EDGE, EDGE);
    let mut out = begun();
    for (series, curve) in curves().enumerate() {
        let mut way = String::new();
        for (at, (place, value)) in curve.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let _ = write!(way, "{step}{:.1} {:.1}", x.at(*place), y.at(*value));
        }
        path(&mut out, &format!("l s{series}"), &way);
    }
    out + "</svg>"
}

/// A named case in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SparkCase {
    /// Its value; `None` if it was not measured.
    pub value: Option<f64>,
    /// Whether it is the highlighted case; the others are pale.
    pub is_meant: bool,
}

/// Draws a bar for each case, from 0. If the values are too far apart for bars, it draws dots on a logarithmic scale, and
/// the second returned value is true. Draws nothing for fewer than two cases. Cases are never joined: no value lies
/// between two names.
pub fn sparkcases(cases: &[SparkCase]) -> (String, bool) {
    let cases = &cases[..cases.len().min(VALUES_MAX)];
    let values = || cases.iter().filter_map(|case| case.value);
    if cases.len() < 2 || values().next().is_none() {
        return (String::new(), false);
    }
    let mut y = Scale::fitting(values(), HEIGHT - EDGE, EDGE);
    if !y.is_log() {
        // The axis has no labels, so it need not end at a round number.
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        y = Scale::linear(low, high, HEIGHT - EDGE, EDGE);
    }
    let each = WIDTH / cases.len() as f64;
    // A third of the room stays free between bars; one is never so wide that it looks like an area.
    let wide = (each * 0.66).min(64.0);
    let mut out = begun();
    for (at, case) in cases.iter().enumerate() {
        let Some(value) = case.value else { continue };
        let pale = if case.is_meant { "" } else { " w" };
        let middle = (at as f64 + 0.5) * each;
        let place = y.at(value);
        if y.is_log() {
            let way = format!("M{middle:.1} {place:.1}h0");
            path(&mut out, &format!("d s0{pale}"), &way);
            continue;
        }
        let zero = y.at(0.0);
        // A value that is very small compared with the others stays visible.
        let tall = (zero - place).abs().max(1.0);
        let top = if place <= zero { zero - tall } else { zero };
        let left = middle - wide / 2.0;
        let _ = write!(
            out,
            "<rect class=\"m s0{pale}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\"/>"
        );
    }
    (out + "</svg>", y.is_log())
}

fn begun() -> String {
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    )
}

/// Draws a path. The line's width is constant however much the chart is stretched.
fn path(out: &mut String, class: &str, way: &str) {
    let _ = write!(
        out,
        "<path class=\"{class}\" vector-effect=\"non-scaling-stroke\" d=\"{way}\"/>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bars_or_dots_and_never_joined() {
        for (name, values, bars, dots) in [
            ("none", &[][..], 0, 0),
            ("one alone", &[Some(1.0)], 0, 0),
            ("two", &[Some(5.0), Some(9.0)], 2, 0),
            ("far apart", &[Some(150_000.0), Some(160.0)], 0, 2),
            (
                "one of which was not measured",
                &[Some(5.0), Some(9.0), None],
                2,
                0,
            ),
            (
                "nothing and less than nothing",
                &[Some(0.0), Some(-2.0)],
                2,
                0,
            ),
            ("not measured at all", &[None, None], 0, 0),
        ] {
            let cases = values.iter().enumerate().map(|(at, value)| SparkCase {
                value: *value,
                is_meant: at == 0,
            });
            let cases: Vec<SparkCase> = cases.collect();
            let (svg, is_log) = sparkcases(&cases);
            assert_eq!(svg.matches("<rect").count(), bars, "{name}");
            assert_eq!(svg.matches("h0\"").count(), dots, "{name}");
            assert_eq!(is_log, dots > 0, "{name}");
            assert!(!svg.contains('L') && !svg.contains("class=\"l"), "{name}");
            let pale = svg.matches(" w\"").count();
            assert_eq!(pale, usize::from(bars + dots > 0), "{name}");
            assert!(!svg.contains("=\"-"), "{name}: {svg}");
        }
    }

    #[test]
    fn numbers_stand_where_they_are_on_their_axis() {
        for (curve, expected) in [
            (vec![], None),
            (vec![(1.0, 2.0)], None),
            // Even steps stay even, and factors too.
            (vec![(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)], Some("L150.0 ")),
            (vec![(4.0, 2.0), (16.0, 2.0), (64.0, 2.0)], Some("L150.0 ")),
            (
                vec![(2.0, 2.0), (4.0, 2.0), (6.0, 2.0), (8.0, 2.0), (10.0, 2.0)],
                Some("L77.5 "),
            ),
        ] {
            let svg = sparkline(std::slice::from_ref(&curve));
            assert_eq!(svg.is_empty(), expected.is_none(), "{curve:?}");
            assert!(svg.contains(expected.unwrap_or_default()), "{svg}");
        }
    }
}
