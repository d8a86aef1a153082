//! The kernel's tables, and the storage port ([`primitives::storage`]) over them.

use primitives::storage::{self, Habit, TableSet};
pub use primitives::storage::{FailureKind, Row, StoreFailure};

use crate::errors::DAMAGED;

/// A table of the node's own data. The discriminant is part of the stored format: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// Single rows: schema version, epoch, cursors of peers.
    Meta = 0,
    /// `seq u64 BE` -> `time recorded u64 BE | the signed transaction as carried`; append only, dependencies first.
    Ledger = 1,
    /// `transaction id 32` -> `seq u64 BE`.
    TxIndex = 2,
    /// `flow id 16 | step u32 BE` -> one journal row, after the ids of the transactions that the flow recorded in that round.
    /// Deleted when the flow ends. Step `ffffffff` is the chart of a flow that failed or was paused.
    Journal = 3,
    /// `peer 32 | seq u64 BE` -> a session message not yet acknowledged.
    Outbox = 4,
    /// `peer 32 | seq u64 BE` -> a transaction id not yet answered by that participant.
    Deliveries = 5,
    /// `hash of user and client id 32` -> flow id and, once ended, its outcome.
    ClientIds = 6,
    /// Fetched back chains that wait for their verification; wiped at start.
    Staging = 7,
    /// Notary: `state ref 36` -> consuming transaction id.
    NotaryStates = 8,
    /// Notary: `transaction id 32` -> who asked, with the request's signature.
    NotaryTxs = 9,
    /// Files that are here whole: `hash 32` -> [`crate::files::FileRow`]. The bytes are not in the store.
    Attachments = 10,
    /// `kind u8 | time u64 BE | state ref 36` -> a flow's name: kind 0 waits for its time, kind 1 could not be started, with why.
    Schedule = 11,
    /// `transaction id 32 | note 12` -> a note that a user made of the transaction.
    Notes = 12,
    /// `0 | key` -> number u64 BE and whether it was used: this node's fresh keys. `1 | peer 32 | slot u32 BE` -> a key that this
    /// peer was told.
    OwnKeys = 13,
    /// `0 | key` -> owner 32, slot u64 BE and the owner's proof. `1 | owner 32 | slot u64 BE` -> the key.
    KeyOwners = 14,
    /// `file hash 32 | transaction id 32` -> empty: which recorded transactions list a file, whether it is here or not.
    FileRefs = 15,
    /// `state ref 36` -> `seq u64 BE` of the recorded transaction that consumed it: see [`crate::integrity`].
    Consumed = 16,
    /// `transaction id 32` -> [`crate::integrity::EquivocationRow`]: a refused transaction with proof against its notary.
    Equivocations = 17,
    /// `key 32` -> the value of the key's first claim, by any flow. Kept as long as the ledger.
    Claims = 18,
    /// `kind u8 | number u64 BE` -> [`crate::HistoryRow`]: a flow that has ended. `128 | flow id 16` -> the key of the flow's row.
    FlowHistory = 19,
}

impl Table {
    /// Every table, in the order of its number.
    pub const ALL: [Table; 20] = [
        Table::Meta,
        Table::Ledger,
        Table::TxIndex,
        Table::Journal,
        Table::Outbox,
        Table::Deliveries,
        Table::ClientIds,
        Table::Staging,
        Table::NotaryStates,
        Table::NotaryTxs,
        Table::Attachments,
        Table::Schedule,
        Table::Notes,
        Table::OwnKeys,
        Table::KeyOwners,
        Table::FileRefs,
        Table::Consumed,
        Table::Equivocations,
        Table::Claims,
        Table::FlowHistory,
    ];

    /// Returns the table's name on disk.
    pub fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::Ledger => "ledger",
            Table::TxIndex => "tx_index",
            Table::Journal => "journal",
            Table::Outbox => "outbox",
            Table::Deliveries => "deliveries",
            Table::ClientIds => "client_ids",
            Table::Staging => "staging",
            Table::NotaryStates => "notary_states",
            Table::NotaryTxs => "notary_txs",
            Table::Attachments => "attachments",
            Table::Schedule => "schedule",
            Table::Notes => "notes",
            Table::OwnKeys => "own_keys",
            Table::KeyOwners => "key_owners",
            Table::FileRefs => "file_refs",
            Table::Consumed => "consumed",
            Table::Equivocations => "equivocations",
            Table::Claims => "claims",
            Table::FlowHistory => "flow_history",
        }
    }
}

impl TableSet for Table {
    const ALL: &'static [Self] = &Table::ALL;

    const TITLE: &'static str = "tallystick embedded store";

    fn number(self) -> u8 {
        self as u8
    }

    fn name(self) -> &'static str {
        Table::name(self)
    }

    fn habit(self) -> Habit {
        match self {
            Table::Meta | Table::Journal | Table::Outbox | Table::Deliveries | Table::Staging => {
                Habit::Passing
            }
            Table::Ledger => Habit::Appended,
            Table::TxIndex
            | Table::ClientIds
            | Table::NotaryStates
            | Table::NotaryTxs
            | Table::Attachments
            | Table::Schedule
            | Table::Notes
            | Table::OwnKeys
            | Table::KeyOwners
            | Table::FileRefs
            | Table::Consumed
            | Table::Equivocations
            | Table::Claims
            | Table::FlowHistory => Habit::Keyed,
        }
    }
}

/// One row of the node's store to put or to delete.
pub type Write = storage::Write<Table>;

/// Rows of the node's store that are committed together, or none of them.
pub type WriteBatch = storage::WriteBatch<Table>;

/// Returns the failure for a row that does not decode.
pub fn damaged(message: impl Into<String>) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Damage,
        code: DAMAGED.code,
        message: message.into(),
        hint: DAMAGED.action,
    }
}

/// Reads of the node's store: a short name for [`storage::Reads`] of its tables.
pub trait Reads: storage::Reads<Table> {}

impl<R: storage::Reads<Table> + ?Sized> Reads for R {}
