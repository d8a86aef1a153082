//! The connected peers, their status, and their serving budgets.

use std::collections::BTreeMap;

use super::serving_budget::PeerServing;
use super::timeouts::TimeoutStreak;
use crate::ChainTime;
use crate::core::PeerId;
use crate::core::limits::PEERS_MAX;
use crate::core::part::Part;
use crate::message::Status;

/// The state of a connected peer.
#[derive(Clone, Debug)]
pub(in crate::core) struct Peer {
    /// The last status that it sent, if any.
    pub(in crate::core) status: Option<Status>,
    /// Time of the next status question to it.
    pub(in crate::core) status_due: ChainTime,
    /// Time before which its branch is not downloaded.
    pub(in crate::core) back_off_until: ChainTime,
    /// Time before which it is asked for no bodies, because it reported that it is busy.
    pub(in crate::core) busy_until: ChainTime,
    /// Open questions to it.
    pub(in crate::core) in_flight: usize,
    /// Number of peers that had been asked for headers when it was last asked, or when it connected.
    pub(in crate::core) last_header_request: u64,
    /// Consecutive failures of its branch.
    pub(in crate::core) failures: u32,
    /// Whether it has delivered a body that joined the chain, or may join it.
    pub(in crate::core) has_delivered: bool,
    /// Its consecutive timeouts.
    timeouts: TimeoutStreak,
    /// Refused transactions and rates that it sent since the last comparison of pools.
    pub(in crate::core) refused_count: u32,
    /// Whether the operator was told that its branch forks off too deep to be judged.
    pub(in crate::core) deep_fork_reported: bool,
    /// The budget for answers to it.
    pub(super) serving: PeerServing,
}

/// The connected peers, in the order of their keys. A choice among them depends on no other order.
#[derive(Debug, Default)]
pub(in crate::core) struct Peers {
    all: BTreeMap<PeerId, Peer>,
    /// The time at which the first of them was connected.
    since: ChainTime,
    /// The last time at which any peer answered.
    last_answer: ChainTime,
    /// The peer that pools were compared with last.
    compared: Option<PeerId>,
}

impl Peers {
    /// Tracks a peer. Returns false beyond the limit. `asked` peers have been asked for headers so far: the peer gets its turn after
    /// those that are connected, so a new connection gains nothing.
    pub(in crate::core) fn add(&mut self, id: PeerId, asked: u64, now: ChainTime) -> bool {
        if self.all.len() >= PEERS_MAX && !self.all.contains_key(&id) {
            return false;
        }
        if self.all.is_empty() {
            self.since = now;
        }
        self.all.entry(id).or_insert(Peer {
            status: None,
            status_due: now,
            back_off_until: ChainTime::GENESIS,
            busy_until: ChainTime::GENESIS,
            in_flight: 0,
            last_header_request: asked,
            failures: 0,
            has_delivered: false,
            timeouts: TimeoutStreak::default(),
            refused_count: 0,
            deep_fork_reported: false,
            serving: PeerServing::new(now),
        });
        true
    }

    /// Counts a question that a peer did not answer in time. Returns true if the peer must be disconnected: it has not answered for
    /// too long, and other peers have.
    pub(super) fn request_timed_out(&mut self, id: &PeerId, now: ChainTime) -> bool {
        let last_answer = self.last_answer;
        let Some(peer) = self.all.get_mut(id) else {
            return false;
        };
        let is_over = peer.timeouts.count(now, last_answer);
        if is_over {
            peer.timeouts = TimeoutStreak::default();
        }
        is_over
    }

    /// Resets the count after an answer.
    pub(super) fn peer_answered(&mut self, id: &PeerId, now: ChainTime) {
        self.last_answer = now;
        if let Some(peer) = self.all.get_mut(id) {
            peer.timeouts = TimeoutStreak::default();
        }
    }

    pub(in crate::core) fn get(&self, id: &PeerId) -> Option<&Peer> {
        self.all.get(id)
    }

    pub(in crate::core) fn get_mut(&mut self, id: &PeerId) -> Option<&mut Peer> {
        self.all.get_mut(id)
    }

    pub(in crate::core) fn iter(&self) -> impl Iterator<Item = (&PeerId, &Peer)> {
        self.all.iter()
    }

    pub(in crate::core) fn iter_mut(&mut self) -> impl Iterator<Item = (&PeerId, &mut Peer)> {
        self.all.iter_mut()
    }

    pub(in crate::core) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the time since which at least one peer has been connected.
    pub(in crate::core) fn connected_since(&self) -> ChainTime {
        self.since
    }

    /// Returns the next peer to compare pools with, in turn.
    pub(in crate::core) fn next_to_compare(&mut self) -> Option<PeerId> {
        let after = self.compared.and_then(|last| {
            self.all
                .range((std::ops::Bound::Excluded(last), std::ops::Bound::Unbounded))
                .next()
        });
        let next = after
            .or_else(|| self.all.first_key_value())
            .map(|(id, _)| *id);
        self.compared = next;
        next
    }
}

impl Part for Peers {
    fn peer_down(&mut self, peer: &PeerId) {
        self.all.remove(peer);
    }
}
