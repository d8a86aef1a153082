//! The actions of deliveries.

use ledger::{PartyId, Rejection, TxId};

/// The actions that the deliveries request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryAction {
    /// Write a row in this round's batch.
    Store {
        /// The participant.
        peer: PartyId,
        /// The row's number.
        seq: u64,
        /// The transaction.
        transaction: TxId,
    },
    /// Delete a row in this round's batch.
    Delete {
        /// The participant.
        peer: PartyId,
        /// The row's number.
        seq: u64,
    },
    /// Send these transactions in one message, once this round's batch is durable.
    Send {
        /// The participant.
        peer: PartyId,
        /// The transactions, in the order recorded.
        transactions: Vec<TxId>,
    },
    /// Read rows after `after` in order, once this round's batch is durable. Always answer with [`Deliveries::refilled`](super::Deliveries::refilled).
    Refill {
        /// The participant.
        peer: PartyId,
        /// Rows with greater numbers are read.
        after: u64,
        /// Maximum number of rows.
        limit: usize,
    },
    /// Every participant has answered, and that is durable once this round's batch is.
    AllAnswered {
        /// The token of the waiter.
        token: u64,
        /// The transaction.
        transaction: TxId,
        /// The participants that refused it, in order.
        refused: Vec<(PartyId, Rejection)>,
    },
    /// A participant refused a transaction; for the log. The transaction stays final.
    Refused {
        /// The participant.
        peer: PartyId,
        /// The transaction.
        transaction: TxId,
        /// The reason.
        rejection: Rejection,
    },
}
