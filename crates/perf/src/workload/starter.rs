//! The ways to start the flows of a kind of work: over the laboratory's streams, by requests, or from Python coroutines,
//! and optionally through a gateway.

use std::sync::{Arc, Weak};

use api::StartFlow;
use client::Client;
use tokio::sync::{Mutex, Semaphore};

use super::ended::Failed;
use super::site::{Delivered, Way};
use super::{KnobError, Knobs, Site};
use crate::load::Coroutines;

/// Upper limit on workers of a gateway.
const GATEWAY_MAX: u64 = 10_000;
/// Upper limit on connections of one process of coroutines.
const CONNECTIONS_MAX: u32 = 256;

/// The way of starting that the knobs choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Stream,
    Requests,
    Python,
}

/// The way of starting of a workload. Workers derive their own [`Start`] from it.
pub(super) struct Starter {
    by: By,
    /// Permits for the units that the gateway admits at once; `None` means no gateway.
    gateway: Option<Arc<Semaphore>>,
    /// The process of a stretch, as long as a worker needs it.
    coroutines: Mutex<Weak<Coroutines>>,
}

/// A worker's connection to a bank.
pub(super) struct Start {
    kind: Kind,
    gateway: Option<Arc<Semaphore>>,
}

enum Kind {
    Stream,
    Request(Client),
    Coroutines(Arc<Coroutines>),
}

impl Starter {
    /// Reads the knobs `starts` and `gateway_workers`.
    pub(super) fn of(knobs: &mut Knobs) -> Result<Self, KnobError> {
        let by = match knobs.word("starts", &["stream", "requests", "python"])? {
            "requests" => By::Requests,
            "python" => By::Python,
            _ => By::Stream,
        };
        let workers = knobs.number("gateway_workers", 0, 0..=GATEWAY_MAX)?;
        let permits = usize::try_from(workers).expect("at most GATEWAY_MAX");
        Ok(Self {
            by,
            gateway: (workers > 0).then(|| Arc::new(Semaphore::new(permits))),
            coroutines: Mutex::default(),
        })
    }

    /// Creates the start of one worker.
    pub(super) async fn start(&self, site: &Site, bank: usize) -> Result<Start, Failed> {
        let kind = match self.by {
            By::Stream => Kind::Stream,
            By::Requests => Kind::Request(Client::new(site.endpoint(bank)?.clone())?),
            By::Python => {
                let mut one = self.coroutines.lock().await;
                let running = match one.upgrade() {
                    Some(running) => running,
                    None => {
                        let started = Coroutines::start(site.endpoint(bank)?, CONNECTIONS_MAX);
                        let started = started.await.map_err(|not_run| not_run.fault)?;
                        let started = Arc::new(started);
                        *one = Arc::downgrade(&started);
                        started
                    }
                };
                Kind::Coroutines(running)
            }
        };
        Ok(Start {
            kind,
            gateway: self.gateway.clone(),
        })
    }
}

impl Start {
    /// Runs a flow on a bank to its end, like [`Site::run`]. It holds a place in the gateway until then.
    pub(super) async fn run(
        &self,
        site: &Site,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        let _place = match &self.gateway {
            // The semaphore is never closed.
            Some(gateway) => gateway.acquire().await.ok(),
            None => None,
        };
        let way = match &self.kind {
            Kind::Stream => Way::Stream,
            Kind::Request(client) => Way::Request(client),
            Kind::Coroutines(coroutines) => Way::Coroutines(coroutines),
        };
        site.run_by(way, bank, start, retry).await
    }
}
