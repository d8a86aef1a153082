//! The service of the notary: consumed states, signed transactions and proofs against notaries.

use api::{ConsumedPage, EquivocationPage, RequestPage};
use ledger::{StateRef, TxId};

use crate::http::pending::Pending;

/// The port to the records of notarisation. No method blocks. An answered change is durable.
pub trait NotaryService: Send + Sync + 'static {
    /// Returns consumed states after a reference. Refuses if the node is not a notary.
    fn consumed(&self, after: Option<StateRef>, limit: usize) -> Pending<'_, ConsumedPage>;

    /// Returns transactions that the notary has signed, after an id, with the requesting parties.
    fn notary_requests(&self, after: Option<TxId>, limit: usize) -> Pending<'_, RequestPage>;

    /// Returns proofs of equivocation against notaries, after the id of a refused transaction.
    fn equivocations(&self, after: Option<TxId>, limit: usize) -> Pending<'_, EquivocationPage>;
}
