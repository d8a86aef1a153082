//! A request to the engine, whose proofs and signatures are already checked.

use ledger::{
    CheckedTearOff, Party, PartyId, StateRef, TimeWindow, TxId, VerifiedTransaction,
    WireTransaction,
};
use primitives::{PublicKey, Signature};

/// A transaction to be notarised.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A tear-off that is proved complete.
    TearOff(Box<CheckedTearOff>),
    /// A whole transaction, known to be valid. Made by [`Subject::verified`].
    Verified(VerifiedTransaction, WireTransaction),
    /// A whole transaction that this notary has accepted before. It is decided by its id alone, so that a repeated request
    /// always succeeds.
    Committed(WireTransaction),
}

impl Subject {
    /// Makes a subject of a verified transaction; `None` if `proof` is of another transaction.
    pub fn verified(proof: VerifiedTransaction, wire: WireTransaction) -> Option<Self> {
        (proof.id() == wire.id()).then_some(Self::Verified(proof, wire))
    }

    /// Returns the transaction's id.
    pub fn id(&self) -> TxId {
        match self {
            Subject::TearOff(tear_off) => tear_off.id(),
            Subject::Verified(_, wire) | Subject::Committed(wire) => wire.id(),
        }
    }

    /// Returns the consumed states.
    pub fn inputs(&self) -> &[StateRef] {
        match self {
            Subject::TearOff(tear_off) => tear_off.inputs(),
            Subject::Verified(_, wire) | Subject::Committed(wire) => wire.inputs(),
        }
    }

    /// Returns the states that are read.
    pub fn references(&self) -> &[StateRef] {
        match self {
            Subject::TearOff(tear_off) => tear_off.references(),
            Subject::Verified(_, wire) | Subject::Committed(wire) => wire.references(),
        }
    }

    /// Returns the time window of the transaction.
    pub fn time_window(&self) -> Option<&TimeWindow> {
        match self {
            Subject::TearOff(tear_off) => tear_off.time_window(),
            Subject::Verified(_, wire) | Subject::Committed(wire) => wire.time_window(),
        }
    }

    /// Returns the notary that has to decide.
    pub fn notary(&self) -> Option<&Party> {
        match self {
            Subject::TearOff(tear_off) => Some(tear_off.notary()),
            Subject::Verified(_, wire) | Subject::Committed(wire) => wire.notary(),
        }
    }

    /// Returns the cost of the request: its states, at least one.
    pub(crate) fn weight(&self) -> usize {
        self.states().max(1)
    }

    /// Returns the number of its inputs and references.
    pub(crate) fn states(&self) -> usize {
        self.inputs().len() + self.references().len()
    }
}

/// A request whose requester's signature is good.
#[derive(Clone, Debug)]
pub struct Request {
    /// The caller's name for it; the verdict comes under the same number.
    pub number: u64,
    /// The transaction to be notarised.
    pub subject: Subject,
    /// The asking party.
    pub requester: PartyId,
    /// The key that signed the request.
    pub key: PublicKey,
    /// The signature on the request.
    pub signature: Signature,
}
