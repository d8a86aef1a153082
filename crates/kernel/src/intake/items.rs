//! Transactions on their way into the ledger: signatures gathered and checked in batches, dependencies awaited or fetched,
//! contracts run, then recorded, or only verified, or refused.
//!
//! ```text
//!  arrives ─► signatures (batch of the round) ─► dependencies here? ──yes──► contracts ─► files here? ─► settled
//!                                                     │ no
//!                                                     ├─ in flight: wait until it is recorded
//!                                                     └─ unknown: fetch the back chain from who sent it
//! ```
//! This module keeps the items and their dependencies. The steps are in the other modules of the folder.
//!
//! # Invariants
//! - A fault of one peer does not become another's. A transaction that several peers bring has an item for each of them. An item relies
//!   only on its own peer: on the other items of that peer, and on the chains fetched from it. So a peer that is silent or withholds a
//!   transaction delays its own items only. Whatever is recorded counts for all items.
//! - An item whose dependency failed looks for it again.
//! - The deliveries of each peer take a bounded share, and those of all peers a bounded room. A share is never more than the room
//!   that is left, so peers that fill theirs, however many, leave room for one more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::FlowId;
use ledger::{PartyId, SignedTransaction, TxId};
use primitives::Monotonic;
use primitives::collections::HashMap;

use crate::back_chains::BackChains;
use crate::command::BackChainsCommand;
use crate::context::Context;
use crate::files::requests::{FileWaits, Waiter};
use crate::flows::waits::EffectId;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::part::Part;

/// Maximum number of transactions in progress. A delivery beyond it gets no answer, so its sender repeats it.
pub const ITEMS_MAX: usize = 20_000;
/// Maximum size of all delivered transactions in progress, in bytes.
pub const ITEMS_BYTES_MAX: usize = 64 << 20;
/// Maximum number of transactions in progress from one peer.
pub const PEER_ITEMS_MAX: usize = 5_000;
/// Maximum size of the transactions in progress from one peer, in bytes. A single transaction may exceed it.
pub const PEER_BYTES_MAX: usize = 16 << 20;

/// A transaction in progress.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The transaction.
    pub(super) transaction: Arc<SignedTransaction>,
    /// The purpose.
    pub(super) goal: Goal,
    /// The peer that has its back chain.
    pub(super) from: Option<PartyId>,
    /// Dependencies that were sent along. They are taken in once the item's own signatures are good, which is within the round, so
    /// they are not counted here.
    pub(super) along: Vec<Arc<SignedTransaction>>,
    /// Dependencies that are not recorded here.
    missing: BTreeSet<TxId>,
    /// Whether dependencies were missing when it last looked. If so, it may wait for a place for its back chain.
    lacked_any: bool,
    /// Resolutions it waits for.
    resolutions: BTreeSet<u64>,
    /// It is verified and waits for the notary's decision.
    deciding: bool,
    /// Its peer delivered the transaction again, signed alike, after this item was added.
    pub(super) delivered_too: bool,
    bytes: usize,
}

impl Item {
    /// Returns the peer that can be asked for its dependencies. There is none if this node has sent the item to itself.
    fn peer_to_ask(&self, context: &Context) -> Option<PartyId> {
        self.from.filter(|peer| *peer != context.my_id)
    }
}

/// The items of one peer that are in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    items: usize,
    bytes: usize,
}

/// The transactions in progress.
#[derive(Debug)]
pub(crate) struct Intake {
    next: u64,
    items: BTreeMap<ItemId, Item>,
    bytes: usize,
    loads: HashMap<PartyId, Load>,
    /// Items of peers that will record a transaction, by its id: at most one for each peer.
    recording: HashMap<TxId, Vec<ItemId>>,
    /// The items that wait for a transaction to be recorded, by its id.
    waiting: HashMap<TxId, BTreeSet<ItemId>>,
    /// Waiting items of flows.
    by_effect: BTreeMap<EffectId, ItemId>,
    /// The files being fetched.
    pub(super) files: FileWaits,
}

impl Part for Intake {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.files.next_time()
    }
}

impl Intake {
    /// Creates an empty intake.
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            items: BTreeMap::new(),
            bytes: 0,
            loads: HashMap::default(),
            recording: HashMap::default(),
            waiting: HashMap::default(),
            by_effect: BTreeMap::new(),
            files: FileWaits::default(),
        }
    }

    /// Returns whether there is room for `bytes` more from a peer.
    pub(crate) fn has_room(&self, peer: &PartyId, bytes: usize) -> bool {
        let load = self.loads.get(peer).copied().unwrap_or_default();
        // Clipped at 0: this node's own transactions are taken in any case.
        let items_left = ITEMS_MAX.saturating_sub(self.items.len());
        let bytes_left = ITEMS_BYTES_MAX.saturating_sub(self.bytes);
        let bytes_max = match load.items {
            0 => bytes_left,
            _ => PEER_BYTES_MAX.min(bytes_left),
        };
        load.items < PEER_ITEMS_MAX.min(items_left) && load.bytes + bytes <= bytes_max
    }

    /// Adds a transaction. A second one from the same peer, signed alike, joins the first: `None`. A transaction of another peer is an item
    /// of its own, because the first peer may withhold what the first item waits for.
    pub(super) fn add(
        &mut self,
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
        along: Vec<Arc<SignedTransaction>>,
    ) -> Option<ItemId> {
        let id = transaction.id();
        let first = self.recorder(&id, from).filter(|_| goal.is_peers());
        // Signatures are not part of the id, so a copy with other signatures is checked as an item of its own.
        if let Some(first) = first.and_then(|first| self.items.get_mut(&first))
            && first.transaction.signatures() == transaction.signatures()
        {
            first.delivered_too |= matches!(goal, Goal::Deliver { .. });
            return None;
        }
        let item = ItemId(self.next);
        self.next += 1;
        let mut bytes = 0;
        if goal.is_peers() && first.is_none() {
            self.recording.entry(id).or_default().push(item);
        }
        if goal.is_counted() {
            bytes = transaction.weight();
            self.bytes += bytes;
            if let Some(peer) = from {
                let load = self.loads.entry(peer).or_default();
                load.items += 1;
                load.bytes += bytes;
            }
        }
        let (missing, resolutions) = (BTreeSet::new(), BTreeSet::new());
        let entry = Item {
            transaction,
            goal,
            from,
            along,
            missing,
            lacked_any: false,
            resolutions,
            deciding: false,
            delivered_too: false,
            bytes,
        };
        self.items.insert(item, entry);
        Some(item)
    }

    /// Handles a new connection to a peer: its files are requested again.
    pub(crate) fn peer_up(&mut self, peer: PartyId) {
        self.files.peer_up(&peer);
    }

    /// Returns the number of items in progress.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the peer that sent an item, and has its back chain.
    pub(crate) fn sender(&self, item: ItemId) -> Option<PartyId> {
        self.get(item)?.from
    }

    /// Returns an item that has not ended.
    pub(super) fn get(&self, item: ItemId) -> Option<&Item> {
        self.items.get(&item)
    }

    /// Returns an item that has not ended.
    pub(super) fn get_mut(&mut self, item: ItemId) -> Option<&mut Item> {
        self.items.get_mut(&item)
    }

    /// Takes an item out: it is settled.
    pub(super) fn take(&mut self, item: ItemId, context: &mut Context) -> Option<Item> {
        self.stop_waiting(item, context);
        let taken = self.items.remove(&item)?;
        let id = taken.transaction.id();
        if taken.goal.is_counted() {
            self.bytes -= taken.bytes;
            if let Some(peer) = taken.from
                && let Some(load) = self.loads.get_mut(&peer)
            {
                load.items -= 1;
                load.bytes -= taken.bytes;
                if load.items == 0 {
                    self.loads.remove(&peer);
                }
            }
        }
        if let Some(items) = self.recording.get_mut(&id) {
            items.retain(|other| *other != item);
            if items.is_empty() {
                self.recording.remove(&id);
            }
        }
        Some(taken)
    }

    /// Keeps a verified item until the notary has decided. It still counts towards the share of its peer.
    pub(super) fn waits_for_decision(&mut self, item: ItemId, context: &mut Context) {
        self.stop_waiting(item, context);
        if let Some(waiter) = self.items.get_mut(&item) {
            waiter.deciding = true;
        }
    }

    /// Returns whether an item waits for the notary's decision alone.
    pub(super) fn is_deciding(&self, item: ItemId) -> bool {
        self.items.get(&item).is_some_and(|item| item.deciding)
    }

    /// Returns the transaction of an item whose contracts are due, and whether it is recorded once they accept it.
    pub(crate) fn to_judge(&self, item: ItemId) -> Option<(&Arc<SignedTransaction>, bool)> {
        let item = self.items.get(&item).filter(|item| !item.deciding)?;
        let is_to_record = item.goal.records() && !matches!(item.goal, Goal::Notarise { .. });
        Some((&item.transaction, is_to_record))
    }

    /// Returns the unverified items that a peer wants notarised.
    pub(super) fn unverified_of(&self, peer: &PartyId) -> Vec<ItemId> {
        let theirs = self.items.iter().filter(|(_, item)| {
            let to_notarise = matches!(item.goal, Goal::Notarise { .. }) && !item.deciding;
            to_notarise && item.from == Some(*peer)
        });
        theirs.map(|(item, _)| *item).collect()
    }

    /// Returns the items of requests for notarisation with these numbers that are not verified yet.
    pub(super) fn unverified_requests(&self, numbers: &BTreeSet<u64>) -> Vec<ItemId> {
        let theirs = self.items.iter().filter(|(_, item)| match item.goal {
            Goal::Notarise { number } => !item.deciding && numbers.contains(&number),
            _ => false,
        });
        theirs.map(|(item, _)| *item).collect()
    }

    /// Makes an item wait for dependencies. Returns those that nothing in progress brings, which have to be fetched.
    ///
    /// An item with a peer to ask relies on that peer only. Another peer that brings the same dependency slowly, damaged or never does
    /// not delay it. An item without one takes the dependency from any peer, because it would fail otherwise.
    pub(super) fn wait_for(
        &mut self,
        item: ItemId,
        missing: BTreeSet<TxId>,
        chains: &BackChains,
        context: &mut Context,
    ) -> BTreeSet<TxId> {
        self.stop_waiting(item, context);
        let mut to_fetch = BTreeSet::new();
        let mut joined = BTreeSet::new();
        let waiter = self.items.get(&item);
        let peer = waiter.and_then(|waiter| waiter.peer_to_ask(context));
        for dependency in &missing {
            self.waiting.entry(*dependency).or_default().insert(item);
            if let Some(number) = chains.fetched_from(dependency, peer) {
                joined.insert(number);
                continue;
            }
            // An item may wait long for files. An item with a peer to ask therefore requests the transaction itself.
            let first = self.recorder(dependency, peer);
            let relies =
                first.is_some_and(|first| peer.is_none() || !self.files.is_waiting(&first));
            if !relies {
                to_fetch.insert(*dependency);
            }
        }
        for number in &joined {
            let number = *number;
            context.command(BackChainsCommand::Join { number, item });
        }
        if let Some(waiter) = self.items.get_mut(&item) {
            waiter.lacked_any = !missing.is_empty();
            waiter.missing = missing;
            waiter.resolutions = joined;
            if let Some(effect) = waiter.goal.effect() {
                self.by_effect.insert(effect, item);
            }
        }
        to_fetch
    }

    /// Makes an item wait for files. Returns the items that rely on it for its transaction: they have to look again.
    pub(super) fn wait_for_files(
        &mut self,
        item: ItemId,
        lacks: Waiter,
        context: &mut Context,
    ) -> Vec<ItemId> {
        let transaction = lacks.transaction;
        self.stop_waiting(item, context);
        let effect = self.items.get(&item).and_then(|item| item.goal.effect());
        if let Some(effect) = effect {
            self.by_effect.insert(effect, item);
        }
        self.files.wait(item, lacks);
        let from = self.items.get(&item).and_then(|item| item.from);
        self.relying_on(&transaction, from, context)
    }

    /// Makes an item wait for the resolution that was begun for it.
    pub(super) fn waits_for_chain(&mut self, item: ItemId, number: u64) {
        if let Some(waiter) = self.items.get_mut(&item) {
            waiter.resolutions.insert(number);
        }
    }

    fn stop_waiting(&mut self, item: ItemId, context: &mut Context) {
        let Some(waiter) = self.items.get_mut(&item) else {
            return;
        };
        if let Some(effect) = waiter.goal.effect() {
            self.by_effect.remove(&effect);
        }
        for dependency in std::mem::take(&mut waiter.missing) {
            if let Some(items) = self.waiting.get_mut(&dependency) {
                items.remove(&item);
                if items.is_empty() {
                    self.waiting.remove(&dependency);
                }
            }
        }
        for number in std::mem::take(&mut waiter.resolutions) {
            context.command(BackChainsCommand::Leave { number, item });
        }
        self.files.leave(item);
        if std::mem::take(&mut waiter.lacked_any)
            && let Some(peer) = waiter.from
        {
            context.command(BackChainsCommand::Unhold { peer, item });
        }
    }

    /// Returns the items that waited for nothing but this transaction, which is recorded now.
    pub(super) fn end_waits_for(&mut self, id: &TxId) -> Vec<ItemId> {
        let mut ready = Vec::new();
        for item in self.waiting.remove(id).unwrap_or_default() {
            if let Some(waiter) = self.items.get_mut(&item) {
                waiter.missing.remove(id);
                if waiter.missing.is_empty() {
                    ready.push(item);
                }
            }
        }
        ready
    }

    /// Returns the items that relied on a peer's item for a transaction which that item will not record. They must look for their
    /// dependencies again.
    pub(super) fn failed(
        &self,
        id: &TxId,
        from: Option<PartyId>,
        context: &Context,
    ) -> Vec<ItemId> {
        match self.recorder(id, from) {
            Some(_) => Vec::new(),
            None => self.relying_on(id, from, context),
        }
    }

    /// Returns the item of a peer that will record a transaction. Without a peer, returns the first of any peer.
    fn recorder(&self, id: &TxId, peer: Option<PartyId>) -> Option<ItemId> {
        let mut items = self.recording.get(id)?.iter().copied();
        items.find(|item| {
            let first = self.items.get(item);
            first.is_some_and(|first| peer.is_none() || first.from == peer)
        })
    }

    /// Returns the items that wait for a transaction and may rely on this peer for it: its own, and those without a peer to ask.
    fn relying_on(&self, id: &TxId, peer: Option<PartyId>, context: &Context) -> Vec<ItemId> {
        let waiting = self.waiting.get(id).into_iter().flatten().copied();
        let relies = |item: &ItemId| {
            let waiter = self.items.get(item);
            waiter.is_some_and(|waiter| {
                let asked = waiter.peer_to_ask(context);
                asked.is_none() || asked == peer
            })
        };
        waiting.filter(relies).collect()
    }

    /// Returns all items of some flows, wherever they are on their way. Looks at every item.
    pub(super) fn of_flows(&self, flows: &BTreeSet<FlowId>) -> Vec<ItemId> {
        let of_flow = |item: &Item| {
            let effect = item.goal.effect();
            effect.is_some_and(|(flow, _)| flows.contains(&flow))
        };
        let items = self.items.iter().filter(|(_, item)| of_flow(item));
        items.map(|(id, _)| *id).collect()
    }

    /// Returns the item that an effect waits for.
    pub(super) fn of_effect(&self, effect: EffectId) -> Option<ItemId> {
        self.by_effect.get(&effect).copied()
    }

    /// Returns an item that a flow waits for.
    pub(super) fn of_flow(&self, flow: FlowId) -> Option<ItemId> {
        let mut items = self.by_effect.range((flow, 0)..=(flow, u32::MAX));
        items.next().map(|(_, item)| *item)
    }
}
