//! The numbers of units.

/// Numbers of units that each of several generators of a load has for itself in a stretch.
pub const UNITS_EACH: u64 = 1 << 36;
