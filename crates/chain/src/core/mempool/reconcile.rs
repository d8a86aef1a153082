//! Comparison of pools with one peer after the other, so that transactions and child blocks that gossip lost or a partition held
//! back reach every node in the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use primitives::Hash;

use super::intake::Source;
use super::reconciliation::REQUEST_DELAY;
use crate::core::limits::{COMPARE_INTERVAL, MISSING_IDS_MAX, PATIENCE, points};
use crate::core::peers::Purpose;
use crate::core::{Core, PeerId};
use crate::message::{IDS_MAX, Listed, Question};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::{Body, Carried};
use crate::{Transaction, TxId};

/// Maximum number of concurrent questions for transactions.
const FETCHES_MAX: usize = 4;
/// Maximum size of a pool that is compared with several peers at once.
const SMALL_POOL: usize = 5_000;
/// Number of peers in such a comparison.
const COMPARED_AT_ONCE: usize = 3;

impl<R: Reads<Table>> Core<R> {
    /// Compares with the next peers if it is time, and requests missing transactions.
    pub(in crate::core) fn compare_pools(&mut self) {
        if self.reconciliation.compare_at <= self.now {
            self.reconciliation.compare_at = self.now.plus_or_last(COMPARE_INTERVAL);
            for (_, peer) in self.peers.iter_mut() {
                peer.refused_count = 0;
            }
            self.regossip_local();
            let small = self.pool.figures().transactions <= SMALL_POOL;
            for _ in 0..if small { COMPARED_AT_ONCE } else { 1 } {
                if let Some(peer) = self.peers.next_to_compare() {
                    self.compare_with(peer);
                }
            }
        }
        let fetching = |purpose: &Purpose| matches!(purpose, Purpose::PoolTransactions(_));
        while self.reconciliation.due <= self.now && self.requests.count(fetching) < FETCHES_MAX {
            let Some((peer, mut ids)) = self.reconciliation.next() else {
                return;
            };
            ids.retain(|id| !self.pool.contains(id));
            if ids.is_empty() || !self.can_ask(&peer) {
                continue;
            }
            let purpose = Purpose::PoolTransactions(ids.clone());
            let question = Question::Transactions {
                block: Hash::ZERO,
                ids,
            };
            self.ask(peer, purpose, &question, PATIENCE);
        }
        if !self.reconciliation.queue.is_empty() && self.reconciliation.due <= self.now {
            // The number of concurrent questions is limited. Look again soon.
            self.reconciliation.due = self.now.plus_or_last(REQUEST_DELAY);
        }
    }

    /// Asks a peer for the ids of its pool.
    pub(in crate::core) fn compare_with(&mut self, peer: PeerId) {
        if self.can_ask(&peer) && self.reconciliation.queue.len() < MISSING_IDS_MAX {
            let question = Question::PoolIds {
                after: TxId::default(),
            };
            self.ask(peer, Purpose::PoolIds, &question, PATIENCE);
        }
    }

    pub(in crate::core) fn pool_ids_received(&mut self, peer: PeerId, ids: &[TxId]) {
        let missing = ids.iter().filter(|id| !self.pool.contains(id));
        let missing: Vec<TxId> = missing.copied().collect();
        self.reconciliation.add(peer, missing, self.now);
        if ids.len() == IDS_MAX
            && let Some(last) = ids.last()
            && self.can_ask(&peer)
        {
            let question = Question::PoolIds { after: *last };
            self.ask(peer, Purpose::PoolIds, &question, PATIENCE);
        }
    }

    pub(in crate::core) fn pool_transactions_received(
        &mut self,
        peer: PeerId,
        asked: &[TxId],
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let mut missing: BTreeSet<TxId> = asked.iter().copied().collect();
        let mut child_blocks = Vec::new();
        for transaction in transactions {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            if !missing.remove(&carried.id) {
                self.wrong_answer(peer);
                break;
            }
            if matches!(carried.transaction.body, Body::ChildBlock { .. }) {
                child_blocks.push(carried.id);
            } else {
                self.admit(carried, None, Source::Fetched(peer))?;
            }
        }
        self.check_intake()?;
        self.fetch_child_blocks(peer, child_blocks);
        Ok(())
    }

    /// Requests child blocks with their lists, which an answer with transactions lacks. Each is requested once while the tip
    /// stays, because this node may refuse a child block that the peer keeps.
    fn fetch_child_blocks(&mut self, peer: PeerId, ids: Vec<TxId>) {
        if ids.is_empty() || !self.can_ask(&peer) {
            return;
        }
        let ids = self.reconciliation.new_child_blocks(peer, ids);
        if ids.is_empty() {
            return;
        }
        let purpose = Purpose::PoolChildBlocks(ids.clone());
        let question = Question::Parents {
            block: Hash::ZERO,
            ids,
        };
        self.ask(peer, purpose, &question, PATIENCE);
    }

    pub(in crate::core) fn pool_child_blocks_received(
        &mut self,
        peer: PeerId,
        asked: &[TxId],
        listed: Vec<Listed>,
    ) -> Result<(), StoreFailure> {
        let mut missing: BTreeSet<TxId> = asked.iter().copied().collect();
        for one in listed {
            let carried = Arc::new(Carried::new(&self.genesis.hash, one.transaction));
            if !missing.remove(&carried.id) {
                self.wrong_answer(peer);
                break;
            }
            match ChildBlock::new(carried.clone(), one.ids) {
                Ok(block) => {
                    self.admit(carried, Some(Arc::new(block)), Source::Fetched(peer))?;
                }
                Err(rejection) => self.penalise(peer, points::BAD_SIGNATURE, rejection.code),
            }
        }
        self.check_intake()
    }
}
