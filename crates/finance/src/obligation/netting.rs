//! Netting: reduces obligations by removing cycles of debts.
//!
//! Along a cycle of debts each party owes as much as it is owed, so every debt of the cycle can shrink by the smallest one.
//! The remaining debts have no cycle. No obligation grows and none is new, so no party gets another debtor or creditor.

use std::collections::{BTreeMap, BTreeSet};

use primitives::PublicKey;

/// A debt: the debtor, the creditor and the quantity.
pub type Debt = (PublicKey, PublicKey, u64);

/// Returns the remainder of each debt, in the order given. The result is deterministic for the same debts in the same
/// order.
pub fn net(debts: &[Debt]) -> Vec<u64> {
    let mut left: Vec<u64> = debts.iter().map(|(_, _, quantity)| *quantity).collect();
    // Each cycle removes at least one debt, so there are at most as many cycles as debts.
    while let Some(cycle) = find_cycle(debts, &left) {
        let least = cycle.iter().map(|index| left[*index]).min();
        let least = least.expect("a cycle has debts");
        for index in cycle {
            left[index] -= least;
        }
    }
    left
}

/// Returns the debts of a cycle, if there is one.
fn find_cycle(debts: &[Debt], left: &[u64]) -> Option<Vec<usize>> {
    let mut owed_by: BTreeMap<&PublicKey, Vec<usize>> = BTreeMap::new();
    for (index, (obligor, ..)) in debts.iter().enumerate() {
        if left[index] > 0 {
            owed_by.entry(obligor).or_default().push(index);
        }
    }
    let mut done: BTreeSet<&PublicKey> = BTreeSet::new();
    for start in owed_by.keys() {
        // Walks along debts depth-first, and backtracks at each dead end.
        let mut walk: Vec<(&PublicKey, usize)> = vec![(start, 0)];
        let mut path: Vec<usize> = Vec::new();
        while let Some((at, tried)) = walk.last_mut() {
            let next = owed_by.get(*at).and_then(|debts| debts.get(*tried));
            let Some(index) = next else {
                done.insert(*at);
                walk.pop();
                path.pop();
                continue;
            };
            *tried += 1;
            let to = &debts[*index].1;
            if done.contains(to) {
                continue;
            }
            path.push(*index);
            if let Some(position) = walk.iter().position(|(key, _)| *key == to) {
                return Some(path.split_off(position));
            }
            walk.push((to, 0));
        }
    }
    None
}
