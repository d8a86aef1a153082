//! The lives of this node's data: one for each start. A mark that this node has signed and that its own list of lives does not
//! justify proves that the data is an older copy, or that another process runs with this node's key.
//!
//! # Invariants
//! - A life's row is durable before any mark of that life leaves the node.
//! - A mark states no more than what is durable when it leaves.
//! - Marks of lives before the baseline are settled: an operator has dealt with them.

use ledger::{DataMark, PartyId};
use primitives::{Domain, Hash, KeyPair, Seed};

use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{META_LIFE, META_LIFE_BASELINE, meta_key, prefix_end, seq_key, seq_of};
use crate::writes::{Batch, RowRange, Writer};

/// Lives kept. Marks of older ones cannot be judged, and pass.
pub const LIVES_KEPT_MAX: usize = 1_024;
/// Number of lives that are skipped when an operator settles a rollback. The marks of the lost lives lie below them.
pub const LIVES_SKIPPED: u64 = 1_024;

/// One life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    ordinal: u64,
    name: [u8; 16],
    /// The number at which it began.
    from: u64,
}

/// The list of this node's lives, and its latest mark.
#[derive(Debug)]
pub(crate) struct Lives {
    /// In order of their ordinals; the last one is the present life.
    lives: Vec<Life>,
    baseline: u64,
    entropy: Seed,
    /// The mark signed last.
    last: Option<DataMark>,
    /// Accepted transactions of this notary, counted over all lives.
    accepted: u64,
    /// The row of the present life is not written yet.
    unsaved: bool,
}

impl Writer for Lives {
    const ROWS: &'static [RowRange] = &[
        RowRange::meta(META_LIFE),
        RowRange::meta(META_LIFE_BASELINE),
    ];
}

impl Lives {
    /// Reads the lives back and begins a new one at a number.
    pub(crate) fn open(
        reads: &dyn Reads,
        entropy: Seed,
        accepted: u64,
        number: u64,
    ) -> Result<Self, StoreFailure> {
        let mut lives = Vec::new();
        let to = prefix_end(META_LIFE);
        // Each life has one row, and the number of lives is bounded.
        for (key, value) in reads.scan(Table::Meta, META_LIFE, to.as_deref(), usize::MAX)? {
            let ordinal = seq_of(&key);
            let parts = value.split_first_chunk::<16>();
            let parts = parts.and_then(|(name, from)| Some((*name, seq_of(from)?)));
            let (Some(ordinal), Some((name, from))) = (ordinal, parts) else {
                return Err(damaged("the lives of this node's data"));
            };
            lives.push(Life {
                ordinal,
                name,
                from,
            });
        }
        let baseline = reads.get(Table::Meta, META_LIFE_BASELINE)?;
        let baseline = baseline.map_or(Some(0), |row| seq_of(&row));
        let mut lives = Self {
            lives,
            baseline: baseline.ok_or_else(|| damaged("the baseline of lives"))?,
            entropy,
            last: None,
            accepted,
            unsaved: false,
        };
        let last = lives.lives.last().map_or(0, |life| life.ordinal);
        let next = last
            .checked_add(1)
            .ok_or_else(|| damaged("the lives of this node's data"))?;
        lives.begin(next, number);
        Ok(lives)
    }

    fn begin(&mut self, ordinal: u64, from: u64) {
        let parts: [&[u8]; 3] = [b"life", self.entropy.expose(), &ordinal.to_be_bytes()];
        let hash = Hash::of(Domain::Derive, &parts);
        let name = hash.as_bytes().first_chunk::<16>().copied();
        let life = Life {
            ordinal,
            name: name.unwrap_or_default(),
            from,
        };
        self.lives.push(life);
        (self.last, self.unsaved) = (None, true);
    }

    /// Writes the row of the present life, once it has signed a mark or anything else is written.
    pub(crate) fn end_of_round(&mut self, batch: &mut Batch) {
        let Some(life) = self.lives.last() else {
            return;
        };
        if !self.unsaved || (self.last.is_none() && batch.is_empty()) {
            return;
        }
        self.unsaved = false;
        let value = [life.name.as_slice(), &life.from.to_be_bytes()].concat();
        let key = meta_key(META_LIFE, &seq_key(life.ordinal));
        batch.of::<Lives>().put(Table::Meta, key, value);
        while self.lives.len() > LIVES_KEPT_MAX {
            let oldest = self.lives.remove(0);
            let key = meta_key(META_LIFE, &seq_key(oldest.ordinal));
            batch.of::<Lives>().delete(Table::Meta, key);
        }
    }

    /// Returns the ordinal of the present life.
    pub(crate) fn ordinal(&self) -> u64 {
        self.lives.last().map_or(0, |life| life.ordinal)
    }

    /// Transactions that this notary has accepted in all.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Adds `more` to the transactions that this notary has accepted. Returns the new total.
    pub(crate) fn accept(&mut self, more: u64) -> u64 {
        self.accepted += more;
        self.accepted
    }

    /// Returns whether a mark that this node has signed is justified by its data, which has reached `number`.
    pub(crate) fn justifies(&self, mark: &DataMark, number: u64) -> bool {
        let oldest = self.lives.first().map_or(0, |life| life.ordinal);
        if mark.ordinal < self.baseline || mark.ordinal < oldest {
            return true;
        }
        let at = self
            .lives
            .partition_point(|life| life.ordinal < mark.ordinal);
        let Some(life) = self.lives.get(at) else {
            return false;
        };
        let ends = self.lives.get(at + 1).map_or(number, |next| next.from);
        life.ordinal == mark.ordinal && life.name == mark.life && mark.number <= ends
    }

    /// Returns the mark of a number. Each number is signed once.
    pub(crate) fn mark(&mut self, owner: &PartyId, number: u64, by: &KeyPair) -> Option<DataMark> {
        if let Some(last) = &self.last
            && last.number == number
        {
            return Some(last.clone());
        }
        let life = self.lives.last()?;
        let mark = DataMark::sign(owner, life.ordinal, life.name, number, by);
        self.last = Some(mark.clone());
        Some(mark)
    }

    /// Begins a new life after an operator has settled a rollback. Its ordinal is above all lives that may be lost.
    pub(crate) fn settle(&mut self, highest: u64, number: u64, batch: &mut Batch) {
        let highest = highest.max(self.ordinal());
        // Clipped at the last ordinal but one: a mark signed by this node's own key may have any ordinal, and a later life needs one.
        let next = highest.saturating_add(LIVES_SKIPPED).min(u64::MAX - 1);
        self.baseline = next;
        batch
            .of::<Lives>()
            .put(Table::Meta, META_LIFE_BASELINE, seq_key(next));
        self.begin(next, number);
    }
}

#[cfg(test)]
mod tests {
    use primitives::Scheme;

    use super::*;
    use crate::fake_store::FakeStore;
    use crate::notes::Notes;

    impl FakeStore {
        /// Writes the row of a life as a round with other rows does.
        fn save(&mut self, lives: &mut Lives) {
            let mut batch = Batch::default();
            batch
                .of::<Notes>()
                .delete(Table::Notes, b"another".to_vec());
            lives.end_of_round(&mut batch);
            self.apply(batch);
        }

        fn begin(&mut self, seed: u8, number: u64) -> Lives {
            let lives = Lives::open(self, [seed; 32].into(), 0, number);
            let mut lives = lives.expect("the rows read");
            self.save(&mut lives);
            lives
        }
    }

    fn mark(lives: &mut Lives, number: u64) -> DataMark {
        let key = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
        let owner = PartyId::from_hash(Hash::ZERO);
        lives.mark(&owner, number, &key).expect("a life")
    }

    #[test]
    fn justifies_marks_of_its_own_history_alone() {
        let mut rows = FakeStore::default();
        let mut first = rows.begin(1, 0);
        let (early, late) = (mark(&mut first, 5), mark(&mut first, 9));
        let backup = rows.clone();
        let mut second = rows.begin(2, 9);
        let of_second = mark(&mut second, 12);
        for own in [&early, &late, &of_second] {
            assert!(second.justifies(own, 12), "{own:?}");
        }
        let third = rows.clone().begin(3, 12);
        assert!(third.justifies(&late, 12) && third.justifies(&of_second, 12));

        // The same number within the same life, on data that ends earlier.
        assert!(!second.justifies(&of_second, 11));
        for (what, number, seen, expected) in [
            ("a mark that the copy covers", 9, &late, true),
            ("a mark beyond the copy", 7, &late, false),
            ("a life that the copy does not know", 9, &of_second, false),
        ] {
            let mut copy = backup.clone();
            let restored = copy.begin(4, number);
            assert_eq!(restored.justifies(seen, number), expected, "{what}");
        }
        // A life later than every one of the copy's.
        let fourth = mark(&mut rows.begin(5, 12), 12);
        assert!(!backup.clone().begin(6, 9).justifies(&fourth, 9));
    }

    #[test]
    fn settles_all_lives_below_the_new_one() {
        let mut rows = FakeStore::default();
        let backup = rows.clone();
        let lost = mark(&mut rows.begin(1, 0), 10);
        let mut rows = backup;
        let mut restored = rows.begin(2, 0);
        assert!(!restored.justifies(&lost, 0));
        let mut batch = Batch::default();
        restored.settle(lost.ordinal, 0, &mut batch);
        rows.apply(batch);
        rows.save(&mut restored);
        assert!(restored.justifies(&lost, 0));
        let own = mark(&mut restored, 3);
        let mut again = rows.begin(3, 3);
        assert!(again.justifies(&lost, 3) && again.justifies(&own, 3));
        assert!(!again.justifies(&mark(&mut rows.clone().begin(4, 3), 9), 3));
        assert_eq!(mark(&mut again, 4).ordinal, own.ordinal + 1);
    }

    #[test]
    fn keeps_a_bounded_number_of_lives() {
        let mut rows = FakeStore::default();
        let mut first = None;
        for n in 0..=LIVES_KEPT_MAX as u64 {
            let mut lives = rows.begin(1, n);
            first.get_or_insert_with(|| mark(&mut lives, 99));
        }
        assert_eq!(rows.rows(), LIVES_KEPT_MAX);
        let lives = rows.begin(2, 5_000);
        assert!(lives.justifies(&first.expect("a mark"), 5_000), "too old");
    }
}
