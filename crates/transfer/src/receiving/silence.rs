//! Handles peers that send nothing, or too little, of the requested bytes.

use ledger::PartyId;
use primitives::Hash;

use super::Receiving;
use crate::event::Failure;
use crate::fetch::{ASKED_AGAIN_MAX, FetchState, MOVING_AGAIN_MAX};
use crate::message::Message;
use crate::out::Out;
use crate::pace::PROGRESS_BYTES;
use crate::time::{later, times};

/// Maximum wait for a file while its peer sends other files, as a multiple of the silence. After that it is requested again.
const BEHIND_OTHERS_MAX: u64 = 32;

impl Receiving {
    /// Handles the timers that have run out.
    pub(crate) fn on_time(&mut self, now: u64, out: &mut Out<'_>) {
        while let Some((at, hash)) = self.timers.first().copied()
            && at <= now
        {
            self.disarm(hash);
            self.ran_out(now, hash, out);
        }
    }

    fn ran_out(&mut self, now: u64, hash: Hash, out: &mut Out<'_>) {
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        match fetch.state {
            FetchState::Away => self.fail(hash, Failure::Gone, out),
            FetchState::Queued { .. } => self.enlist(now, hash),
            FetchState::Wanted | FetchState::Moving => {
                // Nothing is on the way: the fetch waits for a budget or for the disk.
                if fetch.state == FetchState::Moving && fetch.on_the_way() == 0 {
                    fetch.pace.begin(now);
                }
                let until = self.awaited_until(&hash);
                if until > now {
                    return self.arm(hash, until);
                }
                self.ask_again(now, hash, out);
            }
            FetchState::Offered | FetchState::Opening | FetchState::Publishing => {}
        }
    }

    /// Returns the time at which the wait for an answer ends. The wait is longer while the peer sends bytes of other files,
    /// because the answer is then queued behind them and not lost.
    fn awaited_until(&self, hash: &Hash) -> u64 {
        let silence_ms = self.options.silence_ms;
        let Some(fetch) = self.fetches.get(hash) else {
            return 0;
        };
        let inbound = fetch.source().and_then(|s| self.peers.get(&s.peer));
        let of_peer = inbound.map_or(0, |inbound| inbound.pace.heard_ms);
        let of_file = fetch.pace.heard_ms;
        let behind_ms = times(silence_ms, BEHIND_OTHERS_MAX);
        let heard_ms = of_file.max(of_peer.min(later(of_file, behind_ms)));
        later(heard_ms, fetch.patience_ms(silence_ms))
    }

    fn ask_again(&mut self, now: u64, hash: Hash, out: &mut Out<'_>) {
        let silence_ms = self.options.silence_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        if fetch.asked_again >= ASKED_AGAIN_MAX {
            return self.fail(hash, Failure::Gone, out);
        }
        fetch.asked_again += 1;
        fetch.pace.begin(now);
        out.figures.asked_again += 1;
        let Some(source) = fetch.source() else { return };
        if fetch.state == FetchState::Moving && fetch.asked_again > MOVING_AGAIN_MAX {
            return self.give_way(now, hash, source.peer, out);
        }
        let until = later(now, fetch.patience_ms(silence_ms));
        // The bytes on the way are lost, and are asked for again.
        let lost = fetch.on_the_way();
        fetch.asked = fetch.received;
        if fetch.state == FetchState::Wanted {
            let transaction = source.transaction;
            out.send(source.peer, &Message::Want { hash, transaction });
        }
        self.may_come_late(source.peer, lost);
        self.arm(hash, until);
    }

    /// Takes the slot and memory from a fetch that receives nothing, and moves it to the end of the queue.
    fn give_way(&mut self, now: u64, hash: Hash, peer: PartyId, out: &mut Out<'_>) {
        self.leave(hash, out);
        if let Some(inbound) = self.peers.get_mut(&peer) {
            inbound.is_silent = true;
        }
        self.orders += 1;
        if let Some(fetch) = self.fetches.get_mut(&hash) {
            fetch.order = self.orders;
        }
        self.enlist(now, hash);
    }

    /// Counts bytes that are no longer awaited or were requested again. They may still arrive.
    pub(super) fn may_come_late(&mut self, peer: PartyId, bytes: u64) {
        let late_max = 2 * self.options.peer_bytes;
        if let Some(inbound) = self.peers.get_mut(&peer) {
            inbound.late = (inbound.late + bytes).min(late_max);
        }
    }

    /// Handles bytes that came and are dropped. If they were requested at some time, they count as progress of the peer.
    pub(super) fn came_late(&mut self, now: u64, peer: PartyId, bytes: u64) {
        let Some(inbound) = self.peers.get_mut(&peer) else {
            return;
        };
        let taken = bytes.min(inbound.late);
        inbound.late -= taken;
        if taken > 0 {
            let enough = self.enough();
            self.heard(now, peer, taken, enough);
        }
    }

    /// Records received bytes that had been asked for. `enough` bytes keep the peer from counting as silent.
    pub(super) fn heard(&mut self, now: u64, peer: PartyId, bytes: u64, enough: u64) {
        let silence_ms = self.options.silence_ms;
        if let Some(inbound) = self.peers.get_mut(&peer)
            && inbound.pace.gain(now, bytes, (enough, silence_ms))
        {
            inbound.is_silent = false;
        }
    }

    /// Returns the number of bytes that counts as progress.
    pub(super) fn enough(&self) -> u64 {
        PROGRESS_BYTES.min(self.options.chunk_bytes.into())
    }
}
