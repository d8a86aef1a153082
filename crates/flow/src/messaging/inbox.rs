//! The receiving side of session messages: in order, once, with a durable cursor per peer.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;

/// Maximum number of messages of one peer that arrived out of order and are kept.
pub const INBOX_EARLY_MAX: usize = 64;

/// The actions that the inbox requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxAction {
    /// Hand a message to its session.
    Deliver {
        /// The sender.
        peer: PartyId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Write the peer's cursor in this round's batch.
    StoreCursor {
        /// The peer.
        peer: PartyId,
        /// The life of the peer's store that the numbers belong to.
        epoch: u64,
        /// Everything up to this number has been taken.
        upto: u64,
    },
    /// Acknowledge once this round's batch is durable.
    Ack {
        /// The peer.
        peer: PartyId,
        /// Everything up to this number has been taken.
        upto: u64,
    },
}

/// The cursors of all peers.
#[derive(Debug, Default)]
pub struct Inbox {
    peers: BTreeMap<PartyId, Cursor>,
    /// Peers to acknowledge at the end of the round, and whether their cursor moved.
    owed: BTreeMap<PartyId, bool>,
    up: BTreeSet<PartyId>,
}

#[derive(Debug, Default)]
struct Cursor {
    epoch: u64,
    upto: u64,
    early: BTreeMap<u64, Vec<u8>>,
}

impl Inbox {
    /// Creates an inbox without cursors.
    pub fn new() -> Inbox {
        Inbox::default()
    }

    /// Loads a peer's cursor from the store, at start.
    pub fn load(&mut self, peer: PartyId, epoch: u64, upto: u64) {
        self.peers.insert(
            peer,
            Cursor {
                epoch,
                upto,
                early: BTreeMap::new(),
            },
        );
    }

    /// Notes that the peer is connected. `epoch` identifies the life of its store; in a new one its numbers start again.
    pub fn peer_up(&mut self, peer: PartyId, epoch: u64) {
        let cursor = self.peers.entry(peer).or_default();
        cursor.early.clear();
        let fresh = cursor.epoch != epoch;
        if fresh {
            *cursor = Cursor {
                epoch,
                ..Cursor::default()
            };
        }
        self.up.insert(peer);
        *self.owed.entry(peer).or_default() |= fresh;
    }

    /// Returns the epoch of a peer's stream and its cursor: every message up to that number was taken.
    pub fn taken(&self, peer: &PartyId) -> (u64, u64) {
        let cursor = self.peers.get(peer);
        cursor.map_or((0, 0), |cursor| (cursor.epoch, cursor.upto))
    }

    /// Continues after a number of the peer's stream, because the peer no longer has the messages before it. Returns
    /// whether any message was skipped.
    pub fn skip_to(&mut self, peer: PartyId, upto: u64) -> bool {
        let cursor = self.peers.entry(peer).or_default();
        if upto <= cursor.upto {
            return false;
        }
        cursor.upto = upto;
        cursor.early.clear();
        self.owed.insert(peer, true);
        true
    }

    /// Notes that the peer is away.
    pub fn peer_down(&mut self, peer: &PartyId) {
        self.up.remove(peer);
        if let Some(cursor) = self.peers.get_mut(peer) {
            cursor.early.clear();
        }
    }

    /// Takes a message. A duplicate is acknowledged again. A message that arrives early is kept if there is room;
    /// otherwise the peer sends it again.
    pub fn message(&mut self, peer: PartyId, seq: u64, bytes: Vec<u8>, out: &mut Vec<InboxAction>) {
        if !self.up.contains(&peer) {
            return;
        }
        let cursor = self.peers.entry(peer).or_default();
        let owed = self.owed.entry(peer).or_default();
        if seq <= cursor.upto {
            return;
        }
        if seq != cursor.upto + 1 {
            if cursor.early.len() < INBOX_EARLY_MAX {
                cursor.early.insert(seq, bytes);
            }
            return;
        }
        *owed = true;
        cursor.upto = seq;
        out.push(InboxAction::Deliver { peer, bytes });
        while let Some(next) = cursor.early.remove(&(cursor.upto + 1)) {
            cursor.upto += 1;
            out.push(InboxAction::Deliver { peer, bytes: next });
        }
    }

    /// Ends a round: stores one cursor and sends one acknowledgement for each peer that sent something.
    pub fn end_of_round(&mut self, out: &mut Vec<InboxAction>) {
        for (peer, moved) in std::mem::take(&mut self.owed) {
            let Some(cursor) = self.peers.get(&peer) else {
                continue;
            };
            let (epoch, upto) = (cursor.epoch, cursor.upto);
            if moved {
                out.push(InboxAction::StoreCursor { peer, epoch, upto });
            }
            if self.up.contains(&peer) {
                out.push(InboxAction::Ack { peer, upto });
            }
        }
    }
}
