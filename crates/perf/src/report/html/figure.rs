//! A chart with its caption and its legend. Legends are HTML, so that they wrap on a phone.

use super::frame::words;
use crate::report::chart::{SERIES_MAX, shape_path};

/// The symbol of a legend's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swatch {
    /// A line.
    Line(usize),
    /// A line with marks.
    Marked(usize),
    /// A mark alone.
    Mark(usize),
    /// A thin line, one of many.
    Faint(usize),
    /// Published elsewhere.
    Published(usize),
}

/// Returns a figure. `title` and `about` are plain text, `svg` is not.
pub fn figure(title: &str, about: &str, svg: &str, legend: &[(Swatch, String)]) -> String {
    let about = words(about, 240);
    let mut out = format!(
        "<figure><figcaption><b>{}</b>{about}</figcaption>{svg}",
        words(title, 120)
    );
    if !legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for (swatch, name) in legend {
            out.push_str(&format!("<li>{}{}</li>", drawn(*swatch), words(name, 60)));
        }
        out.push_str("</ul>");
    }
    out + "</figure>"
}

/// Width and height of a symbol.
pub(in crate::report) const SYMBOL: (f64, f64) = (26.0, 12.0);

fn drawn(swatch: Swatch) -> String {
    let (width, height) = SYMBOL;
    let inner = symbol(swatch);
    format!("<svg viewBox=\"0 0 {width} {height}\" aria-hidden=\"true\">{inner}</svg>")
}

/// Returns the symbol of a series as parts of an SVG, [`SYMBOL`] in size.
pub(in crate::report) fn symbol(swatch: Swatch) -> String {
    let mark = |class: String, shape| {
        let path = shape_path(shape, (13.0, 6.0), 3.6);
        format!("<path class=\"{class}\" d=\"{path}\"/>")
    };
    let line = |class: String| format!("<path class=\"{class}\" d=\"M1 6h24\"/>");
    match swatch {
        Swatch::Line(series) => line(format!("l s{}", series % SERIES_MAX)),
        Swatch::Faint(series) => line(format!("l w s{}", series % SERIES_MAX)),
        Swatch::Mark(series) => mark(format!("m s{}", series % SERIES_MAX), series),
        Swatch::Marked(series) => {
            let series = series % SERIES_MAX;
            line(format!("l s{series}")) + &mark(format!("m s{series}"), series)
        }
        Swatch::Published(shape) => line("l p".to_owned()) + &mark("q".to_owned(), shape + 1),
    }
}
