//! The exchange of statuses with peers: tip, height and cumulative work.

use std::time::Duration;

use super::requests::Purpose;
use crate::ChainTime;
use crate::core::limits::PATIENCE;
use crate::core::{Core, PeerId};
use crate::message::{Question, Status};
use crate::port::{Reads, Table};

/// Maximum interval between status questions to a peer.
const STATUS_INTERVAL_MAX: Duration = Duration::from_secs(20);
/// Minimum interval between status questions to a peer.
const STATUS_INTERVAL_MIN: Duration = Duration::from_secs(1);

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
    fn status_interval(&self) -> Duration {
        let block_time = self.genesis.params.block_seconds.duration();
        block_time.clamp(STATUS_INTERVAL_MIN, STATUS_INTERVAL_MAX)
    }

    /// Asks all peers that are due for their status. The question tells them ours.
    pub(in crate::core) fn poll_statuses(&mut self) {
        let (now, interval) = (self.now, self.status_interval());
        let due: Vec<PeerId> = self
            .peers
            .iter()
            .filter(|(id, peer)| peer.status_due <= now && self.can_ask(id))
            .map(|(id, _)| *id)
            .collect();
        let question = Question::Status(self.status());
        for id in due {
            if !self.requests.has_room() {
                // The other peers are asked when a question has been answered.
                return;
            }
            self.ask(id, Purpose::Status, &question, PATIENCE);
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.status_due = now.plus_or_last(interval);
            }
        }
    }

    /// Schedules a status question to all peers at the end of the round, because the tip has moved without an announcement of
    /// ours.
    pub(in crate::core) fn announce_status(&mut self) {
        let now = self.now;
        for (_, peer) in self.peers.iter_mut() {
            peer.status_due = now;
        }
    }

    pub(in crate::core) fn statuses_due(&self) -> Option<ChainTime> {
        self.peers
            .iter()
            .filter(|(id, _)| self.can_ask(id))
            .map(|(_, peer)| peer.status_due)
            .min()
    }
}
