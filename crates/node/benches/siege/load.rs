//! The payments of the honest members.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use api::{FlowStatus, StartFlow, Wait};
use client::Client;
use serde_json::json;
use tokio::task::JoinSet;

/// Flows outstanding at each honest bank.
const OUTSTANDING: usize = 32;
/// Pause after a refused start.
const PAUSE: Duration = Duration::from_millis(10);

/// Payments without end between two banks.
pub struct Load {
    delivered: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

impl Load {
    /// Starts the payments: each of the banks issues cash and pays it to the other.
    pub fn start(banks: [(Client, &str); 2]) -> Result<Self> {
        let mut load = Self {
            delivered: Arc::default(),
            failed: Arc::default(),
            stopped: Arc::default(),
            tasks: JoinSet::new(),
        };
        for (client, to) in banks {
            let recipient = format!("O={to}, L=London, C=GB");
            let arguments = json!({ "currency": "GBP", "quantity": 5, "recipient": recipient });
            let start = StartFlow::new("cash.issue_and_pay", &arguments)?.wait(Wait::Delivered);
            for _ in 0..OUTSTANDING {
                load.spawn(client.clone(), start.clone());
            }
        }
        Ok(load)
    }

    fn spawn(&mut self, client: Client, start: StartFlow) {
        let (delivered, failed) = (Arc::clone(&self.delivered), Arc::clone(&self.failed));
        let stopped = Arc::clone(&self.stopped);
        self.tasks.spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                match client.start(&start).await {
                    Ok(outcome) if outcome.status == FlowStatus::Delivered => {
                        delivered.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {
                        failed.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        });
    }

    /// Returns the payments delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Lets the outstanding payments end. Returns the number of starts that were not delivered.
    pub async fn stop(mut self) -> u64 {
        self.stopped.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
        self.failed.load(Ordering::Relaxed)
    }
}
