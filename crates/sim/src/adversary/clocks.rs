//! Faults of clocks: one clock at a time is set forward or back, and right again after a while.

use crate::chance::Chance;
use crate::membership::{EXCHANGE, NODES, NOTARY, OTHER_NOTARY, is_notary};
use crate::planned_flow::WORK_US;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Offsets set on a notary's clock.
const OF_NOTARIES: [i64; 8] = [
    10 * SECOND_MS,
    -10 * SECOND_MS,
    10 * MINUTE_MS,
    -10 * MINUTE_MS,
    2 * DAY_MS,
    2 * DAY_MS,
    -2 * DAY_MS,
    -2 * DAY_MS,
];
/// Offsets set on the exchange's clock. They are small because a bank rightly refuses a swap that can be notarised for longer
/// than the bank allows.
const OF_EXCHANGE: [i64; 2] = [5 * SECOND_MS, -5 * SECOND_MS];
/// Offsets set on a bank's clock. The backward offset is shorter than a bank's time windows, because the notary rightly refuses a
/// window that has already ended when a slow clock creates it.
const OF_BANKS: [i64; 6] = [
    5 * SECOND_MS,
    -5 * SECOND_MS,
    -10 * SECOND_MS,
    10 * MINUTE_MS,
    60 * MINUTE_MS,
    2 * DAY_MS,
];

/// A wrong clock setting that is corrected after some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockFault {
    pub(crate) at_us: u64,
    pub(crate) node: usize,
    pub(crate) off_ms: i64,
    pub(crate) for_us: u64,
}

/// Draws the clock faults of a run, one after the other.
pub(crate) fn clock_faults(chance: &mut Chance) -> Vec<ClockFault> {
    let mut faults = Vec::new();
    let mut at_us = chance.between(0, 200_000);
    while at_us < WORK_US {
        let node = match chance.per_mille(500) {
            true => chance.one_of(&[NOTARY, NOTARY, OTHER_NOTARY]),
            false => chance.below(NODES),
        };
        let off_ms = match node {
            EXCHANGE => chance.one_of(&OF_EXCHANGE),
            _ if is_notary(node) => chance.one_of(&OF_NOTARIES),
            _ => chance.one_of(&OF_BANKS),
        };
        let for_us = chance.between(1_000, 900_000);
        faults.push(ClockFault {
            at_us,
            node,
            off_ms,
            for_us,
        });
        at_us += for_us + chance.between(1, 400_000);
    }
    faults
}
