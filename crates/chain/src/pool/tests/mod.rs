//! Tests of the pool: tables of its rules, and a model under random operations.

mod balances;
mod child_blocks;
mod cost;
mod ledger;
mod model;
mod rules;
mod run;

use std::sync::Arc;

use primitives::Hash;

use super::*;
use crate::block::{CarriedBlock, CarriedEntry, Header, root_of};
use crate::port::StoreFailure;
use crate::transaction::Body;
use crate::{
    AccountId, Anchor, BlockTimestamp, Carried, ChainId, Height, MinorUnits, Minutes, Seconds,
    Transaction, TxId,
};

/// The parameters of a payment that tests vary.
#[derive(Clone, Debug)]
pub(crate) struct Pay {
    pub(crate) chain: u8,
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) amount: u64,
    pub(crate) fee: u64,
    pub(crate) time: u32,
    pub(crate) minutes: u16,
    pub(crate) message: usize,
    pub(crate) anchor: u32,
}

impl Default for Pay {
    fn default() -> Self {
        Self {
            chain: 1,
            from: 1,
            to: 2,
            amount: 1,
            fee: 149,
            time: 0,
            minutes: 60,
            message: 0,
            anchor: 0,
        }
    }
}

/// Returns the time of a block.
pub(crate) fn at(seconds: u32) -> BlockTimestamp {
    BlockTimestamp::new(seconds)
}

pub(crate) fn genesis() -> Hash {
    Hash::plain(b"genesis")
}

pub(crate) fn account(number: u8) -> AccountId {
    AccountId::of_key(&[number; 32])
}

impl Pay {
    /// Returns an unsigned transaction. The pool never checks signatures.
    pub(crate) fn carried(&self) -> Arc<Carried> {
        let transaction = Transaction {
            chain: ChainId(self.chain),
            time: at(self.time),
            deadline_minutes: Minutes::new(self.minutes),
            sender: [self.from; 32],
            fee: MinorUnits::new(self.fee),
            anchor: Anchor {
                height: Height::new(self.anchor),
                id: [0; 8],
            },
            body: Body::Payment {
                to: account(self.to),
                amount: MinorUnits::new(self.amount),
                message: vec![b'm'; self.message],
            },
            signature: [0; 64],
        };
        Arc::new(Carried::new(&genesis(), transaction))
    }
}

/// Returns a child block of a bundler.
pub(crate) fn child_block(
    bundler: u8,
    child: u8,
    fee: u64,
    time: u32,
    ids: &[TxId],
) -> Arc<ChildBlock> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let transaction = Transaction {
        chain: ChainId::PARENT,
        time: at(time),
        deadline_minutes: Minutes::new(60),
        sender: [bundler; 32],
        fee: MinorUnits::new(fee),
        anchor: Anchor::default(),
        body: Body::ChildBlock {
            child: ChainId(child),
            count: ids.len() as u32,
            root: root_of(&ids),
        },
        signature: [0; 64],
    };
    let carried = Arc::new(Carried::new(&genesis(), transaction));
    Arc::new(ChildBlock::new(carried, ids).unwrap())
}

/// Returns a block of these entries, forged by account 9.
pub(crate) fn block(mut body: Vec<CarriedEntry>) -> CarriedBlock {
    body.sort_by_key(|entry| entry.transaction.id);
    let header = Header {
        height: Height::FIRST,
        time: at(0),
        previous: genesis(),
        forger: [9; 32],
        generation: Hash::ZERO,
        base_target: crate::pos::BaseTarget::new(1),
        difficulty: 1,
        parent_count: body.len() as u32,
        child_count: body.iter().map(|entry| entry.children.len() as u32).sum(),
        body_bytes: 0,
        root: Hash::ZERO,
        signature: [0; 64],
    };
    CarriedBlock::new(&genesis(), header, body)
}

pub(crate) fn plain(carried: &Arc<Carried>) -> CarriedEntry {
    CarriedEntry {
        transaction: carried.clone(),
        children: Vec::new(),
    }
}

pub(crate) fn carrying(block: &ChildBlock, children: &[Arc<Carried>]) -> CarriedEntry {
    let mut children = children.to_vec();
    children.sort_by_key(|child| child.id);
    CarriedEntry {
        transaction: block.transaction().clone(),
        children,
    }
}

/// Gives every account the same balance on every chain.
pub(crate) fn all_have(
    balance: u64,
) -> impl FnMut(AccountId, ChainId) -> Result<MinorUnits, StoreFailure> {
    move |_, _| Ok(MinorUnits::new(balance))
}

/// Inserts a payment, with this balance for all accounts.
pub(crate) fn put(pool: &mut Pool, pay: &Pay, balance: u64) -> Result<Arc<Carried>, &'static str> {
    let carried = pay.carried();
    pool.insert(carried.clone(), at(pay.time), &mut all_have(balance))
        .unwrap()
        .map(|()| carried)
        .map_err(|rejection| rejection.code)
}

pub(crate) fn reasons(pool: &mut Pool) -> Vec<(TxId, &'static str)> {
    let left = pool.take_removals().into_iter();
    left.map(|left| (left.carried.id, left.reason)).collect()
}

pub(crate) fn order(pool: &Pool, chain: u8) -> Vec<TxId> {
    pool.waiting(ChainId(chain))
        .map(|carried| carried.id)
        .collect()
}
