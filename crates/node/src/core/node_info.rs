//! The node and its network as the API shows them.

use api::{FlowInfo, Health, HealthWarning, NetworkView, NodeState, NodeView, PartyView};
use primitives::ErrorInfo;

use super::clock_view::{clock_view, clock_warnings};
use super::figures;
use super::service::Service;
use crate::bootstrap::{CERTIFICATE_ENDS, CertificatesEnd, RENEWED_DAYS, ROOT_ENDS, days_left};
use crate::http::notary_view;

impl Service {
    /// Whether it takes work.
    pub(super) fn node_state(&self) -> NodeState {
        if self.shared.replies.failure().is_some() {
            NodeState::Failed
        } else if *self.shared.drained.borrow() {
            NodeState::Drained
        } else if self.shared.is_draining() {
            NodeState::Draining
        } else if self.shared.view.failure().is_some() {
            NodeState::Degraded
        } else {
            NodeState::Ready
        }
    }

    /// The legal names of the peers connected now.
    fn connected_peers(&self) -> Vec<String> {
        let peers = self.net.peers().into_iter();
        let connected = peers.filter(|peer| peer.address.is_some());
        let names = connected.map(|peer| match self.network.party(&peer.peer) {
            Some(party) => party.name.to_string(),
            None => peer.peer.to_string(),
        });
        names.collect()
    }

    /// The node.
    pub(super) fn node_view(&self) -> NodeView {
        let figures = self.shared.figures();
        NodeView {
            name: self.info.party.name.to_string(),
            party_id: self.info.party.id().to_string(),
            key: self.info.party.key.to_text(),
            notary: self.info.notary.as_ref().map(notary_view),
            addresses: self.info.addresses.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform_version: self.info.platform_version,
            state: self.node_state(),
            uptime_ms: primitives::whole_ms(self.started.elapsed()),
            flows_in_flight: figures.flows_live,
            flows_retrying: figures.flows_retrying,
            flows_parked: figures.flows_parked,
            flows_paused: figures.flows_paused,
            flows_queued: figures.flows_queued,
            ledger_seq: figures.transactions,
            view_seq: self.progress.upto(),
            clock: Some(clock_view(&figures)),
            peers: self.connected_peers(),
            flows: self
                .flows
                .list()
                .into_iter()
                .filter(|flow| !flow.versions.is_empty())
                .map(|flow| FlowInfo {
                    name: flow.name.to_owned(),
                    versions: flow.versions,
                    arguments: flow.arguments.iter().map(|a| a.name.to_owned()).collect(),
                })
                .collect(),
        }
    }

    /// The network.
    pub(super) fn network_view(&self) -> NetworkView {
        let parameters = self.network.parameters();
        NetworkView {
            parameters: parameters.hash().to_string(),
            max_message_bytes: parameters.max_message_bytes,
            max_transaction_bytes: parameters.max_transaction_bytes,
            max_attachment_bytes: parameters.max_attachment_bytes,
            max_transaction_attachment_bytes: parameters.max_transaction_attachment_bytes,
            issued_at_ms: parameters.issued_at.as_ms(),
            notaries: parameters
                .notaries
                .iter()
                .map(|n| n.name.to_string())
                .collect(),
            nodes: self
                .network
                .nodes()
                .map(|(id, info)| PartyView {
                    name: info.party.name.to_string(),
                    party_id: id.to_string(),
                    key: info.party.key.to_text(),
                    addresses: info.addresses.clone(),
                    notary: info.notary.as_ref().map(notary_view),
                })
                .collect(),
        }
    }

    /// Whether it works.
    pub(super) fn health_view(&self) -> Health {
        let state = self.node_state();
        let (fed, upto) = (self.shared.view.fed_seq(), self.progress.upto());
        let of_store = self.shared.replies.failure();
        let of_store = of_store.map(|rejection| (rejection.code.clone(), rejection.to_string()));
        let of_view = || {
            let failure = self.shared.view.failure()?;
            Some((failure.code.to_owned(), failure.message))
        };
        let (code, message) = of_store.or_else(of_view).unzip();
        Health {
            live: state != NodeState::Failed,
            ready: state == NodeState::Ready,
            state,
            ledger_seq: fed,
            view_seq: upto,
            // Clipped at 0: the view may have caught up with more since `fed` was read.
            view_lag: fed.saturating_sub(upto),
            message,
            code,
            warnings: self.health_warnings(),
        }
    }

    /// Faults that an operator has to look into while the node goes on.
    fn health_warnings(&self) -> Vec<HealthWarning> {
        let figures = self.shared.figures();
        let (kept, links) = (figures.equivocations_kept, figures.links_contradicted);
        let (quarantined, waiting) = (figures.quarantined, figures.deliveries_waiting);
        let held = figures.held.clone().unwrap_or_default();
        let found = [
            (
                figures.rolled_back > 0,
                kernel::errors::ROLLED_BACK,
                "the node's data is an older copy: starts are refused, and a notary signs nothing"
                    .to_owned(),
            ),
            (
                held.flows > 0,
                kernel::errors::FLOWS_HELD,
                format!(
                    "{} flows of the journal are held until {} more peers are met; the list of flows names them",
                    held.flows,
                    held.each_of.len() + usize::from(!held.any_of.is_empty())
                ),
            ),
            (
                links > 0,
                kernel::errors::STALE_DATA,
                format!(
                    "{links} peers have seen messages that this node's data lacks; they do not vouch for the data"
                ),
            ),
            (
                kept > 0,
                kernel::errors::EQUIVOCATED,
                format!("{kept} proofs that a notary signed two consumers of a state"),
            ),
            (
                quarantined > 0,
                vault::QUARANTINED,
                format!(
                    "{quarantined} states are in quarantine: their notary reports them as consumed elsewhere"
                ),
            ),
            (
                waiting > 0,
                kernel::errors::DELIVERY_WAITS,
                format!(
                    "{waiting} deliveries wait because their receivers cannot record them now; see the peers"
                ),
            ),
        ];
        let found = found.into_iter().filter(|(is_so, ..)| *is_so);
        let warnings = found.map(|(_, info, message)| HealthWarning {
            code: info.code.to_owned(),
            message,
            hint: info.action.to_owned(),
        });
        let of_folder = self.losses.iter();
        let of_folder = of_folder.map(|loss| (loss.info, loss.message.clone()));
        let of_folder = of_folder.chain(self.users.fault());
        let of_folder = of_folder.chain(self.shared.audit.fault());
        let of_folder = of_folder.chain(self.certificates_end.and_then(certificate_warning));
        let of_folder = of_folder.map(|(info, message)| HealthWarning {
            code: info.code.to_owned(),
            message,
            hint: info.action.to_owned(),
        });
        warnings
            .chain(of_folder)
            .chain(clock_warnings(&figures))
            .collect()
    }

    /// Brings gauges up to date.
    pub(super) fn show_figures(&self) {
        let metrics = &self.shared.metrics;
        figures::show_kernel(
            metrics,
            &self.shared.figures(),
            self.shared.gate.turned_away(),
        );
        figures::show_net(metrics, &self.net.figures());
        figures::show_peers(metrics, &self.network, &self.shared.peer_figures());
        crate::files::show(metrics, &self.shared.files);
        figures::show_uploads(metrics, &self.uploads);
        metrics.blocks.set_blocks(self.store.block_cache());
        if let Some(record) = &self.notary_database {
            figures::show_record(metrics, &record.figures());
        }
        if let Some(database) = &self.database {
            let ledger_end = self.shared.figures().transactions;
            figures::show_database(metrics, &database(), ledger_end);
        }
        metrics.view_seq.set_count(self.progress.upto());
        let connected = self.connected_peers().len();
        metrics.peers_connected.set_count(connected as u64);
        // Without a readable end the gauge stays at 0.
        let end_s = self.certificates_end.map(|end| u64::try_from(end.at_s));
        let end_s = end_s.and_then(Result::ok);
        metrics.certificates_end.set_count(end_s.unwrap_or(0));
    }
}

/// Returns a warning if the first certificate that ends has little time left.
pub(super) fn certificate_warning(end: CertificatesEnd) -> Option<(ErrorInfo, String)> {
    let days = days_left(end.at_s);
    let (info, whose) = match end.is_root {
        true => (ROOT_ENDS, "the network's root"),
        false => (CERTIFICATE_ENDS, "this node"),
    };
    (days < RENEWED_DAYS).then(|| {
        let text = match days {
            ..0 => format!("the TLS certificate of {whose} ended {} days ago", -days),
            _ => format!("the TLS certificate of {whose} ends in {days} days"),
        };
        (info, text)
    })
}
