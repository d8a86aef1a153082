//! States that start a flow at a time of their own: their rows, and the starts.

pub(crate) mod starts;
pub(crate) mod table;
