//! The way of peers' messages to the core.

use std::sync::Arc;

use chain::port::StoreFailure;
use net::gossip::GossipEvents;
use primitives::storage::FailureKind;

use super::shared::ChainNodeState;
use super::start_error::PANICKED;

/// Passes the messages of peers to the core. Waits while its mailbox is full.
pub(super) async fn pump(shared: Arc<ChainNodeState>, mut events: GossipEvents) {
    while let Some(event) = events.next().await {
        loop {
            let taken = shared.taken.notified();
            if !shared.core.is_full() || shared.is_stopping() {
                break;
            }
            taken.await;
        }
        if let Some(event) = shared.peers.event(event) {
            shared.tell(event);
        }
    }
    if !shared.peers.handle().is_shut_down() {
        // Without it the node would forge a chain of its own.
        let failure = StoreFailure {
            kind: FailureKind::Panic,
            code: PANICKED.code,
            message: "the node's gossip has ended".to_owned(),
            hint: PANICKED.action,
        };
        tracing::error!(
            code = failure.code,
            hint = failure.hint,
            "{}",
            failure.message
        );
        shared.core.fail(&failure);
    }
}
