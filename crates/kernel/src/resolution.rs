//! The requester's side of resolution: one back chain being fetched from one peer, then verified oldest first.
//!
//! # Invariants
//! - Only transactions that something already received depends on are accepted.
//! - Every request names all that is still missing, so positions only ever fall and nothing comes twice.
//! - Memory is bounded by [`STAGED_BYTES_MAX`] and [`FETCH_WANTED_MAX`] ids; the rest waits in the staging table.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{PartyId, SignedTransaction, TxId};
use primitives::Decode;

use crate::book::Book;
use crate::fetch::dependencies;
use crate::message::{FETCH_WANTED_MAX, FetchRequest, FetchResponse};
use crate::port::{Reads, StoreFailure, Table, WriteBatch};
use crate::rows::{prefix_end, seq_of};

/// Most bytes of one chain kept in memory; what is more waits in the staging table.
pub const STAGED_BYTES_MAX: usize = 1 << 20;
/// Transactions in the first answer asked for; doubles with each one.
const FIRST_TRANSACTIONS: u32 = 16;
/// Bytes in each answer asked for.
const ANSWER_BYTES: u32 = 512 << 10;
/// Transactions verified in one step.
pub const VERIFY_CHUNK: usize = 256;

/// Why a back chain can't be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolutionError {
    /// The peer sent something that was not asked for, or does not decode.
    Unsolicited(String),
    /// The peer does not have what it refers to.
    Unavailable(TxId),
    /// More unrelated ancestors at once than the limit.
    TooWide,
}

/// See the module.
#[derive(Debug)]
pub struct Resolution {
    /// Names the resolution in requests and staging keys.
    pub number: u64,
    /// Where the chain comes from.
    pub peer: PartyId,
    missing: BTreeSet<TxId>,
    staged: BTreeMap<u64, Vec<u8>>,
    staged_bytes: usize,
    spilled: bool,
    spilled_undurable: Option<u64>,
    last_position: u64,
    transactions_max: u32,
    steps: u32,
}

impl Resolution {
    /// Begins to fetch what is missing.
    pub fn new(number: u64, peer: PartyId, missing: BTreeSet<TxId>) -> Self {
        Self {
            number,
            peer,
            missing,
            staged: BTreeMap::new(),
            staged_bytes: 0,
            spilled: false,
            spilled_undurable: None,
            last_position: u64::MAX,
            transactions_max: FIRST_TRANSACTIONS,
            steps: 0,
        }
    }

    /// The next request, or `None` when all is fetched.
    pub fn next_request(&self) -> Option<FetchRequest> {
        if self.missing.is_empty() {
            return None;
        }
        Some(FetchRequest {
            wanted: self.missing.iter().copied().collect(),
            transactions_max: self.transactions_max,
            bytes_max: ANSWER_BYTES,
        })
    }

    /// The number of the next request, each time another one.
    pub fn next_step(&mut self) -> u32 {
        self.steps = self.steps.wrapping_add(1);
        self.steps
    }

    /// Whether everything is fetched and the oldest of it can be read.
    pub fn can_verify(&self) -> bool {
        self.missing.is_empty() && (!self.staged.is_empty() || self.spilled_undurable.is_none())
    }

    /// What is still to be fetched.
    pub fn missing(&self) -> &BTreeSet<TxId> {
        &self.missing
    }

    /// Takes an answer; returns the ids that are staged now.
    pub fn accept(
        &mut self,
        response: FetchResponse,
        book: &Book,
        reads: &dyn Reads,
    ) -> Result<Result<Vec<TxId>, ResolutionError>, StoreFailure> {
        if let Some(unknown) = response.unknown.iter().find(|id| self.missing.contains(id)) {
            return Ok(Err(ResolutionError::Unavailable(*unknown)));
        }
        if response.transactions.is_empty() {
            return Ok(Err(ResolutionError::Unsolicited("an empty answer".into())));
        }
        let mut accepted = Vec::new();
        for (position, bytes) in response.transactions {
            if position >= self.last_position {
                return Ok(Err(ResolutionError::Unsolicited(
                    "positions do not fall".into(),
                )));
            }
            self.last_position = position;
            let transaction = match SignedTransaction::from_bytes(&bytes) {
                Ok(transaction) => transaction,
                Err(error) => return Ok(Err(ResolutionError::Unsolicited(error.to_string()))),
            };
            let id = transaction.id();
            if !self.missing.remove(&id) {
                return Ok(Err(ResolutionError::Unsolicited(format!(
                    "transaction {id} was not asked for"
                ))));
            }
            if book.contains(&id, reads)? {
                continue;
            }
            for dependency in dependencies(&transaction) {
                if !book.contains(&dependency, reads)? {
                    self.missing.insert(dependency);
                }
            }
            if self.missing.len() > FETCH_WANTED_MAX {
                return Ok(Err(ResolutionError::TooWide));
            }
            self.staged_bytes += bytes.len();
            self.staged.insert(position, bytes);
            accepted.push(id);
        }
        self.transactions_max = self.transactions_max.saturating_mul(2).min(1_000);
        Ok(Ok(accepted))
    }

    /// Moves what is staged to the store when it has grown too large for memory. Called before the round's commit
    /// `number`; what is spilled is read back only after that commit is durable.
    pub fn spill(&mut self, number: u64, batch: &mut WriteBatch) {
        if self.staged_bytes <= STAGED_BYTES_MAX || self.missing.is_empty() {
            return;
        }
        for (position, bytes) in std::mem::take(&mut self.staged) {
            batch.put(Table::Staging, self.key(position), bytes);
        }
        self.staged_bytes = 0;
        self.spilled = true;
        self.spilled_undurable = Some(number);
    }

    /// All batches up to `number` are durable.
    pub fn committed(&mut self, number: u64) {
        if self.spilled_undurable.is_some_and(|n| n <= number) {
            self.spilled_undurable = None;
        }
    }

    /// The oldest transactions not yet taken, at most [`VERIFY_CHUNK`]; deletes their staging rows in `batch`.
    /// An empty answer with [`Resolution::is_drained`] false means: wait for the commit of what was spilled.
    pub fn take_oldest(
        &mut self,
        reads: &dyn Reads,
        batch: &mut WriteBatch,
    ) -> Result<Vec<Vec<u8>>, StoreFailure> {
        // What is in memory was fetched last, so it is older than everything spilled.
        if !self.staged.is_empty() {
            let mut chunk = Vec::new();
            while chunk.len() < VERIFY_CHUNK
                && let Some((_, bytes)) = self.staged.pop_first()
            {
                self.staged_bytes = self.staged_bytes.saturating_sub(bytes.len());
                chunk.push(bytes);
            }
            return Ok(chunk);
        }
        if !self.spilled || self.spilled_undurable.is_some() {
            return Ok(Vec::new());
        }
        let from = self.key(self.last_taken());
        let to = prefix_end(&self.number.to_be_bytes());
        let rows = reads.scan(Table::Staging, &from, to.as_deref(), VERIFY_CHUNK)?;
        if rows.is_empty() {
            self.spilled = false;
        }
        let mut chunk = Vec::with_capacity(rows.len());
        for (key, bytes) in rows {
            if let Some(position) = seq_of(&key) {
                self.last_position = position;
            }
            batch.delete(Table::Staging, key);
            chunk.push(bytes);
        }
        Ok(chunk)
    }

    /// Whether every fetched transaction was taken.
    pub fn is_drained(&self) -> bool {
        self.missing.is_empty() && self.staged.is_empty() && !self.spilled
    }

    /// Deletes what is left in the staging table, after a failure.
    pub fn discard(&self, reads: &dyn Reads, batch: &mut WriteBatch) -> Result<(), StoreFailure> {
        if !self.spilled {
            return Ok(());
        }
        let to = prefix_end(&self.number.to_be_bytes());
        let mut from = self.number.to_be_bytes().to_vec();
        loop {
            let rows = reads.scan(Table::Staging, &from, to.as_deref(), 1_000)?;
            let Some((last, _)) = rows.last() else {
                return Ok(());
            };
            from = [last.as_slice(), &[0]].concat();
            for (key, _) in rows {
                batch.delete(Table::Staging, key);
            }
        }
    }

    /// Verification goes upwards from below the lowest position fetched.
    fn last_taken(&self) -> u64 {
        // Rows taken before are deleted in batches that may not be durable yet, so start behind the last one taken.
        self.last_position.saturating_add(1)
    }

    fn key(&self, position: u64) -> Vec<u8> {
        [self.number.to_be_bytes(), position.to_be_bytes()].concat()
    }
}
