//! Chooses the transactions of the next block.

use std::cmp::Reverse;

use primitives::Hash;

use crate::block::{CarriedEntry, root_of};
use crate::pool::{ChildBlock, FeeRate, Pool};
use crate::transaction::PAYMENT_BYTES;
use crate::{BlockTimestamp, Carried, ChainId, Height, MinorUnits, Params, TxId};

/// The body of a future block, in its final order.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Parent transactions, ascending by id, with the transactions that they carry.
    pub body: Vec<CarriedEntry>,
    /// Number of transactions that child blocks carry.
    pub child_count: u32,
    /// Length of the body in bytes.
    pub body_bytes: u32,
    /// The forger's fees, in the parent token.
    pub fees: MinorUnits,
    /// The Merkle root of the parent transactions' ids.
    pub root: Hash,
}

/// Returns whether a transaction's own fields allow it in a block of this height and time.
#[must_use]
pub fn may_stand(carried: &Carried, params: &Params, height: Height, time: BlockTimestamp) -> bool {
    let transaction = &carried.transaction;
    // No time is beyond the last second.
    let begun = transaction.time <= time.plus_or_last(params.clock_drift_seconds);
    begun
        && time <= transaction.expires()
        && transaction.anchor.is_deep(params.anchor_depth_min, height)
}

/// Returns whether a child block of the pool, with all that it carries, may be in the block at `height` with the time `time`.
#[must_use]
pub fn stands(
    pool: &Pool,
    params: &Params,
    block: &ChildBlock,
    height: Height,
    time: BlockTimestamp,
) -> bool {
    let choice = Choice::new(pool, params, height, time);
    let loaded = choice.load(block);
    loaded.is_some_and(|loaded| loaded.bytes <= choice.bytes_left())
}

/// Chooses the body of the block at `height` with the time `time`, within the limits: the best child
/// block of each chain by the fee per byte of everything it adds, then parent transactions by fee rate. It costs `O(chosen log
/// chosen)`.
#[must_use]
pub fn choose_body(
    pool: &Pool,
    params: &Params,
    height: Height,
    time: BlockTimestamp,
) -> Candidate {
    let mut choice = Choice::new(pool, params, height, time);
    choice.take_child_blocks();
    choice.take_parent_transactions();
    choice.finish()
}

struct Choice<'a> {
    pool: &'a Pool,
    params: &'a Params,
    height: Height,
    time: BlockTimestamp,
    body: Vec<CarriedEntry>,
    bytes: usize,
}

/// A child block that may be in the block.
struct Loaded {
    chosen: CarriedEntry,
    bytes: usize,
}

impl<'a> Choice<'a> {
    fn new(pool: &'a Pool, params: &'a Params, height: Height, time: BlockTimestamp) -> Self {
        Self {
            pool,
            params,
            height,
            time,
            body: Vec::new(),
            bytes: 0,
        }
    }

    fn take_child_blocks(&mut self) {
        let pool = self.pool;
        let chains = pool.chains_with_child_blocks();
        let mut best: Vec<(ChainId, Loaded)> = chains
            .filter_map(|chain| Some((chain, self.best_of(chain, self.bytes_left())?)))
            .collect();
        best.sort_by_cached_key(|(_, loaded)| {
            let carried = &loaded.chosen.transaction;
            let bytes = u32::try_from(loaded.bytes).expect("within a block's bytes");
            let rate = FeeRate::of(carried.transaction.fee, bytes);
            (Reverse(rate), carried.id)
        });
        for (chain, loaded) in best {
            let loaded = if loaded.bytes <= self.bytes_left() {
                Some(loaded)
            } else {
                self.best_of(chain, self.bytes_left())
            };
            if let Some(loaded) = loaded
                && self.has_place()
            {
                self.bytes += loaded.bytes;
                self.body.push(loaded.chosen);
            }
        }
    }

    /// Returns the best child block of a chain that may be in the block and fits into `room` bytes.
    fn best_of(&self, chain: ChainId, room: usize) -> Option<Loaded> {
        let offers = self.pool.child_blocks(chain).filter(|offer| offer.complete);
        // Skip child blocks that are certainly too long.
        let short = offers.filter(|offer| offer.block.ids().len() * PAYMENT_BYTES <= room);
        short
            .filter_map(|offer| self.load(offer.block))
            .find(|loaded| loaded.bytes <= room)
    }

    fn load(&self, block: &ChildBlock) -> Option<Loaded> {
        let limits = self.params;
        if !self.may_stand(block.transaction())
            || block.ids().len() > limits.child_transactions_max as usize
        {
            return None;
        }
        let mut bytes = 0;
        let mut children = Vec::with_capacity(block.ids().len());
        for id in block.ids() {
            // A complete child block carries only covered transactions of its chain that are in the pool.
            let carried = self.pool.get(id)?;
            if !self.pool.is_sender_settled(carried) || !self.may_stand(carried) {
                return None;
            }
            bytes += carried.bytes as usize;
            children.push(carried.clone());
        }
        (bytes <= limits.child_block_bytes_max as usize).then(|| Loaded {
            bytes: bytes + block.transaction().bytes as usize,
            chosen: CarriedEntry {
                transaction: block.transaction().clone(),
                children,
            },
        })
    }

    fn take_parent_transactions(&mut self) {
        for carried in self.pool.waiting(ChainId::PARENT) {
            if !self.has_place() || self.bytes_left() < PAYMENT_BYTES {
                return;
            }
            if carried.bytes as usize <= self.bytes_left() && self.may_stand(carried) {
                self.bytes += carried.bytes as usize;
                self.body.push(CarriedEntry {
                    transaction: carried.clone(),
                    children: Vec::new(),
                });
            }
        }
    }

    fn finish(mut self) -> Candidate {
        self.body
            .sort_unstable_by_key(|chosen| chosen.transaction.id);
        let ids: Vec<TxId> = self
            .body
            .iter()
            .map(|chosen| chosen.transaction.id)
            .collect();
        let children: usize = self.body.iter().map(|chosen| chosen.children.len()).sum();
        let fees = self
            .body
            .iter()
            .map(|chosen| chosen.transaction.transaction.fee);
        Candidate {
            // Fees of a pool may exceed 64 bits only before its debits are checked. Such a block is refused as a whole.
            fees: MinorUnits::checked_sum(fees).unwrap_or(MinorUnits::MAX),
            // Bounded by the limits of the parameters, which are 32 bits wide.
            child_count: children as u32,
            body_bytes: self.bytes as u32,
            root: root_of(&ids),
            body: self.body,
        }
    }

    fn bytes_left(&self) -> usize {
        self.params.block_bytes_max as usize - self.bytes
    }

    fn has_place(&self) -> bool {
        self.body.len() < self.params.parent_transactions_max as usize
    }

    fn may_stand(&self, carried: &Carried) -> bool {
        may_stand(carried, self.params, self.height, self.time)
    }
}
