//! The sheet that charts are drawn on: a plot with two axes, lines, marks and words, as SVG text.

use std::fmt::Write;

use super::scale::Scale;
use crate::report::units::compact;

/// Width of every chart in its own units: about that of a phone, so that words keep their size there.
pub const WIDTH: f64 = 400.0;
/// Left and right edge of the plot within it.
pub const LEFT: f64 = 46.0;
/// Right edge of the plot.
pub const RIGHT: f64 = 392.0;
/// Upper edge of the plot.
pub const TOP: f64 = 8.0;

/// Text as it may stand in HTML and SVG, in elements and in quoted attributes. Characters that no document may hold are dropped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            // Left-to-right overrides and the like would let a name rewrite the words around it.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

/// At most `letters` letters of a text; what is cut is shown as an ellipsis.
pub fn clip(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A chart on its way.
pub struct Canvas {
    svg: String,
    height: f64,
}

/// How a word stands to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

impl Canvas {
    /// An empty one; `about` is read out to people who cannot see it.
    pub fn new(height: f64, about: &str) -> Self {
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            place(height),
            escape(about)
        );
        Canvas { svg, height }
    }

    /// Height in its own units.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Ends it.
    pub fn end(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }

    /// Horizontal grid lines with their values left of the plot.
    pub fn values_left(&mut self, scale: &Scale, wanted: usize, right: f64) {
        for tick in scale.ticks(wanted) {
            let y = scale.at(tick);
            self.line("g", (LEFT, y), (right, y));
            self.text("t", (LEFT - 5.0, y + 3.5), Anchor::End, &compact(tick));
        }
        if scale.is_log() {
            self.text(
                "t n",
                (2.0, self.height - 7.0),
                Anchor::Start,
                "log scale ↑",
            );
        }
    }

    /// The values of a horizontal axis below the plot, with short marks; the outer ones stay inside the sheet.
    pub fn values_below(&mut self, ticks: &[(f64, String)], bottom: f64, title: &str) {
        self.line("a", (LEFT, bottom), (RIGHT, bottom));
        let mut taken = f64::NEG_INFINITY;
        for (x, words) in ticks {
            self.line("a", (*x, bottom), (*x, bottom + 4.0));
            // Digits are about 6 wide; a word that would touch the one before it is left out, its mark stays.
            let half = words.chars().count() as f64 * 3.1;
            let x = x.clamp(half, WIDTH - half);
            if x - half > taken + 4.0 {
                self.text("t", (x, bottom + 15.0), Anchor::Middle, words);
                taken = x + half;
            }
        }
        let middle = (LEFT + RIGHT) / 2.0;
        self.text("t n", (middle, bottom + 29.0), Anchor::Middle, title);
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.svg,
            "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
            place(from.0),
            place(from.1),
            place(to.0),
            place(to.1)
        );
    }

    /// A line through points; a single one is shown as a dot.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let Some(first) = points.first() else { return };
        let mut way = format!("M{} {}", place(first.0), place(first.1));
        if points.len() == 1 {
            // A line of no length with round ends is a dot.
            way.push_str("h0");
        }
        let mut last = first;
        for point in &points[1..] {
            // Steps are shorter to write than places.
            let (x, y) = (
                tenth(point.0) - tenth(last.0),
                tenth(point.1) - tenth(last.1),
            );
            let _ = match (x, y) {
                (0, 0) => Ok(()),
                _ => write!(way, "l{} {}", of_tenths(x), of_tenths(y)),
            };
            last = point;
        }
        let _ = write!(self.svg, "<path class=\"{class}\" d=\"{way}\"/>");
    }

    /// A rectangle, with words that show when it is pointed at.
    pub fn rect(&mut self, class: &str, from: (f64, f64), size: (f64, f64), hint: &str) {
        let _ = write!(
            self.svg,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            place(from.0),
            place(from.1),
            place(size.0.max(0.0)),
            place(size.1.max(0.0))
        );
        self.close("rect", hint);
    }

    /// A mark of one of the shapes that tell series apart.
    pub fn mark(&mut self, class: &str, shape: usize, at: (f64, f64), hint: &str) {
        let _ = write!(
            self.svg,
            "<path class=\"{class}\" d=\"{}\"",
            shape_path(shape, at, 4.0)
        );
        self.close("path", hint);
    }

    /// Words.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(
            self.svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\"{anchor}>{}</text>",
            place(at.0),
            place(at.1),
            escape(words)
        );
    }

    /// Ends an element that has no children but perhaps a hint.
    fn close(&mut self, element: &str, hint: &str) {
        let _ = match hint {
            "" => write!(self.svg, "/>"),
            hint => write!(self.svg, "><title>{}</title></{element}>", escape(hint)),
        };
    }
}

/// The outline of a mark: circle, square, diamond, triangle up, triangle down, cross, bar, ring of six.
pub fn shape_path(shape: usize, (x, y): (f64, f64), size: f64) -> String {
    let (x, y) = (tenth(x) as f64 / 10.0, tenth(y) as f64 / 10.0);
    let s = size;
    let d = (size * 1.3 * 10.0).round() / 10.0;
    match shape % super::SERIES_MAX {
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

/// A place to a tenth, as short as it goes.
fn place(value: f64) -> String {
    of_tenths(tenth(value))
}
