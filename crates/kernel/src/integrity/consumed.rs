//! The index of the states that transactions of this node's ledger consume. A transaction that consumes such a state again is
//! refused even if the notary signed it.
//!
//! # Invariants
//! - A state has one consumer in the index. The first one recorded stays.
//! - The row of a consumed state is in the batch that records its consumer. A ledger that is older than the index is read
//!   through once, some rows a round.
//! - `recent` holds the inputs of every transaction recorded at `recent_from` or later. A transaction is recorded after those it
//!   depends on, so an output recorded at `recent_from` or later is consumed if and only if `recent` holds it. Most states are
//!   spent soon after they are made, and such a look-up does not reach the store.

use std::collections::VecDeque;

use ledger::StateRef;

use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{META_CONSUMED_FILL, seq_key, seq_of, state_ref_key};
use crate::writes::{Batch, RowRange, Writer};
use primitives::Monotonic;
use primitives::collections::HashMap;

/// Maximum number of rows of an older ledger that are indexed in one round.
pub const FILL_ROWS_MAX: usize = 256;

/// A recorded transaction and its inputs.
#[derive(Debug)]
pub(super) struct Consumer {
    seq: u64,
    /// The commit that writes the rows of the inputs.
    commit: u64,
    inputs: Vec<StateRef>,
}

/// Maximum number of consumed states kept in memory (about 3 MB). States whose rows are not durable yet are kept beyond it.
pub const RECENT_STATES_MAX: usize = 16_384;

/// Consumed states with the positions of their consumers.
#[derive(Debug, Default)]
pub(crate) struct ConsumedIndex {
    /// Recently consumed states with the positions of their consumers. The rows of the latest may not be durable yet.
    pub(super) recent: HashMap<StateRef, u64>,
    /// The same states by consumer, oldest first.
    pub(super) order: VecDeque<Consumer>,
    /// The inputs of every transaction from this position on are in `recent`.
    pub(super) recent_from: u64,
    /// Commits up to this one are durable.
    pub(super) durable: u64,
    /// Positions up to here are indexed.
    pub(super) filled: u64,
    /// Positions up to here were recorded before there was an index.
    pub(super) fill_to: u64,
}

impl Writer for ConsumedIndex {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::Consumed),
        RowRange::meta(META_CONSUMED_FILL),
    ];
}

impl Part for ConsumedIndex {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        self.durable = self.durable.max(upto);
        self.forget_old();
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        self.is_filling().then_some(now)
    }
}

impl ConsumedIndex {
    /// Opens the index of a ledger that ends at a position.
    pub(crate) fn open(reads: &dyn Reads, last_seq: u64) -> Result<Self, StoreFailure> {
        let row = reads.get(Table::Meta, META_CONSUMED_FILL)?;
        let (filled, fill_to) = match row {
            None => (0, last_seq),
            Some(row) => {
                let parts = row.split_first_chunk::<8>();
                let parts = parts.and_then(|(filled, to)| Some((*filled, to.try_into().ok()?)));
                let (filled, to) = parts.ok_or_else(|| damaged("the index of consumed states"))?;
                (u64::from_be_bytes(filled), u64::from_be_bytes(to))
            }
        };
        Ok(Self {
            filled,
            fill_to,
            recent_from: last_seq + 1,
            ..Self::default()
        })
    }

    /// Returns whether rows of an older ledger are still to be indexed.
    pub(super) fn is_filling(&self) -> bool {
        self.filled < self.fill_to
    }

    /// Returns the position of the transaction that consumed a state. `made_at` is the position of the transaction that made it, if
    /// that is known without asking the store.
    pub(crate) fn consumer(
        &self,
        state: &StateRef,
        made_at: Option<u64>,
        reads: &dyn Reads,
    ) -> Result<Option<u64>, StoreFailure> {
        if let Some(seq) = self.recent.get(state) {
            return Ok(Some(*seq));
        }
        if made_at.is_some_and(|made_at| made_at >= self.recent_from) {
            return Ok(None);
        }
        match reads.get(Table::Consumed, &state_ref_key(state))? {
            None => Ok(None),
            Some(row) => match seq_of(&row) {
                Some(seq) => Ok(Some(seq)),
                None => Err(damaged("the index of consumed states")),
            },
        }
    }

    /// Adds the inputs of a transaction that is recorded at a position in the commit of this number.
    pub(crate) fn add(&mut self, inputs: &[StateRef], seq: u64, commit: u64, batch: &mut Batch) {
        if seq == 1 {
            // From the first transaction on the index is complete: nothing is ever to be filled in.
            batch
                .of::<ConsumedIndex>()
                .put(Table::Meta, META_CONSUMED_FILL, [0; 16]);
        }
        for input in inputs {
            batch
                .of::<ConsumedIndex>()
                .put(Table::Consumed, state_ref_key(input), seq_key(seq));
            self.recent.insert(*input, seq);
        }
        if !inputs.is_empty() {
            let inputs = inputs.to_vec();
            self.order.push_back(Consumer {
                seq,
                commit,
                inputs,
            });
        }
        self.forget_old();
    }

    /// Forgets the oldest durable consumers while there are too many.
    fn forget_old(&mut self) {
        while self.recent.len() > RECENT_STATES_MAX
            && let Some(oldest) = self.order.front()
            && oldest.commit <= self.durable
            && let Some(oldest) = self.order.pop_front()
        {
            for state in &oldest.inputs {
                self.recent.remove(state);
            }
            self.recent_from = self.recent_from.max(oldest.seq + 1);
        }
    }

    /// Notes that positions up to this one are indexed.
    pub(super) fn filled_to(&mut self, seq: u64, batch: &mut Batch) {
        self.filled = seq;
        let row = [seq.to_be_bytes(), self.fill_to.to_be_bytes()].concat();
        batch
            .of::<ConsumedIndex>()
            .put(Table::Meta, META_CONSUMED_FILL, row);
    }
}

#[cfg(test)]
mod tests {
    use ledger::TxId;
    use primitives::Hash;

    use super::*;
    use crate::fake_store::FakeStore;

    fn output(of: u64) -> StateRef {
        let tx = TxId::from_hash(Hash::plain(&of.to_be_bytes()));
        StateRef { tx, index: 0 }
    }

    /// Returns the transaction whose only output transaction `n` consumes: every third one consumes the output made `age`
    /// transactions earlier.
    fn consumed_output(n: u64, age: u64) -> Option<u64> {
        n.checked_sub(age)
            .filter(|made| *made > 0 && n.is_multiple_of(3))
    }

    #[test]
    fn agrees_with_a_full_scan_of_the_ledger() {
        // Most consumed states in memory is a multiple of some of these ages, and less than others.
        for (age, ends_at, restarts_at) in [(1, 400, 0), (7, 60_000, 30_000), (55_000, 60_000, 0)] {
            let mut store = FakeStore::default();
            let mut index = ConsumedIndex::open(&store, 0).expect("opens");
            let mut waiting = VecDeque::new();
            for n in 1..=ends_at {
                let mut batch = Batch::default();
                let inputs: Vec<_> = consumed_output(n, age).map(output).into_iter().collect();
                index.add(&inputs, n, n, &mut batch);
                waiting.push_back(batch);
                if waiting.len() > 20 {
                    store.apply(waiting.pop_front().expect("a batch"));
                    index.committed(n - 20, Monotonic::START);
                }
                if n == restarts_at {
                    waiting.drain(..).for_each(|batch| store.apply(batch));
                    index = ConsumedIndex::open(&store, n).expect("opens");
                }
            }
            for made in (1..=ends_at).rev().take(45_000) {
                let consumer = made + age;
                let expected = (consumer <= ends_at && consumer % 3 == 0).then_some(consumer);
                for made_at in [None, Some(made)] {
                    let found = index.consumer(&output(made), made_at, &store);
                    assert_eq!(
                        found,
                        Ok(expected),
                        "output of {made}, age {age}, {made_at:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn recent_states_need_no_store_and_are_bounded() {
        let store = FakeStore::default();
        let mut index = ConsumedIndex::open(&store, 0).expect("opens");
        let consumers = 2 * RECENT_STATES_MAX as u64;
        for n in 2..=consumers {
            index.add(&[output(n - 1)], n, n, &mut Batch::default());
        }
        assert_eq!(index.recent.len() as u64, consumers - 1, "none is durable");
        index.committed(consumers, Monotonic::START);
        assert_eq!(index.recent.len(), RECENT_STATES_MAX);
        assert_eq!(index.order.len(), RECENT_STATES_MAX);
        let before = store.gets();
        for made in [consumers - 10, consumers] {
            let spent = (made < consumers).then_some(made + 1);
            assert_eq!(index.consumer(&output(made), Some(made), &store), Ok(spent));
        }
        assert_eq!(store.gets(), before);
    }
}
