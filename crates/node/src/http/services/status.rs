//! The service of the node itself: its state, peers, clock and health.

use std::sync::Arc;

use api::{ClockView, DeliveryPage, Drain, Health, NetworkView, NodeView, PeerHistory, PeersView};

use ledger::LegalName;

use crate::http::pending::Pending;
use crate::http::refusal::Refusal;

/// The port to the state of the node as a whole. No method blocks. An answered change is durable.
pub trait StatusService: Send + Sync + 'static {
    /// Returns the state and figures of the node.
    fn node(&self) -> NodeView;

    /// Returns the parameters and parties of the network.
    fn network(&self) -> NetworkView;

    /// Returns the other nodes of the network.
    fn peers(&self) -> PeersView;

    /// Returns the last events of the connections with a peer, or with all, newest first. A name that is not in the network is refused.
    fn peer_history(&self, peer: Option<&LegalName>, limit: usize) -> Result<PeerHistory, Refusal>;

    /// Returns a page of the transactions that other nodes have not answered for, after the key of a page before.
    fn deliveries(&self, after: Option<[u8; 40]>, limit: usize) -> Pending<'_, DeliveryPage>;

    /// Accepts no more starts, and returns the flows in flight.
    fn drain(&self) -> Drain;

    /// Records that a user confirms the present time of the clock.
    fn confirm_clock(&self, user: &Arc<str>) -> Pending<'_, ClockView>;

    /// Returns whether the node accepts work.
    fn health(&self) -> Health;

    /// Updates gauges before [`crate::metrics::NodeMetrics::render`].
    fn refresh_metrics(&self) {}
}
