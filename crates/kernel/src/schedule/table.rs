//! The schedule: which states want a flow started, and when.
//!
//! ```text
//!   record ──put──► table `schedule`, by time ──refill──► the next few in memory ──due──► start queue ──run──► row deleted
//!   consume ─delete─►
//! ```
//! # Invariants
//! - Memory holds the first rows of the table, at most [`WINDOW`], durable or not. The cost depends neither on the number of rows
//!   nor on the number of deleted ones, because a read starts behind the deleted rows.
//! - A row is deleted in the batch that holds the started flow's first journal row, or in the one that consumes the state.

use std::collections::{BTreeMap, VecDeque};

use flow::FlowId;
use ledger::{Rejection, StateRef};
use primitives::{Decode, Encode, Timestamp};

use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{schedule_key, schedule_key_of};
use crate::writes::{Batch, RowRange, Writer};
use primitives::Monotonic;

/// Maximum number of rows kept in memory.
pub(crate) const WINDOW: usize = 1_024;
/// Maximum number of scheduled starts that wait for a place. Further ones that are due wait in the table.
pub(crate) const QUEUED_MAX: usize = 64;

/// The time of a start, and the state that scheduled it.
pub(crate) type Due = (Timestamp, StateRef);

/// The first byte of a key: the row waits for its time.
pub const SCHEDULE_WAITING: u8 = 0;
/// The first byte of a key: the flow could not be started.
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

/// The scheduled starts.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// The first rows of the table, with the names of their flows.
    next: BTreeMap<Due, String>,
    /// Whether the table may hold more than `next`.
    more: bool,
    /// A lower bound for the rows of the table that wait; unknown until rows were found.
    from: Option<Due>,
    /// Changes that the store may not show yet, with the commit that writes each.
    undurable: BTreeMap<Due, (u64, Option<String>)>,
    /// The keys of `undurable`, in the order of their commits.
    order: VecDeque<(u64, Due)>,
    /// Starts that wait in the queue. Their rows are still in the table.
    queued: BTreeMap<Due, FlowId>,
    /// Whether the store may hold rows of flows that could not be started.
    refused: bool,
}

impl Writer for Schedule {
    const ROWS: &'static [RowRange] = &[RowRange::table(Table::Schedule)];
}

impl Part for Schedule {
    fn committed(&mut self, upto: u64, _: Monotonic) {
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

    /// Returns whether a consumed state may have a row.
    pub(super) fn has_rows(&self) -> bool {
        !self.next.is_empty() || self.more || !self.queued.is_empty() || self.refused
    }

    /// Adds the row of a flow that a state schedules, in the batch of `commit`.
    pub(crate) fn put(&mut self, due: Due, flow: &str, commit: u64, batch: &mut Batch) {
        let row = ScheduleRow {
            flow: flow.to_owned(),
            refusal: None,
        };
        let key = schedule_key(SCHEDULE_WAITING, due.0, &due.1);
        batch
            .of::<Schedule>()
            .put(Table::Schedule, key, row.to_bytes());
        self.from = self.from.map(|from| from.min(due));
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

    /// Deletes the row of a state that is consumed or whose flow is started. Returns the start if it waits in the queue.
    pub(crate) fn remove(&mut self, due: Due, commit: u64, batch: &mut Batch) -> Option<FlowId> {
        batch.of::<Schedule>().delete(
            Table::Schedule,
            schedule_key(SCHEDULE_WAITING, due.0, &due.1),
        );
        if self.refused {
            batch.of::<Schedule>().delete(
                Table::Schedule,
                schedule_key(SCHEDULE_REFUSED, due.0, &due.1),
            );
        }
        self.next.remove(&due);
        self.note(due, None, commit);
        self.queued.remove(&due)
    }

    /// Moves the row of a flow that cannot be started to those that are not tried again.
    pub(crate) fn refuse(
        &mut self,
        due: Due,
        flow: String,
        refusal: Rejection,
        commit: u64,
        batch: &mut Batch,
    ) {
        self.remove(due, commit, batch);
        self.refused = true;
        let refusal = Some(refusal);
        let key = schedule_key(SCHEDULE_REFUSED, due.0, &due.1);
        batch.of::<Schedule>().put(
            Table::Schedule,
            key,
            ScheduleRow { flow, refusal }.to_bytes(),
        );
    }

    /// Takes out the next row that is due, unless the maximum number of scheduled starts is queued.
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

    /// Notes that a start waits in the queue.
    pub(crate) fn queue(&mut self, due: Due, flow: FlowId) {
        self.queued.insert(due, flow);
    }

    /// Returns the time of the next row, or `None` if there is none or the queue is full.
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

    fn note(&mut self, due: Due, flow: Option<String>, commit: u64) {
        self.undurable.insert(due, (commit, flow));
        self.order.push_back((commit, due));
    }

    /// Reads the first rows, and applies the changes that the store does not show yet.
    fn refill(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        // The largest number of rows that may have to be left out.
        let limit = WINDOW + self.queued.len() + self.undurable.len();
        // A store walks over deleted rows before the first present one, and their number grows.
        let from = match &self.from {
            Some((at, state)) => schedule_key(SCHEDULE_WAITING, *at, state),
            None => vec![SCHEDULE_WAITING],
        };
        let to = [SCHEDULE_WAITING + 1];
        let rows = reads.scan(Table::Schedule, &from, Some(&to), limit)?;
        let all = rows.len() < limit;
        let (mut first, mut last) = (None, None);
        for (key, value) in rows {
            let row = ScheduleRow::from_bytes(&value);
            let (Some((_, at, state)), Ok(row)) = (schedule_key_of(&key), row) else {
                return Err(damaged("a row of the schedule does not decode"));
            };
            first = first.or(Some((at, state)));
            last = Some((at, state));
            self.next.insert((at, state), row.flow);
        }
        let mut undurable = self.undurable.iter();
        let coming = undurable.find(|(_, (_, flow))| flow.is_some());
        let coming = coming.map(|(due, _)| *due);
        self.from = match (first, coming) {
            (Some(first), Some(coming)) => Some(first.min(coming)),
            (first, coming) => first.or(coming).or(self.from),
        };
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use ledger::TxId;

    use primitives::storage;

    use super::*;

    /// The durable rows, and the key from which waiting rows were last read.
    #[derive(Default)]
    struct Disk {
        rows: BTreeMap<Vec<u8>, Vec<u8>>,
        asked_from: RefCell<Vec<u8>>,
    }

    impl storage::Reads<Table> for Disk {
        fn get(&self, _: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
            Ok(self.rows.get(key).cloned())
        }

        fn scan(
            &self,
            _: Table,
            from: &[u8],
            to: Option<&[u8]>,
            limit: usize,
        ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
            if from[0] == SCHEDULE_WAITING {
                *self.asked_from.borrow_mut() = from.to_vec();
            }
            let rows = self.rows.range(from.to_vec()..);
            let rows = rows.take_while(|(key, _)| to.is_none_or(|to| key.as_slice() < to));
            let rows = rows.map(|(key, value)| (key.clone(), value.clone()));
            Ok(rows.take(limit).collect())
        }

        fn last(&self, _: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
            let last = self.rows.last_key_value();
            Ok(last.map(|(key, value)| (key.clone(), value.clone())))
        }
    }

    impl Disk {
        fn write(&mut self, batch: Batch) {
            for write in batch.finish().writes {
                match write.value {
                    Some(value) => drop(self.rows.insert(write.key, value)),
                    None => drop(self.rows.remove(&write.key)),
                }
            }
        }
    }

    fn due(at: u64, number: u64) -> Due {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        (
            Timestamp::from_ms(at),
            StateRef::new(TxId::from_array(id), 0),
        )
    }

    /// Rows are added at any time, also before the present ones, and are durable some commits later. Each falls due once and in
    /// order, and no deleted row is read again.
    #[test]
    fn rows_fall_due_in_order_whatever_comes_between_and_what_is_gone_is_not_looked_for() {
        const TURNS: u64 = 20_000;
        const LAG: u64 = 3;
        let mut disk = Disk::default();
        let mut schedule = Schedule::open(&disk).expect("it is empty");
        let mut model: BTreeSet<Due> = BTreeSet::new();
        let mut on_their_way: VecDeque<(u64, Batch)> = VecDeque::new();
        let (mut random, mut now, mut most) = (7_u64, 0, 0);
        for commit in 1..=TURNS {
            let mut batch = Batch::default();
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = random >> 33;
            // At first many more come than go; some of them are for the past.
            let come = if commit < TURNS / 4 {
                1 + number % 3
            } else {
                number % 2
            };
            for more in 0..come {
                let at = (now + number % 50_000).saturating_sub(500 * more);
                let due = due(at, commit * 10 + more);
                model.insert(due);
                schedule.put(due, "a.flow", commit, &mut batch);
            }
            now += if commit < TURNS / 4 { 1 } else { 7 };
            let time = Timestamp::from_ms(now);
            while let Some((found, _)) = schedule.due(time, &disk).expect("readable") {
                assert_eq!(model.pop_first(), Some(found), "at {now}");
                assert!(schedule.remove(found, commit, &mut batch).is_none());
            }
            let left = model.first().is_none_or(|first| first.0 > time);
            assert!(left, "at {now} nothing more is due");
            most = most.max(model.len());
            on_their_way.push_back((commit, batch));
            if on_their_way.len() as u64 > LAG
                && let Some((upto, batch)) = on_their_way.pop_front()
            {
                disk.write(batch);
                schedule.committed(upto, Monotonic::START);
            }
        }
        assert!(most > 3 * WINDOW, "{most} at most");
        let asked = schedule_key_of(&disk.asked_from.borrow())
            .expect("a row's key")
            .1;
        assert!(
            asked.as_ms() + 60_000 > now,
            "the last look began at {asked}, it was {now}"
        );
    }
}
