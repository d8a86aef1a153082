//! The chain's tables behind the storage port.

use primitives::storage::{self, Habit, TableSet};
pub use primitives::storage::{FailureKind, Reads, Row, StoreFailure};

/// Rows of the chain's tables that become durable together.
pub type WriteBatch = storage::WriteBatch<Table>;

/// A table of the chain's data. The number is part of the stored format and must never change. All numbers in keys are
/// big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Single rows: schema version, genesis, tip, and progress of pruning and repair. Also evidence of equivocation and local
    /// forged blocks.
    Meta = 0,
    /// `height u32` -> the encoded header, its hash and further data of the block (counts, bytes).
    Headers = 1,
    /// `height u32 | piece u16` -> a piece of the block's body.
    Bodies = 2,
    /// `block hash 32` -> height u32: blocks of the main chain.
    ByHash = 3,
    /// `transaction id 32` -> height u32 and place in the block.
    TxIndex = 4,
    /// `account 16 | !height u32` -> places of its transactions in that block. The newest block comes first.
    AccountTxs = 5,
    /// `account 16 | chain u8` -> balance u64.
    Balances = 6,
    /// `account 16 | !height u32` -> the account's balance on the parent chain at the end of that block, if it changed. The
    /// newest row comes first.
    Held = 7,
    /// `0 | lessor 16` -> its current lease and the next one. `1 | end u32 | lessor 16` -> nothing: marks a lease that ends at
    /// that height.
    Leases = 8,
    /// `lessee 16 | lessor 16` -> nothing: marks a lessor of the lessee. `lessee 16` -> number of lessors u32.
    Lessors = 9,
    /// `height u32` -> the rows that a rollback of the block restores.
    Undo = 10,
    /// `transaction id 32` -> a locally accepted transaction that is not yet in a block.
    Pool = 11,
    /// `transaction id 32` -> the time and reason of leaving the pool without a block. The oldest rows are deleted first.
    Left = 12,
    /// `time u32 | transaction id 32` -> nothing: the deletion order of the rows of `Left`.
    LeftOrder = 13,
    /// `block hash 32` -> an encoded side block, off the main chain.
    Side = 14,
}

impl TableSet for Table {
    const ALL: &'static [Self] = &[
        Table::Meta,
        Table::Headers,
        Table::Bodies,
        Table::ByHash,
        Table::TxIndex,
        Table::AccountTxs,
        Table::Balances,
        Table::Held,
        Table::Leases,
        Table::Lessors,
        Table::Undo,
        Table::Pool,
        Table::Left,
        Table::LeftOrder,
        Table::Side,
    ];

    const TITLE: &'static str = "tallystick chain store";

    fn number(self) -> u8 {
        self as u8
    }

    fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::Headers => "headers",
            Table::Bodies => "bodies",
            Table::ByHash => "by_hash",
            Table::TxIndex => "tx_index",
            Table::AccountTxs => "account_txs",
            Table::Balances => "balances",
            Table::Held => "held",
            Table::Leases => "leases",
            Table::Lessors => "lessors",
            Table::Undo => "undo",
            Table::Pool => "pool",
            Table::Left => "left",
            Table::LeftOrder => "left_order",
            Table::Side => "side",
        }
    }

    fn habit(self) -> Habit {
        match self {
            Table::Meta | Table::Pool | Table::Side => Habit::Passing,
            Table::Headers | Table::Bodies | Table::Undo | Table::LeftOrder => Habit::Appended,
            Table::ByHash
            | Table::TxIndex
            | Table::AccountTxs
            | Table::Balances
            | Table::Held
            | Table::Leases
            | Table::Lessors
            | Table::Left => Habit::Keyed,
        }
    }
}

/// Returns the failure for stored data that is invalid.
#[must_use]
pub fn damaged(message: impl Into<String>) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Damage,
        code: "chain.store_damaged",
        message: message.into(),
        hint: crate::errors::action_of("chain.store_damaged"),
    }
}
