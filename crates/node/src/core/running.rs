//! A running node: where it listens, draining and stopping it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kernel::Event;
use ledger::Rejection;

use super::start::Node;

/// How long the node waits for its last writes when it stops.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

impl Node {
    /// Where clients find it.
    pub fn api_address(&self) -> std::net::SocketAddr {
        self.http.address()
    }

    /// Where other nodes find it.
    pub fn p2p_address(&self) -> std::net::SocketAddr {
        self.transport.handle().local_address()
    }

    /// Takes no new starts from now on. Returns when the last flow has ended, or why it never will: the store has failed.
    pub async fn drain(&mut self) -> Result<(), Rejection> {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.mailbox.push(Event::Drain);
        }
        // An error of either means that the kernel's thread is gone: there is nothing to wait for.
        tokio::select! {
            _ = self.drained.wait_for(|drained| *drained) => Ok(()),
            failed = self.failed.wait_for(Option::is_some) => {
                failed.ok().and_then(|failed| failed.clone()).map_or(Ok(()), Err)
            }
        }
    }

    /// Returns when the store has failed, and why. A node whose store works goes on for ever.
    pub async fn store_failed(&mut self) -> Rejection {
        loop {
            if let Some(rejection) = self.failed.borrow_and_update().clone() {
                return rejection;
            }
            if self.failed.changed().await.is_err() {
                // The kernel's thread is gone without a failure: the node was stopped.
                std::future::pending::<()>().await;
            }
        }
    }

    /// How long the process stays after that; `None` is until it is stopped.
    pub fn exit_after_failure(&self) -> Option<Duration> {
        self.exit_after_failure
    }

    /// Stops: requests in flight are answered, what was submitted is committed.
    pub async fn stop(self) {
        let Node {
            shared,
            transport,
            http,
            committer,
            threads,
            upkeep,
            ..
        } = self;
        http.stop().await;
        shared.mailbox.close();
        shared.view.stop();
        shared.files.close();
        drop(upkeep);
        let ended = tokio::task::spawn_blocking(move || {
            for thread in threads {
                if thread.join().is_err() {
                    tracing::error!("a thread of the node panicked");
                }
            }
            drop(committer);
            drop(transport);
        });
        if tokio::time::timeout(STOP_PATIENCE, ended).await.is_err() {
            tracing::warn!("the node's threads did not end in time");
        }
    }
}
