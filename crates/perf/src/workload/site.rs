//! A network as workloads see it: banks with clients, their names, and the books. It does not know where the processes
//! run.

mod delivered;
mod error;
mod node;
mod running;
mod standing;
mod step;
mod streams;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{StartFlow, Wait};
use client::{Client, ClientError, Endpoint};
use primitives::Hash;
use serde::Serialize;

use super::books::{SiteBooks, Token};
use super::codes::{NO_CHAIN, NO_CONNECTION, STORE_FULL, TOO_FEW_BANKS};
use super::ended::Failed;
use super::progress::Preparation;
use crate::chain::ChainSite;
use crate::chain::books::Accepted;
use crate::connector::{Connector, NO_CONNECTOR};
pub use delivered::Delivered;
use error::CATCH_UP_MAX;
pub use error::SiteError;
pub use node::SiteNode;
pub use step::Step;
pub(super) use step::Way;
pub use streams::PER_STREAM;

/// Codes of flows that ended before they spent anything.
const UNSPENT: &[&str] = &[
    "vault.insufficient_funds",
    "vault.selection_timeout",
    "vault.state_locked",
];
/// The folder of a node's files, within its data.
const FILES: &str = "attachments";
/// Interval between two checks of a view that is behind.
const CATCH_UP_EVERY: Duration = Duration::from_millis(2);

/// Granted rights by description: the granting bank, and the flow that revokes the right.
type Standing = BTreeMap<String, (u32, StartFlow)>;

/// A network as workloads see it. All methods take `&self`: all workers share a site.
pub struct Site {
    pub(super) banks: Vec<SiteNode>,
    pub(super) notary: Option<SiteNode>,
    requesters: Vec<PathBuf>,
    connector: Option<Arc<Connector>>,
    chain: Option<ChainSite>,
    pub(super) books: Mutex<SiteBooks>,
    seed: u64,
    preparation: Preparation,
    standing: Mutex<Standing>,
}

impl Site {
    /// Creates a site for a network of its own: all its banks, and its notary. `seed` is the source of all randomness.
    pub fn new(banks: Vec<SiteNode>, notary: Option<SiteNode>, seed: u64) -> Self {
        Self {
            banks,
            notary,
            requesters: Vec::new(),
            connector: None,
            chain: None,
            books: Mutex::default(),
            seed,
            preparation: Preparation::default(),
            standing: Mutex::default(),
        }
    }

    /// Adds the folders of the members without a node.
    #[must_use]
    pub fn with_requesters(mut self, folders: Vec<PathBuf>) -> Self {
        self.requesters = folders;
        self
    }

    /// Adds the connector of another system.
    #[must_use]
    pub fn with_connector(mut self, connector: Arc<Connector>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Returns the connector of another system.
    pub fn connector(&self) -> Result<&Arc<Connector>, Failed> {
        let missing = || Failed::new(NO_CONNECTOR, "the network has no connector");
        self.connector.as_ref().ok_or_else(missing)
    }

    /// Adds a chain.
    #[must_use]
    pub fn with_chain(mut self, chain: ChainSite) -> Self {
        self.chain = Some(chain);
        self
    }

    /// Returns the chain.
    pub fn chain(&self) -> Result<&ChainSite, Failed> {
        let missing = || Failed::new(NO_CHAIN, "the network has no chain");
        self.chain.as_ref().ok_or_else(missing)
    }

    /// Returns the folders of the members without a node, in whose names a workload may ask the notary.
    pub fn requesters(&self) -> &[PathBuf] {
        &self.requesters
    }

    /// Returns the number of banks.
    pub fn banks(&self) -> usize {
        self.banks.len()
    }

    /// Returns a bank, by position.
    pub fn bank(&self, at: usize) -> Result<&SiteNode, Failed> {
        self.banks.get(at).ok_or_else(|| {
            let message = format!("bank {} of {} is needed", at + 1, self.banks.len());
            Failed::new(TOO_FEW_BANKS, message)
        })
    }

    /// Returns a bank's legal name.
    pub fn name(&self, at: usize) -> Result<&str, Failed> {
        self.bank(at).map(SiteNode::name)
    }

    /// Returns a bank's API.
    pub fn endpoint(&self, at: usize) -> Result<&Endpoint, Failed> {
        let endpoint = self.bank(at)?.endpoint();
        let unknown = || Failed::new(NO_CONNECTION, "the address of its API is unknown");
        endpoint.ok_or_else(unknown)
    }

    /// Returns the folder of a bank's files, if it is on this machine.
    pub(super) fn files_folder(&self, at: usize) -> Result<Option<PathBuf>, Failed> {
        let data = self.bank(at)?.data();
        Ok(data.map(|data| data.join(FILES)))
    }

    /// Returns a token that a bank issues.
    pub fn token(&self, symbol: &str, issuer: usize) -> Result<Token, Failed> {
        Ok(Token {
            symbol: symbol.to_owned(),
            issuer: self.name(issuer)?.to_owned(),
        })
    }

    /// Returns the seed of all random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the progress of the preparation, to show it and to update it.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// Returns a start that is complete when it is delivered.
    pub fn start_of(&self, flow: &str, arguments: &impl Serialize) -> Result<StartFlow, Failed> {
        let start = StartFlow::new(flow, arguments).map_err(ClientError::arguments)?;
        Ok(start.wait(Wait::Delivered))
    }

    /// Notes an issue.
    pub fn issued(&self, token: &Token, quantity: u64) {
        self.lock().issued(token, quantity);
    }

    /// Notes a transaction without a node that the notary has signed, by the number of states that it consumes.
    pub fn notarised(&self, states: u64) {
        self.lock().notarised(states);
    }

    /// Notes a payment that a node of a chain has accepted. The audit looks for it in the blocks.
    pub fn accepted(&self, payment: Accepted) {
        self.lock().accepted(payment);
    }

    /// Notes an exit from the ledger.
    pub fn redeemed(&self, token: &Token, quantity: u64) {
        self.lock().redeemed(token, quantity);
    }

    /// Notes transactions that all of these banks have acknowledged. The audit checks that they have recorded them.
    pub fn acknowledge(&self, transactions: &[Hash], participants: &[u32]) {
        let mut books = self.lock();
        for id in transactions {
            books.acknowledge(*id, participants);
        }
    }

    /// Notes a file that all of these banks have acknowledged to hold. The audit reads it back there.
    pub fn holds_file(&self, hash: Hash, size: u64, banks: &[u32]) {
        self.lock().holds_file(hash, size, banks);
    }

    /// Notes a unit that failed without a known outcome. [`Site::run`] does so itself.
    pub fn unknown(&self) {
        self.lock().unknown();
    }

    /// Puts a value away for later units, such as a prepared state. It is saved with snapshots. Fails if the store is
    /// full.
    pub fn put(&self, store: &str, value: serde_json::Value) -> Result<(), Failed> {
        if self.lock().put(store, value) {
            return Ok(());
        }
        let message = format!("too much was put into {store:?}");
        Err(Failed::new(STORE_FULL, message))
    }

    /// Takes the oldest value of a store.
    pub fn take(&self, store: &str) -> Option<serde_json::Value> {
        self.lock().take(store)
    }

    /// Puts back a value that a failed unit had taken, if the unit certainly did not spend it. Returns the failure.
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

    /// Returns the next number of a counter. Each number occurs once in the network's life.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.lock().count(name)
    }

    /// Returns the number of values in a store.
    pub fn stored(&self, store: &str) -> usize {
        self.lock().stored(store)
    }

    /// Returns a copy of the books, to be saved with a snapshot of the network.
    pub fn books(&self) -> SiteBooks {
        self.lock().clone()
    }

    /// Replaces the books by those of the snapshot that the network has been restored from.
    pub fn restore(&self, books: SiteBooks) {
        *self.lock() = books;
    }

    /// Changes the books if several generators share a load.
    pub(crate) fn with_books<T>(&self, change: impl FnOnce(&mut SiteBooks) -> T) -> T {
        change(&mut self.lock())
    }

    /// Waits until the vault view of every bank shows the state of its ledger at the time of the call.
    pub async fn caught_up(&self) -> Result<(), SiteError> {
        for node in &self.banks {
            if !view_caught_up(node.client()).await {
                return Err(SiteError::ViewBehind(node.name().to_owned()));
            }
        }
        Ok(())
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SiteBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn view_caught_up(client: &Client) -> bool {
    let deadline = tokio::time::Instant::now() + CATCH_UP_MAX;
    while tokio::time::Instant::now() < deadline {
        // A reader has the view updated at once.
        let read = client.balances().await;
        if matches!(read, Err(client::ClientError::NotConnected { .. })) {
            // The node was killed by a fault, or has died, which the run reports.
            return true;
        }
        let is_read = read.is_ok();
        match client.health().await {
            Ok(health) if is_read && health.view_seq >= health.ledger_seq => return true,
            _ => tokio::time::sleep(CATCH_UP_EVERY).await,
        }
    }
    false
}
