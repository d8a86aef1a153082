//! The filter of a list of live flows.

use flow::{FlowId, FlowStatus, Stage, WaitsFor};
use ledger::PartyId;
use primitives::{Decode, Timestamp};

use crate::flows::caller::Caller;

/// The state of a live flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The flow runs.
    Running,
    /// The flow failed with a transient error and will be retried.
    Retrying,
    /// The flow is kept for an operator.
    Parked,
    /// The flow is paused.
    Paused,
}

/// A filter of live flows. A flow must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFilter {
    /// This one.
    pub flow: Option<FlowId>,
    /// The registered name.
    pub name: Option<String>,
    /// The state of the flow.
    pub standing: Option<Standing>,
    /// The code of one of the failures on its chart.
    pub code: Option<String>,
    /// The user who started it.
    pub user: Option<String>,
    /// The peer of one of its sessions, or the peer whose answer it waits for.
    pub peer: Option<PartyId>,
    /// Minimum time since its start, in milliseconds.
    pub older_than_ms: Option<u64>,
    /// Minimum time in milliseconds that the flow has waited without a step, for a cause other than a time.
    pub stuck_ms: Option<u64>,
}

impl FlowFilter {
    /// Returns whether a flow matches the filter.
    pub fn meets(&self, status: &FlowStatus, now: Timestamp) -> bool {
        let start = status.start.as_ref();
        // A start in the future, by a clock that was wrong, has no age.
        let age = |since: Timestamp, ms: u64| now.since_ms(since).unwrap_or(0) >= ms;
        self.flow.is_none_or(|flow| flow == status.flow)
            && self
                .name
                .as_ref()
                .is_none_or(|name| start.is_some_and(|start| start.flow == *name))
            && self.standing.is_none_or(|s| s == standing(status))
            && self.code.as_ref().is_none_or(|code| {
                let chart = status.chart.as_ref();
                chart.is_some_and(|chart| chart.causes.iter().any(|cause| cause.code == *code))
            })
            && self
                .user
                .as_ref()
                .is_none_or(|user| user_of(status).is_some_and(|found| found == *user))
            && self.peer.is_none_or(|peer| has_peer(status, &peer))
            && self
                .older_than_ms
                .is_none_or(|ms| start.is_some_and(|start| age(start.at, ms)))
            && self
                .stuck_ms
                .is_none_or(|ms| status.waits_since().is_some_and(|since| age(since, ms)))
    }
}

/// Returns the state of a flow.
pub fn standing(status: &FlowStatus) -> Standing {
    match status.stage {
        Stage::Running { .. } | Stage::Loaded => Standing::Running,
        Stage::Retrying { .. } => Standing::Retrying,
        Stage::Parked { .. } => Standing::Parked,
        Stage::Paused => Standing::Paused,
    }
}

/// Returns the user that started a flow. `None` if a counterparty started it.
pub fn user_of(status: &FlowStatus) -> Option<String> {
    let start = status
        .start
        .as_ref()
        .filter(|start| start.origin.is_none())?;
    Caller::from_bytes(&start.caller)
        .ok()
        .map(|caller| caller.user)
}

fn has_peer(status: &FlowStatus, peer: &PartyId) -> bool {
    let origin = status.start.as_ref().and_then(|start| start.origin);
    if origin.is_some_and(|origin| origin.peer == *peer) {
        return true;
    }
    match &status.stage {
        Stage::Running {
            sessions, waiting, ..
        } => {
            sessions.contains(peer)
                || waiting.iter().any(|waiting| match &waiting.on {
                    WaitsFor::Service(party, _) => party == peer,
                    WaitsFor::Transaction(_, from) => from.as_ref() == Some(peer),
                    _ => false,
                })
        }
        _ => false,
    }
}
