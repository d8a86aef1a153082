//! What goes into the next block.

use std::cmp::Reverse;
use std::sync::Arc;

use primitives::Hash;

use crate::block::{Entry, root_of};
use crate::pool::{ChildBlock, Pool, Signed, fee_rate};
use crate::transaction::PAYMENT_BYTES;
use crate::{ChainId, Params, TxId};

/// A parent transaction for a block, with what it carries.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The parent transaction.
    pub signed: Arc<Signed>,
    /// A child block's transactions, ascending by id; of others none.
    pub children: Vec<Arc<Signed>>,
}

/// The body of a block to be, in its order.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Parent transactions, ascending by id.
    pub entries: Vec<Chosen>,
    /// Transactions that child blocks carry.
    pub child_count: u32,
    /// Bytes of the body.
    pub body_bytes: u32,
    /// What the forger earns, in minor units of the parent token.
    pub fees: u64,
    /// The root over the parent transactions' ids.
    pub root: Hash,
}

impl Candidate {
    /// The body as carried.
    #[must_use]
    pub fn to_body(&self) -> Vec<Entry> {
        let entries = self.entries.iter();
        entries
            .map(|chosen| Entry {
                transaction: chosen.signed.transaction.clone(),
                children: chosen
                    .children
                    .iter()
                    .map(|child| child.transaction.clone())
                    .collect(),
            })
            .collect()
    }

    /// Appends the body's bytes: as `block::write_body` does for [`Candidate::to_body`], without the copies.
    pub fn write_body(&self, out: &mut Vec<u8>) {
        out.reserve(self.body_bytes as usize);
        for chosen in &self.entries {
            chosen.signed.transaction.write(out);
            for child in &chosen.children {
                child.transaction.write(out);
            }
        }
    }
}

/// Whether a transaction may stand in a block of this height and time, as far as its own fields say.
#[must_use]
pub fn may_stand(signed: &Signed, params: &Params, height: u32, time: u32) -> bool {
    let transaction = &signed.transaction;
    let anchor = transaction.anchor.height;
    let deep = u64::from(anchor) + u64::from(params.anchor_depth_min) < u64::from(height);
    transaction.time <= time && time <= transaction.expires() && (anchor == 0 || deep)
}

/// Chooses the body of the block at `height` with the time `time` (seconds since genesis): the best child block of each chain, by
/// the fee for each byte of all it brings, then parent transactions by fee rate, as far as the limits go. It costs
/// `O(chosen log chosen)`.
#[must_use]
pub fn assemble(pool: &Pool, params: &Params, height: u32, time: u32) -> Candidate {
    let mut choice = Choice {
        pool,
        params,
        height,
        time,
        entries: Vec::new(),
        bytes: 0,
    };
    choice.take_child_blocks();
    choice.take_parent_transactions();
    choice.finish()
}

struct Choice<'a> {
    pool: &'a Pool,
    params: &'a Params,
    height: u32,
    time: u32,
    entries: Vec<Chosen>,
    bytes: usize,
}

/// A child block that may stand in the block.
struct Loaded {
    chosen: Chosen,
    bytes: usize,
}

impl Choice<'_> {
    fn take_child_blocks(&mut self) {
        let pool = self.pool;
        let chains = pool.chains_with_child_blocks();
        let mut best: Vec<(ChainId, Loaded)> = chains
            .filter_map(|chain| Some((chain, self.best_of(chain, self.room())?)))
            .collect();
        best.sort_by_cached_key(|(_, loaded)| {
            let signed = &loaded.chosen.signed;
            let bytes = u32::try_from(loaded.bytes).unwrap_or(u32::MAX);
            let rate = fee_rate(signed.transaction.fee, bytes);
            (Reverse(rate), signed.arrived_ms, signed.id)
        });
        for (chain, loaded) in best {
            let loaded = if loaded.bytes <= self.room() {
                Some(loaded)
            } else {
                self.best_of(chain, self.room())
            };
            if let Some(loaded) = loaded
                && self.has_place()
            {
                self.bytes += loaded.bytes;
                self.entries.push(loaded.chosen);
            }
        }
    }

    /// The best child block of a chain that may stand in the block and fits into `room` bytes.
    fn best_of(&self, chain: ChainId, room: usize) -> Option<Loaded> {
        let offers = self.pool.child_blocks(chain).filter(|offer| offer.complete);
        // What is surely too long is not looked at more closely.
        let short = offers.filter(|offer| offer.block.ids().len() * PAYMENT_BYTES <= room);
        short
            .filter_map(|offer| self.load(offer.block))
            .find(|loaded| loaded.bytes <= room)
    }

    fn load(&self, block: &ChildBlock) -> Option<Loaded> {
        let limits = self.params;
        if !self.may_stand(block.signed())
            || block.ids().len() > limits.child_transactions_max as usize
        {
            return None;
        }
        let mut carried = 0;
        let mut children = Vec::with_capacity(block.ids().len());
        for id in block.ids() {
            let signed = self.pool.get(id)?;
            if !self.pool.settled(signed) || !self.may_stand(signed) {
                return None;
            }
            carried += signed.length as usize;
            children.push(signed.clone());
        }
        (carried <= limits.child_block_bytes_max as usize).then(|| Loaded {
            bytes: carried + block.signed().length as usize,
            chosen: Chosen {
                signed: block.signed().clone(),
                children,
            },
        })
    }

    fn take_parent_transactions(&mut self) {
        for signed in self.pool.waiting(ChainId::PARENT) {
            if !self.has_place() || self.room() < PAYMENT_BYTES {
                return;
            }
            if signed.length as usize <= self.room() && self.may_stand(signed) {
                self.bytes += signed.length as usize;
                self.entries.push(Chosen {
                    signed: signed.clone(),
                    children: Vec::new(),
                });
            }
        }
    }

    fn finish(mut self) -> Candidate {
        self.entries.sort_unstable_by_key(|chosen| chosen.signed.id);
        let ids: Vec<TxId> = self.entries.iter().map(|chosen| chosen.signed.id).collect();
        let children: usize = self
            .entries
            .iter()
            .map(|chosen| chosen.children.len())
            .sum();
        let fees = self
            .entries
            .iter()
            .map(|chosen| chosen.signed.transaction.fee);
        Candidate {
            fees: fees.fold(0, u64::saturating_add),
            // Bounded by the limits of the parameters, which are 32 bits wide.
            child_count: children as u32,
            body_bytes: self.bytes as u32,
            root: root_of(&ids),
            entries: self.entries,
        }
    }

    fn room(&self) -> usize {
        self.params.block_bytes_max as usize - self.bytes
    }

    fn has_place(&self) -> bool {
        self.entries.len() < self.params.parent_transactions_max as usize
    }

    fn may_stand(&self, signed: &Signed) -> bool {
        may_stand(signed, self.params, self.height, self.time)
    }
}
