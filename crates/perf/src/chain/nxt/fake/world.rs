//! The ledger of the fake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use primitives::Hash;
use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::names::{Forger, account, number, public_key};
use super::paid::Paid;
use super::refusal::Refusal;
use crate::chain::{ChainId, TxKey};

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
    /// Keys of all accepted payments, forgotten ones included.
    known: BTreeSet<TxKey>,
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

    /// Accepts a payment. One that was accepted before is accepted again without a further effect.
    pub fn accept(&self, paid: &Paid) -> Result<TxKey, Refusal> {
        let mut state = self.lock();
        let key = paid.key();
        if state.known.contains(&key) {
            return Ok(key);
        }
        if state.pool.len() >= self.behaviour.pool_max {
            let words = "Too many unconfirmed transactions".to_owned();
            return Err(Refusal::Plain(4, words));
        }
        let payer = (paid.from.clone(), paid.chain);
        let balance = state.balances.get(&payer).copied();
        let balance = balance.ok_or_else(|| Refusal::unknown("account"))?;
        let pending = state.pending.entry(payer).or_default();
        let cost = paid.amount.checked_add(paid.fee);
        let taken = cost.and_then(|cost| pending.checked_add(cost));
        let taken = taken.filter(|taken| *taken <= balance);
        *pending = taken.ok_or(Refusal::Funds {
            chain: paid.chain,
            amount: paid.amount,
            fee: paid.fee,
            balance,
        })?;
        state.accepted += 1;
        state.known.insert(key);
        let at = state.accepted;
        let is = |every: u64| every > 0 && at.is_multiple_of(every);
        if is(self.behaviour.lose_every) {
            return Ok(key);
        }
        if is(self.behaviour.double_every) {
            self.block_of(&mut state, vec![paid.clone()]);
        }
        state.pool.push(paid.clone());
        Ok(key)
    }

    /// Returns the seconds since the chain's beginning.
    pub fn time_s(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }

    /// Returns the first account, which forges and bundles everything.
    pub fn forger(&self) -> Forger {
        let first = self.behaviour.passphrases.first();
        let of =
            |name: fn(&str) -> String| first.map_or_else(String::new, |first| name(first.expose()));
        Forger {
            id: of(account),
            public_key: of(public_key),
        }
    }

    /// Returns the object of a balance. The unconfirmed one has the payments that wait taken off.
    pub fn balance_json(&self, account: &str, chain: ChainId) -> Value {
        let state = self.lock();
        let of = |amounts: &BTreeMap<(String, ChainId), u64>| {
            let found = amounts.get(&(account.to_owned(), chain));
            // An unknown account has nothing.
            found.copied().unwrap_or(0)
        };
        let (balance, pending) = (of(&state.balances), of(&state.pending));
        json!({
            "balanceNQT": balance.to_string(),
            // Payments that are put into two blocks on purpose may cost more than there is.
            "unconfirmedBalanceNQT": balance.saturating_sub(pending).to_string(),
        })
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
        let first = self.forger().id;
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
            time_s: self.time_s(),
            paid,
        });
    }
}
