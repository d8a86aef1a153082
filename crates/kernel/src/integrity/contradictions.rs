//! Checks of transactions against the consumed states of this node's own ledger.
//!
//! # Invariants
//! - A transaction that consumes a state which another recorded transaction has consumed is never recorded.

use ledger::{PartyId, SignedTransaction, StateRef, WireTransaction};
use primitives::Monotonic;

use super::consumed::{ConsumedIndex, FILL_ROWS_MAX};
use super::equivocations::{EquivocationRow, Equivocations};
use crate::command::ContradictionsCommand;
use crate::context::Context;
use crate::errors;
use crate::ledger_book::{Book, decode_row, ledger_page};
use crate::part::Part;
use crate::port::{Reads, StoreFailure, damaged};
use crate::writes::Batch;

/// The consumed states of this node's ledger, and the proofs against notaries that signed two consumers of one state.
pub(crate) struct Contradictions {
    consumed: ConsumedIndex,
    equivocations: Equivocations,
}

impl Part for Contradictions {
    fn committed(&mut self, upto: u64, now: Monotonic) {
        self.consumed.committed(upto, now);
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        self.consumed.next_time(now)
    }

    fn end_round(&mut self, batch: &mut Batch) {
        self.consumed.end_round(batch);
    }
}

impl Contradictions {
    /// Reads the index and the proofs of a ledger that ends at a position.
    pub(crate) fn open(reads: &dyn Reads, last_seq: u64) -> Result<Self, StoreFailure> {
        Ok(Self {
            consumed: ConsumedIndex::open(reads, last_seq)?,
            equivocations: Equivocations::open(reads)?,
        })
    }

    /// Returns the number of proofs against notaries that are kept.
    pub(crate) fn proofs(&self) -> usize {
        self.equivocations.len()
    }

    /// Returns whether a recorded transaction consumes a state.
    pub(super) fn is_consumed(
        &self,
        state: &StateRef,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        Ok(self.consumed.consumer(state, None, reads)?.is_some())
    }

    /// Notes the states that a transaction consumes, which is being recorded at a position.
    pub(crate) fn recorded(&mut self, inputs: &[StateRef], seq: u64, context: &mut Context) {
        let commit = context.commits.next();
        self.consumed
            .add(inputs, seq, commit, &mut context.round.batch);
    }

    /// Returns the first input that this node's ledger records as consumed by another transaction, with the position of that transaction.
    pub(crate) fn consumed_before(
        &self,
        wire: &WireTransaction,
        book: &Book,
        reads: &dyn Reads,
    ) -> Result<Option<(StateRef, u64)>, StoreFailure> {
        for input in wire.inputs() {
            let made_at = book.position_at_hand(&input.tx);
            if let Some(seq) = self.consumed.consumer(input, made_at, reads)? {
                return Ok(Some((*input, seq)));
            }
        }
        Ok(None)
    }

    /// Indexes some more rows of a ledger that is older than the index.
    pub(crate) fn fill(
        &mut self,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
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
            match self.consumed_before(transaction.wire(), book, reads)? {
                Some((state, first)) if first != seq => {
                    let first = book.recorded_at(first, reads)?;
                    self.keep_proof((state, None), &first, &transaction, context);
                }
                _ => {
                    self.recorded(transaction.wire().inputs(), seq, context);
                }
            }
            upto = upto.max(seq);
        }
        assert!(
            upto <= last,
            "the index of consumed states is filled to {upto}, and ends at {last}"
        );
        self.consumed.filled_to(upto, &mut context.round.batch);
        Ok(())
    }

    /// Carries out a command.
    pub(crate) fn on_command(&mut self, command: ContradictionsCommand, context: &mut Context) {
        let ContradictionsCommand::Keep {
            state,
            brought_by,
            first,
            second,
        } = command;
        self.keep_proof((state, brought_by), &first, &second, context);
    }

    /// Keeps the proof that a notary signed two consumers of a state, and tells the operator.
    fn keep_proof(
        &mut self,
        (state, brought_by): (StateRef, Option<PartyId>),
        first: &SignedTransaction,
        second: &SignedTransaction,
        context: &mut Context,
    ) {
        if self.equivocations.contains(&second.id()) {
            return;
        }
        let proof = ledger::EquivocationProof::of(first, second);
        let row = EquivocationRow {
            state,
            brought_by,
            at: context.now.wall,
            proof,
        };
        let Ok(found) = row.proof.verify(context.signatures.checker()) else {
            // The transaction is refused, but these signatures prove nothing to others.
            return;
        };
        let kept = self
            .equivocations
            .add(second.id(), &row, &mut context.round.batch);
        context.figures.equivocations += 1;
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
        context.warn(errors::EQUIVOCATED.code, text);
    }
}
