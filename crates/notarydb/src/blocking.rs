//! The runtime on which one thread waits for a database.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::error::RecordError;

/// Time without an answer after which a server counts as lost.
pub(crate) const ANSWER: Duration = Duration::from_secs(3);
/// Seconds after which a server gives up a statement that waits for the row of another transaction.
pub(crate) const LOCK_S: u32 = 2;

// A statement may wait for a row after its connection has counted as lost.
const _: () = assert!(
    ANSWER.as_millis() + 1_000 * (LOCK_S as u128) <= notary::LAST_ENTRY_MS_MAX as u128,
    "a batch is entered or lost in time"
);

/// A runtime of one thread.
pub(crate) struct Blocking {
    /// There is one until the end. See [`Blocking::drop`].
    runtime: Option<Runtime>,
}

impl Blocking {
    pub(crate) fn new() -> Result<Self, RecordError> {
        let made: io::Result<Runtime> = Builder::new_current_thread().enable_all().build();
        let runtime = made.map_err(|error| RecordError::Server(error.to_string()))?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Waits for the end of some work.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref();
        runtime.expect("it is dropped last").block_on(work)
    }

    /// Waits for an answer, for the time `limit` at most.
    pub(crate) fn answer<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, RecordError> {
        let limited = async { tokio::time::timeout(limit, work).await };
        self.wait(limited).map_err(|_| {
            let text = format!("no answer within {} s", limit.as_secs_f64());
            RecordError::Unreachable(text)
        })
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // A runtime must not wait for its tasks on a thread of another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
