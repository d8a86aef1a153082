//! What fits one message between nodes. The network's parameters say how large messages and transactions may be; what could not
//! travel is refused where it is built, and where it comes in, so that it never waits in an outbox for ever.

use ledger::{NetworkParameters, Rejection, SignedTransaction};
use primitives::{Encode, ErrorInfo, PublicKey};

use crate::options::KernelOptions;

/// One part in so many of the largest message is left for what it carries its content in.
const ENVELOPE_SHARE: u64 = 20;
/// A signature that is still missing will take so many bytes, about.
const SIGNATURE_BYTES: usize = 128;
/// A signature takes no more bytes than this; one over a batch has a proof with it.
const SIGNATURE_BYTES_MAX: usize = 2_048;
/// A required key takes more bytes of a transaction than this.
const KEY_BYTES_MIN: usize = 32;

/// See the module. In bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// What one message may carry.
    pub(crate) content: usize,
    /// A transaction with its signatures.
    transaction: usize,
}

impl Room {
    /// By a network's parameters.
    pub(crate) fn of(parameters: &NetworkParameters) -> Self {
        let message = parameters.max_message_bytes;
        let content = message - message / ENVELOPE_SHARE;
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            content: bytes(content),
            transaction: bytes(content.min(parameters.max_transaction_bytes)),
        }
    }

    /// Lowers what is sent in one message to what fits one.
    pub(crate) fn keep(&self, options: &mut KernelOptions) {
        let session = &mut options.flow.session_message_bytes_max;
        *session = (*session).min(self.content);
        let delivered = &mut options.deliveries.message_bytes_max;
        *delivered = (*delivered).min(self.part());
    }

    /// What of a message things may fill that are gathered, where each may be a message of its own as well.
    pub(crate) fn part(&self) -> usize {
        self.content / 4
    }

    /// Whether a transaction can travel, with all signatures that it needs.
    ///
    /// # Errors
    /// `tx.too_large`.
    pub(crate) fn check(&self, transaction: &SignedTransaction) -> Result<(), Rejection> {
        let wire = transaction.wire().bytes().len();
        let signed = transaction.signatures();
        // What is accepted before the notary signs is accepted after that.
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
            "the transaction has {bytes} bytes with its signatures; in this network at most {} can travel",
            self.transaction
        );
        let code = "tx.too_large";
        let hint = ErrorInfo::action_of(ledger::ERRORS, code);
        Err(Rejection::new(code, text, hint))
    }
}
