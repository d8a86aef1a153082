//! Views of the core's memory for the API: its pool, its forgers and bundlers, and the order of the next forgers.

use std::sync::Arc;

use api::chain::{
    BundlerView, ForgerView, ForgingAccount, RateView, TransactionAnswer, TransactionState,
    UnconfirmedPage,
};
use chain::core::{BundlerFigures, Core};
use chain::state::{Fault, effective_tokens, recent_forgers};
use chain::{AccountId, BlockTimestamp, Body, Carried, ChainId, MinorUnits, TxId, pos};
use primitives::hex;

use super::store::Store;
use super::views::transaction_view;

/// Number of last blocks whose forgers are expected to forge again.
const RECENT_BLOCKS: usize = 1_000;
/// Transactions of the pool that one look goes through at most.
const LOOKED_MAX: usize = 10_000;

/// A filter and a range of the pool's transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolRange {
    /// The sender or the recipient.
    pub(super) account: Option<AccountId>,
    pub(super) chain: Option<ChainId>,
    /// The range begins after this id.
    pub(super) after: Option<TxId>,
    pub(super) limit: usize,
}

/// Returns a transaction of the pool.
pub(super) fn unconfirmed_one(core: &Core<Store>, id: &TxId) -> Option<TransactionAnswer> {
    let carried = core.pool().get(id)?;
    Some(TransactionAnswer {
        id: id.to_string(),
        state: TransactionState::Unconfirmed,
        transaction: Some(transaction_view(carried)),
        bytes: Some(hex::encode(&carried.transaction.to_bytes())),
        height: None,
        block: None,
        offset: None,
        confirmations: None,
        reason: None,
        left_at: None,
    })
}

/// Returns a page of the pool, in the order of the ids. If few transactions match the filter, the page may end before it is full,
/// and the next page continues.
pub(super) fn unconfirmed(core: &Core<Store>, range: &PoolRange) -> UnconfirmedPage {
    let PoolRange {
        account,
        chain,
        after,
        limit,
    } = *range;
    let pool = core.pool();
    let (found, next) = page(pool.after(after), limit, |carried| {
        let to = match &carried.transaction.body {
            Body::Payment { to, .. } | Body::Lease { to, .. } => Some(*to),
            Body::ChildBlock { .. } => None,
        };
        chain.is_none_or(|chain| carried.transaction.chain == chain)
            && account.is_none_or(|account| carried.sender == account || to == Some(account))
    });
    let figures = pool.figures();
    UnconfirmedPage {
        next: next.map(|id| id.to_string()),
        transactions: found.into_iter().map(|c| transaction_view(c)).collect(),
        count: figures.transactions as u64,
        bytes: figures.bytes as u64,
    }
}

/// Returns the first matching transactions, at most `limit`, of a bounded number of examined ones. If there may be more, it also
/// returns the id after which the next page begins.
fn page<'a>(
    waiting: impl Iterator<Item = &'a Arc<Carried>>,
    limit: usize,
    meets: impl Fn(&Carried) -> bool,
) -> (Vec<&'a Arc<Carried>>, Option<TxId>) {
    let (mut found, mut last) = (Vec::new(), None);
    for (looked, carried) in waiting.enumerate() {
        if looked == LOOKED_MAX {
            return (found, last);
        }
        if meets(carried) {
            // A further transaction shows that another page follows.
            if found.len() == limit {
                return (found, last);
            }
            found.push(carried);
        }
        last = Some(carried.id);
    }
    (found, None)
}

/// Returns the local forgers, the next one first.
pub(super) fn forging(core: &Core<Store>) -> Result<Vec<ForgingAccount>, Fault> {
    let mut accounts = Vec::new();
    for forger in core.forging() {
        accounts.push(ForgingAccount {
            account: forger.account.to_string(),
            key: hex::encode(&forger.key),
            effective_tokens: effective_tokens(core.overlay(), core.genesis(), &forger.account)?
                .get(),
            hit_time: forger.turn.map(BlockTimestamp::get),
        });
    }
    accounts.sort_by_key(|account| (account.hit_time.is_none(), account.hit_time));
    Ok(accounts)
}

/// Returns the forgers that are expected next.
pub(super) fn forgers(core: &Core<Store>, limit: usize) -> Result<Vec<ForgerView>, Fault> {
    let own: Vec<[u8; 32]> = core.forging().iter().map(|forger| forger.key).collect();
    let mut keys = recent_forgers(core.overlay(), RECENT_BLOCKS, limit);
    for key in &own {
        if !keys.contains(key) {
            keys.push(*key);
        }
    }
    let mut candidates = Vec::with_capacity(keys.len());
    for key in keys {
        let account = AccountId::of_key(&key);
        let tokens = effective_tokens(core.overlay(), core.genesis(), &account)?;
        candidates.push((key, tokens));
    }
    let tip = core.overlay().tip();
    let turns = pos::next_forgers(tip.time, &tip.generation, tip.base_target, &candidates);
    let tokens_of = |key: &[u8; 32]| {
        let found = candidates.iter().find(|(candidate, _)| candidate == key);
        found.map_or(0, |(_, tokens)| tokens.get())
    };
    let views = turns.into_iter().take(limit).map(|turn| ForgerView {
        account: turn.account.to_string(),
        hit_time: turn.time.get(),
        effective_tokens: tokens_of(&turn.forger),
        here: own.contains(&turn.forger),
    });
    Ok(views.collect())
}

/// Returns the view of a bundler.
pub(super) fn bundler_view(bundler: &BundlerFigures) -> BundlerView {
    BundlerView {
        account: bundler.account.to_string(),
        chain: bundler.child.0,
        rate_min: bundler.rules.rate_min.get(),
        overpay_percent: bundler.rules.overpay_percent.get(),
        total_fee_max: bundler.rules.total_fee_max.map(MinorUnits::get),
    }
}

/// Returns the rates of all bundlers of the network. The cheapest rate of each chain comes first.
pub(super) fn rates(core: &Core<Store>) -> Result<Vec<RateView>, Fault> {
    let mut views = Vec::new();
    for child in core.genesis().chains.keys() {
        let usable = core.usable_rates(*child)?;
        for rates in core.rates(*child) {
            let account = rates.account();
            views.push(RateView {
                account: account.to_string(),
                chain: rates.child.0,
                rate: rates.rate.get(),
                time: rates.time.get(),
                proven: core.is_proven(rates),
                usable: usable.iter().any(|one| one.bundler == account),
            });
        }
    }
    Ok(views)
}

#[cfg(test)]
mod tests {
    use chain::{Anchor, Height, Minutes, Transaction};
    use primitives::Hash;

    use super::*;

    fn payments(count: u32) -> Vec<Arc<Carried>> {
        let one = |time| Transaction {
            chain: ChainId::PARENT,
            time: BlockTimestamp::new(time),
            deadline_minutes: Minutes::new(60),
            sender: [7; 32],
            fee: MinorUnits::new(1),
            anchor: Anchor::at(Height::GENESIS, &Hash::ZERO),
            body: Body::Payment {
                to: AccountId([1; 16]),
                amount: MinorUnits::new(1),
                message: Vec::new(),
            },
            signature: [0; 64],
        };
        let all = (0..count).map(|time| Arc::new(Carried::new(&Hash::ZERO, one(time))));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|carried| carried.id);
        all
    }

    /// Goes from page to page; the ids found, and how many pages there were.
    fn read_all(
        all: &[Arc<Carried>],
        limit: usize,
        meets: impl Fn(&Carried) -> bool,
    ) -> (Vec<TxId>, usize) {
        let (mut ids, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let rest = all
                .iter()
                .filter(|carried| after.is_none_or(|after| carried.id > after));
            let (found, next) = page(rest, limit, &meets);
            assert!(found.len() <= limit);
            ids.extend(found.iter().map(|carried| carried.id));
            pages += 1;
            if next.is_none() {
                return (ids, pages);
            }
            after = next;
        }
    }

    #[test]
    fn pages_reach_whatever_waits_and_each_looks_at_a_bounded_number() {
        let all = payments(LOOKED_MAX as u32 * 2 + 500);
        let ids = |from: usize| -> Vec<TxId> { all[from..].iter().map(|one| one.id).collect() };
        assert_eq!(read_all(&all, 1_000, |_| true), (ids(0), 21));
        let last = all.len() - 2;
        let rare = all[last].id;
        assert_eq!(read_all(&all, 10, |one| one.id >= rare), (ids(last), 3));
        assert_eq!(read_all(&all[..3], 3, |_| true).1, 1);
        assert_eq!(read_all(&[], 3, |_| true), (vec![], 1));
        assert_eq!(read_all(&all[..6], 3, |_| true).1, 2);
        assert_eq!(read_all(&all[..6], 1, |one| one.id == all[0].id).1, 1);
    }
}
