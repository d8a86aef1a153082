//! Requests of peers for files that wait for a later round, because their peer has caused its share of the work of this one.

use std::collections::{BTreeMap, VecDeque};

use ledger::{PartyId, TxId};
use primitives::{Hash, Monotonic};

use crate::context::Context;

/// Maximum number of requests for files of one peer that wait for a later round. The transfer of files leaves no more of a peer
/// undecided. A further one would be decided at once.
const PERMITS_PER_PEER_MAX: usize = 64;

/// A peer's request for a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PermitRequest {
    /// The peer.
    pub(crate) peer: PartyId,
    /// The file.
    pub(crate) hash: Hash,
    /// The transaction that lists it, as the peer says.
    pub(crate) transaction: TxId,
}

/// The requests that wait. Those of a peer whose connection ends stay, because the transfer of files counts them until they are decided.
#[derive(Debug, Default)]
pub(super) struct PermitQueue {
    waiting: BTreeMap<PartyId, VecDeque<PermitRequest>>,
    /// The time of the next attempt. `None` if no request waits, or each one for an event.
    next: Option<Monotonic>,
}

impl PermitQueue {
    /// Keeps a request. Returns false if too many of the peer wait.
    pub(super) fn push(&mut self, request: PermitRequest) -> bool {
        let own = self.waiting.entry(request.peer).or_default();
        let has_room = own.len() < PERMITS_PER_PEER_MAX;
        if has_room {
            own.push_back(request);
        }
        has_room
    }

    /// Takes out a request of a peer that may cause more work in this round.
    pub(super) fn pop(&mut self, context: &Context) -> Option<PermitRequest> {
        let mut peers = self.waiting.keys();
        let peer = *peers.find(|peer| context.may_work(peer))?;
        let own = self.waiting.get_mut(&peer)?;
        let request = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&peer);
        }
        request
    }

    /// Sets the time of the next attempt by the present standing of the peers.
    pub(super) fn plan(&mut self, context: &Context) {
        let peers = self.waiting.keys();
        self.next = peers.filter_map(|peer| context.works_from(peer)).min();
    }

    /// Returns the time of the next attempt.
    pub(super) fn next_time(&self) -> Option<Monotonic> {
        self.next
    }
}
