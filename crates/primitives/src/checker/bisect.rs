//! Finds the bad signatures of a batch without checking every good one alone.

use super::ed25519::{self, Prepared};

/// Maximum size of a part with a bad signature whose signatures are checked one by one. Halving it further would cost more.
const KNOWN_BAD_SINGLES_MAX: usize = 4;

/// Budget of the equations, in signatures for each signature of the batch. One bad signature takes less than three. With many,
/// single checks are cheaper: a peer that sends only bad signatures costs at most this much more.
const BUDGET: usize = 3;

/// Decides each signature, and writes the result to its index in `verdicts`.
pub(super) fn settle(batch: &[(usize, Prepared)], verdicts: &mut [bool]) {
    let mut budget = batch.len() * BUDGET;
    narrow(batch, verdicts, &mut budget, false);
}

/// Decides the signatures of a part. `known_bad` tells that the part contains an invalid one. Returns whether all are valid.
fn narrow(
    part: &[(usize, Prepared)],
    verdicts: &mut [bool],
    budget: &mut usize,
    known_bad: bool,
) -> bool {
    let singles_max = if known_bad { KNOWN_BAD_SINGLES_MAX } else { 1 };
    if part.len() <= singles_max || *budget < part.len() {
        for (at, prepared) in part {
            verdicts[*at] = prepared.holds();
        }
        return part.iter().all(|(at, _)| verdicts[*at]);
    }
    if !known_bad {
        *budget -= part.len();
        if ed25519::all_hold(part.iter().map(|(_, prepared)| prepared)) {
            for (at, _) in part {
                verdicts[*at] = true;
            }
            return true;
        }
    }
    let (left, right) = part.split_at(part.len() / 2);
    let left_holds = narrow(left, verdicts, budget, false);
    let right_holds = narrow(right, verdicts, budget, left_holds);
    left_holds && right_holds
}
