//! The engine and its flows: starts, results, and the end of a round.

use std::sync::Arc;

use ledger::{NetworkMap, Party, PartyId};
use primitives::collections::HashMap;
use primitives::{Monotonic, Seed, Timestamp};

use super::actions::EngineAction;
use super::loaded::LoadedFlow;
use super::parked::ParkedFlow;
use super::shares::{PeerShares, PeerUsage};
use crate::cell::Input;
use crate::error::DUPLICATE_FLOW;
use crate::flow_state::{Environment, FlowState};
use crate::hospital::Chart;
use crate::registry::FlowFuture;
use crate::{EffectResult, FlowError, FlowId, FlowLimits, FlowRegistry, StartRecord};

/// The engine of one node (or of one shard of its flows).
pub struct FlowEngine {
    pub(super) registry: Arc<FlowRegistry>,
    pub(super) environment: Arc<Environment>,
    pub(super) now: Timestamp,
    /// A monotonic clock, which measures the silence of peers.
    pub(super) monotonic: Monotonic,
    pub(super) flows: HashMap<FlowId, Live>,
    pub(super) touched: Vec<FlowId>,
    /// Flows that got an input, in order. A flow may have left since.
    pub(super) ready: Vec<FlowId>,
    pub(super) shares: PeerShares,
}

/// A flow that has not ended.
pub(super) enum Live {
    Running(Box<Running>),
    Loaded(Box<LoadedFlow>),
    Parked(Box<ParkedFlow>),
}

/// A flow that runs.
pub(super) struct Running {
    pub(super) start: StartRecord,
    /// `None` while a step is taken.
    pub(super) future: Option<FlowFuture>,
    pub(super) shared: Arc<FlowState>,
    /// The number of rows of its journal.
    pub(super) rows: u32,
    /// Whether it got an input and has not taken the step for it.
    pub(super) ready: bool,
    /// Whether it is among the touched flows of this round.
    pub(super) touched: bool,
    /// The time of its last step in this run of the node.
    pub(super) since: Timestamp,
    /// The time of its last step by the monotonic clock.
    pub(super) stepped: Monotonic,
    /// Whether its last step panicked.
    pub(super) panicked: bool,
    /// Its earlier failures.
    pub(super) chart: Option<Box<Chart>>,
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
            ready: Vec::new(),
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

    /// Starts a flow, which is ready for its first step then. On an error nothing was started: the flow is unknown, its version is
    /// retired, its arguments do not decode, or the id is in use.
    pub fn start(&mut self, record: StartRecord) -> Result<(), FlowError> {
        if self.flows.contains_key(&record.id) {
            let text = format!("flow {} is already live", record.id);
            return Err(FlowError::listed(&DUPLICATE_FLOW, text));
        }
        let id = record.id;
        self.registry.check_start(&record.flow, record.version)?;
        let running = self.make(record)?;
        {
            let mut cell = running.shared.cell();
            cell.journal(|row| row.start(&running.start));
            cell.begin(Input::Start);
        }
        self.insert(running);
        self.make_ready(id);
        Ok(())
    }

    /// Delivers the result of an effect. Its flow is ready for a step then. A result that no flow waits for is ignored, because the
    /// flow has ended or abandoned the effect.
    pub fn complete(
        &mut self,
        flow: FlowId,
        effect: u32,
        result: EffectResult,
        out: &mut Vec<EngineAction>,
    ) {
        self.catch_up(flow, out);
        let Some(Live::Running(running)) = self.flows.get(&flow) else {
            return;
        };
        if running.shared.cell().answer(effect, result) {
            self.make_ready(flow);
        }
    }

    /// Ends a round: writes one row for each flow that has new entries and has not ended. No flow may be ready.
    pub fn end_of_round(&mut self, out: &mut Vec<EngineAction>) {
        assert!(
            self.ready.is_empty(),
            "the round ends before the steps of {} flows",
            self.ready.len()
        );
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
