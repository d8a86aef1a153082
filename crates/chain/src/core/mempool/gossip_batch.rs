//! Batches of transactions to gossip.

use crate::Transaction;
use crate::core::Action;
use crate::core::limits::BATCH_BYTES;
use crate::core::part::Part;
use crate::message::GOSSIP_TRANSACTIONS_MAX;

/// The first byte of a gossiped batch.
const KIND: u8 = 1;

/// A batch that is being filled. It is sent when it is full, or when its first transaction has waited long enough.
#[derive(Debug)]
pub(in crate::core) struct GossipBatch {
    bytes: Vec<u8>,
    count: usize,
    since_ms: u64,
    /// Maximum time that a transaction waits in the batch.
    linger_ms: u64,
}

impl GossipBatch {
    pub(in crate::core) fn new(linger_ms: u64) -> Self {
        Self {
            bytes: Vec::new(),
            count: 0,
            since_ms: 0,
            linger_ms,
        }
    }

    pub(in crate::core) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a transaction. Returns the batch if it is full now.
    pub(in crate::core) fn add(
        &mut self,
        transaction: &Transaction,
        now_ms: u64,
    ) -> Option<Action> {
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
    pub(in crate::core) fn due_ms(&self) -> Option<u64> {
        // A due time beyond the range never comes.
        (self.count > 0).then(|| self.since_ms.saturating_add(self.linger_ms))
    }

    /// Takes the batch, even if it is not full.
    pub(in crate::core) fn take(&mut self) -> Option<Action> {
        if self.count == 0 {
            return None;
        }
        self.count = 0;
        Some(Action::Gossip(std::mem::take(&mut self.bytes)))
    }
}

impl Part for GossipBatch {
    fn next_time_ms(&self) -> Option<u64> {
        self.due_ms()
    }
}
