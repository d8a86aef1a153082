//! The node for the HTTP API: the implementation of each operation of the port.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use api::openapi::FlowFacts;
use api::{
    Balances, ChainPage, ClockView, ConsentList, ConsumedPage, ContractList, Drain,
    EquivocationPage, FlowJournal, FlowList, FlowOrder, FlowOrdered, FlowQuery, Health, LedgerPage,
    NetworkView, NodeView, NoteView, PeersView, Quarantined, RawJson, RecoveryView, RequestPage,
    SchedulePage, StatesPage, TransactionView, VaultAnswer, VaultQuery, Wait,
};
use flow::{FlowId, FlowRegistry};
use kernel::port::StoreFailure;
use kernel::{Event, Token};
use ledger::{ContractRegistry, NetworkMap, NodeInfo, StateRef, TransactionState, TxId};
use schemars::SchemaGenerator;
use vaultview::ViewProgress;

use super::columns::Columns;
use super::described::described_flows;
use super::flow_starts::kernel_wait;
use super::folder_record::Loss;
use super::ledger_reads;
use super::shared::Shared;
use super::vault_reads::Readers;
use crate::http::{
    FlowAction, Followers, NodeService, Pending, Refusal, Room, StartRequest, Ticket, VaultChanges,
};
use crate::ledger_store::LedgerStore;

/// The implementation of the operations of the HTTP API.
pub(super) struct Service {
    pub(super) shared: Arc<Shared>,
    pub(super) info: NodeInfo,
    pub(super) network: Arc<NetworkMap>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) columns: Arc<Columns>,
    pub(super) flows: Arc<FlowRegistry>,
    pub(super) keys: Vec<primitives::PublicKey>,
    pub(super) store: LedgerStore,
    pub(super) files: store::Files,
    pub(super) uploads: Arc<crate::uploads::Uploads>,
    pub(super) readers: Arc<Readers>,
    pub(super) progress: ViewProgress,
    pub(super) net: net::Handle,
    pub(super) users: Arc<crate::users::Users>,
    /// Parts of the folder that were found lost at the start.
    pub(super) losses: Vec<Loss>,
    pub(super) started: Instant,
}

pub(super) fn store_refusal(failure: &StoreFailure) -> Refusal {
    Refusal {
        code: failure.code.into(),
        message: failure.message.clone(),
        hint: failure.hint.into(),
        retry_after_ms: None,
    }
}

pub(super) fn stopping() -> Refusal {
    Refusal::listed(&api::codes::NODE_STOPPING, "the node is stopping")
}

pub(super) fn joined<T>(
    outcome: Result<Result<T, Refusal>, tokio::task::JoinError>,
) -> Result<T, Refusal> {
    outcome.unwrap_or_else(|_| {
        Err(Refusal::listed(
            &api::codes::NODE_STOPPING,
            "the query was given up",
        ))
    })
}

impl Service {
    /// Returns the facts that the state's contract derives from it.
    pub(super) fn describe(&self, state: &TransactionState) -> Option<ledger::StateFacts> {
        self.contracts.describe(state).ok()
    }
}

impl NodeService for Service {
    fn room(&self) -> Room {
        self.room_for_starts()
    }

    fn turned_away(&self, count: u64) {
        self.shared.gate.turn_away(count);
    }

    fn described_flows(&self, generator: &mut SchemaGenerator) -> Vec<FlowFacts> {
        described_flows(&self.flows, generator)
    }

    fn start(&self, starts: Vec<StartRequest<'_>>) {
        self.start_flows(starts);
    }

    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let wait = kernel_wait(wait);
            self.shared.kernel.tell(Event::Attach {
                flow: flow_id,
                wait,
                token,
            });
        }
    }

    fn detach(&self, tickets: &[u64]) {
        self.shared.replies.forget(tickets);
        for ticket in tickets {
            self.shared.kernel.tell(Event::Detach {
                token: Token(*ticket),
            });
        }
    }

    fn cancel(&self, flow_id: FlowId, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            self.shared.kernel.tell(Event::Cancel {
                flow: flow_id,
                token,
            });
        }
    }

    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let (user, client_id) = (user.to_string(), client_id.to_owned());
            self.shared.kernel.tell(Event::RemoveClient {
                user,
                client_id,
                token,
            });
        }
    }

    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal> {
        let json = self.flows.output_to_json(flow, version, output);
        let json = json.map_err(|error| Refusal::from(error.to_rejection()))?;
        serde_json::value::RawValue::from_string(json).map_err(|error| {
            let text = format!("the output of {flow} is not JSON: {error}");
            Refusal::listed(&api::codes::INTERNAL, text)
        })
    }

    fn flows(
        &self,
        query: FlowQuery,
        after: Option<FlowId>,
        limit: usize,
    ) -> Pending<'_, FlowList> {
        Box::pin(async move {
            let filter = self.filter(query)?;
            let mut flows = self.live(filter, after, limit.saturating_add(1)).await?;
            let more = flows.len() > limit;
            flows.truncate(limit);
            let last = flows.last().filter(|_| more);
            let next = last.map(|flow| flow.flow_id.clone());
            Ok(FlowList { flows, next })
        })
    }

    fn order(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered> {
        Box::pin(self.ordered(action, flow, order))
    }

    fn journal(&self, flow: FlowId, after: Option<u32>, limit: usize) -> Pending<'_, FlowJournal> {
        Box::pin(self.journal_of(flow, after, limit))
    }

    fn balances(&self, deadline: Instant) -> Pending<'_, Balances> {
        Box::pin(self.read_balances(deadline))
    }

    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        quarantined: Quarantined,
        deadline: Instant,
    ) -> Pending<'_, StatesPage> {
        Box::pin(self.read_states(after, limit, quarantined, deadline))
    }

    fn vault_query(&self, query: VaultQuery, deadline: Instant) -> Pending<'_, VaultAnswer> {
        Box::pin(self.answer_query(query, deadline))
    }

    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView> {
        Box::pin(self.read_transaction(id))
    }

    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage> {
        Box::pin(self.read_ledger(after, limit))
    }

    fn chain(&self, id: TxId, before: Option<u64>, limit: usize) -> Pending<'_, ChainPage> {
        let store = self.store.clone();
        Box::pin(async move {
            let read = move || ledger_reads::chain(&store, &id, before, limit);
            joined(tokio::task::spawn_blocking(read).await)
        })
    }

    fn contracts(&self) -> ContractList {
        super::consents::contracts(&self.contracts)
    }

    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList> {
        Box::pin(self.consented(change, user.to_string()))
    }

    fn notes(&self, id: TxId) -> Pending<'_, Vec<NoteView>> {
        let store = self.store.clone();
        Box::pin(async move {
            joined(tokio::task::spawn_blocking(move || ledger_reads::notes(&store, &id)).await)
        })
    }

    fn add_note(&self, id: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView> {
        Box::pin(self.make_note(id, user.to_string(), text))
    }

    fn remove_note(&self, id: TxId, note: kernel::NoteId) -> Pending<'_, ()> {
        Box::pin(self.take_note_away(id, note))
    }

    fn schedule(&self, after: Option<Vec<u8>>, limit: usize) -> Pending<'_, SchedulePage> {
        let (store, now) = (self.store.clone(), self.shared.clock.now().wall);
        Box::pin(async move {
            let read = move || ledger_reads::schedule(&store, after, limit, now);
            joined(tokio::task::spawn_blocking(read).await)
        })
    }

    fn consumed(&self, after: Option<StateRef>, limit: usize) -> Pending<'_, ConsumedPage> {
        Box::pin(self.read_consumed(after, limit))
    }

    fn notary_requests(&self, after: Option<TxId>, limit: usize) -> Pending<'_, RequestPage> {
        Box::pin(self.read_notary_requests(after, limit))
    }

    fn equivocations(&self, after: Option<TxId>, limit: usize) -> Pending<'_, EquivocationPage> {
        Box::pin(self.read_equivocations(after, limit))
    }

    fn order_recovery(
        &self,
        order: kernel::integrity::IntegrityOrder,
    ) -> Pending<'_, RecoveryView> {
        Box::pin(self.recovery_ordered(order))
    }

    fn followers(&self) -> &Arc<Followers> {
        &self.shared.followers
    }

    fn vault_seq(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shared.view.reached()
    }

    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges> {
        Box::pin(self.read_changes(after, upto, limit))
    }

    fn node(&self) -> NodeView {
        self.node_view()
    }

    fn network(&self) -> NetworkView {
        self.network_view()
    }

    fn peers(&self) -> PeersView {
        super::peers::view(
            &self.net,
            &self.network,
            &self.shared.peer_figures(),
            &self.shared.figures().waiting,
        )
    }

    fn confirm_clock(&self, user: &Arc<str>) -> Pending<'_, ClockView> {
        Box::pin(self.vouch_for_clock(user.to_string()))
    }

    fn drain(&self) -> Drain {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.kernel.tell(Event::Drain);
        }
        let figures = self.shared.figures();
        Drain {
            state: self.node_state(),
            flows_in_flight: figures.flows_live,
            flows_retrying: figures.flows_retrying,
            flows_parked: figures.flows_parked,
            flows_paused: figures.flows_paused,
        }
    }

    fn health(&self) -> Health {
        self.health_view()
    }

    fn refresh_metrics(&self) {
        self.show_figures();
    }
}
