//! The balances that a block changed.

use std::collections::BTreeMap;

use crate::{AccountId, ChainId, MinorUnits};

/// A balance that a block changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The account.
    pub account: AccountId,
    /// The chain.
    pub chain: ChainId,
    /// The balance before the block.
    pub before: MinorUnits,
    /// The balance after the block.
    pub after: MinorUnits,
    /// The debit of the block's transactions. The block may also credit the account.
    pub debit: MinorUnits,
}

/// Returns whether the balances of each chain have the same sum before and after the block. Payments move tokens, and forgers and
/// bundlers earn the fees, so a block never creates or destroys tokens.
pub(super) fn conserves_supply(touched: &[Touched]) -> bool {
    let mut sums: BTreeMap<ChainId, (u128, u128)> = BTreeMap::new();
    for change in touched {
        let (before, after) = sums.entry(change.chain).or_default();
        *before += change.before.get_u128();
        *after += change.after.get_u128();
    }
    sums.values().all(|(before, after)| before == after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(chain: u8, before: u64, after: u64) -> Touched {
        Touched {
            account: AccountId([chain; 16]),
            chain: ChainId(chain),
            before: MinorUnits::new(before),
            after: MinorUnits::new(after),
            debit: MinorUnits::ZERO,
        }
    }

    #[test]
    fn sums_of_each_chain_must_stay_equal() {
        for (changes, conserved) in [
            (vec![], true),
            (vec![change(1, 5, 2), change(1, 0, 3)], true),
            (vec![change(1, u64::MAX, 0), change(1, 0, u64::MAX)], true),
            (vec![change(1, 5, 2), change(1, 0, 4)], false),
            (vec![change(1, 5, 2), change(1, 0, 2)], false),
            // Tokens of one chain do not replace those of another.
            (vec![change(1, 5, 2), change(2, 0, 3)], false),
        ] {
            assert_eq!(conserves_supply(&changes), conserved, "{changes:?}");
        }
    }
}
