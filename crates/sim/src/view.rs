//! A simulated vault view: fed in order, behind by some time, asked for coins, dropped and filled again after a crash.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernel::port::Table;
use kernel::{Event, Found, LookUp};
use ledger::{ContractRegistry, StateAndRef, StateRef, TokenId};
use primitives::{Hash, PublicKey};
use vault::{CoinRow, RefillRequest, ViewChange};

use crate::disk::Tables;

/// Something for the view to do.
pub enum Job {
    /// A transaction's changes.
    Feed { seq: u64, changes: Vec<ViewChange> },
    /// A state in quarantine.
    Quarantine(StateRef),
    /// A question.
    Refill(RefillRequest),
    /// Another one, for a flow.
    LookUp {
        flow: flow::FlowId,
        effect: u32,
        what: LookUp,
    },
}

/// See the module.
#[derive(Default)]
pub struct View {
    coins: BTreeMap<StateRef, (TokenId, CoinRow)>,
    /// Unconsumed versions of linear states, by where they were recorded.
    linear: BTreeMap<(u64, StateRef), (Hash, StateAndRef)>,
    /// States that were consumed.
    gone: BTreeSet<StateRef>,
    /// States in quarantine.
    quarantined: BTreeSet<StateRef>,
    seq: u64,
    jobs: VecDeque<Job>,
    /// The planted bug: every third state consumed is passed over.
    stale: bool,
    consumed: u64,
}

impl View {
    pub fn new(stale: bool) -> Self {
        Self {
            stale,
            ..Self::default()
        }
    }

    /// Filled again from a node's ledger, as far as that is durable.
    pub fn rebuild(
        &mut self,
        tables: &Tables,
        contracts: &ContractRegistry,
        is_ours: &dyn Fn(&PublicKey) -> bool,
    ) {
        *self = Self::new(self.stale);
        for (seq, row) in tables.rows(Table::Ledger) {
            let seq = kernel::rows::seq_of(seq).unwrap_or_default();
            if let Ok((_, transaction)) = kernel::decode_row(row) {
                let changes = vault::changes(seq, transaction.wire(), is_ours, &|state| {
                    contracts.describe(state).ok()
                });
                self.feed(seq, changes);
            }
        }
        let rows = tables.rows(Table::Meta).keys().filter_map(|key| {
            let state = key.strip_prefix(kernel::rows::META_QUARANTINE)?;
            kernel::rows::state_ref_of(state)
        });
        self.quarantined = rows.collect();
    }

    pub fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Does the next job; a question gives an answer.
    pub fn work(&mut self) -> Option<Event> {
        match self.jobs.pop_front()? {
            Job::Feed { seq, changes } => {
                self.feed(seq, changes);
                None
            }
            Job::Quarantine(state) => {
                self.quarantined.insert(state);
                None
            }
            Job::Refill(request) => Some(self.answer(&request)),
            Job::LookUp { flow, effect, what } => Some(Event::LookedUp {
                flow,
                effect,
                found: self.look_up(what),
            }),
        }
    }

    /// The coins that it holds: token, state and quantity.
    pub fn coins(&self) -> impl Iterator<Item = (TokenId, StateRef, u64)> {
        let coins = self.coins.iter();
        coins.map(|(reference, (token, row))| (*token, *reference, row.quantity))
    }

    fn feed(&mut self, seq: u64, changes: Vec<ViewChange>) {
        self.seq = seq;
        for change in changes {
            match change {
                ViewChange::Produced(produced) => {
                    if let Some(id) = produced.facts.linear_id {
                        let version = (id, produced.state.clone());
                        let place = (produced.seq, produced.state.reference);
                        self.linear.insert(place, version);
                    }
                    if let Some(fungible) = &produced.facts.fungible {
                        let row = CoinRow {
                            coin: produced.state,
                            quantity: fungible.quantity,
                            seq: produced.seq,
                        };
                        self.coins.insert(row.coin.reference, (fungible.token, row));
                    }
                }
                ViewChange::Consumed(consumed) => {
                    self.consumed += 1;
                    self.gone.insert(consumed.reference);
                    self.quarantined.remove(&consumed.reference);
                    self.linear
                        .retain(|(_, reference), _| *reference != consumed.reference);
                    if !(self.stale && self.consumed.is_multiple_of(3)) {
                        self.coins.remove(&consumed.reference);
                    }
                }
            }
        }
    }

    fn look_up(&self, what: LookUp) -> Found {
        match what {
            LookUp::Linear { contract, id } => {
                let versions = self.linear.iter().rev();
                let versions = versions.filter(|(_, (linear_id, state))| {
                    *linear_id == id && state.state.contract == contract
                });
                Found::States(versions.map(|(_, (_, state))| state.clone()).collect())
            }
            LookUp::Consumed(refs) => {
                let mut refs = refs.into_iter();
                Found::Consumed(refs.find(|reference| self.gone.contains(reference)))
            }
        }
    }

    fn answer(&self, request: &RefillRequest) -> Event {
        let held = || {
            self.coins.values().filter(|(token, row)| {
                *token == request.token && !self.quarantined.contains(&row.reference())
            })
        };
        let total = held().map(|(_, row)| u128::from(row.quantity)).sum();
        let mut rows: Vec<CoinRow> = held()
            .filter(|(_, row)| request.from.is_none_or(|from| row.position() <= from))
            .map(|(_, row)| row.clone())
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.position()));
        let more = rows.len() > request.limit;
        rows.truncate(request.limit);
        Event::Refilled {
            token: request.token,
            rows,
            view_seq: self.seq,
            total,
            more,
        }
    }
}
