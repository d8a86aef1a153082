//! One transaction of changes, with the totals that go with it.

use std::collections::{HashMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::dictionary::Dictionary;
use super::numbers::{quantity, quantity_value};
use super::rows::Datum;
use super::rows::{ConsumedState, ProducedState, QuarantinedState, ViewColumn};
use super::schema::{clamped, state_id};

/// Maximum number of keys in memory that are known to be in the table `sole_owner`. A full set is cleared.
const SOLE_OWNERS_MAX: usize = 50_000;

/// The difference that a group of changes makes to a total.
#[derive(Clone, Copy, Default)]
pub(super) struct Delta {
    states: i64,
    high: i64,
    low: i64,
}

impl Delta {
    /// Adds a state (`sign` is 1) or removes one (`sign` is -1).
    fn add(&mut self, quantity: u64, sign: i64) {
        self.states += sign;
        // Each part fits 32 bits.
        self.high += sign * clamped(quantity >> 32);
        self.low += sign * clamped(quantity & u64::from(u32::MAX));
    }
}

/// A key without an owner.
const NOBODY: Option<&[u8]> = None;

/// Token, contract, notary, standing.
type TotalKey = (i64, i64, i64, Standing);
/// Owner, token, contract, notary, whether in quarantine.
type HoldingKey = (i64, i64, i64, i64, bool);

/// The group of totals that a state counts in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    Unconsumed,
    Quarantined,
    Consumed,
}

/// The facts of a stored state that its count uses.
struct Counted {
    token: Option<i64>,
    contract: i64,
    notary: i64,
    owner: Option<i64>,
    quantity: u64,
}

impl Counted {
    /// Reads the columns token, contract, notary, owner, quantity.
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            token: row.get(0)?,
            contract: row.get(1)?,
            notary: row.get(2)?,
            owner: row.get(3)?,
            quantity: quantity(row, 4)?,
        })
    }
}

/// One transaction that feeds changes into the view.
pub(super) struct Feed<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) contracts: &'a mut Dictionary,
    pub(super) keys: &'a mut Dictionary,
    pub(super) tokens: &'a mut Dictionary,
    /// Keys that are known to be in `sole_owner`.
    pub(super) sole_owners: &'a mut HashSet<i64>,
    pub(super) columns: &'a [ViewColumn],
    pub(super) totals: HashMap<TotalKey, Delta>,
    pub(super) holdings: HashMap<HoldingKey, Delta>,
}

impl Feed<'_> {
    /// Returns the reason if a state cannot be stored.
    pub(super) fn refuses(&self, state: &ProducedState) -> Option<String> {
        let wrong = state.columns.iter().find(|(column, value)| {
            let column = usize::try_from(*column)
                .ok()
                .and_then(|i| self.columns.get(i));
            column
                .is_none_or(|column| !column.kind.fits(value) || column.contract != state.contract)
        });
        wrong.map(|(column, value)| format!("{value:?} in column {column} of {}", state.contract))
    }

    /// Inserts the row of a state that a transaction has produced.
    pub(super) fn produce(&mut self, id: i64, state: &ProducedState) -> rusqlite::Result<()> {
        let transaction = &self.transaction;
        let contract =
            self.contracts
                .number(transaction, state.contract.as_bytes(), &state.contract, &[])?;
        let notary = self.keys.number(
            transaction,
            &state.notary,
            &state.notary.as_slice(),
            &[&NOBODY],
        )?;
        let owner = match &state.owner {
            Some(owner) => {
                let party = state.owner_party.as_ref().map(<[u8; 32]>::as_slice);
                Some(self.keys.number(transaction, owner, owner, &[&party])?)
            }
            None => None,
        };
        let token = match &state.token {
            Some(token) => {
                let id = token.id.as_slice();
                Some(
                    self.tokens
                        .number(transaction, id, &id, &[&token.symbol, &token.issuer])?,
                )
            }
            None => None,
        };
        let quantity = token.map(|_| quantity_value(state.quantity));
        transaction
            .prepare_cached(
                "INSERT INTO state (id, tx, contract, token, quantity, owner, notary, recorded_at, participants, data, \
                 linear_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                id,
                state.tx.as_slice(),
                contract,
                token,
                quantity,
                owner,
                notary,
                clamped(state.recorded_at),
                state.participants,
                state.state,
                state.linear_id
            ])?;
        if let (Some(owner), None) = (owner, &state.participants)
            && !self.sole_owners.contains(&owner)
        {
            transaction
                .prepare_cached("INSERT OR IGNORE INTO sole_owner (key) VALUES (?1)")?
                .execute([owner])?;
            if self.sole_owners.len() >= SOLE_OWNERS_MAX {
                self.sole_owners.clear();
            }
            self.sole_owners.insert(owner);
        }
        for (bytes, party) in &state.participant_keys {
            let party = party.as_ref().map(<[u8; 32]>::as_slice);
            let key = self.keys.number(transaction, bytes, bytes, &[&party])?;
            transaction
                .prepare_cached("INSERT OR IGNORE INTO participant (key, state) VALUES (?1, ?2)")?
                .execute(params![key, id])?;
        }
        for (column, value) in &state.columns {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO extra (state, column, value) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![id, column, column_value(value)])?;
        }
        let counted = Counted {
            token,
            contract,
            notary,
            owner,
            quantity: token.map_or(0, |_| state.quantity),
        };
        self.count(&counted, Standing::Unconsumed, 1);
        Ok(())
    }

    /// Adds a state to the totals of its standing (`sign` 1), or takes it away (-1).
    fn count(&mut self, state: &Counted, standing: Standing, sign: i64) {
        // 0 is no row's number: it stands for no token and no owner.
        let (token, owner) = (state.token.unwrap_or(0), state.owner.unwrap_or(0));
        let total = self
            .totals
            .entry((token, state.contract, state.notary, standing));
        total.or_default().add(state.quantity, sign);
        if standing != Standing::Consumed {
            let quarantined = standing == Standing::Quarantined;
            let key = (owner, token, state.contract, state.notary, quarantined);
            let holding = self.holdings.entry(key);
            holding.or_default().add(state.quantity, sign);
        }
    }

    /// Marks a state as consumed, which ends its quarantine.
    pub(super) fn consume(&mut self, state: &ConsumedState) -> rusqlite::Result<()> {
        // A place that does not fit a key is not in the view.
        let place = state_id(state.of_seq, state.output);
        let gone = self
            .transaction
            .prepare_cached(
                "UPDATE state SET consumed_seq = ?1, consumed_at = ?2 \
                 WHERE id = ?3 AND consumed_seq IS NULL RETURNING token, contract, notary, owner, quantity",
            )?
            .query_map(
                params![clamped(state.seq), clamped(state.at), place],
                Counted::of,
            )?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        for gone in gone {
            let left = self
                .transaction
                .prepare_cached("DELETE FROM quarantined WHERE state = ?1")?
                .execute([place])?;
            let standing = match left {
                0 => Standing::Unconsumed,
                _ => Standing::Quarantined,
            };
            self.count(&gone, standing, -1);
            self.count(&gone, Standing::Consumed, 1);
        }
        Ok(())
    }

    /// Puts an unconsumed state into quarantine.
    pub(super) fn quarantine(&mut self, state: &QuarantinedState) -> rusqlite::Result<()> {
        let Some(place) = state_id(state.of_seq, state.output) else {
            return Ok(());
        };
        let held = self
            .transaction
            .prepare_cached(
                "SELECT token, contract, notary, owner, quantity FROM state WHERE id = ?1 AND consumed_seq IS NULL",
            )?
            .query_row([place], Counted::of)
            .optional()?;
        let Some(held) = held else { return Ok(()) };
        let added = self
            .transaction
            .prepare_cached("INSERT OR IGNORE INTO quarantined (state) VALUES (?1)")?
            .execute([place])?;
        if added > 0 {
            self.count(&held, Standing::Unconsumed, -1);
            self.count(&held, Standing::Quarantined, 1);
        }
        Ok(())
    }

    pub(super) fn finish(self, upto: u64) -> rusqlite::Result<()> {
        for ((token, contract, notary, standing), delta) in &self.totals {
            self.transaction
                .prepare_cached(
                    "INSERT INTO total VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET \
                     states = states + ?6, high = high + ?7, low = low + ?8",
                )?
                .execute(params![
                    token,
                    contract,
                    notary,
                    *standing == Standing::Consumed,
                    *standing == Standing::Quarantined,
                    delta.states,
                    delta.high,
                    delta.low
                ])?;
        }
        for ((owner, token, contract, notary, quarantined), delta) in &self.holdings {
            let states: i64 = self
                .transaction
                .prepare_cached(
                    "INSERT INTO holding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET \
                     states = states + ?6, high = high + ?7, low = low + ?8 RETURNING states",
                )?
                .query_row(
                    params![
                        owner,
                        token,
                        contract,
                        notary,
                        quarantined,
                        delta.states,
                        delta.high,
                        delta.low
                    ],
                    |row| row.get(0),
                )?;
            // Without this deletion, the rows of keys that are used only once would stay forever.
            if states == 0 {
                self.transaction
                    .prepare_cached(
                        "DELETE FROM holding WHERE owner = ?1 AND token = ?2 AND contract = ?3 AND notary = ?4 \
                         AND quarantined = ?5",
                    )?
                    .execute(params![owner, token, contract, notary, quarantined])?;
            }
        }
        self.transaction
            .prepare_cached("UPDATE cursor SET upto = ?1")?
            .execute([clamped(upto)])?;
        self.transaction.commit()
    }
}

/// Returns a value in the form of the side table's column.
pub(super) fn column_value(value: &Datum) -> Value {
    match value {
        Datum::Number(number) => quantity_value(*number),
        Datum::Text(text) => Value::Text(text.clone()),
        Datum::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}
