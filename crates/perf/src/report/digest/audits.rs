//! What the audits of a scenario checked, in words.

use crate::report::figures::figure;
use crate::results::{Scenario, Stretch};

/// Returns the number of checked transactions next to that of the measured units: `24,310 transactions checked, 24,000 units measured`.
///
/// An audit also checks the transactions of preparation and warm-up, and a unit may have several. With fewer transactions than units, the
/// audit has read a sample of them, or the work makes none.
pub fn audited(scenario: &Scenario) -> String {
    let points = scenario.points.iter();
    let audits = points.clone().flat_map(|point| &point.audits);
    // Clipped, since a report that was read from a file may hold any numbers.
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0u64, u64::saturating_add);
    let transactions = sum(&mut audits.map(|audit| audit.transactions));
    let stretches = points.flat_map(|point| &point.stretches);
    let units = sum(&mut stretches.map(|stretch: &Stretch| stretch.done));
    let checked = match transactions {
        0 => "no transaction to check".to_owned(),
        some if some < units => format!("a sample of {} transactions checked", figure(some as f64)),
        all => format!("{} transactions checked", figure(all as f64)),
    };
    format!("{checked}, {} units measured", figure(units as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AuditResult, Point};

    #[test]
    fn checked_transactions_stand_next_to_measured_units() {
        for (transactions, done, expected) in [
            (
                &[1_200, 900][..],
                1_000,
                "2,100 transactions checked, 2,000 units measured",
            ),
            (
                &[400],
                1_000,
                "a sample of 400 transactions checked, 2,000 units measured",
            ),
            (&[0], 1_000, "no transaction to check, 2,000 units measured"),
        ] {
            let audit = |transactions: &u64| AuditResult {
                clean: true,
                transactions: *transactions,
                ..AuditResult::default()
            };
            let stretch = Stretch {
                done,
                ..Stretch::default()
            };
            let scenario = Scenario {
                points: vec![Point {
                    stretches: vec![stretch; 2],
                    audits: transactions.iter().map(audit).collect(),
                    ..Point::default()
                }],
                ..Scenario::default()
            };
            assert_eq!(audited(&scenario), expected);
        }
    }
}
