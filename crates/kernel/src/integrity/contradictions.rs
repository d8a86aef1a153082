//! Checks of transactions against the consumed states of this node's own ledger.

use super::EquivocationRow;
use super::consumed::FILL_ROWS_MAX;
use crate::errors;
use crate::kernel::Kernel;
use crate::ledger_book::{decode_row, ledger_page};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::seq_key;
use ledger::{PartyId, Rejection, SignedTransaction, StateRef, WireTransaction};

impl Kernel {
    /// The first input that this node's ledger records as consumed by another transaction, and that one's position.
    pub(crate) fn consumed_before(
        &self,
        wire: &WireTransaction,
        reads: &dyn Reads,
    ) -> Result<Option<(StateRef, u64)>, StoreFailure> {
        for input in wire.inputs() {
            let made_at = self.book.position_at_hand(&input.tx);
            if let Some(seq) = self.consumed.consumer(input, made_at, reads)? {
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
                    let (commit, inputs) =
                        (self.context.commits.next(), transaction.wire().inputs());
                    let batch = &mut self.context.round.batch;
                    self.consumed.add(inputs, seq, commit, batch);
                }
            }
            upto = upto.max(seq);
        }
        self.consumed.filled_to(upto, &mut self.context.round.batch);
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
            at: self.context.now.wall,
            proof,
        };
        let Ok(found) = row.proof.verify(self.signatures.checker()) else {
            // The transaction is refused, but these signatures prove nothing to others.
            return;
        };
        let kept = self
            .equivocations
            .add(second.id(), &row, &mut self.context.round.batch);
        self.context.figures.equivocations += 1;
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
        self.context.warn(errors::EQUIVOCATED.code, text);
    }
}
