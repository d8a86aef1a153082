//! A running node: its addresses, draining it, and stopping it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kernel::Event;
use ledger::Rejection;
use primitives::storage::FailureKind;

use super::shared::rejection_of;
use super::start::Node;

/// Maximum time that a stopping node waits for its last writes.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A failure of a node's store.
#[derive(Debug)]
pub struct FailedStore {
    /// The failure.
    pub rejection: Rejection,
    /// Whether another process has taken over the node, or is about to.
    pub is_superseded: bool,
}

impl Node {
    /// Returns the address of its HTTP API.
    pub fn api_address(&self) -> std::net::SocketAddr {
        self.http.address()
    }

    /// Returns the address for other nodes.
    pub fn p2p_address(&self) -> std::net::SocketAddr {
        self.transport.handle().local_address()
    }

    /// Drains the node: refuses new starts, and returns once the last flow has ended.
    ///
    /// # Errors
    /// The store has failed, so the flows will not end.
    pub async fn drain(&mut self) -> Result<(), Rejection> {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.kernel.tell(Event::Drain);
        }
        tokio::select! {
            // An error means that the sender is gone, and with it the flows.
            _ = self.drained.wait_for(|drained| *drained) => Ok(()),
            failure = self.shared.kernel.failed() => Err(rejection_of(&failure)),
        }
    }

    /// Waits for a failure of the store. Waits forever while the store works.
    pub async fn store_failed(&mut self) -> FailedStore {
        let failure = self.shared.kernel.failed().await;
        FailedStore {
            is_superseded: failure.kind == FailureKind::Superseded,
            rejection: rejection_of(&failure),
        }
    }

    /// Returns how long the process stays after a failure, or `None` if it stays until it is stopped.
    pub fn exit_after_failure(&self) -> Option<Duration> {
        self.exit_after_failure
    }

    /// Leaves everything as it is, for a process that exits at once because another one has taken over: the system then closes all connections
    /// together, so that peers and clients go to the other process. There is nothing to complete, because every commit is refused.
    pub fn abandon(self) {
        std::mem::forget(self);
    }

    /// Stops the node: requests in flight are answered, and submitted commits are completed.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(self.stop_here())
    }

    async fn stop_here(self) {
        let Node {
            shared,
            transport,
            http,
            running,
            database,
            upkeep,
            ..
        } = self;
        http.stop().await;
        shared.kernel.stop();
        shared.view.stop();
        shared.files.close();
        shared.uniqueness.close();
        shared.put_off.close();
        shared.history.close();
        drop(upkeep);
        if let Some(database) = &database {
            database.stop();
        }
        let afterwards = move || {
            drop(transport);
            // The committer has ended. Releases the lease.
            drop(database);
        };
        running.stop(STOP_PATIENCE, afterwards).await;
    }
}
