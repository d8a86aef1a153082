//! The exchange of statuses with peers: tip, height and cumulative work.

use super::requests::Purpose;
use crate::core::limits::PATIENCE_MS;
use crate::core::{Core, PeerId};
use crate::message::{Question, Status};
use crate::port::{Reads, Table};

/// Maximum interval between status questions to a peer, in milliseconds.
const STATUS_MS_MAX: u64 = 20_000;
/// Minimum interval between status questions to a peer, in milliseconds.
const STATUS_MS_MIN: u64 = 1_000;

impl<R: Reads<Table>> Core<R> {
    /// Returns this node's status.
    pub(in crate::core) fn status(&self) -> Status {
        let tip = self.rows.tip();
        Status {
            height: tip.height,
            tip: tip.hash,
            difficulty: tip.difficulty,
        }
    }

    /// Records a peer's status.
    pub(in crate::core) fn update_status(&mut self, peer: PeerId, status: Status) {
        let fresh = match self.peers.get_mut(&peer) {
            Some(peer) => peer.status.replace(status).is_none(),
            None => false,
        };
        if fresh {
            // A new neighbour may know transactions that are not in this pool.
            self.compare_with(peer);
        }
    }

    /// Returns the interval between status questions to each peer.
    fn status_every_ms(&self) -> u64 {
        let block_ms = self.genesis.params.block_seconds.as_ms();
        block_ms.clamp(STATUS_MS_MIN, STATUS_MS_MAX)
    }

    /// Asks all peers that are due for their status. The question tells them ours.
    pub(in crate::core) fn poll_statuses(&mut self) {
        let (now_ms, every_ms) = (self.now_ms, self.status_every_ms());
        let due: Vec<PeerId> = self
            .peers
            .iter()
            .filter(|(id, peer)| peer.status_due_ms <= now_ms && self.can_ask(id))
            .map(|(id, _)| *id)
            .collect();
        let question = Question::Status(self.status());
        for id in due {
            if !self.requests.has_room() {
                // The other peers are asked when a question has been answered.
                return;
            }
            self.ask(id, Purpose::Status, &question, PATIENCE_MS);
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.status_due_ms = now_ms + every_ms;
            }
        }
    }

    /// Schedules a status question to all peers at the end of the round, because the tip has moved without an announcement of
    /// ours.
    pub(in crate::core) fn announce_status(&mut self) {
        let now_ms = self.now_ms;
        for (_, peer) in self.peers.iter_mut() {
            peer.status_due_ms = now_ms;
        }
    }

    pub(in crate::core) fn statuses_due_ms(&self) -> Option<u64> {
        self.peers
            .iter()
            .filter(|(id, _)| self.can_ask(id))
            .map(|(_, peer)| peer.status_due_ms)
            .min()
    }
}
