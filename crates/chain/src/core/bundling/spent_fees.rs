//! Totals of the fees that bundlers of this node have paid.

use crate::block::CarriedBlock;
use crate::core::Core;
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::Body;
use crate::{AccountId, ChainId};

/// Key prefix in `Meta`, followed by account and chain, for the fees that a local bundler has paid, in minor units of the parent
/// token.
const SPENT: &[u8] = b"spent";

fn spent_key(account: &AccountId, child: ChainId) -> Vec<u8> {
    [SPENT, &account.0, &[child.0]].concat()
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the fees paid by a bundler's child blocks of a chain, in minor units of the parent token.
    pub(in crate::core) fn spent(
        &self,
        account: &AccountId,
        child: ChainId,
    ) -> Result<u64, StoreFailure> {
        let row = self.rows.get(Table::Meta, &spent_key(account, child))?;
        row.map_or(Ok(0), |value| crate::state::rows::read_u64(&value))
    }

    /// Adds the fees that local bundlers pay in a block that joins, or subtracts those of a block that is rolled back.
    pub(in crate::core) fn count_spent(
        &mut self,
        block: &CarriedBlock,
        joins: bool,
    ) -> Result<(), StoreFailure> {
        if self.bundling.bundlers.is_empty() {
            return Ok(());
        }
        for entry in &block.body {
            let transaction = &entry.transaction.transaction;
            let Body::ChildBlock { child, .. } = transaction.body else {
                continue;
            };
            if !self
                .bundling
                .bundlers
                .contains_key(&(transaction.sender, child))
            {
                continue;
            }
            let account = entry.transaction.sender;
            let before = self.spent(&account, child)?;
            // Blocks that were applied before the bundler was added are not counted, so the sum may be short of them.
            let after = if joins {
                before.saturating_add(transaction.fee)
            } else {
                before.saturating_sub(transaction.fee)
            };
            let key = spent_key(&account, child);
            self.rows.put(Table::Meta, key, after.to_be_bytes());
        }
        Ok(())
    }
}
