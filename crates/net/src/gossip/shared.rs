//! State shared by the service, its gate and its handles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::GossipLimits;
use super::metrics::Counters;
use super::peers::Peers;
use super::wire::Wires;

/// State shared by the service, its gate and its handles.
#[derive(Debug)]
pub(super) struct GossipState {
    pub(super) limits: GossipLimits,
    pub(super) counters: Arc<Counters>,
    pub(super) wires: Wires,
    peers: Mutex<Peers>,
}

impl GossipState {
    pub(super) fn new(limits: GossipLimits) -> Self {
        Self {
            limits,
            counters: Arc::default(),
            wires: Wires::default(),
            peers: Mutex::default(),
        }
    }

    /// The lock is held only briefly, and never while libp2p is polled.
    pub(super) fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
