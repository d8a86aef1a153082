//! Netting: what obligations shrink to when cycles of debts are taken off.
//!
//! Along a cycle of debts everybody owes as much as it is owed, so all of them can shrink by the least. What is left has no
//! cycle. No obligation grows and none is new: nobody gets another debtor or creditor by it.

use std::collections::{BTreeMap, BTreeSet};

use primitives::PublicKey;

/// A debt: who owes, who is owed, how much.
pub type Debt = (PublicKey, PublicKey, u64);

/// What is left of each debt, in the order given. The same for the same debts in the same order.
pub fn net(debts: &[Debt]) -> Vec<u64> {
    let mut left: Vec<u64> = debts.iter().map(|(_, _, quantity)| *quantity).collect();
    // Each cycle ends at least one debt, so there are no more cycles than debts.
    while let Some(cycle) = find_cycle(debts, &left) {
        let least = cycle.iter().map(|index| left[*index]).min().unwrap_or(0);
        for index in cycle {
            left[index] -= least;
        }
    }
    left
}

/// The debts of a cycle, if there is one.
fn find_cycle(debts: &[Debt], left: &[u64]) -> Option<Vec<usize>> {
    let mut owed_by: BTreeMap<&PublicKey, Vec<usize>> = BTreeMap::new();
    for (index, (obligor, ..)) in debts.iter().enumerate() {
        if left[index] > 0 {
            owed_by.entry(obligor).or_default().push(index);
        }
    }
    let mut done: BTreeSet<&PublicKey> = BTreeSet::new();
    for start in owed_by.keys() {
        // A walk along debts, back a step where all was tried.
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
