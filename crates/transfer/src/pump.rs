//! Chooses the next request within the budgets: fair between peers, small files first, and no file waits without end.

use ledger::PartyId;
use primitives::Hash;

use crate::event::Action;
use crate::fetch::{Fetch, FetchState};
use crate::inbound::{is_large, is_oldest_turn, large_max};
use crate::message::Message;
use crate::out::Out;
use crate::receiving::Receiving;
use crate::time::later;

/// Maximum number of files that a peer is asked for without having answered.
const WANTED_PER_PEER_MAX: usize = 32;
/// Number of files that a peer has offered and that wait for a slot at which the peer is asked for no further files.
const OFFERED_PER_PEER_MAX: usize = 64;

impl Receiving {
    /// Sends the requests that the budgets allow.
    pub(crate) fn pump(&mut self, now: u64, out: &mut Out<'_>) {
        self.want(now, out);
        self.give_slots(out);
        self.ask(now, out);
    }

    /// Returns the connected peers with fetches in the order of their turns, starting after the peer that had the last turn.
    fn in_turn(&self) -> Vec<PartyId> {
        let up = |(peer, inbound): (&PartyId, &crate::inbound::Inbound)| {
            (inbound.up && !inbound.own.is_empty()).then_some(*peer)
        };
        let mut peers: Vec<PartyId> = self.peers.iter().filter_map(up).collect();
        let first = peers.partition_point(|peer| Some(*peer) <= self.turn);
        peers.rotate_left(first);
        peers
    }

    fn want(&mut self, now: u64, out: &mut Out<'_>) {
        let silence_ms = self.options.silence_ms;
        for peer in self.in_turn() {
            while let Some(inbound) = self.peers.get_mut(&peer)
                && inbound.wanted < WANTED_PER_PEER_MAX
                && inbound.offered.len() < OFFERED_PER_PEER_MAX
                && let Some((_, hash)) = inbound.wanting.pop_first()
            {
                let Some(fetch) = self.fetches.get_mut(&hash) else {
                    continue;
                };
                let Some(source) = fetch.source() else {
                    continue;
                };
                inbound.wanted += 1;
                fetch.state = FetchState::Wanted;
                fetch.pace.begin(now);
                let until = later(now, fetch.patience_ms(silence_ms));
                let transaction = source.transaction;
                out.send(peer, &Message::Want { hash, transaction });
                self.arm(hash, until);
            }
        }
    }

    fn give_slots(&mut self, out: &mut Out<'_>) {
        let (all, each) = (self.options.at_once, self.options.at_once_per_peer);
        let count = |of: fn(&crate::inbound::Inbound) -> usize| self.peers.values().map(of).sum();
        let mut moving: usize = count(|inbound| inbound.moving.len());
        let mut large: usize = count(|inbound| inbound.large);
        loop {
            let mut took = false;
            for peer in self.in_turn() {
                let Some(inbound) = self.peers.get_mut(&peer) else {
                    continue;
                };
                // Each peer has at least one slot, however many the others hold. A peer that does not use its slot gets no
                // second one.
                let is_first = inbound.moving.is_empty();
                let has_slot = inbound.moving.len() < each && moving < all && !inbound.is_silent;
                if !is_first && !has_slot {
                    continue;
                }
                let chunk_bytes = self.options.chunk_bytes;
                let large_fits =
                    is_first || (inbound.large < large_max(each) && large < large_max(all));
                let Some(hash) = inbound.choose(self.picks, large_fits, chunk_bytes) else {
                    continue;
                };
                let Some(fetch) = self.fetches.get_mut(&hash) else {
                    continue;
                };
                self.picks += 1;
                let is_large = is_large(fetch.size(), chunk_bytes);
                inbound.withdraw(fetch.size(), fetch.order, hash);
                inbound.moving.insert(hash);
                inbound.large += usize::from(is_large);
                fetch.state = FetchState::Opening;
                moving += 1;
                large += usize::from(is_large);
                self.turn = Some(peer);
                took = true;
                out.act(Action::Open { hash });
            }
            if !took {
                return;
            }
        }
    }

    fn ask(&mut self, now: u64, out: &mut Out<'_>) {
        self.bucket_at = None;
        let mut asked: Vec<(PartyId, Hash, u64, u64)> = Vec::new();
        let mut memory = self.memory();
        let mut full = false;
        let mut turns = self.in_turn();
        let on_top = turns.len() as u64 * u64::from(self.options.chunk_bytes);
        let memory_max = self.options.memory_bytes + on_top;
        while !turns.is_empty() {
            let mut blocked = false;
            turns.retain(|peer| {
                if blocked {
                    return true;
                }
                let Some((hash, length, has_some)) = self.next_part(*peer) else {
                    return false;
                };
                full |= memory + length > self.options.memory_bytes;
                // Each peer may have one part in excess of a full budget.
                if full && (has_some || memory + length > memory_max) {
                    return false;
                }
                if !self.bucket.take(now, length) {
                    self.bucket_at = Some(self.bucket.ready_at(length).max(now + 1));
                    blocked = true;
                    return true;
                }
                let Some(fetch) = self.fetches.get_mut(&hash) else {
                    return false;
                };
                if fetch.on_the_way() == 0 {
                    fetch.pace.begin(now);
                }
                let offset = fetch.asked;
                fetch.asked += length;
                memory += length;
                self.picks += 1;
                self.turn = Some(*peer);
                match asked
                    .iter_mut()
                    .find(|(p, h, at, l)| p == peer && *h == hash && *at + *l == offset)
                {
                    Some((.., more)) => *more += length,
                    None => asked.push((*peer, hash, offset, length)),
                }
                true
            });
            if blocked {
                break;
            }
        }
        for (peer, hash, offset, length) in asked {
            let ask = Message::Ask {
                hash,
                offset,
                length,
            };
            out.send(peer, &ask);
        }
    }

    /// Returns the next part to request from a peer (file and length), if the peer's budget has room for it, and whether
    /// other bytes of the peer are in flight already.
    fn next_part(&self, peer: PartyId) -> Option<(Hash, u64, bool)> {
        let inbound = self.peers.get(&peer)?;
        let fetch = |hash: &Hash| self.fetches.get(hash).map(|fetch| (*hash, fetch));
        let moving = || inbound.moving.iter().filter_map(fetch);
        let in_flight: u64 = moving().map(|(_, fetch)| fetch.in_flight()).sum();
        // Clipped at 0: a part in excess of a full budget may be in flight.
        let room = self.options.peer_bytes.saturating_sub(in_flight);
        let length = |fetch: &Fetch| {
            // Clipped at 0: without an offer the size is 0.
            let left = fetch.size().saturating_sub(fetch.asked);
            left.min(u64::from(self.options.chunk_bytes))
        };
        let file_bytes = self.options.file_bytes;
        let fits = |(_, fetch): &(Hash, &Fetch)| {
            let length = length(fetch);
            fetch.state == FetchState::Moving
                && length > 0
                && length <= room
                && fetch.in_flight() + length <= file_bytes
        };
        let (hash, fetch) = if is_oldest_turn(self.picks) {
            moving().filter(fits).min_by_key(|(_, fetch)| fetch.order)?
        } else {
            moving()
                .filter(fits)
                .min_by_key(|(_, f)| (f.size(), f.order))?
        };
        Some((hash, length(fetch), in_flight > 0))
    }

    /// Returns the bytes of memory reserved for requested bytes and for bytes that wait for the disk.
    pub(crate) fn memory(&self) -> u64 {
        let moving = self.peers.values().flat_map(|inbound| &inbound.moving);
        let fetches = moving.filter_map(|hash| self.fetches.get(hash));
        let on_the_way: u64 = fetches.map(Fetch::on_the_way).sum();
        on_the_way + self.writing
    }
}
