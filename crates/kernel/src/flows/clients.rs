//! Clients' waits for flows, the client ids in use, and the outcomes of ended flows.
//!
//! # Invariants
//! - A client id names one start until it is removed. The same id with another start is refused.
//! - Everything here is bounded: live flows by admission and the engine's limit of responders, waits by the shell's
//!   connections, outcomes by bytes.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use flow::FlowId;
use ledger::TxId;
use primitives::Hash;
use primitives::collections::HashMap;

use crate::cache::GenerationCache;
use crate::event::{Token, Wait};
use crate::figures::CacheFigures;
use crate::flows::admission::Weight;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{ClientRow, OUTCOME_TRANSACTIONS_MAX, Outcome};
use crate::writes::{RowRange, Writer};
use primitives::{Decode, Monotonic};

/// A flow that has not ended. Responders have one only once they have recorded something, or after a restart.
#[derive(Debug, Default)]
pub struct LiveFlow {
    /// The waits, each with its event.
    pub waits: Vec<(Token, Wait)>,
    /// The key of its client id and the digest of its start.
    pub client: Option<(Hash, Hash)>,
    /// The transactions that it has recorded so far.
    pub transactions: Vec<TxId>,
    /// The number of them that its journal holds.
    pub journaled: usize,
    /// The latest progress step.
    pub step: &'static str,
    /// Why it is parked.
    pub parked: Option<String>,
    /// The weight that it holds of the room for clients' flows; `None` if it holds no place.
    pub(crate) place: Option<Weight>,
}

/// An ended flow with open deliveries. It is kept only while a client waits for them.
#[derive(Debug)]
struct Undelivered {
    transactions: Vec<TxId>,
    /// The waits. Each has its own outcome: one from the history lacks a large output, and one from the row of a client id has it.
    waits: Vec<(Token, Arc<Outcome>)>,
    /// The number of its transactions with deliveries that are still open.
    owed: usize,
    refused: bool,
}

/// The waits, client ids and outcomes.
#[derive(Debug)]
pub struct Clients {
    live: HashMap<FlowId, LiveFlow>,
    parked: BTreeSet<FlowId>,
    by_client: HashMap<Hash, FlowId>,
    by_token: HashMap<Token, FlowId>,
    /// Rows of client ids that the store may not show yet, with the commit that writes them.
    undurable: HashMap<Hash, (ClientRow, u64)>,
    /// Those rows in the order of commits.
    order: VecDeque<(u64, Hash)>,
    recent: GenerationCache<FlowId, Arc<Outcome>>,
    undelivered: HashMap<FlowId, Undelivered>,
    /// The ended flows that clients wait for, by the transactions whose deliveries are open.
    held_up: HashMap<TxId, Vec<FlowId>>,
}

impl Writer for Clients {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::ClientIds),
        RowRange::table(Table::Journal),
    ];
}

impl Part for Clients {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        while self
            .order
            .front()
            .is_some_and(|(number, _)| *number <= upto)
        {
            let Some((_, key)) = self.order.pop_front() else {
                break;
            };
            // The id may have been removed and used again meanwhile: then the row belongs to a later commit.
            if self
                .undurable
                .get(&key)
                .is_some_and(|(_, number)| *number <= upto)
            {
                self.undurable.remove(&key);
            }
        }
    }
}

impl Clients {
    /// Outcomes of ended flows are kept in memory up to this many bytes.
    pub fn new(recent_bytes: usize) -> Self {
        Self {
            live: HashMap::default(),
            parked: BTreeSet::new(),
            by_client: HashMap::default(),
            by_token: HashMap::default(),
            undurable: HashMap::default(),
            order: VecDeque::new(),
            recent: GenerationCache::new(recent_bytes),
            undelivered: HashMap::default(),
            held_up: HashMap::default(),
        }
    }

    /// Adds a flow that starts or was found in a journal.
    pub fn begin(&mut self, flow: FlowId, live: LiveFlow) {
        if let Some((key, _)) = live.client {
            self.by_client.insert(key, flow);
        }
        for (token, _) in &live.waits {
            self.by_token.insert(*token, flow);
        }
        self.live.insert(flow, live);
    }

    /// Returns the live flow of a client id.
    pub fn by_client(&self, key: &Hash) -> Option<FlowId> {
        self.by_client.get(key).copied()
    }

    /// Keeps the row of a client id until the commit that writes it is durable.
    pub fn remember_client(&mut self, key: Hash, row: ClientRow, number: u64) {
        self.undurable.insert(key, (row, number));
        self.order.push_back((number, key));
    }

    /// Returns the row of a client id, if it is not durable yet.
    pub fn ended_client(&self, key: &Hash) -> Option<ClientRow> {
        self.undurable.get(key).map(|(row, _)| row.clone())
    }

    /// Returns the row of a client id whose start has ended.
    pub(crate) fn row(
        &self,
        key: &Hash,
        reads: &dyn Reads,
    ) -> Result<Option<ClientRow>, StoreFailure> {
        if let Some(row) = self.ended_client(key) {
            return Ok(Some(row));
        }
        let Some(bytes) = reads.get(Table::ClientIds, key.as_bytes())? else {
            return Ok(None);
        };
        let row = ClientRow::from_bytes(&bytes)
            .map_err(|error| damaged(format!("the row of a client id does not decode: {error}")))?;
        Ok(Some(row))
    }

    /// Forgets a client id, which can be used again.
    pub fn forget_client(&mut self, key: &Hash) {
        self.undurable.remove(key);
    }

    /// Returns a live flow.
    pub fn live(&self, flow: &FlowId) -> Option<&LiveFlow> {
        self.live.get(flow)
    }

    /// Returns a live flow.
    pub fn live_mut(&mut self, flow: &FlowId) -> Option<&mut LiveFlow> {
        self.live.get_mut(flow)
    }

    /// Adds a client that waits for a live flow. Returns false if the flow is not live.
    pub fn wait(&mut self, flow: FlowId, token: Token, wait: Wait) -> bool {
        let Some(live) = self.live.get_mut(&flow) else {
            return false;
        };
        live.waits.push((token, wait));
        self.by_token.insert(token, flow);
        true
    }

    /// Notes that a flow recorded a transaction.
    pub fn recorded(&mut self, flow: FlowId, id: TxId) {
        let live = self.live.entry(flow).or_default();
        // After a restart a flow may repeat the step that recorded it.
        if live.transactions.len() < OUTCOME_TRANSACTIONS_MAX && !live.transactions.contains(&id) {
            live.transactions.push(id);
        }
    }

    /// Returns the transactions that a flow recorded since its last journal row.
    pub fn unjournaled(&mut self, flow: &FlowId) -> &[TxId] {
        let Some(live) = self.live.get_mut(flow) else {
            return &[];
        };
        let from = std::mem::replace(&mut live.journaled, live.transactions.len());
        live.transactions.get(from..).unwrap_or_default()
    }

    /// Restores a flow from its journal, with the transactions that it recorded.
    pub fn resume(&mut self, flow: FlowId, mut live: LiveFlow) {
        live.journaled = live.transactions.len();
        self.begin(flow, live);
    }

    /// Parks a flow. Returns the clients that waited for it, and the place that it gives up.
    pub(super) fn park(&mut self, flow: FlowId, why: &str) -> (Vec<(Token, Wait)>, Option<Weight>) {
        self.parked.insert(flow);
        let live = self.live.entry(flow).or_default();
        live.parked = Some(why.to_owned());
        let place = live.place.take();
        let waits = std::mem::take(&mut live.waits);
        for (token, _) in &waits {
            self.by_token.remove(token);
        }
        (waits, place)
    }

    /// Lets a parked flow run again. Returns where to keep its new place, if a client started it and it holds none.
    pub(super) fn unpark(&mut self, flow: &FlowId, is_ours: bool) -> Option<&mut Option<Weight>> {
        self.parked.remove(flow);
        let live = self.live.get_mut(flow)?;
        live.parked = None;
        live.step = "";
        (is_ours && live.place.is_none()).then_some(&mut live.place)
    }

    /// Returns the number of parked flows.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Removes a flow that has ended.
    pub fn remove(&mut self, flow: &FlowId) -> LiveFlow {
        self.parked.remove(flow);
        let live = self.live.remove(flow).unwrap_or_default();
        if let Some((key, _)) = live.client {
            self.by_client.remove(&key);
        }
        for (token, _) in &live.waits {
            self.by_token.remove(token);
        }
        live
    }

    /// Keeps the outcome of an ended flow in memory for a while, for repeated questions.
    pub fn remember(&mut self, outcome: &Arc<Outcome>) {
        let result_bytes = match &outcome.result {
            Ok(bytes) => bytes.len(),
            Err(rejection) => rejection.message.len() + rejection.hint.len() + 64,
        };
        let weight = 128 + result_bytes + outcome.transactions.len() * 32;
        self.recent
            .insert(outcome.flow, Arc::clone(outcome), weight);
    }

    /// Returns the outcome of a flow that ended recently.
    pub fn outcome(&mut self, flow: &FlowId) -> Option<Arc<Outcome>> {
        self.recent.get(flow)
    }

    /// Returns the figures of the cache of outcomes, for the metrics.
    pub fn cache_figures(&self) -> CacheFigures {
        self.recent.figures()
    }

    /// Adds a client that waits for the deliveries of an ended flow. `owed` lists its undelivered transactions and is not empty.
    pub fn wait_for_delivery(&mut self, outcome: Arc<Outcome>, token: Token, owed: &[TxId]) {
        let flow = outcome.flow;
        self.by_token.insert(token, flow);
        if let Some(waiting) = self.undelivered.get_mut(&flow) {
            waiting.waits.push((token, outcome));
            return;
        }
        for id in owed {
            self.held_up.entry(*id).or_default().push(flow);
        }
        let waiting = Undelivered {
            transactions: outcome.transactions.clone(),
            waits: vec![(token, outcome)],
            owed: owed.len(),
            refused: false,
        };
        self.undelivered.insert(flow, waiting);
    }

    /// Handles the end of a transaction's deliveries. Returns the waits that end with it, and whether all were delivered.
    pub fn delivered(&mut self, id: &TxId) -> Vec<(Token, Arc<Outcome>, bool)> {
        let mut ended = Vec::new();
        for flow in self.held_up.remove(id).unwrap_or_default() {
            let Some(waiting) = self.undelivered.get_mut(&flow) else {
                continue;
            };
            waiting.owed -= 1;
            if waiting.owed == 0
                && let Some(done) = self.undelivered.remove(&flow)
            {
                for (token, outcome) in done.waits {
                    self.by_token.remove(&token);
                    ended.push((token, outcome, !done.refused));
                }
            }
        }
        ended
    }

    /// Notes that a participant refused a transaction.
    pub fn refused(&mut self, id: &TxId) {
        for flow in self.held_up.get(id).into_iter().flatten() {
            if let Some(waiting) = self.undelivered.get_mut(flow) {
                waiting.refused = true;
            }
        }
    }

    /// Removes the wait of a client that has left.
    pub fn detach(&mut self, token: Token) {
        let Some(flow) = self.by_token.remove(&token) else {
            return;
        };
        if let Some(live) = self.live.get_mut(&flow) {
            live.waits.retain(|(t, _)| *t != token);
        }
        let Some(waiting) = self.undelivered.get_mut(&flow) else {
            return;
        };
        waiting.waits.retain(|(t, _)| *t != token);
        if !waiting.waits.is_empty() {
            return;
        }
        if let Some(forgotten) = self.undelivered.remove(&flow) {
            for id in &forgotten.transactions {
                if let Some(flows) = self.held_up.get_mut(id) {
                    flows.retain(|f| *f != flow);
                    if flows.is_empty() {
                        self.held_up.remove(id);
                    }
                }
            }
        }
    }
}
