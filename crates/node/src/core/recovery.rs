//! The comparison of the node's data with the data marks that its peers keep, for the API.

use api::{LinkView, RecoveryPeer, RecoveryProgress, RecoveryView, RollbackView};
use kernel::integrity::{IntegrityOrder, IntegrityReport, PeerProgress, Recovery};
use kernel::{Event, Reply};

use super::refusals::stopping;
use super::service::Service;
use crate::http::Refusal;

impl Service {
    /// Gives an order about a rollback. Returns the state afterwards.
    pub(super) async fn recovery_ordered(
        &self,
        order: IntegrityOrder,
    ) -> Result<RecoveryView, Refusal> {
        let reply = self.ask(|token| Event::Integrity { order, token });
        match reply.await? {
            Reply::Integrity(report) => Ok(self.recovery_view(&report)),
            _ => Err(stopping()),
        }
    }

    fn recovery_view(&self, report: &IntegrityReport) -> RecoveryView {
        let rolled_back = report.rollback.as_ref().map(|row| RollbackView {
            evidence: row.describe(),
            shown_by: self.name_of(&row.shown_by),
            at_ms: row.at.as_ms(),
            data_until_ms: row.data_until.as_ms(),
        });
        let links = report.links.iter().map(|(peer, found)| LinkView {
            peer: self.name_of(peer),
            at_ms: found.at.as_ms(),
            finding: found.text.clone(),
        });
        RecoveryView {
            life: report.ordinal,
            number: report.number,
            rolled_back,
            links: links.collect(),
            recovery: report.recovery.as_ref().map(|r| self.progress_view(r)),
        }
    }

    fn progress_view(&self, recovery: &Recovery) -> RecoveryProgress {
        let peers = recovery.peers.iter().map(|(id, peer)| {
            let (progress, reason) = match &peer.progress {
                PeerProgress::Asked => ("asked", None),
                PeerProgress::Done => ("done", None),
                PeerProgress::Refused(why) => ("refused", Some(why.to_string())),
            };
            RecoveryPeer {
                peer: self.name_of(id),
                progress: progress.to_owned(),
                reason,
                searched: peer.upto,
                end: peer.end,
                found: peer.found,
            }
        });
        let peers: Vec<RecoveryPeer> = peers.collect();
        RecoveryProgress {
            begun_ms: recovery.begun.as_ms(),
            complete: peers.iter().all(|peer| peer.progress == "done"),
            peers,
            recorded: recovery.recorded,
            transactions: recovery
                .transactions
                .iter()
                .map(ToString::to_string)
                .collect(),
            notarised: recovery.notarised,
            conflicts: recovery.conflicts,
        }
    }
}
