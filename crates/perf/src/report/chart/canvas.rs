//! The canvas of charts: a plot with two axes, lines, marks and labels, as SVG text.

use std::fmt::Write;

use super::scale::Scale;
use super::way::{Spot, place, shape_path, walk};
use crate::report::figures::compact;

/// Width of every chart in its own units: about that of a phone, so that words keep their size there.
pub const WIDTH: f64 = 400.0;
/// Left and right edge of the plot within it.
pub const LEFT: f64 = 46.0;
/// Right edge of the plot.
pub const RIGHT: f64 = 392.0;
/// Upper edge of the plot.
pub const TOP: f64 = 8.0;

/// Escapes text for HTML and SVG, for elements and quoted attributes. Characters that no document may contain are
/// dropped.
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

/// Clips a text to at most `letters` letters. An ellipsis replaces the rest.
pub fn clip(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    // Even without room for a letter, the ellipsis shows that there is a text.
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A chart in progress.
pub struct Canvas {
    svg: String,
    height: f64,
}

/// The alignment of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The label begins at its position.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

impl Anchor {
    /// Returns the class of this alignment, to follow other classes.
    fn class(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " c",
            Anchor::End => " e",
        }
    }
}

impl Canvas {
    /// Creates an empty chart. `about` is its text for screen readers.
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

    /// Returns its height in its own units.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// Creates a hidden chart that others draw by `name`: see [`Canvas::again`].
    pub fn hidden(name: &str, height: f64) -> Self {
        let name = escape(name);
        let svg = format!("<svg class=\"hidden\" aria-hidden=\"true\"><g id=\"{name}\">");
        Canvas { svg, height }
    }

    /// Ends one that is not shown.
    pub fn end_hidden(mut self) -> String {
        self.svg.push_str("</g></svg>");
        self.svg
    }

    /// Ends it.
    pub fn end(mut self) -> String {
        self.svg.push_str("</svg>");
        self.svg
    }

    /// Draws horizontal grid lines with their values left of the plot.
    pub fn values_left(&mut self, scale: &Scale, wanted: usize, right: f64) {
        let ticks = scale.ticks(wanted);
        let grid = ticks.iter().map(|tick| {
            let y = scale.at(*tick);
            ((LEFT, y), (right, y))
        });
        self.lines("g", grid);
        let words = ticks
            .iter()
            .map(|tick| ((LEFT - 5.0, scale.at(*tick) + 3.5), compact(*tick)));
        self.texts("t", Anchor::End, words);
        if scale.is_log() {
            self.text(
                "t n",
                (2.0, self.height - 7.0),
                Anchor::Start,
                "log scale ↑",
            );
        }
    }

    /// Draws the values of a horizontal axis below the plot, with tick marks. The outer ones stay inside the sheet.
    pub fn values_below(&mut self, ticks: &[(f64, String)], bottom: f64, title: &str) {
        let axis = ((LEFT, bottom), (RIGHT, bottom));
        let marks = ticks
            .iter()
            .map(|(x, _)| ((*x, bottom), (*x, bottom + 4.0)));
        self.lines("a", std::iter::once(axis).chain(marks));
        let mut taken = f64::NEG_INFINITY;
        let words = ticks.iter().filter_map(|(x, words)| {
            // Digits are about 6 wide; a word that would touch the one before it is left out, its mark stays.
            let half = words.chars().count() as f64 * 3.1;
            let x = x.clamp(half, WIDTH - half);
            let fits = x - half > taken + 4.0;
            if fits {
                taken = x + half;
            }
            fits.then(|| ((x, bottom + 15.0), words.clone()))
        });
        self.texts("t", Anchor::Middle, words);
        let middle = (LEFT + RIGHT) / 2.0;
        self.text("t n", (middle, bottom + 29.0), Anchor::Middle, title);
    }

    /// Draws a straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.lines(class, std::iter::once((from, to)));
    }

    /// Draws straight lines of one class.
    pub fn lines(&mut self, class: &str, lines: impl Iterator<Item = (Spot, Spot)>) {
        self.parts(class, lines.map(|(from, to)| [from, to]));
    }

    /// Draws a line through points. A single point becomes a dot.
    pub fn path(&mut self, class: &str, points: &[Spot]) {
        self.parts(class, std::iter::once(points));
    }

    /// Draws one line in parts, with gaps between them.
    pub fn parts(&mut self, class: &str, parts: impl Iterator<Item = impl AsRef<[Spot]>>) {
        let mut way = String::new();
        for part in parts {
            walk(&mut way, part.as_ref());
        }
        if !way.is_empty() {
            let _ = write!(self.svg, "<path class=\"{class}\" d=\"{way}\"/>");
        }
    }

    /// Draws a rectangle with a hint that shows when it is pointed at.
    pub fn rect(&mut self, class: &str, from: Spot, size: Spot, hint: &str) {
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

    /// Draws an arrow head that points in direction `way`, a step such as (-1, 0), with its tip at `tip`.
    pub fn arrow(&mut self, class: &str, tip: Spot, way: Spot, hint: &str) {
        const LONG: f64 = 6.5;
        const WIDE: f64 = 4.5;
        let back = (tip.0 - way.0 * LONG, tip.1 - way.1 * LONG);
        let side = (way.1 * WIDE, way.0 * WIDE);
        let _ = write!(
            self.svg,
            "<path class=\"{class}\" d=\"M{} {}L{} {}L{} {}z\"",
            place(tip.0),
            place(tip.1),
            place(back.0 + side.0),
            place(back.1 + side.1),
            place(back.0 - side.0),
            place(back.1 - side.1)
        );
        self.close("path", hint);
    }

    /// Draws a mark with the shape of a series.
    pub fn mark(&mut self, class: &str, shape: usize, at: Spot, hint: &str) {
        let _ = write!(
            self.svg,
            "<path class=\"{class}\" d=\"{}\"",
            shape_path(shape, at, 4.0)
        );
        self.close("path", hint);
    }

    /// Draws the hidden chart of this name at the same position.
    pub fn again(&mut self, name: &str) {
        let _ = write!(self.svg, "<use href=\"#{}\"/>", escape(name));
    }

    /// Draws a text.
    pub fn text(&mut self, class: &str, at: Spot, anchor: Anchor, words: &str) {
        let _ = write!(
            self.svg,
            "<text class=\"{class}{}\" x=\"{}\" y=\"{}\">{}</text>",
            anchor.class(),
            place(at.0),
            place(at.1),
            escape(words)
        );
    }

    /// Draws several texts of one class.
    pub fn texts(
        &mut self,
        class: &str,
        anchor: Anchor,
        words: impl Iterator<Item = (Spot, String)>,
    ) {
        let mut inner = String::new();
        for (at, words) in words {
            let (x, y, words) = (place(at.0), place(at.1), escape(&words));
            let _ = write!(inner, "<text x=\"{x}\" y=\"{y}\">{words}</text>");
        }
        if !inner.is_empty() {
            let anchor = anchor.class();
            let _ = write!(self.svg, "<g class=\"{class}{anchor}\">{inner}</g>");
        }
    }

    /// Ends an element that has no children but perhaps a hint.
    fn close(&mut self, element: &str, hint: &str) {
        let _ = match hint {
            "" => write!(self.svg, "/>"),
            hint => write!(self.svg, "><title>{}</title></{element}>", escape(hint)),
        };
    }
}
