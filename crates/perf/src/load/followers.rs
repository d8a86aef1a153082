//! Followers of a node's vault: each on a connection of its own, reading events as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::{Client, ClientError, Endpoint};
use tokio::task::JoinSet;

/// Reads until dropped.
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
    /// `count` followers of all changes from now on; returns when each has its first event.
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

    /// Events read by all of them together.
    pub fn events(&self) -> u64 {
        self.counts.events.load(Ordering::Relaxed)
    }

    /// Followers that were cut off.
    pub fn cut(&self) -> u64 {
        self.counts.cut.load(Ordering::Relaxed)
    }

    /// Followers there were at first.
    pub fn len(&self) -> usize {
        self.reading.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reading.is_empty()
    }
}
