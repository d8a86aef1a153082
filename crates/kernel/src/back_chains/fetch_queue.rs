//! The requests of peers for back chains, served one peer after the other.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use flow::messaging::RequestId;
use ledger::PartyId;
use primitives::Monotonic;

use crate::message::FetchRequest;
use crate::part::Part;

/// Maximum number of queued requests of one peer. For any further one it is told to ask again.
pub const FETCHES_PER_PEER_MAX: usize = 64;
/// Approximate maximum number of ids in all queued requests. For any further one the peer is told to ask again.
pub const FETCH_IDS_MAX: usize = 200_000;

/// Requests that wait to be served.
#[derive(Debug, Default)]
pub(super) struct FetchQueue {
    peers: BTreeMap<PartyId, VecDeque<(RequestId, FetchRequest)>>,
    /// The peer that was served last.
    last: Option<PartyId>,
    ids: usize,
}

impl Part for FetchQueue {
    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        (!self.is_empty()).then_some(now)
    }
}

impl FetchQueue {
    /// Queues a request. Returns false if there is no room for it.
    pub fn push(&mut self, peer: PartyId, id: RequestId, request: FetchRequest) -> bool {
        let ids = request.wanted.len();
        let full = self.ids > 0 && self.ids + ids > FETCH_IDS_MAX;
        let queue = self.peers.entry(peer).or_default();
        if full || queue.len() >= FETCHES_PER_PEER_MAX {
            if queue.is_empty() {
                self.peers.remove(&peer);
            }
            return false;
        }
        self.ids += ids;
        queue.push_back((id, request));
        true
    }

    /// Takes the next request. Peers take turns.
    pub fn pop(&mut self) -> Option<(PartyId, RequestId, FetchRequest)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.peers.range((after, Bound::Unbounded)).next();
        let peer = *next.or_else(|| self.peers.first_key_value())?.0;
        let queue = self.peers.get_mut(&peer)?;
        let (id, request) = queue.pop_front()?;
        if queue.is_empty() {
            self.peers.remove(&peer);
        }
        self.ids -= request.wanted.len();
        self.last = Some(peer);
        Some((peer, id, request))
    }

    /// Drops the requests of a peer that has disconnected. It repeats them.
    pub fn forget(&mut self, peer: &PartyId) {
        for (_, request) in self.peers.remove(peer).unwrap_or_default() {
            self.ids -= request.wanted.len();
        }
    }

    /// Returns whether no request is queued.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use flow::FlowId;
    use ledger::TxId;
    use primitives::Hash;

    use super::*;

    fn request(ids: usize) -> FetchRequest {
        let id = TxId::from_array([1; 32]);
        FetchRequest {
            root: id,
            wanted: vec![id; ids],
            transactions_max: 1,
            bytes_max: 1,
        }
    }

    #[test]
    fn peers_take_turns_and_each_has_a_limit() {
        let mut queue = FetchQueue::default();
        let [a, b] = [b"a", b"b"].map(|name| PartyId::from_hash(Hash::plain(name)));
        let (first, second) = (a.min(b), a.max(b));
        let id = |effect| RequestId {
            flow: FlowId([1; 16]),
            effect,
        };
        for n in 0..FETCHES_PER_PEER_MAX as u32 {
            assert!(queue.push(first, id(n), request(1)));
        }
        assert!(!queue.push(first, id(1_000), request(1)));
        assert!(queue.push(second, id(0), request(1)));
        let turns: Vec<PartyId> = (0..3)
            .filter_map(|_| queue.pop())
            .map(|(p, ..)| p)
            .collect();
        assert_eq!(turns, [first, second, first]);
        assert!(!queue.push(second, id(0), request(FETCH_IDS_MAX)));
        queue.forget(&first);
        assert!(queue.is_empty() && queue.pop().is_none());
        assert!(
            queue.push(second, id(0), request(FETCH_IDS_MAX + 1)),
            "alone it may be larger"
        );
    }
}
