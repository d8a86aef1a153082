//! The styles that tell the series of a chart apart.

/// Number of series with distinct colour, dash and mark. Further ones begin again with the first.
pub const SERIES_MAX: usize = 8;
