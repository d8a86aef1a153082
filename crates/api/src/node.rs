//! The node itself: its health, state, clock and flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network::NotaryView;

/// The state of a node: whether it takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It recovers and takes no work yet.
    Starting,
    /// It takes work.
    Ready,
    /// It takes work, but a part of it has failed and is being repaired; `code` of its health names the failure.
    Degraded,
    /// It takes no new work and finishes its current work.
    Draining,
    /// It has finished its work; it only answers requests.
    Drained,
    /// Its store failed; it refuses writes until it is restarted.
    Failed,
}

impl NodeState {
    /// Returns the form in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeState::Starting => "starting",
            NodeState::Ready => "ready",
            NodeState::Degraded => "degraded",
            NodeState::Draining => "draining",
            NodeState::Drained => "drained",
            NodeState::Failed => "failed",
        }
    }
}

/// The answer of `GET /health`: 200 when ready, else 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Whether the process answers.
    pub live: bool,
    /// Whether it takes work.
    pub ready: bool,
    /// The state behind these two.
    pub state: NodeState,
    /// The position of the last recorded transaction.
    pub ledger_seq: u64,
    /// The position that the vault's view has reached.
    pub view_seq: u64,
    /// The lag of the view, in positions.
    pub view_lag: u64,
    /// A message for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The code of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Faults that an operator has to examine while the node continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<HealthWarning>,
}

/// A fault that an operator has to examine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthWarning {
    /// The stable code.
    pub code: String,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub hint: String,
}

/// The answer of `GET /v1/node`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// The legal name.
    pub name: String,
    /// The party's id.
    pub party_id: String,
    /// The party's key.
    pub key: String,
    /// The kind of notary, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotaryView>,
    /// The addresses at which other nodes reach it.
    pub addresses: Vec<String>,
    /// The software's version.
    pub version: String,
    /// The protocols' version.
    pub platform_version: u32,
    /// Whether it takes work.
    pub state: NodeState,
    /// The time since its start.
    pub uptime_ms: u64,
    /// Flows that have not ended, including those that take no step.
    pub flows_in_flight: u64,
    /// Flows in flight that had a transient failure and wait for their retry.
    pub flows_retrying: u64,
    /// Flows in flight that are kept for an operator.
    pub flows_parked: u64,
    /// Flows in flight that an operator paused.
    pub flows_paused: u64,
    /// Starts that wait for a free place.
    pub flows_queued: u64,
    /// The position of the last recorded transaction.
    pub ledger_seq: u64,
    /// The position that the vault's view has reached.
    pub view_seq: u64,
    /// Its clock, and whether it is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockView>,
    /// Names of the nodes connected to it now.
    pub peers: Vec<String>,
    /// Flows that can be started.
    pub flows: Vec<FlowInfo>,
}

/// A node's clock. Also the answer of `POST /v1/clock/confirm`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockView {
    /// Whether the clock was set, or is behind a time at which this notary checked a window, and neither peers nor an operator have
    /// confirmed it since. A notary checks no time windows until then.
    pub in_doubt: bool,
    /// The number of times that it was set since the node's start.
    pub jumps: u64,
    /// The size of the last clock jump, in milliseconds; negative if the clock was set back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_jump_ms: Option<i64>,
    /// The median of the peers' clocks minus this one, when they were last asked, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers_ahead_ms: Option<i64>,
    /// How far it is behind the latest time at which this notary checked a time window, in milliseconds.
    pub notary_behind_ms: u64,
}

/// A flow that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// Its versions; a start takes the last one by default.
    pub versions: Vec<u32>,
    /// Names of its arguments' fields.
    pub arguments: Vec<String>,
}

/// The answer of `POST /v1/drain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drain {
    /// Draining or drained.
    pub state: NodeState,
    /// Flows that have not ended, including those that take no step.
    pub flows_in_flight: u64,
    /// Flows in flight that had a transient failure. The drain waits for their retry.
    pub flows_retrying: u64,
    /// Parked flows: they cannot continue without an operator. The drain does not wait for them.
    pub flows_parked: u64,
    /// Flows in flight that an operator paused; the drain does not wait for them.
    pub flows_paused: u64,
}
