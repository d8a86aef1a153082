//! The files that this node serves: only permitted ones, within its own budgets.

mod pump;

use std::collections::BTreeMap;

use ledger::{PartyId, TxId};
use primitives::Hash;

use crate::bucket::Bucket;
use crate::event::{Action, Fault};
use crate::message::{MEDIA_TYPE_BYTES_MAX, Message, NAME_BYTES_MAX, Reason, hint_is_good};
use crate::offer::Offer;
use crate::options::Options;
use crate::out::Out;

/// Maximum number of requests for files of one peer that wait for a decision, including withdrawn ones. Further ones are
/// refused with [`Reason::Again`].
const PENDING_PER_PEER_MAX: usize = 64;
/// Maximum number of files that one peer may ask parts of. A further one displaces the least recently used one. The number
/// exceeds the files that a node of this version keeps offered (64), wanted (32) and moving, unless it is set to more than 160
/// slots for a peer. A displaced file costs such a node a pause.
const SERVED_PER_PEER_MAX: usize = 256;

/// The state of all files that are served.
#[derive(Debug)]
pub(crate) struct Serving {
    options: Options,
    peers: BTreeMap<PartyId, Outbound>,
    bucket: Bucket,
    /// The peer whose turn came last.
    turn: Option<PartyId>,
    picks: u64,
    /// Time of the next attempt, if something blocks now.
    wakeup: Option<u64>,
    gauged_ms: Option<u64>,
}

/// The requests of one peer.
#[derive(Debug, Default)]
struct Outbound {
    up: bool,
    pending: BTreeMap<Hash, RequestState>,
    files: BTreeMap<Hash, Served>,
    /// Bytes that are being read.
    reading: u64,
    /// Bytes in the network's queues for this peer at the last query, plus those sent since.
    queued: u64,
}

/// A peer's request for a file that waits for the decision whether the peer may have it. At most one decision is outstanding,
/// even if the peer takes the request back or repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestState {
    Open,
    /// The peer withdrew the request, or its connection was lost.
    TakenBack,
    /// It was withdrawn and repeated, possibly for another transaction.
    Renewed,
}

/// A file that a peer may ask parts of.
#[derive(Debug)]
struct Served {
    size: u64,
    /// Start of the bytes that are requested and not read yet.
    next: u64,
    /// End of those bytes.
    until: u64,
    /// Parts that are being read.
    reading: u32,
    /// The number of choices made when the peer last asked for it, or it was last read.
    used: u64,
}

impl Served {
    /// Tells whether the peer waits for parts of it.
    fn is_awaited(&self) -> bool {
        self.next < self.until || self.reading > 0
    }
}

impl Outbound {
    fn take_back_all(&mut self) {
        for wish in self.pending.values_mut() {
            *wish = RequestState::TakenBack;
        }
    }

    /// Forgets the least recently used file, preferably one that the peer awaits no part of. Returns the file if the peer
    /// awaits parts of it and must be told.
    fn forget_one(&mut self) -> Option<Hash> {
        let oldest = |(_, file): &(&Hash, &Served)| (file.is_awaited(), file.used);
        let oldest = self
            .files
            .iter()
            .min_by_key(oldest)
            .map(|(hash, _)| *hash)?;
        let file = self.files.remove(&oldest)?;
        file.is_awaited().then_some(oldest)
    }
}

impl Serving {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            bucket: Bucket::new(options.up_bytes_per_s, options.chunk_bytes.into()),
            options,
            peers: BTreeMap::new(),
            turn: None,
            picks: 0,
            wakeup: None,
            gauged_ms: None,
        }
    }

    pub(crate) fn peer_up(&mut self, peer: PartyId) {
        self.peer_down(peer);
        self.peers.entry(peer).or_default().up = true;
    }

    pub(crate) fn peer_down(&mut self, peer: PartyId) {
        if let Some(outbound) = self.peers.get_mut(&peer) {
            // Reads and decisions in progress stay counted until they end.
            outbound.take_back_all();
            *outbound = Outbound {
                reading: outbound.reading,
                pending: std::mem::take(&mut outbound.pending),
                ..Outbound::default()
            };
            self.tidy(peer);
        }
    }

    pub(crate) fn wanted(
        &mut self,
        peer: PartyId,
        hash: Hash,
        transaction: TxId,
        out: &mut Out<'_>,
    ) {
        let Some(outbound) = self.connected(peer) else {
            return;
        };
        if let Some(wish) = outbound.pending.get_mut(&hash) {
            if *wish == RequestState::TakenBack {
                *wish = RequestState::Renewed;
            }
            return;
        }
        if outbound.pending.len() >= PENDING_PER_PEER_MAX {
            return refuse(peer, hash, Reason::Again, out);
        }
        outbound.pending.insert(hash, RequestState::Open);
        out.act(Action::Permit {
            peer,
            hash,
            transaction,
        });
    }

    pub(crate) fn permitted(
        &mut self,
        peer: PartyId,
        hash: Hash,
        offer: Option<Offer>,
        out: &mut Out<'_>,
    ) {
        let used = self.picks;
        let Some(outbound) = self.peers.get_mut(&peer) else {
            return;
        };
        let reason = match outbound.pending.remove(&hash) {
            Some(RequestState::Open) => Reason::Unknown,
            // The decision was about the earlier request. The repeated one may name another transaction, which permits the
            // file.
            Some(RequestState::Renewed) => Reason::Again,
            Some(RequestState::TakenBack) => return self.tidy(peer),
            None => return,
        };
        let Some(mut offer) = offer else {
            return refuse(peer, hash, reason, out);
        };
        if outbound.files.len() >= SERVED_PER_PEER_MAX
            && !outbound.files.contains_key(&hash)
            && let Some(forgotten) = outbound.forget_one()
        {
            // Without this refusal, the peer would wait for bytes that are never sent, until it counts this node as silent.
            refuse(peer, forgotten, Reason::Again, out);
        }
        let served = Served {
            size: offer.size,
            next: 0,
            until: 0,
            reading: 0,
            used,
        };
        outbound.files.insert(hash, served);
        offer.name = offer.name.filter(|name| hint_is_good(name, NAME_BYTES_MAX));
        offer.media_type = offer
            .media_type
            .filter(|kind| hint_is_good(kind, MEDIA_TYPE_BYTES_MAX));
        out.send(peer, &Message::Offer { hash, offer });
    }

    /// Handles a peer's request for a part. Returns the fault if the part goes beyond the end of the file.
    pub(crate) fn asked(
        &mut self,
        peer: PartyId,
        hash: Hash,
        (offset, length): (u64, u64),
        out: &mut Out<'_>,
    ) -> Option<Fault> {
        let used = self.picks;
        let outbound = self.connected(peer)?;
        let Some(file) = outbound.files.get_mut(&hash) else {
            refuse(peer, hash, Reason::Again, out);
            return None;
        };
        // Both numbers come from the peer. A sum that is clipped is beyond every file.
        let until = offset.saturating_add(length);
        if until > file.size {
            return Some(Fault::Beyond);
        }
        if offset != file.until {
            file.next = offset;
        }
        file.until = until;
        file.used = used;
        None
    }

    pub(crate) fn done(&mut self, peer: PartyId, hash: Hash) {
        if let Some(outbound) = self.peers.get_mut(&peer) {
            if let Some(wish) = outbound.pending.get_mut(&hash) {
                *wish = RequestState::TakenBack;
            }
            outbound.files.remove(&hash);
        }
    }

    pub(crate) fn read(
        &mut self,
        peer: PartyId,
        hash: Hash,
        (length, message): (u64, Vec<u8>),
        out: &mut Out<'_>,
    ) {
        let Some(outbound) = self.peers.get_mut(&peer) else {
            return;
        };
        assert!(
            length <= outbound.reading,
            "{length} bytes were read, {} were asked for",
            outbound.reading
        );
        outbound.reading -= length;
        if outbound.up
            && let Some(file) = outbound.files.get_mut(&hash)
        {
            // Clipped at 0: the peer may have ended the file and asked for it again since this part was requested.
            file.reading = file.reading.saturating_sub(1);
            outbound.queued += message.len() as u64;
            out.figures.bytes_out += length;
            out.act(Action::Send {
                peer,
                bytes: message,
            });
        }
        self.tidy(peer);
    }

    pub(crate) fn read_failed(
        &mut self,
        peer: PartyId,
        hash: Hash,
        length: u64,
        out: &mut Out<'_>,
    ) {
        let Some(outbound) = self.peers.get_mut(&peer) else {
            return;
        };
        assert!(
            length <= outbound.reading,
            "{length} bytes were read, {} were asked for",
            outbound.reading
        );
        outbound.reading -= length;
        if outbound.up && outbound.files.remove(&hash).is_some() {
            refuse(peer, hash, Reason::Again, out);
        }
        self.tidy(peer);
    }

    pub(crate) fn queued(&mut self, peer: PartyId, bytes: u64) {
        if let Some(outbound) = self.peers.get_mut(&peer) {
            outbound.queued = bytes;
        }
    }

    fn connected(&mut self, peer: PartyId) -> Option<&mut Outbound> {
        self.peers.get_mut(&peer).filter(|outbound| outbound.up)
    }

    fn tidy(&mut self, peer: PartyId) {
        let idle = |outbound: &Outbound| {
            !outbound.up && outbound.reading == 0 && outbound.pending.is_empty()
        };
        if self.peers.get(&peer).is_some_and(idle) {
            self.peers.remove(&peer);
        }
    }

    pub(crate) fn memory(&self) -> u64 {
        let taken = self.peers.values().map(|peer| peer.reading + peer.queued);
        taken.sum()
    }

    pub(crate) fn served(&self) -> u64 {
        self.peers
            .values()
            .map(|peer| peer.files.len() as u64)
            .sum()
    }

    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        self.wakeup
    }
}

fn refuse(peer: PartyId, hash: Hash, reason: Reason, out: &mut Out<'_>) {
    out.figures.refused += 1;
    out.send(peer, &Message::Refused { hash, reason });
}
