//! A chart as a file of its own: with its title, its legend, its style and a background.

use std::fmt::Write;

use super::style::style;
use super::wrap::wrap;
use crate::report::chart::{clip, escape};
use crate::report::html::figure::{SYMBOL, Swatch, symbol};

/// The content around a chart.
#[derive(Clone, Debug, Default)]
pub struct ChartFile {
    /// For people who cannot see it, and the heading.
    pub title: String,
    /// A line below it.
    pub subtitle: String,
    /// The chart.
    pub svg: String,
    /// The symbols and names of its series.
    pub legend: Vec<(Swatch, String)>,
}

/// Width of a chart in its own units.
const CHART_WIDTH: f64 = 400.0;
const MARGIN: f64 = 16.0;
/// Pixels for each unit.
const ENLARGED: f64 = 1.5;
/// Letters of a heading, of a line and of a legend's name that fit the width.
const TITLE_LETTERS: usize = 52;
const LINE_LETTERS: usize = 70;
const NAME_LETTERS: usize = 62;
const TITLE_HEIGHT: f64 = 18.0;
const LINE_HEIGHT: f64 = 15.0;

/// Returns the file's text; `None` if `svg` is not a chart.
pub fn chart_file(file: &ChartFile) -> Option<String> {
    let (head, chart) = file.svg.strip_prefix("<svg viewBox=\"")?.split_once('"')?;
    let chart_height: f64 = head.rsplit(' ').next()?.parse().ok()?;
    let mut y = MARGIN;
    let mut body = String::new();
    let mut line = |class: &str, words: &str, x: f64, y: f64| {
        let words = escape(words);
        let _ = writeln!(
            body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>"
        );
    };
    for words in wrap(&file.title, TITLE_LETTERS) {
        line("h", &words, MARGIN, y + 11.0);
        y += TITLE_HEIGHT;
    }
    for words in wrap(&file.subtitle, LINE_LETTERS) {
        line("t n", &words, MARGIN, y + 9.0);
        y += LINE_HEIGHT;
    }
    y += 8.0;
    let chart_top = y;
    y += chart_height + 10.0;
    let mut symbols = Vec::new();
    for (swatch, name) in &file.legend {
        symbols.push((y, symbol(*swatch)));
        let x = MARGIN + SYMBOL.0 + 8.0;
        line("t k", &clip(name, NAME_LETTERS), x, y + 10.0);
        y += LINE_HEIGHT;
    }
    for (y, symbol) in symbols {
        let _ = writeln!(
            body,
            "<g transform=\"translate({MARGIN} {y})\">{symbol}</g>"
        );
    }
    let height = y + MARGIN - 4.0;
    let width = CHART_WIDTH + 2.0 * MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{}\" height=\"{}\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n<style>{}</style>\n<rect class=\"sheet\" width=\"{width}\" height=\"{height}\" \
         rx=\"6\"/>\n{body}<svg x=\"{MARGIN}\" y=\"{chart_top}\" width=\"{CHART_WIDTH}\" height=\"{chart_height}\" \
         overflow=\"visible\" viewBox=\"{head}\"{chart}\n</svg>\n",
        width * ENLARGED,
        (height * ENLARGED).round(),
        style(),
        title = escape(&file.title),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::{Rows, rows};

    #[test]
    fn a_chart_file_is_a_document_with_escaped_text() {
        let svg = rows(&Rows::default());
        let text = chart_file(&ChartFile {
            title: "Rate <now>".to_owned(),
            subtitle: "a & b".to_owned(),
            svg,
            legend: vec![(Swatch::Published(0), "theirs".to_owned())],
        });
        let text = text.expect("a chart");
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert_eq!(
            text.matches("<svg ").count(),
            text.matches("</svg>").count()
        );
        for part in ["Rate &lt;now&gt;", "a &amp; b", ">theirs<"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(chart_file(&ChartFile::default()), None);
    }
}
