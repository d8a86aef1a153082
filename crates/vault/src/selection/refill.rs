//! Coins from the view.

use ledger::{StateRef, TokenId};
use primitives::Monotonic;

use super::Selection;
use super::pool::Frontier;
use crate::{CoinRow, RefillRequest, SelectionOutput};

impl Selection {
    /// Handles the view's answer to a refill.
    ///
    /// `rows` are unconsumed coins as requested, in descending order; `view_seq` is the ledger sequence that the view had
    /// reached. `total` is the sum of all unconsumed coins of the token, and `more` tells whether the view holds more
    /// below these. The answer may be out of date: coins consumed or locked since then are left out.
    pub fn refilled(
        &mut self,
        token: TokenId,
        rows: Vec<CoinRow>,
        view_seq: u64,
        total: u128,
        more: bool,
        now: Monotonic,
    ) -> Vec<SelectionOutput> {
        let Some(purse) = self.purses.get_mut(&token) else {
            return self.finish(now);
        };
        let Some(asked) = purse.outstanding.take() else {
            return self.finish(now);
        };
        self.refills -= 1;
        if asked.number <= self.refills_void || view_seq < asked.at_least_seq {
            self.ask(token, asked.from);
            return self.finish(now);
        }
        let last = rows.last().filter(|_| more).map(CoinRow::position);
        purse.answered(asked, view_seq, total, last);
        for row in rows {
            if !self.consumed.contains(&row.reference()) {
                self.meet(token, row);
            }
        }
        if self.refills == 0 {
            self.consumed.clear();
        }
        self.touch(token);
        self.finish(now)
    }

    /// Asks the view for coins if a request needs them, or if few free ones are left. A token has at most one outstanding
    /// refill.
    pub(super) fn fetch(&mut self, token: TokenId, needed: Option<Frontier>) {
        let Some(purse) = self.purses.get(&token) else {
            return;
        };
        if purse.outstanding.is_some() {
            return;
        }
        let ahead = || {
            let few = purse.free_count < self.options.low_water;
            few.then(|| purse.fetch_ahead(|pool| self.is_full(pool)))
                .flatten()
        };
        if let Some(from) = needed.or_else(ahead) {
            self.ask(token, from);
        }
    }

    fn ask(&mut self, token: TokenId, from: Frontier) {
        let Some(purse) = self.purses.get_mut(&token) else {
            return;
        };
        self.refills += 1;
        self.refills_asked += 1;
        let from = purse.ask(self.refills_asked, from, self.seq);
        self.out.push(SelectionOutput::Refill(RefillRequest {
            token,
            from,
            limit: self.options.refill_rows.max(2),
            at_least_seq: self.seq,
        }));
    }

    /// Remembers a consumed state while refills are outstanding, because the view's answers may still list it.
    pub(super) fn remember_consumed(&mut self, reference: StateRef) {
        if self.refills == 0 {
            return;
        }
        if self.consumed.len() >= self.options.consumed_remembered_max {
            self.consumed.clear();
            self.refills_void = self.refills_asked;
        }
        self.consumed.insert(reference);
    }
}
