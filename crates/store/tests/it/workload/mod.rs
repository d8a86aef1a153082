//! A workload as a function of a seed and a number, the model of its result, and the audit of a store against the model.

use std::collections::BTreeMap;

use kernel::port::Table;
use primitives::storage::{Reads, TableSet, WriteBatch};
use store::{Embedded, Options};

/// splitmix64: the same numbers for the same seed, everywhere.
pub struct Sequence(pub u64);

impl Sequence {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

/// Budgets so small that segments rotate, tables are flushed and merged all the time.
pub fn tiny() -> Options {
    Options {
        cache_bytes: 256 << 10,
        memtable_bytes: 24 << 10,
        log_bytes: 32 << 10,
        open_files: 32,
        ..Options::default()
    }
}

/// Returns a folder in memory where the system offers one: these tests check the writes and syncs, not the speed of a
/// disk.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().expect("a folder"))
}

/// The parts that the tables of a core play in the workload.
pub trait Cast: TableSet {
    /// Holds the count of batches.
    const META: Self;
    /// Keys are appended at the end of the table.
    const APPENDED: Self;
    /// Random keys, never deleted.
    const INDEX: Self;
    /// Rows that are soon deleted, short keys and long ones.
    const PASSING: [Self; 2];
    /// Overwritten and deleted at random.
    const SHUFFLED: [Self; 4];
    /// A large row now and then.
    const LARGE: Self;
}

impl Cast for Table {
    const META: Self = Table::Meta;
    const APPENDED: Self = Table::Ledger;
    const INDEX: Self = Table::TxIndex;
    const PASSING: [Self; 2] = [Table::Journal, Table::Outbox];
    const SHUFFLED: [Self; 4] = [
        Table::NotaryStates,
        Table::ClientIds,
        Table::Staging,
        Table::Deliveries,
    ];
    const LARGE: Self = Table::Attachments;
}

impl Cast for chain::port::Table {
    const META: Self = Self::Meta;
    const APPENDED: Self = Self::Headers;
    const INDEX: Self = Self::TxIndex;
    const PASSING: [Self; 2] = [Self::Pool, Self::Side];
    const SHUFFLED: [Self; 4] = [Self::Balances, Self::Undo, Self::Left, Self::LeftOrder];
    const LARGE: Self = Self::Bodies;
}

/// The key of the row that counts the batches.
pub const COUNT: &[u8] = b"count";

/// Batch `number` of the workload `seed`.
pub fn batch<T: Cast>(seed: u64, number: u64) -> WriteBatch<T> {
    let mut numbers = Sequence(seed.wrapping_mul(0x1234_5677) ^ number);
    let mut batch = WriteBatch::default();
    batch.put(T::META, COUNT, number.to_be_bytes());
    batch.put(T::APPENDED, number.to_be_bytes(), numbers.bytes(40));
    batch.put(T::INDEX, tx_id(seed, number), number.to_be_bytes());
    // As a journal's row and an outbox's, deleted a few batches later.
    batch.put(
        T::PASSING[0],
        [b"flow".as_slice(), &number.to_be_bytes()].concat(),
        numbers.bytes(100),
    );
    let outbox = |number: u64| [[number as u8 % 3; 32].as_slice(), &number.to_be_bytes()].concat();
    batch.put(T::PASSING[1], outbox(number), numbers.bytes(150));
    let done = number.saturating_sub(1 + number % 9);
    batch.delete(
        T::PASSING[0],
        [b"flow".as_slice(), &done.to_be_bytes()].concat(),
    );
    batch.delete(T::PASSING[1], outbox(done));
    // Overwritten and deleted at random, the same key perhaps twice in a batch.
    for _ in 0..numbers.below(12) {
        let table = T::SHUFFLED[numbers.below(4) as usize];
        let key = numbers.below(300).to_be_bytes();
        match numbers.below(3) {
            0 => batch.delete(table, key),
            _ => {
                let length = numbers.below(200) as usize;
                batch.put(table, key, numbers.bytes(length));
            }
        }
    }
    if numbers.below(40) == 0 {
        batch.put(T::LARGE, number.to_be_bytes(), numbers.bytes(9000));
    }
    batch
}

pub fn tx_id(seed: u64, number: u64) -> Vec<u8> {
    Sequence(seed ^ number.rotate_left(32)).bytes(32)
}

/// The content of a store.
pub type Model<T> = BTreeMap<(T, Vec<u8>), Vec<u8>>;

pub fn apply<T: TableSet>(model: &mut Model<T>, batch: &WriteBatch<T>) {
    for write in &batch.writes {
        let key = (write.table, write.key.clone());
        match &write.value {
            Some(value) => drop(model.insert(key, value.clone())),
            None => drop(model.remove(&key)),
        }
    }
}

/// The model after the first `count` batches.
pub fn model<T: Cast>(seed: u64, count: u64) -> Model<T> {
    let mut model = Model::new();
    (1..=count).for_each(|number| apply(&mut model, &batch(seed, number)));
    model
}

/// How many batches the store says it holds.
pub fn count<T: Cast>(store: &Embedded<T>) -> u64 {
    let row = store.get(T::META, COUNT).expect("readable");
    row.map_or(0, |row| {
        u64::from_be_bytes(row.try_into().expect("eight bytes"))
    })
}

/// The store holds exactly the model: by scanning, by looking up, by the last row.
pub fn assert_equals<T: TableSet>(store: &impl Reads<T>, model: &Model<T>, what: &str) {
    for table in T::ALL.iter().copied() {
        let expected: Vec<(Vec<u8>, Vec<u8>)> = model
            .range((table, Vec::new())..)
            .take_while(|((other, _), _)| *other == table)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect();
        let mut found = Vec::new();
        loop {
            let from = found
                .last()
                .map_or(Vec::new(), |(key, _): &(Vec<u8>, Vec<u8>)| {
                    [key.as_slice(), &[0]].concat()
                });
            let page = store.scan(table, &from, None, 37).expect("readable");
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        let keys = |rows: &[(Vec<u8>, Vec<u8>)]| {
            rows.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&found),
            keys(&expected),
            "{what}: keys of {}",
            table.name()
        );
        assert!(found == expected, "{what}: values of {}", table.name());
        assert_eq!(
            store.last(table).expect("readable"),
            expected.last().cloned(),
            "{what}: last of {}",
            table.name()
        );
        for (key, value) in &expected {
            assert_eq!(
                store.get(table, key).expect("readable").as_ref(),
                Some(value),
                "{what}: {}",
                table.name()
            );
        }
    }
}
