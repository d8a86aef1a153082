//! Blocks that join the chain, and blocks that are taken back.

use std::sync::Arc;

use primitives::Hash;

use super::insert::{refused_as_known, turn_of};
use super::{ChildBlock, Left, Pool, Signed};
use crate::block::Entry;
use crate::transaction::Body;
use crate::{AccountId, ChainId, Rejection, Transaction, TxId};

/// What the pool wants to know of a transaction in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBlock {
    /// Its id.
    pub id: TxId,
    /// Whom it debits.
    pub sender: AccountId,
    /// On which chain.
    pub chain: ChainId,
    /// Whose balance grows by it, and where: the recipient's, or the bundler's by the fees of what a child block carries.
    pub credits: Option<(AccountId, ChainId)>,
}

impl InBlock {
    /// Of a transaction whose id and sender are known.
    #[must_use]
    pub fn new(id: TxId, sender: AccountId, transaction: &Transaction) -> Self {
        Self {
            id,
            sender,
            chain: transaction.chain,
            credits: match transaction.body {
                Body::Payment { to, .. } => Some((to, transaction.chain)),
                Body::ChildBlock { child, .. } => Some((sender, child)),
                Body::Lease { .. } => None,
            },
        }
    }

    /// Of a checked one.
    #[must_use]
    pub fn of(signed: &Signed) -> Self {
        Self::new(signed.id, signed.sender, &signed.transaction)
    }
}

/// A transaction of a block that was taken back.
#[derive(Clone, Debug)]
pub enum Returned {
    /// A payment, a lease; of the parent chain or a child.
    Transaction(Arc<Signed>),
    /// A child block. What it carries is returned too, for itself.
    ChildBlock(Arc<ChildBlock>),
}

impl Returned {
    /// Of a body, in its order.
    pub fn of_body(
        body: Vec<Entry>,
        genesis: &Hash,
        arrived_ms: u64,
    ) -> Result<Vec<Self>, Rejection> {
        let mut returned = Vec::new();
        for entry in body {
            let signed = Arc::new(Signed::new(entry.transaction, genesis, arrived_ms)?);
            let children = entry
                .children
                .into_iter()
                .map(|child| Signed::new(child, genesis, arrived_ms).map(Arc::new))
                .collect::<Result<Vec<_>, _>>()?;
            if matches!(signed.transaction.body, Body::ChildBlock { .. }) {
                let ids = children.iter().map(|child| child.id).collect();
                let block = ChildBlock::new(signed, ids)?;
                returned.push(Self::ChildBlock(Arc::new(block)));
                returned.extend(children.into_iter().map(Self::Transaction));
            } else {
                returned.push(Self::Transaction(signed));
            }
        }
        Ok(returned)
    }

    fn signed(&self) -> &Arc<Signed> {
        match self {
            Self::Transaction(signed) => signed,
            Self::ChildBlock(block) => block.signed(),
        }
    }
}

impl Pool {
    /// A block joined the chain: its transactions are here no longer, nor child blocks that carry one of them. Accounts that it
    /// debited by transactions unknown here are unsettled; so are those it credited that have parked transactions.
    pub fn block_added(&mut self, transactions: &[InBlock], forger: AccountId) {
        for transaction in transactions {
            let owner = (transaction.sender, transaction.chain);
            let counted = match self.ids.get(&transaction.id).copied() {
                Some(slot) => !self.unlink(slot).parked,
                None => false,
            };
            if !counted {
                self.unsettle(owner);
            }
        }
        for transaction in transactions {
            self.leave_carriers(&transaction.id, "chain_pool.superseded");
        }
        if self.parked > 0 {
            let credited = transactions.iter().filter_map(|one| one.credits);
            for owner in credited.chain([(forger, ChainId::PARENT)]) {
                if self
                    .purses
                    .get(&owner)
                    .is_some_and(|purse| purse.parked > 0)
                {
                    self.unsettle(owner);
                }
            }
        }
    }

    /// The last block was taken back: its transactions wait again, before all others that pay the same, in the block's order. The
    /// accounts that it credited are unsettled. What the limits leave no room for leaves as evicted.
    pub fn block_popped(&mut self, transactions: Vec<Returned>, forger: AccountId, now: u32) {
        let count = i64::try_from(transactions.len()).unwrap_or(i64::MAX);
        self.first_place -= count;
        let credited: Vec<_> = transactions
            .iter()
            .filter_map(|one| InBlock::of(one.signed()).credits)
            .chain([(forger, ChainId::PARENT)])
            .collect();
        for (place, returned) in (self.first_place..).zip(transactions) {
            self.take_back(returned, place, now);
        }
        for owner in credited {
            self.unsettle(owner);
        }
    }

    fn take_back(&mut self, returned: Returned, place: i64, now: u32) {
        let signed = returned.signed().clone();
        let refused = match refused_as_known(self, &signed, now) {
            Err(rejection) => Some(rejection.code),
            Ok(()) => self.take_back_checked(returned, place),
        };
        match refused {
            // It is here: nothing is lost.
            None | Some("chain_pool.known") => {}
            Some(reason) => self.left.push(Left { signed, reason }),
        }
    }

    /// The reason why it can't be taken back, if there is one.
    fn take_back_checked(&mut self, returned: Returned, place: i64) -> Option<&'static str> {
        let turn = turn_of(returned.signed(), place);
        match returned {
            Returned::Transaction(signed) => match self.room_for(&signed) {
                Ok(victims) => {
                    self.evict(victims);
                    self.link(signed, turn);
                    None
                }
                Err(_) => Some("chain_pool.evicted"),
            },
            Returned::ChildBlock(block) => match self.room_for_child_block(&block) {
                Ok(victims) => {
                    for slot in victims {
                        self.leave(slot, "chain_pool.superseded");
                    }
                    self.link_child_block(block, turn);
                    None
                }
                Err(_) => Some("chain_pool.superseded"),
            },
        }
    }

    /// The next [`Pool::settle`] looks at an account, if it has anything here.
    pub(super) fn unsettle(&mut self, owner: (AccountId, ChainId)) {
        if self.purses.contains_key(&owner) {
            self.unsettled.insert(owner);
        }
    }
}
