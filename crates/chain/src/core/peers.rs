//! Who is connected, where they stand, and what they may still be served.

use std::collections::BTreeMap;

use super::PeerId;
use super::limits::PEERS_MAX;
use super::serving_budget::ServingBudget;
use super::silence::Silence;
use crate::message::Status;

/// What is known of a connected peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Where it said that it stands, if it has.
    pub(super) status: Option<Status>,
    /// When it is asked next where it stands.
    pub(super) status_due_ms: u64,
    /// It is not followed before this.
    pub(super) cool_until_ms: u64,
    /// It said that it has no room for more answers: it is asked for no bodies before this.
    pub(super) busy_until_ms: u64,
    /// Questions under way to it.
    pub(super) asked: usize,
    /// Its place in the order in which peers were asked for headers; zero if it was not.
    pub(super) asked_last: u64,
    /// Times in a row that its branch led nowhere.
    pub(super) failures: u32,
    /// Questions in a row that it did not answer.
    pub(super) silence: Silence,
    /// Refused transactions that it brought since the last count.
    pub(super) useless: u32,
    /// It has been said that its branch forks off too deep to be judged.
    pub(super) too_deep_said: bool,
    /// Answers that it may still get.
    pub(super) serving: ServingBudget,
}

/// The connected peers, in the order of their keys: what is chosen among them depends on nothing else.
#[derive(Debug, Default)]
pub(super) struct Peers {
    all: BTreeMap<PeerId, Peer>,
    /// The time at which the first of them was connected.
    since_ms: u64,
    /// With whom pools were compared last.
    compared: Option<PeerId>,
}

impl Peers {
    /// Takes account of a peer; false beyond the limit.
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

    /// The time since which at least one peer has been connected.
    pub(super) fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// The next peer to compare pools with: one after the other.
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
