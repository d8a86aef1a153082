//! The back chains that are being fetched: which items wait for them, how many may run at once, and which peer's turn it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use ledger::{PartyId, TxId};
use primitives::Monotonic;
use primitives::collections::HashMap;

use crate::back_chains::chain::Resolution;
use crate::back_chains::chain_part::ChainPart;
use crate::intake::item_id::ItemId;
use crate::message::FETCH_WANTED_MAX;

/// Maximum number of resolutions in progress. An item that needs a further one waits for a place.
pub const RESOLUTIONS_MAX: usize = 64;
/// Maximum number of resolutions in progress from one peer.
pub const RESOLUTIONS_PER_PEER_MAX: usize = 16;
/// Time without an answer after which a resolution loses its place to a waiting one, in milliseconds.
pub const RESOLUTION_STALL_MS: u64 = 120_000;

/// A resolution with those who need it.
#[derive(Debug)]
pub struct Running {
    /// The chain.
    pub resolution: Resolution,
    /// The item that needs the chain.
    pub primary: ItemId,
    /// All items that wait for a part of it, the primary one included.
    pub waiting: BTreeSet<ItemId>,
    /// The part whose signatures are being checked.
    pub(super) part: Option<ChainPart>,
    /// The transactions under which its number is in [`Resolutions`]. They leave with it.
    entered: BTreeSet<TxId>,
    /// The time of the peer's last answer.
    progress_at: Monotonic,
}

impl Running {
    /// Returns whether a part of the chain can be taken to be verified.
    fn can_verify(&self) -> bool {
        self.part.is_none() && self.resolution.can_verify()
    }
}

/// The running resolutions, and the items that wait for one.
#[derive(Debug, Default)]
pub struct Resolutions {
    next: u64,
    running: BTreeMap<u64, Running>,
    /// Transactions that running resolutions ask for or have in memory, with the numbers of these resolutions: bounded by
    /// [`FETCH_WANTED_MAX`] a peer, one answer, and one part that is verified.
    in_flight: HashMap<TxId, Vec<u64>>,
    /// Items that need a resolution while there is no place for one.
    held: BTreeMap<PartyId, BTreeSet<ItemId>>,
    up: BTreeSet<PartyId>,
    /// The resolution whose chain was verified last.
    turn: u64,
    /// The peer whose held item was taken last.
    held_turn: Option<PartyId>,
    /// Resolutions that no item needs any more.
    abandoned: Vec<u64>,
}

impl Resolutions {
    /// Returns whether a peer is connected.
    pub fn is_up(&self, peer: &PartyId) -> bool {
        self.up.contains(peer)
    }

    /// Creates an empty set. Numbers start at `first`, which is drawn at each start, so that no answer to a request of an earlier
    /// run matches.
    pub fn new(first: u64) -> Self {
        Self {
            next: first,
            ..Self::default()
        }
    }

    /// Notes that a peer has connected.
    pub fn peer_up(&mut self, peer: PartyId) {
        self.up.insert(peer);
    }

    /// Notes that a peer has disconnected.
    pub fn peer_down(&mut self, peer: &PartyId) {
        self.up.remove(peer);
    }

    /// Returns whether a further chain could be fetched from a peer now.
    pub fn has_place(&self, peer: &PartyId) -> bool {
        self.up.contains(peer)
            && self.running.len() < RESOLUTIONS_MAX
            && self.count_of(peer) < RESOLUTIONS_PER_PEER_MAX
            && self.missing_from(peer) <= FETCH_WANTED_MAX / 2
    }

    fn count_of(&self, peer: &PartyId) -> usize {
        let of_peer = self.running.values();
        of_peer.filter(|r| r.resolution.peer == *peer).count()
    }

    /// Begins one; the caller has asked for a place.
    pub fn begin(
        &mut self,
        item: ItemId,
        peer: PartyId,
        root: TxId,
        missing: BTreeSet<TxId>,
        bytes_max: u64,
        now: Monotonic,
    ) -> u64 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let asked = missing.clone();
        let resolution = Resolution::new(number, root, peer, missing, bytes_max);
        let waiting = BTreeSet::from([item]);
        self.running.insert(
            number,
            Running {
                resolution,
                primary: item,
                waiting,
                part: None,
                entered: BTreeSet::new(),
                progress_at: now,
            },
        );
        for id in asked {
            self.enter_in_flight(id, number);
        }
        number
    }

    /// Returns the resolution that fetches a transaction from a peer. Without a peer, returns the first from any peer.
    pub fn fetched_from(&self, id: &TxId, peer: Option<PartyId>) -> Option<u64> {
        let mut numbers = self.in_flight.get(id)?.iter().copied();
        numbers.find(|number| {
            let running = self.running.get(number);
            running.is_some_and(|it| peer.is_none_or(|peer| peer == it.resolution.peer))
        })
    }

    /// Notes that a resolution fetches a transaction. Numbers of resolutions that have ended go.
    fn enter_in_flight(&mut self, id: TxId, number: u64) {
        let numbers = self.in_flight.entry(id).or_default();
        numbers.retain(|other| *other != number && self.running.contains_key(other));
        numbers.push(number);
        if let Some(running) = self.running.get_mut(&number) {
            running.entered.insert(id);
        }
    }

    /// Notes that a resolution does not fetch a transaction any more, or that it is in memory no longer.
    fn leave_in_flight(&mut self, id: &TxId, number: u64) {
        if let Some(numbers) = self.in_flight.get_mut(id) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.in_flight.remove(id);
            }
        }
        if let Some(running) = self.running.get_mut(&number) {
            running.entered.remove(id);
        }
    }

    /// Lets an item wait for a part of a chain.
    pub fn join(&mut self, number: u64, item: ItemId) {
        let running = self.running.get_mut(&number);
        let running = running.expect("an item waits for a chain that is fetched");
        running.waiting.insert(item);
    }

    /// Notes that an item does not need a resolution any more.
    pub fn leave(&mut self, number: u64, item: ItemId) {
        if let Some(running) = self.running.get_mut(&number) {
            running.waiting.remove(&item);
            if running.waiting.is_empty() {
                self.abandoned.push(number);
            }
        }
    }

    /// Returns a resolution that no item needs.
    pub fn pop_abandoned(&mut self) -> Option<u64> {
        while let Some(number) = self.abandoned.pop() {
            // An item may have joined it since.
            if self
                .running
                .get(&number)
                .is_some_and(|running| running.waiting.is_empty())
            {
                return Some(number);
            }
        }
        None
    }

    /// Returns a running resolution.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Resolution> {
        self.running
            .get_mut(&number)
            .map(|running| &mut running.resolution)
    }

    /// Keeps a part until its signatures are checked.
    pub(super) fn keep_part(&mut self, number: u64, part: ChainPart) {
        if let Some(running) = self.running.get_mut(&number) {
            assert!(running.part.is_none(), "one part of a chain at a time");
            running.part = Some(part);
        }
    }

    /// Notes the verdict on the signatures of a transaction. Returns the part and the peer that showed it, if it was the last verdict.
    pub(super) fn part_checked(
        &mut self,
        number: u64,
        place: usize,
        is_good: bool,
    ) -> Option<(ChainPart, PartyId)> {
        let running = self.running.get_mut(&number)?;
        running.part.as_mut()?.note(place, is_good);
        let part = running.part.take_if(|part| part.is_checked())?;
        Some((part, running.resolution.peer))
    }

    /// Notes an answer of the peer: the ids that it made known, and those that went from memory to the disk.
    pub fn progressed(&mut self, number: u64, found: &[TxId], spilled: &[TxId], now: Monotonic) {
        let Some(running) = self.running.get_mut(&number) else {
            return;
        };
        running.progress_at = now;
        for id in found {
            self.enter_in_flight(*id, number);
        }
        for id in spilled {
            self.leave_in_flight(id, number);
        }
    }

    /// Returns whether the chains fetched from a peer lack more transactions together than one chain may.
    pub fn asks_too_much_of(&self, peer: &PartyId) -> bool {
        self.missing_from(peer) > FETCH_WANTED_MAX
    }

    /// Returns how many bytes a resolution may add to those that wait for verification, of at most `bytes_max` for all peers. The total
    /// of its peer may not exceed the unused part, so peers that fill their shares leave room for one more.
    pub fn room_for(&self, number: u64, bytes_max: u64) -> u64 {
        let peer = self.running.get(&number).map(|it| it.resolution.peer);
        let (mut own, mut all) = (0, 0);
        for running in self.running.values() {
            let held = running.resolution.held_bytes();
            all += held;
            if Some(running.resolution.peer) == peer {
                own += held;
            }
        }
        // Clipped at 0: the share of a peer shrinks as others take theirs.
        bytes_max.saturating_sub(all).saturating_sub(own)
    }

    fn missing_from(&self, peer: &PartyId) -> usize {
        let of_peer = self.running.values().filter(|r| r.resolution.peer == *peer);
        of_peer.map(|r| r.resolution.missing().len()).sum()
    }

    /// Notes that a transaction is recorded.
    pub fn recorded(&mut self, id: &TxId) {
        for number in self.in_flight.remove(id).unwrap_or_default() {
            if let Some(running) = self.running.get_mut(&number) {
                running.entered.remove(id);
            }
        }
    }

    /// Notes that all batches up to `number` are durable.
    pub fn committed(&mut self, number: u64) {
        for running in self.running.values_mut() {
            running.resolution.committed(number);
        }
    }

    /// Returns the next resolution with something to verify. Resolutions take turns.
    pub fn next_to_verify(&mut self) -> Option<u64> {
        let ready = |(_, running): &(&u64, &Running)| running.can_verify();
        let after = self.running.range(self.turn.wrapping_add(1)..).find(ready);
        let number = *after.or_else(|| self.running.iter().find(ready))?.0;
        self.turn = number;
        Some(number)
    }

    /// Returns the peers of the resolutions with something to verify.
    pub fn peers_to_verify(&self) -> impl Iterator<Item = &PartyId> {
        let running = self.running.values().filter(|it| it.can_verify());
        running.map(|it| &it.resolution.peer)
    }

    /// Removes a resolution that has succeeded or failed.
    pub fn end(&mut self, number: u64) -> Option<Running> {
        let running = self.running.remove(&number)?;
        for id in &running.entered {
            self.leave_in_flight(id, number);
        }
        Some(running)
    }

    /// Keeps an item until there is a place for its chain.
    pub fn hold(&mut self, peer: PartyId, item: ItemId) {
        self.held.entry(peer).or_default().insert(item);
    }

    /// Ends an item's wait for a place.
    pub fn unhold(&mut self, peer: &PartyId, item: ItemId) {
        if let Some(held) = self.held.get_mut(peer) {
            held.remove(&item);
            if held.is_empty() {
                self.held.remove(peer);
            }
        }
    }

    /// Returns the oldest held item of a peer, if there is a place for it. Peers take turns, and those without a running
    /// resolution come first.
    pub fn next_held(&mut self) -> Option<ItemId> {
        if self.held.is_empty() || self.running.len() >= RESOLUTIONS_MAX {
            return None;
        }
        let after = self.held_turn.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.held.range((after, Bound::Unbounded)).chain(&self.held);
        let later = later.map(|(peer, _)| *peer);
        let mut later = later.filter(|peer| self.has_place(peer));
        let first = later.next()?;
        // A peer that has no running resolution goes before one that has.
        let peer = std::iter::once(first)
            .chain(later)
            .find(|peer| self.count_of(peer) == 0)
            .unwrap_or(first);
        let held = self.held.get_mut(&peer)?;
        let item = held.pop_first();
        if held.is_empty() {
            self.held.remove(&peer);
        }
        self.held_turn = Some(peer);
        item
    }

    /// Returns a resolution that must give up its place, because others wait and its peer is disconnected or silent.
    pub fn stalled(&self, now: Monotonic) -> Option<u64> {
        if !self.is_short_of_places() {
            return None;
        }
        let mut running = self.running.iter();
        let stalled = running.find(|(_, running)| {
            !self.up.contains(&running.resolution.peer) || stalls_at(running) <= now
        });
        stalled.map(|(number, _)| *number)
    }

    /// Returns a resolution that must give up its place although it makes progress, because a peer without any waits: the newest
    /// one of the peer that has most. So a few peers cannot keep all places.
    pub fn crowding(&self) -> Option<u64> {
        if !self.is_short_of_places() {
            return None;
        }
        let mut counts: BTreeMap<PartyId, (usize, u64)> = BTreeMap::new();
        for (number, running) in &self.running {
            let (count, newest) = counts.entry(running.resolution.peer).or_default();
            (*count, *newest) = (*count + 1, *number);
        }
        let waits = |peer: &PartyId| self.up.contains(peer) && !counts.contains_key(peer);
        if !self.held.keys().any(waits) {
            return None;
        }
        let most = counts.into_values().max()?;
        (most.0 > 1).then_some(most.1)
    }

    /// Returns the time at which [`Resolutions::stalled`] must be called again.
    pub fn next_stall(&self) -> Option<Monotonic> {
        if !self.is_short_of_places() {
            return None;
        }
        self.running.values().map(stalls_at).min()
    }

    /// Returns whether an item of a connected peer waits because all places are taken.
    fn is_short_of_places(&self) -> bool {
        self.running.len() >= RESOLUTIONS_MAX && self.held.keys().any(|peer| self.up.contains(peer))
    }
}

fn stalls_at(running: &Running) -> Monotonic {
    if running.resolution.missing().is_empty() {
        return Monotonic::MAX;
    }
    running.progress_at.after_ms(RESOLUTION_STALL_MS)
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn a_resolution_leaves_nothing_behind() {
        let id = |n: u8| TxId::from_hash(Hash::plain(&[n]));
        let peer = PartyId::from_hash(Hash::plain(b"peer"));
        // The transactions that an answer makes known, those that go to the disk, and those that are recorded.
        for (found, spilled, recorded) in [
            (&[][..], &[][..], &[][..]),
            (&[2, 3], &[], &[]),
            (&[2, 3], &[2], &[]),
            (&[2, 3], &[], &[1, 3]),
            (&[2, 3], &[2], &[2]),
        ] {
            let ids = |of: &[u8]| of.iter().map(|n| id(*n)).collect::<Vec<TxId>>();
            let mut resolutions = Resolutions::new(7);
            let begin = |resolutions: &mut Resolutions, missing: u8| {
                let missing = BTreeSet::from([id(missing)]);
                let now = Monotonic::from_ms(0);
                resolutions.begin(ItemId(1), peer, id(9), missing, 1_000, now)
            };
            let number = begin(&mut resolutions, 1);
            let other = begin(&mut resolutions, 3);
            let now = Monotonic::from_ms(1);
            resolutions.progressed(number, &ids(found), &ids(spilled), now);
            for id in ids(recorded) {
                resolutions.recorded(&id);
                assert_eq!(resolutions.fetched_from(&id, None), None);
            }
            assert!(resolutions.end(number).is_some());
            let is_left = !recorded.contains(&3);
            let left = resolutions.fetched_from(&id(3), Some(peer));
            assert_eq!(left, is_left.then_some(other), "{found:?} {spilled:?}");
            assert!(resolutions.end(other).is_some());
            assert!(resolutions.in_flight.is_empty(), "{found:?} {spilled:?}");
        }
    }
}
