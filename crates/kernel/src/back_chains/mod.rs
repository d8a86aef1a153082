//! Back chains of transactions: fetched from peers, verified and recorded here, and served to peers.

pub(crate) mod answers;
pub(crate) mod chain;
mod chain_part;
mod fetch_queue;
mod fetching;
pub(crate) mod requests;
mod running;
mod serving;
mod staging;
mod verifying;

use std::collections::VecDeque;

use ledger::{PartyId, TxId};
use primitives::Monotonic;

use crate::back_chains::chain_part::Verifying;
use crate::back_chains::fetch_queue::FetchQueue;
use crate::back_chains::running::Resolutions;
use crate::context::Context;
use crate::part::Part;

pub(crate) use staging::wipe_staging;

/// The back chains that this node fetches and verifies, and the requests of peers for parts of its own.
#[derive(Debug)]
pub(crate) struct BackChains {
    resolutions: Resolutions,
    /// Parts of chains whose signatures are checked, while their transactions are recorded. Empty between rounds.
    verifying: VecDeque<Verifying>,
    requests: FetchQueue,
}

impl Part for BackChains {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        self.resolutions.committed(upto);
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        let times = [self.resolutions.next_stall(), self.requests.next_time(now)];
        times.into_iter().flatten().min()
    }
}

impl BackChains {
    /// Returns the time from which a part of a fetched chain may be verified.
    pub(crate) fn next_to_verify(&self, context: &Context) -> Option<Monotonic> {
        let peers = self.resolutions.peers_to_verify();
        peers.filter_map(|peer| context.works_from(peer)).min()
    }

    /// Creates the part without a chain. The number of the first one is drawn at each start.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            resolutions: Resolutions::new(first),
            verifying: VecDeque::new(),
            requests: FetchQueue::default(),
        }
    }

    /// Handles a new connection to a peer. It can be asked for chains.
    pub(crate) fn peer_up(&mut self, peer: PartyId) {
        self.resolutions.peer_up(peer);
    }

    /// Handles the end of a connection. The peer asks again for what it wanted.
    pub(crate) fn peer_down(&mut self, peer: &PartyId) {
        self.resolutions.peer_down(peer);
        self.requests.forget(peer);
    }

    /// Returns whether a connection to a peer stands.
    pub(crate) fn is_up(&self, peer: &PartyId) -> bool {
        self.resolutions.is_up(peer)
    }

    /// Returns the number of the chain that fetches a transaction from a peer. Without a peer, returns the first from any
    /// peer.
    pub(crate) fn fetched_from(&self, id: &TxId, peer: Option<PartyId>) -> Option<u64> {
        self.resolutions.fetched_from(id, peer)
    }

    /// Notes that a transaction is recorded.
    pub(crate) fn recorded(&mut self, id: &TxId) {
        self.resolutions.recorded(id);
    }
}
