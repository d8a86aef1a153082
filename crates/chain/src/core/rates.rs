//! What bundlers ask for: heard from others, said by those of this node.

use super::limits::points;
use super::{Action, Core, PeerId, Ticket, Verdict};
use crate::bundle::{Bundler, RATES_EVERY_SECONDS, RateBook, SignedRates};
use crate::message::{GOSSIP_RATES_MAX, Gossip};
use crate::port::{Reads, StoreFailure, Table};
use crate::{ChainId, Rejection};

/// The rates that are known, and when those of this node are said next.
#[derive(Debug, Default)]
pub(super) struct Rates {
    pub(super) book: RateBook,
    /// In milliseconds since genesis; 0 for at once.
    due_ms: u64,
    /// When they were said last.
    said_ms: u64,
}

/// Whatever happens, rates are said again only after so long, milliseconds: their time counts whole seconds.
const PAUSE_MS: u64 = 5_000;

impl Rates {
    /// A bundler has come, its rules are others, or there is somebody new to hear of them.
    pub(super) fn say_soon(&mut self) {
        self.due_ms = match self.said_ms {
            0 => 0,
            said_ms => self.due_ms.min(said_ms + PAUSE_MS),
        };
    }
}

impl<R: Reads<Table>> Core<R> {
    /// What the bundlers of a chain ask for, as far as is known here, the cheapest first.
    #[must_use]
    pub fn rates(&self, child: ChainId) -> Vec<&SignedRates> {
        self.rates.book.of(child)
    }

    pub(super) fn rates_due_ms(&self) -> Option<u64> {
        let idle = self.bundling.is_empty() && self.rates.book.is_empty();
        (!idle).then(|| self.rates.due_ms.max(self.now_ms))
    }

    /// Forgets what is out of date; says what the bundlers of this node ask for, to itself first.
    pub(super) fn say_rates_if_due(&mut self) -> Result<(), StoreFailure> {
        if self.rates.due_ms > self.now_ms {
            return Ok(());
        }
        self.rates.said_ms = self.now_ms;
        self.rates.due_ms = self.now_ms + u64::from(RATES_EVERY_SECONDS) * 1_000;
        let now = self.now_seconds();
        self.rates.book.expire(now);
        let bundlers: Vec<Bundler> = self
            .bundling
            .keyed()
            .map(|(_, bundler)| bundler.clone())
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

    /// Gossiped rates: they go on to others if one of them is news.
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
        let book = &mut self.rates.book;
        Ok(book.insert(rates, balance, now, &self.genesis.params))
    }
}
