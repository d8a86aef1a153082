//! Totals of the fees that bundlers of this node have paid.

use crate::block::CarriedBlock;
use crate::core::Core;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::rows;
use crate::transaction::Body;
use crate::{AccountId, ChainId, MinorUnits};

/// Key prefix in `Meta`, followed by account and chain, for the fees that a local bundler has paid, in the parent token.
const SPENT: &[u8] = b"spent";

fn spent_key(account: &AccountId, child: ChainId) -> Vec<u8> {
    [SPENT, &account.0, &[child.0]].concat()
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the fees paid by a bundler's child blocks of a chain, in the parent token.
    pub(in crate::core) fn spent(
        &self,
        account: &AccountId,
        child: ChainId,
    ) -> Result<MinorUnits, StoreFailure> {
        let row = self.rows.get(Table::Meta, &spent_key(account, child))?;
        match row {
            Some(value) => rows::read_minor_units(&value),
            None => Ok(MinorUnits::ZERO),
        }
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
            let after = if joins {
                // A sum beyond 64 bits is above every limit.
                let sum = before.checked_add(transaction.fee);
                sum.unwrap_or(MinorUnits::MAX)
            } else {
                // Blocks that were applied before the bundler was added are not counted, so the sum may be short of them.
                let rest = before.checked_sub(transaction.fee);
                rest.unwrap_or(MinorUnits::ZERO)
            };
            let key = spent_key(&account, child);
            self.rows.put(Table::Meta, key, after.to_be_bytes());
        }
        Ok(())
    }
}
