//! The reasons for which a transaction is verified.

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
        /// How its back chain is fetched.
        fetching: Fetching,
        /// Whether to record it then.
        keep: bool,
    },
    /// Record it for a flow of ours and owe it to others.
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
    /// Whether it came from a peer and is to be recorded once it is verified.
    pub(super) fn is_peers(&self) -> bool {
        matches!(self, Goal::Deliver { .. } | Goal::Dependency)
    }

    /// Whether it came from a peer, which has a bounded share.
    pub(super) fn is_counted(&self) -> bool {
        self.is_peers() || matches!(self, Goal::Notarise { .. })
    }

    /// Whether it is recorded once it is verified; for a notary's decision only after that.
    pub(crate) fn records(&self) -> bool {
        !matches!(self, Goal::Verify { keep: false, .. })
    }

    /// Whether the files that it lists have to be here. Not those of another one's back chain, nor for a notary's decision:
    /// contracts see no file's bytes.
    pub(super) fn needs_files(&self) -> bool {
        !matches!(self, Goal::Dependency | Goal::Notarise { .. })
    }

    /// How its back chain is fetched.
    pub(crate) fn fetching(&self) -> Fetching {
        match self {
            Goal::Verify { fetching, .. } => *fetching,
            _ => Fetching::InBulk,
        }
    }

    /// The effect of a flow that waits for it.
    pub(super) fn effect(&self) -> Option<EffectId> {
        match self {
            Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. } => {
                Some((*flow, *effect))
            }
            _ => None,
        }
    }
}
