//! Followers of a node's vault: each reads events as they arrive, on its own connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Client, ClientError, Endpoint};
use tokio::task::JoinSet;

/// A set of followers. They read until dropped.
pub struct Followers {
    cut: Arc<AtomicU64>,
    _reading: JoinSet<()>,
}

impl Followers {
    /// Starts `count` followers of all changes from now on. Returns when each has its first event.
    pub async fn begin(endpoint: &Endpoint, count: usize) -> Result<Self, ClientError> {
        let cut = Arc::new(AtomicU64::new(0));
        let mut reading = JoinSet::new();
        for _ in 0..count {
            let mut events = Client::new(endpoint.clone())?.follow_vault(None).await?;
            events.next().await?;
            let cut = Arc::clone(&cut);
            reading.spawn(async move {
                while let Ok(Some(event)) = events.next().await {
                    if event.kind != api::events::CHANGE {
                        break;
                    }
                }
                cut.fetch_add(1, Ordering::Relaxed);
            });
        }
        Ok(Self {
            cut,
            _reading: reading,
        })
    }

    /// Returns the number of followers that were cut off.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }
}
