//! The node itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network::NotaryView;

/// Whether a node takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It recovers.
    Starting,
    /// It takes work.
    Ready,
    /// It takes work, but a part of it has failed and is being repaired; `code` of its health says which.
    Degraded,
    /// It finishes what it has.
    Draining,
    /// It has finished; it only answers.
    Drained,
    /// Its store failed; it refuses writes until restarted.
    Failed,
}

impl NodeState {
    /// As it is written in JSON.
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
    /// The process answers.
    pub live: bool,
    /// It takes work.
    pub ready: bool,
    /// Whether and why.
    pub state: NodeState,
    /// The last recorded position.
    pub ledger_seq: u64,
    /// The position that the vault's view has reached.
    pub view_seq: u64,
    /// How far the view is behind.
    pub view_lag: u64,
    /// What an operator should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The code of what has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Faults that an operator has to look into while the node goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<HealthWarning>,
}

/// A fault that an operator has to look into.
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
    /// What kind of notary it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notary: Option<NotaryView>,
    /// Where other nodes reach it.
    pub addresses: Vec<String>,
    /// The software's version.
    pub version: String,
    /// The protocols' version.
    pub platform_version: u32,
    /// Whether it takes work.
    pub state: NodeState,
    /// Since it was started.
    pub uptime_ms: u64,
    /// Flows that have not ended, those that take no step too.
    pub flows_in_flight: u64,
    /// Of them, those that failed for the moment and wait for their next try.
    pub flows_retrying: u64,
    /// Of them, those that are kept for an operator.
    pub flows_parked: u64,
    /// Of them, those that an operator paused.
    pub flows_paused: u64,
    /// Starts that wait for a place.
    pub flows_queued: u64,
    /// The last recorded position.
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
    /// It was set while the node ran, and neither peers nor an operator have confirmed it since. A notary judges no time
    /// window meanwhile.
    pub in_doubt: bool,
    /// How often it was set since the node was started.
    pub jumps: u64,
    /// By how much it was set last, in milliseconds; back if negative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_jump_ms: Option<i64>,
    /// The median of the peers' clocks less this one, when they were asked last, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers_ahead_ms: Option<i64>,
    /// How far it is behind the latest time at which this notary judged a time window, in milliseconds.
    pub notary_behind_ms: u64,
}

/// A flow that can be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// Its versions; a start takes the last unless it names one.
    pub versions: Vec<u32>,
    /// Names of its arguments' fields.
    pub arguments: Vec<String>,
}

/// The answer of `POST /v1/drain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drain {
    /// Draining or drained.
    pub state: NodeState,
    /// Flows that have not ended, those that take no step too.
    pub flows_in_flight: u64,
    /// Of them, those that failed for the moment; the drain waits for their next try.
    pub flows_retrying: u64,
    /// Of them, those that are kept for an operator; the drain does not wait for them.
    pub flows_parked: u64,
    /// Of them, those that an operator paused; the drain does not wait for them.
    pub flows_paused: u64,
}
