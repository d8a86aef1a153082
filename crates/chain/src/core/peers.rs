//! The connected peers, their status, and their serving budgets.

use std::collections::BTreeMap;

use super::PeerId;
use super::limits::PEERS_MAX;
use super::serving_budget::ServingBudget;
use super::silence::Silence;
use crate::message::Status;

/// The state of a connected peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// The last status that it sent, if any.
    pub(super) status: Option<Status>,
    /// Time of the next status question to it.
    pub(super) status_due_ms: u64,
    /// Time before which it is not followed.
    pub(super) cool_until_ms: u64,
    /// Time before which it is asked for no bodies, because it reported that it is busy.
    pub(super) busy_until_ms: u64,
    /// Open questions to it.
    pub(super) asked: usize,
    /// Number of peers that had been asked for headers when it was last asked, or zero if it was not.
    pub(super) asked_last: u64,
    /// Failures in a row of its branch.
    pub(super) failures: u32,
    /// Its unanswered questions in a row.
    pub(super) silence: Silence,
    /// Refused transactions that it sent since the last count.
    pub(super) useless: u32,
    /// Whether the operator was told that its branch forks off too deep to be judged.
    pub(super) too_deep_said: bool,
    /// The budget for answers to it.
    pub(super) serving: ServingBudget,
}

/// The connected peers, in the order of their keys. A choice among them depends on no other order.
#[derive(Debug, Default)]
pub(super) struct Peers {
    all: BTreeMap<PeerId, Peer>,
    /// The time at which the first of them was connected.
    since_ms: u64,
    /// The peer that pools were compared with last.
    compared: Option<PeerId>,
}

impl Peers {
    /// Tracks a peer. Returns false beyond the limit.
    pub(super) fn add(&mut self, id: PeerId, now_ms: u64) -> bool {
        if self.all.len() >= PEERS_MAX && !self.all.contains_key(&id) {
            return false;
        }
        if self.all.is_empty() {
            self.since_ms = now_ms;
        }
        self.all.entry(id).or_insert(Peer {
            status: None,
            status_due_ms: now_ms,
            cool_until_ms: 0,
            busy_until_ms: 0,
            asked: 0,
            asked_last: 0,
            failures: 0,
            silence: Silence::default(),
            useless: 0,
            too_deep_said: false,
            serving: ServingBudget::of_peer(now_ms),
        });
        true
    }

    pub(super) fn remove(&mut self, id: &PeerId) {
        self.all.remove(id);
    }

    pub(super) fn get(&self, id: &PeerId) -> Option<&Peer> {
        self.all.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &PeerId) -> Option<&mut Peer> {
        self.all.get_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&PeerId, &Peer)> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&PeerId, &mut Peer)> {
        self.all.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the time since which at least one peer has been connected.
    pub(super) fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Returns the next peer to compare pools with, in turn.
    pub(super) fn next_to_compare(&mut self) -> Option<PeerId> {
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
