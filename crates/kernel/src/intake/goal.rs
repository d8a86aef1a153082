//! The reasons to verify a transaction.

use flow::{Fetching, FlowId};
use ledger::PartyId;
use primitives::PublicKey;

use crate::flows::waits::EffectId;

/// Why a transaction is verified.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// Tell a flow that it is valid, signatures of some keys aside.
    Verify {
        /// The flow.
        flow: FlowId,
        /// The effect to complete.
        effect: u32,
        /// Keys that may be missing.
        missing_allowed: Vec<PublicKey>,
        /// The way to fetch its back chain.
        fetching: Fetching,
        /// Whether to record it after the verification.
        keep: bool,
    },
    /// Record it for a flow of this node, and deliver it to other participants.
    Record {
        /// The flow.
        flow: FlowId,
        /// The effect to complete.
        effect: u32,
        /// The parties that must receive it.
        deliver_to: Vec<PartyId>,
    },
    /// Record a peer's delivery, and answer it.
    Deliver {
        /// The peer.
        peer: PartyId,
    },
    /// Record a dependency of another transaction. No answer is expected.
    Dependency,
    /// Decide it as a validating notary, under this number of its request; recorded only with the notary's signature.
    Notarise {
        /// The number.
        number: u64,
    },
}

impl Goal {
    /// Returns whether it came from a peer and is to be recorded once it is verified.
    pub(super) fn is_peers(&self) -> bool {
        matches!(self, Goal::Deliver { .. } | Goal::Dependency)
    }

    /// Returns whether it counts towards the share of the peer that sent it.
    pub(super) fn is_counted(&self) -> bool {
        self.is_peers() || matches!(self, Goal::Notarise { .. })
    }

    /// Returns whether it may be recorded. A transaction to be notarised is recorded only after the notary has accepted it.
    pub(crate) fn records(&self) -> bool {
        !matches!(self, Goal::Verify { keep: false, .. })
    }

    /// Returns whether its files must be stored here first. A back chain and a notary's decision need none, because contracts see
    /// no bytes of a file.
    pub(super) fn needs_files(&self) -> bool {
        !matches!(self, Goal::Dependency | Goal::Notarise { .. })
    }

    /// Returns the way to fetch its back chain.
    pub(crate) fn fetching(&self) -> Fetching {
        match self {
            Goal::Verify { fetching, .. } => *fetching,
            _ => Fetching::InBulk,
        }
    }

    /// Returns the effect of the flow that waits for it.
    pub(super) fn effect(&self) -> Option<EffectId> {
        match self {
            Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. } => {
                Some((*flow, *effect))
            }
            _ => None,
        }
    }
}
