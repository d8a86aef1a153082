//! Writes the data of SVG paths as short as possible.

use std::fmt::Write;

use super::series::SERIES_MAX;

/// A place on the sheet: x from the left, y from above.
pub type Spot = (f64, f64);

/// Adds a line through points to the way of a path. Steps are shorter to write than places, and a minus needs no space before it.
pub fn walk(way: &mut String, points: &[Spot]) {
    let Some(first) = points.first() else { return };
    let _ = write!(way, "M{} {}", place(first.0), place(first.1));
    let empty = way.len();
    let mut last = (tenth(first.0), tenth(first.1));
    let mut begun = false;
    for point in &points[1..] {
        let next = (tenth(point.0), tenth(point.1));
        let step = (next.0 - last.0, next.1 - last.1);
        if step == (0, 0) {
            continue;
        }
        last = next;
        let _ = match step {
            (x, 0) => write!(way, "h{}", of_tenths(x)),
            (0, y) => write!(way, "v{}", of_tenths(y)),
            (x, y) => {
                let before = match (begun, x < 0) {
                    (false, _) => "l",
                    (true, true) => "",
                    (true, false) => " ",
                };
                let between = if y < 0 { "" } else { " " };
                write!(way, "{before}{}{between}{}", of_tenths(x), of_tenths(y))
            }
        };
        begun = step.0 != 0 && step.1 != 0;
    }
    if way.len() == empty {
        // A line of no length with round ends is a dot.
        way.push_str("h0");
    }
}

/// Returns the outline of a mark. Shapes: circle, square, diamond, triangles up and down, cross, bar, ring of six.
pub fn shape_path(shape: usize, (x, y): (f64, f64), size: f64) -> String {
    let (x, y) = (tenth(x) as f64 / 10.0, tenth(y) as f64 / 10.0);
    let s = size;
    let d = (size * 1.3 * 10.0).round() / 10.0;
    match shape % SERIES_MAX {
        0 => format!(
            "M{} {y}a{s} {s} 0 1 0 {} 0a{s} {s} 0 1 0 -{} 0z",
            x - s,
            2.0 * s,
            2.0 * s
        ),
        1 => format!(
            "M{} {}h{w}v{w}h-{w}z",
            x - s * 0.9,
            y - s * 0.9,
            w = s * 1.8
        ),
        2 => format!("M{x} {}l{d} {d}l-{d} {d}l-{d} -{d}z", y - d),
        3 => format!("M{x} {}l{d} {}h-{}z", y - d, d * 1.9, d * 2.0),
        4 => format!("M{x} {}l{d} -{}h-{}z", y + d, d * 1.9, d * 2.0),
        5 => format!("M{} {}l{w} {w}m0 -{w}l-{w} {w}", x - s, y - s, w = s * 2.0),
        6 => format!("M{} {}h{w}v{}h-{w}z", x - s, y - s / 2.0, s, w = s * 2.0),
        _ => format!("M{} {y}h{w}m-{s} -{s}v{w}", x - s, w = s * 2.0),
    }
}

/// Returns a length in tenths, the resolution of the charts.
fn tenth(value: f64) -> i64 {
    (value * 10.0).round().clamp(-1e9, 1e9) as i64
}

fn of_tenths(value: i64) -> String {
    let (sign, size) = (if value < 0 { "-" } else { "" }, value.abs());
    match size % 10 {
        0 => format!("{sign}{}", size / 10),
        part => format!("{sign}{}.{part}", size / 10),
    }
}

/// Formats a position to a tenth, as short as possible.
pub fn place(value: f64) -> String {
    of_tenths(tenth(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_written_in_steps_and_read_back_as_the_same_places() {
        for (points, expected) in [
            (vec![], ""),
            (vec![(1.0, 2.0)], "M1 2h0"),
            (vec![(1.0, 2.0), (1.04, 2.04)], "M1 2h0"),
            (vec![(1.0, 2.0), (3.5, 2.0), (3.5, 1.0)], "M1 2h2.5v-1"),
            (
                vec![(0.0, 0.0), (1.0, 1.0), (2.5, 0.0), (0.0, -1.0), (1.0, 5.0)],
                "M0 0l1 1 1.5-1-2.5-1 1 6",
            ),
            (
                vec![(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (3.0, 2.0)],
                "M0 0l1 1h1l1 1",
            ),
        ] {
            let mut way = String::new();
            walk(&mut way, &points);
            assert_eq!(way, expected);
        }
    }
}
