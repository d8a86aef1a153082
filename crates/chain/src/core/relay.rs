//! Batches of transactions to gossip.

use super::Action;
use super::limits::BATCH_BYTES;
use crate::Transaction;
use crate::message::GOSSIP_TRANSACTIONS_MAX;

/// The first byte of a gossiped batch.
const KIND: u8 = 1;

/// A batch that is being filled. It is sent when it is full, or when its first transaction has waited long enough.
#[derive(Debug, Default)]
pub(super) struct Relay {
    bytes: Vec<u8>,
    count: usize,
    since_ms: u64,
}

impl Relay {
    /// Adds a transaction. Returns the batch if it is full now.
    pub(super) fn add(&mut self, transaction: &Transaction, now_ms: u64) -> Option<Action> {
        if self.count == 0 {
            self.bytes.push(KIND);
            self.since_ms = now_ms;
        }
        transaction.write(&mut self.bytes);
        self.count += 1;
        if self.bytes.len() >= BATCH_BYTES || self.count == GOSSIP_TRANSACTIONS_MAX {
            return self.take();
        }
        None
    }

    /// Returns the time at which the batch is due.
    pub(super) fn due_ms(&self, linger_ms: u64) -> Option<u64> {
        (self.count > 0).then(|| self.since_ms.saturating_add(linger_ms))
    }

    /// Takes the batch, even if it is not full.
    pub(super) fn take(&mut self) -> Option<Action> {
        if self.count == 0 {
            return None;
        }
        self.count = 0;
        Some(Action::Gossip(std::mem::take(&mut self.bytes)))
    }
}
