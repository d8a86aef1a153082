//! What this node gives to others: only what it was told that they may have, within its own budgets.

mod pump;

use std::collections::BTreeMap;

use ledger::{PartyId, TxId};
use primitives::Hash;

use crate::bucket::Bucket;
use crate::event::{Action, Fault, Offer};
use crate::message::{MEDIA_TYPE_BYTES_MAX, Message, NAME_BYTES_MAX, Reason, hint_is_good};
use crate::options::Options;
use crate::out::Out;

/// Wishes of one peer that wait for an answer, taken back or not; more are told to come again.
const PENDING_PER_PEER_MAX: usize = 64;
/// Files that one peer may ask parts of; for another one, the one that was asked for longest ago is forgotten. More than a node of
/// ours keeps offered (64), wanted (32) and moving, unless it is set to more than 160 slots for a peer: what is forgotten costs it a pause.
const SERVED_PER_PEER_MAX: usize = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct Serving {
    options: Options,
    peers: BTreeMap<PartyId, Outbound>,
    bucket: Bucket,
    /// The peer whose turn came last.
    turn: Option<PartyId>,
    picks: u64,
    /// When to go on, if something is in the way now.
    wakeup: Option<u64>,
    gauged_ms: Option<u64>,
}

/// What one peer asks for.
#[derive(Debug, Default)]
struct Outbound {
    up: bool,
    pending: BTreeMap<Hash, Wish>,
    files: BTreeMap<Hash, Served>,
    /// Bytes that are being read.
    reading: u64,
    /// Bytes that wait in the network's queues, or did when we last looked, with what was sent since.
    queued: u64,
}

/// A wish that waits for an answer. It is asked once at a time, whatever its peer does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Open,
    /// The peer, or its connection, no longer waits for it.
    TakenBack,
    /// It was taken back and came again, for another transaction perhaps.
    Renewed,
}

/// A file that a peer may ask parts of.
#[derive(Debug)]
struct Served {
    size: u64,
    /// What is asked for and not read yet: from here
    next: u64,
    /// to here.
    until: u64,
    /// Parts that are being read.
    reading: u32,
    /// The choice at which it was last asked for.
    used: u64,
}

impl Served {
    /// Whether the peer waits for parts of it.
    fn is_awaited(&self) -> bool {
        self.next < self.until || self.reading > 0
    }
}

impl Outbound {
    fn take_back_all(&mut self) {
        for wish in self.pending.values_mut() {
            *wish = Wish::TakenBack;
        }
    }

    /// Forgets one file, one that nothing is awaited of if there is one. Returns it if the peer has to be told.
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
            // What is being read stays counted until it is, and so does what is being decided.
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
            if *wish == Wish::TakenBack {
                *wish = Wish::Renewed;
            }
            return;
        }
        if outbound.pending.len() >= PENDING_PER_PEER_MAX {
            return refuse(peer, hash, Reason::Again, out);
        }
        outbound.pending.insert(hash, Wish::Open);
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
            Some(Wish::Open) => Reason::Unknown,
            // What is not for it by one transaction may be by another.
            Some(Wish::Renewed) => Reason::Again,
            Some(Wish::TakenBack) => return self.tidy(peer),
            None => return,
        };
        let Some(mut offer) = offer else {
            return refuse(peer, hash, reason, out);
        };
        if outbound.files.len() >= SERVED_PER_PEER_MAX
            && !outbound.files.contains_key(&hash)
            && let Some(forgotten) = outbound.forget_one()
        {
            // Otherwise it would wait for what is on no way until it takes us for silent.
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

    /// A peer asks for a part. Returns its fault, if that is one.
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
                *wish = Wish::TakenBack;
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
        outbound.reading = outbound.reading.saturating_sub(length);
        if outbound.up
            && let Some(file) = outbound.files.get_mut(&hash)
        {
            file.reading = file.reading.saturating_sub(1);
            outbound.queued = outbound.queued.saturating_add(message.len() as u64);
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
        outbound.reading = outbound.reading.saturating_sub(length);
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
