//! The dependencies sent along with a delivery: recent transactions that only this node has, each sent to a peer once.

use std::sync::Arc;

use ledger::{PartyId, SignedTransaction, TxId};
use primitives::Encode;

use crate::back_chains::answers::dependencies;
use crate::cache::GenerationCache;
use crate::figures::CacheFigures;
use crate::message::DELIVER_TRANSACTIONS_MAX;
use crate::options::KernelOptions;

/// Maximum size of the dependencies sent along with one delivery, in bytes.
pub(crate) const ALONG_BYTES_MAX: usize = 512 << 10;
/// Memory for a note that a dependency was sent along, in bytes.
const SENT_WEIGHT: usize = 128;

/// Transactions that only this node has, and the peers that got them.
pub(crate) struct Along {
    /// Recent transactions that only this node has.
    unshared: GenerationCache<TxId, Arc<SignedTransaction>>,
    /// The peers that each of them was sent to. A peer that has lost one fetches it.
    sent: GenerationCache<(PartyId, TxId), ()>,
}

/// The dependencies sent along with one delivery, encoded.
#[derive(Default)]
pub(crate) struct Parcel {
    pub(crate) transactions: Vec<Vec<u8>>,
    bytes: usize,
}

impl Along {
    /// Creates the part without a transaction.
    pub(crate) fn new(options: &KernelOptions) -> Self {
        Self {
            unshared: GenerationCache::new(options.unshared_bytes),
            sent: GenerationCache::new(options.sent_along_bytes),
        }
    }

    /// Keeps a recorded transaction that no other node gets for now.
    pub(crate) fn keep(&mut self, transaction: &Arc<SignedTransaction>) {
        let bytes = transaction.weight() * 2;
        let id = transaction.id();
        self.unshared.insert(id, Arc::clone(transaction), bytes);
    }

    /// Forgets which peers got which transactions, because messages in flight may be lost.
    pub(super) fn forget_sent(&mut self) {
        self.sent.clear();
    }

    /// Notes that a peer has fetched a transaction, so that it need not be sent along with a later delivery.
    pub(super) fn note_fetched(&mut self, peer: PartyId, id: TxId) {
        if self.unshared.contains(&id) {
            self.sent.insert((peer, id), (), SENT_WEIGHT);
        }
    }

    /// Adds the unshared dependencies of a transaction to a parcel, each for which there is room and which the peer did not get before.
    pub(crate) fn add(
        &mut self,
        peer: PartyId,
        transaction: &SignedTransaction,
        bytes_max: usize,
        parcel: &mut Parcel,
    ) {
        for dependency in dependencies(transaction) {
            if parcel.bytes < bytes_max
                && parcel.transactions.len() < DELIVER_TRANSACTIONS_MAX
                && !self.sent.holds(&(peer, dependency))
                && self.unshared.holds(&dependency)
                && let Some(unshared) = self.unshared.peek(&dependency)
                && parcel.bytes + unshared.wire().bytes().len() <= bytes_max
            {
                self.sent.insert((peer, dependency), (), SENT_WEIGHT);
                let encoded = unshared.to_bytes();
                parcel.bytes += encoded.len();
                parcel.transactions.push(encoded);
            }
        }
        assert!(
            parcel.transactions.len() <= DELIVER_TRANSACTIONS_MAX,
            "a delivery has {} dependencies, at most {DELIVER_TRANSACTIONS_MAX} are allowed",
            parcel.transactions.len()
        );
    }

    /// Returns the figures of the transactions and of the notes about peers.
    pub(crate) fn figures(&self) -> [CacheFigures; 2] {
        [self.unshared.figures(), self.sent.figures()]
    }
}
