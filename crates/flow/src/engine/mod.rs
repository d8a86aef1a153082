//! The flow engine: polls flows by hand, journals their inputs, and replays them after a restart.
//!
//! ```text
//!  start ─────────┐                                    ┌── Effect, Cancel    to the node's services
//!  complete ──────┤   one input, one poll              ├── SendSession       to the outbox of a peer
//!  on_session ────┼──> flow ──> what it asked for ──>  ├── Ended, Forget     to the client; the journal is deleted
//!  kill, pause ───┤                                    ├── Parked, Retrying, Paused, Chart    to the hospital
//!  resume, retry ─┘                                    └── Progress
//!  end_of_round ────> one Journal row for each flow that gained something
//! ```
//!
//! # Invariants
//! - Everything emitted in a round leaves the node only after the round's batch (with its journal rows) is durable. Replay
//!   relies on it: output from before the last row is not sent again.
//! - The engine never calls out. An effect may be completed while the actions of the same call are still being executed.
//! - No journal content and no message of a peer makes the engine panic. A flow that panics is ended or parked alone.

mod actions;
mod idle;
mod kill;
mod load;
mod parked;
mod pause;
mod replay;
mod run;
mod sessions;
mod shares;
mod status;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use ledger::{NetworkMap, Party, PartyId};
use primitives::{Monotonic, Seed, Timestamp};

pub use actions::EngineAction;
pub use kill::Kill;
pub(crate) use load::KnownSession;
pub use load::Loaded;
pub use pause::Pause;
pub use shares::{PeerUsage, RESPONDER_BYTES};
pub use status::{FlowStatus, MissingVersion, Stage, Waiting, WaitsFor};

use crate::cell::Input;
use crate::error::DUPLICATE_FLOW;
use crate::hospital::Chart;
use crate::registry::FlowFuture;
use crate::shared::{Environment, Shared};
use crate::{EffectResult, FlowError, FlowId, FlowLimits, FlowRegistry, StartRecord};
use load::LoadedFlow;
use parked::ParkedFlow;
use shares::PeerShares;

/// The engine of one node (or of one shard of its flows).
pub struct FlowEngine {
    registry: Arc<FlowRegistry>,
    environment: Arc<Environment>,
    now: Timestamp,
    /// A monotonic clock, which measures the silence of peers.
    monotonic: Monotonic,
    flows: HashMap<FlowId, Live, BuildHasherDefault<IdHasher>>,
    touched: Vec<FlowId>,
    shares: PeerShares,
}

/// A flow that has not ended.
enum Live {
    Running(Box<Running>),
    Loaded(Box<LoadedFlow>),
    Parked(Box<ParkedFlow>),
}

/// A flow that runs.
struct Running {
    start: StartRecord,
    future: FlowFuture,
    shared: Arc<Shared>,
    /// The number of rows of its journal.
    rows: u32,
    /// Whether it is among the touched flows of this round.
    touched: bool,
    /// The time of its last step in this run of the node.
    since: Timestamp,
    /// The time of its last step by the monotonic clock.
    stepped: Monotonic,
    /// Whether its last poll panicked.
    panicked: bool,
    /// Its earlier failures.
    chart: Option<Box<Chart>>,
}

impl FlowEngine {
    /// Creates an engine without flows. The seeds of responders are derived from `secret`, which the shell draws at each
    /// start.
    pub fn new(
        registry: Arc<FlowRegistry>,
        me: Party,
        network: Arc<NetworkMap>,
        secret: Seed,
        limits: FlowLimits,
    ) -> FlowEngine {
        let my_id = me.id();
        FlowEngine {
            registry,
            environment: Arc::new(Environment {
                me,
                my_id,
                network,
                secret,
                limits,
            }),
            now: Timestamp::from_ms(0),
            monotonic: Monotonic::START,
            flows: HashMap::default(),
            touched: Vec::new(),
            shares: PeerShares::default(),
        }
    }

    /// Returns the registered flows.
    pub fn registry(&self) -> &FlowRegistry {
        &self.registry
    }

    /// Sets the time that flows see; call it before each round. It follows the wall clock, even backwards.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Sets the monotonic clock, which measures the silence of peers; call it before each round.
    pub fn set_monotonic(&mut self, now: Monotonic) {
        self.monotonic = self.monotonic.max(now);
    }

    /// Sets the network map for flows that start from now on.
    pub fn set_network(&mut self, network: Arc<NetworkMap>) {
        let old = &self.environment;
        self.environment = Arc::new(Environment {
            me: old.me.clone(),
            my_id: old.my_id,
            network,
            secret: old.secret.clone(),
            limits: old.limits,
        });
    }

    /// Counts the flows that have not ended, including parked ones.
    pub fn live(&self) -> usize {
        self.flows.len()
    }

    /// Returns the resources that live flows hold on behalf of a peer.
    pub fn peer_usage(&self, peer: &PartyId) -> PeerUsage {
        self.shares.of(peer)
    }

    /// Returns the resources that live flows hold, by peer, in order of the peers' ids.
    pub fn peer_usages(&self) -> impl Iterator<Item = (PartyId, PeerUsage)> + '_ {
        self.shares.all()
    }

    /// Returns the peer whose session a responder answers; `None` for a client's flow.
    pub fn origin_of(&self, flow: &FlowId) -> Option<PartyId> {
        let start = match self.flows.get(flow)? {
            Live::Running(running) => Some(&running.start),
            Live::Loaded(loaded) => loaded.start.as_ref(),
            Live::Parked(parked) => parked.start.as_ref(),
        };
        start?.origin.map(|origin| origin.peer)
    }

    /// Returns whether a flow has not ended.
    pub fn is_live(&self, flow: &FlowId) -> bool {
        self.flows.contains_key(flow)
    }

    /// Starts a flow. On an error nothing was started: the flow is unknown, its arguments do not decode, or the id is in
    /// use.
    pub fn start(
        &mut self,
        record: StartRecord,
        out: &mut Vec<EngineAction>,
    ) -> Result<(), FlowError> {
        if self.flows.contains_key(&record.id) {
            let text = format!("flow {} is already live", record.id);
            return Err(FlowError::listed(&DUPLICATE_FLOW, text));
        }
        let id = record.id;
        let running = self.make(record)?;
        {
            let mut cell = running.shared.cell();
            cell.journal(|row| row.start(&running.start));
            cell.begin(Input::Start);
        }
        self.insert(running);
        self.poll(id, out);
        Ok(())
    }

    /// Delivers the result of an effect. A result that no flow waits for is ignored, because the flow has ended or
    /// abandoned the effect.
    pub fn complete(
        &mut self,
        flow: FlowId,
        effect: u32,
        result: EffectResult,
        out: &mut Vec<EngineAction>,
    ) {
        let Some(Live::Running(running)) = self.flows.get(&flow) else {
            return;
        };
        if running.shared.cell().answer(effect, result) {
            self.poll(flow, out);
        }
    }

    /// Ends a round: writes one row for each flow that gained something and has not ended.
    pub fn end_of_round(&mut self, out: &mut Vec<EngineAction>) {
        for flow in std::mem::take(&mut self.touched) {
            match self.flows.get_mut(&flow) {
                Some(Live::Running(running)) => {
                    running.touched = false;
                    let Some(row) = running.shared.cell().take_row() else {
                        continue;
                    };
                    let step = running.rows;
                    running.rows += 1;
                    self.shares.journal(&flow, row.len());
                    out.push(EngineAction::Journal { flow, step, row });
                }
                Some(Live::Parked(parked)) => {
                    for (step, row) in parked.take_rows() {
                        self.shares.journal(&flow, row.len());
                        out.push(EngineAction::Journal { flow, step, row });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Flow ids are hashes already.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(23) ^ u64::from_le_bytes(word);
        }
    }
}
