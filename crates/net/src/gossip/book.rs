//! The addresses of other nodes, and the time of the next try at each.
//!
//! # Invariants
//! - The word of a peer about another one's address binds nothing. It neither keeps an address from being dialled nor proves it, and it
//!   does not keep peers of other networks from naming another address.
//! - A peer is at an address only if a connection that this node dialled there showed the peer's key.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::exchange::ADDRESSES_MAX;
use super::network::Network;
use super::{GossipLimits, PeerId};

/// Consecutive failed attempts after which an unproven address is forgotten.
const ATTEMPTS_MAX: u32 = 6;
/// Consecutive failed attempts after which a proven address is forgotten: more than an hour.
const ATTEMPTS_PROVEN_MAX: u32 = 150;
/// Proven addresses of one public network. Further ones can be forgotten like those that were only heard of.
const PROVEN_OF_NETWORK_MAX: usize = 32;

/// The addresses to dial.
#[derive(Debug)]
pub(super) struct Book {
    places: BTreeMap<SocketAddr, Place>,
    back_off_min: Duration,
    back_off_max: Duration,
    // Random jitter, so that nodes that lost each other at one moment do not all dial at one moment.
    random: RandomState,
}

#[derive(Debug)]
struct Place {
    /// The peer that was reached there, or is said to be there.
    peer: Option<PeerId>,
    is_seed: bool,
    /// A connection that this node dialled showed that the peer is there.
    is_reached: bool,
    /// A peer of our network was reached there: the address is proven.
    is_proven: bool,
    /// The network of the peer from which the address was learnt; none for a seed.
    told_by: Option<Network>,
    /// The address is this node's own, and is never dialled.
    is_own: bool,
    dialling: bool,
    failures: u32,
    next: Instant,
}

impl Book {
    pub(super) fn new(seeds: &[SocketAddr], limits: &GossipLimits, now: Instant) -> Self {
        let seed = |address: &SocketAddr| (*address, Place::new(None, None, now));
        Self {
            places: seeds.iter().map(seed).collect(),
            back_off_min: limits.back_off_min,
            back_off_max: limits.back_off_max,
            random: RandomState::new(),
        }
    }

    /// Learns from a peer of the network `told_by` that another one is there. If there is no room, an address goes that was only heard of
    /// from the network that told the most, or this one does. Seeds and proven addresses stay.
    pub(super) fn learn(
        &mut self,
        peer: PeerId,
        address: SocketAddr,
        told_by: Network,
        now: Instant,
    ) {
        let is_known = self.places.values().any(|place| {
            place.peer == Some(peer) && (place.is_reached || place.told_by == Some(told_by))
        });
        if is_known || self.places.contains_key(&address) {
            return;
        }
        if self.places.len() >= ADDRESSES_MAX && !self.make_room(told_by) {
            return;
        }
        let place = Place::new(Some(peer), Some(told_by), now);
        self.places.insert(address, place);
    }

    /// Forgets an address that was only heard of, from the network that told more of them than any other and than this one.
    fn make_room(&mut self, for_network: Network) -> bool {
        let mut told: BTreeMap<Network, usize> = BTreeMap::new();
        for network in self.places.values().filter_map(Place::heard_of) {
            *told.entry(network).or_default() += 1;
        }
        // A network that is not counted has no addresses.
        let own = told.get(&for_network).copied().unwrap_or(0);
        let Some((most, count)) = told.into_iter().max_by_key(|(_, count)| *count) else {
            return false;
        };
        if count <= own {
            return false;
        }
        let of_most = self
            .places
            .iter()
            .filter(|(_, place)| place.heard_of() == Some(most));
        let worst = of_most.max_by_key(|(_, place)| place.failures);
        let Some(address) = worst.map(|(address, _)| *address) else {
            return false;
        };
        self.places.remove(&address).is_some()
    }

    /// Whether an address is a seed.
    pub(super) fn is_seed(&self, address: &SocketAddr) -> bool {
        self.places.get(address).is_some_and(|place| place.is_seed)
    }

    /// Returns the number of seeds that are not connected.
    pub(super) fn seeds_missing(
        &self,
        is_met: impl Fn(&SocketAddr, Option<PeerId>) -> bool,
    ) -> usize {
        let missing = |(address, place): &(&SocketAddr, &Place)| {
            place.is_seed && !place.is_own && !is_met(address, place.reached())
        };
        self.places.iter().filter(missing).count()
    }

    /// Returns an address to be tried now, of those that are not unwanted: of an address, the peer reached there, and whether it is a seed.
    pub(super) fn due(
        &mut self,
        now: Instant,
        is_unwanted: impl Fn(&SocketAddr, Option<PeerId>, bool) -> bool,
    ) -> Option<SocketAddr> {
        let due = self.places.iter_mut().filter(|(address, place)| {
            !place.is_own
                && !place.dialling
                && place.next <= now
                && !is_unwanted(address, place.reached(), place.is_seed)
        });
        // The order is: seeds, proven addresses, then the address that has waited longest. So newly learnt addresses never keep the
        // others from being tried.
        let first = due.min_by_key(|(_, place)| (!place.is_seed, !place.is_proven, place.next));
        let (address, place) = first?;
        place.dialling = true;
        Some(*address)
    }

    /// Notes that a connection to the address is established, which proves the key of the peer there.
    pub(super) fn reached(&mut self, address: &SocketAddr, peer: PeerId) {
        if let Some(place) = self.places.get_mut(address) {
            place.dialling = false;
            place.peer = Some(peer);
            place.is_reached = true;
        }
    }

    /// Notes that a peer is one of ours. This proves the addresses at which it was reached.
    pub(super) fn proved(&mut self, peer: PeerId) {
        let mut of_network: BTreeMap<Network, usize> = BTreeMap::new();
        for (address, place) in &self.places {
            let count = of_network.entry(Network::of(address.ip())).or_default();
            *count += usize::from(place.is_proven);
        }
        for (address, place) in &mut self.places {
            if !place.is_reached_as(peer) {
                continue;
            }
            place.failures = 0;
            let network = Network::of(address.ip());
            let count = of_network.entry(network).or_default();
            if !place.is_proven && (network.is_near() || *count < PROVEN_OF_NETWORK_MAX) {
                place.is_proven = true;
                *count += 1;
            }
        }
    }

    /// Notes that an attempt failed, or that the peer there is not useful. The address is tried later, or dropped. Returns whether
    /// it is the first failure in a row.
    pub(super) fn failed(&mut self, address: &SocketAddr, now: Instant) -> bool {
        let Some(place) = self.places.get_mut(address) else {
            return false;
        };
        place.dialling = false;
        // Failures beyond the range count as the last one: both are beyond every limit of attempts.
        place.failures = place.failures.saturating_add(1);
        let first = place.failures == 1;
        let attempts_max = match place.is_proven {
            true => ATTEMPTS_PROVEN_MAX,
            false => ATTEMPTS_MAX,
        };
        if place.is_seed {
            // The node there may have a new key.
            (place.peer, place.is_reached) = (None, false);
        } else if place.failures >= attempts_max {
            self.places.remove(address);
            return first;
        }
        // If the product is clipped, it is still above the longest pause.
        let doubled = self
            .back_off_min
            .saturating_mul(1 << (place.failures - 1).min(16));
        let pause = doubled.min(self.back_off_max);
        let percent = 75 + self.random.hash_one((address, place.failures, now)) % 51;
        place.next = now + pause.mul_f64(percent as f64 / 100.0);
        first
    }

    /// Schedules the next attempt at the address of a peer that has disconnected.
    pub(super) fn lost(&mut self, peer: PeerId, again: Instant) {
        for place in self.places.values_mut() {
            if place.is_reached_as(peer) {
                place.next = again;
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
    /// Returns the peer that was reached there.
    fn reached(&self) -> Option<PeerId> {
        self.peer.filter(|_| self.is_reached)
    }

    fn is_reached_as(&self, peer: PeerId) -> bool {
        self.reached() == Some(peer)
    }

    /// The network that told of it, if it was only heard of.
    fn heard_of(&self) -> Option<Network> {
        self.told_by.filter(|_| !self.is_proven && !self.dialling)
    }

    fn new(peer: Option<PeerId>, told_by: Option<Network>, now: Instant) -> Self {
        Self {
            peer,
            is_seed: told_by.is_none(),
            is_reached: false,
            is_proven: false,
            told_by,
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
        book.due(now, |_, _, _| false).map(|address| address.port())
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
        book.lost(peer(1), now + limits.back_off_min);
        assert_eq!(due(&mut book, now + limits.back_off_min), Some(1));
    }

    #[test]
    fn what_was_only_heard_of_is_forgotten_and_bounded() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut book = Book::new(&[], &limits, now);
        book.learn(peer(1), address(1), Network::Local, now);
        book.learn(peer(1), address(2), Network::Local, now);
        let mut later = now;
        for _ in 0..ATTEMPTS_MAX {
            assert_eq!(due(&mut book, later), Some(1), "one place a peer");
            book.failed(&address(1), later);
            later += limits.back_off_max * 2;
        }
        assert_eq!(due(&mut book, later), None);
        for number in 0..2_000 {
            book.learn(peer(number), address(number), Network::Local, now);
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
                Network::Local,
                start + Duration::from_millis(ms),
            );
        }
        let now = start + Duration::from_millis(25);
        for expected in [Some(9), Some(2), Some(3), None] {
            assert_eq!(due(&mut book, now), expected);
        }
    }

    #[test]
    fn one_network_cannot_fill_the_book_nor_drive_out_proven_addresses() {
        let now = Instant::now();
        let mut book = Book::new(&[address(9_000)], &GossipLimits::default(), now);
        book.learn(peer(8_000), address(8_000), Network::V4([1, 1]), now);
        book.reached(&address(8_000), peer(8_000));
        book.proved(peer(8_000));
        for number in 0..2_000 {
            book.learn(peer(number), address(number), Network::V4([6, 6]), now);
        }
        assert_eq!(book.places.len(), ADDRESSES_MAX);
        for number in 3_000..3_100 {
            book.learn(peer(number), address(number), Network::V4([7, 7]), now);
        }
        let of = |network| {
            let told = book.places.values();
            told.filter(|place| place.told_by == Some(network)).count()
        };
        assert_eq!(book.places.len(), ADDRESSES_MAX);
        assert_eq!(of(Network::V4([7, 7])), 100, "another network is heard");
        assert_eq!(of(Network::V4([1, 1])), 1);
        assert!(book.is_seed(&address(9_000)));
        assert_eq!(due(&mut book, now), Some(9_000));
        assert_eq!(
            due(&mut book, now),
            Some(8_000),
            "then where a peer was met"
        );
    }

    /// A liar's network names an address for a peer, or a peer for an address. Honest peers still make both known.
    #[test]
    fn hearsay_keeps_no_address_from_being_dialled() {
        let now = Instant::now();
        let (liars, others) = (Network::V4([6, 6]), Network::V4([7, 7]));
        let (liar, victim) = (peer(66), peer(1));
        let mut book = Book::new(&[], &GossipLimits::default(), now);
        book.learn(victim, address(2), liars, now);
        book.learn(victim, address(3), liars, now);
        book.learn(victim, address(1), others, now);
        book.learn(liar, address(4), liars, now);
        book.lost(liar, now + Duration::from_secs(60));
        // The liar is connected or banned, and so unwanted where it was reached.
        let mut dialled = Vec::new();
        while let Some(address) = book.due(now, |_, id, _| id == Some(liar)) {
            dialled.push(address.port());
        }
        dialled.sort_unstable();
        assert_eq!(dialled, [1, 2, 4]);
        // That the victim itself connects proves no address of it.
        book.proved(victim);
        assert!(book.places.values().all(|place| !place.is_proven));
        book.reached(&address(1), victim);
        book.proved(victim);
        let proven = book.places.iter().filter(|(_, place)| place.is_proven);
        let proven: Vec<u16> = proven.map(|(address, _)| address.port()).collect();
        assert_eq!(proven, [1]);
        book.learn(victim, address(5), others, now);
        assert!(!book.places.contains_key(&address(5)), "it is known");
    }

    #[test]
    fn one_network_has_few_proven_addresses() {
        let now = Instant::now();
        let mut book = Book::new(&[], &GossipLimits::default(), now);
        let place = |a: u8, number: u16| SocketAddr::from(([6, a, 0, 1], number));
        for number in 0..200 {
            for a in [6, 7] {
                let (id, address) = (peer(number + u16::from(a) * 1_000), place(a, number));
                book.learn(id, address, Network::of(address.ip()), now);
                book.reached(&address, id);
                book.proved(id);
            }
        }
        let proven = book.places.values().filter(|place| place.is_proven);
        assert_eq!(proven.count(), 2 * PROVEN_OF_NETWORK_MAX);
        for number in 0..2_000 {
            let address = SocketAddr::from(([8, 8, 0, 1], number));
            book.learn(peer(number), address, Network::V4([8, 8]), now);
        }
        assert_eq!(book.places.len(), ADDRESSES_MAX);
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
