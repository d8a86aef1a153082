//! Makes a long history at once for test networks: payments among accounts with known keys, in full blocks, one after another.
//!
//! The result is an ordinary chain: every transaction and every block is signed, every rule holds, and any node of the network
//! accepts it. Only pools and sockets are left out. The caller applies the blocks ([`crate::state::apply_block`]) and writes the
//! resulting rows. Signing takes most of the time and can be spread over threads, because [`History::payments`] needs no state.

mod signed_payments;

use std::ops::Range;
use std::sync::Arc;

use primitives::KeyPair;

use crate::block::{CarriedEntry, CheckedBlock, root_of};
use crate::forge::{Candidate, chain_key, seal};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Overlay, fee_min, next_header, turn};
use crate::transaction::PAYMENT_BYTES;
use crate::{
    AccountId, Anchor, BlockTimestamp, Body, Carried, ChainId, Genesis, Height, MinorUnits,
    Minutes, Rejection, Transaction, TxId,
};

pub use signed_payments::SignedPayments;

/// Maximum bytes that a child block adds to its transactions.
const CHILD_BLOCK_BYTES: usize = PAYMENT_BYTES + 64;
/// Amounts, in minor units, repeat after this many values. They are small, so that no account runs out of tokens in a long history,
/// and numerous enough that no two payments of one second are equal.
const AMOUNTS: u64 = 100_000;
/// A child payment's fee is a whole token divided by this number.
const CHILD_FEE_PART: u64 = 100;
/// Validity of a payment, if the network allows it.
const DEADLINE: Minutes = Minutes::new(60);

/// An account that pays, is paid, forges and bundles.
#[derive(Debug)]
struct Account {
    key: KeyPair,
    public: [u8; 32],
    id: AccountId,
}

/// A chain and its share of a block.
#[derive(Debug)]
struct Lane {
    chain: ChainId,
    fee: MinorUnits,
    /// Maximum number of payments of this chain in a block.
    most: usize,
}

/// The payments of one block: their numbers, chain by chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the first payment.
    first: u64,
    /// The time of the payments.
    time: BlockTimestamp,
    /// The number of payments for each chain.
    shares: Vec<usize>,
}

impl Batch {
    /// Returns the number of payments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shares.iter().sum()
    }

    /// Returns whether there are no payments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Makes the payments and blocks of a history.
#[derive(Debug)]
pub struct History {
    genesis: Arc<Genesis>,
    accounts: Vec<Account>,
    lanes: Vec<Lane>,
    per_block: usize,
}

impl History {
    /// Prepares the history of a network. Accounts with a balance on every chain are used. A block takes at most `per_block`
    /// payments, or fewer if the network's limits require it.
    ///
    /// # Errors
    /// `chain_history.accounts`: there are fewer than two such accounts.
    pub fn new(
        genesis: Arc<Genesis>,
        keys: Vec<KeyPair>,
        per_block: usize,
    ) -> Result<Self, Rejection> {
        let mut accounts = Vec::with_capacity(keys.len());
        for key in keys {
            let public = chain_key(&key)?;
            let id = AccountId::of_key(&public);
            let has = |chain| genesis.balances.contains_key(&(id, chain));
            if genesis.chains.keys().all(|chain| has(*chain)) {
                accounts.push(Account { key, public, id });
            }
        }
        if accounts.len() < 2 {
            return Err(Rejection::new(
                "chain_history.accounts",
                format!(
                    "{} accounts with a known passphrase have a balance on every chain, at least 2 are needed",
                    accounts.len()
                ),
            ));
        }
        let lanes = lanes(&genesis);
        let most = lanes.iter().map(|lane| lane.most).sum::<usize>();
        // The first lane is the parent chain.
        let children = lanes.len() - 1;
        // A block too small for its child blocks has room for none of their payments.
        let room = (genesis.params.block_bytes_max as usize)
            .saturating_sub(children * CHILD_BLOCK_BYTES)
            / PAYMENT_BYTES;
        Ok(Self {
            per_block: per_block.min(most).min(room).max(1),
            genesis,
            accounts,
            lanes,
        })
    }

    /// Returns the maximum number of payments in a block.
    #[must_use]
    pub fn per_block(&self) -> usize {
        self.per_block
    }

    /// Returns the payments of a block: at most `count`, numbered from `first` and spread evenly over all chains as far as each
    /// has room. Their time is `time`, which must not be later than the block's.
    #[must_use]
    pub fn batch(&self, first: u64, count: u64, time: BlockTimestamp) -> Batch {
        // The block bounds the count.
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut left = count.min(self.per_block);
        let mut shares = vec![0; self.lanes.len()];
        while left > 0 {
            let open: Vec<usize> = (0..shares.len())
                .filter(|at| shares[*at] < self.lanes[*at].most)
                .collect();
            if open.is_empty() {
                break;
            }
            let each = (left / open.len()).max(1);
            for at in open {
                let more = each.min(self.lanes[at].most - shares[at]).min(left);
                shares[at] += more;
                left -= more;
            }
        }
        Batch {
            first,
            time,
            shares,
        }
    }

    /// Makes and signs the payments at these positions of a batch.
    #[must_use]
    pub fn payments(&self, batch: &Batch, places: Range<usize>) -> SignedPayments {
        let signed = places.filter_map(|place| self.payment(batch, place));
        SignedPayments::new(signed.map(Arc::new).collect())
    }

    fn payment(&self, batch: &Batch, place: usize) -> Option<Carried> {
        let mut before = 0;
        let lane = batch.shares.iter().position(|share| {
            before += share;
            place < before
        })?;
        let number = batch.first.checked_add(place as u64)?;
        let accounts = self.accounts.len() as u64;
        let from = number % accounts;
        // Never to the sender itself, and to each other account in turn.
        let to = (from + 1 + number / accounts % (accounts - 1)) % accounts;
        let Lane { chain, fee, .. } = self.lanes[lane];
        let body = Body::Payment {
            to: self.accounts[to as usize].id,
            amount: MinorUnits::new(1 + number / accounts / (accounts - 1) % AMOUNTS),
            message: Vec::new(),
        };
        Some(self.signed(&self.accounts[from as usize], chain, fee, batch.time, body))
    }

    fn signed(
        &self,
        account: &Account,
        chain: ChainId,
        fee: MinorUnits,
        time: BlockTimestamp,
        body: Body,
    ) -> Carried {
        let mut transaction = Transaction {
            chain,
            time,
            deadline_minutes: DEADLINE.min(self.genesis.params.deadline_minutes_max),
            sender: account.public,
            fee,
            anchor: Anchor::at(Height::GENESIS, &self.genesis.hash),
            body,
            signature: [0; 64],
        };
        if let Body::ChildBlock { .. } = transaction.body {
            transaction.fee = fee_min(&self.genesis.params, &transaction);
        }
        transaction.sign(&self.genesis.hash, &account.key);
        Carried::new(&self.genesis.hash, transaction)
    }

    /// Returns the block after the tip with these payments, forged by the account whose turn comes first. Returns `None` if that
    /// turn is later than `latest`. With `jump`, a chain that stood still for longer than the network's
    /// standstill continues at `latest`.
    ///
    /// # Errors
    /// The store fails, or none of the accounts may forge (`chain_history.accounts`).
    pub fn block<R: Reads<Table>>(
        &self,
        overlay: &Overlay<R>,
        payments: SignedPayments,
        latest: BlockTimestamp,
        jump: bool,
    ) -> Result<Result<Option<CheckedBlock>, Rejection>, StoreFailure> {
        let mut first: Option<(BlockTimestamp, &Account)> = None;
        for account in &self.accounts {
            if let Some(time) = turn(overlay, &self.genesis, &account.public)?
                && first.is_none_or(|(earliest, _)| time < earliest)
            {
                first = Some((time, account));
            }
        }
        let Some((mut time, forger)) = first else {
            let detail = "no account with a known passphrase has enough stake to forge";
            return Ok(Err(Rejection::new("chain_history.accounts", detail)));
        };
        if time > latest {
            return Ok(Ok(None));
        }
        // Without such a second the chain never stands still.
        let stood = time.plus_or_last(self.genesis.params.standstill_seconds);
        if jump && latest >= stood {
            time = latest;
        }
        let header = next_header(overlay, &self.genesis, &forger.public, time)?;
        let candidate = self.candidate(payments.into_inner(), time, header.height);
        let block = seal(candidate, header, &self.genesis.hash, &forger.key);
        // The payments, the child blocks and the header are signed by this history.
        Ok(block.map(CheckedBlock::from_checked_parts).map(Some))
    }

    fn candidate(
        &self,
        payments: Vec<Arc<Carried>>,
        time: BlockTimestamp,
        height: Height,
    ) -> Candidate {
        let mut body: Vec<CarriedEntry> = Vec::new();
        let mut lanes: Vec<Vec<Arc<Carried>>> = vec![Vec::new(); self.lanes.len()];
        for carried in payments {
            let chain = carried.transaction.chain;
            if let Some(at) = self.lanes.iter().position(|lane| lane.chain == chain) {
                lanes[at].push(carried);
            }
        }
        // Bundlers take turns.
        let bundler = &self.accounts[height.get() as usize % self.accounts.len()];
        for (lane, mut children) in self.lanes.iter().zip(lanes) {
            if !lane.chain.is_child() {
                body.extend(children.into_iter().map(|transaction| CarriedEntry {
                    transaction,
                    children: Vec::new(),
                }));
                continue;
            }
            if children.is_empty() {
                continue;
            }
            children.sort_unstable_by_key(|carried| carried.id);
            let ids: Vec<TxId> = children.iter().map(|carried| carried.id).collect();
            let carries = Body::ChildBlock {
                child: lane.chain,
                // At most the network's limit, which is 32 bits wide.
                count: ids.len() as u32,
                root: root_of(&ids),
            };
            let carried = self.signed(bundler, ChainId::PARENT, MinorUnits::ZERO, time, carries);
            body.push(CarriedEntry {
                transaction: Arc::new(carried),
                children,
            });
        }
        body.sort_unstable_by_key(|entry| entry.transaction.id);
        let ids: Vec<TxId> = body.iter().map(|entry| entry.transaction.id).collect();
        let fees = body.iter().map(|entry| entry.transaction.transaction.fee);
        let all = body
            .iter()
            .flat_map(|entry| std::iter::once(&entry.transaction).chain(&entry.children));
        Candidate {
            // Fees beyond 64 bits are more than any account can pay. Such a block is refused as a whole.
            fees: MinorUnits::checked_sum(fees).unwrap_or(MinorUnits::MAX),
            // Bounded by the limits of the parameters, which are 32 bits wide.
            child_count: body.iter().map(|entry| entry.children.len()).sum::<usize>() as u32,
            body_bytes: all.map(|carried| carried.bytes).sum(),
            root: root_of(&ids),
            body,
        }
    }
}

/// Returns the chains, the parent first, with their maximum shares of a block.
fn lanes(genesis: &Genesis) -> Vec<Lane> {
    let params = &genesis.params;
    let children = genesis.chains.len() - 1;
    // Child blocks may take all places.
    let parent = (params.parent_transactions_max as usize).saturating_sub(children);
    let child = (params.child_transactions_max as usize)
        .min(params.child_block_bytes_max as usize / PAYMENT_BYTES);
    let lane = |info: &crate::genesis::ChainInfo| {
        // A genesis has at most 12 decimals.
        let whole = 10u64.pow(u32::from(info.decimals));
        let (fee, most) = match info.id.is_child() {
            true => (MinorUnits::new((whole / CHILD_FEE_PART).max(1)), child),
            false => (params.parent_fee_min, parent),
        };
        Lane {
            chain: info.id,
            fee,
            most,
        }
    };
    genesis.chains.values().map(lane).collect()
}
