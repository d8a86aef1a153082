//! Dictionaries: values that many rows share, such as keys, are stored once under a number. A number is found in memory or in
//! the database, or assigned now.

use std::collections::HashMap;

use rusqlite::types::ToSql;
use rusqlite::{OptionalExtension, Transaction};

/// Maximum number of entries in memory. A full map is cleared.
const ENTRIES_MAX: usize = 50_000;

/// One dictionary table.
pub(super) struct Dictionary {
    select: &'static str,
    insert: &'static str,
    known: HashMap<Vec<u8>, i64>,
}

impl Dictionary {
    pub(super) fn contracts() -> Self {
        Self::new(
            "SELECT id FROM contract WHERE name = ?1",
            "INSERT INTO contract (name) VALUES (?1)",
        )
    }

    pub(super) fn keys() -> Self {
        Self::new(
            "SELECT id FROM key WHERE bytes = ?1",
            "INSERT INTO key (bytes, party) VALUES (?1, ?2)",
        )
    }

    pub(super) fn tokens() -> Self {
        Self::new(
            "SELECT id FROM token WHERE hash = ?1",
            "INSERT INTO token (hash, symbol, issuer) VALUES (?1, ?2, ?3)",
        )
    }

    fn new(select: &'static str, insert: &'static str) -> Self {
        Self {
            select,
            insert,
            known: HashMap::new(),
        }
    }

    /// Forgets all numbers, because those assigned in a failed transaction do not exist.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Returns the number of `value`, whose key in memory is `key`. `more` are the other columns of a new row.
    pub(super) fn number(
        &mut self,
        transaction: &Transaction<'_>,
        key: &[u8],
        value: &dyn ToSql,
        more: &[&dyn ToSql],
    ) -> rusqlite::Result<i64> {
        if let Some(id) = self.known.get(key) {
            return Ok(*id);
        }
        let found = transaction
            .prepare_cached(self.select)?
            .query_row([value], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                let values: Vec<&dyn ToSql> =
                    std::iter::once(value).chain(more.iter().copied()).collect();
                transaction
                    .prepare_cached(self.insert)?
                    .insert(values.as_slice())?
            }
        };
        if self.known.len() >= ENTRIES_MAX {
            self.known.clear();
        }
        self.known.insert(key.to_vec(), id);
        Ok(id)
    }
}
