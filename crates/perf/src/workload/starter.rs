//! The ways to start the flows of a kind of work: over the laboratory's streams, by requests, or from Python coroutines,
//! optionally through a gateway, and while other clients follow the vault.

use std::sync::{Arc, Weak};

use api::StartFlow;
use client::Client;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::books::Token;
use super::codes::NO_CONNECTION;
use super::ended::Failed;
use super::site::{Delivered, Way};
use super::{KnobError, Knobs, Site};
use crate::load::{Coroutines, Followers};

/// Upper limit on workers of a gateway.
const GATEWAY_MAX: u64 = 10_000;
/// Upper limit on connections of one process of coroutines.
const CONNECTIONS_MAX: u32 = 256;
/// Upper limit on followers of the vault.
const FOLLOWERS_MAX: u64 = 10_000;

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
    /// The number of clients that follow the vault of the bank.
    followers: usize,
    /// The followers of a stretch, as long as a worker needs them.
    following: Mutex<Weak<Followers>>,
}

/// A worker's connection to a bank.
pub(super) struct Start {
    kind: Kind,
    gateway: Option<Arc<Semaphore>>,
    followers: Option<Arc<Followers>>,
}

enum Kind {
    Stream,
    Request(Client),
    Coroutines(Arc<Coroutines>),
}

impl Starter {
    /// Reads the knobs `starts`, `gateway_workers` and `followers`.
    pub(super) fn of(knobs: &mut Knobs) -> Result<Self, KnobError> {
        let by = match knobs.word("starts", &["stream", "requests", "python"])? {
            "requests" => By::Requests,
            "python" => By::Python,
            _ => By::Stream,
        };
        let workers = knobs.number("gateway_workers", 0, 0..=GATEWAY_MAX)?;
        let permits = usize::try_from(workers).expect("at most GATEWAY_MAX");
        let followers = knobs.number("followers", 0, 0..=FOLLOWERS_MAX)?;
        Ok(Self {
            by,
            gateway: (workers > 0).then(|| Arc::new(Semaphore::new(permits))),
            coroutines: Mutex::default(),
            followers: usize::try_from(followers).expect("at most FOLLOWERS_MAX"),
            following: Mutex::default(),
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
            followers: self.followers(site, bank).await?,
        })
    }

    /// Returns the followers of the bank's vault, which the first worker of a stretch begins. `None` if there are none.
    async fn followers(&self, site: &Site, bank: usize) -> Result<Option<Arc<Followers>>, Failed> {
        if self.followers == 0 {
            return Ok(None);
        }
        let mut all = self.following.lock().await;
        if let Some(running) = all.upgrade() {
            return Ok(Some(running));
        }
        let begun = Followers::begin(site.endpoint(bank)?, self.followers).await?;
        let begun = Arc::new(begun);
        *all = Arc::downgrade(&begun);
        Ok(Some(begun))
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
        let _place = self.admitted().await?;
        site.run_by(self.way(), bank, start, retry).await
    }

    /// Does the same for a flow that issues `quantity` of a token, like [`Site::run_issuing`].
    pub(super) async fn run_issuing(
        &self,
        site: &Site,
        bank: usize,
        start: &StartFlow,
        retry: bool,
        (token, quantity): (&Token, u64),
    ) -> Result<Delivered, Failed> {
        let _place = self.admitted().await?;
        site.run_issuing_by(self.way(), bank, start, retry, (token, quantity))
            .await
    }

    /// Waits for a place in the gateway. Fails if the node has cut off a follower, because the load is measured with all of them.
    async fn admitted(&self) -> Result<Option<SemaphorePermit<'_>>, Failed> {
        if let Some(followers) = &self.followers
            && followers.cut() > 0
        {
            let message = format!("{} followers of the vault were cut off", followers.cut());
            return Err(Failed::new(NO_CONNECTION, message));
        }
        Ok(match &self.gateway {
            // The semaphore is never closed.
            Some(gateway) => gateway.acquire().await.ok(),
            None => None,
        })
    }

    fn way(&self) -> Way<'_> {
        match &self.kind {
            Kind::Stream => Way::Stream,
            Kind::Request(client) => Way::Request(client),
            Kind::Coroutines(coroutines) => Way::Coroutines(coroutines),
        }
    }
}
