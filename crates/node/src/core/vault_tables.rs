//! The vault's tables for SQL users on a database server: the rows of the SQLite view, with names and texts instead of numbers.
//!
//! The ledger is read a page at a time with the [`Filler`] of the view, so both hold the same states. The tables never ask the view.

use kernel::port::{Reads, StoreFailure, Table, damaged};
use kernel::rows::seq_of;
use ledger::PartyId;
use pgstore::{
    ConsumedVaultState, VaultBatch, VaultSource, VaultState, VaultToken, VaultTransaction,
};
use primitives::hex;
use vaultview::{Datum, ProducedState, ViewChange};

use super::quarantine;
use super::view_fill::{FilledPage, Filler};

/// Transactions of one batch. The bytes of a page of the ledger are bounded, too.
const BATCH_TRANSACTIONS: usize = 1_000;
/// Changes from which a batch takes no further transaction.
const BATCH_CHANGES: usize = 4_000;
/// Changes with every change of the rows: tables of another version are filled again.
const VERSION: u32 = 1;

/// The ledger as the source of the tables.
pub(super) struct VaultTables<R> {
    pub(super) filler: Filler<R>,
}

impl<R: Reads + Send> VaultSource for VaultTables<R> {
    fn party(&self) -> String {
        self.name(&self.filler.me)
    }

    /// The version, and the columns that the contracts declare.
    fn form(&self) -> String {
        let columns = self.filler.columns.list().iter();
        let columns = columns.map(|column| {
            let kind = format!("{:?}", column.kind).to_lowercase();
            format!(" {}.{}:{kind}", column.contract, column.name)
        });
        format!("{VERSION}{}", columns.collect::<String>())
    }

    fn end(&self) -> Result<u64, StoreFailure> {
        let Some((key, _)) = self.filler.reads.last(Table::Ledger)? else {
            return Ok(0);
        };
        seq_of(&key).ok_or_else(|| damaged("the last key of the ledger"))
    }

    fn batch(&self, after: u64, end: u64) -> Result<Option<VaultBatch>, StoreFailure> {
        let page = self
            .filler
            .page(after, end, BATCH_TRANSACTIONS, BATCH_CHANGES)?;
        let Some(FilledPage {
            upto,
            transactions,
            rows,
        }) = page
        else {
            return Ok(None);
        };
        let transactions: Vec<_> = transactions
            .into_iter()
            .map(|(sequence, id, at)| VaultTransaction {
                sequence,
                id: *id.as_bytes(),
                recorded_at: at.as_ms(),
            })
            .collect();
        let mut batch = VaultBatch {
            after,
            upto,
            ..VaultBatch::default()
        };
        for row in rows {
            match row {
                ViewChange::Produced(produced) => batch.states.push(self.state(produced)),
                ViewChange::Consumed(consumed) => {
                    let by = transactions
                        .binary_search_by_key(&consumed.seq, |transaction| transaction.sequence);
                    let by = by.map_err(|_| damaged("a consumed state of another page"))?;
                    batch.consumed.push(ConsumedVaultState {
                        of_sequence: consumed.of_seq,
                        output: consumed.output,
                        by: transactions[by].clone(),
                    });
                }
                // Not a change of the ledger.
                ViewChange::Quarantined(_) => {}
            }
        }
        batch.transactions = transactions;
        Ok(Some(batch))
    }

    fn quarantined(&self) -> Result<Vec<(u64, u32)>, StoreFailure> {
        let mut places = Vec::new();
        for state in quarantine::all(&self.filler.reads)? {
            let of_seq = self.filler.reads.get(Table::TxIndex, state.tx.as_bytes())?;
            if let Some(of_seq) = of_seq.as_deref().and_then(seq_of) {
                places.push((of_seq, state.index));
            }
        }
        Ok(places)
    }
}

impl<R: Reads> VaultTables<R> {
    fn state(&self, state: ProducedState) -> VaultState {
        let name = |id: Option<[u8; 32]>| id.map(|id| self.name(&PartyId::from_array(id)));
        // A sole participant is the owner, whom the view does not list again.
        let participants = match (&state.owner, &state.participants) {
            (Some(owner), None) => vec![(owner.clone(), name(state.owner_party))],
            _ => (state.participant_keys.into_iter())
                .map(|(key, party)| (key, name(party)))
                .collect(),
        };
        let fields = state.columns.into_iter().filter_map(|(place, value)| {
            let column = self.filler.columns.get(place)?;
            Some((column.name.clone(), json(value)))
        });
        VaultState {
            transaction: VaultTransaction {
                sequence: state.seq,
                id: state.tx,
                recorded_at: state.recorded_at,
            },
            output: state.output,
            contract: state.contract,
            notary: self.name(&PartyId::from_array(state.notary)),
            owner: name(state.owner_party),
            owner_key: state.owner,
            token: state.token.map(|token| VaultToken {
                id: token.id,
                symbol: token.symbol,
                issuer: token.issuer,
                quantity: state.quantity,
            }),
            linear_id: state.linear_id,
            fields: serde_json::Value::Object(fields.collect()).to_string(),
            participants,
        }
    }

    /// Returns a party's name, or its id if the network map lacks it.
    fn name(&self, id: &PartyId) -> String {
        match self.filler.network.party(id) {
            Some(party) => party.name.to_string(),
            None => id.to_string(),
        }
    }
}

/// Returns a value in JSON, without U+0000, which PostgreSQL's JSON cannot hold.
fn json(value: Datum) -> serde_json::Value {
    match value {
        Datum::Number(number) => number.into(),
        Datum::Text(text) => text.replace('\0', "\u{fffd}").into(),
        Datum::Bytes(bytes) => hex::encode(&bytes).into(),
    }
}
