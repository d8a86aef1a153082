//! A simulated vault view. It is fed in order and with a delay, answers queries for coins, and is rebuilt after a crash.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernel::port::Table;
use kernel::{Event, Found, LookUp};
use ledger::{ContractRegistry, StateAndRef, StateRef, TokenId};
use primitives::{Hash, PublicKey};
use vault::{CoinRow, RefillRequest, ViewChange};

use crate::disk::Tables;

/// A job of the view.
pub enum Job {
    /// Apply a transaction's changes.
    Feed { seq: u64, changes: Vec<ViewChange> },
    /// Quarantine a state.
    Quarantine(StateRef),
    /// Answer a query for coins.
    Refill(RefillRequest),
    /// Answer a query of a flow.
    LookUp {
        flow: flow::FlowId,
        effect: u32,
        what: LookUp,
    },
}

/// The coins, linear states and pending jobs of a view.
#[derive(Default)]
pub struct View {
    coins: BTreeMap<StateRef, (TokenId, CoinRow)>,
    /// Unconsumed versions of linear states, by sequence number and reference.
    linear: BTreeMap<(u64, StateRef), (Hash, StateAndRef)>,
    /// Consumed states.
    gone: BTreeSet<StateRef>,
    /// States in quarantine.
    quarantined: BTreeSet<StateRef>,
    seq: u64,
    jobs: VecDeque<Job>,
    /// Whether the planted bug is active: every third consumed coin stays in the view.
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

    /// Rebuilds the view from the durable part of a node's ledger.
    pub fn rebuild(
        &mut self,
        tables: &Tables,
        contracts: &ContractRegistry,
        is_ours: &dyn Fn(&PublicKey) -> bool,
    ) {
        *self = Self::new(self.stale);
        for (seq, row) in tables.rows(Table::Ledger) {
            let seq = kernel::rows::seq_of(seq).expect("a key of the ledger is a sequence");
            if let Ok((_, transaction)) = kernel::decode_row(row) {
                let facts = contracts.facts(transaction.wire().outputs());
                let changes = vault::changes(seq, transaction.wire(), is_ours, facts);
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

    /// Does the next job. A query returns an answer.
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

    /// Returns the coins of the view: token, state and quantity.
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
                            coin: produced.state.clone(),
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
