//! The requester's side of resolution: one back chain being fetched from one peer, then verified oldest first.
//!
//! # Invariants
//! - A transaction is accepted only if an already received one depends on it. Everything fetched is therefore an ancestor of the
//!   root, and a fault in it is a fault of the root.
//! - Every request names all missing ids, so positions only fall and no transaction comes twice.
//! - Memory is bounded by [`STAGED_BYTES_MAX`], one answer and [`FETCH_WANTED_MAX`] ids; the rest waits in the staging table.
//! - Nothing is verified before all is fetched, so a peer can invent ancestors without end. The bytes of one chain are bounded, and
//!   those of all chains of a peer by its share of a budget of the node.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{PartyId, SignedTransaction, TxId};
use primitives::{Decode, Decoder, Encoder};

use crate::back_chains::answers::{FETCH_TRANSACTIONS_MAX, dependencies};
use crate::ledger_book::Book;
use crate::message::{FETCH_WANTED_MAX, FetchRequest, FetchResponse};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::writes::{Batch, RowRange, Writer};

/// Maximum size of one chain in memory, in bytes. Beyond it the fetched part is moved to the staging table.
pub const STAGED_BYTES_MAX: usize = 256 << 10;
/// Maximum size of the transactions in one row of the staging table, in bytes. A single transaction may exceed it.
const STAGING_ROW_BYTES: usize = 256 << 10;
/// Number of transactions requested in the first answer. It doubles with each answer.
const FIRST_TRANSACTIONS: u32 = 16;
/// Size requested for each answer, in bytes.
const ANSWER_BYTES: u32 = 512 << 10;
/// Transactions verified in one step: one row of the staging table, or this many from memory.
pub const VERIFY_CHUNK: usize = 256;

/// Why a back chain can't be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolutionError {
    /// The peer's answer was not requested, or does not decode.
    Unsolicited(String),
    /// The peer lacks an ancestor of a transaction that it sent.
    Unavailable(TxId),
    /// More unrelated ancestors at once than the limit.
    TooWide,
    /// More bytes than the limit.
    TooLong,
    /// More bytes than the peer's share of the node has room for now.
    NoRoom,
}

/// The back chain of one transaction while it is fetched and verified.
#[derive(Debug)]
pub struct Resolution {
    /// Names the resolution in requests and staging keys.
    pub number: u64,
    /// The transaction whose ancestors these are.
    pub root: TxId,
    /// The peer that the chain is fetched from.
    pub peer: PartyId,
    missing: BTreeSet<TxId>,
    staged: BTreeMap<u64, (TxId, Vec<u8>)>,
    staged_bytes: usize,
    /// First positions of the rows in the staging table.
    rows: BTreeSet<u64>,
    /// The commit that holds the last of those rows, while it is not durable.
    undurable: Option<u64>,
    last_position: u64,
    transactions_max: u32,
    /// Maximum number of transactions that an answer may grow to.
    answer_max: u32,
    steps: u32,
    fetched_bytes: u64,
    bytes_max: u64,
    /// Bytes of the fetched transactions that were not taken to be verified yet, in memory and in the staging table.
    held_bytes: u64,
}

impl Writer for Resolution {
    const ROWS: &'static [RowRange] = &[RowRange::table(Table::Staging)];
}

impl Resolution {
    /// Begins to fetch the missing transactions. Together they may take up to `bytes_max` bytes.
    pub fn new(
        number: u64,
        root: TxId,
        peer: PartyId,
        missing: BTreeSet<TxId>,
        bytes_max: u64,
    ) -> Self {
        Self {
            number,
            root,
            peer,
            missing,
            staged: BTreeMap::new(),
            staged_bytes: 0,
            rows: BTreeSet::new(),
            undurable: None,
            last_position: u64::MAX,
            transactions_max: FIRST_TRANSACTIONS,
            answer_max: FETCH_TRANSACTIONS_MAX as u32,
            steps: 0,
            fetched_bytes: 0,
            bytes_max,
            held_bytes: 0,
        }
    }

    /// Limits each further request to one transaction.
    pub fn fetch_one_by_one(&mut self) {
        (self.transactions_max, self.answer_max) = (1, 1);
    }

    /// Returns the next request, or `None` if everything is fetched.
    pub fn next_request(&self) -> Option<FetchRequest> {
        if self.missing.is_empty() {
            return None;
        }
        Some(FetchRequest {
            root: self.root,
            wanted: self.missing.iter().copied().collect(),
            transactions_max: self.transactions_max,
            bytes_max: ANSWER_BYTES,
        })
    }

    /// Returns a new number for the next request.
    pub fn next_step(&mut self) -> u32 {
        self.steps = self.steps.wrapping_add(1);
        self.steps
    }

    /// Returns the number of the last request.
    pub fn step(&self) -> u32 {
        self.steps
    }

    /// Returns whether everything is fetched and the oldest transactions can be read.
    pub fn can_verify(&self) -> bool {
        self.missing.is_empty() && (!self.staged.is_empty() || self.undurable.is_none())
    }

    /// Returns the ids that are still to be fetched.
    pub fn missing(&self) -> &BTreeSet<TxId> {
        &self.missing
    }

    /// Returns the bytes of the fetched transactions that were not taken to be verified yet.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Takes an answer whose unknown transactions have at most `room` bytes; returns the ids that are missing since then.
    pub fn accept(
        &mut self,
        response: FetchResponse,
        mut room: u64,
        book: &Book,
        reads: &dyn Reads,
    ) -> Result<Result<Vec<TxId>, ResolutionError>, StoreFailure> {
        if let Err(error) = self.check(&response) {
            return Ok(Err(error));
        }
        let unsolicited = |text: String| Ok(Err(ResolutionError::Unsolicited(text)));
        let mut found = Vec::new();
        // Ancestors of received transactions that are recorded here. The peer cannot know that it may leave them out, so it may
        // send them.
        let mut known: BTreeSet<TxId> = BTreeSet::new();
        for (position, bytes) in response.transactions {
            if position >= self.last_position {
                return unsolicited("positions do not fall".into());
            }
            self.last_position = position;
            let transaction = match SignedTransaction::from_bytes(&bytes) {
                Ok(transaction) => transaction,
                Err(error) => return unsolicited(error.to_string()),
            };
            let id = transaction.id();
            if !self.missing.remove(&id) && !known.remove(&id) {
                return unsolicited(format!("transaction {id} was not asked for"));
            }
            if book.contains(&id, reads)? {
                known.extend(dependencies(&transaction));
                continue;
            }
            for dependency in dependencies(&transaction) {
                if book.contains(&dependency, reads)? {
                    known.insert(dependency);
                } else if self.missing.insert(dependency) {
                    found.push(dependency);
                }
            }
            if self.missing.len() > FETCH_WANTED_MAX {
                return Ok(Err(ResolutionError::TooWide));
            }
            let size = bytes.len() as u64;
            self.fetched_bytes += size;
            if self.fetched_bytes > self.bytes_max {
                return Ok(Err(ResolutionError::TooLong));
            }
            let Some(left) = room.checked_sub(size) else {
                return Ok(Err(ResolutionError::NoRoom));
            };
            room = left;
            self.held_bytes += size;
            self.staged_bytes += bytes.len();
            self.staged.insert(position, (id, bytes));
        }
        // Clipped far above every limit of an answer.
        let more = self.transactions_max.saturating_mul(2);
        self.transactions_max = more.min(self.answer_max);
        Ok(Ok(found))
    }

    fn check(&self, response: &FetchResponse) -> Result<(), ResolutionError> {
        if let Some(unknown) = response.unknown.iter().find(|id| self.missing.contains(id)) {
            return Err(ResolutionError::Unavailable(*unknown));
        }
        let count = response.transactions.len();
        let bytes: usize = response
            .transactions
            .iter()
            .map(|(_, bytes)| bytes.len())
            .sum();
        let too_large = count > 1 && bytes > ANSWER_BYTES as usize;
        if count == 0 || count > self.transactions_max as usize || too_large {
            let text = format!("an answer of {count} transactions in {bytes} bytes");
            return Err(ResolutionError::Unsolicited(text));
        }
        Ok(())
    }

    /// Moves the staged transactions to the store if they take too much memory. It is called before the round's commit `number`,
    /// and these rows are read back only after that commit is durable. Returns the ids that are no longer in memory.
    pub fn spill(&mut self, number: u64, batch: &mut Batch) -> Vec<TxId> {
        if self.staged_bytes <= STAGED_BYTES_MAX || self.missing.is_empty() {
            return Vec::new();
        }
        let mut ids = Vec::with_capacity(self.staged.len());
        let mut row: Vec<Vec<u8>> = Vec::new();
        let (mut first, mut size) = (0, 0);
        for (position, (id, bytes)) in std::mem::take(&mut self.staged) {
            if !row.is_empty() && size + bytes.len() > STAGING_ROW_BYTES {
                self.put_row(first, &std::mem::take(&mut row), batch);
                size = 0;
            }
            if row.is_empty() {
                first = position;
            }
            size += bytes.len();
            row.push(bytes);
            ids.push(id);
        }
        self.put_row(first, &row, batch);
        self.staged_bytes = 0;
        self.undurable = Some(number);
        ids
    }

    fn put_row(&mut self, first: u64, row: &[Vec<u8>], batch: &mut Batch) {
        let mut e = Encoder::new();
        e.array(row.len());
        row.iter().for_each(|bytes| e.bytes(bytes));
        self.rows.insert(first);
        batch
            .of::<Resolution>()
            .put(Table::Staging, self.key(first), e.into_bytes());
    }

    /// Notes that all batches up to `number` are durable.
    pub fn committed(&mut self, number: u64) {
        if self.undurable.is_some_and(|n| n <= number) {
            self.undurable = None;
        }
    }

    /// Takes the oldest transactions that are left: a row of the staging table, which is deleted in `batch`, or up to
    /// [`VERIFY_CHUNK`] from memory. To be called only while [`Resolution::can_verify`].
    pub fn take_oldest(
        &mut self,
        reads: &dyn Reads,
        batch: &mut Batch,
    ) -> Result<Vec<Vec<u8>>, StoreFailure> {
        // Transactions in memory were fetched last, so they are older than all spilled ones.
        if !self.staged.is_empty() {
            let mut chunk = Vec::new();
            while chunk.len() < VERIFY_CHUNK
                && let Some((_, (_, bytes))) = self.staged.pop_first()
            {
                self.staged_bytes -= bytes.len();
                self.held_bytes -= bytes.len() as u64;
                chunk.push(bytes);
            }
            return Ok(chunk);
        }
        let Some(first) = self.rows.pop_first() else {
            assert_eq!(self.held_bytes, 0, "a chain without rows holds nothing");
            return Ok(Vec::new());
        };
        let key = self.key(first);
        let Some(row) = reads.get(Table::Staging, &key)? else {
            return Err(damaged("a fetched part of a back chain is gone"));
        };
        batch.of::<Resolution>().delete(Table::Staging, key);
        let taken = decode_row(&row)
            .ok_or_else(|| damaged("a fetched part of a back chain does not decode"))?;
        let size: u64 = taken.iter().map(|bytes| bytes.len() as u64).sum();
        let held = self.held_bytes.checked_sub(size);
        self.held_bytes =
            held.ok_or_else(|| damaged("a fetched part of a back chain is larger than before"))?;
        Ok(taken)
    }

    /// Returns whether every fetched transaction was taken.
    pub fn is_drained(&self) -> bool {
        self.missing.is_empty() && self.staged.is_empty() && self.rows.is_empty()
    }

    /// Deletes the remaining rows of the staging table.
    pub fn discard(&self, batch: &mut Batch) {
        for first in &self.rows {
            batch
                .of::<Resolution>()
                .delete(Table::Staging, self.key(*first));
        }
    }

    fn key(&self, position: u64) -> Vec<u8> {
        [self.number.to_be_bytes(), position.to_be_bytes()].concat()
    }
}

fn decode_row(row: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut d = Decoder::new(row);
    let count = d.array().ok()?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(d.bytes().ok()?.to_vec());
    }
    Some(list)
}
