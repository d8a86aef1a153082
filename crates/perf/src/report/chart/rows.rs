//! A metric for named cases: one row each, a mark with its 95 % confidence interval for each series, published figures hollow.

use super::canvas::{Anchor, Canvas, WIDTH, clip};
use super::scale::Scale;
use crate::report::units::compact;

/// One mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Which colour and mark.
    pub series: usize,
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Published elsewhere, not measured here.
    pub published: bool,
    /// What is written at the row's end.
    pub words: String,
    /// Shown when it is pointed at.
    pub hint: String,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What was measured there.
    pub marks: Vec<Mark>,
}

/// What the chart needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// For people who cannot see it.
    pub about: String,
    /// Under the axis.
    pub title: String,
    /// A value with a line of its own, such as 1 where ratios are shown.
    pub neutral: Option<f64>,
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
    let ends = all().flat_map(|mark| {
        let (low, high) = mark.interval.unwrap_or((mark.value, mark.value));
        [mark.value, low.max(mark.value.min(0.0)), high]
    });
    let ends: Vec<f64> = ends.chain(chart.neutral).collect();
    let x = match chart.neutral {
        Some(neutral) => around(neutral, &ends, left, right),
        None => Scale::near(&ends, left, right),
    };
    for tick in x.ticks(4) {
        let at = x.at(tick);
        canvas.line("g", (at, 0.0), (at, bottom));
        canvas.text(
            "t",
            (at.max(10.0), bottom + 13.0),
            Anchor::Middle,
            &compact(tick),
        );
    }
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
    let mut y = 0.0;
    for row in &chart.rows {
        canvas.text(
            "t k",
            (left, y + NAME_HEIGHT - 2.0),
            Anchor::Start,
            &clip(&row.name, 46),
        );
        y += NAME_HEIGHT;
        for mark in &row.marks {
            let middle = y + MARK_HEIGHT / 2.0;
            canvas.line("g", (left, middle), (right, middle));
            draw(&mut canvas, mark, &x, y + MARK_HEIGHT / 2.0, right);
            y += MARK_HEIGHT;
        }
        y += GAP;
    }
    canvas.end()
}

/// An axis that shows the neutral value and all ends with a little room.
fn around(neutral: f64, ends: &[f64], from: f64, to: f64) -> Scale {
    let low = ends.iter().copied().fold(neutral, f64::min);
    let high = ends.iter().copied().fold(neutral, f64::max);
    let room = ((high - low) * 0.06).max(neutral.abs() * 0.01);
    Scale::linear(low - room, high + room, from, to)
}

fn draw(canvas: &mut Canvas, mark: &Mark, x: &Scale, y: f64, right: f64) {
    let series = mark.series % super::SERIES_MAX;
    let at = x.at(mark.value);
    if mark.published {
        canvas.mark("q", mark.series + 1, (at, y), &mark.hint);
    } else {
        if let Some((low, high)) = mark.interval {
            let class = format!("i s{series}");
            let (low, high) = (x.at(low), x.at(high));
            canvas.line(&class, (low, y), (high, y));
            for end in [low, high] {
                canvas.line(&class, (end, y - 3.5), (end, y + 3.5));
            }
        }
        canvas.mark(&format!("m s{series}"), series, (at, y), &mark.hint);
    }
    let class = if mark.published { "t n" } else { "t v" };
    canvas.text(
        class,
        (right + 9.0, y + 3.5),
        Anchor::Start,
        &clip(&mark.words, 15),
    );
}
