//! The sending side of session messages: one numbered stream per peer, durable until acknowledged.
//!
//! ```text
//!  push ──> Store ──> Send (after the batch is durable) ──> ack ──> Delete
//!                └─ window full or peer away: a row only, read back by Refill ─┘
//! ```
//!
//! # Invariants
//! - Messages leave in the order of their numbers. A number is never assigned twice, even after a restart. The last
//!   acknowledged row holds the counter, so it is kept until a later row is acknowledged.
//! - Memory holds at most a window of messages that are sent and not acknowledged; none for a peer that is away.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::Monotonic;

use super::BackOff;
use super::back_off::spread;
use super::stream::{Stream, WindowLimits};

/// Limits of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxOptions {
    /// Messages sent to one peer and not acknowledged.
    pub window_messages_max: usize,
    /// Their total bytes; a single larger message is allowed.
    pub window_bytes_max: usize,
    /// The delay after which an unacknowledged window is sent again.
    pub resend: BackOff,
}

impl Default for OutboxOptions {
    fn default() -> OutboxOptions {
        OutboxOptions {
            window_messages_max: 1_024,
            window_bytes_max: 8 << 20,
            resend: BackOff {
                first_ms: 10_000,
                max_ms: 300_000,
            },
        }
    }
}

impl OutboxOptions {
    fn window(&self) -> WindowLimits {
        WindowLimits {
            items_max: self.window_messages_max,
            bytes_max: self.window_bytes_max,
        }
    }
}

/// The actions that the outbox requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxAction {
    /// Write a row in this round's batch.
    Store {
        /// The peer.
        peer: PartyId,
        /// The message's number.
        seq: u64,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Send a message once this round's batch is durable.
    Send {
        /// The peer.
        peer: PartyId,
        /// The message's number.
        seq: u64,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Delete rows, in any later batch.
    Delete {
        /// The peer.
        peer: PartyId,
        /// The first row.
        from: u64,
        /// The last row, inclusive.
        upto: u64,
    },
    /// Read rows after `after` in order, once this round's batch is durable. Always answer with [`Outbox::refilled`].
    Refill {
        /// The peer.
        peer: PartyId,
        /// Rows with greater numbers are read.
        after: u64,
        /// Maximum number of rows.
        limit: usize,
    },
}

/// The streams to all peers.
#[derive(Debug, Default)]
pub struct Outbox {
    options: OutboxOptions,
    peers: BTreeMap<PartyId, Peer>,
    deadlines: BTreeSet<(Monotonic, PartyId)>,
}

#[derive(Debug)]
struct Peer {
    stream: Stream<Vec<u8>>,
    /// The peer has acknowledged everything up to this number.
    acked: u64,
    /// The first row in the store; rows before it are deleted.
    first_row: u64,
}

impl Outbox {
    /// Creates an outbox without streams.
    pub fn new(options: OutboxOptions) -> Outbox {
        Outbox {
            options,
            ..Outbox::default()
        }
    }

    /// Loads the first and last row in the store for a peer, at start.
    pub fn load(&mut self, peer: PartyId, first_row: u64, last_row: u64) {
        let stream = Stream::new(self.options.window(), first_row, last_row);
        self.peers.insert(
            peer,
            Peer {
                stream,
                // Rows are numbered from 1. Zero means that there is no row.
                acked: first_row.saturating_sub(1),
                first_row,
            },
        );
    }

    /// Adds a new message.
    pub fn push(
        &mut self,
        peer: PartyId,
        bytes: Vec<u8>,
        now: Monotonic,
        out: &mut Vec<OutboxAction>,
    ) {
        let seq = self.peer(peer).stream.push(&bytes, bytes.len());
        out.push(OutboxAction::Store { peer, seq, bytes });
        self.go_on(peer, now, out);
    }

    /// Notes that the peer is connected.
    pub fn peer_up(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<OutboxAction>) {
        self.disarm(peer);
        self.peer(peer).stream.peer_up();
        self.go_on(peer, now, out);
    }

    /// Notes that the peer is away.
    pub fn peer_down(&mut self, peer: PartyId) {
        self.disarm(peer);
        self.peer(peer).stream.peer_down();
    }

    /// Notes that the peer has durably taken everything up to a number. Returns false for a number that was never assigned:
    /// then this node's store is older than the peer's.
    pub fn ack(
        &mut self,
        peer: PartyId,
        upto: u64,
        now: Monotonic,
        out: &mut Vec<OutboxAction>,
    ) -> bool {
        let known = self.peer(peer);
        if upto > known.stream.last() {
            return false;
        }
        if upto <= known.acked {
            return true;
        }
        known.acked = upto;
        known.stream.remove_upto(upto);
        let from = known.first_row.max(1);
        if from < upto {
            known.first_row = upto;
            out.push(OutboxAction::Delete {
                peer,
                from,
                upto: upto - 1,
            });
        }
        self.disarm(peer);
        self.go_on(peer, now, out);
        true
    }

    /// Returns the last number assigned for a peer.
    pub fn last(&self, peer: &PartyId) -> u64 {
        self.peers.get(peer).map_or(0, |known| known.stream.last())
    }

    /// Returns the highest number that a peer has acknowledged, as far as this node knows.
    pub fn acked(&self, peer: &PartyId) -> u64 {
        self.peers.get(peer).map_or(0, |known| known.acked)
    }

    /// Continues the stream after a number that the peer has taken and this node never assigned. All rows are deleted, even
    /// unacknowledged ones. The peer must be away, or not yet reported as connected. The caller refuses numbers that no stream
    /// can reach.
    pub fn renumber(&mut self, peer: PartyId, taken: u64, out: &mut Vec<OutboxAction>) {
        self.disarm(peer);
        let known = self.peer(peer);
        let (from, upto) = (known.first_row.max(1), known.stream.last());
        if from <= upto {
            out.push(OutboxAction::Delete { peer, from, upto });
        }
        // An empty row holds the counter across a restart, as the last acknowledged row does.
        let (seq, bytes) = (taken, Vec::new());
        out.push(OutboxAction::Store { peer, seq, bytes });
        let stream = Stream::new(self.options.window(), taken + 1, taken);
        let renumbered = Peer {
            stream,
            acked: taken,
            first_row: taken,
        };
        self.peers.insert(peer, renumbered);
    }

    /// Takes the rows that were read for a refill, in order; call it even if there are none. `more`: the store may hold
    /// further rows within the requested limit.
    pub fn refilled(
        &mut self,
        peer: PartyId,
        rows: Vec<(u64, Vec<u8>)>,
        more: bool,
        now: Monotonic,
        out: &mut Vec<OutboxAction>,
    ) {
        let rows = rows.into_iter().map(|(seq, bytes)| {
            let size = bytes.len();
            (seq, bytes, size)
        });
        self.peer(peer).stream.refilled(rows, more);
        self.go_on(peer, now, out);
    }

    /// Returns the next moment at which [`timer`](Outbox::timer) has work to do.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Sends windows again that were not acknowledged in time.
    pub fn timer(&mut self, now: Monotonic, out: &mut Vec<OutboxAction>) {
        while let Some((at, peer)) = self.deadlines.first().copied() {
            if at > now {
                break;
            }
            self.disarm(peer);
            self.peer(peer).stream.send_again();
            self.go_on(peer, now, out);
        }
    }

    /// Counts the messages not acknowledged, for a gauge.
    pub fn pending(&self, peer: &PartyId) -> u64 {
        self.peers
            .get(peer)
            .map_or(0, |known| known.stream.last() - known.acked)
    }

    fn peer(&mut self, peer: PartyId) -> &mut Peer {
        let window = self.options.window();
        self.peers.entry(peer).or_insert_with(|| Peer {
            stream: Stream::new(window, 0, 0),
            acked: 0,
            first_row: 0,
        })
    }

    /// Sends new entries of the window, requests rows and sets the timer.
    fn go_on(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<OutboxAction>) {
        let resend = self.options.resend;
        let stream = &mut self.peer(peer).stream;
        for (seq, bytes, _) in stream.take_unsent() {
            out.push(OutboxAction::Send {
                peer,
                seq,
                bytes: bytes.clone(),
            });
        }
        if let Some((after, limit)) = stream.refill() {
            out.push(OutboxAction::Refill { peer, after, limit });
        }
        if stream.deadline.is_none() && stream.in_flight() > 0 {
            let at = now.after_ms(resend.delay_ms(stream.attempts, spread(&peer)));
            stream.deadline = Some(at);
            self.deadlines.insert((at, peer));
        }
    }

    fn disarm(&mut self, peer: PartyId) {
        if let Some(at) = self.peer(peer).stream.deadline.take() {
            self.deadlines.remove(&(at, peer));
        }
    }
}
