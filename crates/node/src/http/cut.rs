//! Ends an answer from outside: its stream of HTTP/2, or its connection of HTTP/1. An answer is not polled while its client reads
//! nothing of it, so it cannot end itself.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Notify;

/// A switch that ends an answer. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    /// Ends it.
    pub(super) fn end(&self) {
        self.0.notify_one();
    }

    /// Runs something until it is done, or is ended.
    pub(super) async fn or_done(&self, work: impl Future) {
        tokio::select! {
            biased;
            _ = work => {}
            () = self.0.notified() => {}
        }
    }
}
