//! The cash that a load has issued, as far as it knows.

use std::collections::BTreeMap;

/// The code of a refusal after which nothing was begun.
const BUSY: &str = "node.busy";

/// Faults of a stretch of load, by code, with one message each.
pub(super) type Faults = BTreeMap<String, (u64, String)>;

/// Issued amounts by token, and the amounts of issues whose outcome the load does not know.
#[derive(Debug, Default)]
pub(super) struct IssuedCash {
    issued: BTreeMap<String, u128>,
    in_doubt: BTreeMap<String, u128>,
}

impl IssuedCash {
    /// Adds a stretch of issues of `quantity` each: `done` ones were acknowledged. One that failed may have been made,
    /// for example when its connection broke before the answer. Only `node.busy` says that nothing was begun.
    pub(super) fn add(&mut self, token: &str, quantity: u64, done: usize, faults: &Faults) {
        let sum = |count: u128| u128::from(quantity) * count;
        add(&mut self.issued, token, sum(done as u128));
        add(&mut self.in_doubt, token, sum(u128::from(unknown(faults))));
    }

    /// Returns the amounts that must exist.
    pub(super) fn in_circulation(&self) -> &BTreeMap<String, u128> {
        &self.issued
    }

    /// Returns the further amounts that may exist.
    pub(super) fn in_doubt(&self) -> &BTreeMap<String, u128> {
        &self.in_doubt
    }
}

/// Returns the number of units that failed without a known outcome.
pub(super) fn unknown(faults: &Faults) -> u64 {
    let unknown = faults.iter().filter(|(code, _)| code.as_str() != BUSY);
    unknown.map(|(_, (count, _))| count).sum()
}

fn add(sums: &mut BTreeMap<String, u128>, token: &str, amount: u128) {
    if amount > 0 {
        let sum = sums.entry(token.to_owned()).or_default();
        *sum += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Books, NodeBooks, judge};

    /// Returns whether the audit accepts a bank with this balance after 100 issues of 10 each, some of which failed with this code.
    fn is_clean(held: u128, code: &str, failed: u64) -> bool {
        let faults = Faults::from([(code.to_owned(), (failed, String::new()))]);
        let mut cash = IssuedCash::default();
        cash.add("GBP", 10, 100, &faults);
        let sums = BTreeMap::from([("GBP".to_owned(), held)]);
        let books = Books {
            nodes: vec![NodeBooks {
                balances: sums.clone(),
                sums,
                ..NodeBooks::default()
            }],
            in_circulation: cash.in_circulation().clone(),
            in_doubt: cash.in_doubt().clone(),
            whole: true,
            ..Books::default()
        };
        judge(&books).is_clean()
    }

    #[test]
    fn lost_starts_may_have_issued_and_refused_ones_may_not() {
        const LOST: &str = "client.connection_lost";
        for (held, code, failed, expected) in [
            (1_000, LOST, 0, true),
            (1_010, LOST, 0, false),
            (1_000, LOST, 3, true),
            (1_010, LOST, 3, true),
            (1_030, LOST, 3, true),
            (1_040, LOST, 3, false),
            (990, LOST, 3, false),
            (1_000, BUSY, 3, true),
            (1_010, BUSY, 3, false),
        ] {
            let found = is_clean(held, code, failed);
            assert_eq!(found, expected, "{held} held, {failed} with {code}");
        }
    }
}
