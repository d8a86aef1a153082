//! The server's side of resolution: walks a back chain from the transactions asked for, newest first.
//!
//! A transaction's position in this node's ledger is greater than the positions of all its ancestors. Answers take the greatest
//! position first, so each transaction comes after all transactions that depend on it. A requester that asks again for everything
//! it still lacks therefore continues exactly where this answer ended. No state is kept between requests.

use std::collections::{BTreeMap, BTreeSet};

use ledger::TxId;
use primitives::Encode;

use crate::ledger_book::Book;
use crate::message::{FETCH_WANTED_MAX, FetchRequest, FetchResponse};
use crate::port::{Reads, StoreFailure};

/// Maximum size of one answer in bytes. The request cannot raise it.
pub const FETCH_BYTES_MAX: usize = 1 << 20;
/// Maximum number of transactions in one answer. The request cannot raise it.
pub const FETCH_TRANSACTIONS_MAX: usize = 1_000;

/// The answer to a fetch, and the work that it took.
pub struct ServedFetch {
    /// The answer.
    pub response: FetchResponse,
    /// The ids of the transactions in it, in its order.
    pub ids: Vec<TxId>,
    /// Number of look-ups of transactions by their ids.
    pub look_ups: usize,
    /// Size of the transactions that were read, in bytes. The last one may not have found room in the answer.
    pub read_bytes: usize,
}

/// Answers a fetch, in a message of at most `room` bytes.
pub fn serve(
    request: &FetchRequest,
    room: usize,
    book: &Book,
    reads: &dyn Reads,
) -> Result<ServedFetch, StoreFailure> {
    let bytes_max = (request.bytes_max as usize).clamp(1, FETCH_BYTES_MAX.min(room.max(1)));
    let count_max = (request.transactions_max as usize).clamp(1, FETCH_TRANSACTIONS_MAX);
    let mut response = FetchResponse {
        transactions: Vec::new(),
        unknown: Vec::new(),
    };
    let mut by_position: BTreeMap<u64, TxId> = BTreeMap::new();
    let mut seen: BTreeSet<TxId> = BTreeSet::new();
    let mut look_ups = 0;
    for id in &request.wanted {
        if seen.insert(*id) {
            look_ups += 1;
            match book.position(id, reads)? {
                Some(seq) => {
                    by_position.insert(seq, *id);
                }
                None => response.unknown.push(*id),
            }
        }
    }
    let mut ids = Vec::new();
    let (mut bytes, mut read_bytes) = (0usize, 0usize);
    while let Some((seq, id)) = by_position.pop_last() {
        look_ups += 1;
        let Some(recorded) = book.read(&id, reads)? else {
            response.unknown.push(id);
            continue;
        };
        let encoded = recorded.transaction.to_bytes();
        read_bytes += encoded.len();
        if !response.transactions.is_empty() && bytes + encoded.len() > bytes_max {
            break;
        }
        bytes += encoded.len();
        response.transactions.push((seq, encoded));
        ids.push(id);
        if response.transactions.len() >= count_max {
            break;
        }
        for dependency in dependencies(&recorded.transaction) {
            if seen.insert(dependency) {
                look_ups += 1;
                match book.position(&dependency, reads)? {
                    Some(seq) => {
                        by_position.insert(seq, dependency);
                    }
                    None => response.unknown.push(dependency),
                }
            }
        }
        if by_position.len() > FETCH_WANTED_MAX {
            // The answer already lists more ids than one request may name. The requester continues from them.
            break;
        }
    }
    Ok(ServedFetch {
        response,
        ids,
        look_ups,
        read_bytes,
    })
}

/// Returns the transactions whose outputs this one consumes or refers to, each once, in order of id.
pub fn dependencies(transaction: &ledger::SignedTransaction) -> BTreeSet<TxId> {
    let wire = transaction.wire();
    wire.inputs()
        .iter()
        .chain(wire.references())
        .map(|reference| reference.tx)
        .collect()
}
