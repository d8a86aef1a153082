//! The coins in memory: how they are added, held for a flow or transaction, and evicted if there is no room.

use ledger::{StateRef, TokenId};

use super::Selection;
use super::holdings::{HeldCoin, Holder, Slot};
use super::pool::Pool;
use super::purse::Purse;
use crate::{CoinPosition, CoinRow};

/// Maximum number of purses examined to find an idle one that can be forgotten.
const FORGET_LOOKS_MAX: usize = 16;

impl Selection {
    /// Opens the purse of a token if there is none, and makes it the last one to be forgotten.
    pub(super) fn open_purse(&mut self, token: TokenId) {
        let used = self.tickets;
        if let Some(purse) = self.purses.get_mut(&token) {
            self.recency.remove(&purse.used);
            purse.used = used;
        } else {
            if self.purses.len() >= self.options.tokens_max {
                self.forget_idle(token);
            }
            self.purses.insert(token, Purse::new(used));
        }
        self.recency.insert(used, token);
    }

    /// Handles a coin that the view shows or a transaction produces.
    pub(super) fn meet(&mut self, token: TokenId, row: CoinRow) {
        let reference = row.reference();
        if row.coin.state.encumbrance.is_some() || self.quarantined.contains(&reference) {
            return;
        }
        match self.holdings.get_mut(&reference) {
            None => self.take_in(token, Box::new(row)),
            Some(Slot::Held { coin, .. }) if coin.is_none() => {
                if let Some(purse) = self.purses.get_mut(&token) {
                    let pool = purse.pool_of(&row.coin.state.notary);
                    purse.pools[pool].hold(row.quantity);
                    let row = Box::new(row);
                    *coin = Some(HeldCoin { token, pool, row });
                }
            }
            Some(_) => {}
        }
        self.touch(token);
    }

    /// Adds a free coin. If there is no room, the smallest coin of its pool is left out of memory, which may be this one.
    pub(super) fn take_in(&mut self, token: TokenId, row: Box<CoinRow>) {
        let position = row.position();
        let Some(purse) = self.purses.get_mut(&token) else {
            return;
        };
        let at = purse.pool_of(&row.coin.state.notary);
        while let Some(pool) = self.pool(token, at)
            && self.is_full(pool)
        {
            let smallest = pool.smallest().filter(|smallest| *smallest < position);
            if self.free_bytes >= self.options.coins_bytes_max && self.forget_idle(token) {
                continue;
            }
            if let Some(row) = smallest.and_then(|out| self.remove_free(token, at, &out)) {
                self.holdings.remove(&row.reference());
            }
            if let Some(purse) = self.purses.get_mut(&token) {
                // Without a smaller coin, the new one is left out.
                purse.pools[at].raise(smallest.unwrap_or(position));
            }
            if smallest.is_none() {
                return;
            }
        }
        if let Some(purse) = self.purses.get_mut(&token) {
            self.free_bytes += row.weight_bytes();
            self.holdings.free(row.reference(), token, at, position);
            purse.insert_free(at, row);
        }
    }

    fn pool(&self, token: TokenId, at: usize) -> Option<&Pool> {
        self.purses.get(&token)?.pools.get(at)
    }

    /// Removes a free coin from its pool. The caller changes the state's slot in the holdings.
    pub(super) fn remove_free(
        &mut self,
        token: TokenId,
        pool: usize,
        position: &CoinPosition,
    ) -> Option<Box<CoinRow>> {
        let row = self.purses.get_mut(&token)?.remove_free(pool, position)?;
        self.free_bytes -= row.weight_bytes();
        Some(row)
    }

    /// Records that a coin that was free is held.
    pub(super) fn hold(
        &mut self,
        by: Holder,
        token: TokenId,
        pool: usize,
        reference: StateRef,
        row: Option<Box<CoinRow>>,
    ) {
        let coin = row.map(|row| HeldCoin { token, pool, row });
        if let Some(coin) = &coin
            && let Some(purse) = self.purses.get_mut(&token)
        {
            purse.pools[pool].hold(coin.row.quantity);
        }
        self.holdings.hold(reference, by, coin);
    }

    /// Tells whether a further coin requires an eviction. Even if the memory of all tokens is full, each pool may hold the
    /// coins of one selection.
    pub(super) fn is_full(&self, pool: &Pool) -> bool {
        let options = &self.options;
        pool.free_count() >= options.coins_per_pool_max
            || (self.free_bytes >= options.coins_bytes_max
                && pool.free_count() >= options.states_per_selection_max)
    }

    /// Forgets the purse that was used longest ago and is idle. Its coins are in the view.
    fn forget_idle(&mut self, beside: TokenId) -> bool {
        let idle = self
            .recency
            .iter()
            .take(FORGET_LOOKS_MAX)
            .find(|(_, token)| {
                **token != beside && self.purses.get(*token).is_some_and(Purse::is_idle)
            })
            .map(|(used, token)| (*used, *token));
        let Some((used, token)) = idle else {
            return false;
        };
        self.recency.remove(&used);
        let Some(mut purse) = self.purses.remove(&token) else {
            return false;
        };
        self.free_bytes -= purse.free_bytes;
        for row in purse.pools.iter_mut().flat_map(|pool| pool.drain()) {
            self.holdings.remove(&row.reference());
        }
        true
    }
}
