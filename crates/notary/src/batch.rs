//! The decisions of one batch.

use ledger::{NotaryError, NotaryResponse, StateRef, TransactionSignature, TxId};
use primitives::KeyPair;

use crate::RequestRecord;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// To be signed: the index of its transaction in [`BatchDecision::accepted`].
    Accepted(usize),
    /// Refused.
    Refused(NotaryError),
}

/// Rows to be written in one commit, and answers that may be sent once that commit and all before it are durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchDecision {
    /// New rows: a state and the transaction that consumed it.
    pub states: Vec<(StateRef, TxId)>,
    /// New rows: a transaction and who asked for it.
    pub transactions: Vec<(TxId, RequestRecord)>,
    /// The transactions to sign, without duplicates. They are the leaves of the batch's Merkle tree, in this order.
    pub accepted: Vec<TxId>,
    /// Request numbers with their verdicts, in the order of decision.
    pub verdicts: Vec<(u64, Verdict)>,
}

impl BatchDecision {
    /// Signs the batch, once, and writes the answers.
    pub fn into_responses(self, key: &KeyPair) -> Vec<(u64, NotaryResponse)> {
        let signatures = TransactionSignature::sign_batch(&self.accepted, key);
        self.verdicts
            .into_iter()
            .filter_map(|(number, verdict)| {
                let response = match verdict {
                    // Each place is one of the list that was signed.
                    Verdict::Accepted(place) => {
                        NotaryResponse::Signed(signatures.get(place)?.clone())
                    }
                    Verdict::Refused(error) => NotaryResponse::Refused(error),
                };
                Some((number, response))
            })
            .collect()
    }
}
