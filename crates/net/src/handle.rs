//! The handle through which other threads send.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ledger::PartyId;
use tokio::runtime;

use crate::dial;
use crate::history::PeerEvent;
use crate::link::INLINE_BYTES;
use crate::metrics::{Counter, NetFigures};
use crate::options::PeerAddress;
use crate::outbox::Sent;
use crate::peer::Peer;
use crate::shared::TransportState;

/// Sends, from any thread; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<TransportState>,
    pub(crate) runtime: runtime::Handle,
    pub(crate) address: SocketAddr,
}

/// The outcome of one [`Handle::send_many`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Messages that are queued or were sent.
    pub queued: usize,
    /// Messages dropped because the queue of their peer is full.
    pub full: usize,
    /// Messages dropped because their peer is not connected or not known.
    pub down: usize,
    /// Messages dropped because they exceed the message limit of their peer.
    pub too_large: usize,
}

/// A peer and the state of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// The peer.
    pub peer: PartyId,
    /// The remote address of the connection, if there is one.
    pub address: Option<SocketAddr>,
    /// Bytes queued for the peer, plus 64 for each message.
    pub queued_bytes: usize,
    /// The software version that the peer named in its last hello.
    pub software: Option<String>,
    /// The peer's clock minus ours at the last hello, in milliseconds. It is too low by up to the duration of the handshake.
    pub clock_offset_ms: Option<i64>,
    /// The remaining time for which the peer is cut off, if it is.
    pub cut_off_for: Option<Duration>,
}

impl Handle {
    /// Returns the address on which this node listens.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message; see [`Handle::send_many`].
    pub fn send(&self, peer: &PartyId, priority: u8, message: Vec<u8>) -> Sent {
        let peers = self.shared.peers();
        let Some(known) = peers.get(peer) else {
            self.shared.counters.dropped_down.add(1);
            return Sent::Unknown;
        };
        let mut report = SendReport::default();
        let sent = known.outbox().push(priority, message);
        report.count(sent);
        self.shared.note_dropped(&report);
        if sent == Sent::Queued {
            self.shared.pump(known);
        }
        sent
    }

    /// Sends messages: peer, priority (0 the most urgent, 3 the least) and bytes. Messages of one peer and one
    /// priority arrive in order, each once or not at all. Never blocks; a message that cannot be queued is dropped
    /// and counted.
    ///
    /// Everything for one peer goes with one write, on the calling thread if the connection is free.
    pub fn send_many(
        &self,
        messages: impl IntoIterator<Item = (PartyId, u8, Vec<u8>)>,
    ) -> SendReport {
        let peers = self.shared.peers();
        let mut report = SendReport::default();
        let mut touched: Vec<&Arc<Peer>> = Vec::new();
        let mut messages = messages.into_iter().peekable();
        while let Some((id, priority, message)) = messages.next() {
            let Some(peer) = peers.get(&id) else {
                report.down += 1;
                continue;
            };
            let mut outbox = peer.outbox();
            report.count(outbox.push(priority, message));
            while let Some((_, priority, message)) = messages.next_if(|next| next.0 == id) {
                report.count(outbox.push(priority, message));
            }
            drop(outbox);
            if !touched.iter().any(|known| Arc::ptr_eq(known, peer)) {
                touched.push(peer);
            }
        }
        for peer in touched {
            self.shared.pump(peer);
        }
        self.shared.note_dropped(&report);
        report
    }

    /// Returns whether a message of this size would be dropped because the peer's queue is full.
    pub fn is_full(&self, peer: &PartyId, message_bytes: usize) -> bool {
        let peers = self.shared.peers();
        peers
            .get(peer)
            .is_some_and(|peer| peer.outbox().is_full_for(message_bytes))
    }

    /// Replaces the list of the other nodes of the network. Connections to nodes that are not in it end.
    pub fn set_peers(&self, wanted: Vec<PeerAddress>) {
        let me = self.shared.me;
        let mut peers = self.shared.peers_mut();
        let mut kept = HashMap::with_capacity(wanted.len());
        for address in wanted.into_iter().filter(|peer| peer.id != me) {
            let id = address.id;
            if let Some(known) = peers.remove(&id) {
                known.set_addresses(address.addresses);
                kept.insert(id, known);
                continue;
            }
            let peer = Peer::new(address, self.shared.limits.queue_bytes_max);
            let peer = kept.entry(id).or_insert_with(|| Arc::new(peer));
            if me < id {
                self.runtime
                    .spawn(dial::dial(Arc::clone(&self.shared), Arc::clone(peer)));
            }
        }
        let gone = std::mem::replace(&mut *peers, kept);
        drop(peers);
        gone.values().for_each(|peer| peer.retire());
    }

    /// Announces this node to the peers that have to dial it, because it has taken the place of another process, which they may still be
    /// connected to. Each pings that process, and dials again if there is no answer.
    pub fn announce(&self) {
        let peers = self.shared.peers();
        let dialled_by = peers.values().filter(|peer| peer.id < self.shared.me);
        for peer in dialled_by {
            let announced = dial::announce(Arc::clone(&self.shared), Arc::clone(peer));
            self.runtime.spawn(announced);
        }
    }

    /// Cuts a peer off: ends its connection, and refuses new ones for the given time. Both sides keep their unacknowledged messages.
    pub fn cut_off(&self, peer: &PartyId, time: Duration) {
        if let Some(known) = self.shared.peers().get(peer) {
            known.cut_off(time);
        }
    }

    /// Returns the bytes queued for the peer, plus 64 for each message.
    pub fn queued_bytes(&self, peer: &PartyId) -> usize {
        let peers = self.shared.peers();
        peers.get(peer).map_or(0, |peer| peer.outbox().bytes())
    }

    /// The peers, in order of their ids.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let peers = self.shared.peers();
        let status = |peer: &Arc<Peer>| {
            let met = peer.met();
            PeerStatus {
                peer: peer.id,
                address: peer.link().map(|link| link.address),
                queued_bytes: peer.outbox().bytes(),
                clock_offset_ms: met.as_ref().map(|met| met.clock_offset_ms),
                software: met.map(|met| met.software),
                cut_off_for: peer.cut_off_for(),
            }
        };
        let mut all: Vec<PeerStatus> = peers.values().map(status).collect();
        all.sort_unstable_by_key(|status| status.peer);
        all
    }

    /// Returns the last events of the connection with a peer, or with each peer, oldest first. At most
    /// [`HISTORY_MAX`](crate::HISTORY_MAX) of each are kept, from this run.
    pub fn history(&self, peer: Option<&PartyId>) -> Vec<(PartyId, Vec<PeerEvent>)> {
        let known = self.shared.peers();
        let wanted = known
            .values()
            .filter(|known| peer.is_none_or(|peer| known.id == *peer));
        let wanted: Vec<Arc<Peer>> = wanted.map(Arc::clone).collect();
        // The events are copied without the lock, for which senders may wait.
        drop(known);
        wanted
            .iter()
            .map(|peer| (peer.id, peer.history()))
            .collect()
    }

    /// Returns whether the peer is connected.
    pub fn is_connected(&self, peer: &PartyId) -> bool {
        self.shared
            .peers()
            .get(peer)
            .is_some_and(|peer| peer.outbox().is_up())
    }

    /// Returns the counters since the start.
    pub fn figures(&self) -> NetFigures {
        self.shared.counters.figures()
    }
}

impl SendReport {
    fn count(&mut self, sent: Sent) {
        match sent {
            Sent::Queued => self.queued += 1,
            Sent::Full => self.full += 1,
            Sent::Down | Sent::Unknown => self.down += 1,
            Sent::TooLarge => self.too_large += 1,
        }
    }
}

impl TransportState {
    fn pump(&self, peer: &Peer) {
        if let Some(link) = peer.link() {
            if self.linger.is_zero() {
                link.pump(INLINE_BYTES);
            } else {
                link.wake.notify_one();
            }
        }
    }

    fn note_dropped(&self, report: &SendReport) {
        let add = |counter: &Counter, count: usize| {
            if count > 0 {
                counter.add(count as u64);
            }
        };
        add(&self.counters.dropped_full, report.full);
        add(&self.counters.dropped_down, report.down);
        add(&self.counters.dropped_too_large, report.too_large);
    }
}
