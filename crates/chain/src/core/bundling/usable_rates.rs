//! The rates that count, and the least fee that follows from them.

use super::rates::UsableRate;
use crate::bundle::SignedRates;
use crate::core::Core;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::effective_tokens;
use crate::{Carried, ChainId, MinorUnits, Percent};

impl<R: Reads<Table>> Core<R> {
    /// Returns the known rates of a chain's bundlers, the cheapest first.
    #[must_use]
    pub fn rates(&self, child: ChainId) -> Vec<&SignedRates> {
        self.rates.book.of(child)
    }

    /// Returns the rates of a chain that count, the cheapest first: those of bundlers that have bundled at their rate in the last
    /// [`PROVEN_BLOCKS`](crate::bundle::PROVEN_BLOCKS) blocks, or have enough stake to forge. An announcement costs nothing, so other announcements are not
    /// offers.
    pub fn usable_rates(&self, child: ChainId) -> Result<Vec<UsableRate>, StoreFailure> {
        let mut usable = Vec::new();
        for rates in self.rates.book.of(child) {
            let bundler = rates.account();
            let proven = self.is_proven(rates);
            if proven || !effective_tokens(&self.rows, &self.genesis, &bundler)?.is_zero() {
                let rate = rates.rate;
                usable.push(UsableRate {
                    bundler,
                    rate,
                    proven,
                });
            }
        }
        Ok(usable)
    }

    /// Returns whether a bundler has recently bundled at the rate that it announces.
    #[must_use]
    pub fn is_proven(&self, rates: &SignedRates) -> bool {
        let fee = rates.fee(&self.genesis.params, self.parent_decimals());
        self.rates
            .record
            .is_proven(rates.child, &rates.account(), fee)
    }

    fn parent_decimals(&self) -> u8 {
        let parent = self.genesis.chain(ChainId::PARENT);
        parent.map_or(0, |parent| parent.decimals)
    }

    /// Returns the lowest fee that a usable bundler accepts for a transaction of a chain. `None` if no such bundler is known.
    pub(in crate::core) fn fee_floor(
        &mut self,
        child: ChainId,
    ) -> Result<Option<MinorUnits>, StoreFailure> {
        if let Some(known) = self.rates.floors.get(&child) {
            return Ok(*known);
        }
        let cheapest = self
            .usable_rates(child)?
            .into_iter()
            .map(|one| one.rate)
            .min();
        let decimals = self.parent_decimals();
        let floor = cheapest.map(|rate| rate.fee(Percent::ZERO, &self.genesis.params, decimals));
        self.rates.floors.insert(child, floor);
        Ok(floor)
    }

    /// Returns the least fee of a transaction of a child chain that this node passes on. It is one unit while no bundler is known, and
    /// at least one unit at any rate: a bundler that asks nothing must not let others fill the pools for free.
    pub(in crate::core) fn fee_least(
        &mut self,
        child: ChainId,
    ) -> Result<MinorUnits, StoreFailure> {
        let unit = MinorUnits::new(1);
        Ok(self.fee_floor(child)?.unwrap_or(unit).max(unit))
    }

    /// Returns whether a bundler of this node carries a transaction, regardless of the network's rates.
    pub(in crate::core) fn is_carried_here(&self, carried: &Carried) -> bool {
        let (params, decimals) = (&self.genesis.params, self.parent_decimals());
        self.bundling.keyed().any(|(_, bundler)| {
            let rules = &bundler.rules;
            let fee = rules.rate_min.fee(rules.overpay_percent, params, decimals);
            rules.child == carried.transaction.chain
                && carried.transaction.fee >= fee
                && rules.allow(carried)
        })
    }
}
