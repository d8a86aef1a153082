//! The bundlers' rates that a node has received.

use std::collections::BTreeMap;

use super::SignedRates;
use crate::{BlockTimestamp, ChainId, MinorUnits, Params, Rejection, Seconds};

/// Maximum number of bundlers of one chain that are kept. Those with the largest balances stay.
pub const BUNDLERS_MAX: usize = 64;

/// Age after which rates are forgotten. Bundlers announce them again before that.
pub const RATES_AGE_MAX: Seconds = Seconds::new(600);

/// Interval at which a bundler announces its rates.
pub const RATES_INTERVAL: Seconds = Seconds::new(60);

#[derive(Clone, Debug)]
struct BundlerRates {
    rates: SignedRates,
    balance: MinorUnits,
}

/// The bundlers of each chain and their rates. The number is bounded: a bundler without the means to bundle is not kept, and
/// beyond the limit those with the largest balances are kept.
#[derive(Clone, Debug, Default)]
pub struct RateBook {
    known: BTreeMap<(ChainId, [u8; 32]), BundlerRates>,
}

impl RateBook {
    /// Adds rates of an existing chain whose signature was checked. `balance` is the bundler's balance on the parent chain.
    /// Returns whether the rates are new, so that they are gossiped on. Rejects rates that are out of date, ahead of the clock,
    /// or from a bundler without means.
    pub fn insert(
        &mut self,
        rates: SignedRates,
        balance: MinorUnits,
        now: BlockTimestamp,
        params: &Params,
    ) -> Result<bool, Rejection> {
        self.check(&rates, now, params)?;
        let least = means_min(params);
        if balance < least {
            return Err(Rejection::new(
                "chain_rates.no_means",
                format!(
                    "{} has a balance of {}, expected at least {}",
                    rates.account(),
                    balance.on(ChainId::PARENT),
                    least.on(ChainId::PARENT)
                ),
            ));
        }
        if self.knows(&rates) || !self.would_keep(&rates, balance, params) {
            return Ok(false);
        }
        let key = (rates.child, rates.bundler);
        self.known.insert(key, BundlerRates { rates, balance });
        if self.of_chain(key.0).count() > BUNDLERS_MAX {
            let poorest = self.of_chain(key.0).min_by_key(|(_, known)| known.balance);
            if let Some(poorest) = poorest.map(|(key, _)| *key) {
                assert_ne!(poorest, key, "new rates stay");
                self.known.remove(&poorest);
            }
        }
        assert!(self.of_chain(key.0).count() <= BUNDLERS_MAX);
        Ok(true)
    }

    /// Returns whether valid rates of a bundler with this balance on the parent chain would stay in the book. Rates that would not
    /// stay cost no check of their signature.
    #[must_use]
    pub fn would_keep(&self, rates: &SignedRates, balance: MinorUnits, params: &Params) -> bool {
        if balance < means_min(params) {
            return false;
        }
        let key = (rates.child, rates.bundler);
        let others = || {
            let all = self.of_chain(rates.child);
            all.filter(move |(other, _)| **other != key)
        };
        // If bundlers are equally poor, the one with the lowest key leaves.
        others().count() < BUNDLERS_MAX
            || others().any(|(other, known)| (known.balance, *other) < (balance, key))
    }

    /// Returns the bundlers of a chain, in the order of their keys.
    fn of_chain(
        &self,
        child: ChainId,
    ) -> impl Iterator<Item = (&(ChainId, [u8; 32]), &BundlerRates)> {
        self.known.range((child, [0; 32])..=(child, [u8::MAX; 32]))
    }

    /// Checks the time of rates, before their signature is checked.
    pub fn check(
        &self,
        rates: &SignedRates,
        now: BlockTimestamp,
        params: &Params,
    ) -> Result<(), Rejection> {
        let stale = |detail: String| Err(Rejection::new("chain_rates.stale", detail));
        // Rates that are not later than now are 0 s ahead.
        let ahead = rates.time.since(now).unwrap_or(Seconds::ZERO);
        if ahead > params.clock_drift_seconds {
            return stale(format!("dated {ahead} s ahead of now"));
        }
        let age = age_of(rates, now);
        if age > RATES_AGE_MAX {
            return stale(format!("announced {age} s ago"));
        }
        Ok(())
    }

    /// Returns whether these rates or later ones of the bundler are known.
    #[must_use]
    pub fn knows(&self, rates: &SignedRates) -> bool {
        let known = self.known.get(&(rates.child, rates.bundler));
        known.is_some_and(|known| known.rates.time >= rates.time)
    }

    /// Forgets rates that are too old.
    pub fn expire(&mut self, now: BlockTimestamp) {
        self.known
            .retain(|_, known| age_of(&known.rates, now) <= RATES_AGE_MAX);
    }

    /// Returns whether no rates are known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the rates of a chain, the cheapest first.
    #[must_use]
    pub fn of(&self, child: ChainId) -> Vec<&SignedRates> {
        let mut rates: Vec<_> = self
            .of_chain(child)
            .map(|(_, known)| &known.rates)
            .collect();
        rates.sort_by_key(|rates| (rates.rate, rates.bundler));
        rates
    }

    /// Returns the keys of a chain's bundlers, for [`super::rank`].
    pub fn bundlers(&self, child: ChainId) -> impl Iterator<Item = [u8; 32]> {
        self.of_chain(child).map(|((_, bundler), _)| *bundler)
    }
}

/// Returns the minimum balance of a bundler on the parent chain: the fee for one carried transaction, and at least one unit.
fn means_min(params: &Params) -> MinorUnits {
    params
        .child_block_fee_per_transaction
        .max(MinorUnits::new(1))
}

/// Returns the age of rates.
fn age_of(rates: &SignedRates, now: BlockTimestamp) -> Seconds {
    // Rates from a clock that is ahead are new.
    now.since(rates.time).unwrap_or(Seconds::ZERO)
}
