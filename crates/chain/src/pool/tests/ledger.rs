//! A chain of blocks and balances for the model, made of sums only.

use std::collections::BTreeMap;

use super::*;

pub(super) type Owner = (AccountId, ChainId);

/// Balances and the blocks that led to them.
#[derive(Default)]
pub(super) struct Ledger {
    balances: BTreeMap<Owner, u64>,
    blocks: Vec<CarriedBlock>,
}

impl Ledger {
    pub(super) fn give(&mut self, owner: Owner, amount: u64) {
        *self.balances.entry(owner).or_default() += amount;
    }

    pub(super) fn balance(&self, owner: Owner) -> u64 {
        self.balances.get(&owner).copied().unwrap_or(0)
    }

    pub(super) fn holds(&self, id: &TxId) -> bool {
        let mut all = self.blocks.iter().flat_map(CarriedBlock::transactions);
        all.any(|carried| carried.id == *id)
    }

    /// Returns whether the debits are covered before credits, and no transaction is on the chain twice.
    pub(super) fn is_valid(&self, block: &CarriedBlock) -> bool {
        let mut debits: BTreeMap<Owner, u64> = BTreeMap::new();
        for carried in block.transactions() {
            let debit = debits
                .entry((carried.sender, carried.transaction.chain))
                .or_default();
            *debit += carried.transaction.debit().unwrap().get();
        }
        let covered = debits
            .iter()
            .all(|(owner, debit)| *debit <= self.balance(*owner));
        let fresh = block.transactions().all(|carried| !self.holds(&carried.id));
        let mut ids: Vec<TxId> = block.transactions().map(|carried| carried.id).collect();
        ids.sort_unstable();
        ids.dedup();
        covered && fresh && ids.len() == block.transactions().count()
    }

    pub(super) fn push(&mut self, block: CarriedBlock) {
        assert!(self.is_valid(&block));
        for (owner, debit, credit) in changes(&block) {
            *self.balances.entry(owner).or_default() -= debit;
            // An account's credits come after its debits in the list, so a valid block makes no balance negative.
            *self.balances.entry(owner).or_default() += credit;
        }
        self.blocks.push(block);
    }

    pub(super) fn pop(&mut self) -> Option<CarriedBlock> {
        let block = self.blocks.pop()?;
        for (owner, debit, credit) in changes(&block).into_iter().rev() {
            *self.balances.entry(owner).or_default() += debit;
            *self.balances.entry(owner).or_default() -= credit;
        }
        Some(block)
    }
}

/// Returns a block's changes of balances: all debits, then all credits.
fn changes(block: &CarriedBlock) -> Vec<(Owner, u64, u64)> {
    let mut changes = Vec::new();
    let mut credits = Vec::new();
    let forger = (block.header.forger_account(), ChainId::PARENT);
    for entry in &block.body {
        let parent = &entry.transaction;
        for carried in std::iter::once(parent).chain(&entry.children) {
            let chain = carried.transaction.chain;
            changes.push((
                (carried.sender, chain),
                carried.transaction.debit().unwrap().get(),
                0,
            ));
            if let Body::Payment { to, amount, .. } = &carried.transaction.body {
                credits.push(((*to, chain), 0, amount.get()));
            }
        }
        credits.push((forger, 0, parent.transaction.fee.get()));
        for child in &entry.children {
            let bundler = (parent.sender, child.transaction.chain);
            credits.push((bundler, 0, child.transaction.fee.get()));
        }
    }
    changes.extend(credits);
    changes
}
