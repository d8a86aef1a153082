//! The index of states that transactions of this node's ledger consume. It decides beside the notary: a transaction that
//! consumes a state twice is refused even if the notary signed it.
//!
//! # Invariants
//! - A state has one consumer in the index. The first one recorded stays.
//! - The row of a consumed state is in the batch that records its consumer. A ledger that is older than the index is read
//!   through once, some rows a round.

use std::collections::{HashMap, VecDeque};

use ledger::{PartyId, Rejection, SignedTransaction, StateRef, WireTransaction};

use super::EquivocationRow;
use crate::book::{decode_row, ledger_page};
use crate::errors;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure, Table, WriteBatch, damaged};
use crate::rows::{META_CONSUMED_FILL, seq_key, seq_of, state_ref_key};

/// Rows of an older ledger that are indexed in one round.
pub const FILL_ROWS_MAX: usize = 256;

/// Consumed states with the positions of their consumers.
#[derive(Debug, Default)]
pub(crate) struct ConsumedIndex {
    /// States whose rows the store may not show yet, with the positions of their consumers.
    undurable: HashMap<StateRef, u64>,
    /// The same states by the commit that writes them.
    submitted: VecDeque<(u64, Vec<StateRef>)>,
    /// Positions up to here are indexed.
    filled: u64,
    /// Positions up to here were recorded before there was an index.
    fill_to: u64,
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
            ..Self::default()
        })
    }

    /// Whether rows of an older ledger are still to be indexed.
    pub(crate) fn is_filling(&self) -> bool {
        self.filled < self.fill_to
    }

    /// The position of the transaction that consumed a state.
    pub(crate) fn consumer(
        &self,
        state: &StateRef,
        reads: &dyn Reads,
    ) -> Result<Option<u64>, StoreFailure> {
        if let Some(seq) = self.undurable.get(state) {
            return Ok(Some(*seq));
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
    pub(crate) fn add(
        &mut self,
        inputs: &[StateRef],
        seq: u64,
        commit: u64,
        batch: &mut WriteBatch,
    ) {
        if seq == 1 {
            // From the first transaction on the index is complete: nothing is ever to be filled in.
            batch.put(Table::Meta, META_CONSUMED_FILL, [0; 16]);
        }
        for input in inputs {
            batch.put(Table::Consumed, state_ref_key(input), seq_key(seq));
            self.undurable.insert(*input, seq);
        }
        if !inputs.is_empty() {
            self.submitted.push_back((commit, inputs.to_vec()));
        }
    }

    /// Notes that positions up to this one are indexed.
    fn filled_to(&mut self, seq: u64, batch: &mut WriteBatch) {
        self.filled = seq;
        let row = [seq.to_be_bytes(), self.fill_to.to_be_bytes()].concat();
        batch.put(Table::Meta, META_CONSUMED_FILL, row);
    }

    /// Every commit up to this one is durable.
    pub(crate) fn committed(&mut self, upto: u64) {
        while let Some((number, _)) = self.submitted.front()
            && *number <= upto
            && let Some((_, states)) = self.submitted.pop_front()
        {
            for state in states {
                self.undurable.remove(&state);
            }
        }
    }
}

impl Kernel {
    /// The first input that this node's ledger records as consumed by another transaction, and that one's position.
    pub(crate) fn consumed_before(
        &self,
        wire: &WireTransaction,
        reads: &dyn Reads,
    ) -> Result<Option<(StateRef, u64)>, StoreFailure> {
        for input in wire.inputs() {
            if let Some(seq) = self.consumed.consumer(input, reads)? {
                return Ok(Some((*input, seq)));
            }
        }
        Ok(None)
    }

    /// Checks a notarised transaction that is about to be recorded against this node's own ledger. On a contradiction the
    /// proof against the notary is kept, and the reason for the refusal is returned.
    ///
    /// The caller has checked the transaction's signatures and knows that it is not in the book.
    pub(crate) fn contradicted(
        &mut self,
        transaction: &SignedTransaction,
        from: Option<PartyId>,
        reads: &dyn Reads,
    ) -> Result<Option<Rejection>, StoreFailure> {
        let Some((state, seq)) = self.consumed_before(transaction.wire(), reads)? else {
            return Ok(None);
        };
        let first = self.recorded_at(seq, reads)?;
        self.on_equivocation(state, &first, transaction, from);
        let text = format!(
            "it consumes state {state}, which transaction {} of this node's ledger has consumed",
            first.id()
        );
        Ok(Some(errors::rejection(&errors::INPUT_CONSUMED, text)))
    }

    /// A recorded transaction by its position, durable or about to be.
    pub(crate) fn recorded_at(
        &self,
        seq: u64,
        reads: &dyn Reads,
    ) -> Result<SignedTransaction, StoreFailure> {
        if let Some(recorded) = self.book.undurable_at(seq) {
            return Ok((*recorded).clone());
        }
        let row = reads.get(Table::Ledger, &seq_key(seq))?;
        let row = row.ok_or_else(|| damaged("the index names a position that the ledger lacks"))?;
        let (_, transaction) =
            decode_row(&row).map_err(|_| damaged("a recorded transaction does not decode"))?;
        Ok(transaction)
    }

    /// Indexes some more rows of a ledger that is older than the index.
    pub(crate) fn fill_consumed(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        if !self.consumed.is_filling() {
            return Ok(());
        }
        let page = ledger_page(reads, self.consumed.filled, FILL_ROWS_MAX)?;
        let last = self.consumed.fill_to;
        let mut upto = if page.more {
            self.consumed.filled
        } else {
            last
        };
        for (seq, row) in page.rows {
            if seq > last {
                break;
            }
            let (_, transaction) =
                decode_row(&row).map_err(|_| damaged("a recorded transaction does not decode"))?;
            match self.consumed_before(transaction.wire(), reads)? {
                Some((state, first)) if first != seq => {
                    let first = self.recorded_at(first, reads)?;
                    self.on_equivocation(state, &first, &transaction, None);
                }
                _ => {
                    let (commit, inputs) = (self.commits.next(), transaction.wire().inputs());
                    let batch = &mut self.round.batch;
                    self.consumed.add(inputs, seq, commit, batch);
                }
            }
            upto = upto.max(seq);
        }
        self.consumed.filled_to(upto, &mut self.round.batch);
        Ok(())
    }

    /// Keeps the proof that a notary signed two consumers of a state, and tells the operator.
    fn on_equivocation(
        &mut self,
        state: StateRef,
        first: &SignedTransaction,
        second: &SignedTransaction,
        from: Option<PartyId>,
    ) {
        if self.equivocations.contains(&second.id()) {
            return;
        }
        let proof = ledger::EquivocationProof::of(first, second);
        let row = EquivocationRow {
            state,
            brought_by: from,
            at: self.now.wall,
            proof,
        };
        let Ok(found) = row.proof.verify(&mut self.checker) else {
            // Refused all the same. There is nothing to show to others.
            return;
        };
        let kept = self
            .equivocations
            .add(second.id(), &row, &mut self.round.batch);
        self.figures.equivocations += 1;
        let text = format!(
            "the notary {} signed the transactions {} and {}, which both consume state {state}; {}",
            found.notary,
            first.id(),
            second.id(),
            if kept {
                "the proof is kept"
            } else {
                "there is no room for the proof"
            }
        );
        self.warn(errors::EQUIVOCATED.code, text);
    }
}
