//! States set aside because a notary says that they are consumed elsewhere: unconsumed in the view, and not to be spent.
//!
//! The kernel's rows are the truth, so that sums agree with what coin selection passes over. Usually there are none.

use std::collections::{BTreeMap, HashSet};

use kernel::port::{Reads, StoreFailure, Table};
use kernel::rows::{META_QUARANTINE, prefix_end, seq_of, state_ref_of};
use ledger::StateRef;
use store::{VaultReader, ViewError};

/// Most states set aside that are looked at; the kernel sets no more aside.
const LOOKED_AT_MAX: usize = 100_000;

/// What is set aside of one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SetAside {
    /// How many states.
    pub(super) states: u64,
    /// The sum of their quantities.
    pub(super) quantity: u128,
}

/// The states that are set aside.
pub(super) fn set_aside(reads: &dyn Reads) -> Result<HashSet<StateRef>, StoreFailure> {
    let to = prefix_end(META_QUARANTINE);
    let rows = reads.scan(Table::Meta, META_QUARANTINE, to.as_deref(), LOOKED_AT_MAX)?;
    let keys = rows
        .iter()
        .filter_map(|(key, _)| key.get(META_QUARANTINE.len()..));
    Ok(keys.filter_map(state_ref_of).collect())
}

/// Their places in the ledger: the sequence of the transaction, and the output.
pub(super) fn places(reads: &dyn Reads) -> Result<Vec<(u64, u32)>, StoreFailure> {
    let mut places = Vec::new();
    for reference in set_aside(reads)? {
        let seq = reads.get(Table::TxIndex, reference.tx.as_bytes())?;
        if let Some(seq) = seq.as_deref().and_then(seq_of) {
            places.push((seq, reference.index));
        }
    }
    Ok(places)
}

/// Sums by token of the states at these places that the view shows as unconsumed.
pub(super) fn sums(
    places: &[(u64, u32)],
    reader: &VaultReader,
) -> Result<BTreeMap<[u8; 32], SetAside>, ViewError> {
    let mut sums: BTreeMap<[u8; 32], SetAside> = BTreeMap::new();
    for (seq, output) in places {
        let Some(row) = reader.state_at(*seq, *output)? else {
            continue;
        };
        if let Some(token) = row.token.filter(|_| row.consumed_seq.is_none()) {
            let sum = sums.entry(token.id).or_default();
            sum.states += 1;
            sum.quantity += u128::from(row.quantity);
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use kernel::port::Row;
    use kernel::rows::{meta_key, seq_key, state_ref_key};
    use ledger::TxId;
    use store::{ConsumedState, ProducedState, TokenFacts, VaultView, ViewChange, ViewOptions};

    use super::*;

    /// Rows of the two tables that are looked at.
    #[derive(Default)]
    struct Disk(BTreeMap<(&'static str, Vec<u8>), Vec<u8>>);

    impl Reads for Disk {
        fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
            Ok(self.0.get(&(table.name(), key.to_vec())).cloned())
        }

        fn scan(
            &self,
            table: Table,
            from: &[u8],
            to: Option<&[u8]>,
            limit: usize,
        ) -> Result<Vec<Row>, StoreFailure> {
            let rows = self.0.iter().filter(|((name, key), _)| {
                let ends = to.is_none_or(|to| key.as_slice() < to);
                *name == table.name() && key.as_slice() >= from && ends
            });
            let rows = rows.map(|((_, key), value)| (key.clone(), value.clone()));
            Ok(rows.take(limit).collect())
        }

        fn last(&self, table: Table) -> Result<Option<Row>, StoreFailure> {
            Ok(self.scan(table, &[], None, usize::MAX)?.pop())
        }
    }

    fn tx(seq: u64) -> TxId {
        TxId::from_array([u8::try_from(seq).expect("few"); 32])
    }

    /// A coin of the token with this number.
    fn coin(seq: u64, token: u8, quantity: u64) -> ViewChange {
        ViewChange::Produced(ProducedState {
            tx: *tx(seq).as_bytes(),
            output: 0,
            seq,
            contract: "tally.cash".to_owned(),
            token: Some(TokenFacts {
                id: [token; 32],
                symbol: "GBP".to_owned(),
                issuer: "A".to_owned(),
            }),
            quantity,
            owner: None,
            owner_party: None,
            participants: None,
            participant_keys: Vec::new(),
            linear_id: None,
            notary: [0; 32],
            recorded_at: 1,
            state: Vec::new(),
            columns: Vec::new(),
        })
    }

    #[test]
    fn unconsumed_states_that_are_set_aside_are_summed_by_token() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("view");
        let mut view = VaultView::open(&path, &ViewOptions::default(), 9).expect("a view");
        let consumed = ConsumedState {
            of_seq: 4,
            output: 0,
            seq: 5,
            at: 2,
        };
        let changes = [
            coin(1, 1, 10),
            coin(2, 1, 20),
            coin(3, 2, 40),
            coin(4, 2, 80),
            ViewChange::Consumed(consumed),
        ];
        view.apply(5, &changes).expect("applied");
        let reader = view.reader().expect("a reader");
        let mut disk = Disk::default();
        for seq in 1..=4 {
            let place = (Table::TxIndex.name(), tx(seq).as_bytes().to_vec());
            disk.0.insert(place, seq_key(seq).to_vec());
        }
        let found = |disk: &Disk| {
            let places = places(disk).expect("readable");
            sums(&places, &reader).expect("readable")
        };
        assert!(found(&disk).is_empty());
        // One of each token, one that is consumed here, and one that this node has never recorded.
        for seq in [2, 3, 4, 200] {
            let reference = StateRef::new(tx(seq), 0);
            let key = meta_key(META_QUARANTINE, &state_ref_key(&reference));
            disk.0.insert((Table::Meta.name(), key), Vec::new());
        }
        let aside = |states, quantity| SetAside { states, quantity };
        let expected = [([1; 32], aside(1, 20)), ([2; 32], aside(1, 40))];
        assert_eq!(found(&disk), BTreeMap::from(expected));
        let all = set_aside(&disk).expect("readable");
        assert_eq!(all.len(), 4);
        assert!(all.contains(&StateRef::new(tx(2), 0)));
    }
}
