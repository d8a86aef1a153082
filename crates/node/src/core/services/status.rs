//! The state of the node for the API.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::codes::BAD_PARAMETER;
use api::{ClockView, DeliveryPage, Drain, Health, NetworkView, NodeView, PeerHistory, PeersView};
use kernel::Event;
use ledger::LegalName;

use crate::core::peers;
use crate::core::service::Service;
use crate::http::{Pending, Refusal, StatusService};

impl StatusService for Service {
    fn node(&self) -> NodeView {
        self.node_view()
    }

    fn network(&self) -> NetworkView {
        self.network_view()
    }

    fn peers(&self) -> PeersView {
        peers::view(
            &self.net,
            &self.network,
            &self.shared.peer_figures(),
            &self.shared.figures().wait_reasons,
        )
    }

    fn peer_history(&self, peer: Option<&LegalName>, limit: usize) -> Result<PeerHistory, Refusal> {
        let id = peer.map(|name| {
            let known = self.network.by_name(name);
            known.map(|party| party.id()).ok_or_else(|| {
                let text = format!("no node of the network has the name '{name}'");
                Refusal::listed(&BAD_PARAMETER, text)
            })
        });
        let id = id.transpose()?;
        let (net, network) = (&self.net, &self.network);
        Ok(peers::history(net, network, id.as_ref(), limit))
    }

    fn deliveries(&self, after: Option<[u8; 40]>, limit: usize) -> Pending<'_, DeliveryPage> {
        Box::pin(self.read_deliveries(after, limit))
    }

    fn drain(&self) -> Drain {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.kernel.tell(Event::Drain);
        }
        let figures = self.shared.figures();
        Drain {
            state: self.node_state(),
            flows_in_flight: figures.flows_live,
            flows_retrying: figures.flows_retrying,
            flows_parked: figures.flows_parked,
            flows_paused: figures.flows_paused,
        }
    }

    fn confirm_clock(&self, user: &Arc<str>) -> Pending<'_, ClockView> {
        Box::pin(self.vouch_for_clock(user.to_string()))
    }

    fn health(&self) -> Health {
        self.health_view()
    }

    fn refresh_metrics(&self) {
        self.show_figures();
    }
}
