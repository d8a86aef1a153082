//! The ids of transactions that peers have and this node lacks.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::core::PeerId;
use crate::core::limits::{CHILD_BLOCKS_FETCHED_MAX, MISSING_IDS_MAX};
use crate::core::part::Part;
use crate::state::Point;
use crate::{ChainTime, TxId};

/// Ids that one question asks for. The answer has about 150 KB.
const ASKED_AT_ONCE: usize = 1_000;
/// Delay before ids are requested. Gossip may bring the transactions in this time.
pub(super) const REQUEST_DELAY: Duration = Duration::from_millis(250);

/// Transactions that peers have and this node lacks.
#[derive(Debug, Default)]
pub(in crate::core) struct PoolReconciliation {
    pub(super) queue: VecDeque<(PeerId, TxId)>,
    /// Time of the next requests for ids.
    pub(super) due: ChainTime,
    /// Time of the next comparison.
    pub(super) compare_at: ChainTime,
    /// Child blocks that were requested from each peer since the tip moved.
    child_blocks: BTreeSet<(PeerId, TxId)>,
}

impl PoolReconciliation {
    /// Adds ids that a peer has.
    pub(in crate::core) fn add(&mut self, peer: PeerId, ids: Vec<TxId>, now: ChainTime) {
        if ids.is_empty() {
            return;
        }
        if self.queue.is_empty() {
            self.due = now.plus_or_last(REQUEST_DELAY);
        }
        let room = MISSING_IDS_MAX - self.queue.len();
        self.queue
            .extend(ids.into_iter().take(room).map(|id| (peer, id)));
    }

    /// Selects the child blocks that are requested from a peer, and remembers them.
    pub(super) fn new_child_blocks(&mut self, peer: PeerId, mut ids: Vec<TxId>) -> Vec<TxId> {
        let range = (peer, TxId([0; 32]))..=(peer, TxId([0xff; 32]));
        let before = self.child_blocks.range(range).count();
        ids.retain(|id| !self.child_blocks.contains(&(peer, *id)));
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(CHILD_BLOCKS_FETCHED_MAX - before);
        self.child_blocks.extend(ids.iter().map(|id| (peer, *id)));
        ids
    }

    /// Takes the next ids of one peer.
    pub(super) fn next(&mut self) -> Option<(PeerId, Vec<TxId>)> {
        let (peer, _) = self.queue.front().copied()?;
        let mut ids = Vec::new();
        while ids.len() < ASKED_AT_ONCE
            && let Some((of, id)) = self.queue.front().copied()
            && of == peer
        {
            ids.push(id);
            self.queue.pop_front();
        }
        ids.sort_unstable();
        ids.dedup();
        Some((peer, ids))
    }
}

impl Part for PoolReconciliation {
    fn tip_moved(&mut self, _: &Point) {
        self.child_blocks.clear();
    }

    fn peer_down(&mut self, peer: &PeerId) {
        self.queue.retain(|(of, _)| of != peer);
    }

    fn next_time(&self) -> Option<ChainTime> {
        if self.queue.is_empty() {
            return Some(self.compare_at);
        }
        Some(self.due.min(self.compare_at))
    }
}
