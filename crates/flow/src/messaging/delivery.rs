//! Deliveries of final transactions: owed to each participant until it answers, whether or not a flow still lives.
//!
//! ```text
//!  push ──> Store ──> Send (after the batch is durable) ──> delivered / refused ──> Delete, Waiters hear of it
//!                └─ window full or peer away: a row only, read back by Refill ─┘
//! ```
//!
//! # Invariants
//! - A row is deleted only once its participant has answered.
//! - In memory is at most a window of ids per connected peer, and [`ASIDE_MAX`](super::ASIDE_MAX) that it leaves unanswered; for a
//!   peer that is away, nothing.
//! - What a peer leaves unanswered keeps nothing else from it: once others have overtaken it, or a timer has passed, it takes no
//!   room in the window.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ledger::{PartyId, Rejection, TxId};
use primitives::Monotonic;

use super::BackOff;
use super::back_off::{later, spread};
use super::stream::{Stream, WindowLimits};
use super::waiters::Waiters;

/// A transaction is overtaken when the peer has answered one that came so many after it: this part of a window.
const OVERTAKEN_SHARE: usize = 8;

/// Limits of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// Transactions sent to one peer and not answered.
    pub window_transactions_max: usize,
    /// Their bytes; one transaction may exceed it alone.
    pub window_bytes_max: usize,
    /// Bytes of transactions in one message; one transaction may exceed it alone.
    pub message_bytes_max: usize,
    /// When a window without an answer is sent again.
    pub resend: BackOff,
}

impl Default for DeliveryOptions {
    fn default() -> DeliveryOptions {
        DeliveryOptions {
            window_transactions_max: 1_024,
            // Enough for a millisecond's round trip at far more than a node verifies; decoded it takes several times as much.
            window_bytes_max: 2 << 20,
            message_bytes_max: 512 << 10,
            resend: BackOff {
                first_ms: 10_000,
                max_ms: 600_000,
            },
        }
    }
}

impl DeliveryOptions {
    fn window(&self) -> WindowLimits {
        WindowLimits {
            items_max: self.window_transactions_max,
            bytes_max: self.window_bytes_max,
        }
    }
}

/// A row of the pending deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingDelivery {
    /// The row's number.
    pub seq: u64,
    /// The transaction.
    pub transaction: TxId,
    /// Its size in bytes.
    pub bytes: usize,
}

/// What the deliveries ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryAction {
    /// Write a row in this round's batch.
    Store {
        /// The participant.
        peer: PartyId,
        /// The row's number.
        seq: u64,
        /// The transaction.
        transaction: TxId,
    },
    /// Delete a row in this round's batch.
    Delete {
        /// The participant.
        peer: PartyId,
        /// The row's number.
        seq: u64,
    },
    /// Send these transactions in one message, once this round's batch is durable.
    Send {
        /// The participant.
        peer: PartyId,
        /// The transactions, in the order recorded.
        transactions: Vec<TxId>,
    },
    /// Read rows after `after` in order, once this round's batch is durable, and answer with [`Deliveries::refilled`],
    /// always.
    Refill {
        /// The participant.
        peer: PartyId,
        /// Rows with greater numbers are wanted.
        after: u64,
        /// At most so many.
        limit: usize,
    },
    /// Every participant has answered, and that is durable once this round's batch is.
    AllAnswered {
        /// Who waits.
        token: u64,
        /// The transaction.
        transaction: TxId,
        /// The participants that refused it, in order.
        refused: Vec<(PartyId, Rejection)>,
    },
    /// A participant refused a transaction; for the log. It undoes nothing.
    Refused {
        /// The participant.
        peer: PartyId,
        /// The transaction.
        transaction: TxId,
        /// Why.
        rejection: Rejection,
    },
}

/// The pending deliveries to all peers.
#[derive(Debug, Default)]
pub struct Deliveries {
    options: DeliveryOptions,
    peers: BTreeMap<PartyId, Participant>,
    deadlines: BTreeSet<(Monotonic, PartyId)>,
    /// Peers to look after at the end of the round.
    ready: BTreeSet<PartyId>,
    waiters: Waiters,
}

#[derive(Debug)]
struct Participant {
    stream: Stream<TxId>,
    by_id: HashMap<TxId, u64>,
}

impl Participant {
    fn set_aside(&mut self, before: u64) {
        for forgotten in self.stream.set_aside(before) {
            self.by_id.remove(&forgotten);
        }
    }
}

impl Deliveries {
    /// Nothing owed to anybody.
    pub fn new(options: DeliveryOptions) -> Deliveries {
        Deliveries {
            options,
            ..Deliveries::default()
        }
    }

    /// At start: the first and last row in the store for a peer.
    pub fn load(&mut self, peer: PartyId, first_row: u64, last_row: u64) {
        let stream = Stream::new(self.options.window(), first_row, last_row);
        self.peers.insert(
            peer,
            Participant {
                stream,
                by_id: HashMap::new(),
            },
        );
    }

    /// Owes a recorded transaction to a participant.
    pub fn push(
        &mut self,
        peer: PartyId,
        transaction: TxId,
        bytes: usize,
        out: &mut Vec<DeliveryAction>,
    ) {
        let seq = self.peer(peer).stream.push(&transaction, bytes);
        out.push(DeliveryAction::Store {
            peer,
            seq,
            transaction,
        });
        self.ready.insert(peer);
    }

    /// Registers a waiter: it hears once all of `participants` have answered. One without participants hears at once.
    pub fn wait(
        &mut self,
        transaction: TxId,
        participants: &[PartyId],
        token: u64,
        out: &mut Vec<DeliveryAction>,
    ) {
        self.waiters.wait(transaction, participants, token, out);
    }

    /// Forgets a waiter that no longer waits. The delivery goes on.
    pub fn forget(&mut self, token: u64) {
        self.waiters.forget(token);
    }

    /// The peer is connected.
    pub fn peer_up(&mut self, peer: PartyId) {
        self.disarm(peer);
        let participant = self.peer(peer);
        participant.stream.peer_up();
        participant.by_id.clear();
        self.ready.insert(peer);
    }

    /// The peer is away.
    pub fn peer_down(&mut self, peer: PartyId) {
        self.disarm(peer);
        let participant = self.peer(peer);
        participant.stream.peer_down();
        participant.by_id = HashMap::new();
    }

    /// The peer has durably recorded transactions.
    pub fn delivered(
        &mut self,
        peer: PartyId,
        transactions: &[TxId],
        out: &mut Vec<DeliveryAction>,
    ) {
        for transaction in transactions {
            if self.answered(peer, transaction, out) {
                self.waiters.tell(peer, transaction, None, out);
            }
        }
    }

    /// The peer refuses a transaction for good.
    pub fn refused(
        &mut self,
        peer: PartyId,
        transaction: TxId,
        rejection: Rejection,
        out: &mut Vec<DeliveryAction>,
    ) {
        if self.answered(peer, &transaction, out) {
            let told = rejection.clone();
            out.push(DeliveryAction::Refused {
                peer,
                transaction,
                rejection: told,
            });
            self.waiters.tell(peer, &transaction, Some(rejection), out);
        }
    }

    /// Rows that were read for a refill, in order; also when there were none. `more`: there may be others after them that were
    /// asked for as well.
    pub fn refilled(&mut self, peer: PartyId, rows: Vec<PendingDelivery>, more: bool) {
        let rows = rows
            .into_iter()
            .map(|row| (row.seq, row.transaction, row.bytes));
        self.peer(peer).stream.refilled(rows, more);
        self.ready.insert(peer);
    }

    /// Ends a round: sends what came into the windows, in messages of limited size.
    pub fn end_of_round(&mut self, now: Monotonic, out: &mut Vec<DeliveryAction>) {
        for peer in std::mem::take(&mut self.ready) {
            self.go_on(peer, now, out);
        }
    }

    /// The next moment at which [`timer`](Deliveries::timer) has something to do.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Has windows sent again that were not answered in time; call [`end_of_round`](Deliveries::end_of_round) after it.
    pub fn timer(&mut self, now: Monotonic) {
        while let Some((at, peer)) = self.deadlines.first().copied() {
            if at > now {
                break;
            }
            self.disarm(peer);
            let participant = self.peer(peer);
            participant.set_aside(u64::MAX);
            participant.stream.send_again();
            self.ready.insert(peer);
        }
    }

    /// Whether something may be owed to the peer that is not in flight.
    pub fn has_backlog(&self, peer: &PartyId) -> bool {
        self.peers
            .get(peer)
            .is_some_and(|participant| participant.stream.has_backlog())
    }

    /// Transactions sent to the peer and not answered, for a gauge.
    pub fn in_flight(&self, peer: &PartyId) -> usize {
        self.peers
            .get(peer)
            .map_or(0, |participant| participant.stream.in_flight())
    }

    /// Transactions that the peer leaves unanswered while it answers others, or for as long as a timer.
    pub fn aside(&self, peer: &PartyId) -> usize {
        self.peers
            .get(peer)
            .map_or(0, |participant| participant.stream.aside())
    }

    fn peer(&mut self, peer: PartyId) -> &mut Participant {
        let window = self.options.window();
        self.peers.entry(peer).or_insert_with(|| Participant {
            stream: Stream::new(window, 0, 0),
            by_id: HashMap::new(),
        })
    }

    /// Removes an answered transaction from the window; whether it was there.
    fn answered(
        &mut self,
        peer: PartyId,
        transaction: &TxId,
        out: &mut Vec<DeliveryAction>,
    ) -> bool {
        let Some(participant) = self.peers.get_mut(&peer) else {
            return false;
        };
        let Some(seq) = participant.by_id.remove(transaction) else {
            return false;
        };
        if participant.stream.remove(seq).is_none() {
            return false;
        }
        let overtaken = (self.options.window_transactions_max / OVERTAKEN_SHARE).max(1) as u64;
        participant.set_aside(seq.saturating_sub(overtaken));
        out.push(DeliveryAction::Delete { peer, seq });
        self.disarm(peer);
        self.ready.insert(peer);
        true
    }

    /// Sends what came into the window, asks for rows, sets the timer.
    fn go_on(&mut self, peer: PartyId, now: Monotonic, out: &mut Vec<DeliveryAction>) {
        let DeliveryOptions {
            message_bytes_max,
            resend,
            ..
        } = self.options;
        let Participant { stream, by_id } = self.peer(peer);
        let mut transactions = Vec::new();
        let mut size = 0usize;
        for (seq, transaction, bytes) in stream.take_unsent() {
            if !transactions.is_empty() && size + bytes > message_bytes_max {
                let transactions = std::mem::take(&mut transactions);
                out.push(DeliveryAction::Send { peer, transactions });
                size = 0;
            }
            size += bytes;
            transactions.push(*transaction);
            by_id.insert(*transaction, seq);
        }
        if !transactions.is_empty() {
            out.push(DeliveryAction::Send { peer, transactions });
        }
        if let Some((after, limit)) = stream.refill() {
            out.push(DeliveryAction::Refill { peer, after, limit });
        }
        if stream.deadline.is_none() && stream.in_flight() > 0 {
            let at = later(now, resend.delay_ms(stream.attempts, spread(&peer)));
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
