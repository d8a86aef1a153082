//! The values of a batch of the vault tables, as arrays for one statement.

use std::collections::HashMap;

use primitives::hex;
use tokio_postgres::types::ToSql;

use crate::error::DatabaseError;
use crate::vault_batch::{VaultBatch, VaultState, VaultTransaction};

/// The last millisecond of the year 9999. Later times are clipped, because the server does not take all of them.
const TIME_MS_MAX: u64 = 253_402_300_799_999;
/// Columns of a state that are sent as text.
const STATE_TEXTS: usize = 11;

/// The values of a batch in the order of the statement.
#[derive(Default)]
pub(crate) struct BatchValues {
    upto: i64,
    after: i64,
    fence: i64,
    end: i64,
    transactions: Transactions,
    states: States,
    participants: Participants,
    consumed: Consumed,
}

#[derive(Default)]
struct Transactions {
    sequences: Vec<i64>,
    ids: Vec<String>,
    times: Vec<i64>,
}

#[derive(Default)]
struct States {
    sequences: Vec<i64>,
    outputs: Vec<i64>,
    texts: [Vec<Option<String>>; STATE_TEXTS],
    times: Vec<i64>,
    /// The transactions of the same batch that consume them.
    by_sequences: Vec<Option<i64>>,
    by_ids: Vec<Option<String>>,
    by_times: Vec<Option<i64>>,
}

#[derive(Default)]
struct Participants {
    sequences: Vec<i64>,
    outputs: Vec<i64>,
    positions: Vec<i64>,
    keys: Vec<String>,
    parties: Vec<Option<String>>,
}

/// Consumed states of earlier batches.
#[derive(Default)]
struct Consumed {
    of_sequences: Vec<i64>,
    outputs: Vec<i64>,
    by: Transactions,
}

impl Transactions {
    fn push(&mut self, transaction: &VaultTransaction) -> Result<(), DatabaseError> {
        self.sequences.push(number(transaction.sequence)?);
        self.ids.push(hex::encode(&transaction.id));
        self.times.push(time(transaction.recorded_at));
        Ok(())
    }
}

impl States {
    fn push(&mut self, state: VaultState) -> Result<(), DatabaseError> {
        let transaction = state.transaction;
        self.sequences.push(number(transaction.sequence)?);
        self.outputs.push(i64::from(state.output));
        self.times.push(time(transaction.recorded_at));
        let (token, symbol, issuer, quantity) = match state.token {
            Some(token) => (
                Some(hex::encode(&token.id)),
                Some(text(token.symbol)),
                Some(text(token.issuer)),
                Some(token.quantity.to_string()),
            ),
            None => (None, None, None, None),
        };
        let texts: [_; STATE_TEXTS] = [
            Some(hex::encode(&transaction.id)),
            Some(text(state.contract)),
            Some(text(state.notary)),
            state.owner.map(text),
            state.owner_key.map(|key| hex::encode(&key)),
            token,
            symbol,
            issuer,
            quantity,
            state.linear_id.map(|id| hex::encode(&id)),
            Some(state.fields),
        ];
        for (column, value) in self.texts.iter_mut().zip(texts) {
            column.push(value);
        }
        self.by_sequences.push(None);
        self.by_ids.push(None);
        self.by_times.push(None);
        Ok(())
    }

    fn consume(&mut self, place: usize, by: &VaultTransaction) -> Result<(), DatabaseError> {
        self.by_sequences[place] = Some(number(by.sequence)?);
        self.by_ids[place] = Some(hex::encode(&by.id));
        self.by_times[place] = Some(time(by.recorded_at));
        Ok(())
    }
}

impl Participants {
    fn push(&mut self, state: &mut VaultState) -> Result<(), DatabaseError> {
        let sequence = number(state.transaction.sequence)?;
        for (position, (key, party)) in (0..).zip(std::mem::take(&mut state.participants)) {
            self.sequences.push(sequence);
            self.outputs.push(i64::from(state.output));
            self.positions.push(position);
            self.keys.push(hex::encode(&key));
            self.parties.push(party.map(text));
        }
        Ok(())
    }
}

impl BatchValues {
    /// `fence` is that of the lease, `end` the ledger's end.
    ///
    /// # Errors
    /// A number does not fit a column.
    pub(crate) fn of(batch: VaultBatch, fence: i64, end: u64) -> Result<Self, DatabaseError> {
        let mut values = Self {
            upto: number(batch.upto)?,
            after: number(batch.after)?,
            fence,
            end: number(end)?,
            ..Self::default()
        };
        for transaction in &batch.transactions {
            values.transactions.push(transaction)?;
        }
        // A statement does not see the rows that it inserts, so these states are inserted as consumed.
        let mut places = HashMap::new();
        for (place, mut state) in batch.states.into_iter().enumerate() {
            places.insert((state.transaction.sequence, state.output), place);
            values.participants.push(&mut state)?;
            values.states.push(state)?;
        }
        for state in batch.consumed {
            if let Some(place) = places.get(&(state.of_sequence, state.output)) {
                values.states.consume(*place, &state.by)?;
                continue;
            }
            let consumed = &mut values.consumed;
            consumed.of_sequences.push(number(state.of_sequence)?);
            consumed.outputs.push(i64::from(state.output));
            consumed.by.push(&state.by)?;
        }
        Ok(values)
    }

    /// Returns the values of the statement.
    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let Self {
            transactions,
            states,
            participants,
            consumed,
            ..
        } = self;
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            // $1 to $4
            &self.upto,
            &self.after,
            &self.fence,
            &self.end,
            // $5 to $7
            &transactions.sequences,
            &transactions.ids,
            &transactions.times,
            // $8 to $24
            &states.sequences,
            &states.outputs,
        ];
        for texts in &states.texts {
            values.push(texts);
        }
        let others: [&(dyn ToSql + Sync); 14] = [
            &states.times,
            &states.by_sequences,
            &states.by_ids,
            &states.by_times,
            // $25 to $29
            &participants.sequences,
            &participants.outputs,
            &participants.positions,
            &participants.keys,
            &participants.parties,
            // $30 to $34
            &consumed.of_sequences,
            &consumed.outputs,
            &consumed.by.sequences,
            &consumed.by.ids,
            &consumed.by.times,
        ];
        values.extend(others);
        values
    }

    /// Returns the number of rows that the statement writes.
    pub(crate) fn rows(&self) -> u64 {
        let rows = self.transactions.sequences.len()
            + self.states.sequences.len()
            + self.participants.sequences.len()
            + self.consumed.of_sequences.len();
        rows as u64
    }
}

/// Returns a sequence as the server stores it.
pub(crate) fn number(sequence: u64) -> Result<i64, DatabaseError> {
    i64::try_from(sequence).map_err(|_| {
        DatabaseError::Server(format!(
            "the ledger has the sequence {sequence}, expected less than 2^63"
        ))
    })
}

fn time(at: u64) -> i64 {
    // At most TIME_MS_MAX, which fits.
    i64::try_from(at.min(TIME_MS_MAX)).unwrap_or(i64::MAX)
}

/// Replaces the character U+0000, which PostgreSQL's texts cannot hold.
fn text(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    }
}
