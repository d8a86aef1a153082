//! The chain's tables behind the storage port.

use primitives::storage::{self, Habit, TableSet};
pub use primitives::storage::{Reads, Row, StoreFailure};

/// Rows of the chain's tables that become durable together.
pub type WriteBatch = storage::WriteBatch<Table>;

/// A table of the chain's data. The number is part of the stored format: never renumber. All numbers in keys are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Single rows: schema version, genesis, the tip, progress of pruning and repair; evidence of equivocation; blocks that were forged here.
    Meta = 0,
    /// `height u32` -> the header as carried, its hash and what is known of the block (counts, bytes).
    Headers = 1,
    /// `height u32 | piece u16` -> a piece of the block's body.
    Bodies = 2,
    /// `block hash 32` -> height u32: blocks of the main chain.
    ByHash = 3,
    /// `transaction id 32` -> height u32 and place in the block.
    TxIndex = 4,
    /// `account 16 | !height u32` -> places of its transactions in that block; the newest block stands first.
    AccountTxs = 5,
    /// `account 16 | chain u8` -> balance u64.
    Balances = 6,
    /// `account 16 | !height u32` -> the account's balance on the parent chain at the end of that block, where it changed; the
    /// newest stands first.
    Held = 7,
    /// `0 | lessor 16` -> its lease, and the next one; `1 | end u32 | lessor 16` -> nothing: whose lease ends at that height.
    Leases = 8,
    /// `lessee 16 | lessor 16` -> nothing: who leases to whom; `lessee 16` -> how many u32.
    Lessors = 9,
    /// `height u32` -> the rows that a rollback of the block puts back.
    Undo = 10,
    /// `transaction id 32` -> a transaction accepted here and not yet in a block.
    Pool = 11,
    /// `transaction id 32` -> when and why it left the pool without a block; the oldest go first.
    Left = 12,
    /// `time u32 | transaction id 32` -> nothing: the order in which rows of `Left` go.
    LeftOrder = 13,
    /// `block hash 32` -> a block beside the main chain, as carried.
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

/// What is stored makes no sense.
#[must_use]
pub fn damaged(message: impl Into<String>) -> StoreFailure {
    StoreFailure {
        code: "chain.store_damaged",
        message: message.into(),
        hint: crate::errors::action_of("chain.store_damaged"),
    }
}
