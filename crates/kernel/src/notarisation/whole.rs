//! The requests with whole transactions that wait for a decision, bounded by the intake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::messaging::RequestId;
use ledger::{NotaryRequest, PartyId, SignedTransaction, TxId};
use notary::{Arrival, Request, Subject};
use primitives::{Monotonic, PublicKey, Signature, SignatureContext, SignedMessage};

use crate::intake::item_id::ItemId;

/// The wait that a requester is told, in milliseconds, if there is no room for its transaction or if its back chain could not be
/// fetched.
pub(super) const COME_AGAIN_MS: u64 = 1_000;

/// The requester, and its proof of identity.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    pub(crate) requester: PartyId,
    pub(crate) key: PublicKey,
    pub(crate) signature: Signature,
}

impl Asks {
    /// Returns the message that the requester's signature has to cover.
    pub(crate) fn message(&self, transaction: &TxId, notary: &PartyId) -> SignedMessage {
        SignedMessage {
            key: self.key.clone(),
            context: SignatureContext::NotaryRequest,
            message: NotaryRequest::message(transaction, notary),
            signature: self.signature,
        }
    }

    /// Returns the request in the form that the engine takes.
    pub(crate) fn request(self, number: u64, subject: Subject) -> Request {
        Request {
            number,
            subject,
            requester: self.requester,
            key: self.key,
            signature: self.signature,
        }
    }
}

/// A whole transaction that is not decided yet.
pub(super) struct Whole {
    pub(super) transaction: Arc<SignedTransaction>,
    pub(super) asks: Asks,
    pub(super) arrived: Arrival,
    pub(super) asked: (PartyId, RequestId),
    /// The intake's item, once the transaction is verified.
    pub(super) item: Option<ItemId>,
}

/// Undecided whole transactions by the number of their request. The intake bounds their number.
#[derive(Default)]
pub(crate) struct Wholes {
    pub(super) by_number: BTreeMap<u64, Whole>,
    pub(super) by_request: BTreeMap<(PartyId, RequestId), u64>,
    /// The latest times at which those that are not verified yet can be decided.
    due: BTreeSet<(Monotonic, u64)>,
}

impl Wholes {
    pub(super) fn insert(&mut self, number: u64, whole: Whole) {
        self.due.extend(due_of(number, &whole));
        self.by_request.insert(whole.asked, number);
        self.by_number.insert(number, whole);
    }

    /// Notes the item of a transaction that is verified now. From here on the engine judges its wait.
    pub(super) fn verified(&mut self, number: u64, item: ItemId) -> Option<&Whole> {
        let whole = self.by_number.get_mut(&number)?;
        whole.item = Some(item);
        if let Some(due) = due_of(number, whole) {
            self.due.remove(&due);
        }
        Some(whole)
    }

    /// Returns the time at which the next one can no longer be decided.
    pub(super) fn next_due(&self) -> Option<Monotonic> {
        // A decision at the time itself is not too late.
        self.due.first()?.0.plus_ms(1)
    }

    /// Returns those that can no longer be decided, because the peer that has their back chains did not show them in time.
    pub(super) fn overdue(&self, now: Monotonic) -> BTreeSet<u64> {
        let overdue = self.due.range(..(now, 0));
        overdue.map(|(_, number)| *number).collect()
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, number: u64) {
        self.take(number);
    }

    /// Takes one out. Returns its item, once it is verified.
    pub(super) fn take_item(&mut self, number: u64) -> Option<ItemId> {
        self.take(number)?.item
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Whole> {
        let whole = self.by_number.remove(&number)?;
        self.by_request.remove(&whole.asked);
        if let Some(due) = due_of(number, &whole) {
            self.due.remove(&due);
        }
        Some(whole)
    }
}

/// Returns the entry of a transaction among the times at which a decision has to come.
fn due_of(number: u64, whole: &Whole) -> Option<(Monotonic, u64)> {
    let window = whole.transaction.wire().time_window()?;
    Some((whole.arrived.decide_until(window)?, number))
}
