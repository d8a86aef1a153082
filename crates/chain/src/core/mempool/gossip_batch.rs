//! Batches of transactions to gossip.

use std::time::Duration;

use crate::core::Action;
use crate::core::limits::BATCH_BYTES;
use crate::core::part::Part;
use crate::message::GOSSIP_TRANSACTIONS_MAX;
use crate::{ChainTime, Transaction};

/// The first byte of a gossiped batch.
const KIND: u8 = 1;

/// A batch that is being filled. It is sent when it is full, or when its first transaction has waited long enough.
#[derive(Debug)]
pub(in crate::core) struct GossipBatch {
    bytes: Vec<u8>,
    count: usize,
    /// The arrival of the first transaction.
    since: ChainTime,
    /// Maximum time that a transaction waits in the batch.
    linger: Duration,
}

impl GossipBatch {
    pub(in crate::core) fn new(linger: Duration) -> Self {
        Self {
            bytes: Vec::new(),
            count: 0,
            since: ChainTime::GENESIS,
            linger,
        }
    }

    pub(in crate::core) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a transaction. Returns the batch if it is full now.
    pub(in crate::core) fn add(
        &mut self,
        transaction: &Transaction,
        now: ChainTime,
    ) -> Option<Action> {
        if self.count == 0 {
            self.bytes.push(KIND);
            self.since = now;
        }
        transaction.write(&mut self.bytes);
        self.count += 1;
        if self.bytes.len() >= BATCH_BYTES || self.count == GOSSIP_TRANSACTIONS_MAX {
            return self.take();
        }
        None
    }

    /// Returns the time at which the batch is due.
    pub(in crate::core) fn due(&self) -> Option<ChainTime> {
        (self.count > 0).then(|| self.since.plus_or_last(self.linger))
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
    fn next_time(&self) -> Option<ChainTime> {
        self.due()
    }
}
