//! The rates of bundlers: received from peers, and announced for this node's bundlers.

use std::collections::BTreeMap;

use super::limits::{ROUND_BYTES, points};
use super::{Action, Core, PeerId, Ticket, Verdict};
use crate::bundle::{
    BundleRecord, Bundler, PROVEN_BLOCKS, RATES_EVERY_SECONDS, RateBook, SignedRates, fee_for,
};
use crate::message::{GOSSIP_RATES_MAX, Gossip};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{carried_block, effective_tokens};
use crate::{AccountId, Carried, ChainId, Rejection};

/// The known rates, and the time of the next announcement.
#[derive(Debug, Default)]
pub(super) struct Rates {
    pub(super) book: RateBook,
    /// Time of the next announcement, in milliseconds since genesis. 0 means at once.
    due_ms: u64,
    /// Time of the last announcement.
    said_ms: u64,
    /// The fees in recent blocks.
    pub(super) record: BundleRecord,
    /// The lowest fee that a chain's usable bundlers ask, for the chains computed so far for this tip and these rates.
    floors: BTreeMap<ChainId, Option<u64>>,
}

/// A rate that a wallet may rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsableRate {
    /// The bundler's account.
    pub bundler: AccountId,
    /// Its rate.
    pub rate: u64,
    /// Whether the bundler has recently bundled at this rate. Otherwise its rate counts because of its stake.
    pub proven: bool,
}

/// Minimum interval between announcements, in milliseconds, because their times count whole seconds.
const PAUSE_MS: u64 = 5_000;

impl Rates {
    /// Discards the computed fees after a change of the tip or of a rate.
    pub(super) fn forget_floors(&mut self) {
        self.floors.clear();
    }

    /// Schedules an announcement soon, because a bundler was added, its rules changed, or a peer connected.
    pub(super) fn say_soon(&mut self) {
        self.due_ms = match self.said_ms {
            0 => 0,
            said_ms => self.due_ms.min(said_ms + PAUSE_MS),
        };
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the known rates of a chain's bundlers, the cheapest first.
    #[must_use]
    pub fn rates(&self, child: ChainId) -> Vec<&SignedRates> {
        self.rates.book.of(child)
    }

    /// Returns the rates of a chain that count, the cheapest first: those of bundlers that have bundled at their rate in the last
    /// [`PROVEN_BLOCKS`] blocks, or have enough stake to forge. An announcement costs nothing, so other announcements are not
    /// offers.
    pub fn usable_rates(&self, child: ChainId) -> Result<Vec<UsableRate>, StoreFailure> {
        let mut usable = Vec::new();
        for rates in self.rates.book.of(child) {
            let bundler = rates.account();
            let proven = self.is_proven(rates);
            if proven || effective_tokens(&self.rows, &self.genesis, &bundler)? > 0 {
                let rate = rates.rate;
                usable.push(UsableRate {
                    bundler,
                    rate,
                    proven,
                });
            }
        }
        Ok(usable)
    }

    /// Returns whether a bundler has recently bundled at the rate that it announces.
    #[must_use]
    pub fn is_proven(&self, rates: &SignedRates) -> bool {
        let fee = rates.fee(&self.genesis.params, self.parent_decimals());
        self.rates
            .record
            .is_proven(rates.child, &rates.account(), fee)
    }

    fn parent_decimals(&self) -> u8 {
        let parent = self.genesis.chain(ChainId::PARENT);
        parent.map_or(0, |parent| parent.decimals)
    }

    /// Returns the lowest fee that a usable bundler accepts for a transaction of a chain. `None` if no such bundler is known.
    pub(super) fn fee_floor(&mut self, child: ChainId) -> Result<Option<u64>, StoreFailure> {
        if let Some(known) = self.rates.floors.get(&child) {
            return Ok(*known);
        }
        let cheapest = self
            .usable_rates(child)?
            .into_iter()
            .map(|one| one.rate)
            .min();
        let decimals = self.parent_decimals();
        let floor = cheapest.map(|rate| fee_for(rate, 0, &self.genesis.params, decimals));
        self.rates.floors.insert(child, floor);
        Ok(floor)
    }

    /// Returns whether a bundler of this node carries a transaction, regardless of the network's rates.
    pub(super) fn is_carried_here(&self, carried: &Carried) -> bool {
        let (params, decimals) = (&self.genesis.params, self.parent_decimals());
        self.bundling.keyed().any(|(_, bundler)| {
            let rules = &bundler.rules;
            let fee = fee_for(rules.rate_min, rules.overpay_percent, params, decimals);
            rules.child == carried.transaction.chain
                && carried.transaction.fee >= fee
                && rules.allow(carried)
        })
    }

    /// Restores the record of bundlers from the newest blocks after a start.
    pub(super) fn restore_record(&mut self) -> Result<(), StoreFailure> {
        let tip = self.rows.tip().height;
        let mut bytes = 0usize;
        let mut newest = Vec::new();
        for height in (1..=tip).rev().take(PROVEN_BLOCKS) {
            let Some(block) = carried_block(&self.rows, &self.genesis, height)? else {
                break;
            };
            bytes = bytes.saturating_add(block.header.body_bytes as usize);
            if bytes > ROUND_BYTES {
                break;
            }
            newest.push(block);
        }
        for block in newest.iter().rev() {
            self.rates.record.added(block);
        }
        Ok(())
    }

    pub(super) fn rates_due_ms(&self) -> Option<u64> {
        let idle = self.bundling.is_empty() && self.rates.book.is_empty();
        (!idle).then(|| self.rates.due_ms.max(self.now_ms))
    }

    /// Forgets outdated rates, and announces the rates of this node's bundlers. This node learns them first.
    pub(super) fn say_rates_if_due(&mut self) -> Result<(), StoreFailure> {
        if self.rates.due_ms > self.now_ms {
            return Ok(());
        }
        self.rates.said_ms = self.now_ms;
        self.rates.due_ms = self.now_ms + u64::from(RATES_EVERY_SECONDS) * 1_000;
        let now = self.now_seconds();
        self.rates.book.expire(now);
        self.rates.forget_floors();
        let bundlers: Vec<Bundler> = self
            .bundling
            .keyed()
            .map(|(_, bundler)| bundler)
            .filter(|bundler| !bundler.rules.is_filtered())
            .cloned()
            .collect();
        let mut said = Vec::new();
        for bundler in bundlers {
            let signed = SignedRates::new(&bundler.key, &bundler.rules, now, &self.genesis.hash);
            if let Ok(rates) = signed
                && self.learn(rates.clone())?.is_ok_and(|is_news| is_news)
            {
                said.push(rates);
            }
        }
        for rates in said.chunks(GOSSIP_RATES_MAX) {
            let bytes = Gossip::Rates(rates.to_vec()).to_bytes();
            self.actions.push(Action::Gossip(bytes));
        }
        Ok(())
    }

    /// Handles gossiped rates. They are forwarded if one of them is new.
    pub(super) fn gossiped_rates(
        &mut self,
        peer: PeerId,
        message: Ticket,
        rates: Vec<SignedRates>,
    ) -> Result<(), StoreFailure> {
        let now = self.now_seconds();
        let mut fresh = rates;
        fresh.retain(|rates| {
            let is_new = !self.rates.book.knows(rates);
            let is_chain = rates.child.is_child() && self.genesis.chain(rates.child).is_some();
            let checked = self.rates.book.check(rates, now, &self.genesis.params);
            is_new && is_chain && checked.is_ok()
        });
        let genesis = &self.genesis.hash;
        let signed: Vec<_> = fresh
            .iter()
            .map(|rates| rates.signed_message(genesis))
            .collect();
        if self.checker.check_batch(&signed).contains(&false) {
            self.penalise(peer, points::BAD_SIGNATURE, "chain_rates.signature");
            self.verdict(message, Verdict::Reject);
            return Ok(());
        }
        let mut news = false;
        for rates in fresh {
            news |= self.learn(rates)?.is_ok_and(|is_news| is_news);
        }
        let verdict = if news {
            Verdict::Accept
        } else {
            Verdict::Ignore
        };
        self.verdict(message, verdict);
        Ok(())
    }

    fn learn(&mut self, rates: SignedRates) -> Result<Result<bool, Rejection>, StoreFailure> {
        let balance = self.rows.balance(&rates.account(), ChainId::PARENT)?;
        let now = self.now_seconds();
        self.rates.forget_floors();
        let book = &mut self.rates.book;
        Ok(book.insert(rates, balance, now, &self.genesis.params))
    }
}
