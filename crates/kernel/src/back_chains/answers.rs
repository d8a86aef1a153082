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

/// Answers a fetch, in a message of at most `room` bytes. Also returns the ids of the transactions in the answer, in its order.
pub fn serve(
    request: &FetchRequest,
    room: usize,
    book: &Book,
    reads: &dyn Reads,
) -> Result<(FetchResponse, Vec<TxId>), StoreFailure> {
    let bytes_max = (request.bytes_max as usize).clamp(1, FETCH_BYTES_MAX.min(room.max(1)));
    let count_max = (request.transactions_max as usize).clamp(1, FETCH_TRANSACTIONS_MAX);
    let mut response = FetchResponse {
        transactions: Vec::new(),
        unknown: Vec::new(),
    };
    let mut by_position: BTreeMap<u64, TxId> = BTreeMap::new();
    let mut seen: BTreeSet<TxId> = BTreeSet::new();
    for id in &request.wanted {
        if seen.insert(*id) {
            match book.position(id, reads)? {
                Some(seq) => {
                    by_position.insert(seq, *id);
                }
                None => response.unknown.push(*id),
            }
        }
    }
    let mut served = Vec::new();
    let mut bytes = 0usize;
    while let Some((seq, id)) = by_position.pop_last() {
        let Some(recorded) = book.read(&id, reads)? else {
            response.unknown.push(id);
            continue;
        };
        let encoded = recorded.transaction.to_bytes();
        if !response.transactions.is_empty() && bytes + encoded.len() > bytes_max {
            break;
        }
        bytes += encoded.len();
        response.transactions.push((seq, encoded));
        served.push(id);
        if response.transactions.len() >= count_max {
            break;
        }
        for dependency in dependencies(&recorded.transaction) {
            if seen.insert(dependency) {
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
    Ok((response, served))
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
