//! The waiting requests: how they join the line of their token, are served, and fail at their deadline.

use std::collections::BTreeSet;

use ledger::TokenId;
use primitives::Monotonic;

use super::Selection;
use super::holdings::Holder;
use super::line::{Place, Waiter};
use super::purse::Verdict;
use crate::{CoinPosition, SelectionError, SelectionOutput};

impl Selection {
    pub(super) fn join(&mut self, token: TokenId, place: Place, waiter: Waiter) {
        if let Some(purse) = self.purses.get_mut(&token) {
            self.waiting += 1;
            self.deadlines.insert((waiter.deadline, place), token);
            self.holdings.wait(waiter.flow, token, place);
            purse.line.join(place, waiter);
        }
    }

    pub(super) fn leave(&mut self, token: TokenId, place: Place) -> Option<Waiter> {
        let waiter = self.purses.get_mut(&token)?.line.leave(&place)?;
        self.waiting -= 1;
        self.deadlines.remove(&(waiter.deadline, place));
        self.holdings.end_wait(&waiter.flow, token, place);
        Some(waiter)
    }

    pub(super) fn serve_touched(&mut self) {
        while let Some(token) = self.touched.pop() {
            self.serve(token);
        }
    }

    /// Serves a line from the front until a request has to wait: later requests must not take the coins that it waits
    /// for.
    fn serve(&mut self, token: TokenId) {
        let states_max = self.options.states_per_selection_max;
        let mut blocked = BTreeSet::new();
        let mut fetch = None;
        while let Some(purse) = self.purses.get(&token) {
            let Some((place, waiter)) = purse.line.first_beside(&blocked) else {
                break;
            };
            if let Some((pool, positions)) = purse.choose(waiter, &blocked, states_max) {
                if let Some(waiter) = self.leave(token, place) {
                    self.grant(token, &waiter, pool, positions);
                }
                continue;
            }
            let mut verdict = purse.judge(waiter, |pool| self.is_full(pool));
            if verdict.refuses() && self.durable_seq < waiter.recorded_seq {
                self.unjudged.insert((waiter.recorded_seq, token));
                verdict = Verdict::Wait;
            }
            // An earlier request that is not judged yet keeps coins that would serve this one.
            if verdict.refuses() && purse.choose(waiter, &BTreeSet::new(), states_max).is_some() {
                assert!(!blocked.is_empty(), "coins that suffice are given");
                verdict = Verdict::Wait;
            }
            let error = match verdict {
                Verdict::Insufficient { available } => SelectionError::InsufficientFunds {
                    token,
                    wanted: waiter.quantity,
                    available,
                },
                Verdict::Fragmented => SelectionError::TooFragmented {
                    token,
                    wanted: waiter.quantity,
                    states_max,
                },
                waits => {
                    if let Verdict::Fetch(from) = waits {
                        fetch = fetch.max(Some(from));
                    }
                    match waiter.notary {
                        Some(notary) => blocked.insert(notary),
                        None => break,
                    };
                    continue;
                }
            };
            if let Some(waiter) = self.leave(token, place) {
                self.out.push(SelectionOutput::Failed {
                    flow: waiter.flow,
                    number: waiter.number,
                    error,
                });
            }
        }
        self.fetch(token, fetch);
    }

    /// Locks coins for a flow.
    fn grant(
        &mut self,
        token: TokenId,
        waiter: &Waiter,
        pool: usize,
        positions: Vec<CoinPosition>,
    ) {
        let mut states = Vec::with_capacity(positions.len());
        for position in positions {
            if let Some(row) = self.remove_free(token, pool, &position) {
                let reference = row.reference();
                states.push(row.coin.clone());
                self.hold(Holder::Flow(waiter.flow), token, pool, reference, Some(row));
            }
        }
        self.out.push(SelectionOutput::Selected {
            flow: waiter.flow,
            number: waiter.number,
            states,
        });
    }

    /// Fails the requests whose deadline has come.
    pub(super) fn expire(&mut self, now: Monotonic) {
        while let Some(((at, place), token)) = self.deadlines.first_key_value() {
            if *at > now {
                break;
            }
            let (place, token) = (*place, *token);
            let Some(waiter) = self.leave(token, place) else {
                break;
            };
            self.touch(token);
            self.out.push(SelectionOutput::Failed {
                flow: waiter.flow,
                number: waiter.number,
                error: SelectionError::SelectionTimeout {
                    token,
                    wanted: waiter.quantity,
                    waited_ms: waiter.deadline_ms,
                },
            });
        }
    }
}
