//! This node's fresh keys, and the owners of other nodes' keys. They are in the store, with a cache and the rows that are not
//! durable yet.
//!
//! # Invariants
//! - A key's row is in the batch of the round that makes it, so the key leaves only once the node can't forget it.
//! - A key's secret is derived from the identity's seed and the key's number: the store holds no secret.
//! - Keys that the network map lists are looked for in no table: payments between well-known keys cost no look-up.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use ledger::{NetworkMap, OwnershipProof, PartyId};
use primitives::collections::HashMap;
use primitives::{Decode, Encode, PublicKey};

use crate::cache::GenerationCache;
use crate::figures::CacheFigures;
use crate::identity::Identity;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::writes::{Batch, RowRange, Writer};
use primitives::Monotonic;

/// Maximum number of unused fresh keys that one peer is told. A peer that requests more gets the same ones again.
pub const UNUSED_KEYS_MAX: u32 = 1_024;
/// Maximum number of keys of one peer whose owner this node remembers. The oldest are forgotten first.
pub const OWNED_KEYS_MAX: u64 = 1 << 20;

/// Weight of an entry of these caches in bytes: a key, its value, and the map around them.
const CACHED_BYTES: usize = 160;
const META_NEXT: &[u8] = b"fresh_keys";
const META_OWNED: &[u8] = b"owned_keys/";
const META_TOLD: &[u8] = b"told_keys/";

/// A fresh key's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fresh {
    /// The number of the key. The secret is derived from it.
    pub(super) number: u64,
    /// Whether a recorded transaction has made a state of this key.
    used: bool,
}

/// Values by key: first those that are not durable yet, then a cache, then the table.
struct CachedTable<V> {
    table: Table,
    unsaved: HashMap<PublicKey, (u64, V)>,
    order: VecDeque<(u64, PublicKey)>,
    cache: RefCell<GenerationCache<PublicKey, Option<V>>>,
}

impl<V: Copy> CachedTable<V> {
    fn new(table: Table, cache_bytes: usize) -> Self {
        Self {
            table,
            unsaved: HashMap::default(),
            order: VecDeque::new(),
            cache: RefCell::new(GenerationCache::new(cache_bytes)),
        }
    }

    fn get(
        &self,
        key: &PublicKey,
        decode: fn(&[u8]) -> Option<V>,
        reads: &dyn Reads,
    ) -> Result<Option<V>, StoreFailure> {
        if let Some((_, value)) = self.unsaved.get(key) {
            return Ok(Some(*value));
        }
        if let Some(known) = self.cache.borrow_mut().get(key) {
            return Ok(known);
        }
        let found = match reads.get(self.table, &key_row(key))? {
            None => None,
            Some(row) => Some(decode(&row).ok_or_else(|| damaged("a row about a key"))?),
        };
        let mut cache = self.cache.borrow_mut();
        cache.insert(key.clone(), found, CACHED_BYTES);
        Ok(found)
    }

    fn put(&mut self, key: &PublicKey, value: V, row: Vec<u8>, commit: u64, batch: &mut Batch) {
        batch.of::<KeyBook>().put(self.table, key_row(key), row);
        self.unsaved.insert(key.clone(), (commit, value));
        self.order.push_back((commit, key.clone()));
        let mut cache = self.cache.borrow_mut();
        cache.insert(key.clone(), Some(value), CACHED_BYTES);
    }

    fn forget(&mut self, key: &PublicKey, batch: &mut Batch) {
        batch.of::<KeyBook>().delete(self.table, key_row(key));
        self.unsaved.remove(key);
        let mut cache = self.cache.borrow_mut();
        cache.insert(key.clone(), None, CACHED_BYTES);
    }

    fn committed(&mut self, number: u64) {
        while let Some((commit, key)) = self.order.pop_front_if(|(commit, _)| *commit <= number) {
            if self.unsaved.get(&key).is_some_and(|(at, _)| *at == commit) {
                self.unsaved.remove(&key);
            }
        }
    }
}

/// This node's own keys and the known owners of keys.
pub(crate) struct KeyBook {
    /// The fixed keys of this node, by their places in its identity.
    fixed: BTreeMap<PublicKey, usize>,
    /// The number of the next fresh key.
    next: u64,
    own: CachedTable<Fresh>,
    owners: CachedTable<PartyId>,
    /// The slot of the next key that each peer is told. It is durable, so that no peer is told a key again after a restart while
    /// the key is in use.
    told: BTreeMap<PartyId, u32>,
    /// The next slot of a peer's keys.
    owned: BTreeMap<PartyId, u64>,
}

impl Writer for KeyBook {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::OwnKeys),
        RowRange::table(Table::KeyOwners),
        RowRange::meta(META_NEXT),
        RowRange::meta(META_OWNED),
        RowRange::meta(META_TOLD),
    ];
}

impl Part for KeyBook {
    fn committed(&mut self, number: u64, _: Monotonic) {
        self.own.committed(number);
        self.owners.committed(number);
    }
}

impl KeyBook {
    /// Opens the keys of a node. Both caches have the same budget.
    pub(crate) fn open(
        identity: &Identity,
        cache_bytes: usize,
        reads: &dyn Reads,
    ) -> Result<Self, StoreFailure> {
        let fixed = identity.keys.iter().enumerate();
        let fixed = fixed.map(|(place, key)| (key.public().clone(), place));
        let next = reads.get(Table::Meta, META_NEXT)?;
        let next = next.map_or(Some(0), |row| crate::rows::seq_of(&row));
        Ok(Self {
            fixed: fixed.collect(),
            next: next.ok_or_else(|| damaged("the number of fresh keys"))?,
            own: CachedTable::new(Table::OwnKeys, cache_bytes),
            owners: CachedTable::new(Table::KeyOwners, cache_bytes),
            told: BTreeMap::new(),
            owned: BTreeMap::new(),
        })
    }

    /// Returns the place of one of the node's fixed keys in its identity.
    pub(super) fn fixed(&self, key: &PublicKey) -> Option<usize> {
        self.fixed.get(key).copied()
    }

    /// Returns the number and use of a fresh key of this node, or `None` for any other key.
    pub(super) fn fresh(
        &self,
        key: &PublicKey,
        network: &NetworkMap,
        reads: &dyn Reads,
    ) -> Result<Option<Fresh>, StoreFailure> {
        if self.next == 0 || key.scheme().is_none() || network.by_key(key).is_some() {
            return Ok(None);
        }
        self.own.get(key, fresh_of, reads)
    }

    /// Returns the owner of a key, if a proof of ownership is stored.
    pub(crate) fn owner(
        &self,
        key: &PublicKey,
        reads: &dyn Reads,
    ) -> Result<Option<PartyId>, StoreFailure> {
        self.owners.get(key, owner_of, reads)
    }

    /// Returns an unused key that the peer was told before, if it was told as many as it may have unused. Otherwise a new key has
    /// to be made.
    pub(super) fn told_before(
        &mut self,
        peer: &PartyId,
        batch: &mut Batch,
        reads: &dyn Reads,
    ) -> Result<Option<Fresh>, StoreFailure> {
        let slot = self.slot_for(peer, reads)?;
        let Some(row) = reads.get(Table::OwnKeys, &told_row(peer, slot))? else {
            return Ok(None);
        };
        let key = PublicKey::from_bytes(&row).map_err(|_| damaged("a key told to a peer"))?;
        let fresh = self.own.get(&key, fresh_of, reads)?;
        let unused = fresh.filter(|fresh| !fresh.used);
        if unused.is_some() {
            self.told_at(peer, slot, batch);
        }
        Ok(unused)
    }

    fn slot_for(&mut self, peer: &PartyId, reads: &dyn Reads) -> Result<u32, StoreFailure> {
        if let Some(slot) = self.told.get(peer) {
            return Ok(*slot);
        }
        let slot = match reads.get(Table::Meta, &told_counter(peer))? {
            None => 0,
            Some(row) => {
                let slot = <[u8; 4]>::try_from(row.as_slice()).map(u32::from_be_bytes);
                let slot = slot.ok().filter(|slot| *slot < UNUSED_KEYS_MAX);
                slot.ok_or_else(|| damaged("the place of a peer's next key"))?
            }
        };
        self.told.insert(*peer, slot);
        Ok(slot)
    }

    /// Notes that the peer was told the key at a slot. The next key goes into the next slot.
    fn told_at(&mut self, peer: &PartyId, slot: u32, batch: &mut Batch) {
        let next = (slot + 1) % UNUSED_KEYS_MAX;
        self.told.insert(*peer, next);
        batch
            .of::<KeyBook>()
            .put(Table::Meta, told_counter(peer), next.to_be_bytes());
    }

    /// Returns the number of the next fresh key. Nothing is written before [`KeyBook::made`].
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Writes the key of the next number, which was made for a peer or for the node itself.
    pub(crate) fn made(
        &mut self,
        key: &PublicKey,
        peer: Option<&PartyId>,
        commit: u64,
        batch: &mut Batch,
    ) {
        let fresh = Fresh {
            number: self.next,
            used: false,
        };
        self.next += 1;
        batch
            .of::<KeyBook>()
            .put(Table::Meta, META_NEXT, self.next.to_be_bytes());
        self.own.put(key, fresh, fresh_row(fresh), commit, batch);
        if let Some(peer) = peer {
            // `told_before` has looked where that is.
            let slot = self.told.get(peer).copied().unwrap_or_default();
            batch
                .of::<KeyBook>()
                .put(Table::OwnKeys, told_row(peer, slot), key.to_bytes());
            self.told_at(peer, slot, batch);
        }
    }

    /// Notes that a transaction made a state owned by a fresh key.
    pub(super) fn used(&mut self, key: &PublicKey, fresh: Fresh, commit: u64, batch: &mut Batch) {
        if !fresh.used {
            let fresh = Fresh {
                used: true,
                ..fresh
            };
            self.own.put(key, fresh, fresh_row(fresh), commit, batch);
        }
    }

    /// Remembers the owner of a key.
    pub(super) fn keep(
        &mut self,
        proof: &OwnershipProof,
        commit: u64,
        batch: &mut Batch,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.owner(&proof.key, reads)?.is_some() {
            return Ok(());
        }
        let counter = [META_OWNED, proof.owner.as_bytes()].concat();
        let slot = match self.owned.get(&proof.owner) {
            Some(slot) => *slot,
            None => match reads.get(Table::Meta, &counter)? {
                None => 0,
                Some(row) => crate::rows::seq_of(&row)
                    .ok_or_else(|| damaged("the number of a peer's keys"))?,
            },
        };
        self.owned.insert(proof.owner, slot + 1);
        batch
            .of::<KeyBook>()
            .put(Table::Meta, counter, (slot + 1).to_be_bytes());
        let slot_row = owned_row(&proof.owner, slot % OWNED_KEYS_MAX);
        if slot >= OWNED_KEYS_MAX
            && let Some(row) = reads.get(Table::KeyOwners, &slot_row)?
        {
            let oldest = PublicKey::from_bytes(&row).map_err(|_| damaged("a key of a peer"))?;
            self.owners.forget(&oldest, batch);
        }
        batch
            .of::<KeyBook>()
            .put(Table::KeyOwners, slot_row, proof.key.to_bytes());
        let mut row = proof.owner.as_bytes().to_vec();
        row.extend_from_slice(&slot.to_be_bytes());
        row.extend_from_slice(&proof.to_bytes());
        self.owners.put(&proof.key, proof.owner, row, commit, batch);
        Ok(())
    }

    /// Returns the figures of the cache of this node's fresh keys.
    pub(crate) fn own_figures(&self) -> CacheFigures {
        self.own.cache.borrow().figures()
    }

    /// Returns the figures of the cache of the owners of other keys.
    pub(crate) fn owner_figures(&self) -> CacheFigures {
        self.owners.cache.borrow().figures()
    }
}

/// Returns whether a key is one of this node's fresh keys, according to the store.
///
/// # Errors
/// The store could not be read.
pub fn is_own_key(key: &PublicKey, reads: &dyn Reads) -> Result<bool, StoreFailure> {
    Ok(key.scheme().is_some() && reads.get(Table::OwnKeys, &key_row(key))?.is_some())
}

/// Returns the proved owner of a key, according to the store.
///
/// # Errors
/// The store could not be read.
pub fn key_owner(key: &PublicKey, reads: &dyn Reads) -> Result<Option<PartyId>, StoreFailure> {
    let row = reads.get(Table::KeyOwners, &key_row(key))?;
    Ok(row.as_deref().and_then(owner_of))
}

fn key_row(key: &PublicKey) -> Vec<u8> {
    let mut row = vec![0];
    row.extend_from_slice(&key.to_bytes());
    row
}

fn told_counter(peer: &PartyId) -> Vec<u8> {
    [META_TOLD, peer.as_bytes()].concat()
}

fn told_row(peer: &PartyId, slot: u32) -> Vec<u8> {
    let mut row = vec![1];
    row.extend_from_slice(peer.as_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    row
}

fn owned_row(owner: &PartyId, slot: u64) -> Vec<u8> {
    let mut row = vec![1];
    row.extend_from_slice(owner.as_bytes());
    row.extend_from_slice(&slot.to_be_bytes());
    row
}

fn fresh_row(fresh: Fresh) -> Vec<u8> {
    let mut row = fresh.number.to_be_bytes().to_vec();
    row.push(u8::from(fresh.used));
    row
}

fn fresh_of(row: &[u8]) -> Option<Fresh> {
    let (number, rest) = row.split_first_chunk::<8>()?;
    Some(Fresh {
        number: u64::from_be_bytes(*number),
        used: *rest.first()? != 0,
    })
}

fn owner_of(row: &[u8]) -> Option<PartyId> {
    row.first_chunk::<32>().map(|id| PartyId::from_array(*id))
}
