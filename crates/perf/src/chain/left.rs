//! Accepted payments that left the pool without a block: how many, and their place among the units of a stretch. Pure.

use std::collections::BTreeMap;

use super::result_input::ResultInput;
use crate::results::{Fault, Stretch};

/// Returns all of them by reason, including those of the warm-up.
pub(super) fn all_left(seen: &ResultInput<'_>) -> Vec<Fault> {
    left_since(seen, 0)
}

/// Returns those that were due while measuring, by reason.
#[must_use]
pub fn measured_left(seen: &ResultInput<'_>) -> Vec<Fault> {
    left_since(seen, seen.measured_ms.0)
}

fn left_since(seen: &ResultInput<'_>, from_ms: u64) -> Vec<Fault> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (place, reason) in &seen.audited.left {
        let accepted = seen.accepted.get(*place);
        if accepted.is_some_and(|accepted| accepted.due_ms >= from_ms) {
            *counts.entry(reason.as_str()).or_default() += 1;
        }
    }
    let fault = |(reason, count): (&str, u64)| Fault {
        code: reason.to_owned(),
        count: seen.of_all(count),
        message: format!("left the pool without a block: {reason}"),
    };
    counts.into_iter().map(fault).collect()
}

/// Counts payments that left as failed units. Each was a completed unit until now, because its unit ended when a node had accepted
/// it. The time until then stays among the latencies.
pub fn count_as_failed(stretch: &mut Stretch, left: Vec<Fault>) {
    for mut fault in left {
        // An estimate from a sample may be larger than the number of units.
        fault.count = fault.count.min(stretch.done);
        stretch.done -= fault.count;
        if fault.count > 0 {
            stretch.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::TxKey;
    use crate::chain::audit::Audited;
    use crate::chain::books::Accepted;
    use crate::chain::outcome::outcome;

    fn counts(faults: &[Fault]) -> Vec<(&str, u64)> {
        let faults = faults.iter();
        faults
            .map(|fault| (fault.code.as_str(), fault.count))
            .collect()
    }

    #[test]
    fn left_payments_are_scaled_and_split_at_the_warm_up() {
        // One payment is due in the warm-up, three while measuring.
        let due_ms: [u64; 4] = [100, 2_000, 3_000, 4_000];
        let accepted: Vec<Accepted> = (0u8..)
            .zip(due_ms)
            .map(|(byte, due_ms)| Accepted {
                key: TxKey([byte; 32]),
                due_ms,
                node: 0,
            })
            .collect();
        for (every, left, in_blocks, all, measured) in [
            (
                1,
                &[(2, "a"), (3, "b")][..],
                2,
                &[("a", 1), ("b", 1)][..],
                &[("a", 1), ("b", 1)][..],
            ),
            (1, &[(0, "a"), (3, "a")], 2, &[("a", 2)], &[("a", 1)]),
            (4, &[(0, "a"), (3, "a")], 8, &[("a", 8)], &[("a", 4)]),
            (4, &[], 16, &[], &[]),
        ] {
            let is_left = |place: &usize| left.iter().any(|one| one.0 == *place);
            let placed = (0..accepted.len()).filter(|place| !is_left(place));
            let audited = Audited {
                placed: placed.map(|place| (place, 1)).collect(),
                left: left
                    .iter()
                    .map(|(place, reason)| (*place, (*reason).to_owned()))
                    .collect(),
                ..Audited::default()
            };
            let seen = ResultInput {
                lines: &[],
                audited: &audited,
                accepted: &accepted,
                total: accepted.len() as u64 * every,
                chains: &[],
                measured_ms: (1_000, 5_000),
                began_s: 0,
                block_s: 5.0,
                processes: &[],
            };
            let found = outcome(&seen);
            assert_eq!(
                (found.accepted, found.in_blocks),
                (seen.total, in_blocks),
                "{every} {left:?}"
            );
            assert_eq!(counts(&found.left), all, "{every} {left:?}");
            assert_eq!(counts(&measured_left(&seen)), measured, "{every} {left:?}");
        }
    }

    #[test]
    fn a_payment_that_left_is_one_failed_unit() {
        for (left, done, failed) in [
            (&[][..], 10, 0),
            (&[3, 2], 5, 5),
            (&[10], 0, 10),
            // More than there are, by a sample.
            (&[8, 8, 8], 0, 10),
        ] {
            let mut stretch = Stretch {
                due: 10,
                done: 10,
                ..Stretch::default()
            };
            let fault = |count: &u64| Fault {
                code: "chain_pool.expired".to_owned(),
                count: *count,
                ..Fault::default()
            };
            count_as_failed(&mut stretch, left.iter().map(fault).collect());
            assert_eq!((stretch.done, stretch.failed()), (done, failed), "{left:?}");
            assert_eq!(stretch.due_units(), stretch.due, "{left:?}");
            assert!(stretch.faults.iter().all(|fault| fault.count > 0));
        }
    }
}
