//! The proof that this node's data is an older copy.

use ledger::{DataMark, PartyId, TxId};
use primitives::{Timestamp, record, variants};

/// Something that this node has signed and that its data does not justify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A data mark of a life, or of a number, that the data does not have.
    Mark(DataMark),
    /// A transaction that this notary has signed and does not know.
    Notarised(TxId),
}

variants!(Evidence { 0 => Mark(mark), 1 => Notarised(transaction) });

/// The row that keeps a node stopped over restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollbackRow {
    /// The proof.
    pub evidence: Evidence,
    /// The peer that showed it.
    pub shown_by: PartyId,
    /// The time of that.
    pub at: Timestamp,
    /// The ordinal of the node's life then.
    pub ordinal: u64,
    /// The number that its data had reached then.
    pub number: u64,
    /// The time at which the last transaction was recorded in the copy.
    pub data_until: Timestamp,
    /// The highest ordinal of all marks shown since.
    pub highest: u64,
}

record!(RollbackRow {
    evidence,
    shown_by,
    at,
    ordinal,
    number,
    data_until,
    highest
});
