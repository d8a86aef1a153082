//! Values in order: one line for each series, over their numbers.

use super::canvas::{Canvas, LEFT, RIGHT, TOP};
use super::scale::Scale;
use super::series::SERIES_MAX;
use super::thin::thin;
use crate::report::figures::compact;

/// Values that the line of a series is thinned to; the plot is hardly wider in points.
const VALUES_MAX: usize = 200;

/// One series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequence {
    /// The index of its colour, dash and mark.
    pub series: usize,
    /// Drawn thin and pale, behind the others: one of several repeats.
    pub faint: bool,
    /// Its values in order.
    pub values: Vec<f64>,
    /// Values to mark, such as failures: their positions from 0, and the words shown when one is pointed at.
    pub marked: Vec<(usize, String)>,
}

/// Draws the series. `about` is for people who cannot see the chart, `title` stands under the axis.
pub fn sequences(about: &str, title: &str, all: &[Sequence]) -> String {
    let mut canvas = Canvas::new(220.0, about);
    let bottom = canvas.height() - 36.0;
    let values = all.iter().flat_map(|one| one.values.iter().copied());
    let y = Scale::from_zero(values, bottom, TOP);
    let longest = all.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let x = Scale::linear(1.0, longest.max(2) as f64, LEFT, RIGHT);
    canvas.values_left(&y, 5, RIGHT);
    let mut ticks: Vec<f64> = x.ticks(6);
    ticks.insert(0, 1.0);
    ticks.dedup();
    let ticks: Vec<(f64, String)> = ticks.iter().map(|at| (x.at(*at), compact(*at))).collect();
    canvas.values_below(&ticks, bottom, title);
    for faint in [true, false] {
        for one in all.iter().filter(|one| one.faint == faint) {
            draw(&mut canvas, one, &x, &y);
        }
    }
    canvas.end()
}

fn draw(canvas: &mut Canvas, one: &Sequence, x: &Scale, y: &Scale) {
    let series = one.series % SERIES_MAX;
    let faint = if one.faint { " w" } else { "" };
    let numbered = one.values.iter().enumerate();
    let points: Vec<(f64, f64)> = numbered
        .map(|(at, value)| ((at + 1) as f64, *value))
        .collect();
    let points = thin(&points, VALUES_MAX).into_iter();
    let points: Vec<(f64, f64)> = points
        .map(|(number, value)| (x.at(number), y.at(value)))
        .collect();
    canvas.path(&format!("l s{series}{faint}"), &points);
    for (at, hint) in &one.marked {
        if let Some(value) = one.values.get(*at) {
            let place = (x.at((at + 1) as f64), y.at(*value));
            canvas.mark(&format!("m s{series}"), series, place, hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_order_from_the_first_to_the_last() {
        let one = Sequence {
            values: vec![10.0, 20.0, 30.0],
            marked: vec![(2, "node.busy".to_owned()), (9, "beyond".to_owned())],
            ..Sequence::default()
        };
        let svg = sequences("x", "number", &[one]);
        let line = svg.split("class=\"l s0\" d=\"M").nth(1).expect("a line");
        assert!(line.starts_with(&format!("{LEFT} ")), "{line}");
        assert!(svg.contains("node.busy") && !svg.contains("beyond"));
    }

    #[test]
    fn draws_nothing_and_one_value_without_panic() {
        for values in [vec![], vec![5.0]] {
            let one = Sequence {
                values,
                ..Sequence::default()
            };
            assert!(sequences("x", "number", &[one]).ends_with("</svg>"));
        }
        assert!(sequences("x", "number", &[]).ends_with("</svg>"));
    }
}
