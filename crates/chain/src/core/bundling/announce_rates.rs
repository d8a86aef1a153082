//! Announces the rates of this node's bundlers, and learns those that peers gossip.

use std::collections::BTreeSet;

use crate::bundle::{Bundler, PROVEN_BLOCKS, RATES_INTERVAL, SignedRates};
use crate::core::limits::{ROUND_BYTES, points};
use crate::core::{Action, Core, PeerId, Ticket, Verdict};
use crate::message::{GOSSIP_RATES_MAX, Gossip};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::carried_block;
use crate::{ChainId, ChainTime, Height, Rejection};

impl<R: Reads<Table>> Core<R> {
    /// Restores the record of bundlers from the newest blocks after a start.
    pub(in crate::core) fn restore_record(&mut self) -> Result<(), StoreFailure> {
        let tip = self.rows.tip().height;
        let mut bytes = 0usize;
        let mut newest = Vec::new();
        for height in Height::FIRST.through(tip).rev().take(PROVEN_BLOCKS) {
            let Some(block) = carried_block(&self.rows, &self.genesis, height)? else {
                break;
            };
            bytes += block.header.body_bytes as usize;
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

    pub(in crate::core) fn rates_due(&self) -> Option<ChainTime> {
        let idle = self.bundling.is_empty() && self.rates.book.is_empty();
        (!idle).then(|| self.rates.due.max(self.now))
    }

    /// Forgets outdated rates, and announces the rates of this node's bundlers. This node learns them first.
    pub(in crate::core) fn announce_rates_if_due(&mut self) -> Result<(), StoreFailure> {
        if self.rates.due > self.now {
            return Ok(());
        }
        self.rates.announced = self.now;
        self.rates.due = self.now.plus_or_last(RATES_INTERVAL.duration());
        let now = self.timestamp_now();
        self.rates.book.expire(now);
        self.rates.forget_floors();
        let bundlers: Vec<Bundler> = self
            .bundling
            .keyed()
            .map(|(_, bundler)| bundler)
            .filter(|bundler| !bundler.rules.is_filtered())
            .cloned()
            .collect();
        let mut announced = Vec::new();
        for bundler in bundlers {
            let signed = SignedRates::new(&bundler.key, &bundler.rules, now, &self.genesis.hash);
            if let Ok(rates) = signed
                && self.learn(rates.clone())?.is_ok_and(|is_news| is_news)
            {
                announced.push(rates);
            }
        }
        for rates in announced.chunks(GOSSIP_RATES_MAX) {
            let bytes = Gossip::Rates(rates.to_vec()).to_bytes();
            self.actions.push(Action::Gossip(bytes));
        }
        Ok(())
    }

    /// Handles gossiped rates. They are forwarded if one of them is new.
    pub(in crate::core) fn gossiped_rates(
        &mut self,
        peer: PeerId,
        message: Ticket,
        rates: Vec<SignedRates>,
    ) -> Result<(), StoreFailure> {
        let fresh = self.worth_checking(peer, rates)?;
        let genesis = &self.genesis.hash;
        let signed = fresh.iter().map(|rates| rates.signed_message(genesis));
        let verdicts = self.checker.check_all(signed, fresh.len());
        if verdicts.contains(&false) {
            self.penalise(peer, points::BAD_SIGNATURE, "chain_rates.signature");
            self.verdict(message, Verdict::Reject);
            return Ok(());
        }
        let mut news = false;
        for rates in fresh {
            news |= self.learn(rates)?.is_ok_and(|is_news| is_news);
        }
        self.forward_if(message, news);
        Ok(())
    }

    /// Returns the rates of a message whose signatures are to be checked: those that the book would keep, one of each bundler and
    /// chain. An honest peer may send rates that are known or outdated here. Repeated ones and those that the book would not keep
    /// count against the peer, because every order of them is a new message.
    fn worth_checking(
        &mut self,
        peer: PeerId,
        rates: Vec<SignedRates>,
    ) -> Result<Vec<SignedRates>, StoreFailure> {
        let now = self.timestamp_now();
        let (mut fresh, mut useless) = (Vec::with_capacity(rates.len()), 0);
        let mut seen = BTreeSet::new();
        for rates in rates {
            let (book, params) = (&self.rates.book, &self.genesis.params);
            let is_chain = rates.child.is_child() && self.genesis.chain(rates.child).is_some();
            if !is_chain || book.knows(&rates) || book.check(&rates, now, params).is_err() {
                continue;
            }
            let balance = self.rows.balance(&rates.account(), ChainId::PARENT)?;
            let is_first = seen.insert((rates.child, rates.bundler));
            if is_first && book.would_keep(&rates, balance, params) {
                fresh.push(rates);
            } else {
                useless += 1;
            }
        }
        self.count_refused(peer, useless);
        Ok(fresh)
    }

    /// Adds rates with a valid signature to the book. Returns whether they are new.
    fn learn(&mut self, rates: SignedRates) -> Result<Result<bool, Rejection>, StoreFailure> {
        let balance = self.rows.balance(&rates.account(), ChainId::PARENT)?;
        let now = self.timestamp_now();
        let book = &mut self.rates.book;
        let learned = book.insert(rates, balance, now, &self.genesis.params);
        if learned == Ok(true) {
            self.rates.forget_floors();
        }
        Ok(learned)
    }
}
