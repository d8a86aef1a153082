//! What only the core knows: its pool, who forges and bundles here, whose turn is next.

use api::chain::{
    BundlerView, ForgerView, ForgingAccount, RateView, TransactionAnswer, TransactionState,
    UnconfirmedPage,
};
use chain::core::{BundlerFigures, Core};
use chain::state::{Fault, effective_tokens, recent_forgers};
use chain::{AccountId, Body, Carried, ChainId, TxId, pos};
use primitives::hex;

use super::shared::Store;
use super::views::transaction_view;

/// Forgers of so many of the last blocks are expected to forge again.
const RECENT_BLOCKS: usize = 1_000;
/// Transactions of the pool that one look goes through at most.
const LOOKED_MAX: usize = 20_000;

/// A transaction of the pool.
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

/// A page of the pool.
pub(super) fn unconfirmed(
    core: &Core<Store>,
    account: Option<AccountId>,
    chain: Option<ChainId>,
    after: Option<TxId>,
    limit: usize,
) -> UnconfirmedPage {
    let pool = core.pool();
    let chains: Vec<ChainId> = match chain {
        Some(chain) => vec![chain],
        None => core.genesis().chains.keys().copied().collect(),
    };
    let meets = |carried: &Carried| {
        let ours = account.is_none_or(|account| {
            let to = match &carried.transaction.body {
                Body::Payment { to, .. } | Body::Lease { to, .. } => Some(*to),
                Body::ChildBlock { .. } => None,
            };
            carried.sender == account || to == Some(account)
        });
        ours && after.is_none_or(|after| carried.id > after)
    };
    let mut found: Vec<_> = chains
        .into_iter()
        .flat_map(|chain| pool.all_of(chain, LOOKED_MAX))
        .filter(|carried| meets(carried))
        .collect();
    found.sort_unstable_by_key(|carried| carried.id);
    let more = found.len() > limit;
    found.truncate(limit);
    let figures = pool.figures();
    UnconfirmedPage {
        next: found
            .last()
            .filter(|_| more)
            .map(|last| last.id.to_string()),
        transactions: found.into_iter().map(|c| transaction_view(c)).collect(),
        count: figures.transactions as u64,
        bytes: figures.bytes as u64,
    }
}

/// Who forges here, the next one first.
pub(super) fn forging(core: &Core<Store>) -> Result<Vec<ForgingAccount>, Fault> {
    let mut accounts = Vec::new();
    for forger in core.forging() {
        accounts.push(ForgingAccount {
            account: forger.account.to_string(),
            key: hex::encode(&forger.key),
            effective_tokens: effective_tokens(core.overlay(), core.genesis(), &forger.account)?,
            hit_time: forger.turn,
        });
    }
    accounts.sort_by_key(|account| (account.hit_time.is_none(), account.hit_time));
    Ok(accounts)
}

/// Who is to forge the next block.
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
        found.map_or(0, |(_, tokens)| *tokens)
    };
    let views = turns.into_iter().take(limit).map(|turn| ForgerView {
        account: turn.account.to_string(),
        hit_time: turn.time,
        effective_tokens: tokens_of(&turn.forger),
        here: own.contains(&turn.forger),
    });
    Ok(views.collect())
}

/// A bundler, readable.
pub(super) fn bundler_view(bundler: &BundlerFigures) -> BundlerView {
    BundlerView {
        account: bundler.account.to_string(),
        chain: bundler.child.0,
        rate_min: bundler.rules.rate_min,
        overpay_percent: bundler.rules.overpay_percent,
        total_fee_max: bundler.rules.total_fee_max,
    }
}

/// What bundlers of the whole network ask, the cheapest of each chain first.
pub(super) fn rates(core: &Core<Store>) -> Vec<RateView> {
    let children = core.genesis().chains.keys();
    let rates = children.flat_map(|child| core.rates(*child));
    rates
        .map(|rates| RateView {
            account: rates.account().to_string(),
            chain: rates.child.0,
            rate: rates.rate,
            time: rates.time,
        })
        .collect()
}
