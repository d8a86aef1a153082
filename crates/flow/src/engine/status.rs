//! What operators see of live flows.

use std::collections::BTreeMap;

use ledger::PartyId;

use super::{FlowEngine, Live};
use crate::{EffectKind, FlowError, FlowId, StartRecord};

/// How far a live flow is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It runs.
    Running {
        /// The last progress step it reported.
        step: Option<&'static str>,
        /// The effects it waits for.
        waiting: Vec<(u32, EffectKind)>,
        /// The other sides of its sessions.
        sessions: Vec<PartyId>,
        /// A kill waits for the answer to an irrevocable request.
        kill_asked: bool,
    },
    /// Its journal has been read; it is not resumed yet.
    Loaded,
    /// It cannot be replayed.
    Parked {
        /// Why.
        reason: FlowError,
    },
}

/// A live flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStatus {
    /// The flow.
    pub flow: FlowId,
    /// How it started, if that is known.
    pub start: Option<StartRecord>,
    /// The rows of its journal.
    pub rows: u32,
    /// How far it is.
    pub stage: Stage,
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
    /// The ids of all live flows, in order.
    pub fn flow_ids(&self) -> Vec<FlowId> {
        let mut ids: Vec<FlowId> = self.flows.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// One live flow.
    pub fn status(&self, flow: &FlowId) -> Option<FlowStatus> {
        let (start, rows, stage) = match self.flows.get(flow)? {
            Live::Running(running) => {
                let cell = running.shared.cell();
                let stage = Stage::Running {
                    step: cell.step,
                    waiting: cell.waiting().collect(),
                    sessions: cell.session_peers().collect(),
                    kill_asked: cell.kill,
                };
                (Some(running.start.clone()), running.rows, stage)
            }
            Live::Loaded(loaded) => (loaded.start.clone(), loaded.row_count, Stage::Loaded),
            Live::Parked(parked) => {
                let stage = Stage::Parked {
                    reason: parked.reason.clone(),
                };
                (parked.start.clone(), parked.rows, stage)
            }
        };
        Some(FlowStatus {
            flow: *flow,
            start,
            rows,
            stage,
        })
    }

    /// The versions in flight, with the flows on each; ask after loading and before resuming.
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

    /// The versions in flight that this binary lacks: a node with any refuses to start.
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
