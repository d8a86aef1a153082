//! Blocks and transactions as the API shows them.

use api::chain::{
    BlockView, ChainIds, ChildBlockView, ChildCount, TransactionKind, TransactionView,
};
use chain::block::CarriedBlock;
use chain::state::rows::HeaderRow;
use chain::{Body, Carried, ChainId, Genesis, Height, Transaction, TxId};
use primitives::hex;

/// A transaction, readable.
pub(super) fn transaction_view(carried: &Carried) -> TransactionView {
    view_of(&carried.transaction, &carried.id)
}

/// A transaction with its id, readable.
pub(super) fn view_of(transaction: &Transaction, id: &TxId) -> TransactionView {
    let mut view = TransactionView {
        id: id.to_string(),
        chain: transaction.chain.0,
        kind: TransactionKind::Payment,
        sender: transaction.sender_account().to_string(),
        sender_key: hex::encode(&transaction.sender),
        recipient: None,
        amount: None,
        fee: transaction.fee.get(),
        time: transaction.time.get(),
        expires: transaction.expires().get(),
        anchor_height: transaction.anchor.height.get(),
        anchor_id: hex::encode(&transaction.anchor.id),
        message: None,
        message_hex: None,
        lease_blocks: None,
        child_chain: None,
        child_count: None,
        signature: hex::encode(&transaction.signature),
    };
    match &transaction.body {
        Body::Payment {
            to,
            amount,
            message,
        } => {
            view.recipient = Some(to.to_string());
            view.amount = Some(amount.get());
            match std::str::from_utf8(message) {
                Ok("") => {}
                Ok(text) => view.message = Some(text.to_owned()),
                Err(_) => view.message_hex = Some(hex::encode(message)),
            }
        }
        Body::Lease { to, blocks } => {
            view.kind = TransactionKind::Lease;
            view.recipient = Some(to.to_string());
            view.lease_blocks = Some(*blocks);
        }
        Body::ChildBlock { child, count, .. } => {
            view.kind = TransactionKind::ChildBlock;
            view.child_chain = Some(child.0);
            view.child_count = Some(*count);
        }
    }
    view
}

/// Returns the number of blocks above the block at a height.
pub(super) fn confirmations(tip: Height, height: Height) -> u32 {
    // After a rollback between two reads, the block may be above the tip that was read. It then has no confirmations.
    tip.blocks_since(height).unwrap_or(0)
}

/// A block without its body.
pub(super) fn block_view(row: &HeaderRow, genesis: &Genesis, tip: Height) -> BlockView {
    let header = &row.header;
    BlockView {
        height: header.height.get(),
        hash: row.hash.to_string(),
        previous: header.previous.to_string(),
        time: header.time.get(),
        // A genesis at the end of time is a mistake, and this is only shown.
        time_ms: genesis
            .time_ms
            .saturating_add(header.time.chain_time().as_ms()),
        forger: header.forger_account().to_string(),
        forger_key: hex::encode(&header.forger),
        generation: header.generation.to_string(),
        base_target: header.base_target.get(),
        cumulative_difficulty: header.difficulty.to_string(),
        parent_count: header.parent_count,
        child_count: header.child_count,
        body_bytes: header.body_bytes,
        confirmations: confirmations(tip, header.height),
        fees: row.fees.get(),
        children: row
            .children
            .iter()
            .map(|(chain, count)| ChildCount {
                chain: chain.0,
                count: *count,
            })
            .collect(),
        transaction_ids: None,
        child_blocks: None,
        transactions: None,
    }
}

/// The child blocks of a block.
pub(super) fn child_blocks(block: &CarriedBlock) -> Vec<ChildBlockView> {
    let entries = block.body.iter().filter_map(|entry| {
        let carried = &entry.transaction;
        let Body::ChildBlock { child, count, .. } = carried.transaction.body else {
            return None;
        };
        Some(ChildBlockView {
            id: carried.id.to_string(),
            chain: child.0,
            count,
            bundler: carried.sender.to_string(),
            fee: carried.transaction.fee.get(),
        })
    });
    entries.collect()
}

/// The ids of a block's transactions by chain, child blocks apart.
pub(super) fn ids_by_chain(block: &CarriedBlock) -> Vec<ChainIds> {
    let mut parents = ChainIds {
        chain: ChainId::PARENT.0,
        ids: Vec::new(),
    };
    let mut all = Vec::new();
    for entry in &block.body {
        match entry.transaction.transaction.body {
            Body::ChildBlock { child, .. } => all.push(ChainIds {
                chain: child.0,
                ids: entry.children.iter().map(|c| c.id.to_string()).collect(),
            }),
            _ => parents.ids.push(entry.transaction.id.to_string()),
        }
    }
    if !parents.ids.is_empty() {
        all.push(parents);
    }
    all.sort_by_key(|ids| ids.chain);
    all
}
