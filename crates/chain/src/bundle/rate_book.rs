//! The rates that a node has heard of.

use std::collections::BTreeMap;

use super::SignedRates;
use crate::{ChainId, Params, Rejection};

/// Bundlers of one chain that are remembered at most; those with the greatest balances stay.
pub const BUNDLERS_MAX: usize = 64;

/// Rates are forgotten when they were said so long ago, seconds: bundlers say them again before.
pub const RATES_AGE_SECONDS: u32 = 600;

/// How often a bundler says its rates, seconds.
pub const RATES_EVERY_SECONDS: u32 = 60;

#[derive(Clone, Debug)]
struct Known {
    rates: SignedRates,
    balance: u64,
}

/// The bundlers of each chain, and what they ask. Bounded: a bundler without the means to bundle is not remembered, and of too many
/// those with the greatest balances are.
#[derive(Clone, Debug, Default)]
pub struct RateBook {
    known: BTreeMap<(ChainId, [u8; 32]), Known>,
}

impl RateBook {
    /// Takes rates whose signature was checked, of a chain that exists; `balance` is what the bundler has on the parent chain. Whether
    /// they are news that others should hear too. Rates that are out of date, of the future, or of somebody without means are refused.
    pub fn insert(
        &mut self,
        rates: SignedRates,
        balance: u64,
        now: u32,
        params: &Params,
    ) -> Result<bool, Rejection> {
        self.check(&rates, now, params)?;
        if balance < params.child_block_fee_per_transaction.max(1) {
            return Err(Rejection::new(
                "chain_rates.no_means",
                format!("{} has {balance} on the parent chain", rates.account()),
            ));
        }
        let key = (rates.child, rates.bundler);
        if let Some(known) = self.known.get(&key)
            && known.rates.time >= rates.time
        {
            return Ok(false);
        }
        self.known.insert(key, Known { rates, balance });
        let chain = (key.0, [0; 32])..=(key.0, [u8::MAX; 32]);
        if self.known.range(chain.clone()).count() > BUNDLERS_MAX {
            let of_chain = self.known.range(chain);
            let poorest = of_chain.min_by_key(|(_, known)| known.balance);
            if let Some(poorest) = poorest.map(|(key, _)| *key) {
                self.known.remove(&poorest);
                return Ok(poorest != key);
            }
        }
        Ok(true)
    }

    /// Whether rates are of now and new here: before their signature is checked.
    pub fn check(&self, rates: &SignedRates, now: u32, params: &Params) -> Result<(), Rejection> {
        let stale = |detail: String| Err(Rejection::new("chain_rates.stale", detail));
        if rates.time > now.saturating_add(params.clock_drift_seconds) {
            return stale(format!("said {} s ahead of now", rates.time - now));
        }
        let age = now.saturating_sub(rates.time);
        if age > RATES_AGE_SECONDS {
            return stale(format!("said {age} s ago"));
        }
        Ok(())
    }

    /// Whether just these rates, or later ones of the bundler, are known.
    #[must_use]
    pub fn knows(&self, rates: &SignedRates) -> bool {
        let known = self.known.get(&(rates.child, rates.bundler));
        known.is_some_and(|known| known.rates.time >= rates.time)
    }

    /// Forgets what was said too long ago.
    pub fn expire(&mut self, now: u32) {
        self.known
            .retain(|_, known| now.saturating_sub(known.rates.time) <= RATES_AGE_SECONDS);
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The rates of a chain, the cheapest first.
    #[must_use]
    pub fn of(&self, child: ChainId) -> Vec<&SignedRates> {
        let chain = (child, [0; 32])..=(child, [u8::MAX; 32]);
        let mut rates: Vec<_> = self
            .known
            .range(chain)
            .map(|(_, known)| &known.rates)
            .collect();
        rates.sort_by_key(|rates| (rates.rate, rates.bundler));
        rates
    }

    /// The keys of a chain's bundlers: for [`super::rank`].
    pub fn bundlers(&self, child: ChainId) -> impl Iterator<Item = [u8; 32]> {
        let chain = (child, [0; 32])..=(child, [u8::MAX; 32]);
        self.known.range(chain).map(|((_, bundler), _)| *bundler)
    }
}
