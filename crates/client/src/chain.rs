//! A typed client of a chain node's HTTP API, over the same connection as [`Client`].

use api::chain::{
    AccountView, BalancesView, BlockPage, BlockView, BundlerList, BundlerView, ChainHealth,
    ChainPeers, ChainStatus, Constants, EquivocationPage, ForgersView, ForgingAccount, ForgingView,
    NewBan, PoolCleared, PopOff, Prepare, Prepared, Prune, PruneBegun, RatesView, RolledBack,
    SignAndSend, Snapshot, SnapshotMade, StartBundler, StartForging, StateHash, Submit,
    SubmitAnswer, SubmitBatch, SubmitBatchAnswer, Submitted, TransactionAnswer, TransactionPage,
    Trust, Trusted, UnconfirmedPage, operations,
};
use api::operations::Call;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::parse;
use crate::arguments::Arguments;
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
    /// Creates a client with the default limits. It connects at the first call.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientError> {
        Self::with_limits(endpoint, Limits::default())
    }

    /// Creates a client. It connects at the first call.
    pub fn with_limits(endpoint: Endpoint, limits: Limits) -> Result<Self, ClientError> {
        let client = Client::with_limits(endpoint, limits)?;
        Ok(Self { client })
    }

    /// Returns the network's constants.
    pub async fn constants(&self) -> Result<Constants, ClientError> {
        self.ask(&operations::CONSTANTS, Arguments::none()).await
    }

    /// Returns the node's state.
    pub async fn status(&self) -> Result<ChainStatus, ClientError> {
        self.ask(&operations::STATUS, Arguments::none()).await
    }

    /// Returns blocks below a height, or from the tip down, the newest first. `detail` is `none`, `ids` or `full`. With more than
    /// `none`, a page of large blocks ends early.
    pub async fn blocks(
        &self,
        before: Option<u32>,
        limit: u32,
        detail: &str,
    ) -> Result<BlockPage, ClientError> {
        let arguments = Arguments::none()
            .with("limit", Some(limit))
            .with("transactions", Some(detail))
            .with("before", before);
        self.ask(&operations::BLOCKS, arguments).await
    }

    /// Returns blocks from a height upwards, otherwise like [`ChainClient::blocks`].
    pub async fn blocks_from(
        &self,
        from: u32,
        limit: u32,
        detail: &str,
    ) -> Result<BlockPage, ClientError> {
        let arguments = Arguments::none()
            .with("limit", Some(limit))
            .with("transactions", Some(detail))
            .with("from", Some(from));
        self.ask(&operations::BLOCKS, arguments).await
    }

    /// Returns a block by its height or its hash.
    pub async fn block(&self, block: &str, detail: &str) -> Result<BlockView, ClientError> {
        let arguments = Arguments::at(&[block]).with("transactions", Some(detail));
        self.ask(&operations::BLOCK, arguments).await
    }

    /// Returns a page of a block's transactions.
    pub async fn block_transactions(
        &self,
        block: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<TransactionPage, ClientError> {
        let arguments = Arguments::at(&[block]).page(after, limit);
        self.ask(&operations::BLOCK_TRANSACTIONS, arguments).await
    }

    /// Returns a page of a block's transactions of one chain, otherwise like [`ChainClient::block_transactions`].
    pub async fn block_transactions_of(
        &self,
        block: &str,
        chain: u8,
        after: Option<&str>,
        limit: u32,
    ) -> Result<TransactionPage, ClientError> {
        let arguments = Arguments::at(&[block])
            .page(after, limit)
            .with("chain", Some(chain));
        self.ask(&operations::BLOCK_TRANSACTIONS, arguments).await
    }

    /// Submits a signed transaction, as its bytes in hexadecimal. It is durably in the pool when this returns.
    pub async fn submit(&self, transaction: String) -> Result<Submitted, ClientError> {
        self.send(&operations::SUBMIT, &Submit { transaction })
            .await
    }

    /// Submits up to `submit_batch_max` signed transactions. Each is answered by itself, in order.
    pub async fn submit_batch(
        &self,
        transactions: Vec<String>,
    ) -> Result<Vec<SubmitAnswer>, ClientError> {
        let batch = SubmitBatch { transactions };
        let answer = self.send(&operations::SUBMIT_BATCH, &batch).await?;
        Ok(answer.answers)
    }

    /// Submits transactions as their bytes, one after another, which takes half as many bytes on the wire. Transactions after the
    /// first that does not decode get no answer.
    pub async fn submit_bytes(
        &self,
        transactions: Vec<u8>,
    ) -> Result<Vec<SubmitAnswer>, ClientError> {
        let body = RequestBody::Octets(Some(transactions.into()));
        let path = operations::SUBMIT_BATCH.path;
        let answer = self.client.raw_of(Method::POST, path, body, None).await?;
        let answer: SubmitBatchAnswer = parse(&answer)?;
        Ok(answer.answers)
    }

    /// Returns the bytes to sign of a payment or a lease, with reference, fee and deadline filled in.
    pub async fn prepare(&self, prepare: &Prepare) -> Result<Prepared, ClientError> {
        self.send(&operations::PREPARE, prepare).await
    }

    /// Has the node prepare, sign and submit a transaction, if its settings allow that. For test networks, because the node sees the
    /// secret.
    pub async fn sign_and_send(&self, send: &SignAndSend) -> Result<Submitted, ClientError> {
        self.send(&operations::SIGN_AND_SEND, send).await
    }

    /// Returns the node's entry for a transaction.
    pub async fn transaction(&self, id: &str) -> Result<TransactionAnswer, ClientError> {
        self.ask(&operations::TRANSACTION, Arguments::at(&[id]))
            .await
    }

    /// Returns a page of the pool.
    pub async fn unconfirmed(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<UnconfirmedPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::UNCONFIRMED, arguments).await
    }

    /// Returns the transactions of the pool that an account has sent or receives, of one chain or of all.
    pub async fn account_unconfirmed(
        &self,
        account: &str,
        chain: Option<u8>,
        limit: u32,
    ) -> Result<UnconfirmedPage, ClientError> {
        let arguments = Arguments::none()
            .with("limit", Some(limit))
            .with("account", Some(account))
            .with("chain", chain);
        self.ask(&operations::UNCONFIRMED, arguments).await
    }

    /// Returns balances of up to 100 accounts on all chains, all at one height.
    pub async fn balances(&self, accounts: &[String]) -> Result<BalancesView, ClientError> {
        let arguments = Arguments::none().with("accounts", Some(accounts.join(",")));
        self.ask(&operations::BALANCES, arguments).await
    }

    /// Returns an account.
    pub async fn account(&self, account: &str) -> Result<AccountView, ClientError> {
        self.ask(&operations::ACCOUNT, Arguments::at(&[account]))
            .await
    }

    /// Returns an account's transactions in blocks, the newest first, of one chain or of all. `before` is the value of `next` on
    /// the previous page.
    pub async fn account_transactions(
        &self,
        account: &str,
        chain: Option<u8>,
        before: Option<&str>,
        limit: u32,
    ) -> Result<TransactionPage, ClientError> {
        let arguments = Arguments::at(&[account])
            .with("limit", Some(limit))
            .with("chain", chain)
            .with("before", before);
        self.ask(&operations::ACCOUNT_TRANSACTIONS, arguments).await
    }

    /// Returns the accounts that forge on this node.
    pub async fn forging(&self) -> Result<ForgingView, ClientError> {
        self.ask(&operations::FORGING, Arguments::none()).await
    }

    /// Lets an account forge on this node.
    pub async fn start_forging(&self, start: &StartForging) -> Result<ForgingAccount, ClientError> {
        self.send(&operations::START_FORGING, start).await
    }

    /// Stops forging with an account.
    pub async fn stop_forging(&self, account: &str) -> Result<(), ClientError> {
        self.order(&operations::STOP_FORGING, Arguments::at(&[account]))
            .await
    }

    /// Returns the accounts that may forge the next block.
    pub async fn forgers(&self, limit: u32) -> Result<ForgersView, ClientError> {
        let arguments = Arguments::none().with("limit", Some(limit));
        self.ask(&operations::FORGERS, arguments).await
    }

    /// Returns the accounts that bundle on this node.
    pub async fn bundlers(&self) -> Result<BundlerList, ClientError> {
        self.ask(&operations::BUNDLERS, Arguments::none()).await
    }

    /// Lets an account bundle a child chain's transactions on this node.
    pub async fn start_bundler(&self, start: &StartBundler) -> Result<BundlerView, ClientError> {
        self.send(&operations::START_BUNDLER, start).await
    }

    /// Stops bundling a child chain's transactions with an account.
    pub async fn stop_bundler(&self, account: &str, chain: u8) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[account, &chain.to_string()]);
        self.order(&operations::STOP_BUNDLER, arguments).await
    }

    /// Returns the fee rates that the network's bundlers ask for.
    pub async fn rates(&self) -> Result<RatesView, ClientError> {
        self.ask(&operations::RATES, Arguments::none()).await
    }

    /// Returns a page of evidence against forgers that signed two blocks on one parent.
    pub async fn equivocations(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<EquivocationPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::EQUIVOCATIONS, arguments).await
    }

    /// Returns the peers of this node.
    pub async fn peers(&self) -> Result<ChainPeers, ClientError> {
        self.ask(&operations::PEERS, Arguments::none()).await
    }

    /// Returns a hash over the whole state at the tip.
    pub async fn state_hash(&self) -> Result<StateHash, ClientError> {
        self.ask(&operations::STATE_HASH, Arguments::none()).await
    }

    /// Rolls the chain back to a height.
    pub async fn pop_off(&self, height: u32) -> Result<RolledBack, ClientError> {
        self.send(&operations::POP_OFF, &PopOff { height }).await
    }

    /// Empties the pool.
    pub async fn clear_pool(&self) -> Result<PoolCleared, ClientError> {
        self.ask(&operations::CLEAR_POOL, Arguments::none()).await
    }

    /// Deletes the bodies of all but the newest blocks.
    pub async fn prune(&self, keep_blocks: u32) -> Result<PruneBegun, ClientError> {
        self.send(&operations::PRUNE, &Prune { keep_blocks }).await
    }

    /// Makes a copy of the node's store while it runs.
    pub async fn snapshot(&self, name: &str) -> Result<SnapshotMade, ClientError> {
        let name = name.to_owned();
        self.send(&operations::SNAPSHOT, &Snapshot { name }).await
    }

    /// Allows a reorg beyond the rollback limit, to a branch with the given block.
    pub async fn trust(&self, height: u32, hash: &str) -> Result<Trusted, ClientError> {
        let hash = hash.to_owned();
        self.send(&operations::TRUST, &Trust { height, hash }).await
    }

    /// Bans a peer for a time.
    pub async fn ban_peer(&self, peer: &str, ban: &NewBan) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[peer]).json(ban)?;
        self.order(&operations::BAN_PEER, arguments).await
    }

    /// Lifts the ban of a peer.
    pub async fn unban_peer(&self, peer: &str) -> Result<(), ClientError> {
        self.order(&operations::UNBAN_PEER, Arguments::at(&[peer]))
            .await
    }

    /// Returns the node's health. A node that is up and takes no transactions is an answer, not an error.
    pub async fn health(&self) -> Result<ChainHealth, ClientError> {
        self.client.health_of(&operations::HEALTH).await
    }

    /// Follows the chain's events from now on.
    pub async fn follow(&self) -> Result<Events, ClientError> {
        self.client
            .events(&operations::FOLLOW, Arguments::none())
            .await
    }

    /// Returns counters in Prometheus text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        self.client.metrics().await
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        call: &Call<A>,
        arguments: Arguments,
    ) -> Result<A, ClientError> {
        self.client.ask(call, arguments).await
    }

    async fn send<A: DeserializeOwned>(
        &self,
        call: &Call<A>,
        body: &impl Serialize,
    ) -> Result<A, ClientError> {
        self.ask(call, Arguments::none().json(body)?).await
    }

    async fn order(&self, call: &Call<()>, arguments: Arguments) -> Result<(), ClientError> {
        self.client.ask_raw(call, arguments).await.map(drop)
    }
}
