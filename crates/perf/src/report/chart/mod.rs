//! Charts as SVG, without library, script or request. They take their colours from the page's style, so that they fit
//! light mode, dark mode and paper.
//!
//! All numbers given to them are finite. Text may be hostile and is escaped.

mod bars;
mod canvas;
mod columns;
mod intervals;
mod percentiles;
mod rows;
mod scale;
mod sequence;
mod series;
mod spark;
mod thin;
mod time;
mod way;

pub use bars::{Bar, bars};
pub use canvas::{clip, escape};
pub use columns::{Column, Columns, columns};
pub use intervals::{Axes, Curve, Dot, IntervalChart, Reference, intervals};
pub use percentiles::{Distribution, percentiles};
pub use rows::{Mark, Row, Rows, WORDS_MAX, rows};
pub use scale::is_geometric;
pub use sequence::{Sequence, sequences};
pub use series::SERIES_MAX;
pub use spark::{SparkCase, sparkcases, sparkline};
pub use time::{Band, Line, TimeChart, bands, time};
pub use way::shape_path;
