//! Single calls.

use std::sync::Arc;
use std::time::Duration;

use api::{
    Balances, BatchAnswer, BatchAnswers, ChainPage, ClockView, ConsentChange, ConsentList,
    ConsumedPage, ContractList, Drain, EquivocationPage, FinishRecovery, FlowJournal, FlowList,
    FlowOrder, FlowOrdered, FlowQuery, Health, LedgerPage, NetworkView, NewNote, NewUpgrade,
    NodeView, NotaryChanges, NoteList, NoteView, Outcome, PeersView, Problem, Quarantined,
    RecoveryView, RequestPage, SchedulePage, StartBatch, StartFlow, StatesPage, TransactionView,
    VaultAnswer, VaultQuery, Wait, paths,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;

use crate::body::RequestBody;
use crate::connection::Connection;
use crate::endpoint::{Endpoint, Limits};
use crate::error::ClientError;
use crate::events::Events;
use crate::stream::Stream;

/// An operator's action on a flow that does not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Try them again.
    Retry,
    /// Let them take no step.
    Pause,
    /// Let paused ones go on.
    Resume,
    /// End them.
    Kill,
}

/// A node's API. Cheap to clone; clones share one connection.
#[derive(Clone)]
pub struct Client {
    connection: Arc<Connection>,
}

impl Client {
    /// A client with the usual limits; connects at the first call.
    pub fn new(endpoint: Endpoint) -> Result<Self, ClientError> {
        Self::with_limits(endpoint, Limits::default())
    }

    /// A client; connects at the first call.
    pub fn with_limits(endpoint: Endpoint, limits: Limits) -> Result<Self, ClientError> {
        Ok(Self {
            connection: Arc::new(Connection::new(&endpoint, limits)?),
        })
    }

    /// The stream form, over this client's connection; opens at the first start, and again when it is lost.
    pub fn stream(&self) -> Stream {
        Stream::new(Arc::clone(&self.connection))
    }

    /// Starts a flow and waits as `start` says. The outcome may be *running* when the wait was short.
    pub async fn start(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        let body = serde_json::to_vec(start).map_err(ClientError::arguments)?;
        self.call(Method::POST, paths::FLOWS, body, start.timeout_ms)
            .await
    }

    /// Starts a flow at its own endpoint, whose body is the arguments: the same start in another form.
    pub async fn start_at_endpoint(&self, start: &StartFlow) -> Result<Outcome, ClientError> {
        let mut path = format!(
            "{}?wait={}",
            paths::with(paths::FLOW, &start.flow),
            start.wait.as_str()
        );
        if let Some(client_id) = &start.client_id {
            // A path's segments and a query's values are encoded alike.
            path.push_str("&client_id=");
            path.push_str(&paths::with("{}", client_id));
        }
        for (name, number) in [
            ("timeout_ms", start.timeout_ms),
            ("version", start.version.map(u64::from)),
        ] {
            if let Some(number) = number {
                path.push_str(&format!("&{name}={number}"));
            }
        }
        let args = start.args.get().as_bytes().to_vec();
        self.call(Method::POST, &path, args, start.timeout_ms).await
    }

    /// Starts many flows; each is answered by itself, in order. Waits no longer than the longest of their waits.
    pub async fn start_batch(&self, starts: &[StartFlow]) -> Result<Vec<BatchAnswer>, ClientError> {
        let batch = StartBatch::new(starts).map_err(ClientError::arguments)?;
        let body = serde_json::to_vec(&batch).map_err(ClientError::arguments)?;
        let wait_ms = starts.iter().filter_map(|start| start.timeout_ms).max();
        let answers: BatchAnswers = self
            .call(Method::POST, paths::FLOW_BATCH, body, wait_ms)
            .await?;
        Ok(answers.answers)
    }

    /// Follows a flow until it is *finalised* or *delivered*: its progress, then its end.
    pub async fn follow_flow(&self, flow_id: &str, wait: Wait) -> Result<Events, ClientError> {
        let path = paths::with(paths::FLOW_EVENTS, flow_id);
        self.events(&format!("{path}?wait={}", wait.as_str())).await
    }

    /// Follows changes of the vault after a ledger position, or from now on.
    pub async fn follow_vault(&self, after: Option<u64>) -> Result<Events, ClientError> {
        match after {
            Some(after) => {
                self.events(&format!("{}?after={after}", paths::VAULT_EVENTS))
                    .await
            }
            None => self.events(paths::VAULT_EVENTS).await,
        }
    }

    /// The API's description, with the node's flows: OpenAPI 3.1.
    pub async fn openapi(&self) -> Result<serde_json::Value, ClientError> {
        self.get(paths::OPENAPI).await
    }

    pub(crate) async fn events(&self, path: &str) -> Result<Events, ClientError> {
        let limits = self.connection.limits;
        let head = async {
            let body = RequestBody::Whole(None);
            let response = self.connection.send(Method::GET, path, body).await?;
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

    /// A flow's outcome or state.
    pub async fn flow(
        &self,
        flow_id: &str,
        wait: Wait,
        timeout_ms: Option<u64>,
    ) -> Result<Outcome, ClientError> {
        let mut path = format!(
            "{}?wait={}",
            paths::with(paths::FLOW, flow_id),
            wait.as_str()
        );
        if let Some(ms) = timeout_ms {
            path.push_str(&format!("&timeout_ms={ms}"));
        }
        self.call(Method::GET, &path, Vec::new(), timeout_ms).await
    }

    /// Cancels a flow.
    pub async fn cancel(&self, flow_id: &str) -> Result<Outcome, ClientError> {
        self.call(
            Method::POST,
            &paths::with(paths::FLOW_CANCEL, flow_id),
            Vec::new(),
            None,
        )
        .await
    }

    /// Live flows after an id.
    pub async fn flows(&self, after: Option<&str>, limit: u32) -> Result<FlowList, ClientError> {
        self.page(paths::FLOWS, after, limit).await
    }

    /// Live flows that meet a query, after an id.
    pub async fn flows_where(
        &self,
        query: &FlowQuery,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FlowList, ClientError> {
        let mut path = format!("{}?limit={limit}", paths::FLOWS);
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", paths::with("{value}", &value)));
            }
        };
        add("after", after.map(str::to_owned));
        add(
            "status",
            query.status.map(|status| status.as_str().to_owned()),
        );
        add("flow", query.flow.clone());
        add("code", query.code.clone());
        add("user", query.user.clone());
        add("peer", query.peer.clone());
        add(
            "older_than_ms",
            query.older_than_ms.map(|ms| ms.to_string()),
        );
        add("stuck_ms", query.stuck_ms.map(|ms| ms.to_string()));
        self.get(&path).await
    }

    /// Retries, pauses or resumes a flow; killing one is [`cancel`](Client::cancel).
    pub async fn order_flow(
        &self,
        action: FlowAction,
        flow_id: &str,
    ) -> Result<Outcome, ClientError> {
        let path = match action {
            FlowAction::Retry => paths::FLOW_RETRY,
            FlowAction::Pause => paths::FLOW_PAUSE,
            FlowAction::Resume => paths::FLOW_RESUME,
            FlowAction::Kill => paths::FLOW_CANCEL,
        };
        self.call(Method::POST, &paths::with(path, flow_id), Vec::new(), None)
            .await
    }

    /// Retries, pauses, resumes or kills flows that meet a query; 1,000 at most, the answer says where to go on.
    pub async fn order_flows(
        &self,
        action: FlowAction,
        order: &FlowOrder,
    ) -> Result<FlowOrdered, ClientError> {
        let path = match action {
            FlowAction::Retry => paths::FLOWS_RETRY,
            FlowAction::Pause => paths::FLOWS_PAUSE,
            FlowAction::Resume => paths::FLOWS_RESUME,
            FlowAction::Kill => paths::FLOWS_KILL,
        };
        let body = serde_json::to_vec(order).map_err(ClientError::arguments)?;
        self.call(Method::POST, path, body, None).await
    }

    /// A live flow's journal after a row.
    pub async fn flow_journal(
        &self,
        flow_id: &str,
        after: Option<u32>,
        limit: u32,
    ) -> Result<FlowJournal, ClientError> {
        self.page(&paths::with(paths::FLOW_JOURNAL, flow_id), after, limit)
            .await
    }

    /// Forgets a client id and the outcome kept for it.
    pub async fn forget_client_id(&self, client_id: &str) -> Result<(), ClientError> {
        let path = paths::with(paths::CLIENT, client_id);
        self.raw(Method::DELETE, &path, Vec::new(), None)
            .await
            .map(|_| ())
    }

    /// Sums of unconsumed fungible states.
    pub async fn balances(&self) -> Result<Balances, ClientError> {
        self.get(paths::BALANCES).await
    }

    /// Returns unconsumed states after a number, without those in quarantine.
    pub async fn states(&self, after: Option<u64>, limit: u32) -> Result<StatesPage, ClientError> {
        self.page(paths::STATES, after, limit).await
    }

    /// Returns unconsumed states after a number: those in quarantine, or all.
    pub async fn states_quarantined(
        &self,
        quarantined: Quarantined,
        after: Option<u64>,
        limit: u32,
    ) -> Result<StatesPage, ClientError> {
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let word = quarantined.word();
        let path = format!("{}?quarantined={word}&limit={limit}{after}", paths::STATES);
        self.get(&path).await
    }

    /// States by criteria, or counts and sums of them.
    pub async fn query_vault(&self, query: &VaultQuery) -> Result<VaultAnswer, ClientError> {
        let body = serde_json::to_vec(query).map_err(ClientError::arguments)?;
        self.call(Method::POST, paths::VAULT_QUERY, body, query.timeout_ms)
            .await
    }

    /// A transaction, readable.
    pub async fn transaction(&self, id: &str) -> Result<TransactionView, ClientError> {
        self.get(&paths::with(paths::TRANSACTION, id)).await
    }

    /// A transaction's bytes as it is carried.
    pub async fn transaction_bytes(&self, id: &str) -> Result<Bytes, ClientError> {
        let path = paths::with(paths::TRANSACTION_BYTES, id);
        self.raw(Method::GET, &path, Vec::new(), None).await
    }

    /// Returns a transaction and its ancestors, the last recorded first, before a position.
    pub async fn chain(
        &self,
        id: &str,
        before: Option<u64>,
        limit: u32,
    ) -> Result<ChainPage, ClientError> {
        let path = paths::with(paths::TRANSACTION_CHAIN, id);
        self.page(&path, before, limit).await
    }

    /// Notes that users of the node made of a transaction.
    pub async fn notes(&self, id: &str) -> Result<NoteList, ClientError> {
        self.get(&paths::with(paths::NOTES, id)).await
    }

    /// The contracts that are registered in the node's binary.
    pub async fn contracts(&self) -> Result<ContractList, ClientError> {
        self.call(Method::GET, paths::CONTRACTS, Vec::new(), None)
            .await
    }

    /// Which transitions of others the node signs.
    pub async fn consents(&self) -> Result<ConsentList, ClientError> {
        self.call(Method::GET, paths::CONSENTS, Vec::new(), None)
            .await
    }

    /// Says whether the node signs changes of notary.
    pub async fn set_notary_changes(
        &self,
        notary_changes: NotaryChanges,
    ) -> Result<ConsentList, ClientError> {
        let change = ConsentChange { notary_changes };
        let body = serde_json::to_vec(&change).map_err(ClientError::arguments)?;
        self.call(Method::PATCH, paths::CONSENTS, body, None).await
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
        let body = serde_json::to_vec(&upgrade).map_err(ClientError::arguments)?;
        self.call(Method::POST, paths::UPGRADES, body, None).await
    }

    /// Withdraws the consent to sign this upgrade.
    pub async fn withdraw_upgrade(&self, from: &str, to: &str) -> Result<ConsentList, ClientError> {
        let path = paths::with(&paths::with(paths::UPGRADE, from), to);
        self.call(Method::DELETE, &path, Vec::new(), None).await
    }

    /// Makes a note of a transaction.
    pub async fn add_note(&self, id: &str, text: &str) -> Result<NoteView, ClientError> {
        let note = NewNote {
            text: text.to_owned(),
        };
        let body = serde_json::to_vec(&note).map_err(ClientError::arguments)?;
        let path = paths::with(paths::NOTES, id);
        self.call(Method::POST, &path, body, None).await
    }

    /// Takes a note away.
    pub async fn remove_note(&self, id: &str, note: &str) -> Result<(), ClientError> {
        let path = paths::with(&paths::with(paths::NOTE, id), note);
        let done = self.raw(Method::DELETE, &path, Vec::new(), None).await;
        done.map(|_| ())
    }

    /// Flows that states have scheduled.
    pub async fn schedule(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<SchedulePage, ClientError> {
        self.page(paths::SCHEDULE, after, limit).await
    }

    /// Recorded transactions after a position.
    pub async fn ledger(&self, after: Option<u64>, limit: u32) -> Result<LedgerPage, ClientError> {
        self.page(paths::LEDGER, after, limit).await
    }

    /// States that a notary has seen consumed, after a reference.
    pub async fn consumed(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<ConsumedPage, ClientError> {
        self.page(paths::CONSUMED, after, limit).await
    }

    /// Transactions that a notary has signed, and who asked for that, after an id.
    pub async fn notary_requests(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<RequestPage, ClientError> {
        self.page(paths::NOTARY_REQUESTS, after, limit).await
    }

    /// Proofs that notaries signed two consumers of a state, after the id of a refused transaction.
    pub async fn equivocations(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<EquivocationPage, ClientError> {
        self.page(paths::EQUIVOCATIONS, after, limit).await
    }

    /// Returns how the node's data compares with what its peers have of it.
    pub async fn recovery(&self) -> Result<RecoveryView, ClientError> {
        self.get(paths::RECOVERY).await
    }

    /// Makes the node fetch its lost data from all peers.
    pub async fn begin_recovery(&self) -> Result<RecoveryView, ClientError> {
        self.call(Method::POST, paths::RECOVERY, Vec::new(), None)
            .await
    }

    /// Ends a rollback.
    pub async fn finish_recovery(&self, accept_missing: bool) -> Result<RecoveryView, ClientError> {
        let finish = FinishRecovery { accept_missing };
        let body = serde_json::to_vec(&finish).map_err(ClientError::arguments)?;
        self.call(Method::POST, paths::RECOVERY_FINISH, body, None)
            .await
    }

    /// The node.
    pub async fn node(&self) -> Result<NodeView, ClientError> {
        self.get(paths::NODE).await
    }

    /// The other nodes of the network, and the connections with them.
    pub async fn peers(&self) -> Result<PeersView, ClientError> {
        self.get(paths::PEERS).await
    }

    /// The network.
    pub async fn network(&self) -> Result<NetworkView, ClientError> {
        self.get(paths::NETWORK).await
    }

    /// Asks the node to accept no new starts and to finish its running flows.
    pub async fn drain(&self) -> Result<Drain, ClientError> {
        self.call(Method::POST, paths::DRAIN, Vec::new(), None)
            .await
    }

    /// Vouches for the node's clock as it is, after it was set.
    pub async fn confirm_clock(&self) -> Result<ClockView, ClientError> {
        self.call(Method::POST, paths::CLOCK_CONFIRM, Vec::new(), None)
            .await
    }

    /// Whether the node is up and takes work; a node that does not is no error here.
    pub async fn health(&self) -> Result<Health, ClientError> {
        let (_, bytes) = self
            .exchange(Method::GET, paths::HEALTH, RequestBody::Whole(None), None)
            .await?;
        parse(&bytes)
    }

    /// Counters in Prometheus text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let bytes = self
            .raw(Method::GET, paths::METRICS, Vec::new(), None)
            .await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, Vec::new(), None).await
    }

    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        after: Option<impl std::fmt::Display>,
        limit: u32,
    ) -> Result<T, ClientError> {
        match after {
            Some(after) => {
                self.get(&format!("{path}?limit={limit}&after={after}"))
                    .await
            }
            None => self.get(&format!("{path}?limit={limit}")).await,
        }
    }

    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        wait_ms: Option<u64>,
    ) -> Result<T, ClientError> {
        parse(&self.raw(method, path, body, wait_ms).await?)
    }

    pub(crate) async fn raw(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        wait_ms: Option<u64>,
    ) -> Result<Bytes, ClientError> {
        let body = RequestBody::Whole((!body.is_empty()).then(|| Bytes::from(body)));
        self.raw_of(method, path, body, wait_ms).await
    }

    /// The same with a body of any kind.
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

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: RequestBody,
        wait_ms: Option<u64>,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let limits = self.connection.limits;
        let deadline = limits
            .call_timeout
            .saturating_add(Duration::from_millis(wait_ms.unwrap_or(0)));
        let exchange = async {
            let response = self.connection.send(method, path, body).await?;
            let status = response.status();
            let answer = Limited::new(response.into_body(), limits.answer_bytes_max)
                .collect()
                .await
                .map_err(|error| match error.downcast_ref::<hyper::Error>() {
                    Some(error) => self.connection.lost(error),
                    None => ClientError::BadAnswer(format!(
                        "larger than {} bytes",
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

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(bytes).map_err(|error| ClientError::BadAnswer(error.to_string()))
}

/// Converts an unsuccessful answer: a problem document, or the answer of another HTTP server at this address.
pub(crate) fn problem(status: StatusCode, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => ClientError::Problem(Box::new(problem)),
        Err(_) => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            ClientError::BadAnswer(format!("{status}: {text}"))
        }
    }
}
