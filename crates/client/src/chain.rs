//! A typed client of a chain node's HTTP API, over the same connection as [`Client`].

use api::chain::{
    AccountView, BalancesView, BlockPage, BlockView, BundlerList, BundlerView, ChainPeers,
    ChainStatus, Constants, Done, EquivocationPage, ForgersView, ForgingAccount, ForgingView,
    NewBan, PopOff, Prepare, Prepared, Prune, RatesView, SignAndSend, Snapshot, StartBundler,
    StartForging, StateHash, Submit, SubmitAnswer, SubmitBatch, SubmitBatchAnswer, Submitted,
    TransactionAnswer, TransactionPage, Trust, UnconfirmedPage, paths,
};
use api::paths::with;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::body::RequestBody;
use crate::client::Client;
use crate::endpoint::{Endpoint, Limits};
use crate::error::ClientError;
use crate::events::Events;

/// A chain node's API. Cheap to clone; clones share one connection. Reading and submitting need no token.
#[derive(Clone)]
pub struct ChainClient {
    client: Client,
}

impl ChainClient {
    /// A client with the usual limits; connects at the first call.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientError> {
        Self::with_limits(endpoint, Limits::default())
    }

    /// A client; connects at the first call.
    pub fn with_limits(endpoint: Endpoint, limits: Limits) -> Result<Self, ClientError> {
        let client = Client::with_limits(endpoint, limits)?;
        Ok(Self { client })
    }

    /// Returns the network's constants.
    pub async fn constants(&self) -> Result<Constants, ClientError> {
        self.client.get(paths::CONSTANTS).await
    }

    /// The node's state.
    pub async fn status(&self) -> Result<ChainStatus, ClientError> {
        self.client.get(paths::STATUS).await
    }

    /// Blocks below a height, or from the tip down: the newest first. `detail` is `none`, `ids` or `full`; with more than `none` a page
    /// ends early where there is much.
    pub async fn blocks(
        &self,
        before: Option<u32>,
        limit: u32,
        detail: &str,
    ) -> Result<BlockPage, ClientError> {
        let before = before.map_or_else(String::new, |before| format!("&before={before}"));
        let path = format!(
            "{}?limit={limit}&transactions={detail}{before}",
            paths::BLOCKS
        );
        self.client.get(&path).await
    }

    /// Blocks from a height upwards, likewise.
    pub async fn blocks_from(
        &self,
        from: u32,
        limit: u32,
        detail: &str,
    ) -> Result<BlockPage, ClientError> {
        let path = format!(
            "{}?limit={limit}&transactions={detail}&from={from}",
            paths::BLOCKS
        );
        self.client.get(&path).await
    }

    /// A block by its height or its hash.
    pub async fn block(&self, block: &str, detail: &str) -> Result<BlockView, ClientError> {
        let path = with(paths::BLOCK, block);
        self.client
            .get(&format!("{path}?transactions={detail}"))
            .await
    }

    /// A page of a block's transactions.
    pub async fn block_transactions(
        &self,
        block: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<TransactionPage, ClientError> {
        self.client
            .page(&with(paths::BLOCK_TRANSACTIONS, block), after, limit)
            .await
    }

    /// Submits a signed transaction, as its bytes in hexadecimal; it is durably in the pool when this returns.
    pub async fn submit(&self, transaction: String) -> Result<Submitted, ClientError> {
        self.post(paths::TRANSACTIONS, &Submit { transaction })
            .await
    }

    /// Submits up to `submit_batch_max` signed transactions; each is answered by itself, in order.
    pub async fn submit_batch(
        &self,
        transactions: Vec<String>,
    ) -> Result<Vec<SubmitAnswer>, ClientError> {
        let batch = SubmitBatch { transactions };
        let answer: SubmitBatchAnswer = self.post(paths::TRANSACTION_BATCH, &batch).await?;
        Ok(answer.answers)
    }

    /// Submits transactions as their bytes, one after another, which takes half as many bytes on the wire. Transactions after the
    /// first that does not decode get no answer.
    pub async fn submit_bytes(
        &self,
        transactions: Vec<u8>,
    ) -> Result<Vec<SubmitAnswer>, ClientError> {
        let body = RequestBody::Octets(Some(transactions.into()));
        let path = paths::TRANSACTION_BATCH;
        let answer = self.client.raw_of(Method::POST, path, body, None).await?;
        let answer: SubmitBatchAnswer = serde_json::from_slice(&answer)
            .map_err(|error| ClientError::BadAnswer(error.to_string()))?;
        Ok(answer.answers)
    }

    /// The bytes of a payment or a lease to be signed, with everything filled in.
    pub async fn prepare(&self, prepare: &Prepare) -> Result<Prepared, ClientError> {
        self.post(paths::PREPARE, prepare).await
    }

    /// Prepared, signed and submitted by the node, where it does that: it sees the secret. For test networks.
    pub async fn sign_and_send(&self, send: &SignAndSend) -> Result<Submitted, ClientError> {
        self.post(paths::SIGN_AND_SEND, send).await
    }

    /// Returns the node's entry for a transaction.
    pub async fn transaction(&self, id: &str) -> Result<TransactionAnswer, ClientError> {
        self.client.get(&with(paths::TRANSACTION, id)).await
    }

    /// A page of the pool.
    pub async fn unconfirmed(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<UnconfirmedPage, ClientError> {
        self.client.page(paths::UNCONFIRMED, after, limit).await
    }

    /// Balances of up to 100 accounts on all chains, all at one height.
    pub async fn balances(&self, accounts: &[String]) -> Result<BalancesView, ClientError> {
        let path = format!("{}?accounts={}", paths::BALANCES, accounts.join(","));
        self.client.get(&path).await
    }

    /// An account.
    pub async fn account(&self, account: &str) -> Result<AccountView, ClientError> {
        self.client.get(&with(paths::ACCOUNT, account)).await
    }

    /// Returns the accounts that forge on this node.
    pub async fn forging(&self) -> Result<ForgingView, ClientError> {
        self.client.get(paths::FORGING).await
    }

    /// Lets an account forge on this node.
    pub async fn start_forging(&self, start: &StartForging) -> Result<ForgingAccount, ClientError> {
        self.post(paths::FORGING, start).await
    }

    /// Stops forging with an account.
    pub async fn stop_forging(&self, account: &str) -> Result<(), ClientError> {
        self.delete(&with(paths::FORGING_ACCOUNT, account)).await
    }

    /// Returns the accounts that may forge the next block.
    pub async fn forgers(&self, limit: u32) -> Result<ForgersView, ClientError> {
        self.client
            .get(&format!("{}?limit={limit}", paths::FORGERS))
            .await
    }

    /// Returns the accounts that bundle on this node.
    pub async fn bundlers(&self) -> Result<BundlerList, ClientError> {
        self.client.get(paths::BUNDLERS).await
    }

    /// Lets an account bundle a child chain's transactions on this node.
    pub async fn start_bundler(&self, start: &StartBundler) -> Result<BundlerView, ClientError> {
        self.post(paths::BUNDLERS, start).await
    }

    /// Stops forging with an account.
    pub async fn stop_bundler(&self, account: &str, chain: u8) -> Result<(), ClientError> {
        let path = with(paths::BUNDLER, account).replace("{chain}", &chain.to_string());
        self.delete(&path).await
    }

    /// Returns the fee rates that the network's bundlers ask for.
    pub async fn rates(&self) -> Result<RatesView, ClientError> {
        self.client.get(paths::RATES).await
    }

    /// A page of evidence against forgers that signed two blocks on one parent.
    pub async fn equivocations(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<EquivocationPage, ClientError> {
        self.client.page(paths::EQUIVOCATIONS, after, limit).await
    }

    /// The peers of this node.
    pub async fn peers(&self) -> Result<ChainPeers, ClientError> {
        self.client.get(paths::PEERS).await
    }

    /// A hash over the whole state at the tip.
    pub async fn state_hash(&self) -> Result<StateHash, ClientError> {
        self.client.get(paths::STATE_HASH).await
    }

    /// Rolls the chain back to a height.
    pub async fn pop_off(&self, height: u32) -> Result<Done, ClientError> {
        self.post(paths::POP_OFF, &PopOff { height }).await
    }

    /// Empties the pool.
    pub async fn clear_pool(&self) -> Result<Done, ClientError> {
        let path = paths::CLEAR_POOL;
        self.client.call(Method::POST, path, Vec::new(), None).await
    }

    /// Lets the bodies of all but the newest blocks go.
    pub async fn prune(&self, keep_blocks: u32) -> Result<Done, ClientError> {
        self.post(paths::PRUNE, &Prune { keep_blocks }).await
    }

    /// Makes a copy of the node's store while it runs.
    pub async fn snapshot(&self, name: &str) -> Result<Done, ClientError> {
        let name = name.to_owned();
        self.post(paths::SNAPSHOT, &Snapshot { name }).await
    }

    /// Accepts a branch beyond the rollback limit, by a block that must be on the chain.
    pub async fn trust(&self, height: u32, hash: &str) -> Result<Done, ClientError> {
        let hash = hash.to_owned();
        self.post(paths::TRUST, &Trust { height, hash }).await
    }

    /// Keeps a peer away for a time.
    pub async fn ban_peer(&self, peer: &str, ban: &NewBan) -> Result<(), ClientError> {
        let body = serde_json::to_vec(ban).map_err(ClientError::arguments)?;
        let path = with(paths::PEER_BAN, peer);
        let answer = self.client.raw(Method::POST, &path, body, None).await;
        answer.map(drop)
    }

    /// Stops forging with an account.
    pub async fn unban_peer(&self, peer: &str) -> Result<(), ClientError> {
        self.delete(&with(paths::PEER_BAN, peer)).await
    }

    /// Follows the chain's events from now on.
    pub async fn follow(&self) -> Result<Events, ClientError> {
        self.client.events(paths::EVENTS).await
    }

    /// Counters in Prometheus text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        self.client.metrics().await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::arguments)?;
        self.client.call(Method::POST, path, body, None).await
    }

    async fn delete(&self, path: &str) -> Result<(), ClientError> {
        let answer = self
            .client
            .raw(Method::DELETE, path, Vec::new(), None)
            .await;
        answer.map(drop)
    }
}
