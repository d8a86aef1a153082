//! A long history made at once, for test networks: payments among accounts whose keys are known, in full blocks, one after another.
//!
//! What comes of it is a chain like any other: every transaction and every block is signed, every rule is kept, and any node of the
//! network takes it over. Only pools and sockets are left out. The caller lets blocks join ([`crate::state::apply_block`]) and writes
//! what comes of that; signing, which takes most of the time, can be spread over threads ([`History::payments`] needs no state).

use std::ops::Range;
use std::sync::Arc;

use primitives::KeyPair;

use crate::block::{CarriedBlock, CarriedEntry, root_of};
use crate::forge::{Candidate, chain_key, seal};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Overlay, fee_min, next_header, turn};
use crate::transaction::PAYMENT_BYTES;
use crate::{AccountId, Anchor, Body, Carried, ChainId, Genesis, Rejection, Transaction, TxId};

/// A child block takes at most so many bytes beside what it carries.
const CHILD_BLOCK_BYTES: usize = PAYMENT_BYTES + 64;
/// Amounts go round: small, so that no account runs dry however long the history is, and so many that no two payments of one
/// second are the same.
const AMOUNTS: u64 = 100_000;
/// A child payment's fee, as a part of a whole token.
const CHILD_FEE_PART: u64 = 100;
/// Minutes that a payment is valid for, if the network allows so many.
const DEADLINE_MINUTES: u16 = 60;

/// An account that pays, is paid, forges and bundles.
#[derive(Debug)]
struct Account {
    key: KeyPair,
    public: [u8; 32],
    id: AccountId,
}

/// A chain, and what a block takes of it.
#[derive(Debug)]
struct Lane {
    chain: ChainId,
    fee: u64,
    /// Payments in a block at most.
    most: usize,
}

/// Which payments stand in one block: their numbers, chain by chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the first.
    first: u64,
    /// The time they bear, seconds since genesis.
    time: u32,
    /// How many of each chain.
    shares: Vec<usize>,
}

impl Batch {
    /// How many payments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shares.iter().sum()
    }

    /// None.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Makes payments and blocks. See the module.
#[derive(Debug)]
pub struct History {
    genesis: Arc<Genesis>,
    accounts: Vec<Account>,
    lanes: Vec<Lane>,
    per_block: usize,
}

impl History {
    /// Of a network, with the keys of accounts that have something on every chain. A block takes `per_block` payments at most, fewer
    /// where the network's limits say so.
    ///
    /// # Errors
    /// `chain_history.accounts`: there are fewer than two.
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
                    "{} accounts with a known passphrase have something on every chain",
                    accounts.len()
                ),
            ));
        }
        let lanes = lanes(&genesis);
        let most = lanes.iter().map(|lane| lane.most).sum::<usize>();
        let children = lanes.len().saturating_sub(1);
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

    /// Payments in a block at most.
    #[must_use]
    pub fn per_block(&self) -> usize {
        self.per_block
    }

    /// The payments of a block: `count` of them at most, numbered from `first`, evenly on all chains as far as each has room. They
    /// bear the time `time`, which is no later than the block's.
    #[must_use]
    pub fn batch(&self, first: u64, count: u64, time: u32) -> Batch {
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

    /// Makes and signs the payments at these places of a batch.
    #[must_use]
    pub fn payments(&self, batch: &Batch, places: Range<usize>) -> Vec<Arc<Carried>> {
        places
            .filter_map(|place| self.payment(batch, place))
            .map(Arc::new)
            .collect()
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
        // Never to oneself, and to each of the others in turn.
        let to = (from + 1 + number / accounts % (accounts - 1)) % accounts;
        let Lane { chain, fee, .. } = self.lanes[lane];
        let body = Body::Payment {
            to: self.accounts[to as usize].id,
            amount: 1 + number / accounts / (accounts - 1) % AMOUNTS,
            message: Vec::new(),
        };
        Some(self.signed(&self.accounts[from as usize], chain, fee, batch.time, body))
    }

    fn signed(
        &self,
        account: &Account,
        chain: ChainId,
        fee: u64,
        time: u32,
        body: Body,
    ) -> Carried {
        let mut transaction = Transaction {
            chain,
            time,
            deadline_minutes: DEADLINE_MINUTES.min(self.genesis.params.deadline_minutes_max),
            sender: account.public,
            fee,
            anchor: Anchor::at(0, &self.genesis.hash),
            body,
            signature: [0; 64],
        };
        if let Body::ChildBlock { .. } = transaction.body {
            transaction.fee = fee_min(&self.genesis.params, &transaction);
        }
        transaction.sign(&self.genesis.hash, &account.key);
        Carried::new(&self.genesis.hash, transaction)
    }

    /// The block after the tip with these payments, forged by whose turn comes first; nothing where that is later than `latest`
    /// (seconds since genesis). With `jump`, a chain that stood still for longer than the network's standstill goes on at `latest`.
    ///
    /// # Errors
    /// The store fails; `chain_history.accounts` where none of the accounts may forge.
    pub fn block<R: Reads<Table>>(
        &self,
        overlay: &Overlay<R>,
        payments: Vec<Arc<Carried>>,
        latest: u32,
        jump: bool,
    ) -> Result<Result<Option<CarriedBlock>, Rejection>, StoreFailure> {
        let mut first: Option<(u32, &Account)> = None;
        for account in &self.accounts {
            if let Some(time) = turn(overlay, &self.genesis, &account.public)?
                && first.is_none_or(|(earliest, _)| time < earliest)
            {
                first = Some((time, account));
            }
        }
        let Some((mut time, forger)) = first else {
            let detail = "none of the accounts with a known passphrase has enough to forge";
            return Ok(Err(Rejection::new("chain_history.accounts", detail)));
        };
        if time > latest {
            return Ok(Ok(None));
        }
        let stood = time.saturating_add(self.genesis.params.standstill_seconds);
        if jump && latest >= stood {
            time = latest;
        }
        let header = next_header(overlay, &self.genesis, &forger.public, time)?;
        let candidate = self.candidate(payments, time, header.height);
        let block = seal(candidate, header, &self.genesis.hash, &forger.key);
        Ok(block.map(Some))
    }

    fn candidate(&self, payments: Vec<Arc<Carried>>, time: u32, height: u32) -> Candidate {
        let mut body: Vec<CarriedEntry> = Vec::new();
        let mut lanes: Vec<Vec<Arc<Carried>>> = vec![Vec::new(); self.lanes.len()];
        for carried in payments {
            let chain = carried.transaction.chain;
            if let Some(at) = self.lanes.iter().position(|lane| lane.chain == chain) {
                lanes[at].push(carried);
            }
        }
        // Bundlers take turns.
        let bundler = &self.accounts[height as usize % self.accounts.len()];
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
                // No more than the network's limit, which is 32 bits wide.
                count: ids.len() as u32,
                root: root_of(&ids),
            };
            let carried = self.signed(bundler, ChainId::PARENT, 0, time, carries);
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
            fees: fees.fold(0, u64::saturating_add),
            // Bounded by the limits of the parameters, which are 32 bits wide.
            child_count: body.iter().map(|entry| entry.children.len()).sum::<usize>() as u32,
            body_bytes: all.map(|carried| carried.bytes).sum(),
            root: root_of(&ids),
            body,
        }
    }
}

/// The chains, parent first, with what a block takes of each at most.
fn lanes(genesis: &Genesis) -> Vec<Lane> {
    let params = &genesis.params;
    let children = genesis.chains.len().saturating_sub(1);
    let parent = (params.parent_transactions_max as usize).saturating_sub(children);
    let child = (params.child_transactions_max as usize)
        .min(params.child_block_bytes_max as usize / PAYMENT_BYTES);
    let lane = |info: &crate::genesis::ChainInfo| {
        let whole = 10u64.saturating_pow(u32::from(info.decimals));
        let (fee, most) = match info.id.is_child() {
            true => ((whole / CHILD_FEE_PART).max(1), child),
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
