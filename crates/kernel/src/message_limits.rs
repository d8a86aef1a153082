//! The sizes that fit one message between nodes. The network's parameters limit messages and transactions. A transaction that
//! could not travel is refused when it is built and when it comes in, so that it never stays in an outbox.

use ledger::{NetworkParameters, Rejection, SignedTransaction};
use primitives::{Encode, ErrorInfo, PublicKey};

use crate::options::KernelOptions;

/// The part of the largest message that is left for its envelope: one in this many.
const ENVELOPE_SHARE: u64 = 20;
/// Estimated size of a signature that is still missing, in bytes.
const SIGNATURE_BYTES: usize = 128;
/// Maximum size of a signature, in bytes. One over a batch includes a proof.
const SIGNATURE_BYTES_MAX: usize = 2_048;
/// Minimum size of a required key within a transaction, in bytes.
const KEY_BYTES_MIN: usize = 32;

/// The largest content of a message and of a transaction, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageLimits {
    /// The largest content of one message.
    pub(crate) content: usize,
    /// A transaction with its signatures.
    transaction: usize,
}

impl MessageLimits {
    /// Creates the limits from the parameters of a network.
    pub(crate) fn of(parameters: &NetworkParameters) -> Self {
        let message = parameters.max_message_bytes;
        let content = message - message / ENVELOPE_SHARE;
        // Clipped where no address space has more bytes.
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            content: bytes(content),
            transaction: bytes(content.min(parameters.max_transaction_bytes)),
        }
    }

    /// Lowers the limits of the options to the largest content of a message.
    pub(crate) fn keep(&self, options: &mut KernelOptions) {
        let session = &mut options.flow.session_message_bytes_max;
        *session = (*session).min(self.content);
        let delivered = &mut options.deliveries.message_bytes_max;
        *delivered = (*delivered).min(self.part());
    }

    /// Returns the part of a message that gathered items may fill. Each item may also be a message of its own.
    pub(crate) fn part(&self) -> usize {
        self.content / 4
    }

    /// Checks that a transaction with all required signatures fits into a message.
    ///
    /// # Errors
    /// `tx.too_large`.
    pub(crate) fn check(&self, transaction: &SignedTransaction) -> Result<(), Rejection> {
        let wire = transaction.wire().bytes().len();
        let signed = transaction.signatures();
        // The notary's signature is counted already, so a transaction accepted before that signature is accepted after it.
        let signatures = (signed.len() + 1) * SIGNATURE_BYTES_MAX;
        // Most are far below.
        if wire + wire / KEY_BYTES_MIN * SIGNATURE_BYTES + signatures <= self.transaction {
            return Ok(());
        }
        let missing = transaction.missing_parties();
        let missing = missing.iter().flat_map(PublicKey::leaf_keys).count();
        let mut bytes = transaction.to_bytes().len() + missing * SIGNATURE_BYTES;
        if signed.iter().all(|signature| signature.batch.is_none()) {
            bytes += SIGNATURE_BYTES_MAX;
        }
        if bytes <= self.transaction {
            return Ok(());
        }
        let text = format!(
            "the transaction has {bytes} bytes with its signatures; max_transaction_bytes and max_message_bytes of the network allow {}",
            self.transaction
        );
        let code = "tx.too_large";
        let hint = ErrorInfo::action_of(ledger::ERRORS, code);
        Err(Rejection::new(code, text, hint))
    }
}
