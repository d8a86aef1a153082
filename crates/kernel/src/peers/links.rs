//! The links to the peers: session streams, requests and deliveries, as the kernel sees them.
//!
//! The state machines of the messaging are in the crate `flow`. Their actions become rows and messages in [`crate::peers::pump`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flow::SessionId;
use flow::messaging::{
    Deliveries, DeliveryAction, Inbox, InboxAction, Outbox, OutboxAction, RequestAction, Requests,
    UnackedAnswers,
};
use ledger::{NetworkMap, PartyId, TxId};
use primitives::collections::HashMap;
use primitives::{Decode, Decoder, Monotonic};

use crate::figures::CacheFigures;
use crate::options::KernelOptions;
use crate::pages::{WALK_PAGE, after, row_page};
use crate::part::Part;
use crate::peers::along::Along;
use crate::peers::lag::DeliveryLag;
use crate::peers::read_back::{ReadBack, decode_delivery};
use crate::peers::refusals::Refusals;
use crate::peers::unanswered::Unanswered;
use crate::peers::untaken::Untaken;
use crate::peers::waiting::DeliveryWaits;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{META_INBOUND, peer_of, prefix_end, seq_of};
use crate::writes::{RowRange, Writer};

/// Maximum size of a session message that is kept when it comes out of order, in bytes. A larger one has to be sent again.
pub const EARLY_BYTES_MAX: usize = 64 << 10;
/// Number of unacknowledged session messages from which on a peer gets no refusals of sessions. Its sessions are refused from fewer
/// answers on, so a peer that opens sessions and acknowledges nothing cannot fill the disk.
pub const UNACKED_REFUSALS_MAX: u64 = 100_000;

/// Maximum number of messages kept for a peer whose numbers are not confirmed. If there are more, and the numbers turn out to
/// differ, they are lost.
pub const UNCONFIRMED_MAX: usize = 1_024;
/// Maximum size of these messages, in bytes.
pub const UNCONFIRMED_BYTES_MAX: usize = 1 << 20;

/// The messaging with all peers: sessions, requests and deliveries.
pub struct Links {
    pub(super) outbox: Outbox,
    pub(super) inbox: Inbox,
    pub(super) deliveries: Deliveries,
    pub(super) requests: Requests,
    pub(super) outbox_out: Vec<OutboxAction>,
    pub(super) inbox_out: Vec<InboxAction>,
    pub(super) delivery_out: Vec<DeliveryAction>,
    pub(super) request_out: Vec<RequestAction>,
    /// Session messages that came before any may be taken.
    pub(super) untaken: Untaken,
    /// The peers that have not answered for a transaction.
    pub(super) unanswered: Unanswered,
    /// The lag of responsive peers with their deliveries.
    pub(super) lag: DeliveryLag,
    /// Sizes of the transactions to deliver, since the actions of the state machines were last carried out.
    pub(super) sizes: HashMap<TxId, usize>,
    /// Answers to deliveries, sent once the round is durable.
    pub(super) answers: BTreeMap<PartyId, Vec<TxId>>,
    /// Rows to read back from the store once the commit of this number is durable. At most one for each peer and state machine.
    pub(super) read_backs: VecDeque<(u64, ReadBack)>,
    /// Commits up to this one are durable.
    pub(super) durable: u64,
    /// The cursors of the inbox: the epoch of each peer, and the number of the last session message handled from it.
    pub(super) taken: BTreeMap<PartyId, (u64, u64)>,
    /// Session messages not acknowledged, of all peers.
    pub(super) unacked: u64,
    /// The part of these messages that answers sessions which peers have opened.
    pub(super) unacked_answers: UnackedAnswers,
    /// Peers that are connected and have not sent their standing.
    pub(super) awaited: BTreeSet<PartyId>,
    /// Peers that get no numbered message before their standing is known, with the end of the wait.
    pub(super) held: BTreeMap<PartyId, Monotonic>,
    /// Peers whose numbers agree with this node's, since its start.
    pub(super) confirmed: BTreeSet<PartyId>,
    /// The last number given out for each peer before the start.
    pub(super) at_start: BTreeMap<PartyId, u64>,
    /// Peers that got numbered messages before a confirmation, because they sent no standing in time.
    pub(super) offered: BTreeSet<PartyId>,
    /// Messages numbered since the start for peers that are not confirmed, to be numbered again if need be.
    pub(super) unconfirmed: BTreeMap<PartyId, Unconfirmed>,
    /// Dependencies that are sent along with deliveries.
    pub(super) along: Along,
    /// The deliveries that peers cannot record for now, with their reasons.
    pub(super) waits: DeliveryWaits,
}

/// The numbers of the last session messages with a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkNumbers {
    /// The last one sent.
    pub(crate) sent: u64,
    /// The last one that the peer has acknowledged.
    pub(crate) acked: u64,
    /// The last one handled from the peer.
    pub(crate) taken: u64,
}

/// Messages numbered since the start for one peer.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    messages: Vec<Vec<u8>>,
    bytes: usize,
    /// Whether messages were dropped because there were too many.
    overflowed: bool,
}

impl Unconfirmed {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if self.messages.len() >= UNCONFIRMED_MAX || self.bytes > UNCONFIRMED_BYTES_MAX {
            (self.messages, self.overflowed) = (Vec::new(), true);
        }
        if !self.overflowed {
            self.messages.push(bytes.to_vec());
        }
    }
}

impl Writer for Links {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::Outbox),
        RowRange::table(Table::Deliveries),
        RowRange::meta(META_INBOUND),
    ];
}

impl Part for Links {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        self.durable = self.durable.max(upto);
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        let read_back = self.has_read_backs().then_some(now);
        [
            read_back,
            self.outbox.next_deadline(),
            self.deliveries.next_deadline(),
            self.requests.next_deadline(),
            self.held.values().min().copied(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Links {
    /// Reads cursors and pending rows back after a start.
    pub fn open(
        options: &KernelOptions,
        network: &NetworkMap,
        reads: &dyn Reads,
    ) -> Result<Self, StoreFailure> {
        let mut links = Self {
            outbox: Outbox::new(options.outbox),
            inbox: Inbox::new(),
            deliveries: Deliveries::new(options.deliveries),
            requests: Requests::new(options.requests, network.services().clone()),
            outbox_out: Vec::new(),
            inbox_out: Vec::new(),
            delivery_out: Vec::new(),
            request_out: Vec::new(),
            untaken: Untaken::default(),
            unanswered: Unanswered::new(Refusals::open(reads)?),
            lag: DeliveryLag::default(),
            sizes: HashMap::default(),
            answers: BTreeMap::new(),
            read_backs: VecDeque::new(),
            durable: 0,
            taken: BTreeMap::new(),
            unacked: 0,
            unacked_answers: UnackedAnswers::default(),
            awaited: BTreeSet::new(),
            held: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            at_start: BTreeMap::new(),
            offered: BTreeSet::new(),
            unconfirmed: BTreeMap::new(),
            along: Along::new(options),
            waits: DeliveryWaits::default(),
        };
        let to = prefix_end(META_INBOUND);
        // One row a peer, so bounded by the network map.
        for (key, value) in reads.scan(Table::Meta, META_INBOUND, to.as_deref(), usize::MAX)? {
            let peer = key.get(META_INBOUND.len()..).and_then(peer_of);
            let (Some(peer), Some((epoch, upto))) = (peer, decode_cursor(&value)) else {
                // Without it, messages of this peer would be taken a second time.
                return Err(damaged(
                    "the last session message that was accepted from a peer",
                ));
            };
            links.inbox.load(peer, epoch, upto);
            links.taken.insert(peer, (epoch, upto));
        }
        let answers = &mut links.unacked_answers;
        let numbered = ranges(reads, Table::Outbox, |peer, seq, row| {
            if is_answer(row) {
                answers.add(peer, seq, row.len());
            }
        })?;
        for (peer, first, last) in numbered {
            links.outbox.load(peer, first, last);
            links.at_start.insert(peer, last);
            links.unacked += links.outbox.pending(&peer);
        }
        let owed = &mut links.unanswered;
        let pending = ranges(reads, Table::Deliveries, |peer, _, value| {
            if let Some((id, _)) = decode_delivery(value) {
                owed.add(peer, id);
            }
        })?;
        for (peer, first, last) in pending {
            links.deliveries.load(peer, first, last);
        }
        Ok(links)
    }

    /// Returns the number of unacknowledged session messages to all peers.
    pub fn outbox_pending(&self) -> u64 {
        self.unacked
    }

    /// Requests not answered.
    pub fn requests_outstanding(&self) -> u64 {
        self.requests.outstanding() as u64
    }

    /// Returns whether there are rows to read back whose commit is durable.
    pub(super) fn has_read_backs(&self) -> bool {
        let first = self.read_backs.front();
        first.is_some_and(|(number, _)| *number <= self.durable)
    }

    /// Deliveries that peers which answer have not answered yet.
    pub(crate) fn lagging_rows(&self, now: Monotonic) -> usize {
        self.lag.rows(now, |peer| self.deliveries.aside(peer))
    }

    /// Returns the last number given out for a peer before the start.
    pub(super) fn sent_at_start(&self, peer: &PartyId) -> u64 {
        self.at_start.get(peer).copied().unwrap_or_default()
    }

    /// Notes that a peer has sent its standing. Returns false if none was awaited.
    pub(super) fn standing_arrived(&mut self, peer: &PartyId) -> bool {
        self.awaited.remove(peer)
    }

    /// Returns how far the session messages with a peer have come.
    pub(crate) fn numbers(&self, peer: &PartyId) -> LinkNumbers {
        LinkNumbers {
            sent: self.outbox.last(peer),
            acked: self.outbox.acked(peer),
            taken: self.inbox.taken(peer).1,
        }
    }

    /// Returns whether no numbered message was sent to a peer since the start and its numbers have not been compared yet.
    pub(super) fn is_untouched(&self, peer: &PartyId) -> bool {
        !self.confirmed.contains(peer) && !self.offered.contains(peer)
    }

    /// Returns whether a peer has deliveries to answer.
    pub(crate) fn has_pending(&self, peer: &PartyId) -> bool {
        self.deliveries.in_flight(peer) > 0 || self.deliveries.has_backlog(peer)
    }

    /// Returns the figures of the caches of unshared transactions and of those sent along.
    pub(crate) fn along_figures(&self) -> [CacheFigures; 2] {
        self.along.figures()
    }

    /// Returns the peers that have not answered for a transaction.
    pub(crate) fn unanswered(&self) -> &Unanswered {
        &self.unanswered
    }

    /// Returns the deliveries that peers cannot record for now.
    pub(crate) fn waits(&self) -> &DeliveryWaits {
        &self.waits
    }

    /// Goes on after a number of a peer's stream.
    pub(super) fn skip_to(&mut self, peer: PartyId, upto: u64) {
        if self.inbox.skip_to(peer, upto) {
            self.taken.entry(peer).or_default().1 = upto;
        }
    }

    /// Gives new numbers, after a number that the peer has taken, to all messages sent to it since the start. Returns how many
    /// there are.
    pub(crate) fn renumber(&mut self, peer: PartyId, taken: u64, now: Monotonic) -> usize {
        // Clipped like the other changes of this sum, which is for the metrics alone.
        self.unacked = self.unacked.saturating_sub(self.outbox.pending(&peer));
        self.outbox.renumber(peer, taken, &mut self.outbox_out);
        self.unacked_answers.forget(&peer);
        let again = self.unconfirmed.remove(&peer).unwrap_or_default().messages;
        let count = again.len();
        for bytes in again {
            let is_answer = is_answer(&bytes);
            self.push_numbered(peer, bytes, is_answer, now);
        }
        // Its stream begins again, so the peer is reported as connected again.
        self.held.entry(peer).or_insert(now);
        count
    }

    /// Notes that a peer's numbers agree with this node's.
    pub(crate) fn confirm(&mut self, peer: PartyId) {
        self.confirmed.insert(peer);
        self.unconfirmed.remove(&peer);
    }

    /// Lets numbered messages to a peer go if they were held back.
    pub(crate) fn release(&mut self, peer: PartyId, now: Monotonic) {
        if self.held.remove(&peer).is_some() {
            self.outbox.peer_up(peer, now, &mut self.outbox_out);
        }
    }

    /// Notes that the inbox handed out another message of a peer.
    pub(crate) fn took(&mut self, peer: PartyId) {
        self.taken.entry(peer).or_default().1 += 1;
    }
}

/// Returns whether a session message goes to the side that opened the session. Reads only its beginning. The empty row that holds the
/// counter of a stream is no answer.
fn is_answer(row: &[u8]) -> bool {
    let mut d = Decoder::new(row);
    let head = d.expect_array(3).and_then(|()| SessionId::decode(&mut d));
    head.is_ok() && d.bool().unwrap_or(false)
}

/// Returns the first and last number of each peer's rows. Passes every row and its number to `each`.
fn ranges(
    reads: &dyn Reads,
    table: Table,
    mut each: impl FnMut(PartyId, u64, &[u8]),
) -> Result<Vec<(PartyId, u64, u64)>, StoreFailure> {
    let mut found: BTreeMap<PartyId, (u64, u64)> = BTreeMap::new();
    let mut from = Vec::new();
    loop {
        let page = row_page(reads, table, from, None, WALK_PAGE.0, WALK_PAGE.1)?;
        for (key, value) in &page.rows {
            let (Some(peer), Some(seq)) = (key.get(..32).and_then(peer_of), seq_of(key)) else {
                continue;
            };
            each(peer, seq, value);
            found.entry(peer).or_insert((seq, seq)).1 = seq;
        }
        match page.rows.last() {
            Some((last, _)) if page.more => from = after(last),
            _ => break,
        }
    }
    Ok(found
        .into_iter()
        .map(|(peer, (first, last))| (peer, first, last))
        .collect())
}

fn decode_cursor(value: &[u8]) -> Option<(u64, u64)> {
    let mut d = Decoder::new(value);
    d.expect_array(2).ok()?;
    Some((u64::decode(&mut d).ok()?, u64::decode(&mut d).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors;
    use crate::fake_store::FakeStore;
    use crate::rows::meta_key;
    use crate::writes::Batch;

    #[test]
    fn a_damaged_row_of_a_peer_ends_the_start() {
        let peer = [5; 32];
        let whole = (1u64, 9u64);
        let mut encoder = primitives::Encoder::new();
        encoder.array(2);
        primitives::Encode::encode(&whole.0, &mut encoder);
        primitives::Encode::encode(&whole.1, &mut encoder);
        let row = encoder.into_bytes();
        let open = |key: &[u8], value: &[u8]| {
            let mut store = FakeStore::default();
            let mut batch = Batch::default();
            let key = meta_key(META_INBOUND, key);
            batch.of::<Links>().put(Table::Meta, key, value.to_vec());
            store.apply(batch);
            let at = primitives::Timestamp::EPOCH;
            let parameters = ledger::NetworkParameters::new(Vec::new(), at);
            let network = NetworkMap::new(parameters, []);
            Links::open(&KernelOptions::default(), &network, &store).map(drop)
        };
        assert!(open(&peer, &row).is_ok());
        for (key, value) in [
            (&peer[..], &row[..row.len() - 1]),
            (&peer[..], &[]),
            (&peer[1..], &row[..]),
        ] {
            let failure = open(key, value).expect_err("damage");
            assert_eq!(failure.code, errors::DAMAGED.code);
        }
    }
}
