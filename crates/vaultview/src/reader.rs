//! Queries of the view, on a connection of their own: they never wait for the writer, nor it for them.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::connection::keep_plans;
use super::failure::ViewError;
use super::numbers::{quantity, quantity_value, sum, unsigned, unsigned_or_null};
use super::rows::{Balance, StateFilter, StateRow, TokenFacts};
use super::schema::{OUTPUT_BITS, state_id};

/// Maximum number of excluded coins that are skipped for one page.
const SKIPPED_MAX: usize = 100_000;
/// See [`VaultReader::with_common`].
const COMMON: u64 = 10_000;

/// A reader of the view. Each query sees one consistent point in time.
pub struct VaultReader {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) common: u64,
}

/// The position after which a list of coins continues: the last coin of the previous page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoinCursor {
    /// The last coin's quantity.
    pub quantity: u64,
    /// The last coin's cursor.
    pub cursor: i64,
}

impl CoinCursor {
    /// Makes a cursor just before the coin at this position, so that this coin is listed first if it exists.
    pub fn at_most(quantity: u64, seq: u64, output: u32) -> Self {
        // A place that no state can have is after all states.
        let cursor = state_id(seq, output).map_or(i64::MAX, |id| id + 1);
        Self { quantity, cursor }
    }
}

pub(super) const COLUMNS: &str = "s.id, s.tx, c.name, t.hash, t.symbol, t.issuer, s.quantity, o.bytes, s.participants, n.bytes, \
                       s.recorded_at, s.data, s.consumed_seq, s.consumed_at, s.linear_id, \
                       s.id IN (SELECT state FROM quarantined)";
pub(super) const JOINS: &str = "LEFT JOIN contract c ON c.id = s.contract LEFT JOIN token t ON t.id = s.token \
                     LEFT JOIN key o ON o.id = s.owner LEFT JOIN key n ON n.id = s.notary";

/// Counts and sums of a token's totals: those that can be spent, then those in quarantine.
const SUMS: &str = "coalesce(sum(states) FILTER (WHERE quarantined = 0), 0), \
                    coalesce(sum(high) FILTER (WHERE quarantined = 0), 0), \
                    coalesce(sum(low) FILTER (WHERE quarantined = 0), 0), \
                    coalesce(sum(states) FILTER (WHERE quarantined = 1), 0), \
                    coalesce(sum(high) FILTER (WHERE quarantined = 1), 0), \
                    coalesce(sum(low) FILTER (WHERE quarantined = 1), 0)";

impl VaultReader {
    /// Opens a connection for queries to the view in the file `path`, with a cache of `cache_bytes` bytes.
    pub fn open(path: &Path, cache_bytes: u64) -> Result<Self, ViewError> {
        let sqlite = |error| ViewError::sqlite(path, error);
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(sqlite)?;
        // More cache than can be stated is no limit.
        let kib = i64::try_from(cache_bytes >> 10).unwrap_or(i64::MAX);
        connection
            .busy_timeout(std::time::Duration::from_secs(5))
            .map_err(sqlite)?;
        connection
            .pragma_update(None, "cache_size", -kib)
            .map_err(sqlite)?;
        keep_plans(&connection).map_err(sqlite)?;
        Ok(Self {
            path: path.to_path_buf(),
            connection,
            common: COMMON,
        })
    }

    /// Sets the number of states at which a test starts to count as common (default 10,000). If few states meet a test, they
    /// are looked up one by one and sorted. If a test is common, the index of the order is read instead, because enough of its
    /// states meet the test. The setting changes how long queries take, never their result.
    #[must_use]
    pub fn with_common(mut self, states: u64) -> Self {
        self.common = states;
        self
    }

    /// Returns the last ledger sequence that is in the view.
    pub fn upto(&self) -> Result<u64, ViewError> {
        self.ask(|connection| {
            let mut select = connection.prepare_cached("SELECT upto FROM cursor")?;
            select.query_row([], |row| unsigned(row, 0))
        })
    }

    /// Returns the balance of each token, ordered by symbol and issuer. Tokens without unconsumed states are left out.
    pub fn balances(&self) -> Result<Vec<Balance>, ViewError> {
        self.ask(|connection| {
            let mut select = connection.prepare_cached(
                &format!("SELECT hash, symbol, issuer, {SUMS} FROM total a JOIN token t ON t.id = a.token \
                 WHERE consumed = 0 GROUP BY t.id HAVING sum(states) > 0 ORDER BY symbol, issuer, hash"),
            )?;
            select.query_map([], balance)?.collect()
        })
    }

    /// Returns the balance of one token.
    pub fn balance(&self, token: &[u8; 32]) -> Result<Option<Balance>, ViewError> {
        self.ask(|connection| {
            let mut select = connection.prepare_cached(
                &format!("SELECT hash, symbol, issuer, {SUMS} \
                 FROM token t LEFT JOIN total a ON a.token = t.id AND a.consumed = 0 WHERE hash = ?1 GROUP BY t.id"),
            )?;
            select.query_row([token.as_slice()], balance).optional()
        })
    }

    /// Returns at most `limit` unconsumed states in the order of the ledger. `after` is the cursor of the last state of the
    /// previous call, or 0 at the start.
    pub fn unconsumed(
        &self,
        filter: &StateFilter,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StateRow>, ViewError> {
        self.ask(|connection| {
            let mut select = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM state s INDEXED BY state_unconsumed {JOINS} \
                 WHERE s.id > ?1 AND s.consumed_seq IS NULL \
                 AND (?2 IS NULL OR c.name = ?2) AND (?3 IS NULL OR t.hash = ?3) \
                 AND (?5 IS NULL OR (s.id IN (SELECT state FROM quarantined)) = ?5) ORDER BY s.id LIMIT ?4"
            ))?;
            let token = filter.token.as_ref().map(<[u8; 32]>::as_slice);
            select
                .query_map(
                    params![after, filter.contract, token, row_limit(limit), filter.quarantined],
                    state_row,
                )?
                .collect()
        })
    }

    /// Returns the unconsumed versions of a linear state of one contract, the newest first. Only the `looked_at` versions that
    /// were recorded last are examined.
    pub fn linear(
        &self,
        contract: &str,
        id: &[u8; 32],
        looked_at: usize,
    ) -> Result<Vec<StateRow>, ViewError> {
        self.ask(|connection| {
            let mut select = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM (SELECT id FROM state INDEXED BY state_linear WHERE linear_id = ?1 ORDER BY id DESC LIMIT ?3) v \
                 JOIN state s ON s.id = v.id {JOINS} WHERE s.consumed_seq IS NULL AND c.name = ?2 ORDER BY s.id DESC"
            ))?;
            select
                .query_map(params![id.as_slice(), contract, row_limit(looked_at)], state_row)?
                .collect()
        })
    }

    /// Returns the state with the ledger sequence of its transaction and its output index, consumed or not.
    pub fn state_at(&self, seq: u64, output: u32) -> Result<Option<StateRow>, ViewError> {
        let Some(id) = state_id(seq, output) else {
            return Ok(None);
        };
        self.ask(|connection| {
            let mut select = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM state s {JOINS} WHERE s.id = ?1"
            ))?;
            select.query_row([id], state_row).optional()
        })
    }

    /// Returns at most `limit` unconsumed states of a token, after `after` if given. Leaves out those in quarantine and those
    /// that `excluded` returns true for. Larger ones come first. Equal ones are ordered from the newest to the oldest.
    pub fn coins(
        &self,
        token: &[u8; 32],
        after: Option<CoinCursor>,
        limit: usize,
        mut excluded: impl FnMut(&[u8; 32], u32) -> bool,
    ) -> Result<Vec<StateRow>, ViewError> {
        let start = after.map_or((quantity_value(u64::MAX), i64::MAX), |at| {
            (quantity_value(at.quantity), at.cursor)
        });
        self.ask(|connection| {
            let mut select = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM state s INDEXED BY state_coin {JOINS} \
                 WHERE s.token = (SELECT id FROM token WHERE hash = ?1) AND s.consumed_seq IS NULL \
                 AND s.id NOT IN (SELECT state FROM quarantined) \
                 AND (s.quantity, s.id) < (?2, ?3) ORDER BY s.quantity DESC, s.id DESC LIMIT ?4"
            ))?;
            // A sum above the greatest number of rows is no limit.
            let most = row_limit(limit).saturating_add(row_limit(SKIPPED_MAX));
            let rows =
                select.query_map(params![token.as_slice(), start.0, start.1, most], state_row)?;
            let mut coins = Vec::new();
            for row in rows {
                if coins.len() == limit {
                    break;
                }
                let row = row?;
                if !excluded(&row.tx, row.output) {
                    coins.push(row);
                }
            }
            Ok(coins)
        })
    }

    fn ask<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ViewError> {
        query(&self.connection).map_err(|error| ViewError::sqlite(&self.path, error))
    }
}

/// A limit above the greatest number of rows is no limit.
fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn balance(row: &Row<'_>) -> rusqlite::Result<Balance> {
    Ok(Balance {
        token: TokenFacts {
            id: row.get(0)?,
            symbol: row.get(1)?,
            issuer: row.get(2)?,
        },
        states: unsigned(row, 3)?,
        quantity: sum(row, 4, 5)?,
        quarantined_states: unsigned(row, 6)?,
        quarantined: sum(row, 7, 8)?,
    })
}

pub(super) fn state_row(row: &Row<'_>) -> rusqlite::Result<StateRow> {
    let id = unsigned(row, 0)?;
    let token = match row.get::<_, Option<[u8; 32]>>(3)? {
        Some(id) => Some(TokenFacts {
            id,
            symbol: row.get(4)?,
            issuer: row.get(5)?,
        }),
        None => None,
    };
    Ok(StateRow {
        cursor: row.get(0)?,
        tx: row.get(1)?,
        output: (id & ((1 << OUTPUT_BITS) - 1)) as u32,
        seq: id >> OUTPUT_BITS,
        contract: row.get(2)?,
        token,
        quantity: quantity(row, 6)?,
        owner: row.get(7)?,
        participants: row.get(8)?,
        notary: row.get(9)?,
        recorded_at: unsigned(row, 10)?,
        state: row.get(11)?,
        consumed_seq: unsigned_or_null(row, 12)?,
        consumed_at: unsigned_or_null(row, 13)?,
        linear_id: row.get(14)?,
        quarantined: row.get(15)?,
        columns: Vec::new(),
    })
}
