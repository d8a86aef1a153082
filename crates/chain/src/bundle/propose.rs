//! The child block that a bundler makes at this moment.

use std::sync::Arc;

use primitives::{Hash, KeyPair};

use super::{BundleSettings, Bundler, BundlerRules};
use crate::block::root_of;
use crate::forge::{chain_key, may_stand, stands};
use crate::pool::{ChildBlock, Pool};
use crate::transaction::Body;
use crate::{
    AccountId, Anchor, BlockTimestamp, Carried, ChainId, ChainTime, Height, MinorUnits, Params,
    Rejection, Transaction, TxId,
};

/// The state of the chain that a bundler needs.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The genesis hash.
    pub genesis: &'a Hash,
    /// The parameters of the network.
    pub params: &'a Params,
    /// Decimals of the parent token.
    pub parent_decimals: u8,
    /// The height of the next block.
    pub height: Height,
    /// The current time.
    pub now: ChainTime,
    /// The anchor of child blocks, deep enough below the tip.
    pub anchor: Anchor,
}

/// The parent tokens that a bundler can spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Its confirmed balance.
    pub balance: MinorUnits,
    /// Fees of its child blocks of this chain in blocks. They count towards `total_fee_max`.
    pub spent: MinorUnits,
}

/// The decision of a bundler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// Make this child block, put it into the pool and gossip it.
    Make(Arc<ChildBlock>),
    /// Make no child block, for this reason.
    Skip(Skipped),
}

/// The reason for making no child block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// No transaction that its rules allow is waiting.
    NothingWaits,
    /// The pool has an equally good child block of the chain.
    AsGoodIsHere(TxId),
    /// Its fee limit or its balance is used up.
    MeansUsedUp,
}

/// Decides about a child block from the current pool.
pub fn propose(
    pool: &Pool,
    bundler: &Bundler,
    means: Means,
    settings: &BundleSettings,
    scene: &Scene<'_>,
) -> Result<Proposal, Rejection> {
    let key = chain_key(&bundler.key)?;
    let account = AccountId::of_key(&key);
    let price = Price::new(&bundler.rules, scene);
    let affordable = price.affordable(&bundler.rules, pool, account, means);
    if affordable == 0 {
        return Ok(Proposal::Skip(Skipped::MeansUsedUp));
    }
    let chosen = choose(pool, &bundler.rules, &price, affordable, settings, scene);
    if chosen.is_empty() {
        return Ok(Proposal::Skip(Skipped::NothingWaits));
    }
    let fee = price.fee_of(chosen.len());
    let (child, now) = (bundler.rules.child, BlockTimestamp::at(scene.now));
    let offers = pool.child_blocks(child).filter(|offer| offer.complete);
    let mut rivals = offers
        .map(|offer| offer.block)
        .filter(|rival| !settings.is_better((fee, chosen.len()), (rival.fee(), rival.ids().len())));
    // Few rivals are checked closely, because the check looks at each transaction that a child block carries.
    if let Some(rival) = rivals.find(|rival| stands(pool, scene.params, rival, scene.height, now)) {
        return Ok(Proposal::Skip(Skipped::AsGoodIsHere(rival.id())));
    }
    let mut ids: Vec<TxId> = chosen.iter().map(|carried| carried.id).collect();
    ids.sort_unstable();
    let block = make(&bundler.key, key, ids, fee, &bundler.rules, settings, scene);
    Ok(Proposal::Make(Arc::new(block)))
}

/// The cost of transactions to a bundler, and the fee that they must pay.
struct Price {
    /// The parent fee of a hundred transactions, in minor units.
    hundred: u128,
    /// The minimum child fee of one transaction.
    child_fee_min: MinorUnits,
}

impl Price {
    fn new(rules: &BundlerRules, scene: &Scene<'_>) -> Self {
        let least = scene.params.child_block_fee_per_transaction;
        let overpay = rules.overpay_percent;
        Self {
            hundred: overpay.hundred_times_raised(least.get()),
            child_fee_min: rules
                .rate_min
                .fee(overpay, scene.params, scene.parent_decimals),
        }
    }

    /// Returns the parent fee of a number of transactions, rounded up.
    fn fee_of(&self, count: usize) -> MinorUnits {
        // A fee beyond 64 bits is one that no account can pay.
        let fee = self.hundred.saturating_mul(count as u128).div_ceil(100);
        MinorUnits::from_u128(fee).unwrap_or(MinorUnits::MAX)
    }

    /// Returns the number of transactions that the bundler can pay for.
    fn affordable(
        &self,
        rules: &BundlerRules,
        pool: &Pool,
        account: AccountId,
        means: Means,
    ) -> usize {
        let pending = pool.pending_debit(account, ChainId::PARENT);
        // Parked transactions count in full, so the waiting debits may be above the balance.
        let mut room = means
            .balance
            .checked_sub(pending)
            .unwrap_or(MinorUnits::ZERO);
        if let Some(total) = rules.total_fee_max {
            // Child blocks that wait in the pool may still be paid for.
            let own = pool.child_blocks(rules.child).map(|offer| offer.block);
            let waiting = own
                .filter(|block| block.transaction().sender == account)
                .map(|block| block.fee().get_u128());
            let used = means.spent.get_u128() + waiting.sum::<u128>();
            // Beyond the limit the bundler spends nothing more.
            let left = MinorUnits::from_u128(total.get_u128().saturating_sub(used));
            room = room.min(left.expect("at most the limit"));
        }
        if self.hundred == 0 {
            return usize::MAX;
        }
        // The caller bounds the count.
        usize::try_from(room.get_u128() * 100 / self.hundred).unwrap_or(usize::MAX)
    }
}

fn choose<'a>(
    pool: &'a Pool,
    rules: &BundlerRules,
    price: &Price,
    affordable: usize,
    settings: &BundleSettings,
    scene: &Scene<'_>,
) -> Vec<&'a Arc<Carried>> {
    let limits = scene.params;
    let count_max = affordable.min(limits.child_transactions_max as usize);
    // A block too small for a child block holds no transaction of one.
    let bytes_max = (limits.child_block_bytes_max as usize)
        .min((limits.block_bytes_max as usize).saturating_sub(CHILD_BLOCK_BYTES));
    let now = BlockTimestamp::at(scene.now);
    // No deadline is beyond the last second.
    let until = now.plus_or_last(settings.margin_seconds(limits));
    let mut bytes = 0;
    let mut chosen = Vec::new();
    for carried in pool.waiting(rules.child) {
        if chosen.len() == count_max || bytes_max - bytes < crate::transaction::PAYMENT_BYTES {
            break;
        }
        let length = carried.bytes as usize;
        if bytes + length <= bytes_max
            && carried.transaction.fee >= price.child_fee_min
            && carried.transaction.expires() >= until
            && may_stand(carried, limits, scene.height, now)
            && rules.allow(carried)
        {
            bytes += length;
            chosen.push(carried);
        }
    }
    chosen
}

/// Length of a child block's own transaction: the fixed 149 bytes, and an extension of 2 + 33.
const CHILD_BLOCK_BYTES: usize = crate::transaction::PAYMENT_BYTES + 2 + 33;

fn make(
    pair: &KeyPair,
    key: [u8; 32],
    ids: Vec<TxId>,
    fee: MinorUnits,
    rules: &BundlerRules,
    settings: &BundleSettings,
    scene: &Scene<'_>,
) -> ChildBlock {
    let mut transaction = Transaction {
        chain: ChainId::PARENT,
        time: BlockTimestamp::at(scene.now),
        deadline_minutes: settings.deadline_minutes(scene.params),
        sender: key,
        fee,
        anchor: scene.anchor,
        body: Body::ChildBlock {
            child: rules.child,
            // Bounded by the limit in the parameters.
            count: ids.len() as u32,
            root: root_of(&ids),
        },
        signature: [0; 64],
    };
    transaction.sign(scene.genesis, pair);
    let transaction = Carried::new(scene.genesis, transaction);
    ChildBlock::made(Arc::new(transaction), rules.child, ids)
}
