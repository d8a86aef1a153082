//! Chooses the next read: peers take turns, and nothing is read ahead without room for it.

use ledger::PartyId;
use primitives::Hash;

use super::{Outbound, Serving};
use crate::event::Action;
use crate::inbound::is_oldest_turn;
use crate::message::Message;
use crate::out::Out;
use crate::time::later;

/// Interval of the queries for the bytes in the network's queues, in milliseconds.
const GAUGE_MS: u64 = 5;

impl Serving {
    /// Requests the reads that the budgets allow.
    pub(crate) fn pump(&mut self, now: u64, out: &mut Out<'_>) {
        self.wakeup = None;
        let mut memory = self.memory();
        let mut crowded = false;
        let mut turns = self.in_turn();
        'turns: while !turns.is_empty() {
            let mut left = Vec::with_capacity(turns.len());
            for peer in turns {
                let Some((hash, offset, length)) = self.next_part(peer) else {
                    continue;
                };
                if !self.has_room(peer, length, memory) {
                    crowded = true;
                    continue;
                }
                if !self.bucket.take(now, length) {
                    self.wakeup = Some(self.bucket.ready_at(length).max(now + 1));
                    break 'turns;
                }
                memory += length;
                self.read_on(peer, hash, (offset, length), out);
                left.push(peer);
            }
            turns = left;
        }
        if crowded {
            self.gauge(now, out);
        }
    }

    fn read_on(
        &mut self,
        peer: PartyId,
        hash: Hash,
        (offset, length): (u64, u64),
        out: &mut Out<'_>,
    ) {
        self.picks += 1;
        self.turn = Some(peer);
        let Some(outbound) = self.peers.get_mut(&peer) else {
            return;
        };
        outbound.reading += length;
        if let Some(file) = outbound.files.get_mut(&hash) {
            file.next = offset + length;
            file.reading += 1;
            file.used = self.picks;
        }
        let length = u32::try_from(length).expect("a part is at most a chunk");
        out.act(Action::Read {
            peer,
            hash,
            offset,
            length,
            head: Message::data_head(&hash, offset, length),
        });
    }

    /// Returns the next part for a peer: of the smallest file that it asks parts of, but at every fourth choice of the one that
    /// it asked for or got bytes of longest ago.
    fn next_part(&self, peer: PartyId) -> Option<(Hash, u64, u64)> {
        let waiting = self.peers.get(&peer)?.files.iter();
        let waiting = waiting.filter(|(_, file)| file.next < file.until);
        let (hash, file) = if is_oldest_turn(self.picks) {
            waiting.min_by_key(|(_, file)| file.used)?
        } else {
            waiting.min_by_key(|(_, file)| file.size)?
        };
        let length = (file.until - file.next).min(self.options.chunk_bytes.into());
        Some((*hash, file.next, length))
    }

    fn has_room(&self, peer: PartyId, length: u64, memory: u64) -> bool {
        let Some(outbound) = self.peers.get(&peer) else {
            return false;
        };
        let taken = outbound.reading + outbound.queued;
        taken == 0
            || (taken + length <= self.options.peer_bytes
                && memory + length <= self.options.memory_bytes)
    }

    /// Queries the bytes in the network's queues, at most every [`GAUGE_MS`] milliseconds.
    fn gauge(&mut self, now: u64, out: &mut Out<'_>) {
        let due = self.gauged_ms.map_or(now, |at| later(at, GAUGE_MS));
        if due <= now {
            self.gauged_ms = Some(now);
            for (peer, outbound) in &self.peers {
                if outbound.queued > 0 {
                    out.act(Action::Gauge { peer: *peer });
                }
            }
        }
        let again = due.max(later(now, 1));
        self.wakeup = Some(self.wakeup.map_or(again, |at| at.min(again)));
    }

    fn in_turn(&self) -> Vec<PartyId> {
        let asks = |(peer, outbound): (&PartyId, &Outbound)| {
            (outbound.up && !outbound.files.is_empty()).then_some(*peer)
        };
        let mut peers: Vec<PartyId> = self.peers.iter().filter_map(asks).collect();
        let first = peers.partition_point(|peer| Some(*peer) <= self.turn);
        peers.rotate_left(first);
        peers
    }
}
