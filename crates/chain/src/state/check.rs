//! The rules for a transaction, except for its sender's balance.

use super::{Fault, Overlay};
use crate::genesis::SUPPLY_MAX;
use crate::port::{Reads, Table};
use crate::transaction::{Body, Carried, Transaction};
use crate::{
    Anchor, BlockTimestamp, ChainId, Genesis, Height, MinorUnits, Minutes, Params, Rejection,
    Seconds,
};

/// The block that is to include a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockContext {
    /// Its time. For a future block, the clock's time.
    pub time: BlockTimestamp,
    /// Its height. For a future block, the height after the tip.
    pub height: Height,
}

/// Checks a transaction for a block after the tip: its form, times and anchor, and that no block includes it. Checks neither the
/// signature nor the sender's balance.
pub fn check_transaction<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    carried: &Carried,
    block: BlockContext,
) -> Result<(), Fault> {
    check_form(genesis, carried)?;
    check_times(&genesis.params, &carried.transaction, block.time)?;
    check_anchor(overlay, genesis, carried.transaction.anchor, block.height)?;
    if overlay.contains(&carried.id)? {
        let detail = format!("{} is already in a block", carried.id);
        return Err(Fault::InBlock(Rejection::new("chain_tx.duplicate", detail)));
    }
    Ok(())
}

/// Checks a transaction's own fields against the network's constants.
pub fn check_form(genesis: &Genesis, carried: &Carried) -> Result<(), Rejection> {
    let transaction = &carried.transaction;
    let params = &genesis.params;
    let no = |code, detail: String| Err(Rejection::new(code, detail));
    if genesis.chain(transaction.chain).is_none() {
        return no(
            "chain_tx.unknown_chain",
            format!("there is no chain {}", transaction.chain),
        );
    }
    let is_payment = matches!(transaction.body, Body::Payment { .. });
    if !is_payment && transaction.chain != ChainId::PARENT {
        return no(
            "chain_tx.unknown_chain",
            format!("chain {} has payments only", transaction.chain),
        );
    }
    let deadlines = Minutes::new(1)..=params.deadline_minutes_max;
    if !deadlines.contains(&transaction.deadline_minutes) {
        return no(
            "chain_tx.deadline",
            format!(
                "a deadline of {} minutes, expected 1 to {}",
                transaction.deadline_minutes, params.deadline_minutes_max
            ),
        );
    }
    let least = fee_min(params, transaction);
    if transaction.fee < least {
        return no(
            "chain_tx.fee",
            format!(
                "a fee of {}, the minimum is {}",
                transaction.fee.on(transaction.chain),
                least.on(transaction.chain)
            ),
        );
    }
    if transaction.debit().is_none_or(|debit| debit > SUPPLY_MAX) {
        return no(
            "chain_tx.amount",
            format!("amount and fee exceed {}", SUPPLY_MAX.on(transaction.chain)),
        );
    }
    match &transaction.body {
        Body::Payment {
            to,
            amount,
            message,
        } => {
            if transaction.fee.is_zero() && (amount.is_zero() || *to == carried.sender) {
                return no(
                    "chain_tx.free",
                    format!(
                        "no fee for {} to {to}, expected at least {}",
                        amount.on(transaction.chain),
                        MinorUnits::new(1).on(transaction.chain)
                    ),
                );
            }
            if amount.is_zero() && message.is_empty() {
                return no("chain_tx.amount", "amount 0 without a message".into());
            }
            if message.len() > params.message_bytes_max as usize {
                return no(
                    "chain_tx.message",
                    format!(
                        "a message of {} bytes, expected at most {}",
                        message.len(),
                        params.message_bytes_max
                    ),
                );
            }
        }
        Body::Lease { to, blocks } => {
            if *to == carried.sender {
                return no("chain_tx.lease", "the lessee is the sender".into());
            }
            if !(params.lease_blocks_min..=params.lease_blocks_max).contains(blocks) {
                return no(
                    "chain_tx.lease",
                    format!(
                        "a lease of {blocks} blocks, expected {} to {}",
                        params.lease_blocks_min, params.lease_blocks_max
                    ),
                );
            }
        }
        Body::ChildBlock { child, count, .. } => {
            if !child.is_child() || genesis.chain(*child).is_none() {
                return no(
                    "chain_tx.child_block",
                    format!("there is no child chain {child}"),
                );
            }
            if !(1..=params.child_transactions_max).contains(count) {
                return no(
                    "chain_tx.child_block",
                    format!(
                        "{count} transactions, expected 1 to {}",
                        params.child_transactions_max
                    ),
                );
            }
        }
    }
    Ok(())
}

/// Returns the minimum fee of a transaction in its chain's token. On child chains it is 0, because bundlers set their own
/// minimum.
#[must_use]
pub fn fee_min(params: &Params, transaction: &Transaction) -> MinorUnits {
    match transaction.body {
        // A fee beyond 64 bits is one that no account can pay.
        Body::ChildBlock { count, .. } => params
            .child_block_fee_per_transaction
            .checked_mul(u64::from(count))
            .unwrap_or(MinorUnits::MAX),
        _ if transaction.chain == ChainId::PARENT => params.parent_fee_min,
        _ => MinorUnits::ZERO,
    }
}

/// Checks whether a transaction may be in a block of this time.
pub fn check_times(
    params: &Params,
    transaction: &Transaction,
    time: BlockTimestamp,
) -> Result<(), Rejection> {
    if let Some(ahead) = transaction.time.since(time)
        && ahead > params.clock_drift_seconds
    {
        let detail = format!("its time is {ahead} s ahead");
        return Err(Rejection::new("chain_tx.from_future", detail));
    }
    if let Some(over) = time.since(transaction.expires())
        && over > Seconds::ZERO
    {
        let detail = format!("its deadline passed {over} s ago");
        return Err(Rejection::new("chain_tx.expired", detail));
    }
    Ok(())
}

/// Checks whether a transaction with this anchor may be in a block of this height on this branch.
pub fn check_anchor<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    anchor: Anchor,
    height: Height,
) -> Result<(), Fault> {
    if !anchor.is_deep(genesis.params.anchor_depth_min, height) {
        return Err(Fault::refused(
            "chain_tx.anchor_young",
            format!(
                "the anchor at height {} is too young for height {height}, expected at least {} blocks between",
                anchor.height, genesis.params.anchor_depth_min
            ),
        ));
    }
    let known = overlay
        .hash_at(anchor.height)?
        .is_some_and(|hash| Anchor::at(anchor.height, &hash) == anchor);
    if known {
        Ok(())
    } else {
        Err(Fault::refused(
            "chain_tx.anchor_unknown",
            format!("no block at height {} matches the anchor", anchor.height),
        ))
    }
}
