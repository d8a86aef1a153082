//! A workload as a function of a seed and a number, and the model of its result.

use std::collections::BTreeMap;

use primitives::storage::{Habit, Reads, TableSet, WriteBatch};
use store::POSITION_KEY;

/// Tables as a node has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Meta,
    Ledger,
    Journal,
    States,
}

impl TableSet for Table {
    const ALL: &'static [Self] = &[Self::Meta, Self::Ledger, Self::Journal, Self::States];
    const TITLE: &'static str = "a store of tests";

    fn number(self) -> u8 {
        self as u8
    }

    fn name(self) -> &'static str {
        ["meta", "ledger", "journal", "states"][self as usize]
    }

    fn habit(self) -> Habit {
        [
            Habit::Passing,
            Habit::Appended,
            Habit::Passing,
            Habit::Keyed,
        ][self as usize]
    }
}

/// splitmix64.
pub struct Sequence(pub u64);

impl Sequence {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// Batch `number` of the workload `seed`: a row that stays, one that is soon deleted, and some that change at random.
pub fn batch(seed: u64, number: u64) -> WriteBatch<Table> {
    let mut numbers = Sequence(seed.wrapping_mul(0x1234_5677) ^ number);
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, *b"count", number.to_be_bytes());
    batch.put(Table::Ledger, number.to_be_bytes(), numbers.bytes(40));
    batch.put(Table::Journal, number.to_be_bytes(), numbers.bytes(100));
    // Clipped at 0, which is no number of a batch.
    let done = number.saturating_sub(1 + number % 9);
    batch.delete(Table::Journal, done.to_be_bytes());
    for _ in 0..numbers.below(12) {
        let key = numbers.below(300).to_be_bytes();
        match numbers.below(3) {
            0 => batch.delete(Table::States, key),
            _ => {
                let length = numbers.below(200);
                batch.put(Table::States, key, numbers.bytes(length));
            }
        }
    }
    if numbers.below(40) == 0 {
        batch.put(Table::States, number.to_be_bytes(), numbers.bytes(90_000));
    }
    batch
}

/// The content of a store.
pub type Model = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// The model after the first `count` batches.
pub fn model(seed: u64, count: u64) -> Model {
    let mut model = Model::new();
    for write in (1..=count).flat_map(|number| batch(seed, number).writes) {
        let key = (write.table, write.key);
        match write.value {
            Some(value) => drop(model.insert(key, value)),
            None => drop(model.remove(&key)),
        }
    }
    model
}

/// How many batches the store holds.
pub fn count(store: &impl Reads<Table>) -> u64 {
    let row = store.get(Table::Meta, b"count").expect("readable");
    row.map_or(0, |row| {
        u64::from_be_bytes(row.try_into().expect("eight bytes"))
    })
}

/// The store holds exactly the model, besides the position of a cache.
pub fn assert_equals(store: &impl Reads<Table>, model: &Model, when: &str) {
    let mut found = Model::new();
    for table in Table::ALL.iter().copied() {
        let rows = store.scan(table, &[], None, usize::MAX).expect("readable");
        let own = rows.into_iter().filter(|(key, _)| key != POSITION_KEY);
        found.extend(own.map(|(key, value)| ((table, key), value)));
    }
    let keys = |model: &Model| model.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(model), "{when}: keys");
    assert!(found == *model, "{when}: values");
}
