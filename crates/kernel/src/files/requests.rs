//! The files that items wait for, the peers that are asked for them, and the times of further attempts.
//!
//! # Invariants
//! - An item waits for at most [`FILES_AT_ONCE`] files at a time. The intake therefore bounds the memory for waiting.
//! - A file is asked of one peer at a time, and only of one that brought a transaction which lists it.
//! - A fault of one peer does not become another's. A file that one peer does not give is requested from the next peer that
//!   brought it.

use std::collections::{BTreeMap, BTreeSet};

use flow::messaging::BackOff;
use ledger::{PartyId, TxId};
use primitives::collections::HashMap;
use primitives::{Hash, Monotonic};

use crate::cache::GenerationCache;
use crate::intake::item_id::ItemId;

/// Maximum number of files that one item waits for at a time. Once they are stored it waits for the next ones.
pub(crate) const FILES_AT_ONCE: usize = 8;
/// Number of failed requests for a file, because a peer is away or the disk fails, after which the waiting items end without it.
pub(crate) const FILE_TRIES_MAX: u32 = 8;
/// Delays before a failed request is repeated.
const AGAIN: BackOff = BackOff {
    first_ms: 1_000,
    max_ms: 60_000,
};
/// Delays before a peer is asked again for a file that it refused or sent damaged.
const FAULT: BackOff = BackOff {
    first_ms: 2_000,
    max_ms: 600_000,
};
/// Number of refusals that one mismatch counts as, because it may have cost the transfer of the whole file.
pub(crate) const MISMATCH_WEIGHT: u32 = 4;
/// Memory for one recorded fault, in bytes.
const FAULT_BYTES: usize = 128;
/// Maximum memory for all recorded faults, in bytes. The oldest are forgotten first.
const FAULTS_BYTES_MAX: usize = 256 << 10;

/// The files that an item lacks.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The peers that have the files.
    pub(crate) peer: PartyId,
    /// The transaction that lists them.
    pub(crate) transaction: TxId,
    /// The files that it waits for.
    pub(crate) missing: BTreeSet<Hash>,
    /// The total size of its files that are stored here, in bytes.
    pub(crate) here_bytes: u64,
}

/// A file that is waited for.
#[derive(Debug, Default)]
struct Fetch {
    waiting: BTreeSet<ItemId>,
    /// The peer that is asked now.
    from: Option<PartyId>,
    /// The size that the peer announced.
    offered: Option<u64>,
    tries: u32,
    /// The time of the next request, after a failed one.
    again: Option<Monotonic>,
}

/// Something to ask a peer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) hash: Hash,
    pub(crate) peer: PartyId,
    pub(crate) transaction: TxId,
    /// The item that needs it.
    pub(crate) item: ItemId,
}

/// The files that items wait for, and the requests for them to peers.
#[derive(Debug)]
pub(crate) struct FileWaits {
    items: BTreeMap<ItemId, Waiter>,
    fetches: HashMap<Hash, Fetch>,
    /// Files to request, or to give up because no item waits for them.
    touched: BTreeSet<Hash>,
    times: BTreeSet<(Monotonic, Hash)>,
    faults: GenerationCache<(PartyId, Hash), (u32, Monotonic)>,
}

impl Default for FileWaits {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            fetches: HashMap::default(),
            touched: BTreeSet::new(),
            times: BTreeSet::new(),
            faults: GenerationCache::new(FAULTS_BYTES_MAX),
        }
    }
}

impl FileWaits {
    /// Begins an item's wait for files. It must not be waiting already.
    pub(crate) fn wait(&mut self, item: ItemId, waiter: Waiter) {
        for hash in &waiter.missing {
            let fetch = self.fetches.entry(*hash).or_default();
            fetch.waiting.insert(item);
            if fetch.from.is_none() && fetch.again.is_none() {
                self.touched.insert(*hash);
            }
        }
        self.items.insert(item, waiter);
    }

    /// Ends the wait of an item.
    pub(crate) fn leave(&mut self, item: ItemId) {
        let Some(waiter) = self.items.remove(&item) else {
            return;
        };
        for hash in waiter.missing {
            if let Some(fetch) = self.fetches.get_mut(&hash) {
                fetch.waiting.remove(&item);
                if fetch.waiting.is_empty() {
                    self.touched.insert(hash);
                }
            }
        }
    }

    /// Returns whether an item waits for files.
    pub(crate) fn is_waiting(&self, item: &ItemId) -> bool {
        self.items.contains_key(item)
    }

    /// Files that are waited for.
    pub(crate) fn len(&self) -> usize {
        self.fetches.len()
    }

    /// Handles the arrival of a file. Returns the items that waited for no other file, and whether a peer was asked for it.
    pub(crate) fn arrived(&mut self, hash: &Hash, size: u64) -> (Vec<ItemId>, bool) {
        let Some(fetch) = self.remove(hash) else {
            return (Vec::new(), false);
        };
        let mut ready = Vec::new();
        for item in fetch.waiting {
            if let Some(waiter) = self.items.get_mut(&item) {
                waiter.missing.remove(hash);
                waiter.here_bytes += size;
                if waiter.missing.is_empty() {
                    self.items.remove(&item);
                    ready.push(item);
                }
            }
        }
        (ready, fetch.from.is_some())
    }

    /// Notes the size that a peer announces for a file. Returns the items that rely on this peer for it. There are none if the
    /// peer was not asked.
    pub(crate) fn offered(&mut self, hash: &Hash, peer: &PartyId, size: u64) -> Vec<ItemId> {
        match self.fetches.get_mut(hash) {
            Some(fetch) if fetch.from == Some(*peer) => fetch.offered = Some(size),
            _ => return Vec::new(),
        }
        self.relying_on(hash, peer)
    }

    /// Returns the known total size of an item's files, without one of them: the sizes of those here and the announced sizes of
    /// the others.
    pub(crate) fn known_bytes(&self, item: &ItemId, without: Option<&Hash>) -> u64 {
        let Some(waiter) = self.items.get(item) else {
            return 0;
        };
        let others = waiter.missing.iter().filter(|hash| Some(*hash) != without);
        let offered = others.filter_map(|hash| self.fetches.get(hash)?.offered);
        // A peer announces what it likes. A sum beyond 64 bits is over every limit.
        offered.fold(waiter.here_bytes, u64::saturating_add)
    }

    /// Notes that a request failed. Returns the number of tries so far, or `None` if the peer was not asked.
    pub(crate) fn failed(&mut self, hash: &Hash, peer: &PartyId) -> Option<u32> {
        let fetch = self.fetches.get_mut(hash)?;
        if fetch.from != Some(*peer) {
            return None;
        }
        fetch.from = None;
        fetch.offered = None;
        fetch.tries += 1;
        self.touched.insert(*hash);
        Some(fetch.tries)
    }

    /// Schedules the next request for a file, with exponential back-off.
    pub(crate) fn later(&mut self, hash: &Hash, now: Monotonic) {
        let Some(fetch) = self.fetches.get_mut(hash) else {
            return;
        };
        // A file that was not asked for yet waits as long as after the first try.
        let delay = AGAIN.delay_ms(fetch.tries.saturating_sub(1), key(hash));
        let at = now.after_ms(delay);
        if let Some(before) = fetch.again.replace(at) {
            self.times.remove(&(before, *hash));
        }
        self.times.insert((at, *hash));
    }

    /// Handles a new connection to a peer. Its failed requests are repeated at once, except for files that it is excluded from after a
    /// fault.
    pub(crate) fn peer_up(&mut self, peer: &PartyId) {
        let theirs: Vec<Hash> = self
            .items
            .values()
            .filter(|waiter| waiter.peer == *peer)
            .flat_map(|waiter| waiter.missing.iter().copied())
            .collect();
        for hash in theirs {
            if let Some(fetch) = self.fetches.get_mut(&hash) {
                fetch.tries = 0;
            }
            self.at_once(&hash);
        }
    }

    fn at_once(&mut self, hash: &Hash) {
        if let Some(fetch) = self.fetches.get_mut(hash)
            && let Some(at) = fetch.again.take()
        {
            self.times.remove(&(at, *hash));
            self.touched.insert(*hash);
        }
    }

    /// Returns the items that wait for a file and were sent by this peer.
    pub(crate) fn relying_on(&self, hash: &Hash, peer: &PartyId) -> Vec<ItemId> {
        let waiting = self.fetches.get(hash).map(|fetch| &fetch.waiting);
        let waiting = waiting.into_iter().flatten();
        let theirs = waiting.filter(|item| self.items.get(item).is_some_and(|w| w.peer == *peer));
        theirs.copied().collect()
    }

    /// Returns all items that wait for a file.
    pub(crate) fn waiting_for(&self, hash: &Hash) -> Vec<ItemId> {
        let waiting = self.fetches.get(hash).map(|fetch| &fetch.waiting);
        waiting.into_iter().flatten().copied().collect()
    }

    /// Notes that a peer refused a file or sent other bytes. It is not asked for the file again for a while, with exponential
    /// back-off.
    pub(crate) fn fault(&mut self, peer: PartyId, hash: Hash, weight: u32, now: Monotonic) {
        let (tries, _) = self.faults.get(&(peer, hash)).unwrap_or((0, now));
        let tries = tries + weight;
        // A fault without weight delays like the first one.
        let delay = FAULT.delay_ms(tries.saturating_sub(1), key(&hash));
        let until = now.after_ms(delay);
        self.faults
            .insert((peer, hash), (tries, until), FAULT_BYTES);
    }

    /// Returns whether a peer is excluded from requests for a file because of an earlier fault.
    pub(crate) fn is_barred(&self, peer: &PartyId, hash: &Hash, now: Monotonic) -> bool {
        let fault = self.faults.peek(&(*peer, *hash));
        fault.is_some_and(|(_, until)| now < *until)
    }

    /// Returns the time of the next repeated request.
    pub(crate) fn next_time(&self) -> Option<Monotonic> {
        self.times.first().map(|(at, _)| *at)
    }

    /// Returns whether there is a request to send or to give up.
    pub(crate) fn is_touched(&self, now: Monotonic) -> bool {
        !self.touched.is_empty() || self.next_time().is_some_and(|at| at <= now)
    }

    /// Returns the requests to send now, and the running requests that no item needs any more.
    pub(crate) fn tend(&mut self, now: Monotonic) -> (Vec<Ask>, Vec<Hash>) {
        while let Some((at, hash)) = self.times.first().copied()
            && at <= now
        {
            self.at_once(&hash);
        }
        let (mut asks, mut abandoned) = (Vec::new(), Vec::new());
        for hash in std::mem::take(&mut self.touched) {
            let Some(fetch) = self.fetches.get_mut(&hash) else {
                continue;
            };
            let (from, again) = (fetch.from, fetch.again);
            if fetch.waiting.is_empty() {
                self.remove(&hash);
                if from.is_some() {
                    abandoned.push(hash);
                }
                continue;
            }
            if from.is_some() || again.is_some() {
                continue;
            }
            // Each try asks the next of the peers that sent an item with this file, however many items each of them sent.
            let mut firsts: BTreeMap<PartyId, ItemId> = BTreeMap::new();
            for item in &fetch.waiting {
                if let Some(waiter) = self.items.get(item) {
                    firsts.entry(waiter.peer).or_insert(*item);
                }
            }
            // There may be no peer left.
            let turn = fetch.tries as usize % firsts.len().max(1);
            let item = firsts.values().nth(turn).copied();
            let Some((item, waiter)) = item.and_then(|item| Some((item, self.items.get(&item)?)))
            else {
                continue;
            };
            fetch.from = Some(waiter.peer);
            asks.push(Ask {
                hash,
                peer: waiter.peer,
                transaction: waiter.transaction,
                item,
            });
        }
        (asks, abandoned)
    }

    fn remove(&mut self, hash: &Hash) -> Option<Fetch> {
        self.touched.remove(hash);
        let fetch = self.fetches.remove(hash)?;
        if let Some(at) = fetch.again {
            self.times.remove(&(at, *hash));
        }
        Some(fetch)
    }
}

/// Returns the key that makes the delays of different files differ.
fn key(hash: &Hash) -> u64 {
    let first = hash.as_bytes().first_chunk::<8>();
    first.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
