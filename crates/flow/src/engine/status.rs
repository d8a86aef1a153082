//! The status of live flows, for operators.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::Timestamp;

use super::flow_engine::{FlowEngine, Live};
use crate::hospital::{Cause, Chart, Condition};
use crate::pending_effect::PendingEffect;
use crate::session_state::KnownSession;
use crate::{EffectKind, FlowError, FlowId, StartRecord};

/// The progress of a live flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It runs.
    Running {
        /// The last progress step it reported.
        step: Option<&'static str>,
        /// The effects it waits for.
        waiting: Vec<PendingEffect>,
        /// The other sides of its sessions.
        sessions: Vec<PartyId>,
        /// A kill waits for the answer to an irrevocable request.
        kill_asked: bool,
        /// A pause waits for the answer to an irrevocable request.
        pause_asked: bool,
        /// The time of its last step in this run of the node.
        since: Timestamp,
    },
    /// It was found in the store when the node started, and has not been restored yet.
    Loaded,
    /// It had a transient failure and will be retried.
    Retrying {
        /// The failure.
        reason: FlowError,
        /// The time of the retry.
        at: Timestamp,
    },
    /// It cannot continue without an operator.
    Parked {
        /// The reason.
        reason: FlowError,
    },
    /// An operator paused it.
    Paused,
}

/// A live flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// The flow.
    pub flow: FlowId,
    /// The start record, if it is known.
    pub start: Option<StartRecord>,
    /// The number of rows of its journal.
    pub rows: u32,
    /// Its progress.
    pub stage: Stage,
    /// Its failures and condition, if it ever failed or was paused.
    pub chart: Option<Chart>,
}

impl FlowStatus {
    /// Returns the time since which the flow has waited, without a step, for something other than a time. `None` if it does not
    /// wait, or does not run because it failed or was paused.
    pub fn waits_since(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Running { waiting, since, .. }
                if waiting.is_empty() || waiting.iter().any(|w| w.kind != EffectKind::Sleep) =>
            {
                Some(*since)
            }
            _ => None,
        }
    }
}

/// A version that is in flight but not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVersion {
    /// The flow's name.
    pub name: String,
    /// The version.
    pub version: u32,
    /// Whether the responder is missing, or the flow itself.
    pub responder: bool,
    /// The flows that need it.
    pub flows: Vec<FlowId>,
}

impl FlowEngine {
    /// Returns whether a live flow has a session with a peer that this side has not ended.
    pub fn speaks_with(&self, flow: &FlowId, peer: &PartyId) -> bool {
        match self.flows.get(flow) {
            Some(Live::Running(running)) => {
                let cell = running.shared.cell();
                cell.session_peers().any(|other| other == *peer)
            }
            Some(Live::Loaded(loaded)) => loaded.sessions.iter().any(|s| s.peer == *peer),
            Some(Live::Parked(parked)) => parked.sessions.iter().any(|s| s.peer == *peer),
            None => false,
        }
    }

    /// Returns the peers of all sessions that a live flow is known to have.
    pub fn peers_of(&self, flow: &FlowId) -> BTreeSet<PartyId> {
        let known = |sessions: &[KnownSession]| sessions.iter().map(|s| s.peer).collect();
        match self.flows.get(flow) {
            Some(Live::Running(running)) => running.shared.cell().session_peers().collect(),
            Some(Live::Loaded(loaded)) => known(&loaded.sessions),
            Some(Live::Parked(parked)) => known(&parked.sessions),
            None => BTreeSet::new(),
        }
    }

    /// Returns the ids of all live flows, in order.
    pub fn flow_ids(&self) -> Vec<FlowId> {
        let mut ids: Vec<FlowId> = self.flows.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the status of one live flow.
    pub fn status(&self, flow: &FlowId) -> Option<FlowStatus> {
        let (start, rows, stage, chart) = match self.flows.get(flow)? {
            Live::Running(running) => {
                let cell = running.shared.cell();
                let stage = Stage::Running {
                    step: cell.step,
                    waiting: cell.waiting().collect(),
                    sessions: cell.session_peers().collect(),
                    kill_asked: cell.kill,
                    pause_asked: cell.pause,
                    since: running.since,
                };
                let chart = running.chart.as_deref().cloned();
                (Some(running.start.clone()), running.rows, stage, chart)
            }
            Live::Loaded(loaded) => (
                loaded.start.clone(),
                loaded.row_count,
                Stage::Loaded,
                loaded.chart.as_deref().cloned(),
            ),
            Live::Parked(parked) => {
                let reason = parked.chart.last().map(Cause::to_error);
                let stage = match (parked.chart.condition, reason) {
                    _ if parked.shelved => Stage::Loaded,
                    (Condition::Retrying(at), Some(reason)) => Stage::Retrying { reason, at },
                    (Condition::Parked, Some(reason)) => Stage::Parked { reason },
                    _ => Stage::Paused,
                };
                let chart = Some(parked.chart.clone());
                (parked.start.clone(), parked.rows, stage, chart)
            }
        };
        Some(FlowStatus {
            flow: *flow,
            start,
            rows,
            stage,
            chart,
        })
    }

    /// Returns the versions in flight, with the flows on each. Call it after loading and before resuming.
    pub fn versions_in_flight(&self) -> BTreeMap<(String, u32, bool), Vec<FlowId>> {
        let mut versions: BTreeMap<(String, u32, bool), Vec<FlowId>> = BTreeMap::new();
        for flow in self.flow_ids() {
            if let Some(FlowStatus {
                start: Some(start), ..
            }) = self.status(&flow)
            {
                let key = (start.flow, start.version, start.origin.is_some());
                versions.entry(key).or_default().push(flow);
            }
        }
        versions
    }

    /// Returns the versions in flight that this binary lacks; a node with any refuses to start.
    pub fn versions_missing(&self) -> Vec<MissingVersion> {
        self.versions_in_flight()
            .into_iter()
            .filter(|((name, version, responder), _)| match responder {
                true => !self.registry.has_responder(name, *version),
                false => !self.registry.has(name, *version),
            })
            .map(|((name, version, responder), flows)| MissingVersion {
                name,
                version,
                responder,
                flows,
            })
            .collect()
    }
}
