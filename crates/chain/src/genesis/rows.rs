//! The rows that a new store begins with.

use super::Genesis;
use crate::port::{Table, WriteBatch};
use crate::state::rows;
use crate::{ChainId, Height};

/// Returns the rows of a genesis for an empty store.
#[must_use]
pub fn write_genesis(genesis: &Genesis) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(
        Table::Meta,
        rows::META_VERSION,
        rows::SCHEMA_VERSION.to_be_bytes(),
    );
    batch.put(Table::Meta, rows::META_GENESIS, genesis.to_bytes());
    batch.put(
        Table::Meta,
        rows::META_TIP,
        rows::tip_value(Height::GENESIS, &genesis.hash),
    );
    batch.put(
        Table::ByHash,
        genesis.hash.as_bytes(),
        Height::GENESIS.to_be_bytes(),
    );
    for ((account, chain), balance) in &genesis.balances {
        batch.put(
            Table::Balances,
            rows::balance_key(account, *chain),
            balance.to_be_bytes(),
        );
        if *chain == ChainId::PARENT {
            batch.put(
                Table::Held,
                rows::held_key(account, Height::GENESIS),
                balance.to_be_bytes(),
            );
        }
    }
    batch
}
