//! The knowledge of the API about a transaction and the blocks that carry it.

use api::chain::{
    BlockView, ChainStatus, PlacedTransaction, TransactionAnswer, TransactionState, codes,
};
use chain::ChainId;
use client::{ChainClient, ClientError};

/// Pages of parent transactions that are read to find a child block, and their rows. The node may give fewer rows.
const CHILD_BLOCK_PAGES: usize = 10;
const CHILD_BLOCK_ROWS: u32 = 1_000;

/// The answers of the API about a transaction and the blocks that carry it.
pub(super) struct Known {
    pub(super) answer: TransactionAnswer,
    /// The block that includes it.
    pub(super) block: Option<BlockView>,
    /// The child block that carries it.
    pub(super) child_block: Option<PlacedTransaction>,
    /// The present, in seconds since genesis, by the node's clock.
    pub(super) now: u32,
}

impl Known {
    /// Reads the blocks that carry a transaction.
    pub(super) async fn read(
        client: &ChainClient,
        answer: TransactionAnswer,
        status: ChainStatus,
    ) -> Result<Self, ClientError> {
        let mut known = Self {
            answer,
            block: None,
            child_block: None,
            now: status.now,
        };
        if known.answer.state != TransactionState::Confirmed {
            return Ok(known);
        }
        if let Some(hash) = &known.answer.block {
            known.block = unless_gone(client.block(hash, "none").await)?;
        }
        known.child_block = child_block(client, &known.answer).await?;
        Ok(known)
    }
}

/// Finds the child block that carries a transaction. A block has at most one for each chain.
async fn child_block(
    client: &ChainClient,
    answer: &TransactionAnswer,
) -> Result<Option<PlacedTransaction>, ClientError> {
    let (Some(transaction), Some(block)) = (&answer.transaction, &answer.block) else {
        return Ok(None);
    };
    let parent = ChainId::PARENT.0;
    if transaction.chain == parent {
        return Ok(None);
    }
    let mut after = None;
    for _ in 0..CHILD_BLOCK_PAGES {
        let after_text = after.as_deref();
        let page = client.block_transactions_of(block, parent, after_text, CHILD_BLOCK_ROWS);
        let Some(page) = unless_gone(page.await)? else {
            return Ok(None);
        };
        let mut rows = page.transactions.into_iter();
        let carries =
            |row: &PlacedTransaction| row.transaction.child_chain == Some(transaction.chain);
        let found = rows.find(carries);
        if found.is_some() || page.next.is_none() {
            return Ok(found);
        }
        after = page.next;
    }
    Ok(None)
}

/// Returns nothing if a block was rolled back or pruned since the transaction was read.
fn unless_gone<T>(answer: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    let gone = [codes::UNKNOWN_BLOCK.code, codes::PRUNED.code];
    match answer {
        Err(error) if gone.contains(&error.code()) => Ok(None),
        answer => answer.map(Some),
    }
}
