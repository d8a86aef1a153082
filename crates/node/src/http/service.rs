//! The port behind which the node works.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use api::openapi::FlowFacts;
use api::{
    Balances, ChainPage, ClockView, ConsentList, ConsumedPage, ContractList, Drain,
    EquivocationPage, FlowJournal, FlowList, FlowOrder, FlowOrdered, FlowQuery, FlowStatus, Health,
    LedgerPage, NetworkView, NodeView, NoteView, PeersView, Quarantined, RawJson, RecoveryView,
    RequestPage, SchedulePage, StatesPage, TransactionView, VaultAnswer, VaultChange, VaultQuery,
    Wait,
};
use flow::FlowId;
use ledger::{StateRef, TxId};
use primitives::Seed;
use schemars::SchemaGenerator;
use tokio::sync::watch;

use super::attachment_service::AttachmentService;
use super::followers::Followers;
use super::refusal::Refusal;
use super::room::Room;
use super::ticket::Ticket;

/// Something that is read elsewhere.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// A client's wish to start a flow. Borrowed, because its arguments are taken out of their JSON at once.
#[derive(Debug)]
pub struct StartRequest<'a> {
    /// Fresh and random; has no meaning when the client id is known already.
    pub flow_id: FlowId,
    /// Fresh and random: everything random in the flow is derived from it.
    pub seed: Seed,
    /// The flow's registered name.
    pub flow: &'a str,
    /// A version, or the newest.
    pub version: Option<u32>,
    /// The arguments' JSON, well-formed.
    pub args: &'a str,
    /// Who starts it.
    pub user: &'a Arc<str>,
    /// Makes the start exactly once for this user; 1 to 128 bytes.
    pub client_id: Option<&'a str>,
    /// The event that the answer waits for.
    pub wait: Wait,
    /// Where the answer goes.
    pub ticket: Ticket,
}

/// The end of a [`Ticket`].
#[derive(Debug)]
pub enum Answer {
    /// The start is durable.
    Accepted {
        /// The flow, which is the earlier one when the client id was known.
        flow_id: FlowId,
    },
    /// The flow has not ended, and no waiting was asked for.
    Running {
        /// The flow.
        flow_id: FlowId,
        /// Its last step, or why it is parked.
        step: String,
        /// Where it stands.
        status: FlowStatus,
    },
    /// The flow ended.
    Ended(Box<Ended>),
    /// Nothing was started, or there is nothing to wait for.
    Refused(Refusal),
    /// Done: a client id is forgotten.
    Done,
}

/// An ended flow.
#[derive(Debug)]
pub struct Ended {
    /// The flow.
    pub flow_id: FlowId,
    /// The output, or the failure.
    pub output: Result<Output, ledger::Rejection>,
    /// The transactions it recorded.
    pub transactions: Vec<TxId>,
    /// Whether every participant has recorded them.
    pub delivered: bool,
    /// Refusals of these transactions by participants.
    pub refused: Vec<kernel::DeliveryRefusal>,
}

/// A flow's output.
#[derive(Debug)]
pub enum Output {
    /// As JSON already.
    Json(RawJson),
    /// As the flow encoded it; becomes JSON on a thread of the API, by [`NodeService::output_to_json`].
    Encoded {
        /// The flow's registered name.
        flow: Arc<str>,
        /// The version that ran.
        version: u32,
        /// The encoding.
        bytes: Vec<u8>,
    },
}

/// The changes of a transaction, and the filter for followers that may see only some contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenChange {
    /// All of it.
    pub change: VaultChange,
    /// The contracts of the consumed states, in their order.
    pub consumed_contracts: Vec<String>,
}

/// Changes of the vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultChanges {
    /// In order.
    pub changes: Vec<SeenChange>,
    /// They are all up to this position.
    pub upto: u64,
}

/// An operator's order about flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// Try kept flows again, and those that wait for their next try.
    Retry,
    /// Let flows take no step.
    Pause,
    /// Let paused flows go on.
    Resume,
    /// End flows.
    Kill,
}

/// The node, as the API sees it.
///
/// # Correctness
/// No method blocks. Every ticket is answered at most once: by [`Ticket::answer`], or by being dropped, but not after
/// [`detach`](NodeService::detach). An answered change is durable.
pub trait NodeService: AttachmentService {
    /// Returns the room for starts. Starts without room are refused before they cost anything.
    fn room(&self) -> Room {
        Room::UNLIMITED
    }

    /// Notes that this many starts were refused for lack of room.
    fn turned_away(&self, _count: u64) {}

    /// The flows that can be started, with schemas by this generator.
    fn described_flows(&self, _generator: &mut SchemaGenerator) -> Vec<FlowFacts> {
        Vec::new()
    }

    /// Starts flows, in this order. Arguments that do not fit, and starts there is no room for, are answered like all else.
    fn start(&self, starts: Vec<StartRequest<'_>>);

    /// Answers with the state of a flow, or (unless `wait` is none) with its end.
    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket);

    /// Detaches tickets, given by [`Ticket::id`]. Their clients no longer wait.
    fn detach(&self, tickets: &[u64]);

    /// Cancels a flow; answers with its state or end once the cancellation is durable.
    fn cancel(&self, flow_id: FlowId, ticket: Ticket);

    /// Forgets a client id of a user and the outcome kept for it.
    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket);

    /// A flow's output as JSON.
    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal>;

    /// Live flows that meet a query, after an id.
    fn flows(&self, query: FlowQuery, after: Option<FlowId>, limit: usize)
    -> Pending<'_, FlowList>;

    /// Carries out an order: for this flow, or for those that meet the order's query.
    fn order(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered>;

    /// A page of a live flow's journal; refused if there is no such flow.
    fn journal(&self, flow: FlowId, after: Option<u32>, limit: usize) -> Pending<'_, FlowJournal>;

    /// Sums, once the vault's view shows everything acknowledged before this call, or refused at the deadline.
    fn balances(&self, deadline: Instant) -> Pending<'_, Balances>;

    /// Unconsumed states after a number, under the same condition.
    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        quarantined: Quarantined,
        deadline: Instant,
    ) -> Pending<'_, StatesPage>;

    /// States or groups that a query asks for, under the same condition; given up when the answer is dropped.
    fn vault_query(&self, query: VaultQuery, deadline: Instant) -> Pending<'_, VaultAnswer>;

    /// A recorded transaction; [`super::transaction_view`] makes it readable.
    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView>;

    /// Recorded transactions after a position.
    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage>;

    /// Returns a recorded transaction and its ancestors, the last recorded first, before a position.
    fn chain(&self, id: TxId, before: Option<u64>, limit: usize) -> Pending<'_, ChainPage>;

    /// The contracts that are registered.
    fn contracts(&self) -> ContractList;

    /// Changes which transitions of others the node signs, if anything is to be changed; answers once it is durable.
    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList>;

    /// The notes of a recorded transaction, the oldest first.
    fn notes(&self, id: TxId) -> Pending<'_, Vec<NoteView>>;

    /// Makes a note of a transaction; answers once it is durable.
    fn add_note(&self, id: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView>;

    /// Takes a note away.
    fn remove_note(&self, id: TxId, note: kernel::NoteId) -> Pending<'_, ()>;

    /// Returns the scheduled starts, after a key of that table.
    fn schedule(&self, after: Option<Vec<u8>>, limit: usize) -> Pending<'_, SchedulePage>;

    /// Consumed states after a reference; refused by a node that is no notary.
    fn consumed(&self, after: Option<StateRef>, limit: usize) -> Pending<'_, ConsumedPage>;

    /// Transactions that a notary has signed after an id, and who asked for that.
    fn notary_requests(&self, after: Option<TxId>, limit: usize) -> Pending<'_, RequestPage>;

    /// Proofs against notaries, after the id of a refused transaction.
    fn equivocations(&self, after: Option<TxId>, limit: usize) -> Pending<'_, EquivocationPage>;

    /// Gives an order about a rollback, and tells how the data stands then.
    fn order_recovery(&self, order: kernel::integrity::IntegrityOrder)
    -> Pending<'_, RecoveryView>;

    /// Who follows flows; the node publishes their steps there.
    fn followers(&self) -> &Arc<Followers>;

    /// The ledger position that the vault's view has reached.
    fn vault_seq(&self) -> watch::Receiver<u64>;

    /// Returns the changes of the vault after a position, up to one that the view has reached. Examines `limit` positions at
    /// most.
    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges>;

    /// The node.
    fn node(&self) -> NodeView;

    /// The network.
    fn network(&self) -> NetworkView;

    /// The other nodes of the network.
    fn peers(&self) -> PeersView;

    /// Accepts no more starts from now on.
    fn drain(&self) -> Drain;

    /// A user vouches for the clock as it is.
    fn confirm_clock(&self, user: &Arc<str>) -> Pending<'_, ClockView>;

    /// Whether the node takes work.
    fn health(&self) -> Health;

    /// Brings gauges up to date before [`crate::metrics::NodeMetrics::render`].
    fn refresh_metrics(&self) {}
}
