//! Proofs that notaries signed two consumers of a state, kept for operators.

use std::collections::BTreeSet;

use ledger::{EquivocationProof, PartyId, StateRef, TxId};
use primitives::{Encode, Timestamp, record};

use crate::pages::{after, row_page};
use crate::port::{Reads, StoreFailure, Table};
use crate::writes::{Batch, RowRange, Writer};

/// Maximum number of stored proofs. Later ones appear only in the log.
pub const EQUIVOCATIONS_MAX: usize = 256;
/// Maximum size of all proofs kept, in bytes.
pub const EQUIVOCATION_BYTES_MAX: usize = 64 << 20;
/// Maximum number of rows, and of bytes, in one read.
const PAGE: (usize, usize) = (16, 4 << 20);

/// A refused transaction that contradicts a recorded one. Encoded as `[state ref, proof, party or null, time]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EquivocationRow {
    /// A state that both consume.
    pub state: StateRef,
    /// Both transactions as the notary signed them, the recorded one first.
    pub proof: EquivocationProof,
    /// The peer that sent the refused transaction, if a peer did.
    pub brought_by: Option<PartyId>,
    /// The time of the refusal.
    pub at: Timestamp,
}

record!(EquivocationRow {
    state,
    proof,
    brought_by,
    at
});

/// The refused transactions with a stored proof.
#[derive(Debug, Default)]
pub(crate) struct Equivocations {
    known: BTreeSet<TxId>,
    bytes: usize,
}

impl Writer for Equivocations {
    const ROWS: &'static [RowRange] = &[RowRange::table(Table::Equivocations)];
}

impl Equivocations {
    /// Reads back which there are.
    pub(crate) fn open(reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let mut found = Self::default();
        let mut from = Vec::new();
        loop {
            let page = row_page(reads, Table::Equivocations, from, None, PAGE.0, PAGE.1)?;
            for (key, value) in &page.rows {
                if let Ok(id) = key.as_slice().try_into() {
                    found.known.insert(TxId::from_array(id));
                    found.bytes += value.len();
                }
            }
            match page.rows.last() {
                Some((last, _)) if page.more => from = after(last),
                _ => return Ok(found),
            }
        }
    }

    /// Returns the number of proofs.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns whether a proof against this refused transaction is kept.
    pub(crate) fn contains(&self, id: &TxId) -> bool {
        self.known.contains(id)
    }

    /// Keeps a proof. Returns false if there is no room for it.
    pub(crate) fn add(&mut self, refused: TxId, row: &EquivocationRow, batch: &mut Batch) -> bool {
        let bytes = row.to_bytes();
        let total = self.bytes + bytes.len();
        if self.known.len() >= EQUIVOCATIONS_MAX || total > EQUIVOCATION_BYTES_MAX {
            return false;
        }
        self.bytes = total;
        self.known.insert(refused);
        batch
            .of::<Equivocations>()
            .put(Table::Equivocations, refused.as_bytes().to_vec(), bytes);
        true
    }
}
