//! What this node fetches. What is asked for next is decided in [`pump`](crate::pump).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ledger::PartyId;
use primitives::{Encode, Hash};

use crate::bucket::Bucket;
use crate::event::{Action, Failure, Fault, Offer};
use crate::fetch::{ASKED_AGAIN_MAX, Fetch, SOURCES_MAX, Source, State};
use crate::figures::Figures;
use crate::inbound::{Inbound, is_large};
use crate::message::{Message, Payload, Reason};
use crate::options::Options;

/// Most fetches that wait or move; more fail for now.
pub(crate) const FETCHES_MAX: usize = 16_384;
/// Pause before a peer that says "again" is asked again, in milliseconds; it doubles as silences do.
const AGAIN_MS: u64 = 1_000;
/// Fetches that ended lately, whose bytes may still be on the way.
const ENDED_MAX: usize = 256;
/// How often a peer is pointed out at most.
const TOLD_MS: u64 = 60_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Receiving {
    pub(crate) options: Options,
    pub(crate) fetches: BTreeMap<Hash, Fetch>,
    pub(crate) peers: BTreeMap<PartyId, Inbound>,
    pub(crate) bucket: Bucket,
    /// Bytes handed to the disk, without its answer.
    pub(crate) writing: u64,
    /// How many choices were made: every few of them go by age.
    pub(crate) picks: u64,
    /// The peer whose turn came last.
    pub(crate) turn: Option<PartyId>,
    /// When the budget of bandwidth allows the next question, if it is what they wait for.
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
            // What waits for one that is away goes on with one that is not.
            if fetch.state == State::Away {
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
            // What is all here needs nobody.
            if matches!(state, None | Some(State::Publishing | State::Away)) {
                continue;
            }
            self.leave(hash, out);
            self.next_source(hash);
            self.enlist(now, hash);
        }
        self.tidy(peer);
    }

    /// A peer says what it has.
    pub(crate) fn offered(&mut self, peer: PartyId, hash: Hash, offer: Offer, out: &mut Out<'_>) {
        let Some(fetch) = self.of(&hash, peer, &[State::Wanted]) else {
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
        fetch.state = State::Offered;
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
        let states = [State::Wanted, State::Offered, State::Opening, State::Moving];
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
                    fetch.state = State::Queued { pausing: true };
                }
                self.arm(hash, now.saturating_add(pause));
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
        let fetch = self.of(&hash, peer, &[State::Moving]);
        // The message's length is that of bytes in memory: the sum stays within 64 bits.
        let fetch = fetch.filter(|f| offset == f.received && length <= f.on_the_way());
        let Some(fetch) = fetch else {
            out.figures.unasked_bytes += length;
            if !known {
                self.tell(now, peer, Fault::Unasked, out);
            }
            return;
        };
        fetch.received += length;
        fetch.heard_ms = now;
        fetch.asked_again = 0;
        self.writing += length;
        out.figures.bytes_in += length;
        out.act(Action::Write {
            hash,
            offset,
            bytes,
        });
    }

    pub(crate) fn opened(&mut self, now: u64, hash: Hash, have: u64, out: &mut Out<'_>) {
        let silence_ms = self.options.silence_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return out.act(Action::Close {
                hash,
                discard: false,
            });
        };
        if fetch.state != State::Opening {
            return;
        }
        let size = fetch.size();
        if have > size {
            // Left by somebody who lied about the size.
            out.act(Action::Close {
                hash,
                discard: true,
            });
            return out.act(Action::Open { hash });
        }
        fetch.state = State::Moving;
        fetch.clean = have == 0;
        fetch.resumed |= have > 0;
        fetch.asked = have;
        fetch.received = have;
        fetch.written = have;
        fetch.heard_ms = now;
        self.arm(hash, now.saturating_add(silence_ms));
        self.publish_if_whole(hash, out);
    }

    pub(crate) fn open_failed(&mut self, hash: Hash, code: &'static str, out: &mut Out<'_>) {
        if self.is_in(&hash, State::Opening) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    pub(crate) fn wrote(&mut self, hash: Hash, (upto, bytes): (u64, u64), out: &mut Out<'_>) {
        self.writing = self.writing.saturating_sub(bytes);
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        // In any other state it is a write from before the file was closed.
        if fetch.state == State::Moving {
            fetch.written = fetch.written.max(upto.min(fetch.received));
            self.publish_if_whole(hash, out);
        }
    }

    pub(crate) fn write_failed(
        &mut self,
        hash: Hash,
        (bytes, code): (u64, &'static str),
        out: &mut Out<'_>,
    ) {
        self.writing = self.writing.saturating_sub(bytes);
        if self.is_in(&hash, State::Moving) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    /// The whole file is here.
    pub(crate) fn published(&mut self, hash: Hash, size: u64, out: &mut Out<'_>) {
        let Some(fetch) = self.fetches.get(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        if !matches!(fetch.state, State::Opening | State::Publishing) {
            return;
        }
        let (name, media_type) = fetch
            .offer
            .clone()
            .map_or((None, None), |offer| (offer.name, offer.media_type));
        out.figures.arrived += 1;
        out.figures.resumed += u64::from(fetch.resumed);
        let peer = source.peer;
        out.send(peer, &Message::Done { hash });
        out.act(Action::Arrived {
            hash,
            size,
            name,
            media_type,
            peer,
        });
        self.leave_silently(hash);
        self.forget(hash);
    }

    pub(crate) fn mismatched(&mut self, hash: Hash, out: &mut Out<'_>) {
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        if fetch.state != State::Publishing {
            return;
        }
        out.figures.mismatched += 1;
        if fetch.clean {
            self.fail(hash, Failure::Mismatch, out);
        } else {
            // Whose bytes were wrong is not known: all of them once more, from this peer alone.
            fetch.state = State::Opening;
            out.act(Action::Open { hash });
        }
    }

    pub(crate) fn publish_failed(&mut self, hash: Hash, code: &'static str, out: &mut Out<'_>) {
        if self.is_in(&hash, State::Publishing) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    /// Timers that have run out.
    pub(crate) fn on_time(&mut self, now: u64, out: &mut Out<'_>) {
        while let Some((at, hash)) = self.timers.first().copied()
            && at <= now
        {
            self.disarm(hash);
            self.ran_out(now, hash, out);
        }
    }

    fn ran_out(&mut self, now: u64, hash: Hash, out: &mut Out<'_>) {
        let silence_ms = self.options.silence_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        match fetch.state {
            State::Away => self.fail(hash, Failure::Gone, out),
            State::Queued { .. } => self.enlist(now, hash),
            State::Wanted | State::Moving => {
                // Nothing on the way: a budget is what it waits for, or the disk.
                let waits = fetch.state == State::Moving && fetch.on_the_way() == 0;
                if waits {
                    fetch.heard_ms = now;
                }
                let until = fetch.heard_ms.saturating_add(fetch.patience_ms(silence_ms));
                if until > now {
                    return self.arm(hash, until);
                }
                if fetch.asked_again >= ASKED_AGAIN_MAX {
                    return self.fail(hash, Failure::Gone, out);
                }
                fetch.asked_again += 1;
                fetch.heard_ms = now;
                // What was on the way is lost, and asked for anew.
                fetch.asked = fetch.received;
                out.figures.asked_again += 1;
                let patience = fetch.patience_ms(silence_ms);
                if fetch.state == State::Wanted
                    && let Some(source) = fetch.source()
                {
                    let transaction = source.transaction;
                    out.send(source.peer, &Message::Want { hash, transaction });
                }
                self.arm(hash, now.saturating_add(patience));
            }
            State::Offered | State::Opening | State::Publishing => {}
        }
    }

    fn publish_if_whole(&mut self, hash: Hash, out: &mut Out<'_>) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && fetch.written == fetch.size()
        {
            fetch.state = State::Publishing;
            let size = fetch.size();
            self.disarm(hash);
            out.act(Action::Publish { hash, size });
        }
    }

    /// The present source failed: the next one is tried, if there is one. A disk fails for all of them.
    fn fail(&mut self, hash: Hash, failure: Failure, out: &mut Out<'_>) {
        self.leave(hash, out);
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let all = matches!(failure, Failure::Disk { .. });
        let count = if all { fetch.sources.len() } else { 1 };
        let failed: Vec<Source> = fetch.sources.drain(..count).collect();
        let left = !fetch.sources.is_empty();
        for source in failed {
            out.failed(hash, source.peer, failure);
            if let Some(inbound) = self.peers.get_mut(&source.peer) {
                inbound.own.remove(&hash);
            }
            self.tidy(source.peer);
        }
        if left {
            if let Some(fetch) = self.fetches.get_mut(&hash) {
                fetch.asked_again = 0;
            }
            self.enlist(out.now_ms, hash);
        } else {
            self.forget(hash);
        }
    }

    /// Another source that is connected takes the place of the first, if there is one.
    fn next_source(&mut self, hash: Hash) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && let Some(peer) = fetch.source().map(|source| source.peer)
            && let Some(at) = fetch
                .sources
                .iter()
                .position(|source| self.peers.get(&source.peer).is_some_and(|peer| peer.up))
        {
            fetch.sources.rotate_left(at);
            if let Some(inbound) = self.peers.get_mut(&peer) {
                inbound.own.remove(&hash);
            }
        }
    }

    /// Waits for its source, or for being asked.
    fn enlist(&mut self, now: u64, hash: Hash) {
        let away_ms = self.options.away_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        let inbound = self.peers.entry(source.peer).or_default();
        inbound.own.insert(hash);
        if fetch.state == State::Publishing {
            return;
        }
        fetch.offer = None;
        if inbound.up {
            fetch.state = State::Queued { pausing: false };
            inbound.wanting.insert((fetch.order, hash));
            self.disarm(hash);
        } else {
            fetch.state = State::Away;
            self.arm(hash, now.saturating_add(away_ms));
        }
    }

    /// Gives up the place that the fetch has, and closes what is open of it.
    fn leave(&mut self, hash: Hash, out: &mut Out<'_>) {
        let state = self.fetches.get(&hash).map(|fetch| fetch.state);
        if matches!(state, Some(State::Opening | State::Moving)) {
            out.act(Action::Close {
                hash,
                discard: false,
            });
        }
        self.leave_silently(hash);
    }

    fn leave_silently(&mut self, hash: Hash) {
        self.disarm(hash);
        let chunk_bytes = self.options.chunk_bytes;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        let (size, order) = (fetch.size(), fetch.order);
        let Some(inbound) = self.peers.get_mut(&source.peer) else {
            return;
        };
        match fetch.state {
            State::Away => {}
            State::Queued { .. } => {
                inbound.wanting.remove(&(order, hash));
            }
            State::Wanted => inbound.wanted -= 1,
            State::Offered => inbound.withdraw(size, order, hash),
            State::Opening | State::Moving | State::Publishing => {
                inbound.moving.remove(&hash);
                inbound.large -= usize::from(is_large(size, chunk_bytes));
            }
        }
        fetch.state = State::Away;
        fetch.asked = 0;
        fetch.received = 0;
        fetch.written = 0;
    }

    fn forget(&mut self, hash: Hash) {
        let Some(fetch) = self.fetches.remove(&hash) else {
            return;
        };
        for source in fetch.sources {
            if let Some(inbound) = self.peers.get_mut(&source.peer) {
                inbound.own.remove(&hash);
            }
            self.tidy(source.peer);
        }
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(hash);
    }

    fn tidy(&mut self, peer: PartyId) {
        if self.peers.get(&peer).is_some_and(Inbound::is_idle) {
            self.peers.remove(&peer);
        }
    }

    /// Points a peer out, unless that was done lately.
    pub(crate) fn tell(&mut self, now: u64, peer: PartyId, fault: Fault, out: &mut Out<'_>) {
        let Some(inbound) = self.peers.get_mut(&peer) else {
            return;
        };
        if inbound
            .told_ms
            .is_none_or(|at| now >= at.saturating_add(TOLD_MS))
        {
            inbound.told_ms = Some(now);
            out.act(Action::Fault { peer, fault });
        }
    }

    fn is_in(&self, hash: &Hash, state: State) -> bool {
        self.fetches.get(hash).is_some_and(|f| f.state == state)
    }

    /// The fetch, if this peer is its source and it is in one of these states.
    fn of(&mut self, hash: &Hash, peer: PartyId, states: &[State]) -> Option<&mut Fetch> {
        let fetch = self.fetches.get_mut(hash)?;
        let fits = fetch.source()?.peer == peer && states.contains(&fetch.state);
        fits.then_some(fetch)
    }

    pub(crate) fn arm(&mut self, hash: Hash, at: u64) {
        self.disarm(hash);
        if let Some(fetch) = self.fetches.get_mut(&hash) {
            fetch.timer = Some(at);
            self.timers.insert((at, hash));
        }
    }

    fn disarm(&mut self, hash: Hash) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && let Some(at) = fetch.timer.take()
        {
            self.timers.remove(&(at, hash));
        }
    }

    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let timer = self.timers.first().map(|(at, _)| *at);
        [timer, self.bucket_at].into_iter().flatten().min()
    }
}

/// Where actions go, and what is counted.
pub(crate) struct Out<'a> {
    pub(crate) now_ms: u64,
    pub(crate) actions: &'a mut Vec<Action>,
    pub(crate) figures: &'a mut Figures,
}

impl Out<'_> {
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn send(&mut self, peer: PartyId, message: &Message) {
        self.act(Action::Send {
            peer,
            bytes: message.to_bytes(),
        });
    }

    fn failed(&mut self, hash: Hash, peer: PartyId, failure: Failure) {
        self.figures.failed += 1;
        self.act(Action::Failed {
            hash,
            peer,
            failure,
        });
    }
}
