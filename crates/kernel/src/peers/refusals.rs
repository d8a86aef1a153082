//! The refusals of participants. Clients that ask for the outcome of a flow see them, also after a restart.

use std::collections::BTreeMap;

use ledger::{PartyId, Rejection, TxId};
use primitives::collections::HashMap;
use primitives::record;

use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_REFUSED, meta_key, prefix_end, seq_key, seq_of};
use crate::writes::{Batch, RowRange, Writer};

/// Maximum number of refusals, in memory and on disk. The oldest are forgotten, and their deliveries then count as delivered.
pub const REFUSALS_KEPT_MAX: usize = 4_096;
/// Maximum number of characters of a peer's message, and of its hint, that a refusal keeps.
const TEXT_CHARS_MAX: usize = 256;

/// The final refusal of a transaction by a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalRow {
    /// The transaction.
    pub transaction: TxId,
    /// The participant.
    pub by: PartyId,
    /// Why.
    pub rejection: Rejection,
}

record!(RefusalRow {
    transaction,
    by,
    rejection
});

/// A refusal in the form that a waiting client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRefusal {
    /// The transaction.
    pub transaction: TxId,
    /// The name of the participant.
    pub party: String,
    /// Why.
    pub rejection: Rejection,
}

/// The refusals by transaction.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    rows: BTreeMap<u64, RefusalRow>,
    by_id: HashMap<TxId, Vec<u64>>,
}

impl Writer for Refusals {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_REFUSED)];
}

impl Refusals {
    /// Reads them back after a start.
    pub(crate) fn open(reads: &dyn Reads) -> Result<Self, StoreFailure> {
        let mut refusals = Self::default();
        let to = prefix_end(META_REFUSED);
        let rows = reads.scan(Table::Meta, META_REFUSED, to.as_deref(), REFUSALS_KEPT_MAX)?;
        for (key, value) in rows {
            if let (Some(seq), Ok(row)) = (seq_of(&key), primitives::Decode::from_bytes(&value)) {
                refusals.insert(seq, row);
            }
        }
        Ok(refusals)
    }

    fn insert(&mut self, seq: u64, row: RefusalRow) {
        self.by_id.entry(row.transaction).or_default().push(seq);
        self.rows.insert(seq, row);
    }

    /// Keeps the refusal of a transaction by a participant.
    pub(crate) fn add(
        &mut self,
        transaction: TxId,
        by: PartyId,
        rejection: &Rejection,
        batch: &mut Batch,
    ) {
        if self.of(&transaction).any(|known| known.by == by) {
            return;
        }
        let start = |text: &str| text.chars().take(TEXT_CHARS_MAX).collect::<String>();
        let (message, hint) = (start(&rejection.message), start(&rejection.hint));
        let row = RefusalRow {
            transaction,
            by,
            rejection: Rejection::new(rejection.code.clone(), message, hint),
        };
        let seq = self.rows.last_key_value().map_or(1, |(last, _)| last + 1);
        let bytes = primitives::Encode::to_bytes(&row);
        batch
            .of::<Refusals>()
            .put(Table::Meta, meta_key(META_REFUSED, &seq_key(seq)), bytes);
        self.insert(seq, row);
        while self.rows.len() > REFUSALS_KEPT_MAX
            && let Some((seq, oldest)) = self.rows.pop_first()
        {
            batch
                .of::<Refusals>()
                .delete(Table::Meta, meta_key(META_REFUSED, &seq_key(seq)));
            if let Some(seqs) = self.by_id.get_mut(&oldest.transaction) {
                seqs.retain(|other| *other != seq);
                if seqs.is_empty() {
                    self.by_id.remove(&oldest.transaction);
                }
            }
        }
    }

    /// Returns the refusals of a transaction.
    pub(crate) fn of(&self, id: &TxId) -> impl Iterator<Item = &RefusalRow> {
        let seqs = self.by_id.get(id).into_iter().flatten();
        seqs.filter_map(|seq| self.rows.get(seq))
    }

    /// Returns whether a participant refused a transaction.
    pub(crate) fn contains(&self, id: &TxId) -> bool {
        self.by_id.contains_key(id)
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_each_is_kept_once() {
        let mut refusals = Refusals::default();
        let mut batch = Batch::default();
        let peer = PartyId::from_hash(Hash::ZERO);
        let id = |n: usize| TxId::from_array(*Hash::plain(&n.to_be_bytes()).as_bytes());
        let why = Rejection::new("test.no", "é".repeat(1_000), "none");
        for n in 0..=REFUSALS_KEPT_MAX {
            refusals.add(id(n), peer, &why, &mut batch);
            refusals.add(id(n), peer, &why, &mut batch);
        }
        assert_eq!(refusals.rows.len(), REFUSALS_KEPT_MAX);
        assert_eq!(refusals.by_id.len(), REFUSALS_KEPT_MAX);
        assert!(!refusals.contains(&id(0)) && refusals.contains(&id(REFUSALS_KEPT_MAX)));
        let kept: Vec<_> = refusals.of(&id(1)).collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].rejection.message.chars().count(), TEXT_CHARS_MAX);
        assert_eq!(batch.writes.len(), REFUSALS_KEPT_MAX + 2);
    }
}
