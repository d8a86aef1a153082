//! The files that this node fetches. [`pump`](crate::pump) decides the next request.

mod disk;
mod silence;
mod standing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ledger::PartyId;
use primitives::Hash;

use crate::bucket::Bucket;
use crate::event::{Action, Failure, Fault};
use crate::fetch::{ASKED_AGAIN_MAX, Fetch, FetchState, SOURCES_MAX, Source};
use crate::inbound::Inbound;
use crate::message::{Message, Payload, Reason};
use crate::offer::Offer;
use crate::options::Options;
use crate::out::Out;
use crate::time::later;

/// Maximum number of fetches. Further ones fail with [`Failure::Gone`].
pub(crate) const FETCHES_MAX: usize = 16_384;
/// Pause after a refusal with [`Reason::Again`] before the peer is asked again, in milliseconds. It doubles with each
/// repetition, up to eight times the value.
const AGAIN_MS: u64 = 1_000;
/// Minimum time between two reported faults of a peer, in milliseconds.
const TOLD_MS: u64 = 60_000;

/// The state of all fetches.
#[derive(Debug)]
pub(crate) struct Receiving {
    pub(crate) options: Options,
    pub(crate) fetches: BTreeMap<Hash, Fetch>,
    pub(crate) peers: BTreeMap<PartyId, Inbound>,
    pub(crate) bucket: Bucket,
    /// Bytes passed to the disk whose writes are not answered yet.
    pub(crate) writing: u64,
    /// Number of choices so far: every fourth one goes by age.
    pub(crate) picks: u64,
    /// The peer whose turn came last.
    pub(crate) turn: Option<PartyId>,
    /// When the bandwidth budget allows the next request, if fetches wait for it.
    pub(crate) bucket_at: Option<u64>,
    orders: u64,
    timers: BTreeSet<(u64, Hash)>,
    ended: VecDeque<Hash>,
}

impl Receiving {
    pub(crate) fn new(options: Options) -> Self {
        let bucket = Bucket::new(options.down_bytes_per_s, options.chunk_bytes.into());
        Self {
            options,
            fetches: BTreeMap::new(),
            peers: BTreeMap::new(),
            bucket,
            writing: 0,
            picks: 0,
            turn: None,
            bucket_at: None,
            orders: 0,
            timers: BTreeSet::new(),
            ended: VecDeque::new(),
        }
    }

    pub(crate) fn fetch(&mut self, now: u64, hash: Hash, source: Source, out: &mut Out<'_>) {
        if let Some(fetch) = self.fetches.get_mut(&hash) {
            if let Some(known) = fetch.sources.iter_mut().find(|s| s.peer == source.peer) {
                *known = source;
            } else if fetch.sources.len() < SOURCES_MAX {
                fetch.sources.push(source);
            } else {
                out.failed(hash, source.peer, Failure::Gone);
            }
            // A fetch that waits for a disconnected peer continues with a connected one.
            if fetch.state == FetchState::Away {
                self.leave_silently(hash);
                self.next_source(hash);
                self.enlist(now, hash);
            }
            return;
        }
        if self.fetches.len() >= FETCHES_MAX {
            out.failed(hash, source.peer, Failure::Gone);
            return;
        }
        self.orders += 1;
        self.fetches.insert(hash, Fetch::new(source, self.orders));
        self.enlist(now, hash);
    }

    pub(crate) fn abandon(&mut self, hash: Hash, out: &mut Out<'_>) {
        let Some(source) = self.fetches.get(&hash).and_then(Fetch::source) else {
            return;
        };
        self.leave(hash, out);
        out.send(source.peer, &Message::Done { hash });
        self.forget(hash);
    }

    pub(crate) fn peer_up(&mut self, now: u64, peer: PartyId, out: &mut Out<'_>) {
        self.peer_down(now, peer, out);
        let inbound = self.peers.entry(peer).or_default();
        inbound.up = true;
        for hash in inbound.own.clone() {
            self.enlist(now, hash);
        }
    }

    pub(crate) fn peer_down(&mut self, now: u64, peer: PartyId, out: &mut Out<'_>) {
        let Some(inbound) = self.peers.get_mut(&peer) else {
            return;
        };
        inbound.up = false;
        for hash in inbound.own.clone() {
            let state = self.fetches.get(&hash).map(|fetch| fetch.state);
            // A complete file needs no peer.
            if matches!(
                state,
                None | Some(FetchState::Publishing | FetchState::Away)
            ) {
                continue;
            }
            self.leave(hash, out);
            self.next_source(hash);
            self.enlist(now, hash);
        }
        if let Some(inbound) = self.peers.get_mut(&peer) {
            // Nothing is on the way any more.
            inbound.late = 0;
            inbound.is_silent = false;
        }
        self.tidy(peer);
    }

    /// Handles a peer's offer of a file.
    pub(crate) fn offered(&mut self, peer: PartyId, hash: Hash, offer: Offer, out: &mut Out<'_>) {
        let Some(fetch) = self.of(&hash, peer, &[FetchState::Wanted]) else {
            return;
        };
        let size = offer.size;
        let fits = fetch.source().is_some_and(|source| size <= source.size_max);
        if !fits {
            out.send(peer, &Message::Done { hash });
            self.fail(hash, Failure::TooLarge { size }, out);
            return;
        }
        fetch.offer = Some(offer);
        fetch.state = FetchState::Offered;
        let order = fetch.order;
        self.disarm(hash);
        if let Some(inbound) = self.peers.get_mut(&peer) {
            inbound.wanted -= 1;
            inbound.offer(size, order, hash);
        }
        out.act(Action::Offered { hash, peer, size });
    }

    pub(crate) fn refused(
        &mut self,
        now: u64,
        peer: PartyId,
        hash: Hash,
        reason: Reason,
        out: &mut Out<'_>,
    ) {
        let states = [
            FetchState::Wanted,
            FetchState::Offered,
            FetchState::Opening,
            FetchState::Moving,
        ];
        let Some(fetch) = self.of(&hash, peer, &states) else {
            return;
        };
        match reason {
            Reason::Unknown => self.fail(hash, Failure::Unknown, out),
            Reason::Again if fetch.asked_again >= ASKED_AGAIN_MAX => {
                self.fail(hash, Failure::Gone, out);
            }
            Reason::Again => {
                let pause = fetch.patience_ms(AGAIN_MS);
                fetch.asked_again += 1;
                out.figures.asked_again += 1;
                self.leave(hash, out);
                if let Some(fetch) = self.fetches.get_mut(&hash) {
                    fetch.state = FetchState::Queued { pausing: true };
                }
                self.arm(hash, later(now, pause));
            }
        }
    }

    pub(crate) fn data(
        &mut self,
        now: u64,
        peer: PartyId,
        hash: Hash,
        (offset, bytes): (u64, Payload),
        out: &mut Out<'_>,
    ) {
        let length = bytes.len() as u64;
        let known = self.fetches.contains_key(&hash) || self.ended.contains(&hash);
        let (silence_ms, enough) = (self.options.silence_ms, self.enough());
        let fetch = self.of(&hash, peer, &[FetchState::Moving]);
        // No overflow below: `length` bytes are in memory and were requested, and the sum of requested bytes fits 64 bits.
        let fetch = fetch.filter(|f| offset == f.received && length <= f.on_the_way());
        let Some(fetch) = fetch else {
            out.figures.unasked_bytes += length;
            if known {
                self.came_late(now, peer, length);
            } else {
                self.tell(now, peer, Fault::Unasked, out);
            }
            return;
        };
        fetch.received += length;
        // If all requested bytes have come, that is progress, however few they are.
        let enough = if fetch.on_the_way() == 0 { 0 } else { enough };
        let within_ms = fetch.patience_ms(silence_ms);
        if fetch.pace.gain(now, length, (enough, within_ms)) {
            fetch.asked_again = 0;
        }
        self.heard(now, peer, length, enough);
        self.writing += length;
        out.figures.bytes_in += length;
        out.act(Action::Write {
            hash,
            offset,
            bytes,
        });
    }

    /// Reports a fault of a peer, unless one was reported within the last [`TOLD_MS`].
    pub(crate) fn tell(&mut self, now: u64, peer: PartyId, fault: Fault, out: &mut Out<'_>) {
        let Some(inbound) = self.peers.get_mut(&peer) else {
            return;
        };
        if inbound.told_ms.is_none_or(|at| now >= later(at, TOLD_MS)) {
            inbound.told_ms = Some(now);
            out.act(Action::Fault { peer, fault });
        }
    }

    fn is_in(&self, hash: &Hash, state: FetchState) -> bool {
        self.fetches.get(hash).is_some_and(|f| f.state == state)
    }

    /// Returns the fetch of a file if this peer is its current source and it is in one of these states.
    fn of(&mut self, hash: &Hash, peer: PartyId, states: &[FetchState]) -> Option<&mut Fetch> {
        let fetch = self.fetches.get_mut(hash)?;
        let fits = fetch.source()?.peer == peer && states.contains(&fetch.state);
        fits.then_some(fetch)
    }
}
