//! The port to a database server that keeps every commit. The local store is then a cache of the server.
//!
//! ```text
//! group ──► rows as bytes ──► server commits ──► cache, not synced ──► completions, in order
//!                              (several in flight)
//! ```

use primitives::storage::{StoreFailure, TableSet, WriteBatch};

use crate::failure::server_damaged;
use crate::log::{ROW_PREFIX_BYTES, Record, Row, rows};

/// The key of the row in which a cache keeps the number of its last commit. The server never gets this row.
pub const POSITION_KEY: &[u8] = b"database/position";

/// Version of the bytes of a commit.
const VERSION: u8 = 1;
/// Bytes before the rows of a commit: the version and the checksum.
const HEAD_BYTES: usize = 9;

/// Reports that the server has a commit durably, or that it never will.
pub type Confirm = Box<dyn FnOnce(Result<(), StoreFailure>) + Send>;

/// A commit for the server.
pub struct ServerCommit {
    /// Its number: one more than that of the commit before.
    pub number: u64,
    /// Its rows, as [`encode_commit`] returns them.
    pub rows: Vec<u8>,
    /// Called once.
    pub confirm: Confirm,
}

/// A key whose row was written or deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangedKey {
    /// The table's number.
    pub table: u8,
    /// The key.
    pub key: Vec<u8>,
}

/// A server of commits.
pub trait CommitServer: Send + Sync + 'static {
    /// Sends a commit, and returns without waiting for the server. Commits are confirmed in the order of their numbers. After one has failed,
    /// all later ones fail.
    fn send(&self, commit: ServerCommit);

    /// Notes that the cache has a commit, which changed these rows. May block until the server's tables have followed.
    fn applied(&self, number: u64, keys: Vec<ChangedKey>);
}

/// Returns the bytes of a commit for the server. `docs/formats/database.md` describes them.
///
/// # Panics
/// The rows exceed the limits of a record, which the committer has checked.
#[must_use]
pub fn encode_commit<T: TableSet>(number: u64, batches: &[WriteBatch<T>]) -> Vec<u8> {
    let writes = || batches.iter().flat_map(|batch| &batch.writes);
    let bytes: usize = batches
        .iter()
        .map(|batch| batch.size_bytes() + batch.writes.len() * ROW_PREFIX_BYTES)
        .sum();
    let mut rows = Vec::with_capacity(HEAD_BYTES + bytes);
    rows.resize(HEAD_BYTES, 0);
    for write in writes() {
        Record::put(
            &mut rows,
            Row {
                table: write.table.number(),
                key: &write.key,
                value: write.value.as_deref(),
            },
        );
    }
    rows[0] = VERSION;
    let checksum = checksum(number, &rows[HEAD_BYTES..]);
    rows[1..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
    rows
}

/// Returns the rows of a commit that the server keeps.
///
/// # Errors
/// The version is unknown, the checksum differs, or there is a table that this program does not know.
pub fn decode_commit<T: TableSet>(
    number: u64,
    bytes: &[u8],
) -> Result<WriteBatch<T>, StoreFailure> {
    let damaged = |reason: &str| server_damaged(format!("commit {number}: {reason}"));
    let Some((head, payload)) = bytes.split_at_checked(HEAD_BYTES) else {
        return Err(damaged("it is too short"));
    };
    if head[0] != VERSION {
        let reason = format!("it has version {}, expected {VERSION}", head[0]);
        return Err(damaged(&reason));
    }
    if head[1..] != checksum(number, payload).to_le_bytes() {
        return Err(damaged("its checksum differs"));
    }
    let mut batch = WriteBatch::default();
    for row in rows(payload) {
        let row = row.ok_or_else(|| damaged("its rows end early"))?;
        let table = T::ALL.get(usize::from(row.table));
        let table = table.ok_or_else(|| damaged("it has rows of an unknown table"))?;
        match row.value {
            Some(value) => batch.put(*table, row.key, value),
            None => batch.delete(*table, row.key),
        }
    }
    Ok(batch)
}

/// Returns the row for the last commit of a cache.
pub fn position_row<T: TableSet>(
    table: T,
    database: [u8; 16],
    number: u64,
    fence: u64,
) -> WriteBatch<T> {
    let mut batch = WriteBatch::default();
    let value = [
        database.as_slice(),
        &number.to_be_bytes(),
        &fence.to_be_bytes(),
    ]
    .concat();
    batch.put(table, POSITION_KEY, value);
    batch
}

/// The last commit in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePosition {
    /// The database's id.
    pub database: [u8; 16],
    /// The commit's number.
    pub number: u64,
    /// The fencing token of the process that made the commit. After a server has lost commits, another process may give their numbers to
    /// other commits.
    pub fence: u64,
}

/// Returns the content of a cache's row of its position. `None` if it is not such a row.
#[must_use]
pub fn read_position(value: &[u8]) -> Option<CachePosition> {
    let (database, numbers) = value.split_at_checked(16)?;
    let (number, fence) = numbers.split_at_checked(8)?;
    Some(CachePosition {
        database: database.try_into().ok()?,
        number: u64::from_be_bytes(number.try_into().ok()?),
        fence: u64::from_be_bytes(fence.try_into().ok()?),
    })
}

/// The number is the seed, so that a commit is never taken for another one.
fn checksum(number: u64, rows: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(rows, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use primitives::storage::Habit;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    enum Two {
        First,
        Second,
    }

    impl TableSet for Two {
        const ALL: &'static [Self] = &[Self::First, Self::Second];
        const TITLE: &'static str = "two";
        fn number(self) -> u8 {
            self as u8
        }
        fn name(self) -> &'static str {
            "two"
        }
        fn habit(self) -> Habit {
            Habit::Keyed
        }
    }

    fn batches() -> Vec<WriteBatch<Two>> {
        let mut first = WriteBatch::default();
        first.put(Two::First, *b"key", *b"value");
        let mut second = WriteBatch::default();
        second.delete(Two::Second, *b"k");
        second.put(Two::Second, *b"", *b"");
        vec![first, second]
    }

    /// The page `docs/formats/database.md` shows these bytes.
    #[test]
    fn commit_is_encoded_as_the_page_says() {
        let bytes = encode_commit(7, &batches());
        assert_eq!(
            primitives::hex::encode(&bytes),
            "01fccbe10fa0d839b7000300050000006b657976616c7565810100000000006b01000000000000"
        );
    }

    #[test]
    fn commit_is_decoded_to_its_rows() {
        let bytes = encode_commit(7, &batches());
        let read = decode_commit::<Two>(7, &bytes).expect("intact");
        let writes = batches().into_iter().flat_map(|batch| batch.writes);
        assert_eq!(read.writes, writes.collect::<Vec<_>>());
    }

    #[test]
    fn damaged_commits_are_refused() {
        let bytes = encode_commit(7, &batches());
        assert!(decode_commit::<Two>(8, &bytes).is_err(), "another number");
        for length in 0..bytes.len() {
            assert!(decode_commit::<Two>(7, &bytes[..length]).is_err());
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let refused = decode_commit::<Two>(7, &damaged).expect_err("damaged");
            assert_eq!(refused.code, "database.damaged");
        }
    }

    #[test]
    fn position_is_read_back() {
        let batch = position_row(Two::First, [3; 16], 9, 2);
        let value = batch.writes[0].value.as_deref().expect("a row");
        let expected = CachePosition {
            database: [3; 16],
            number: 9,
            fence: 2,
        };
        assert_eq!(read_position(value), Some(expected));
        assert_eq!(read_position(&value[1..]), None);
    }
}
