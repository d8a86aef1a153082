//! A workload that is a function of a seed and a number, the model of what it leaves, and the audit of a store against it.

// Each test file uses its own part of this module.
#![allow(dead_code)]

use std::collections::BTreeMap;

use kernel::port::{Reads, Table, WriteBatch};
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
    }
}

/// A folder in memory where the system offers one: these tests ask what is written and synced, not how fast a disk is.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().expect("a folder"))
}

/// The row that counts the batches.
pub const COUNT: (Table, &[u8]) = (Table::Meta, b"count");

/// Batch `number` of the workload `seed`.
pub fn batch(seed: u64, number: u64) -> WriteBatch {
    let mut numbers = Sequence(seed.wrapping_mul(0x1234_5677) ^ number);
    let mut batch = WriteBatch::default();
    batch.put(COUNT.0, COUNT.1, number.to_be_bytes());
    batch.put(Table::Ledger, number.to_be_bytes(), numbers.bytes(40));
    batch.put(Table::TxIndex, tx_id(seed, number), number.to_be_bytes());
    // A journal row and an outbox row, deleted a few batches later.
    batch.put(
        Table::Journal,
        [b"flow".as_slice(), &number.to_be_bytes()].concat(),
        numbers.bytes(100),
    );
    let outbox = |number: u64| [[number as u8 % 3; 32].as_slice(), &number.to_be_bytes()].concat();
    batch.put(Table::Outbox, outbox(number), numbers.bytes(150));
    let done = number.saturating_sub(1 + number % 9);
    batch.delete(
        Table::Journal,
        [b"flow".as_slice(), &done.to_be_bytes()].concat(),
    );
    batch.delete(Table::Outbox, outbox(done));
    // Overwritten and deleted at random, the same key perhaps twice in a batch.
    for _ in 0..numbers.below(12) {
        let table = [
            Table::NotaryStates,
            Table::ClientIds,
            Table::Staging,
            Table::Deliveries,
        ][numbers.below(4) as usize];
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
        batch.put(
            Table::Attachments,
            number.to_be_bytes(),
            numbers.bytes(9000),
        );
    }
    batch
}

pub fn tx_id(seed: u64, number: u64) -> Vec<u8> {
    Sequence(seed ^ number.rotate_left(32)).bytes(32)
}

/// What a store holds.
pub type Model = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

pub fn apply(model: &mut Model, batch: &WriteBatch) {
    for write in &batch.writes {
        let key = (write.table, write.key.clone());
        match &write.value {
            Some(value) => drop(model.insert(key, value.clone())),
            None => drop(model.remove(&key)),
        }
    }
}

/// The model after the first `count` batches.
pub fn model(seed: u64, count: u64) -> Model {
    let mut model = Model::new();
    (1..=count).for_each(|number| apply(&mut model, &batch(seed, number)));
    model
}

/// How many batches the store says it holds.
pub fn count(store: &Embedded) -> u64 {
    let row = store.get(COUNT.0, COUNT.1).expect("readable");
    row.map_or(0, |row| {
        u64::from_be_bytes(row.try_into().expect("eight bytes"))
    })
}

/// The store holds exactly the model: by scanning, by looking up, by the last row.
pub fn assert_equals(store: &Embedded, model: &Model, what: &str) {
    for table in Table::ALL {
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
