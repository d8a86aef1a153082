//! The schedule: which states want a flow started, and when.
//!
//! ```text
//!   record ──put──► table `schedule`, by time ──refill──► the next few in memory ──due──► start queue ──run──► row deleted
//!   consume ─delete─►
//! ```
//! # Invariants
//! - Memory holds the first rows of the table, at most [`WINDOW`], whether they are durable yet or not. Cost does not depend
//!   on how many rows there are.
//! - A row is deleted in the batch that holds the started flow's first journal row, or in the one that consumes the state.

use std::collections::{BTreeMap, VecDeque};

use flow::FlowId;
use ledger::{Rejection, StateRef};
use primitives::{Decode, Encode, Timestamp};

use crate::port::{Reads, StoreFailure, Table, WriteBatch, damaged};
use crate::rows::{schedule_key, schedule_key_of};

/// Rows kept in memory.
pub(crate) const WINDOW: usize = 1_024;
/// Starts that wait for a place at once; the rest of those that are due waits in the table.
pub(crate) const QUEUED_MAX: usize = 64;

/// When, and for which state.
pub(crate) type Due = (Timestamp, StateRef);

/// Rows are kept apart by this: those that wait for their time.
pub const SCHEDULE_WAITING: u8 = 0;
/// Those that could not be started.
pub const SCHEDULE_REFUSED: u8 = 1;

/// A row of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// The registered name of the flow.
    pub flow: String,
    /// Why it was not started, though its time has come.
    pub refusal: Option<Rejection>,
}

primitives::record!(ScheduleRow { flow, refusal });

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// The next ones, with their flows.
    next: BTreeMap<Due, String>,
    /// The table may hold more than `next`.
    more: bool,
    /// What the store may not show yet, with the commit that writes it.
    undurable: BTreeMap<Due, (u64, Option<String>)>,
    /// Those in the order of commits.
    order: VecDeque<(u64, Due)>,
    /// In the queue of starts; still in the table.
    queued: BTreeMap<Due, FlowId>,
    /// There may be rows that could not be started.
    refused: bool,
}

impl Schedule {
    /// Opens the schedule of a store.
    pub(crate) fn open(reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let mut schedule = Self {
            more: true,
            ..Self::default()
        };
        schedule.refill(reads)?;
        let refused = reads.scan(Table::Schedule, &[SCHEDULE_REFUSED], None, 1)?;
        schedule.refused = !refused.is_empty();
        Ok(schedule)
    }

    /// Whether a state that is consumed may have a row.
    pub(crate) fn has_rows(&self) -> bool {
        !self.next.is_empty() || self.more || !self.queued.is_empty() || self.refused
    }

    /// A state wants a flow started; the row is in the batch of the commit.
    pub(crate) fn put(&mut self, due: Due, flow: &str, commit: u64, batch: &mut WriteBatch) {
        let row = ScheduleRow {
            flow: flow.to_owned(),
            refusal: None,
        };
        let key = schedule_key(SCHEDULE_WAITING, due.0, &due.1);
        batch.put(Table::Schedule, key, row.to_bytes());
        self.note(due, Some(flow.to_owned()), commit);
        let within = self.next.last_key_value().is_some_and(|(at, _)| due < *at);
        if !self.more || within {
            self.next.insert(due, flow.to_owned());
            if self.next.len() > WINDOW {
                self.next.pop_last();
                self.more = true;
            }
        }
    }

    /// A state is consumed, or its flow is started: its row goes. Returns the start that waits for a place.
    pub(crate) fn remove(
        &mut self,
        due: Due,
        commit: u64,
        batch: &mut WriteBatch,
    ) -> Option<FlowId> {
        batch.delete(
            Table::Schedule,
            schedule_key(SCHEDULE_WAITING, due.0, &due.1),
        );
        if self.refused {
            batch.delete(
                Table::Schedule,
                schedule_key(SCHEDULE_REFUSED, due.0, &due.1),
            );
        }
        self.next.remove(&due);
        self.note(due, None, commit);
        self.queued.remove(&due)
    }

    /// A flow can't be started: its row stays, among those that are not tried again.
    pub(crate) fn refuse(
        &mut self,
        due: Due,
        flow: String,
        refusal: Rejection,
        commit: u64,
        batch: &mut WriteBatch,
    ) {
        self.remove(due, commit, batch);
        self.refused = true;
        let refusal = Some(refusal);
        let key = schedule_key(SCHEDULE_REFUSED, due.0, &due.1);
        batch.put(
            Table::Schedule,
            key,
            ScheduleRow { flow, refusal }.to_bytes(),
        );
    }

    /// The next one whose time has come, unless as many as allowed wait for a place.
    pub(crate) fn due(
        &mut self,
        now: Timestamp,
        reads: &dyn Reads,
    ) -> Result<Option<(Due, String)>, StoreFailure> {
        if self.queued.len() >= QUEUED_MAX {
            return Ok(None);
        }
        if self.next.is_empty() && self.more {
            self.refill(reads)?;
        }
        let is_due = self
            .next
            .first_key_value()
            .is_some_and(|(due, _)| due.0 <= now);
        Ok(if is_due { self.next.pop_first() } else { None })
    }

    /// A start waits for a place.
    pub(crate) fn queue(&mut self, due: Due, flow: FlowId) {
        self.queued.insert(due, flow);
    }

    /// When there is something to be done.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        if self.queued.len() >= QUEUED_MAX {
            // A flow that ends makes room, and that is a round.
            None
        } else if self.next.is_empty() && self.more {
            Some(Timestamp::EPOCH)
        } else {
            self.next.first_key_value().map(|((at, _), _)| *at)
        }
    }

    /// Every commit up to this one is durable.
    pub(crate) fn committed(&mut self, upto: u64) {
        while self.order.front().is_some_and(|(n, _)| *n <= upto) {
            let Some((_, due)) = self.order.pop_front() else {
                break;
            };
            // It may have been written again meanwhile, by a later commit.
            if self.undurable.get(&due).is_some_and(|(n, _)| *n <= upto) {
                self.undurable.remove(&due);
            }
        }
    }

    fn note(&mut self, due: Due, flow: Option<String>, commit: u64) {
        self.undurable.insert(due, (commit, flow));
        self.order.push_back((commit, due));
    }

    /// Reads the first rows; what the store does not show yet is laid over them.
    fn refill(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        // So many may have to be left out.
        let limit = WINDOW + self.queued.len() + self.undurable.len();
        let (from, to) = ([SCHEDULE_WAITING], [SCHEDULE_WAITING + 1]);
        let rows = reads.scan(Table::Schedule, &from, Some(&to), limit)?;
        let all = rows.len() < limit;
        let mut last = None;
        for (key, value) in rows {
            let row = ScheduleRow::from_bytes(&value);
            let (Some((_, at, state)), Ok(row)) = (schedule_key_of(&key), row) else {
                return Err(damaged("a row of the schedule does not decode"));
            };
            last = Some((at, state));
            self.next.insert((at, state), row.flow);
        }
        for (due, (_, flow)) in &self.undurable {
            match flow {
                None => drop(self.next.remove(due)),
                Some(flow) if all || last.is_some_and(|last| *due <= last) => {
                    self.next.insert(*due, flow.clone());
                }
                Some(_) => {}
            }
        }
        for due in self.queued.keys() {
            self.next.remove(due);
        }
        self.more = !all;
        while self.next.len() > WINDOW {
            self.next.pop_last();
            self.more = true;
        }
        Ok(())
    }
}
