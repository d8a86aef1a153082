//! Effects: the requests of a flow to its node and their results.

use ledger::{
    ContractName, OwnershipProof, PartyId, SelectionRequest, SignedTransaction, StateAndRef,
    StateRef, Transition, TransitionGoal, TxId,
};
use primitives::{Encode, Hash, PublicKey, Signature, SignatureContext, SignedMessage, Timestamp};

use crate::FlowError;
use crate::digest::Digest;

/// Maximum size of a claim's value, in bytes.
pub const CLAIM_BYTES_MAX: usize = 1_024;

/// A service of another node that answers requests; every one is idempotent at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Service {
    /// Notarise a transaction: a `NotaryRequest` in, a `NotaryResponse` out.
    Notarise = 1,
    /// Fetch transactions of a back chain. In messages this is `ServiceId::Fetch` of the kernel, with the same number.
    Transactions = 2,
    /// Fetch attachments.
    Attachments = 3,
    /// Fetch data that this node lost when it restored an older backup.
    Recovery = 5,
}

primitives::variants!(Service { 1 => Notarise, 2 => Transactions, 3 => Attachments, 5 => Recovery });

/// The method of fetching a transaction's missing ancestors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fetching {
    /// Many with each request.
    #[default]
    InBulk,
    /// One transaction with each request. Used only to compare with systems that work this way.
    OneByOne,
}

/// The clocks that decide when a wait for a moment is over, if the wall clock is set meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SleepClocks {
    /// The monotonic clock alone: a pause takes as long as it was meant to take.
    Elapsed {
        /// The whole pause in milliseconds. A restart waits no longer, whatever the wall clock showed when the pause began.
        most_ms: u64,
    },
    /// Both clocks: the wait ends when the wall clock shows the moment and the time that was left at its beginning has elapsed. So
    /// no jump of the wall clock ends it early, and nothing is freed that can still be notarised.
    Both,
}

/// A request of a flow to its node. The flow's id and the number of the effect identify it for good, across restarts.
#[derive(Clone, Debug)]
pub enum EffectRequest {
    /// Request a service of another node; sent again until answered. Answered by [`EffectResult::Response`].
    Request {
        /// The party whose node is asked.
        party: PartyId,
        /// The service.
        service: Service,
        /// The request, encoded.
        body: Vec<u8>,
        /// Whether the answer must be awaited once the request is durable, because a notary may have signed.
        irrevocable: bool,
    },
    /// Select and lock states of this flow. Answered by [`EffectResult::States`].
    SelectStates(SelectionRequest),
    /// Resolve and verify a transaction. Answered by [`EffectResult::Done`].
    Verify {
        /// The transaction.
        transaction: SignedTransaction,
        /// The party that has its back chain; `None` if all of it is here.
        from: Option<PartyId>,
        /// Keys whose signatures may still be missing.
        missing_allowed: Vec<PublicKey>,
        /// How its back chain is fetched. Not a part of the digest: it changes only how long the fetch takes.
        fetching: Fetching,
        /// Whether the transaction is then recorded as another party's transaction on which this flow builds. Requires all its
        /// signatures. Not a part of the digest, because flows that set it have always set it.
        keep: bool,
    },
    /// Check signatures, in one batch with those of other flows. Answered by [`EffectResult::Done`].
    CheckSignatures(Vec<SignedMessage>),
    /// Record a verified transaction and owe it to participants, in the batch of this step. Answered by [`EffectResult::Done`],
    /// also if the transaction is already recorded.
    Record {
        /// The transaction with all its signatures.
        transaction: SignedTransaction,
        /// The parties that have to receive it.
        deliver_to: Vec<PartyId>,
    },
    /// Sign a hash with one of the node's keys. Answered by [`EffectResult::Signature`].
    Sign {
        /// The key.
        key: PublicKey,
        /// The context that the signature covers.
        context: SignatureContext,
        /// The hash to sign.
        message: Hash,
    },
    /// Wait until a moment. Answered by [`EffectResult::Done`].
    Sleep {
        /// The absolute deadline, the same after a restart.
        until: Timestamp,
        /// The clocks that have to reach it. Not a part of the digest.
        clocks: SleepClocks,
    },
    /// Wait until the transaction is recorded here. Answered by [`EffectResult::Transaction`].
    AwaitTransaction(TxId),
    /// Look up a recorded transaction. Answered by [`EffectResult::Transaction`].
    Transaction(TxId),
    /// Look up states in recorded transactions. Answered by [`EffectResult::States`], in the order asked.
    States(Vec<StateRef>),
    /// Lock these states for this flow, all or none. Answered by [`EffectResult::States`], in the order asked.
    LockStates(Vec<StateRef>),
    /// Plan a transition of states. Answered by [`EffectResult::External`]: a [`ledger::TransitionPlan`], encoded.
    PlanTransition {
        /// The states.
        states: Vec<StateRef>,
        /// The goal of the transition.
        goal: TransitionGoal,
    },
    /// Ask whether this node agrees to a transition that another party proposes. Answered by [`EffectResult::Done`].
    Consent {
        /// The proposed transition.
        transition: Transition,
        /// The states to move, all of them recorded here.
        states: Vec<StateRef>,
        /// The proposing party.
        from: PartyId,
    },
    /// Look up the unconsumed versions of a linear state, newest first. Answered by [`EffectResult::States`].
    Linear {
        /// The contract of the states.
        contract: ContractName,
        /// The id of the linear state.
        id: Hash,
    },
    /// Run an operation outside the ledger at least once. The flow's id and the effect's number are its idempotency key. Answered
    /// by [`EffectResult::External`].
    External {
        /// The operation's registered name.
        name: String,
        /// Its arguments, encoded.
        body: Vec<u8>,
    },
    /// Make a fresh key of this node, durable before anything of this step leaves. Answered by [`EffectResult::Response`]: the
    /// encoded key, or an encoded [`ledger::OwnershipProof`] if an audience is given.
    FreshKey {
        /// The party to prove the key to; `None` if the node keeps the key to itself.
        audience: Option<PartyId>,
    },
    /// Remember the owner of a key, by a proof that was checked. Answered by [`EffectResult::Done`].
    KeepOwner(Box<OwnershipProof>),
    /// Look up the owners of keys, as far as this node knows them. Answered by [`EffectResult::Response`]: a list of party ids or
    /// nulls, in the order asked.
    KeyOwners(Vec<PublicKey>),
    /// Prove to a party that an existing fresh key is this node's. Answered by [`EffectResult::Response`]: an encoded
    /// [`ledger::OwnershipProof`].
    ProveKey {
        /// The key.
        key: PublicKey,
        /// The party to prove it to.
        audience: PartyId,
    },
    /// Claim a key permanently. The value of the first claim is durable with this step. Every later claim of the key, by any
    /// flow, gets that value. Answered by [`EffectResult::Response`]: the value of the first claim. Refused if the flow
    /// comes from an older copy of the node's data, and the evidence is recorded although the key is free.
    Claim {
        /// The key.
        key: Hash,
        /// The transaction that the key stands for. Not part of the digest: the key is derived from it.
        evidence: TxId,
        /// The value that is kept if the key is free, at most [`CLAIM_BYTES_MAX`] bytes.
        value: Vec<u8>,
    },
    /// Look up a claimed key. Answered by [`EffectResult::Response`]: a list with the value of its first claim, or an empty list.
    Claimed(Hash),
}

/// The kind of an effect. The numbers are stored in journals; never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EffectKind {
    /// [`EffectRequest::Request`].
    Request = 1,
    /// [`EffectRequest::SelectStates`].
    SelectStates = 2,
    /// [`EffectRequest::Verify`].
    Verify = 3,
    /// [`EffectRequest::CheckSignatures`].
    CheckSignatures = 4,
    /// [`EffectRequest::Record`].
    Record = 5,
    /// [`EffectRequest::Sign`].
    Sign = 6,
    /// [`EffectRequest::Sleep`].
    Sleep = 7,
    /// [`EffectRequest::AwaitTransaction`].
    AwaitTransaction = 8,
    /// [`EffectRequest::Transaction`].
    Transaction = 9,
    /// [`EffectRequest::States`].
    States = 10,
    /// [`EffectRequest::External`].
    External = 11,
    /// A sub-flow; answered by the engine itself.
    SubFlow = 12,
    /// [`EffectRequest::LockStates`].
    LockStates = 13,
    /// [`EffectRequest::PlanTransition`].
    PlanTransition = 14,
    /// [`EffectRequest::Consent`].
    Consent = 15,
    /// [`EffectRequest::FreshKey`].
    FreshKey = 16,
    /// [`EffectRequest::KeepOwner`].
    KeepOwner = 17,
    /// [`EffectRequest::KeyOwners`].
    KeyOwners = 18,
    /// [`EffectRequest::Linear`].
    Linear = 19,
    /// [`EffectRequest::ProveKey`].
    ProveKey = 20,
    /// [`EffectRequest::Claim`].
    Claim = 21,
    /// [`EffectRequest::Claimed`].
    Claimed = 22,
}

impl EffectKind {
    pub(crate) fn from_number(number: u8) -> Option<EffectKind> {
        use EffectKind::*;
        [
            Request,
            SelectStates,
            Verify,
            CheckSignatures,
            Record,
            Sign,
            Sleep,
            AwaitTransaction,
            Transaction,
            States,
            External,
            SubFlow,
            LockStates,
            PlanTransition,
            Consent,
            FreshKey,
            KeepOwner,
            KeyOwners,
            Linear,
            ProveKey,
            Claim,
            Claimed,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == number)
    }

    /// Returns the name shown to operators.
    pub fn name(self) -> &'static str {
        match self {
            EffectKind::Request => "request",
            EffectKind::SelectStates => "select states",
            EffectKind::Verify => "verify",
            EffectKind::CheckSignatures => "check signatures",
            EffectKind::Record => "record",
            EffectKind::Sign => "sign",
            EffectKind::Sleep => "sleep",
            EffectKind::AwaitTransaction => "await transaction",
            EffectKind::Transaction => "transaction",
            EffectKind::States => "states",
            EffectKind::External => "external",
            EffectKind::SubFlow => "sub-flow",
            EffectKind::LockStates => "lock states",
            EffectKind::PlanTransition => "plan a transition",
            EffectKind::Consent => "consent",
            EffectKind::FreshKey => "fresh key",
            EffectKind::KeepOwner => "keep owner",
            EffectKind::KeyOwners => "key owners",
            EffectKind::Linear => "linear",
            EffectKind::ProveKey => "prove key",
            EffectKind::Claim => "claim",
            EffectKind::Claimed => "claimed",
        }
    }

    /// Returns whether a result has the shape that answers this kind.
    pub(crate) fn is_answered_by(self, result: &EffectResult) -> bool {
        use EffectKind as K;
        match result {
            EffectResult::Failed(_) => true,
            EffectResult::Response(_) => {
                matches!(
                    self,
                    K::Request | K::FreshKey | K::KeyOwners | K::ProveKey | K::Claim | K::Claimed
                )
            }
            EffectResult::States(_) => matches!(
                self,
                K::SelectStates | K::States | K::LockStates | K::Linear
            ),
            EffectResult::Done => {
                matches!(
                    self,
                    K::Verify
                        | K::CheckSignatures
                        | K::Record
                        | K::Sleep
                        | K::Consent
                        | K::KeepOwner
                )
            }
            EffectResult::Signature(_) => self == K::Sign,
            EffectResult::Transaction(found) => {
                self == K::Transaction || (self == K::AwaitTransaction && found.is_some())
            }
            EffectResult::External(_) => matches!(self, K::External | K::PlanTransition),
        }
    }
}

impl EffectRequest {
    /// Returns the kind of the request.
    pub fn kind(&self) -> EffectKind {
        match self {
            EffectRequest::Request { .. } => EffectKind::Request,
            EffectRequest::SelectStates(_) => EffectKind::SelectStates,
            EffectRequest::Verify { .. } => EffectKind::Verify,
            EffectRequest::CheckSignatures(_) => EffectKind::CheckSignatures,
            EffectRequest::Record { .. } => EffectKind::Record,
            EffectRequest::Sign { .. } => EffectKind::Sign,
            EffectRequest::Sleep { .. } => EffectKind::Sleep,
            EffectRequest::AwaitTransaction(_) => EffectKind::AwaitTransaction,
            EffectRequest::Transaction(_) => EffectKind::Transaction,
            EffectRequest::States(_) => EffectKind::States,
            EffectRequest::LockStates(_) => EffectKind::LockStates,
            EffectRequest::PlanTransition { .. } => EffectKind::PlanTransition,
            EffectRequest::Consent { .. } => EffectKind::Consent,
            EffectRequest::Linear { .. } => EffectKind::Linear,
            EffectRequest::External { .. } => EffectKind::External,
            EffectRequest::FreshKey { .. } => EffectKind::FreshKey,
            EffectRequest::KeepOwner(_) => EffectKind::KeepOwner,
            EffectRequest::KeyOwners(_) => EffectKind::KeyOwners,
            EffectRequest::ProveKey { .. } => EffectKind::ProveKey,
            EffectRequest::Claim { .. } => EffectKind::Claim,
            EffectRequest::Claimed(_) => EffectKind::Claimed,
        }
    }

    /// Returns the digest of the arguments. Transactions enter by their id, which commits to their content.
    pub(crate) fn digest(&self) -> u64 {
        let d = Digest::new(self.kind() as u64);
        match self {
            EffectRequest::Request {
                party,
                service,
                body,
                irrevocable,
            } => d
                .bytes(party.as_bytes())
                .word(*service as u64)
                .word(u64::from(*irrevocable))
                .bytes(body),
            EffectRequest::SelectStates(request) => {
                let notary = request.notary.as_ref().map_or(&[][..], |n| n.as_bytes());
                d.bytes(request.token.as_bytes())
                    .word(request.quantity)
                    .bytes(notary)
            }
            EffectRequest::Verify {
                transaction,
                from,
                missing_allowed,
                fetching: _,
                keep: _,
            } => {
                let from = from.as_ref().map_or(&[][..], |p| p.as_bytes());
                d.bytes(transaction.id().as_bytes())
                    .bytes(from)
                    .word(missing_allowed.len() as u64)
            }
            EffectRequest::CheckSignatures(messages) => messages.iter().fold(d, |d, m| {
                d.word(m.context as u64).bytes(m.message.as_bytes())
            }),
            EffectRequest::Record {
                transaction,
                deliver_to,
            } => deliver_to
                .iter()
                .fold(d.bytes(transaction.id().as_bytes()), |d, p| {
                    d.bytes(p.as_bytes())
                }),
            EffectRequest::Sign {
                key,
                context,
                message,
            } => d
                .bytes(&key.to_bytes())
                .word(*context as u64)
                .bytes(message.as_bytes()),
            EffectRequest::Sleep { until, .. } => d.word(until.as_ms()),
            EffectRequest::AwaitTransaction(id) | EffectRequest::Transaction(id) => {
                d.bytes(id.as_bytes())
            }
            EffectRequest::States(refs) | EffectRequest::LockStates(refs) => refs
                .iter()
                .fold(d, |d, r| d.bytes(r.tx.as_bytes()).word(r.index.into())),
            EffectRequest::PlanTransition { states, goal } => {
                states.iter().fold(d.bytes(&goal.to_bytes()), |d, r| {
                    d.bytes(r.tx.as_bytes()).word(r.index.into())
                })
            }
            EffectRequest::Consent {
                transition,
                states,
                from,
            } => states.iter().fold(
                d.bytes(&transition.to_bytes()).bytes(from.as_bytes()),
                |d, r| d.bytes(r.tx.as_bytes()).word(r.index.into()),
            ),
            EffectRequest::Linear { contract, id } => {
                d.bytes(contract.as_str().as_bytes()).bytes(id.as_bytes())
            }
            EffectRequest::External { name, body } => d.bytes(name.as_bytes()).bytes(body),
            EffectRequest::FreshKey { audience } => {
                d.bytes(audience.as_ref().map_or(&[][..], |p| p.as_bytes()))
            }
            EffectRequest::KeepOwner(proof) => d.bytes(&proof.to_bytes()),
            EffectRequest::KeyOwners(keys) => {
                keys.iter().fold(d, |d, key| d.bytes(&key.to_bytes()))
            }
            EffectRequest::ProveKey { key, audience } => {
                d.bytes(&key.to_bytes()).bytes(audience.as_bytes())
            }
            EffectRequest::Claim { key, value, .. } => d.bytes(key.as_bytes()).bytes(value),
            EffectRequest::Claimed(key) => d.bytes(key.as_bytes()),
        }
        .value()
    }
}

/// The result of an effect.
#[derive(Clone, Debug)]
pub enum EffectResult {
    /// A service's answer, encoded.
    Response(Vec<u8>),
    /// States, in the order asked or selected.
    States(Vec<StateAndRef>),
    /// Success without a value: verified, checked, recorded or woken.
    Done,
    /// A signature.
    Signature(Signature),
    /// A recorded transaction, if there is one.
    Transaction(Option<SignedTransaction>),
    /// An external operation's answer, or a plan, encoded.
    External(Vec<u8>),
    /// A failure, which the flow may handle.
    Failed(FlowError),
}

/// Reads the data that a journal holds by reference. It reads committed data only.
pub trait Rehydrate {
    /// Returns the states in the order asked; `None` if one of them is not in the ledger.
    fn states(&self, refs: &[StateRef]) -> Option<Vec<StateAndRef>>;
    /// Returns a recorded transaction.
    fn transaction(&self, id: &TxId) -> Option<SignedTransaction>;
}
