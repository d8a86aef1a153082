//! The statements that a database has to offer.

use ledger::{StateRef, TxId};
use notary::{Entry, RequestRecord, UniquenessAnswer};

use crate::error::RecordError;

/// Why a statement was not carried out.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A key is there already. Nothing was entered.
    Duplicate,
    /// The database has undone the transaction, because of another one. Nothing was entered.
    Undone(String),
    /// Another statement on this server keeps a row for longer than a batch waits for it. Nothing was entered. Another server of the
    /// cluster does not know that statement.
    RowHeld(String),
    /// The connection was lost, or the server is not ready. It is unknown whether the entries were entered.
    Lost(RecordError),
    /// The server refuses the statement. Nothing was entered.
    Refused(RecordError),
}

/// The version of the tables.
pub(crate) const VERSION: u64 = 1;
/// Length of a transaction's id in the tables.
pub(crate) const ID_BYTES: usize = 32;

/// Rows to enter.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    /// Consumed states with their consumers.
    pub(crate) states: Vec<(&'a StateRef, &'a TxId)>,
    /// Accepted transactions.
    pub(crate) transactions: Vec<(&'a TxId, &'a RequestRecord)>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of transactions with the states that they consume.
    pub(crate) fn of(entries: &[&'a Entry]) -> Self {
        let states = entries
            .iter()
            .flat_map(|entry| entry.inputs.iter().map(|input| (input, &entry.id)));
        let mut states: Vec<_> = states.collect();
        states.sort_unstable();
        let transactions = entries.iter().map(|entry| (&entry.id, &entry.record));
        Self {
            states,
            transactions: transactions.collect(),
        }
    }
}

/// A database that keeps a shared record. Each method is one round trip on an open connection.
pub(crate) trait Session: Send {
    /// Connects to the next server. Checks that its confirmations are durable.
    fn connect(&mut self) -> Result<(), RecordError>;

    /// Makes the tables if they are missing. Returns the version of the tables, the notary that they belong to, and whether the data of a
    /// notary of its own was moved to them.
    fn prepare(&mut self, service: &[u8]) -> Result<(u64, Vec<u8>, bool), Trouble>;

    /// Notes that the data of a notary of its own was moved to the tables.
    fn finish_move(&mut self) -> Result<(), Trouble>;

    /// Enters rows, all or none. They are in the order of their keys.
    fn enter(&mut self, rows: &Rows<'_>) -> Result<(), Trouble>;

    /// Returns which of these transactions are accepted, and the consumers of these states. Shows every commit that any server of the
    /// cluster has confirmed before.
    fn look_up(&mut self, ids: &[TxId], states: &[StateRef]) -> Result<UniquenessAnswer, Trouble>;

    /// Returns consumed states after a state, in the order of their keys.
    fn states_after(
        &mut self,
        after: Option<&StateRef>,
        limit: usize,
    ) -> Result<Vec<(StateRef, TxId)>, Trouble>;

    /// Returns accepted transactions after an id, in the order of their ids.
    fn transactions_after(
        &mut self,
        after: Option<&TxId>,
        limit: usize,
    ) -> Result<Vec<(TxId, RequestRecord)>, Trouble>;

    /// Returns the state of the cluster, for operators: names with values.
    fn standing(&mut self) -> Result<Vec<(String, String)>, Trouble>;

    /// Returns the server of the connection.
    fn server(&self) -> String;
}

/// Adds a row of a look-up to its answer: an accepted transaction (kind 0, the id twice), or a state and its consumer (kind 1).
pub(crate) fn add_found(
    answer: &mut UniquenessAnswer,
    kind: i64,
    key: &[u8],
    index: i64,
    value: &[u8],
) -> Result<(), Trouble> {
    let (tx, value) = (id_of(key)?, id_of(value)?);
    if kind == 0 {
        answer.accepted.insert(tx);
    } else {
        let state = StateRef::new(tx, index_of(index)?);
        answer.consumers.insert(state, value);
    }
    Ok(())
}

/// Reads an id of the tables.
pub(crate) fn id_of(bytes: &[u8]) -> Result<TxId, Trouble> {
    let bytes = <[u8; ID_BYTES]>::try_from(bytes);
    let bytes = bytes.map_err(|_| damaged("an id has another length than 32 bytes"))?;
    Ok(TxId::from_array(bytes))
}

/// Reads an output index of the tables.
pub(crate) fn index_of(index: i64) -> Result<u32, Trouble> {
    u32::try_from(index).map_err(|_| damaged("an output index is out of range"))
}

/// Reads the record of a request.
pub(crate) fn record_of(bytes: &[u8]) -> Result<RequestRecord, Trouble> {
    primitives::Decode::from_bytes(bytes)
        .map_err(|_| damaged("the record of a request does not decode"))
}

pub(crate) fn damaged(what: &str) -> Trouble {
    Trouble::Refused(RecordError::Damaged(what.to_owned()))
}
