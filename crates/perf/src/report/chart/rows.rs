//! A metric for named cases: one row each, a mark with its 95 % confidence interval for each series, published figures hollow.

use super::canvas::{Anchor, Canvas, WIDTH, clip};
use super::scale::Scale;
use super::series::SERIES_MAX;
use crate::report::figures::compact;

/// One mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The index of its colour and mark.
    pub series: usize,
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Its standard deviation, drawn as a bar of one to each side.
    pub deviation: Option<f64>,
    /// Published elsewhere, not measured here.
    pub published: bool,
    /// The text at the row's end.
    pub words: String,
    /// Its interval in words, written above it if it extends beyond the axis.
    pub reach: String,
    /// Shown when it is pointed at.
    pub hint: String,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The measured values.
    pub marks: Vec<Mark>,
}

/// The content of the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// For people who cannot see it.
    pub about: String,
    /// Under the axis.
    pub title: String,
    /// A value with a line of its own, such as 1 where ratios are shown.
    pub neutral: Option<f64>,
    /// The limits of the axis. A value or interval beyond them ends in an arrow head.
    pub limits: Option<(f64, f64)>,
    /// The cases, from above.
    pub rows: Vec<Row>,
}

const MARK_HEIGHT: f64 = 17.0;
const GAP: f64 = 7.0;
const NAME_HEIGHT: f64 = 13.0;

/// Draws them. Names stand above their marks, so that long ones have the whole width.
pub fn rows(chart: &Rows) -> String {
    let marks = |row: &Row| row.marks.len() as f64;
    let height: f64 = chart
        .rows
        .iter()
        .map(|row| NAME_HEIGHT + marks(row) * MARK_HEIGHT + GAP)
        .sum();
    let mut canvas = Canvas::new(height + 40.0, &chart.about);
    let (left, right, bottom) = (8.0, WIDTH - 92.0, height + 2.0);
    let all = || chart.rows.iter().flat_map(|row| &row.marks);
    let mut ends: Vec<f64> = all().flat_map(|mark| shown(mark, chart)).collect();
    if let Some((low, high)) = chart.limits {
        ends.iter_mut().for_each(|end| *end = end.clamp(low, high));
    }
    ends.extend(chart.neutral);
    let x = match chart.neutral {
        Some(neutral) => around(neutral, &ends, left, right),
        None => Scale::near(&ends, left, right),
    };
    let ticks = x.ticks(4);
    let grid = ticks
        .iter()
        .map(|tick| ((x.at(*tick), 0.0), (x.at(*tick), bottom)));
    canvas.lines("g", grid);
    let words = ticks
        .iter()
        .map(|tick| ((x.at(*tick).max(10.0), bottom + 13.0), compact(*tick)));
    canvas.texts("t", Anchor::Middle, words);
    if let Some(neutral) = chart.neutral {
        canvas.line("z", (x.at(neutral), 0.0), (x.at(neutral), bottom));
    }
    let middle = (left + right) / 2.0;
    let title = match x.begins_at_zero() || chart.neutral.is_some() {
        true => chart.title.clone(),
        false if x.is_log() => format!("{} (log scale)", chart.title),
        false => format!("{} (axis not from 0)", chart.title),
    };
    canvas.text("t n", (middle, bottom + 28.0), Anchor::Middle, &title);
    let tops: Vec<f64> = chart
        .rows
        .iter()
        .scan(0.0, |y, row| {
            let top = *y;
            *y += NAME_HEIGHT + marks(row) * MARK_HEIGHT + GAP;
            Some(top)
        })
        .collect();
    let middles = |row: usize| {
        let first = tops[row] + NAME_HEIGHT + MARK_HEIGHT / 2.0;
        (0..chart.rows[row].marks.len()).map(move |at| first + at as f64 * MARK_HEIGHT)
    };
    let grid = (0..chart.rows.len()).flat_map(middles);
    canvas.lines("g", grid.map(|y| ((left, y), (right, y))));
    for (at, row) in chart.rows.iter().enumerate() {
        let y = tops[at] + NAME_HEIGHT - 2.0;
        let reach = reach(row, &x);
        // A longer interval in words leaves no room for the name.
        let room = LETTERS.saturating_sub(reach.chars().count());
        canvas.text(
            "t k",
            (left, y),
            Anchor::Start,
            &clip(&row.name, room.min(46)),
        );
        if !reach.is_empty() {
            canvas.text("t k", (WIDTH, y), Anchor::End, &reach);
        }
        for (mark, y) in row.marks.iter().zip(middles(at)) {
            draw(&mut canvas, mark, &x, y, right);
        }
    }
    canvas.end()
}

/// Letters that fit next to a mark.
pub const WORDS_MAX: usize = 14;

/// Letters that always fit on a line, spaces included.
const LETTERS: usize = 62;

/// Returns the values that the axis has to show for a mark: its value, and the ends of its interval or bar. A non-negative metric
/// cannot be below 0, so its interval is cut there.
fn shown(mark: &Mark, chart: &Rows) -> [f64; 3] {
    // Without an interval, the axis has to show the value alone.
    let (low, high) = mark.interval.unwrap_or((mark.value, mark.value));
    let around = mark.deviation.unwrap_or_default();
    let (low, high) = (low.min(mark.value - around), high.max(mark.value + around));
    let low = match chart.neutral {
        None if mark.value >= 0.0 => low.max(0.0),
        _ => low,
    };
    [mark.value, low, high]
}

/// Returns the intervals of a row that extend beyond the axis, in words.
fn reach(row: &Row, x: &Scale) -> String {
    let further = |mark: &&Mark| {
        let ends = mark.interval.map(|(low, high)| [low, high]);
        ends.into_iter().flatten().any(|end| !x.holds(end))
    };
    let further = row.marks.iter().filter(further);
    let words: Vec<&str> = further.map(|mark| mark.reach.as_str()).collect();
    clip(words.join("; ").trim_matches([';', ' ']), 40)
}

/// Returns an axis that shows the neutral value and all ends with a little room.
fn around(neutral: f64, ends: &[f64], from: f64, to: f64) -> Scale {
    let low = ends.iter().copied().fold(neutral, f64::min);
    let high = ends.iter().copied().fold(neutral, f64::max);
    let room = ((high - low) * 0.06).max(neutral.abs() * 0.01);
    Scale::linear(low - room, high + room, from, to)
}

fn draw(canvas: &mut Canvas, mark: &Mark, x: &Scale, y: f64, right: f64) {
    let series = mark.series % SERIES_MAX;
    let at = x.at(mark.value);
    if let Some(around) = mark.deviation {
        let class = match mark.published {
            true => "dev p".to_owned(),
            false => format!("dev s{series}"),
        };
        let (low, high) = (mark.value - around, mark.value + around);
        canvas.line(&class, (x.at(low), y), (x.at(high), y));
    }
    if mark.published {
        canvas.mark("q", mark.series + 1, (at, y), &mark.hint);
    } else {
        let filled = format!("m s{series}");
        if let Some((low, high)) = mark.interval {
            let class = format!("i s{series}");
            canvas.line(&class, (x.at(low), y), (x.at(high), y));
            for (end, way) in [(low, -1.0), (high, 1.0)] {
                let place = x.at(end);
                match x.holds(end) {
                    true => canvas.line(&class, (place, y - 3.5), (place, y + 3.5)),
                    false => canvas.arrow(&filled, (place, y), (way, 0.0), ""),
                }
            }
        }
        match x.holds(mark.value) {
            true => canvas.mark(&filled, series, (at, y), &mark.hint),
            // An arrow head alone: the value itself lies further that way.
            false => {
                let way = if at >= right { 1.0 } else { -1.0 };
                canvas.arrow(&filled, (at, y), (way, 0.0), &mark.hint);
            }
        }
    }
    let class = if mark.published { "t n" } else { "t v" };
    canvas.text(
        class,
        (right + 9.0, y + 3.5),
        Anchor::Start,
        &clip(&mark.words, WORDS_MAX),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a mark's interval as drawn: its ends, and whether each end is an arrow head.
    fn drawn(value: f64, interval: (f64, f64), neutral: bool) -> (f64, f64, [bool; 2], bool) {
        let mark = |value: f64, interval| Mark {
            value,
            interval: Some(interval),
            reach: "how far".into(),
            ..Mark::default()
        };
        let chart = Rows {
            neutral: neutral.then_some(0.0),
            limits: neutral.then_some((-100.0, 300.0)),
            rows: vec![
                Row {
                    name: "narrow".into(),
                    marks: vec![mark(2.0, (1.0, 3.0))],
                },
                Row {
                    name: "this".into(),
                    marks: vec![mark(value, interval)],
                },
            ],
            ..Rows::default()
        };
        let svg = rows(&chart);
        let this = svg.split(">this<").nth(1).expect("its row");
        let line = this.split("class=\"i s0\" d=\"M").nth(1).expect("a line");
        let line = line.split('"').next().unwrap_or_default();
        let (from, length) = line.split_once('h').unwrap_or((line, "0"));
        let from: f64 = from.split(' ').next().expect("x").parse().expect("x");
        let length: f64 = length.parse().expect("a length");
        let heads: Vec<&str> = this
            .split("class=\"m s0\" d=\"M")
            .skip(1)
            .filter(|way| {
                way.split('"')
                    .next()
                    .is_some_and(|way| way.matches('L').count() == 2)
            })
            .collect();
        let tip = |x: f64| heads.iter().any(|way| way.starts_with(&format!("{x} ")));
        let to = ((from + length) * 10.0).round() / 10.0;
        (from, to, [tip(from), tip(to)], this.contains("how far"))
    }

    #[test]
    fn a_standard_deviation_is_a_bar_within_the_axis() {
        let mark = |published| Mark {
            value: 100.0,
            deviation: Some(40.0),
            published,
            ..Mark::default()
        };
        let svg = rows(&Rows {
            rows: vec![Row {
                name: "x".into(),
                marks: vec![
                    mark(false),
                    mark(true),
                    Mark {
                        value: 90.0,
                        ..Mark::default()
                    },
                ],
            }],
            ..Rows::default()
        });
        for (class, count) in [("dev s0", 1), ("dev p", 1)] {
            let bar = format!("class=\"{class}\" d=\"M");
            assert_eq!(svg.matches(&bar).count(), count, "{class}: {svg}");
            let line = svg.split(&bar).nth(1).expect("a bar");
            let line = line.split('"').next().unwrap_or_default();
            let (from, length) = line.split_once('h').expect("a level line");
            let from: f64 = from.split(' ').next().expect("x").parse().expect("x");
            let length: f64 = length.parse().expect("a length");
            assert!(
                length > 20.0 && from >= 8.0 && from + length <= WIDTH - 92.0,
                "{line}"
            );
        }
    }

    #[test]
    fn an_interval_is_drawn_as_far_as_it_reaches_or_ends_in_an_arrow_head() {
        let right = WIDTH - 92.0;
        for (value, interval, neutral, arrows) in [
            (-7.0, (-21.0, 9.0), true, [false, false]),
            (1.0, (-21.0, 30.0), true, [false, false]),
            (40.0, (-90.0, 290.0), true, [false, false]),
            (40.0, (-90.0, 450.0), true, [false, true]),
            (-50.0, (-180.0, 60.0), true, [true, false]),
            (500.0, (330.0, 900.0), true, [true, true]),
            (5.0, (4.0, 6.0), false, [false, false]),
            (5.0, (-1.0, 11.0), false, [true, false]),
            (-5.0, (-9.0, -1.0), false, [false, false]),
        ] {
            let (from, to, found, said) = drawn(value, interval, neutral);
            assert_eq!(found, arrows, "{value} {interval:?}: {from} to {to}");
            assert_eq!(said, arrows.contains(&true), "{value} {interval:?}");
            assert!((8.0..=to).contains(&from) && to <= right, "{from} {to}");
            assert!(to - from > 3.0 || arrows == [true; 2], "{from} {to}");
        }
    }
}
