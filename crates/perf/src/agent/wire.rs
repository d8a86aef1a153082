//! Messages between coordinator and agent: JSON frames over TLS.

use std::time::Duration;

use api::SecretText;
use client::Endpoint;
use serde::{Deserialize, Serialize};

use super::host::{Answer, Facts, Order, ProcessEvent, Trouble};
use crate::chain::backlog::Share;
use crate::load::engine::{SampleRow, Slice};
use crate::plan::{ChainPlan, Load, Work};
use crate::results::Stretch;
use crate::workload::SiteBooks;

/// Version of these messages. Both ends must use the same one.
pub(super) const PROTOCOL: u32 = 3;
/// The version of this program, which must be the same too: agents run the workloads' code.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// An agent treats a coordinator that sends no message for this long as gone.
pub(super) const COORDINATOR_SILENCE_MAX: Duration = Duration::from_secs(30);

/// The service of an agent that a coordinator asks for. Each has a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Service {
    /// Load for its run.
    Load,
    /// Folders and processes of its nodes.
    Host,
}

/// A message from the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// The first message.
    Hello {
        protocol: u32,
        version: String,
        /// Proof that the coordinator knows the token, bound to this connection.
        proof: Vec<u8>,
        service: Service,
    },
    /// Asks for the agent's time.
    Clock { number: u32 },
    /// Asks the agent to get ready for a stretch.
    Prepare(Box<Job>),
    /// Tells the agent to begin the stretch at this time of its own clock.
    Begin { at_us: u64 },
    /// Tells the agent to start no more units.
    Stop,
    /// Tells the agent that the stretch will not begin.
    Forget,
    /// A sign of life.
    Alive,
    /// An order to a host, which answers with the same number.
    Order { number: u64, order: Order },
}

/// A message from an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tell {
    Welcome {
        protocol: u32,
        version: String,
        proof: Vec<u8>,
        /// The facts about the agent, if it is to be a host.
        host: Option<Facts>,
    },
    /// The agent refuses this coordinator. This is its last message.
    Refused {
        code: String,
        message: String,
    },
    Time {
        number: u32,
        now_us: u64,
    },
    /// The workers are set up.
    Ready,
    /// The workers could not be set up or torn down.
    Failed {
        code: String,
        message: String,
    },
    /// Progress since the last report.
    Report(Box<Progress>),
    /// The whole stretch. `rest` holds the books that were not reported yet, with the current stores.
    Ended {
        stretch: Box<Stretch>,
        rest: Box<Progress>,
    },
    /// A host's sign of life.
    Alive,
    /// A host's answer to the order with this number.
    Answer {
        number: u64,
        answer: Result<Answer, Trouble>,
    },
    /// A change of a process of a host.
    Process {
        process: u32,
        event: ProcessEvent,
    },
}

/// One stretch of one agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Banks, in order.
    pub banks: Vec<NodeAccess>,
    /// Streams to each.
    pub streams: u32,
    /// A chain instead of banks.
    pub chain: Option<ChainJob>,
    pub work: Vec<Work>,
    /// Decides which work a unit is: the same for all agents.
    pub mix_seed: u64,
    pub load: Load,
    pub workers: u32,
    pub warm_up_us: u64,
    pub measured_us: u64,
    pub count: Option<u64>,
    pub seed: u64,
    /// The first unit's number.
    pub units_from: u64,
    pub unfinished_after_us: u64,
    /// The books that the agent may draw from.
    pub books: SiteBooks,
    /// Whether it sends a row for each unit.
    pub rows: bool,
}

/// A chain to load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChainJob {
    pub plan: ChainPlan,
    /// The nodes, if they are ours. The plan has the addresses of other servers.
    pub nodes: Vec<NodeAccess>,
    /// The agent's share of the load, and of the payments that may wait for a block.
    pub share: Share,
}

/// How to reach a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeAccess {
    pub name: String,
    pub address: String,
    pub server_name: String,
    pub root_pem: String,
    pub token: SecretText,
}

impl NodeAccess {
    pub fn new(name: &str, endpoint: &Endpoint) -> Self {
        Self {
            name: name.to_owned(),
            address: endpoint.address.clone(),
            server_name: endpoint.server_name.clone(),
            root_pem: endpoint.root_pem.clone(),
            token: endpoint.token.clone(),
        }
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            address: self.address.clone(),
            server_name: self.server_name.clone(),
            root_pem: self.root_pem.clone(),
            token: self.token.clone(),
        }
    }
}

/// Progress since the last report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Units outstanding, warm-up included.
    pub outstanding: u64,
    pub slices: Vec<Slice>,
    pub rows: Vec<SampleRow>,
    pub books: SiteBooks,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Token;

    #[test]
    fn debug_output_hides_tokens() {
        let access = NodeAccess {
            name: "bank-1".to_owned(),
            address: "host:1".to_owned(),
            server_name: "host".to_owned(),
            root_pem: String::new(),
            token: "swordfish".into(),
        };
        let token = Token::new("swordfish-swordfish").expect("long enough");
        for shown in [
            format!("{access:?}"),
            format!("{access:#?}"),
            format!("{token:?}"),
            format!("{token:#?}"),
        ] {
            assert!(!shown.contains("swordfish"), "{shown}");
        }
    }
}
