//! Comparison of pools with one peer after the other, so that transactions and child blocks that gossip lost or a partition held
//! back reach every node in the end.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::intake::Source;
use super::limits::{
    ANEW_STEP, CHILD_BLOCKS_FETCHED_MAX, COMPARE_MS, PATIENCE_MS, REPEAT_SECONDS, REPEAT_STEP,
    WANTED_MAX, points,
};
use super::questions::Purpose;
use super::{Core, PeerId};
use crate::message::{IDS_MAX, Listed, Question};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::{Body, Carried};
use crate::{Transaction, TxId};
use primitives::Hash;

/// Ids that one question asks for. The answer has about 150 KB.
const ASKED_AT_ONCE: usize = 1_000;
/// Maximum number of concurrent questions for transactions.
const FETCHES_MAX: usize = 4;
/// Maximum size of a pool that is compared with several peers at once.
const SMALL_POOL: usize = 5_000;
/// Number of peers in such a comparison.
const COMPARED_AT_ONCE: usize = 3;
/// Delay before ids are requested, in milliseconds. Gossip may bring the transactions in this time.
const WAIT_MS: u64 = 250;

/// Transactions that peers have and this node lacks.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    queue: VecDeque<(PeerId, TxId)>,
    /// Time of the next requests for ids.
    due_ms: u64,
    /// Time of the next comparison.
    compare_ms: u64,
    /// Child blocks that were requested from each peer since the tip moved.
    child_blocks: BTreeSet<(PeerId, TxId)>,
}

impl Wanted {
    /// Adds ids that a peer has.
    pub(super) fn add(&mut self, peer: PeerId, ids: Vec<TxId>, now_ms: u64) {
        if ids.is_empty() {
            return;
        }
        if self.queue.is_empty() {
            self.due_ms = now_ms + WAIT_MS;
        }
        let room = WANTED_MAX.saturating_sub(self.queue.len());
        self.queue
            .extend(ids.into_iter().take(room).map(|id| (peer, id)));
    }

    /// Selects the child blocks that are requested from a peer, and remembers them.
    fn new_child_blocks(&mut self, peer: PeerId, mut ids: Vec<TxId>) -> Vec<TxId> {
        let range = (peer, TxId([0; 32]))..=(peer, TxId([0xff; 32]));
        let before = self.child_blocks.range(range).count();
        ids.retain(|id| !self.child_blocks.contains(&(peer, *id)));
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(CHILD_BLOCKS_FETCHED_MAX.saturating_sub(before));
        self.child_blocks.extend(ids.iter().map(|id| (peer, *id)));
        ids
    }

    pub(super) fn tip_moved(&mut self) {
        self.child_blocks.clear();
    }

    pub(super) fn forget(&mut self, peer: &PeerId) {
        self.queue.retain(|(of, _)| of != peer);
    }

    /// Returns the time of the next step.
    pub(super) fn due_ms(&self) -> Option<u64> {
        if self.queue.is_empty() {
            return Some(self.compare_ms);
        }
        Some(self.due_ms.min(self.compare_ms))
    }

    /// Takes the next ids of one peer.
    fn next(&mut self) -> Option<(PeerId, Vec<TxId>)> {
        let (peer, _) = self.queue.front().copied()?;
        let mut ids = Vec::new();
        while ids.len() < ASKED_AT_ONCE
            && let Some((of, id)) = self.queue.front().copied()
            && of == peer
        {
            ids.push(id);
            self.queue.pop_front();
        }
        ids.sort_unstable();
        ids.dedup();
        Some((peer, ids))
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Compares with the next peers if it is time, and requests missing transactions.
    pub(super) fn compare_pools(&mut self) {
        if self.wanted.compare_ms <= self.now_ms {
            self.wanted.compare_ms = self.now_ms + COMPARE_MS;
            for (_, peer) in self.peers.iter_mut() {
                peer.useless = 0;
            }
            self.repeat_own();
            let small = self.pool.figures().transactions <= SMALL_POOL;
            for _ in 0..if small { COMPARED_AT_ONCE } else { 1 } {
                if let Some(peer) = self.peers.next_to_compare() {
                    self.compare_with(peer);
                }
            }
        }
        let fetching = |purpose: &Purpose| *purpose == Purpose::PoolTransactions;
        while self.wanted.due_ms <= self.now_ms && self.questions.count(fetching) < FETCHES_MAX {
            let Some((peer, mut ids)) = self.wanted.next() else {
                return;
            };
            ids.retain(|id| !self.pool.contains(id));
            if ids.is_empty() || !self.may_ask(&peer) {
                continue;
            }
            let question = Question::Transactions {
                block: Hash::ZERO,
                ids,
            };
            self.ask(peer, Purpose::PoolTransactions, &question, PATIENCE_MS);
        }
        if !self.wanted.queue.is_empty() && self.wanted.due_ms <= self.now_ms {
            // The number of concurrent questions is limited. Look again soon.
            self.wanted.due_ms = self.now_ms + WAIT_MS;
        }
    }

    /// Gossips locally accepted transactions again that have waited long.
    fn repeat_own(&mut self) {
        if !self.anew.is_empty() {
            return;
        }
        let before = self.now_seconds().saturating_sub(REPEAT_SECONDS);
        let old = self.own.iter().take_while(|id| id.time() < before);
        self.anew.extend(old.take(REPEAT_STEP).copied());
    }

    /// Asks a peer for the ids of its pool.
    pub(super) fn compare_with(&mut self, peer: PeerId) {
        if self.may_ask(&peer) && self.wanted.queue.len() < WANTED_MAX {
            let question = Question::PoolIds {
                after: TxId::default(),
            };
            self.ask(peer, Purpose::PoolIds, &question, PATIENCE_MS);
        }
    }

    pub(super) fn pool_ids_came(&mut self, peer: PeerId, ids: &[TxId]) {
        let missing = ids.iter().filter(|id| !self.pool.contains(id));
        let missing: Vec<TxId> = missing.copied().collect();
        self.wanted.add(peer, missing, self.now_ms);
        if ids.len() == IDS_MAX
            && let Some(last) = ids.last()
            && self.may_ask(&peer)
        {
            let question = Question::PoolIds { after: *last };
            self.ask(peer, Purpose::PoolIds, &question, PATIENCE_MS);
        }
    }

    pub(super) fn pool_transactions_came(
        &mut self,
        peer: PeerId,
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let mut child_blocks = Vec::new();
        for transaction in transactions {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            if matches!(carried.transaction.body, Body::ChildBlock { .. }) {
                child_blocks.push(carried.id);
            } else {
                self.take_in(carried, None, Source::Fetched(peer))?;
            }
        }
        self.settle_intake()?;
        self.fetch_child_blocks(peer, child_blocks);
        Ok(())
    }

    /// Requests child blocks with their lists, which an answer with transactions lacks. Each is requested once while the tip
    /// stays, because this node may refuse a child block that the peer keeps.
    fn fetch_child_blocks(&mut self, peer: PeerId, ids: Vec<TxId>) {
        if ids.is_empty() || !self.may_ask(&peer) {
            return;
        }
        let ids = self.wanted.new_child_blocks(peer, ids);
        if ids.is_empty() {
            return;
        }
        let question = Question::Parents {
            block: Hash::ZERO,
            ids,
        };
        self.ask(peer, Purpose::PoolChildBlocks, &question, PATIENCE_MS);
    }

    pub(super) fn pool_child_blocks_came(
        &mut self,
        peer: PeerId,
        listed: Vec<Listed>,
    ) -> Result<(), StoreFailure> {
        for one in listed {
            let carried = Arc::new(Carried::new(&self.genesis.hash, one.transaction));
            match ChildBlock::new(carried.clone(), one.ids) {
                Ok(block) => {
                    self.take_in(carried, Some(Arc::new(block)), Source::Fetched(peer))?;
                }
                Err(rejection) => self.penalise(peer, points::BAD_SIGNATURE, rejection.code),
            }
        }
        self.settle_intake()
    }

    /// Gossips the transactions again that a reorg has put back, a batch at a time.
    pub(super) fn gossip_anew(&mut self) -> Result<(), StoreFailure> {
        if self.anew.is_empty() || self.relay.due_ms(0).is_some() {
            return Ok(());
        }
        for _ in 0..ANEW_STEP {
            let Some(id) = self.anew.pop_front() else {
                return Ok(());
            };
            if self.pool.child_block(&id).is_some() {
                continue;
            }
            if let Some(carried) = self.pool.get(&id).cloned() {
                self.gossip_transaction(&carried)?;
            }
        }
        Ok(())
    }

    pub(super) fn anew_due_ms(&self) -> Option<u64> {
        let waits = self.relay.due_ms(self.settings.gossip_linger_ms);
        (!self.anew.is_empty()).then(|| waits.unwrap_or(self.now_ms))
    }
}
