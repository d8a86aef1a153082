//! The ledger of the fake.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use primitives::Hash;

use super::behaviour::Behaviour;
use crate::chain::{ChainId, TxKey};

/// A payment that was accepted.
#[derive(Clone, Debug)]
pub struct Paid {
    pub key: TxKey,
    pub chain: ChainId,
    pub from: String,
    pub to: String,
    pub amount: u64,
    pub fee: u64,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Made {
    pub id: String,
    pub previous: String,
    pub time_s: u64,
    pub paid: Vec<Paid>,
}

/// The ledger: balances, pool and blocks.
#[derive(Default)]
pub struct FakeLedger {
    pub balances: BTreeMap<(String, ChainId), u64>,
    /// Amounts that pool transactions spend, by account and chain.
    pending: BTreeMap<(String, ChainId), u64>,
    pub pool: Vec<Paid>,
    /// The first is genesis.
    pub blocks: Vec<Made>,
    pub forging: bool,
    submissions: u64,
    accepted: u64,
}

/// The fake: its ledger and its behaviour.
pub struct World {
    pub behaviour: Behaviour,
    begun: Instant,
    state: Mutex<FakeLedger>,
}

/// The treatment of a submission.
pub enum Turn {
    Serve,
    Refuse,
    Malformed,
}

impl World {
    pub fn new(behaviour: Behaviour) -> Self {
        let mut state = FakeLedger {
            forging: true,
            ..FakeLedger::default()
        };
        for passphrase in &behaviour.passphrases {
            for chain in &behaviour.chains {
                let balance = behaviour.balance;
                state
                    .balances
                    .insert((account(passphrase.expose()), chain.id), balance);
            }
        }
        state.blocks.push(Made {
            id: "1".to_owned(),
            previous: String::new(),
            time_s: 0,
            paid: Vec::new(),
        });
        Self {
            behaviour,
            begun: Instant::now(),
            state: Mutex::new(state),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, FakeLedger> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a submission and returns its treatment.
    pub fn turn(&self) -> Turn {
        let mut state = self.lock();
        state.submissions += 1;
        let at = state.submissions;
        let is = |every: u64| every > 0 && at.is_multiple_of(every);
        match () {
            () if is(self.behaviour.malformed_every) => Turn::Malformed,
            () if is(self.behaviour.refuse_every) => Turn::Refuse,
            () => Turn::Serve,
        }
    }

    /// Accepts a payment, or returns `errorCode` and a description.
    pub fn accept(&self, mut paid: Paid) -> Result<TxKey, (i64, &'static str)> {
        let mut state = self.lock();
        if state.pool.len() >= self.behaviour.pool_max {
            return Err((4, "Too many unconfirmed transactions"));
        }
        let cost = paid
            .amount
            .checked_add(paid.fee)
            .ok_or((4, "Incorrect amount"))?;
        let payer = (paid.from.clone(), paid.chain);
        let balance = *state.balances.get(&payer).ok_or((5, "Unknown account"))?;
        let pending = state.pending.entry(payer).or_default();
        let taken = pending.checked_add(cost).filter(|taken| *taken <= balance);
        *pending = taken.ok_or((6, "Not enough funds"))?;
        state.accepted += 1;
        let at = state.accepted;
        let mut text = format!("{at}");
        text.push_str(&paid.from);
        paid.key = TxKey(*Hash::plain(text.as_bytes()).as_bytes());
        let is = |every: u64| every > 0 && at.is_multiple_of(every);
        if is(self.behaviour.lose_every) {
            return Ok(paid.key);
        }
        let key = paid.key;
        if is(self.behaviour.double_every) {
            self.block_of(&mut state, vec![paid.clone()]);
        }
        state.pool.push(paid);
        Ok(key)
    }

    /// Makes a block, unless forging is stopped.
    pub fn forge(&self) {
        if self.lock().forging {
            self.make_block();
        }
    }

    /// Makes a block of all waiting payments.
    pub fn make_block(&self) {
        let mut state = self.lock();
        let paid = std::mem::take(&mut state.pool);
        self.block_of(&mut state, paid);
    }

    fn block_of(&self, state: &mut FakeLedger, paid: Vec<Paid>) {
        // The first account forges and bundles everything.
        let first = self
            .behaviour
            .passphrases
            .first()
            .map_or_else(String::new, |first| account(first.expose()));
        let minted = (first.clone(), ChainId::PARENT, self.behaviour.minted);
        for paid in &paid {
            let (payer, cost) = ((paid.from.clone(), paid.chain), paid.amount + paid.fee);
            for of in [&mut state.balances, &mut state.pending] {
                let left = of.entry(payer.clone()).or_default();
                // A payment that is put into two blocks on purpose may cost more than there is.
                *left = left.saturating_sub(cost);
            }
        }
        let credits = paid.iter().flat_map(|paid| {
            [
                (paid.to.clone(), paid.chain, paid.amount),
                (first.clone(), paid.chain, paid.fee),
            ]
        });
        for (account, chain, amount) in credits.chain([minted]) {
            let balance = state.balances.entry((account, chain)).or_default();
            *balance += amount;
        }
        let previous = state
            .blocks
            .last()
            .map_or_else(String::new, |block| block.id.clone());
        state.blocks.push(Made {
            id: number(&Hash::plain(format!("{previous}{}", paid.len()).as_bytes())).to_string(),
            previous,
            time_s: self.begun.elapsed().max(Duration::ZERO).as_secs(),
            paid,
        });
    }
}

/// Returns the account id of a passphrase.
pub fn account(passphrase: &str) -> String {
    number(&Hash::plain(passphrase.as_bytes())).to_string()
}

/// Returns the account of a public key. In this fake a public key is the hash of its passphrase.
pub fn account_of_key(public_key: &str) -> Option<String> {
    let bytes = primitives::hex::decode_array::<32>(public_key)?;
    Some(number(&Hash::from_bytes(bytes)).to_string())
}

/// Returns the public key of a passphrase.
pub fn public_key(passphrase: &str) -> String {
    primitives::hex::encode(Hash::plain(passphrase.as_bytes()).as_bytes())
}

/// Returns the short id: the first 8 bytes as a number.
fn number(hash: &Hash) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
