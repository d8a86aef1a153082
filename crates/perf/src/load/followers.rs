//! Followers of a node's vault: each reads events as they arrive, on its own connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Client, ClientError, Endpoint};
use tokio::task::JoinSet;

/// A set of followers. They read until dropped.
pub struct Followers {
    counts: Arc<Counts>,
    reading: JoinSet<()>,
}

#[derive(Default)]
struct Counts {
    events: AtomicU64,
    cut: AtomicU64,
}

impl Followers {
    /// Starts `count` followers of all changes from now on. Returns when each has its first event.
    pub async fn begin(endpoint: &Endpoint, count: usize) -> Result<Self, ClientError> {
        let counts = Arc::new(Counts::default());
        let mut reading = JoinSet::new();
        for _ in 0..count {
            let mut events = Client::new(endpoint.clone())?.follow_vault(None).await?;
            events.next().await?;
            let counts = Arc::clone(&counts);
            reading.spawn(async move {
                while let Ok(Some(event)) = events.next().await {
                    if event.kind != api::events::CHANGE {
                        break;
                    }
                    counts.events.fetch_add(1, Ordering::Relaxed);
                }
                counts.cut.fetch_add(1, Ordering::Relaxed);
            });
        }
        Ok(Self { counts, reading })
    }

    /// Returns the events read by all of them together.
    pub fn events(&self) -> u64 {
        self.counts.events.load(Ordering::Relaxed)
    }

    /// Returns the number of followers that were cut off.
    pub fn cut(&self) -> u64 {
        self.counts.cut.load(Ordering::Relaxed)
    }

    /// Returns the initial number of followers.
    pub fn len(&self) -> usize {
        self.reading.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reading.is_empty()
    }
}
