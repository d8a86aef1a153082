//! The client, with one function for each operation of the API.

use std::sync::Arc;
use std::time::Duration;

use api::operations::{self, Call, Operation};
use api::{
    Balances, BatchAnswer, ChainPage, ClockView, ConsentChange, ConsentList, ConsumedPage,
    ContractList, DeliveryPage, Drain, EquivocationPage, FinishRecovery, FlowHistory,
    FlowHistoryQuery, FlowJournal, FlowList, FlowOrder, FlowOrdered, FlowQuery, Health, LedgerPage,
    NetworkView, NewNote, NewUpgrade, NodeView, NotaryChanges, NoteList, NoteView, Outcome,
    PeerHistory, PeersView, Quarantined, RecoveryView, RequestPage, SchedulePage, StartBatch,
    StartFlow, StatesPage, TransactionView, VaultAnswer, VaultQuery, Wait,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Limited};
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;

use crate::answer::{parse, problem};
use crate::arguments::Arguments;
use crate::body::RequestBody;
use crate::connection::Connection;
use crate::endpoint::{Endpoint, Limits};
use crate::error::ClientError;
use crate::events::Events;
use crate::stream::Stream;

/// An operator's action on a flow that does not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Retries parked and retrying flows.
    Retry,
    /// Pauses flows: they take no step until they are resumed.
    Pause,
    /// Resumes paused flows.
    Resume,
    /// Kills flows.
    Kill,
}

/// A node's API. Cheap to clone; clones share one connection.
#[derive(Clone)]
pub struct Client {
    connection: Arc<Connection>,
}

impl Client {
    /// Creates a client with the default limits. It connects at the first call.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientError> {
        Self::with_limits(endpoint, Limits::default())
    }

    /// Creates a client. It connects at the first call.
    pub fn with_limits(endpoint: Endpoint, limits: Limits) -> Result<Self, ClientError> {
        Ok(Self {
            connection: Arc::new(Connection::new(&endpoint, limits)?),
        })
    }

    /// Returns a stream of starts over this client's connection. It is opened at the first start, and again after it was lost.
    pub fn stream(&self) -> Stream {
        Stream::new(Arc::clone(&self.connection))
    }

    /// Starts a flow and waits as `start` says. The outcome may be *running* when the wait was short. A flow that fails is an error
    /// that [names it](ClientError::failed_flow).
    pub async fn start(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        let arguments = Arguments::none().json(start)?.waiting(start.timeout_ms);
        self.ask(&operations::START_FLOW, arguments).await
    }

    /// Starts a flow through the endpoint of its name, whose body is the arguments. The effect is that of [`Client::start`].
    pub async fn start_at_endpoint(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        let arguments = Arguments::at(&[&start.flow])
            .with("wait", Some(start.wait.as_str()))
            .with("client_id", start.client_id.as_deref())
            .with("timeout_ms", start.timeout_ms)
            .with("version", start.version)
            .bytes(start.args.get().as_bytes().to_vec())
            .waiting(start.timeout_ms);
        self.ask(&operations::START_FLOW_AT_ENDPOINT, arguments)
            .await
    }

    /// Starts many flows. Returns one answer for each, in order, after the longest of their waits at the latest.
    pub async fn start_batch(&self, starts: &[StartFlow]) -> Result<Vec<BatchAnswer>, ClientError> {
        let batch = StartBatch::new(starts).map_err(ClientError::arguments)?;
        let wait_ms = starts.iter().filter_map(|start| start.timeout_ms).max();
        let arguments = Arguments::none().json(&batch)?.waiting(wait_ms);
        let answers = self.ask(&operations::START_FLOWS, arguments).await?;
        Ok(answers.answers)
    }

    /// Follows a flow until it is *finalised* or *delivered*: its progress, then its end.
    pub async fn follow_flow(&self, flow_id: &str, wait: Wait) -> Result<Events, ClientError> {
        let arguments = Arguments::at(&[flow_id]).with("wait", Some(wait.as_str()));
        self.events(&operations::FOLLOW_FLOW, arguments).await
    }

    /// Follows changes of the vault after a ledger position, or from now on.
    pub async fn follow_vault(&self, after: Option<u64>) -> Result<Events, ClientError> {
        let arguments = Arguments::none().with("after", after);
        self.events(&operations::FOLLOW_VAULT, arguments).await
    }

    /// Returns the OpenAPI 3.1 description of the API, with the node's flows.
    pub async fn openapi(&self) -> Result<serde_json::Value, ClientError> {
        let bytes = self
            .ask_raw(&operations::OPENAPI, Arguments::none())
            .await?;
        parse(&bytes)
    }

    pub(crate) async fn events(
        &self,
        operation: &Operation,
        arguments: Arguments,
    ) -> Result<Events, ClientError> {
        let limits = self.connection.limits;
        let target = arguments.target(operation);
        let head = async {
            let body = RequestBody::Whole(None);
            let response = self.connection.send(Method::GET, &target, body).await?;
            if response.status().is_success() {
                let body = response.into_body();
                return Ok(Events::new(Arc::clone(&self.connection), body));
            }
            let status = response.status();
            let answer = Limited::new(response.into_body(), limits.answer_bytes_max);
            let answer = answer.collect().await;
            let answer = answer.map_err(|error| ClientError::BadAnswer(error.to_string()))?;
            Err(problem(status, &answer.to_bytes()))
        };
        tokio::time::timeout(limits.call_timeout, head)
            .await
            .map_err(|_| ClientError::Timeout {
                seconds: limits.call_timeout.as_secs(),
            })?
    }

    /// Returns the state of a flow. If the call waits, a flow that fails is an error that [names it](ClientError::failed_flow).
    pub async fn flow(
        &self,
        flow_id: &str,
        wait: Wait,
        timeout_ms: Option<u64>,
    ) -> Result<Outcome, ClientError> {
        let arguments = Arguments::at(&[flow_id])
            .with("wait", Some(wait.as_str()))
            .with("timeout_ms", timeout_ms)
            .waiting(timeout_ms);
        self.ask(&operations::GET_FLOW, arguments).await
    }

    /// Cancels a flow.
    pub async fn cancel(&self, flow_id: &str) -> Result<Outcome, ClientError> {
        self.ask(&operations::CANCEL_FLOW, Arguments::at(&[flow_id]))
            .await
    }

    /// Returns a page of live flows in order of id, beginning after `after`.
    pub async fn flows(&self, after: Option<&str>, limit: u32) -> Result<FlowList, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::LIST_FLOWS, arguments).await
    }

    /// Returns a page of live flows that match a query, in order of id.
    pub async fn flows_where(
        &self,
        query: &FlowQuery,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FlowList, ClientError> {
        let arguments = Arguments::none()
            .page(after, limit)
            .with("status", query.status.map(|status| status.as_str()))
            .with("flow", query.flow.as_deref())
            .with("code", query.code.as_deref())
            .with("user", query.user.as_deref())
            .with("peer", query.peer.as_deref())
            .with("older_than_ms", query.older_than_ms)
            .with("stuck_ms", query.stuck_ms);
        self.ask(&operations::LIST_FLOWS, arguments).await
    }

    /// Returns a page of ended flows that match a query, the last one that ended first, beginning after a place.
    pub async fn flow_history(
        &self,
        query: &FlowHistoryQuery,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FlowHistory, ClientError> {
        let arguments = Arguments::none()
            .page(after, limit)
            .with("status", query.status.map(|status| status.as_str()))
            .with("failed", query.failed.then_some("true"))
            .with("flow", query.flow.as_deref())
            .with("code", query.code.as_deref())
            .with("user", query.user.as_deref())
            .with("peer", query.peer.as_deref())
            .with("since_ms", query.since_ms)
            .with("until_ms", query.until_ms);
        self.ask(&operations::LIST_FLOW_HISTORY, arguments).await
    }

    /// Retries, pauses, resumes or kills a flow.
    pub async fn order_flow(
        &self,
        action: FlowAction,
        flow_id: &str,
    ) -> Result<Outcome, ClientError> {
        let operation = match action {
            FlowAction::Retry => &operations::RETRY_FLOW,
            FlowAction::Pause => &operations::PAUSE_FLOW,
            FlowAction::Resume => &operations::RESUME_FLOW,
            FlowAction::Kill => &operations::CANCEL_FLOW,
        };
        self.ask(operation, Arguments::at(&[flow_id])).await
    }

    /// Retries, pauses, resumes or kills at most 1,000 flows that match a query. The answer contains the cursor for the next request.
    pub async fn order_flows(
        &self,
        action: FlowAction,
        order: &FlowOrder,
    ) -> Result<FlowOrdered, ClientError> {
        let operation = match action {
            FlowAction::Retry => &operations::RETRY_FLOWS,
            FlowAction::Pause => &operations::PAUSE_FLOWS,
            FlowAction::Resume => &operations::RESUME_FLOWS,
            FlowAction::Kill => &operations::KILL_FLOWS,
        };
        self.ask(operation, Arguments::none().json(order)?).await
    }

    /// Returns a page of a live flow's journal, beginning after a row.
    pub async fn flow_journal(
        &self,
        flow_id: &str,
        after: Option<u32>,
        limit: u32,
    ) -> Result<FlowJournal, ClientError> {
        let arguments = Arguments::at(&[flow_id]).page(after, limit);
        self.ask(&operations::GET_FLOW_JOURNAL, arguments).await
    }

    /// Deletes a client id and the outcome stored for it.
    pub async fn forget_client_id(&self, client_id: &str) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[client_id]);
        let done = self.ask_raw(&operations::FORGET_CLIENT_ID, arguments).await;
        done.map(drop)
    }

    /// Returns sums of unconsumed fungible states.
    pub async fn balances(&self) -> Result<Balances, ClientError> {
        self.ask(&operations::BALANCES, Arguments::none()).await
    }

    /// Returns a page of unconsumed states, beginning after a number, without those in quarantine.
    pub async fn states(&self, after: Option<u64>, limit: u32) -> Result<StatesPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::STATES, arguments).await
    }

    /// Returns a page of unconsumed states, beginning after a number: those in quarantine, or all.
    pub async fn states_quarantined(
        &self,
        quarantined: Quarantined,
        after: Option<u64>,
        limit: u32,
    ) -> Result<StatesPage, ClientError> {
        let arguments = Arguments::none()
            .page(after, limit)
            .with("quarantined", Some(quarantined.word()));
        self.ask(&operations::STATES, arguments).await
    }

    /// Returns states by criteria, or counts and sums of them.
    pub async fn query_vault(&self, query: &VaultQuery) -> Result<VaultAnswer, ClientError> {
        let arguments = Arguments::none().json(query)?.waiting(query.timeout_ms);
        self.ask(&operations::QUERY_VAULT, arguments).await
    }

    /// Returns a transaction in readable form.
    pub async fn transaction(&self, id: &str) -> Result<TransactionView, ClientError> {
        self.ask(&operations::TRANSACTION, Arguments::at(&[id]))
            .await
    }

    /// Returns a transaction's bytes in the form that nodes exchange.
    pub async fn transaction_bytes(&self, id: &str) -> Result<Bytes, ClientError> {
        self.ask_raw(&operations::TRANSACTION_BYTES, Arguments::at(&[id]))
            .await
    }

    /// Returns a transaction and its ancestors, the last recorded first, before a position.
    pub async fn chain(
        &self,
        id: &str,
        before: Option<u64>,
        limit: u32,
    ) -> Result<ChainPage, ClientError> {
        let arguments = Arguments::at(&[id]).page(before, limit);
        self.ask(&operations::TRANSACTION_CHAIN, arguments).await
    }

    /// Returns the notes of the node's users on a transaction.
    pub async fn notes(&self, id: &str) -> Result<NoteList, ClientError> {
        self.ask(&operations::NOTES, Arguments::at(&[id])).await
    }

    /// Returns the contracts that are registered in the node's binary.
    pub async fn contracts(&self) -> Result<ContractList, ClientError> {
        self.ask(&operations::CONTRACTS, Arguments::none()).await
    }

    /// Returns the kinds of transitions that the node signs if another node proposes them.
    pub async fn consents(&self) -> Result<ConsentList, ClientError> {
        self.ask(&operations::CONSENTS, Arguments::none()).await
    }

    /// Sets whether the node signs changes of notary.
    pub async fn set_notary_changes(
        &self,
        notary_changes: NotaryChanges,
    ) -> Result<ConsentList, ClientError> {
        let change = ConsentChange { notary_changes };
        let arguments = Arguments::none().json(&change)?;
        self.ask(&operations::CHANGE_CONSENTS, arguments).await
    }

    /// Lets the node sign upgrades between two codes, by the hashes of their descriptors.
    pub async fn authorise_upgrade(
        &self,
        from: &str,
        to: &str,
    ) -> Result<ConsentList, ClientError> {
        let upgrade = NewUpgrade {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        let arguments = Arguments::none().json(&upgrade)?;
        self.ask(&operations::AUTHORISE_UPGRADE, arguments).await
    }

    /// Withdraws the consent to sign this upgrade.
    pub async fn withdraw_upgrade(&self, from: &str, to: &str) -> Result<ConsentList, ClientError> {
        let arguments = Arguments::at(&[from, to]);
        self.ask(&operations::WITHDRAW_UPGRADE, arguments).await
    }

    /// Adds a note to a transaction.
    pub async fn add_note(&self, id: &str, text: &str) -> Result<NoteView, ClientError> {
        let note = NewNote {
            text: text.to_owned(),
        };
        let arguments = Arguments::at(&[id]).json(&note)?;
        self.ask(&operations::ADD_NOTE, arguments).await
    }

    /// Removes a note.
    pub async fn remove_note(&self, id: &str, note: &str) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[id, note]);
        let done = self.ask_raw(&operations::REMOVE_NOTE, arguments).await;
        done.map(drop)
    }

    /// Returns the flows that states have scheduled.
    pub async fn schedule(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<SchedulePage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::SCHEDULE, arguments).await
    }

    /// Returns a page of recorded transactions, beginning after a ledger position.
    pub async fn ledger(&self, after: Option<u64>, limit: u32) -> Result<LedgerPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::LEDGER, arguments).await
    }

    /// Returns a page of the states that a notary has seen consumed, beginning after a state reference.
    pub async fn consumed(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<ConsumedPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::CONSUMED, arguments).await
    }

    /// Returns a page of the transactions that a notary has signed, with their requesters, beginning after an id.
    pub async fn notary_requests(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<RequestPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::NOTARY_REQUESTS, arguments).await
    }

    /// Returns a page of proofs that notaries signed two consumers of a state, beginning after the id of a refused transaction.
    pub async fn equivocations(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<EquivocationPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::EQUIVOCATIONS, arguments).await
    }

    /// Returns the findings of the comparison of the node's data with the data marks that its peers keep.
    pub async fn recovery(&self) -> Result<RecoveryView, ClientError> {
        self.ask(&operations::RECOVERY, Arguments::none()).await
    }

    /// Makes the node fetch its lost data from all peers.
    pub async fn begin_recovery(&self) -> Result<RecoveryView, ClientError> {
        self.ask(&operations::BEGIN_RECOVERY, Arguments::none())
            .await
    }

    /// Ends a rollback.
    pub async fn finish_recovery(&self, accept_missing: bool) -> Result<RecoveryView, ClientError> {
        let arguments = Arguments::none().json(&FinishRecovery { accept_missing })?;
        self.ask(&operations::FINISH_RECOVERY, arguments).await
    }

    /// Returns the node.
    pub async fn node(&self) -> Result<NodeView, ClientError> {
        self.ask(&operations::NODE, Arguments::none()).await
    }

    /// Returns the other nodes of the network, and the connections with them.
    pub async fn peers(&self) -> Result<PeersView, ClientError> {
        self.ask(&operations::PEERS, Arguments::none()).await
    }

    /// Returns the last events of the connections with a peer, or with all, newest first.
    pub async fn peer_history(
        &self,
        peer: Option<&str>,
        limit: u32,
    ) -> Result<PeerHistory, ClientError> {
        let arguments = Arguments::none()
            .with("peer", peer)
            .with("limit", Some(limit));
        self.ask(&operations::PEER_HISTORY, arguments).await
    }

    /// Returns a page of delivered transactions that their recipients have not answered. `after` is the cursor of the page before.
    pub async fn deliveries(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<DeliveryPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::DELIVERIES, arguments).await
    }

    /// Returns the network.
    pub async fn network(&self) -> Result<NetworkView, ClientError> {
        self.ask(&operations::NETWORK, Arguments::none()).await
    }

    /// Asks the node to accept no new starts and to finish its running flows.
    pub async fn drain(&self) -> Result<Drain, ClientError> {
        self.ask(&operations::DRAIN, Arguments::none()).await
    }

    /// Confirms the node's clock after it was set.
    pub async fn confirm_clock(&self) -> Result<ClockView, ClientError> {
        self.ask(&operations::CONFIRM_CLOCK, Arguments::none())
            .await
    }

    /// Returns the node's health. A node that is up and accepts no work is an answer, not an error.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.health_of(&operations::HEALTH).await
    }

    /// Reads the health of a node of any kind. The answer is the same with the status 200 and 503.
    pub(crate) async fn health_of<A: DeserializeOwned>(
        &self,
        call: &Call<A>,
    ) -> Result<A, ClientError> {
        let body = RequestBody::Whole(None);
        let (_, bytes) = self.exchange(Method::GET, call.path, body, None).await?;
        parse(&bytes)
    }

    /// Returns counters in Prometheus text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let bytes = self
            .ask_raw(&operations::METRICS, Arguments::none())
            .await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Calls any operation of the API, and returns its answer.
    ///
    /// # Errors
    /// The node refuses, the answer is not of its type, or the connection breaks.
    pub async fn ask<A: DeserializeOwned>(
        &self,
        call: &Call<A>,
        arguments: Arguments,
    ) -> Result<A, ClientError> {
        parse(&self.ask_raw(call, arguments).await?)
    }

    /// Calls any operation of the API, and returns the bytes of its answer.
    ///
    /// # Errors
    /// The node refuses, or the connection breaks.
    pub async fn ask_raw(
        &self,
        operation: &Operation,
        arguments: Arguments,
    ) -> Result<Bytes, ClientError> {
        let target = arguments.target(operation);
        let body = arguments.body;
        let body = RequestBody::Whole((!body.is_empty()).then(|| Bytes::from(body)));
        let method = method_of(operation);
        self.raw_of(method, &target, body, arguments.wait_ms).await
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Sends a request with a body of any kind, and returns the bytes of a successful answer.
    pub(crate) async fn raw_of(
        &self,
        method: Method,
        path: &str,
        body: RequestBody,
        wait_ms: Option<u64>,
    ) -> Result<Bytes, ClientError> {
        let (status, bytes) = self.exchange(method, path, body, wait_ms).await?;
        if status.is_success() {
            return Ok(bytes);
        }
        Err(problem(status, &bytes))
    }

    fn exchange<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: RequestBody,
        wait_ms: Option<u64>,
    ) -> BoxFuture<'a, Result<(StatusCode, Bytes), ClientError>> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(self.exchange_in_time(method, path, body, wait_ms))
    }

    async fn exchange_in_time(
        &self,
        method: Method,
        path: &str,
        body: RequestBody,
        wait_ms: Option<u64>,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let limits = self.connection.limits;
        // Without a wait, the node answers at once. If the sum is clipped, the wait has no end in practice.
        let wait = Duration::from_millis(wait_ms.unwrap_or(0));
        let deadline = limits.call_timeout.saturating_add(wait);
        let exchange = async {
            let response = self.connection.send(method, path, body).await?;
            let status = response.status();
            let answer = Limited::new(response.into_body(), limits.answer_bytes_max)
                .collect()
                .await
                .map_err(|error| match error.downcast_ref::<hyper::Error>() {
                    Some(error) => self.connection.lost(error),
                    None => ClientError::BadAnswer(format!(
                        "the answer exceeds {} bytes",
                        limits.answer_bytes_max
                    )),
                })?;
            Ok((status, answer.to_bytes()))
        };
        tokio::time::timeout(deadline, exchange)
            .await
            .map_err(|_| ClientError::Timeout {
                seconds: deadline.as_secs(),
            })?
    }
}

/// Returns the method of an operation.
pub(crate) fn method_of(operation: &Operation) -> Method {
    match operation.method {
        operations::Method::Get => Method::GET,
        operations::Method::Post => Method::POST,
        operations::Method::Patch => Method::PATCH,
        operations::Method::Delete => Method::DELETE,
    }
}
