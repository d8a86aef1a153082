//! A node in memory, for its flows and its state. The name of a flow selects its behaviour.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use api::openapi::FlowFacts;
use api::{
    ClockView, DeliveryPage, Drain, FlowHistory, FlowHistoryQuery, FlowJournal, FlowList,
    FlowOrder, FlowOrdered, FlowQuery, FlowStatus, FlowSummary, Health, NetworkView, NodeState,
    NodeView, PeerEventKind, PeerEventView, PeerHistory, PeersView, RawJson, Wait,
};
use flow::FlowId;
use kernel::HistoryPlace;
use ledger::{LegalName, Rejection, TxId};
use node::http::{
    Answer, Ended, EndedRow, FlowAction, FlowService, Followers, HospitalService, Output, Pending,
    Refusal, Sees, Services, StartCapacity, StartRequest, StatusService, Ticket,
};
use schemars::SchemaGenerator;

use crate::http_api::fake_files::FakeFiles;
use crate::http_api::fake_history::{FakeHistory, recalled};
use crate::http_api::fake_reads::FakeReads;
use crate::http_api::fake_vault::FakeVault;

/// One thread answers, as a node's core does.
pub struct Fake {
    pub files: Arc<FakeFiles>,
    pub vault: Arc<FakeVault>,
    pub history: FakeHistory,
    core: mpsc::Sender<Vec<(Ticket, Answer)>>,
    state: Mutex<FakeState>,
    followers: Arc<Followers>,
    room: AtomicUsize,
    turned_away: AtomicU64,
}

#[derive(Default)]
struct FakeState {
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
            files: Arc::new(FakeFiles::new()),
            vault: Arc::new(FakeVault::new()),
            history: FakeHistory::default(),
            core,
            state: Mutex::default(),
            followers: Arc::default(),
            room: AtomicUsize::new(usize::MAX),
            turned_away: AtomicU64::new(0),
        })
    }

    /// Returns the services of this node: each resource has a fake of its own.
    pub fn services(self: &Arc<Self>) -> Services {
        let (flows, reads) = (Arc::clone(self), Arc::new(FakeReads));
        Services {
            flows: flows.clone(),
            hospital: flows.clone(),
            status: flows,
            vault: self.vault.clone(),
            ledger: reads.clone(),
            contracts: reads.clone(),
            notary: reads.clone(),
            integrity: reads,
            attachments: self.files.clone(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, FakeState> {
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

    /// Limits the room to this number of starts of each chunk.
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
        undelivered: Vec::new(),
    }))
}

fn refused(code: &str, message: &str, hint: &str) -> Answer {
    Answer::Refused(Rejection::new(code, message, hint).into())
}

impl FlowService for Fake {
    fn start_capacity(&self) -> StartCapacity {
        StartCapacity {
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
                // The output of the second one meets a bug.
                name @ ("encoded" | "unshowable") => Answer::Ended(Box::new(Ended {
                    flow_id: id,
                    output: Ok(Output::Encoded {
                        flow: name.into(),
                        version: 3,
                        bytes: vec![1, 2],
                    }),
                    transactions: Vec::new(),
                    delivered: false,
                    refused: Vec::new(),
                    undelivered: Vec::new(),
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
                    undelivered: Vec::new(),
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
                status: FlowStatus::Running,
            },
            None => Answer::Refused(Refusal::listed(&api::codes::UNKNOWN_FLOW, "no such flow")),
        };
        self.core(vec![(ticket, answer)]);
    }

    fn ended(&self, flow_id: FlowId) -> Pending<'_, Option<Box<EndedRow>>> {
        Box::pin(async move { Ok(self.history.ended(&flow_id)) })
    }

    fn recall(&self, ended: &EndedRow, wait: Wait, ticket: Ticket) {
        let answer = recalled(&ended.row, wait == Wait::Delivered);
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
                        undelivered: Vec::new(),
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
        if flow == "unshowable" {
            std::panic::resume_unwind(Box::new("a planted bug"));
        }
        let json = serde_json::json!({ "flow": flow, "version": version, "bytes": output });
        Ok(serde_json::value::to_raw_value(&json).expect("JSON"))
    }

    fn followers(&self) -> &Arc<Followers> {
        &self.followers
    }
}

impl HospitalService for Fake {
    fn flows(
        &self,
        query: FlowQuery,
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
                    // The kernel's filter is not repeated here. The field shows that it was asked to filter.
                    user: query.user.clone(),
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

    fn history(
        &self,
        query: FlowHistoryQuery,
        sees: Sees,
        after: Option<HistoryPlace>,
        limit: usize,
    ) -> Pending<'_, FlowHistory> {
        Box::pin(async move { Ok(self.history.page(&query, &*sees, after, limit)) })
    }

    fn order(
        &self,
        _: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered> {
        Box::pin(async move {
            let held = self.state().held.len() as u64;
            let matched = if flow.is_some() { 0 } else { held };
            Ok(FlowOrdered {
                matched,
                done: if order.dry_run { 0 } else { matched },
                ..Default::default()
            })
        })
    }

    fn journal(&self, flow: FlowId, _: Option<u32>, _: usize) -> Pending<'_, FlowJournal> {
        Box::pin(async move {
            Err(Refusal::listed(
                &api::codes::UNKNOWN_FLOW,
                format!("no live flow {flow}"),
            ))
        })
    }
}

impl StatusService for Fake {
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

    fn peers(&self) -> PeersView {
        PeersView {
            software: "tally/0".into(),
            peers: vec![],
        }
    }

    fn peer_history(&self, peer: Option<&LegalName>, limit: usize) -> Result<PeerHistory, Refusal> {
        let event = |peer: &str, at_ms| PeerEventView {
            at_ms,
            peer: peer.to_owned(),
            party_id: "00".into(),
            event: PeerEventKind::NotReached,
            count: 2,
            last_ms: at_ms,
            address: None,
            code: Some("net.unreachable".into()),
            message: None,
        };
        let events = [event("O=B, L=B, C=GB", 2), event("O=C, L=B, C=GB", 1)];
        let events = events.into_iter();
        let wanted = events.filter(|event| peer.is_none_or(|peer| event.peer == peer.to_string()));
        Ok(PeerHistory {
            events: wanted.take(limit).collect(),
        })
    }

    fn deliveries(&self, _: Option<[u8; 40]>, _: usize) -> Pending<'_, DeliveryPage> {
        Box::pin(async { Ok(DeliveryPage::default()) })
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

    fn confirm_clock(&self, _user: &Arc<str>) -> Pending<'_, ClockView> {
        Box::pin(async { Ok(ClockView::default()) })
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
