//! The observations that a result is computed from.

use super::Chain;
use super::audit::Audited;
use super::books::Accepted;
use super::line::Line;
use crate::results::Process;

/// The input of a result. Times are milliseconds since the scenario began.
pub struct ResultInput<'a> {
    /// Each node's observed main chain.
    pub lines: &'a [Line],
    /// The audit's result.
    pub audited: &'a Audited,
    /// The accepted payments that the books have kept, by key.
    pub accepted: &'a [Accepted],
    /// The number of all accepted payments.
    pub total: u64,
    /// The chains.
    pub chains: &'a [Chain],
    /// The begin and the end of the measurement, milliseconds since the scenario began.
    pub measured_ms: (u64, u64),
    /// The time of the block before the first one, seconds since the chain's beginning.
    pub began_s: u64,
    /// The target time between blocks, seconds.
    pub block_s: f64,
    /// The nodes' processes.
    pub processes: &'a [Process],
}

impl ResultInput<'_> {
    /// Returns how many of all accepted payments this many of the kept ones stand for. The share of the kept ones is exact if
    /// all are kept, and never gives more than all.
    pub(super) fn of_all(&self, kept: u64) -> u64 {
        let all_kept = (self.accepted.len() as u128).max(1);
        let scaled = (u128::from(kept) * u128::from(self.total) + all_kept / 2) / all_kept;
        u64::try_from(scaled).expect("at most the total, since a payment has one fate")
    }
}
