//! Where other nodes can be reached, and when to try again.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::exchange::ADDRESSES_MAX;
use super::{GossipLimits, PeerId};

/// Attempts in a row after which an address that is no seed is forgotten.
const ATTEMPTS_MAX: u32 = 6;

/// See the module.
#[derive(Debug)]
pub(super) struct Book {
    places: BTreeMap<SocketAddr, Place>,
    back_off_min: Duration,
    back_off_max: Duration,
    // So that nodes which lost each other at once do not all come back at once.
    random: RandomState,
}

#[derive(Debug)]
struct Place {
    /// Who was met there, or is said to be.
    peer: Option<PeerId>,
    is_seed: bool,
    /// It is ourselves: never dialled.
    is_own: bool,
    dialling: bool,
    failures: u32,
    next: Instant,
}

impl Book {
    pub(super) fn new(seeds: &[SocketAddr], limits: &GossipLimits, now: Instant) -> Self {
        let seed = |address: &SocketAddr| (*address, Place::new(None, true, now));
        Self {
            places: seeds.iter().map(seed).collect(),
            back_off_min: limits.back_off_min,
            back_off_max: limits.back_off_max,
            random: RandomState::new(),
        }
    }

    /// Somebody says that a peer is there. Forgotten if there is no room: seeds and what is known stays.
    pub(super) fn learn(&mut self, peer: PeerId, address: SocketAddr, now: Instant) {
        let is_known = self.places.values().any(|place| place.peer == Some(peer));
        if !is_known && self.places.len() < ADDRESSES_MAX {
            self.places
                .entry(address)
                .or_insert_with(|| Place::new(Some(peer), false, now));
        }
    }

    /// An address to be tried now, of those whose peer is not among `connected` and not unwelcome.
    pub(super) fn due(
        &mut self,
        now: Instant,
        is_unwanted: impl Fn(&SocketAddr, Option<PeerId>) -> bool,
    ) -> Option<(SocketAddr, Option<PeerId>)> {
        let due = self.places.iter_mut().filter(|(address, place)| {
            !place.is_own
                && !place.dialling
                && place.next <= now
                && !is_unwanted(address, place.peer)
        });
        // Seeds first, then who has waited longest: what others tell never keeps the rest from being tried.
        let first = due.min_by_key(|(_, place)| (!place.is_seed, place.next));
        let (address, place) = first?;
        place.dialling = true;
        Some((*address, place.peer))
    }

    /// A connection to the address stands; who is there is known now.
    pub(super) fn reached(&mut self, address: &SocketAddr, peer: PeerId) {
        if let Some(place) = self.places.get_mut(address) {
            place.dialling = false;
            place.peer = Some(peer);
        }
    }

    /// The peer that was reached is one of ours.
    pub(super) fn proved(&mut self, peer: PeerId) {
        for place in self.places.values_mut() {
            if place.peer == Some(peer) {
                place.failures = 0;
            }
        }
    }

    /// An attempt failed, or what was reached is of no use: later again, or never. Returns whether it is the first in a row.
    pub(super) fn failed(&mut self, address: &SocketAddr, now: Instant) -> bool {
        let Some(place) = self.places.get_mut(address) else {
            return false;
        };
        place.dialling = false;
        place.failures = place.failures.saturating_add(1);
        let first = place.failures == 1;
        if place.is_seed {
            // Whoever was there may have another key now.
            place.peer = None;
        } else if place.failures >= ATTEMPTS_MAX {
            self.places.remove(address);
            return first;
        }
        let doubled = self
            .back_off_min
            .saturating_mul(1 << (place.failures - 1).min(16));
        let pause = doubled.min(self.back_off_max);
        let percent = 75 + self.random.hash_one((address, place.failures, now)) % 51;
        place.next = now + pause.mul_f64(percent as f64 / 100.0);
        first
    }

    /// A peer that was connected is gone: try soon, at where it was.
    pub(super) fn lost(&mut self, peer: PeerId, now: Instant) {
        for place in self.places.values_mut() {
            if place.peer == Some(peer) {
                place.next = now + self.back_off_min;
            }
        }
    }

    /// The address is this node's own.
    pub(super) fn is_own(&mut self, address: &SocketAddr) {
        if let Some(place) = self.places.get_mut(address) {
            (place.is_own, place.dialling) = (true, false);
        }
    }
}

impl Place {
    fn new(peer: Option<PeerId>, is_seed: bool, now: Instant) -> Self {
        Self {
            peer,
            is_seed,
            is_own: false,
            dialling: false,
            failures: 0,
            next: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn peer(number: u16) -> PeerId {
        let mut key = [0; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        PeerId::from_bytes(key)
    }

    fn due(book: &mut Book, now: Instant) -> Option<u16> {
        book.due(now, |_, _| false)
            .map(|(address, _)| address.port())
    }

    #[test]
    fn a_seed_is_tried_for_ever_at_growing_bounded_intervals() {
        let (mut now, limits) = (Instant::now(), GossipLimits::default());
        let mut book = Book::new(&[address(1)], &limits, now);
        for attempt in 1..40_u32 {
            assert_eq!(due(&mut book, now), Some(1));
            assert_eq!(due(&mut book, now), None, "it is being dialled");
            assert_eq!(book.failed(&address(1), now), attempt == 1);
            let pause = limits.back_off_min * (1 << (attempt - 1).min(12));
            let pause = pause.min(limits.back_off_max);
            assert_eq!(due(&mut book, now + pause.mul_f64(0.74)), None);
            now += pause.mul_f64(1.26);
        }
        assert_eq!(due(&mut book, now), Some(1));
        book.reached(&address(1), peer(1));
        book.proved(peer(1));
        book.lost(peer(1), now);
        assert_eq!(due(&mut book, now + limits.back_off_min), Some(1));
    }

    #[test]
    fn what_was_only_heard_of_is_forgotten_and_bounded() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut book = Book::new(&[], &limits, now);
        book.learn(peer(1), address(1), now);
        book.learn(peer(1), address(2), now);
        let mut later = now;
        for _ in 0..ATTEMPTS_MAX {
            assert_eq!(due(&mut book, later), Some(1), "one place a peer");
            book.failed(&address(1), later);
            later += limits.back_off_max * 2;
        }
        assert_eq!(due(&mut book, later), None);
        for number in 0..2_000 {
            book.learn(peer(number), address(number), now);
        }
        assert_eq!(book.places.len(), ADDRESSES_MAX);
    }

    #[test]
    fn seeds_are_tried_first_and_the_others_in_turn() {
        let start = Instant::now();
        let mut book = Book::new(&[address(9)], &GossipLimits::default(), start);
        for (number, ms) in [(1, 30), (2, 10), (3, 20)] {
            book.learn(
                peer(number),
                address(number),
                start + Duration::from_millis(ms),
            );
        }
        let now = start + Duration::from_millis(25);
        for expected in [Some(9), Some(2), Some(3), None] {
            assert_eq!(due(&mut book, now), expected);
        }
    }

    #[test]
    fn nobody_dials_itself() {
        let now = Instant::now();
        let mut book = Book::new(&[address(1)], &GossipLimits::default(), now);
        assert_eq!(due(&mut book, now), Some(1));
        book.is_own(&address(1));
        assert_eq!(due(&mut book, now + Duration::from_secs(1_000)), None);
    }
}
