//! A part of the ledger as rows of the vault tables, and its values as arrays for one statement.

use std::collections::HashMap;

use primitives::hex;
use primitives::storage::StoreFailure;
use tokio_postgres::types::ToSql;

use crate::error::DatabaseError;

/// The last millisecond of the year 9999. Later times are clipped, because the server does not take all of them.
const TIME_MS_MAX: u64 = 253_402_300_799_999;

/// A transaction of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultTransaction {
    /// Its sequence in the ledger.
    pub sequence: u64,
    /// Its id.
    pub id: [u8; 32],
    /// When it was recorded, in ms since the Unix epoch.
    pub recorded_at: u64,
}

/// A quantity of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultToken {
    /// The token's id.
    pub id: [u8; 32],
    /// Its symbol.
    pub symbol: String,
    /// The issuer's name.
    pub issuer: String,
    /// The quantity in minor units.
    pub quantity: u64,
}

/// A state that the vault keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultState {
    /// The transaction that produced it.
    pub transaction: VaultTransaction,
    /// The output's index.
    pub output: u32,
    /// The contract's name.
    pub contract: String,
    /// The notary's name.
    pub notary: String,
    /// The owner's name, if it is known.
    pub owner: Option<String>,
    /// The owner's key, encoded.
    pub owner_key: Option<Vec<u8>>,
    /// The token, if the state is fungible.
    pub token: Option<VaultToken>,
    /// The linear id, if the state is linear.
    pub linear_id: Option<[u8; 32]>,
    /// A JSON object of the columns that the contract declares, without the character U+0000.
    pub fields: String,
    /// The participants' keys, encoded, with their names if these are known.
    pub participants: Vec<(Vec<u8>, Option<String>)>,
}

/// A state that a transaction consumed. It is ignored if the tables do not hold the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedVaultState {
    /// The sequence of the transaction that produced it.
    pub of_sequence: u64,
    /// The output's index.
    pub output: u32,
    /// The consuming transaction.
    pub by: VaultTransaction,
}

/// The next transactions of the ledger, with the states that they produced and consumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultBatch {
    /// The position that the batch follows.
    pub after: u64,
    /// The position that it leads to.
    pub upto: u64,
    /// All transactions in between.
    pub transactions: Vec<VaultTransaction>,
    /// The states that they produced.
    pub states: Vec<VaultState>,
    /// The states that they consumed.
    pub consumed: Vec<ConsumedVaultState>,
}

/// The ledger as the vault tables need it.
pub trait VaultSource: Send {
    /// Returns the name of the node's party.
    fn party(&self) -> String;

    /// Names the form of the rows. If the tables were filled in another form, they are filled again.
    fn form(&self) -> String;

    /// Returns the sequence of the ledger's last transaction, 0 if there is none.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn end(&self) -> Result<u64, StoreFailure>;

    /// Returns the next transactions after `after`, at most some thousand rows of them, or `None` if there are none up to `end`.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn batch(&self, after: u64, end: u64) -> Result<Option<VaultBatch>, StoreFailure>;

    /// Returns the sequences and output indexes of all states in quarantine.
    ///
    /// # Errors
    /// The ledger cannot be read.
    fn quarantined(&self) -> Result<Vec<(u64, u32)>, StoreFailure>;
}

/// The values of a batch in the order of the statement.
#[derive(Default)]
pub(crate) struct BatchValues {
    /// `$1` and `$2`.
    upto: i64,
    after: i64,
    /// `$3` and `$4`.
    fence: i64,
    end: i64,
    /// `$5` to `$7`: transactions.
    transactions: (Vec<i64>, Vec<String>, Vec<i64>),
    /// `$8` to `$21`: states.
    state_sequences: Vec<i64>,
    state_outputs: Vec<i64>,
    state_texts: [Vec<Option<String>>; 11],
    state_times: Vec<i64>,
    /// `$22` to `$24`: the transactions that consumed these states.
    consumed_by: (Vec<Option<i64>>, Vec<Option<String>>, Vec<Option<i64>>),
    /// `$25` to `$29`: participants.
    participants: (
        Vec<i64>,
        Vec<i64>,
        Vec<i64>,
        Vec<String>,
        Vec<Option<String>>,
    ),
    /// `$30` to `$34`: consumed states of earlier batches.
    consumed: (Vec<i64>, Vec<i64>, Vec<i64>, Vec<String>, Vec<i64>),
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
            values.transactions.0.push(number(transaction.sequence)?);
            values.transactions.1.push(hex::encode(&transaction.id));
            values.transactions.2.push(time(transaction.recorded_at));
        }
        // A statement does not see the rows that it inserts, so these states are inserted as consumed.
        let mut places = HashMap::new();
        for (place, state) in batch.states.into_iter().enumerate() {
            places.insert((state.transaction.sequence, state.output), place);
            values.add_state(state)?;
        }
        for state in batch.consumed {
            let by = state.by;
            let (sequence, id) = (number(by.sequence)?, hex::encode(&by.id));
            let at = time(by.recorded_at);
            match places.get(&(state.of_sequence, state.output)) {
                Some(place) => {
                    values.consumed_by.0[*place] = Some(sequence);
                    values.consumed_by.1[*place] = Some(id);
                    values.consumed_by.2[*place] = Some(at);
                }
                None => {
                    values.consumed.0.push(number(state.of_sequence)?);
                    values.consumed.1.push(i64::from(state.output));
                    values.consumed.2.push(sequence);
                    values.consumed.3.push(id);
                    values.consumed.4.push(at);
                }
            }
        }
        Ok(values)
    }

    fn add_state(&mut self, state: VaultState) -> Result<(), DatabaseError> {
        let transaction = &state.transaction;
        let (sequence, output) = (number(transaction.sequence)?, i64::from(state.output));
        self.state_sequences.push(sequence);
        self.state_outputs.push(output);
        self.state_times.push(time(transaction.recorded_at));
        let id = Some(hex::encode(&transaction.id));
        let hex_of = |bytes: Option<[u8; 32]>| bytes.map(|bytes| hex::encode(&bytes));
        let (token, symbol, issuer, quantity) = match state.token {
            Some(token) => (
                hex_of(Some(token.id)),
                Some(text(token.symbol)),
                Some(text(token.issuer)),
                Some(token.quantity.to_string()),
            ),
            None => (None, None, None, None),
        };
        let texts = [
            id,
            Some(text(state.contract)),
            Some(text(state.notary)),
            state.owner.map(text),
            state.owner_key.map(|key| hex::encode(&key)),
            token,
            symbol,
            issuer,
            quantity,
            hex_of(state.linear_id),
            Some(state.fields),
        ];
        for (column, value) in self.state_texts.iter_mut().zip(texts) {
            column.push(value);
        }
        self.consumed_by.0.push(None);
        self.consumed_by.1.push(None);
        self.consumed_by.2.push(None);
        for (position, (key, party)) in (0..).zip(state.participants) {
            self.participants.0.push(sequence);
            self.participants.1.push(output);
            self.participants.2.push(position);
            self.participants.3.push(hex::encode(&key));
            self.participants.4.push(party.map(text));
        }
        Ok(())
    }

    /// Returns the values of the statement.
    pub(crate) fn values(&self) -> [&(dyn ToSql + Sync); 34] {
        let [
            id,
            contract,
            notary,
            owner,
            owner_key,
            token,
            symbol,
            issuer,
            quantity,
            linear,
            fields,
        ] = &self.state_texts;
        [
            &self.upto,
            &self.after,
            &self.fence,
            &self.end,
            &self.transactions.0,
            &self.transactions.1,
            &self.transactions.2,
            &self.state_sequences,
            &self.state_outputs,
            id,
            contract,
            notary,
            owner,
            owner_key,
            token,
            symbol,
            issuer,
            quantity,
            linear,
            fields,
            &self.state_times,
            &self.consumed_by.0,
            &self.consumed_by.1,
            &self.consumed_by.2,
            &self.participants.0,
            &self.participants.1,
            &self.participants.2,
            &self.participants.3,
            &self.participants.4,
            &self.consumed.0,
            &self.consumed.1,
            &self.consumed.2,
            &self.consumed.3,
            &self.consumed.4,
        ]
    }

    /// Returns the number of rows that the statement writes.
    pub(crate) fn rows(&self) -> u64 {
        let rows = self.transactions.0.len()
            + self.state_sequences.len()
            + self.participants.0.len()
            + self.consumed.0.len();
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
