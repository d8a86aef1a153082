//! A network as workloads see it: banks with clients, their names, and the books. Who runs the processes, and where, it
//! does not know.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{FlowStatus, Outcome, RawJson, StartFlow, Wait};
use client::{Client, ClientError, Stream};
use primitives::Hash;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::task::JoinSet;

use super::books::{SiteBooks, Token};
use super::codes::{
    BAD_ANSWER, BAD_BOOKS, NO_TRANSACTION, STORE_FULL, TOO_FEW_BANKS, VIEW_BEHIND, WORKER_PANICKED,
};
use super::progress::Preparation;
use super::traits::{Failed, Tried};
use crate::audit::CollectError;
use crate::load::Fault;

/// Codes of flows that ended before they spent anything.
const UNSPENT: &[&str] = &[
    "vault.insufficient_funds",
    "vault.selection_timeout",
    "vault.state_locked",
];
/// How long the views may take to catch up.
const CATCH_UP_MAX: Duration = Duration::from_secs(120);
/// Between two looks at a view that is behind.
const CATCH_UP_EVERY: Duration = Duration::from_millis(2);
/// Starts outstanding while something is prepared.
const PREPARING_OUTSTANDING: usize = 256;
/// Tries of one unit at most, with `retry`.
const TRIES_MAX: u32 = 1_000;
/// What a try waits at most, whatever the node asks for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);
/// What a try waits if the node says nothing.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// A node of a site.
pub struct SiteNode {
    name: String,
    client: Client,
    streams: Vec<Stream>,
    turn: AtomicUsize,
}

impl SiteNode {
    /// A node by its legal name; starts go over one stream of this client.
    pub fn new(name: impl Into<String>, client: Client) -> Self {
        let streams = vec![client.stream()];
        Self {
            name: name.into(),
            client,
            streams,
            turn: AtomicUsize::new(0),
        }
    }

    /// Another stream for starts, of a client with a connection of its own; starts take turns.
    #[must_use]
    pub fn with_stream(mut self, stream: Stream) -> Self {
        self.streams.push(stream);
        self
    }

    /// Its legal name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn stream(&self) -> &Stream {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        &self.streams[turn % self.streams.len()]
    }
}

/// Why a site cannot go on.
#[derive(Debug, Error)]
pub enum SiteError {
    /// A node's API.
    #[error("{name}: {source} ({})", .source.hint())]
    Client {
        /// Whose.
        name: String,
        /// What it said.
        #[source]
        source: ClientError,
    },
    /// The audit's reading.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The views are too far behind.
    #[error("the vault view of {0} has not caught up after {max} s", max = CATCH_UP_MAX.as_secs())]
    ViewBehind(String),
}

impl SiteError {
    /// A stable code.
    pub fn code(&self) -> &str {
        match self {
            SiteError::Client { source, .. } => source.code(),
            SiteError::Collect(CollectError::Call { source, .. }) => source.code(),
            SiteError::Collect(CollectError::Malformed { .. }) => BAD_BOOKS,
            SiteError::ViewBehind(_) => VIEW_BEHIND,
        }
    }
}

impl From<SiteError> for Failed {
    fn from(error: SiteError) -> Self {
        Failed::new(error.code().to_owned(), error.to_string())
    }
}

/// A flow that has ended well: delivered to all whom it concerns.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The transactions it recorded, in order.
    pub transactions: Vec<Hash>,
    /// What it returned, as JSON.
    pub result: Option<RawJson>,
    /// Tries beyond the first.
    pub retries: u32,
}

impl Delivered {
    /// For a worker whose unit is this one flow.
    pub fn tried(&self) -> Tried {
        Tried {
            retries: self.retries,
        }
    }

    /// What it returned, as a type.
    pub fn returned<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        let text = self.result.as_ref().map_or("null", |result| result.get());
        serde_json::from_str(text).map_err(|error| Failed::new(BAD_ANSWER, error.to_string()))
    }

    /// The last transaction; a fault if there is none.
    pub fn last(&self) -> Result<Hash, Failed> {
        let last = self.transactions.last().copied();
        last.ok_or_else(|| Failed::new(NO_TRANSACTION, "the flow recorded no transaction"))
    }
}

/// One flow of a preparation.
#[derive(Clone, Debug)]
pub struct Step {
    /// The flow.
    pub start: StartFlow,
    /// What it issues.
    pub issues: Option<(Token, u64)>,
    /// Positions of the banks that record its transactions.
    pub participants: Vec<u32>,
}

/// See the module. Everything takes `&self`: a site is shared by all workers.
pub struct Site {
    pub(super) banks: Vec<SiteNode>,
    pub(super) notary: Option<SiteNode>,
    pub(super) books: Mutex<SiteBooks>,
    seed: u64,
    preparation: Preparation,
}

impl Site {
    /// A network that came up for this alone: its banks, all of them, and its notary. All randomness comes from `seed`.
    pub fn new(banks: Vec<SiteNode>, notary: Option<SiteNode>, seed: u64) -> Self {
        Self {
            banks,
            notary,
            books: Mutex::default(),
            seed,
            preparation: Preparation::default(),
        }
    }

    /// How many banks there are.
    pub fn banks(&self) -> usize {
        self.banks.len()
    }

    /// A bank, by position.
    pub fn bank(&self, at: usize) -> Result<&SiteNode, Failed> {
        self.banks.get(at).ok_or_else(|| {
            let message = format!("bank {} of {} is needed", at + 1, self.banks.len());
            Failed::new(TOO_FEW_BANKS, message)
        })
    }

    /// A bank's legal name.
    pub fn name(&self, at: usize) -> Result<&str, Failed> {
        self.bank(at).map(SiteNode::name)
    }

    /// A token that a bank issues.
    pub fn token(&self, symbol: &str, issuer: usize) -> Result<Token, Failed> {
        Ok(Token {
            symbol: symbol.to_owned(),
            issuer: self.name(issuer)?.to_owned(),
        })
    }

    /// What all randomness comes from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How far the preparation is, for those who watch, and for those who prepare.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// A start that is complete when it is delivered.
    pub fn start_of(&self, flow: &str, arguments: &impl Serialize) -> Result<StartFlow, Failed> {
        let start = StartFlow::new(flow, arguments).map_err(ClientError::arguments)?;
        Ok(start.wait(Wait::Delivered))
    }

    /// Runs a flow on a bank to its end. With `retry`, a refusal that says when to try again is followed.
    ///
    /// If it stays open whether the flow has left something, after a failure or because nobody waited for its end, that is
    /// noted in the books.
    pub async fn run(
        &self,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        let mut open = InFlight::new(self, None);
        let ran = self.try_run(bank, start, retry).await;
        open.begun = ran.as_ref().is_err_and(|failed| failed.begun);
        ran
    }

    /// The same for a flow that issues `quantity` of a token: notes that as well.
    pub async fn run_issuing(
        &self,
        bank: usize,
        start: &StartFlow,
        retry: bool,
        token: &Token,
        quantity: u64,
    ) -> Result<Delivered, Failed> {
        let mut open = InFlight::new(self, Some((token, quantity)));
        let ran = self.try_run(bank, start, retry).await;
        open.begun = ran.as_ref().is_err_and(|failed| failed.begun);
        if ran.is_ok() {
            self.issued(token, quantity);
        }
        ran
    }

    async fn try_run(
        &self,
        bank: usize,
        start: &StartFlow,
        retry: bool,
    ) -> Result<Delivered, Failed> {
        let node = self.bank(bank)?;
        let mut retries = 0;
        loop {
            let error = match node.stream().start(start).await {
                Ok(outcome) => {
                    return delivered(outcome, retries).map_err(|fault| Failed {
                        fault,
                        retries,
                        begun: true,
                    });
                }
                Err(error) => error,
            };
            // A refused start has begun nothing, so it can be repeated; of any other that is not known.
            let begun = error.is_outcome_unknown();
            let again = retry && !begun && is_busy(&error) && retries + 1 < TRIES_MAX;
            if !again {
                return Err(Failed {
                    fault: Fault::from(error),
                    retries,
                    begun,
                });
            }
            let after = error.retry_after_ms().map(Duration::from_millis);
            tokio::time::sleep(after.unwrap_or(RETRY_AFTER).min(RETRY_AFTER_MAX)).await;
            retries += 1;
        }
    }

    /// Runs `count` flows of a preparation on a bank, many at a time, and shows how far they are. `each` sees them in the
    /// order in which they end. The first that fails ends it.
    pub async fn prepare_with(
        self: &Arc<Self>,
        bank: usize,
        count: u64,
        make: impl Fn(u64) -> Result<Step, Failed>,
        each: impl Fn(u64, &Delivered) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut running: JoinSet<(u64, Result<Delivered, Failed>)> = JoinSet::new();
        let mut next = 0;
        loop {
            while next < count && running.len() < PREPARING_OUTSTANDING {
                let (site, number, step) = (Arc::clone(self), next, make(next)?);
                running.spawn(async move { (number, site.run_step(bank, step).await) });
                next += 1;
            }
            let Some(ended) = running.join_next().await else {
                return Ok(());
            };
            let (number, delivered) =
                ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
            each(number, &delivered?)?;
            self.preparation.advance();
        }
    }

    /// A preparation that a node is too busy for takes longer; it does not fail.
    async fn run_step(&self, bank: usize, step: Step) -> Result<Delivered, Failed> {
        let delivered = match &step.issues {
            Some((token, quantity)) => {
                self.run_issuing(bank, &step.start, true, token, *quantity)
                    .await?
            }
            None => self.run(bank, &step.start, true).await?,
        };
        self.acknowledge(&delivered.transactions, &step.participants);
        Ok(delivered)
    }

    /// Notes that so much was issued.
    pub fn issued(&self, token: &Token, quantity: u64) {
        self.lock().issued(token, quantity);
    }

    /// Notes that so much was taken out of the world.
    pub fn redeemed(&self, token: &Token, quantity: u64) {
        self.lock().redeemed(token, quantity);
    }

    /// Notes transactions that all of these banks have been said to have recorded; the audit looks whether they have.
    pub fn acknowledge(&self, transactions: &[Hash], participants: &[u32]) {
        let mut books = self.lock();
        for id in transactions {
            books.acknowledge(*id, participants);
        }
    }

    /// Notes a unit that failed in a way that leaves open whether it took effect. [`Site::run`] does so itself.
    pub fn unknown(&self) {
        self.lock().unknown();
    }

    /// Puts something away for later units, such as a prepared state; it is saved with snapshots. Fails if there is too
    /// much of it.
    pub fn put(&self, store: &str, value: serde_json::Value) -> Result<(), Failed> {
        if self.lock().put(store, value) {
            return Ok(());
        }
        let message = format!("too much was put into {store:?}");
        Err(Failed::new(STORE_FULL, message))
    }

    /// Takes what was put away first.
    pub fn take(&self, store: &str) -> Option<serde_json::Value> {
        self.lock().take(store)
    }

    /// Puts back what a failed unit had taken, if it is certain that the unit has not spent it; gives the failure back.
    pub(super) fn put_back<T>(
        &self,
        store: &str,
        value: serde_json::Value,
        failed: Failed,
    ) -> Result<T, Failed> {
        if !failed.begun || UNSPENT.contains(&failed.fault.code.as_str()) {
            self.put(store, value)?;
        }
        Err(failed)
    }

    /// Numbers of this name, each once in the network's life.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.lock().count(name)
    }

    /// How much is put away there.
    pub fn stored(&self, store: &str) -> usize {
        self.lock().stored(store)
    }

    /// The books as they are, to be saved with a snapshot of the network.
    pub fn books(&self) -> SiteBooks {
        self.lock().clone()
    }

    /// The books of a snapshot that the network has been restored from.
    pub fn restore(&self, books: SiteBooks) {
        *self.lock() = books;
    }

    /// Changes the books where several generators share a load.
    pub(crate) fn with_books<T>(&self, change: impl FnOnce(&mut SiteBooks) -> T) -> T {
        change(&mut self.lock())
    }

    /// Waits until the vault view of every bank shows all that its ledger had when asked.
    pub async fn caught_up(&self) -> Result<(), SiteError> {
        for node in &self.banks {
            if !view_caught_up(&node.client).await {
                return Err(SiteError::ViewBehind(node.name.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SiteBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A flow whose end nobody has seen yet.
struct InFlight<'a> {
    site: &'a Site,
    issues: Option<(&'a Token, u64)>,
    /// Whether it may have left something; so as long as nobody knows better.
    begun: bool,
}

impl<'a> InFlight<'a> {
    fn new(site: &'a Site, issues: Option<(&'a Token, u64)>) -> Self {
        Self {
            site,
            issues,
            begun: true,
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.begun {
            return;
        }
        let mut books = self.site.lock();
        books.unknown();
        if let Some((token, quantity)) = self.issues {
            books.in_doubt(token, quantity);
        }
    }
}

fn is_busy(error: &ClientError) -> bool {
    error.code() == api::codes::NODE_BUSY.code || error.retry_after_ms().is_some()
}

async fn view_caught_up(client: &Client) -> bool {
    let deadline = tokio::time::Instant::now() + CATCH_UP_MAX;
    while tokio::time::Instant::now() < deadline {
        match client.health().await {
            Ok(health) if health.view_seq >= health.ledger_seq => return true,
            _ => tokio::time::sleep(CATCH_UP_EVERY).await,
        }
    }
    false
}

/// What a flow left that ended well; anything else is a fault.
fn delivered(outcome: Outcome, retries: u32) -> Result<Delivered, Fault> {
    if let Some(error) = outcome.error {
        return Err(Fault {
            code: error.code,
            message: error.message,
        });
    }
    if outcome.status != FlowStatus::Delivered {
        return Err(Fault {
            code: format!("lab.{}", outcome.status.as_str()),
            message: format!("flow {} is not delivered", outcome.flow_id),
        });
    }
    let ids = outcome.transactions.iter();
    let transactions: Result<Vec<Hash>, Fault> = ids
        .map(|id| {
            id.parse().map_err(|error| Fault {
                code: BAD_ANSWER.to_owned(),
                message: format!("{id:?}: {error}"),
            })
        })
        .collect();
    Ok(Delivered {
        transactions: transactions?,
        result: outcome.result,
        retries,
    })
}
