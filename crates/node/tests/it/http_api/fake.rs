//! A node service in memory. The name of a flow says what it does.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use api::openapi::FlowFacts;
use api::{
    Balance, Balances, ChainEntry, ChainPage, ClockView, ConsentList, ConsumedEntry, ConsumedPage,
    ContractList, Drain, EquivocationPage, FlowList, FlowStatus, FlowSummary, Health, LedgerEntry,
    LedgerPage, NetworkView, NodeState, NodeView, NotaryConsent, NoteView, PeersView, Quarantined,
    RawJson, RecoveryView, RequestPage, SchedulePage, StatesPage, TransactionView, VaultAnswer,
    VaultChange, VaultQuery, Wait,
};
use flow::FlowId;
use ledger::{Rejection, StateRef, TxId};
use node::http::{
    Answer, Ended, Followers, NodeService, Output, Pending, Refusal, Room, SeenChange,
    StartRequest, Ticket, VaultChanges,
};
use schemars::SchemaGenerator;
use tokio::sync::watch;

use crate::http_api::fake_files::FakeFiles;

/// One thread answers, as a node's core does.
pub struct Fake {
    pub files: FakeFiles,
    core: mpsc::Sender<Vec<(Ticket, Answer)>>,
    state: Mutex<State>,
    followers: Arc<Followers>,
    vault: watch::Sender<u64>,
    room: AtomicUsize,
    turned_away: AtomicU64,
}

#[derive(Default)]
struct State {
    held: BTreeMap<FlowId, HashMap<u64, Ticket>>,
    by_client: HashMap<(Arc<str>, String), FlowId>,
    detached: usize,
    largest_batch: usize,
    draining: bool,
}

impl Fake {
    pub fn new() -> Arc<Self> {
        let (core, work) = mpsc::channel::<Vec<(Ticket, Answer)>>();
        std::thread::spawn(move || {
            for (ticket, answer) in work.into_iter().flatten() {
                ticket.answer(answer);
            }
        });
        Arc::new(Self {
            files: FakeFiles::new(),
            core,
            state: Mutex::default(),
            followers: Arc::default(),
            vault: watch::Sender::new(42),
            room: AtomicUsize::new(usize::MAX),
            turned_away: AtomicU64::new(0),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }

    fn core(&self, answers: Vec<(Ticket, Answer)>) {
        self.core.send(answers).expect("the thread runs");
    }

    /// Ends every flow that waits.
    pub fn release(&self) {
        let held = std::mem::take(&mut self.state().held);
        let answers = held.into_iter().flat_map(|(id, tickets)| {
            tickets
                .into_values()
                .map(move |ticket| (ticket, ended(id, "\"released\"", false)))
        });
        self.core(answers.collect());
    }

    /// Tells the followers of every held flow a step.
    pub fn step(&self, step: &'static str) {
        let held: Vec<FlowId> = self.state().held.keys().copied().collect();
        let steps: Vec<(FlowId, &'static str)> = held.iter().map(|id| (*id, step)).collect();
        self.followers.publish(&steps);
    }

    /// The vault's view goes on to a position.
    pub fn reach(&self, seq: u64) {
        self.vault.send_replace(seq);
    }

    /// From now on there is room for so many starts of each chunk.
    pub fn make_room(&self, places: usize) {
        self.room.store(places, Ordering::Relaxed);
    }

    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    pub fn held(&self) -> usize {
        self.state().held.values().map(HashMap::len).sum()
    }

    pub fn detached(&self) -> usize {
        self.state().detached
    }

    pub fn largest_batch(&self) -> usize {
        self.state().largest_batch
    }
}

fn ended(flow_id: FlowId, json: &str, delivered: bool) -> Answer {
    let output = serde_json::from_str(json).expect("JSON");
    Answer::Ended(Box::new(Ended {
        flow_id,
        output: Ok(Output::Json(output)),
        transactions: vec![TxId::from_array([7; 32])],
        delivered,
        refused: Vec::new(),
    }))
}

fn refused(code: &str, message: &str, hint: &str) -> Answer {
    Answer::Refused(Rejection::new(code, message, hint).into())
}

impl NodeService for Fake {
    fn room(&self) -> Room {
        Room {
            places: self.room.load(Ordering::Relaxed),
            questions: 1,
            retry_after_ms: 70,
        }
    }

    fn turned_away(&self, count: u64) {
        self.turned_away.fetch_add(count, Ordering::Relaxed);
    }

    fn described_flows(&self, _: &mut SchemaGenerator) -> Vec<FlowFacts> {
        let described = ["test.echo", "test.fail", "test.hold"].map(|name| FlowFacts {
            name: name.to_owned(),
            versions: vec![1],
            steps: vec!["holding".to_owned()],
            arguments: schemars::json_schema!({}),
            result: schemars::json_schema!({}),
        });
        described.to_vec()
    }

    fn start(&self, starts: Vec<StartRequest<'_>>) {
        let mut state = self.state();
        state.largest_batch = state.largest_batch.max(starts.len());
        let mut answers = Vec::with_capacity(starts.len());
        for start in starts {
            let mut id = start.flow_id;
            if let Some(client_id) = start.client_id {
                let key = (Arc::clone(start.user), client_id.to_owned());
                id = *state.by_client.entry(key).or_insert(id);
            }
            let answer = match start.flow.trim_start_matches("test.") {
                _ if start.wait == Wait::None => Answer::Accepted { flow_id: id },
                "echo" => ended(id, start.args, start.wait == Wait::Delivered),
                "encoded" => Answer::Ended(Box::new(Ended {
                    flow_id: id,
                    output: Ok(Output::Encoded {
                        flow: "encoded".into(),
                        version: 3,
                        bytes: vec![1, 2],
                    }),
                    transactions: Vec::new(),
                    delivered: false,
                    refused: Vec::new(),
                })),
                "fail" => Answer::Ended(Box::new(Ended {
                    flow_id: id,
                    output: Err(Rejection::new(
                        "vault.insufficient_funds",
                        "no funds",
                        "issue some",
                    )),
                    transactions: Vec::new(),
                    delivered: false,
                    refused: Vec::new(),
                })),
                "hold" => {
                    state
                        .held
                        .entry(id)
                        .or_default()
                        .insert(start.ticket.id(), start.ticket);
                    continue;
                }
                "busy" => Answer::Refused(Refusal::busy(1_500)),
                "picky" => refused(
                    "flow.bad_arguments",
                    "quantity is missing",
                    "give a quantity",
                ),
                "lost" => continue,
                "bug" => {
                    drop(state);
                    // Unwinds without the panic hook: printing a backtrace would hold up the runtime for seconds.
                    std::panic::resume_unwind(Box::new("a planted bug"));
                }
                name => refused(
                    "flow.unknown",
                    &format!("no flow '{name}' is registered"),
                    "list the flows",
                ),
            };
            answers.push((start.ticket, answer));
        }
        drop(state);
        self.core(answers);
    }

    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket) {
        let mut state = self.state();
        let answer = match state.held.get_mut(&flow_id) {
            Some(tickets) if wait != Wait::None => {
                tickets.insert(ticket.id(), ticket);
                return;
            }
            Some(_) => Answer::Running {
                flow_id,
                step: "holding".into(),
                status: api::FlowStatus::Running,
            },
            None => Answer::Refused(Refusal::listed(&api::codes::UNKNOWN_FLOW, "no such flow")),
        };
        self.core(vec![(ticket, answer)]);
    }

    /// The flow continues, and no client waits for it.
    fn detach(&self, tickets: &[u64]) {
        let mut state = self.state();
        state.detached += tickets.len();
        for held in state.held.values_mut() {
            held.retain(|id, _| !tickets.contains(id));
        }
    }

    fn cancel(&self, flow_id: FlowId, ticket: Ticket) {
        let answer = match self.state().held.remove(&flow_id) {
            Some(tickets) => {
                let killed = |ticket| {
                    let output = Err(Rejection::new("flow.killed", "killed", "start it again"));
                    let ended = Ended {
                        flow_id,
                        output,
                        transactions: Vec::new(),
                        delivered: false,
                        refused: Vec::new(),
                    };
                    (ticket, Answer::Ended(Box::new(ended)))
                };
                let mut all: Vec<_> = tickets.into_values().map(killed).collect();
                all.push(killed(ticket));
                return self.core(all);
            }
            None => Answer::Refused(Refusal::listed(&api::codes::UNKNOWN_FLOW, "no such flow")),
        };
        self.core(vec![(ticket, answer)]);
    }

    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket) {
        let known = self
            .state()
            .by_client
            .remove(&(Arc::clone(user), client_id.to_owned()));
        let unknown = || {
            Answer::Refused(Refusal::listed(
                &api::codes::UNKNOWN_CLIENT_ID,
                "no such client id",
            ))
        };
        self.core(vec![(ticket, known.map_or_else(unknown, |_| Answer::Done))]);
    }

    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal> {
        let json = serde_json::json!({ "flow": flow, "version": version, "bytes": output });
        Ok(serde_json::value::to_raw_value(&json).expect("JSON"))
    }

    fn order(
        &self,
        _: node::http::FlowAction,
        flow: Option<FlowId>,
        order: api::FlowOrder,
    ) -> Pending<'_, api::FlowOrdered> {
        Box::pin(async move {
            let held = self.state().held.len() as u64;
            let matched = if flow.is_some() { 0 } else { held };
            Ok(api::FlowOrdered {
                matched,
                done: if order.dry_run { 0 } else { matched },
                ..Default::default()
            })
        })
    }

    fn journal(&self, flow: FlowId, _: Option<u32>, _: usize) -> Pending<'_, api::FlowJournal> {
        Box::pin(async move {
            Err(Refusal::listed(
                &api::codes::UNKNOWN_FLOW,
                format!("no live flow {flow}"),
            ))
        })
    }

    fn flows(
        &self,
        _: api::FlowQuery,
        after: Option<FlowId>,
        limit: usize,
    ) -> Pending<'_, FlowList> {
        Box::pin(async move {
            let state = self.state();
            let after = state
                .held
                .keys()
                .filter(|id| after.is_none_or(|after| **id > after));
            let flows: Vec<FlowSummary> = after
                .take(limit)
                .map(|id| FlowSummary {
                    flow_id: id.to_string(),
                    flow: Some("hold".into()),
                    status: FlowStatus::Running,
                    step: "holding".into(),
                    started_here: true,
                    version: None,
                    user: None,
                    started_at_ms: None,
                    progress_at_ms: None,
                    retry_at_ms: None,
                    kill_asked: false,
                    peers: Vec::new(),
                    waits: Vec::new(),
                    failures: 0,
                    errors: Vec::new(),
                })
                .collect();
            let next = (flows.len() == limit)
                .then(|| flows.last().map(|f| f.flow_id.clone()))
                .flatten();
            Ok(FlowList { flows, next })
        })
    }

    fn balances(&self, deadline: Instant) -> Pending<'_, Balances> {
        Box::pin(async move {
            if deadline <= Instant::now() {
                return Err(Refusal::listed(
                    &api::codes::VIEW_BEHIND,
                    "the view is at 41, asked for 42",
                ));
            }
            let balance = Balance {
                token: "00".into(),
                symbol: "GBP".into(),
                issuer: "O=A, L=B, C=GB".into(),
                quantity: "340282366920938463463374607431768211455".into(),
                states: 3,
                quarantined: None,
            };
            Ok(Balances {
                view_seq: 42,
                balances: vec![balance],
            })
        })
    }

    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        _: Quarantined,
        _: Instant,
    ) -> Pending<'_, StatesPage> {
        let next = after.map(|after| after + limit as u64);
        Box::pin(async move {
            Ok(StatesPage {
                view_seq: 42,
                states: Vec::new(),
                next,
            })
        })
    }

    fn vault_query(&self, _: VaultQuery, _: Instant) -> Pending<'_, VaultAnswer> {
        Box::pin(async move { Ok(VaultAnswer::default()) })
    }

    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView> {
        Box::pin(async move {
            Err(Refusal::listed(
                &api::codes::UNKNOWN_TRANSACTION,
                format!("transaction {id} is not recorded"),
            ))
        })
    }

    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage> {
        Box::pin(async move {
            let first = after.map_or(0, |after| after + 1);
            let entry = |seq| LedgerEntry {
                seq,
                id: TxId::from_array([7; 32]).to_string(),
            };
            let entries: Vec<LedgerEntry> = (first..25_000).take(limit).map(entry).collect();
            let next = entries
                .last()
                .map(|entry| entry.seq)
                .filter(|seq| *seq < 24_999);
            Ok(LedgerPage { entries, next })
        })
    }

    fn chain(&self, id: TxId, before: Option<u64>, _: usize) -> Pending<'_, ChainPage> {
        let entry = ChainEntry {
            seq: before.unwrap_or(7),
            id: id.to_string(),
            depends_on: Vec::new(),
        };
        Box::pin(async move {
            Ok(ChainPage {
                entries: vec![entry],
                next: None,
            })
        })
    }

    fn contracts(&self) -> ContractList {
        ContractList::default()
    }

    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList> {
        let by = change.is_some().then(|| user.to_string());
        let list = ConsentList {
            notary_changes: NotaryConsent {
                accepted: true,
                configured: true,
                at_ms: by.as_ref().map(|_| 1),
                by,
            },
            upgrades: Vec::new(),
        };
        Box::pin(async move { Ok(list) })
    }

    fn notes(&self, _: TxId) -> Pending<'_, Vec<NoteView>> {
        Box::pin(async move { Ok(Vec::new()) })
    }

    fn add_note(&self, _: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView> {
        let note = NoteView {
            id: "00".repeat(12),
            user: user.to_string(),
            at_ms: 1,
            text,
        };
        Box::pin(async move { Ok(note) })
    }

    fn remove_note(&self, _: TxId, note: kernel::NoteId) -> Pending<'_, ()> {
        Box::pin(async move {
            if note == [0; 12] {
                return Ok(());
            }
            let text = "no such note";
            Err(Refusal::listed(&api::codes::UNKNOWN_NOTE, text))
        })
    }

    fn schedule(&self, after: Option<Vec<u8>>, _: usize) -> Pending<'_, SchedulePage> {
        Box::pin(async move {
            Ok(SchedulePage {
                entries: Vec::new(),
                next: after.map(|after| primitives::hex::encode(&after)),
            })
        })
    }

    fn notary_requests(&self, _: Option<TxId>, _: usize) -> Pending<'_, RequestPage> {
        Box::pin(async move { Ok(RequestPage::default()) })
    }

    fn equivocations(&self, _: Option<TxId>, _: usize) -> Pending<'_, EquivocationPage> {
        Box::pin(async move { Ok(EquivocationPage::default()) })
    }

    fn order_recovery(&self, _: kernel::integrity::IntegrityOrder) -> Pending<'_, RecoveryView> {
        Box::pin(async move { Ok(RecoveryView::default()) })
    }

    fn consumed(&self, after: Option<StateRef>, _: usize) -> Pending<'_, ConsumedPage> {
        Box::pin(async move {
            let Some(after) = after else {
                return Err(Refusal::listed(
                    &api::codes::NOT_A_NOTARY,
                    "this node is not a notary",
                ));
            };
            let entry = ConsumedEntry {
                state_ref: after.to_string(),
                consumed_by: after.tx.to_string(),
            };
            Ok(ConsumedPage {
                entries: vec![entry],
                next: None,
            })
        })
    }

    fn followers(&self) -> &Arc<Followers> {
        &self.followers
    }

    fn vault_seq(&self) -> watch::Receiver<u64> {
        self.vault.subscribe()
    }

    /// Every second position changes the vault.
    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges> {
        let last = upto.min(after + limit as u64);
        let changes = (after + 1..=last).filter(|seq| seq % 2 == 0);
        let changes = changes.map(|seq| SeenChange {
            change: VaultChange {
                seq,
                transaction: TxId::from_array([7; 32]).to_string(),
                recorded_at_ms: 1,
                consumed: vec![format!("{}(0)", TxId::from_array([seq as u8; 32]))],
                produced: Vec::new(),
            },
            // Every fourth position is of another contract than the others.
            consumed_contracts: vec![if seq % 4 == 0 { "x.a" } else { "y" }.into()],
        });
        let changes = changes.collect();
        Box::pin(async move {
            Ok(VaultChanges {
                changes,
                upto: last,
            })
        })
    }

    fn peers(&self) -> PeersView {
        PeersView {
            software: "tally/0".into(),
            peers: vec![],
        }
    }

    fn node(&self) -> NodeView {
        NodeView {
            name: "O=A, L=B, C=GB".into(),
            party_id: "00".into(),
            key: "ed25519:00".into(),
            notary: None,
            addresses: vec!["127.0.0.1:1".into()],
            version: "0".into(),
            platform_version: 1,
            state: self.health().state,
            uptime_ms: 1,
            flows_in_flight: 0,
            flows_retrying: 0,
            flows_parked: 0,
            flows_paused: 0,
            flows_queued: 0,
            ledger_seq: 42,
            view_seq: 42,
            clock: Some(ClockView::default()),
            peers: Vec::new(),
            flows: Vec::new(),
        }
    }

    fn network(&self) -> NetworkView {
        NetworkView {
            notaries: vec!["O=N, L=B, C=GB".into()],
            ..NetworkView::default()
        }
    }

    fn confirm_clock(&self, _user: &Arc<str>) -> Pending<'_, ClockView> {
        Box::pin(async { Ok(ClockView::default()) })
    }

    fn drain(&self) -> Drain {
        self.state().draining = true;
        Drain {
            state: NodeState::Draining,
            flows_in_flight: self.held() as u64,
            flows_retrying: 0,
            flows_parked: 0,
            flows_paused: 0,
        }
    }

    fn health(&self) -> Health {
        let draining = self.state().draining;
        Health {
            live: true,
            ready: !draining,
            state: if draining {
                NodeState::Draining
            } else {
                NodeState::Ready
            },
            ledger_seq: 42,
            view_seq: 42,
            view_lag: 0,
            message: None,
            code: None,
            warnings: Vec::new(),
        }
    }
}
