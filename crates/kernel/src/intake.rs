//! Transactions on their way into the ledger: signatures gathered and checked in batches, dependencies awaited or fetched,
//! contracts run, then recorded, or only verified, or refused.
//!
//! ```text
//!  arrives ─► signatures (batch of the round) ─► dependencies here? ──yes──► contracts ─► settled
//!                                                     │ no
//!                                                     ├─ in flight: wait until it is recorded
//!                                                     └─ unknown: fetch the back chain from who sent it
//! ```
//! This module keeps the items and who waits for what; the kernel runs the steps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use flow::FlowId;
use ledger::{PartyId, SignedTransaction, TxId};
use primitives::PublicKey;

use crate::resolution::Resolution;

/// Most transactions on their way at once; deliveries over it are left to be sent again.
pub const ITEMS_MAX: usize = 20_000;
/// Most resolutions at once; further ones wait for a place.
pub const RESOLUTIONS_MAX: usize = 64;

/// Names an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u64);

/// What is to be done with a transaction once it is verified.
#[derive(Clone, Debug)]
pub enum Goal {
    /// Tell a flow that it is valid, signatures of some keys aside.
    Verify {
        /// The flow.
        flow: FlowId,
        /// The effect to complete.
        effect: u32,
        /// Keys that may be missing.
        missing_allowed: Vec<PublicKey>,
    },
    /// Record it for a flow of ours and owe it to others.
    Record {
        /// The flow.
        flow: FlowId,
        /// The effect to complete.
        effect: u32,
        /// Who has to receive it.
        deliver_to: Vec<PartyId>,
    },
    /// Record what a peer delivers, and answer.
    Deliver {
        /// The peer.
        peer: PartyId,
    },
    /// Record what another one depends on; nobody asks for an answer.
    Dependency,
}

/// A transaction on its way.
#[derive(Clone, Debug)]
pub struct Item {
    /// The transaction.
    pub transaction: Arc<SignedTransaction>,
    /// What for.
    pub goal: Goal,
    /// Who has its back chain.
    pub from: Option<PartyId>,
    /// Dependencies that are not recorded here.
    pub missing: BTreeSet<TxId>,
    /// Its signatures are good.
    pub signed: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Intake {
    next: u64,
    items: BTreeMap<ItemId, Item>,
    /// Items that will record a transaction, by its id.
    recording: HashMap<TxId, ItemId>,
    /// Peers that delivered a transaction which another item already records.
    also_deliver: HashMap<TxId, Vec<PartyId>>,
    /// Who waits for a transaction to be recorded.
    waiting: HashMap<TxId, Vec<ItemId>>,
    /// Transactions that a resolution fetches or has staged, as far as it keeps them in mind.
    in_flight: HashMap<TxId, u64>,
    next_resolution: u64,
    resolutions: BTreeMap<u64, (Resolution, BTreeSet<ItemId>)>,
    /// Items that need a resolution for which there was no place.
    held: Vec<ItemId>,
}

impl Intake {
    /// Adds a transaction. A second one that would be recorded twice joins the first: `None`.
    pub fn add(
        &mut self,
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
    ) -> Option<ItemId> {
        let id = transaction.id();
        let records = matches!(goal, Goal::Deliver { .. } | Goal::Dependency);
        if records && self.recording.contains_key(&id) {
            if let Goal::Deliver { peer } = goal {
                let peers = self.also_deliver.entry(id).or_default();
                if !peers.contains(&peer) {
                    peers.push(peer);
                }
            }
            return None;
        }
        let item = ItemId(self.next);
        self.next += 1;
        if records {
            self.recording.insert(id, item);
        }
        self.items.insert(
            item,
            Item {
                transaction,
                goal,
                from,
                missing: BTreeSet::new(),
                signed: false,
            },
        );
        Some(item)
    }

    /// Items on their way.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The item, while it is on its way.
    pub fn get(&self, item: ItemId) -> Option<&Item> {
        self.items.get(&item)
    }

    /// The item, while it is on its way.
    pub fn get_mut(&mut self, item: ItemId) -> Option<&mut Item> {
        self.items.get_mut(&item)
    }

    /// Takes an item out: it is settled. Also says which peers delivered the same transaction meanwhile.
    pub fn take(&mut self, item: ItemId) -> Option<(Item, Vec<PartyId>)> {
        let taken = self.items.remove(&item)?;
        let id = taken.transaction.id();
        let mut peers = Vec::new();
        if self.recording.get(&id) == Some(&item) {
            self.recording.remove(&id);
            peers = self.also_deliver.remove(&id).unwrap_or_default();
        }
        Some((taken, peers))
    }

    /// Makes an item wait for dependencies. Returns those that nobody brings: they have to be fetched.
    pub fn wait_for(&mut self, item: ItemId, missing: BTreeSet<TxId>) -> BTreeSet<TxId> {
        let mut to_fetch = BTreeSet::new();
        for dependency in &missing {
            let waiting = self.waiting.entry(*dependency).or_default();
            if !waiting.contains(&item) {
                waiting.push(item);
            }
            if let Some(resolution) = self.in_flight.get(dependency) {
                if let Some((_, roots)) = self.resolutions.get_mut(resolution) {
                    roots.insert(item);
                }
            } else if !self.recording.contains_key(dependency) {
                to_fetch.insert(*dependency);
            }
        }
        if let Some(waiter) = self.items.get_mut(&item) {
            waiter.missing = missing;
        }
        to_fetch
    }

    /// A transaction is recorded: returns the items that waited for nothing else.
    pub fn recorded(&mut self, id: &TxId) -> Vec<ItemId> {
        self.in_flight.remove(id);
        let mut ready = Vec::new();
        for item in self.waiting.remove(id).unwrap_or_default() {
            if let Some(waiter) = self.items.get_mut(&item) {
                waiter.missing.remove(id);
                if waiter.missing.is_empty() && waiter.signed {
                    ready.push(item);
                }
            }
        }
        ready
    }

    /// A transaction that was to be recorded is not: returns the items that waited for it.
    pub fn failed(&mut self, id: &TxId) -> Vec<ItemId> {
        self.waiting.remove(id).unwrap_or_default()
    }

    /// Starts to fetch; `None` when there is no place, and then the item has to be tried again later.
    pub fn resolve(
        &mut self,
        item: ItemId,
        peer: PartyId,
        missing: BTreeSet<TxId>,
    ) -> Option<&Resolution> {
        if self.resolutions.len() >= RESOLUTIONS_MAX {
            return None;
        }
        let number = self.next_resolution;
        self.next_resolution += 1;
        for id in &missing {
            self.in_flight.insert(*id, number);
        }
        let resolution = Resolution::new(number, peer, missing);
        let entry = self
            .resolutions
            .entry(number)
            .or_insert((resolution, BTreeSet::from([item])));
        Some(&entry.0)
    }

    /// Keeps an item until a resolution has ended.
    pub fn hold(&mut self, item: ItemId) {
        self.held.push(item);
    }

    /// The items that were kept.
    pub fn release_held(&mut self) -> Vec<ItemId> {
        std::mem::take(&mut self.held)
    }

    /// A resolution with something to verify.
    pub fn fetched(&self) -> Option<u64> {
        let mut ready = self.resolutions.iter().filter(|(_, (r, _))| r.can_verify());
        ready.next().map(|(number, _)| *number)
    }

    /// Whether there is work for another round.
    pub fn wants_round(&self) -> bool {
        self.fetched().is_some()
    }

    /// The resolution, while it runs.
    pub fn resolution_mut(&mut self, number: u64) -> Option<&mut Resolution> {
        self.resolutions.get_mut(&number).map(|(r, _)| r)
    }

    /// All that run, oldest first.
    pub fn resolutions_mut(&mut self) -> impl Iterator<Item = &mut Resolution> {
        self.resolutions.values_mut().map(|(r, _)| r)
    }

    /// A resolution expects or has staged these transactions.
    pub fn expect(&mut self, number: u64, ids: impl IntoIterator<Item = TxId>) {
        for id in ids {
            self.in_flight.entry(id).or_insert(number);
        }
    }

    /// A resolution ended, well or not: returns the items that waited for it.
    pub fn end_resolution(&mut self, number: u64) -> (Option<Resolution>, BTreeSet<ItemId>) {
        self.in_flight.retain(|_, n| *n != number);
        match self.resolutions.remove(&number) {
            Some((resolution, roots)) => (Some(resolution), roots),
            None => (None, BTreeSet::new()),
        }
    }
}
