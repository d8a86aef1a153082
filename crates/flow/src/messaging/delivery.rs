//! Deliveries of final transactions. They are owed to each participant until it answers, even after the flow has ended.
//!
//! ```text
//!  push ──> Store ──> Send (after the batch is durable) ──> delivered / refused ──> Delete, Waiters hear of it
//!                └─ window full or peer away: a row only, read back by Refill ─┘
//! ```
//!
//! # Invariants
//! - A row is deleted only once its participant has answered.
//! - Memory holds at most a window of ids per connected peer, plus [`ASIDE_MAX`](super::ASIDE_MAX) ids that it leaves unanswered.
//!   It holds nothing for a peer that is away.
//! - An unanswered transaction does not block others: once others have overtaken it, or a timer has passed, it takes no room in
//!   the window.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{PartyId, Rejection, TxId};
use primitives::Monotonic;
use primitives::collections::HashMap;

use super::BackOff;
use super::back_off::spread;
use super::delivery_action::DeliveryAction;
use super::stream::{Stream, WindowLimits};
use super::waiters::Waiters;

/// A transaction is overtaken when the peer has answered one that comes more than this fraction of a window after it: an
/// eighth, at least 1.
const OVERTAKEN_SHARE: usize = 8;

/// Limits of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// Transactions sent to one peer and not answered.
    pub window_transactions_max: usize,
    /// Their total bytes; a single larger transaction is allowed.
    pub window_bytes_max: usize,
    /// Bytes of transactions in one message; a single larger transaction is allowed.
    pub message_bytes_max: usize,
    /// The delay after which an unanswered window is sent again.
    pub resend: BackOff,
}

impl Default for DeliveryOptions {
    fn default() -> DeliveryOptions {
        DeliveryOptions {
            window_transactions_max: 1_024,
            // With a round trip of one millisecond, this window allows many times the rate at which a node verifies
            // transactions. Decoded transactions take several times this memory.
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

/// The pending deliveries to all peers.
#[derive(Debug, Default)]
pub struct Deliveries {
    options: DeliveryOptions,
    peers: BTreeMap<PartyId, Participant>,
    deadlines: BTreeSet<(Monotonic, PartyId)>,
    /// Peers to process at the end of the round.
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
    /// Creates deliveries without any pending row.
    pub fn new(options: DeliveryOptions) -> Deliveries {
        Deliveries {
            options,
            ..Deliveries::default()
        }
    }

    /// Loads the first and last row in the store for a peer, at start.
    pub fn load(&mut self, peer: PartyId, first_row: u64, last_row: u64) {
        let stream = Stream::new(self.options.window(), first_row, last_row);
        self.peers.insert(
            peer,
            Participant {
                stream,
                by_id: HashMap::default(),
            },
        );
    }

    /// Adds a delivery of a recorded transaction to a participant.
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

    /// Registers a waiter that is notified once all of `participants` have answered; without participants, at once.
    pub fn wait(
        &mut self,
        transaction: TxId,
        participants: &[PartyId],
        token: u64,
        out: &mut Vec<DeliveryAction>,
    ) {
        self.waiters.wait(transaction, participants, token, out);
    }

    /// Removes a waiter. The delivery continues.
    pub fn forget(&mut self, token: u64) {
        self.waiters.forget(token);
    }

    /// Notes that the peer is connected.
    pub fn peer_up(&mut self, peer: PartyId) {
        self.disarm(peer);
        let participant = self.peer(peer);
        participant.stream.peer_up();
        participant.by_id.clear();
        self.ready.insert(peer);
    }

    /// Notes that the peer is away.
    pub fn peer_down(&mut self, peer: PartyId) {
        self.disarm(peer);
        let participant = self.peer(peer);
        participant.stream.peer_down();
        participant.by_id = HashMap::default();
    }

    /// Notes that the peer has durably recorded transactions.
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

    /// Notes that the peer refuses a transaction permanently.
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

    /// Takes the rows that were read for a refill, in order; call it even if there are none. `more`: the store may hold further
    /// rows within the requested limit.
    pub fn refilled(&mut self, peer: PartyId, rows: Vec<PendingDelivery>, more: bool) {
        let rows = rows
            .into_iter()
            .map(|row| (row.seq, row.transaction, row.bytes));
        self.peer(peer).stream.refilled(rows, more);
        self.ready.insert(peer);
    }

    /// Ends a round: sends new entries of the windows, in messages of limited size.
    pub fn end_of_round(&mut self, now: Monotonic, out: &mut Vec<DeliveryAction>) {
        for peer in std::mem::take(&mut self.ready) {
            self.go_on(peer, now, out);
        }
    }

    /// Returns the next moment at which [`timer`](Deliveries::timer) has work to do.
    pub fn next_deadline(&self) -> Option<Monotonic> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Marks windows that were not answered in time to be sent again; call [`end_of_round`](Deliveries::end_of_round) after it.
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

    /// Returns whether the peer may be owed transactions that are not in flight.
    pub fn has_backlog(&self, peer: &PartyId) -> bool {
        self.peers
            .get(peer)
            .is_some_and(|participant| participant.stream.has_backlog())
    }

    /// Counts the transactions sent to the peer and not answered, for a gauge.
    pub fn in_flight(&self, peer: &PartyId) -> usize {
        self.peers
            .get(peer)
            .map_or(0, |participant| participant.stream.in_flight())
    }

    /// Counts the transactions set aside: the peer left them unanswered while it answered others, or until a timer passed.
    pub fn aside(&self, peer: &PartyId) -> usize {
        self.peers
            .get(peer)
            .map_or(0, |participant| participant.stream.aside())
    }

    fn peer(&mut self, peer: PartyId) -> &mut Participant {
        let window = self.options.window();
        self.peers.entry(peer).or_insert_with(|| Participant {
            stream: Stream::new(window, 0, 0),
            by_id: HashMap::default(),
        })
    }

    /// Removes an answered transaction from the window. Returns whether it was there.
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
        // Clipped at 0: among the first rows none was overtaken by enough others.
        participant.set_aside(seq.saturating_sub(overtaken));
        out.push(DeliveryAction::Delete { peer, seq });
        self.disarm(peer);
        self.ready.insert(peer);
        true
    }

    /// Sends new entries of the window, requests rows and sets the timer.
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
