//! Sums of times in milliseconds.

/// Adds a delay to a time. A deadline beyond the end of time never comes.
pub(crate) fn later(time_ms: u64, delay_ms: u64) -> u64 {
    time_ms.saturating_add(delay_ms)
}

/// Multiplies a delay. A delay that is too long to be counted never ends.
pub(crate) fn times(delay_ms: u64, factor: u64) -> u64 {
    delay_ms.saturating_mul(factor)
}
