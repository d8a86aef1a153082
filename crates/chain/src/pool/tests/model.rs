//! A model of the pool as one list. Every query examines the whole list.

use std::collections::BTreeMap;

use super::ledger::{Ledger, Owner};
use super::*;

#[derive(Clone)]
pub(super) struct Item {
    pub(super) carried: Arc<Carried>,
    place: i64,
    /// Its position in its sender's line, which changes when it is parked or made ready.
    line: i64,
    /// The time until which it waits for a balance, if it is parked.
    parked: Option<BlockTimestamp>,
    list: Option<Arc<ChildBlock>>,
}

/// The model of a pool.
pub(super) struct Model {
    settings: PoolSettings,
    pub(super) items: Vec<Item>,
    last: i64,
    first: i64,
    pub(super) left: BTreeMap<TxId, &'static str>,
}

impl Item {
    fn owner(&self) -> Owner {
        (self.carried.sender, self.carried.transaction.chain)
    }

    fn debit(&self) -> u64 {
        self.carried.transaction.debit().unwrap().get()
    }

    fn rate(&self) -> FeeRate {
        FeeRate::of(self.carried.transaction.fee, self.carried.bytes)
    }

    /// Returns the sort key. In ascending order the best comes first.
    fn turn(&self) -> (std::cmp::Reverse<FeeRate>, i64) {
        (std::cmp::Reverse(self.rate()), self.place)
    }
}

impl Model {
    pub(super) fn new(settings: PoolSettings) -> Self {
        Self {
            settings,
            items: Vec::new(),
            last: 0,
            first: 0,
            left: BTreeMap::new(),
        }
    }

    pub(super) fn has(&self, id: &TxId) -> bool {
        self.items.iter().any(|item| item.carried.id == *id)
    }

    pub(super) fn ready(&self, chain: u8) -> Vec<TxId> {
        let mut items: Vec<&Item> = self
            .items
            .iter()
            .filter(|item| item.list.is_none() && item.parked.is_none())
            .filter(|item| item.carried.transaction.chain == ChainId(chain))
            .collect();
        items.sort_by_key(|item| item.turn());
        items.iter().map(|item| item.carried.id).collect()
    }

    pub(super) fn status(&self, item: &Item) -> PoolStatus {
        let carries = |other: &Item| {
            let list = other.list.as_ref();
            list.is_some_and(|list| list.ids().contains(&item.carried.id))
        };
        if item.parked.is_some() {
            PoolStatus::Parked
        } else if self.items.iter().any(carries) {
            PoolStatus::Bundled
        } else {
            PoolStatus::Ready
        }
    }

    /// Returns the child blocks with their completeness, the best first.
    pub(super) fn offers(&self, chain: u8) -> Vec<(TxId, bool)> {
        let mut offers: Vec<(&Item, &Arc<ChildBlock>)> = self.lists(chain);
        offers.reverse();
        let ready = self.ready(chain);
        let complete = |(item, list): &(&Item, &Arc<ChildBlock>)| {
            let all = list.ids().iter().all(|id| ready.contains(id));
            (item.carried.id, all && item.parked.is_none())
        };
        offers.iter().map(complete).collect()
    }

    /// Returns the child blocks, the worst first.
    fn lists(&self, chain: u8) -> Vec<(&Item, &Arc<ChildBlock>)> {
        let with = |item| Item::list_of(item).map(|list| (item, list));
        let mut lists: Vec<_> = self.items.iter().filter_map(with).collect();
        lists.retain(|(_, list)| list.child() == ChainId(chain));
        lists.sort_by_key(|(item, list)| {
            let earlier = std::cmp::Reverse(item.place);
            (list.fee(), list.ids().len(), earlier)
        });
        lists
    }

    fn pending(&self, owner: Owner) -> u64 {
        let ready = self.items.iter().filter(|item| item.parked.is_none());
        ready
            .filter(|item| item.owner() == owner)
            .map(Item::debit)
            .sum()
    }

    pub(super) fn insert(
        &mut self,
        carried: &Arc<Carried>,
        list: Option<Arc<ChildBlock>>,
        now: BlockTimestamp,
        ledger: &Ledger,
    ) -> Result<(), &'static str> {
        let owner = (carried.sender, carried.transaction.chain);
        if self.has(&carried.id) {
            return Err("chain_pool.known");
        }
        if carried.transaction.expires() < now {
            return Err("chain_pool.expired");
        }
        let own = self.items.iter().filter(|item| item.list.is_none());
        let own = own.filter(|item| item.carried.sender == owner.0).count();
        if list.is_none() && own >= self.settings.per_sender_max {
            return Err("chain_pool.sender_full");
        }
        let victims = self.evictions(carried, list.as_deref(), self.last + 1)?;
        let freed: u64 = victims
            .iter()
            .filter(|_| list.is_some())
            .filter_map(|id| self.items.iter().find(|item| item.carried.id == *id))
            .filter(|item| item.owner() == owner && item.parked.is_none())
            .map(Item::debit)
            .sum();
        let debit = carried.transaction.debit().unwrap().get();
        if self.pending(owner) - freed + debit > ledger.balance(owner) {
            let listed = list.is_none() && !self.carriers(&carried.id).is_empty();
            if !listed || !self.make_way(owner, debit, now, ledger) {
                return Err("chain_pool.insufficient_balance");
            }
        }
        self.evict(victims);
        self.last += 1;
        self.add(carried, list.clone(), self.last);
        let listed = list.iter().flat_map(|list| list.ids());
        for id in listed {
            let parked = self.items.iter().find(|item| item.carried.id == *id);
            let parked = parked.filter(|item| item.parked.is_some());
            let child = list.as_ref().map(|list| list.child());
            let parked = parked.filter(|item| Some(item.owner().1) == child);
            let Some((owner, debit)) = parked.map(|item| (item.owner(), item.debit())) else {
                continue;
            };
            if self.make_way(owner, debit, now, ledger) {
                self.last += 1;
                let line = self.last;
                let item = self.items.iter_mut().find(|item| item.carried.id == *id);
                let item = item.unwrap();
                (item.line, item.parked) = (line, None);
            }
        }
        Ok(())
    }

    /// Parks unlisted transactions of an account, the last first, if that leaves room for so much.
    fn make_way(&mut self, owner: Owner, debit: u64, now: BlockTimestamp, ledger: &Ledger) -> bool {
        let balance = ledger.balance(owner);
        let unlisted: Vec<u64> = self.unlisted(owner).map(|item| item.debit()).collect();
        if self.pending(owner) - unlisted.iter().sum::<u64>() + debit > balance {
            return false;
        }
        while self.pending(owner) + debit > balance {
            self.park_one(owner, now);
        }
        true
    }

    fn unlisted(&self, owner: Owner) -> impl Iterator<Item = &Item> {
        let ready = move |item: &&Item| item.owner() == owner && item.parked.is_none();
        let own = self.items.iter().filter(ready);
        own.filter(|item| self.carriers(&item.carried.id).is_empty())
    }

    /// Parks the last unlisted transaction of an account, or else the last one.
    fn park_one(&mut self, owner: Owner, now: BlockTimestamp) {
        let line = self.unlisted(owner).map(|item| item.line).max();
        let ready = |item: &&mut Item| item.owner() == owner && item.parked.is_none();
        let item = self.items.iter_mut().filter(ready);
        let item = item.filter(|item| line.is_none_or(|line| item.line == line));
        let item = item.max_by_key(|item| item.line).unwrap();
        self.first -= 1;
        item.line = self.first;
        item.parked = Some(now.plus_or_last(self.settings.patience_seconds()));
    }

    fn add(&mut self, carried: &Arc<Carried>, list: Option<Arc<ChildBlock>>, place: i64) {
        self.items.push(Item {
            carried: carried.clone(),
            place,
            line: place,
            parked: None,
            list,
        });
    }

    fn evict(&mut self, victims: Vec<TxId>) {
        for id in victims {
            let item = self
                .items
                .iter()
                .find(|item| item.carried.id == id)
                .unwrap();
            let reason = match (&item.list, item.parked) {
                (Some(_), _) => "chain_pool.superseded",
                (None, Some(_)) => "chain_pool.insufficient_balance",
                (None, None) => "chain_pool.evicted",
            };
            self.leave(&id, reason);
        }
    }

    /// Returns the transactions that must leave.
    fn evictions(
        &self,
        carried: &Carried,
        list: Option<&ChildBlock>,
        place: i64,
    ) -> Result<Vec<TxId>, &'static str> {
        match list {
            Some(list) => self.room_for_list(list),
            None => self.evictions_for(carried, place),
        }
    }

    fn evictions_for(&self, carried: &Carried, place: i64) -> Result<Vec<TxId>, &'static str> {
        let mut items: Vec<&Item> = self
            .items
            .iter()
            .filter(|item| item.list.is_none())
            .collect();
        let mut victims = Vec::new();
        let length = |items: &[&Item]| {
            items
                .iter()
                .map(|item| item.carried.bytes as usize)
                .sum::<usize>()
        };
        while items.len() + 1 > self.settings.transactions_max
            || length(&items) + carried.bytes as usize > self.settings.bytes_max
        {
            let own = carried.transaction.chain;
            let size = |chain: u8| {
                let mine = if ChainId(chain) == own {
                    carried.bytes
                } else {
                    0
                };
                let of_chain = items.iter().filter(|item| item.owner().1 == ChainId(chain));
                of_chain.map(|item| item.carried.bytes).sum::<u32>() + mine
            };
            let largest = (1..=3)
                .max_by_key(|chain| (size(*chain), ChainId(*chain) == own))
                .unwrap();
            let victim = items
                .iter()
                .filter(|item| item.owner().1 == ChainId(largest))
                .max_by_key(|item| (item.parked.is_some(), item.turn()))
                .ok_or("chain_pool.full")?;
            let rate = FeeRate::of(carried.transaction.fee, carried.bytes);
            let goes_first = (std::cmp::Reverse(rate), place) < victim.turn();
            if ChainId(largest) == own && victim.parked.is_none() && !goes_first {
                return Err("chain_pool.full");
            }
            let id = victim.carried.id;
            victims.push(id);
            items.retain(|item| item.carried.id != id);
        }
        Ok(victims)
    }

    fn room_for_list(&self, list: &ChildBlock) -> Result<Vec<TxId>, &'static str> {
        let full = "chain_pool.child_blocks_full";
        let mut kept = self.lists(list.child().0);
        let ready = self.ready(list.child().0);
        let whole = list.ids().iter().all(|id| ready.contains(id));
        let complete: BTreeMap<TxId, bool> = self.offers(list.child().0).into_iter().collect();
        let useless = |item: &Item| whole && !complete[&item.carried.id];
        kept.sort_by_key(|(item, _)| !useless(item));
        let mut victims = Vec::new();
        let outbid = |item: &Item| useless(item) || item.carried.transaction.fee < list.fee();
        let own = |item: &Item| item.carried.sender == list.transaction().sender;
        if kept.iter().filter(|(item, _)| own(item)).count() >= self.settings.per_bundler_max {
            let at = kept.iter().position(|(item, _)| own(item)).ok_or(full)?;
            let (worst, _) = kept.remove(at);
            victims.push(outbid(worst).then_some(worst.carried.id).ok_or(full)?);
        }
        let all: usize = self
            .items
            .iter()
            .filter_map(Item::list_of)
            .map(|list| list.ids().len())
            .sum();
        let mut carried = all + list.ids().len();
        for id in &victims {
            let item = self
                .items
                .iter()
                .find(|item| item.carried.id == *id)
                .unwrap();
            carried -= item.list.as_ref().unwrap().ids().len();
        }
        let mut over = kept.len() >= self.settings.child_blocks_max;
        while over || carried > self.settings.carried_max {
            over = false;
            if kept.is_empty() {
                return Err(full);
            }
            let (worst, worst_list) = kept.remove(0);
            victims.push(outbid(worst).then_some(worst.carried.id).ok_or(full)?);
            carried -= worst_list.ids().len();
        }
        Ok(victims)
    }

    pub(super) fn leave(&mut self, id: &TxId, reason: &'static str) {
        self.items.retain(|item| item.carried.id != *id);
        self.left.insert(*id, reason);
    }

    fn carriers(&self, id: &TxId) -> Vec<TxId> {
        let lists = self.items.iter().filter_map(Item::list_of);
        lists
            .filter(|list| list.ids().contains(id))
            .map(|list| list.id())
            .collect()
    }

    pub(super) fn block_added(&mut self, block: &CarriedBlock) {
        for carried in block.transactions() {
            self.items.retain(|item| item.carried.id != carried.id);
        }
        for carried in block.transactions() {
            for id in self.carriers(&carried.id) {
                self.leave(&id, "chain_pool.superseded");
            }
        }
    }

    pub(super) fn block_popped(&mut self, block: &CarriedBlock, now: BlockTimestamp) {
        for entry in block.body.iter().rev() {
            for carried in entry.children.iter().rev().chain([&entry.transaction]) {
                let list = matches!(carried.transaction.body, Body::ChildBlock { .. }).then(|| {
                    let ids = entry.children.iter().map(|child| child.id).collect();
                    Arc::new(ChildBlock::new(carried.clone(), ids).unwrap())
                });
                let refused = if list.is_some() {
                    "chain_pool.superseded"
                } else {
                    "chain_pool.evicted"
                };
                if carried.transaction.expires() < now {
                    self.left.insert(carried.id, "chain_pool.expired");
                } else {
                    self.first -= 1;
                    match self.evictions(carried, list.as_deref(), self.first) {
                        Ok(victims) => {
                            self.evict(victims);
                            self.add(carried, list, self.first);
                        }
                        Err(_) => {
                            self.left.insert(carried.id, refused);
                        }
                    }
                }
            }
        }
    }

    /// Settles every account, while the pool settles only those that it regards as changed.
    pub(super) fn settle(&mut self, now: BlockTimestamp, ledger: &Ledger) {
        let mut owners: Vec<Owner> = self.items.iter().map(Item::owner).collect();
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            let balance = ledger.balance(owner);
            while self.pending(owner) > balance {
                self.park_one(owner, now);
            }
            self.items.sort_by_key(|item| item.line);
            let listed = |at: &usize| !self.carriers(&self.items[*at].carried.id).is_empty();
            let (mut order, others): (Vec<usize>, _) = (0..self.items.len()).partition(listed);
            order.extend::<Vec<usize>>(others);
            for at in order {
                let item = &self.items[at];
                let waits = item.owner() == owner && item.parked.is_some();
                if waits && item.debit() <= balance - self.pending(owner) {
                    self.last += 1;
                    self.items[at].line = self.last;
                    self.items[at].parked = None;
                }
            }
        }
    }

    pub(super) fn expire(&mut self, now: BlockTimestamp) {
        let over = |item: &&Item| item.carried.transaction.expires() < now;
        let expired: Vec<TxId> = self
            .items
            .iter()
            .filter(over)
            .map(|item| item.carried.id)
            .collect();
        for id in expired {
            for carrier in self.carriers(&id) {
                self.leave(&carrier, "chain_pool.expired");
            }
            self.leave(&id, "chain_pool.expired");
        }
        let impatient = |item: &&Item| item.parked.is_some_and(|until| until <= now);
        let given_up: Vec<TxId> = self
            .items
            .iter()
            .filter(impatient)
            .map(|item| item.carried.id)
            .collect();
        for id in given_up {
            self.leave(&id, "chain_pool.insufficient_balance");
        }
    }
}

impl Item {
    fn list_of(&self) -> Option<&Arc<ChildBlock>> {
        self.list.as_ref()
    }
}
