//! Orders to a host, and its answers.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::program::{NodeCommand, NodeKind, NodeSignal};
use crate::measure::DiskUse;
use crate::topology::host::{HostError, Seen};

/// The facts about a host that a coordinator needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::agent) struct Facts {
    /// The address at which the coordinator has reached it. Its nodes listen there.
    pub address: IpAddr,
    /// The processor cores that its nodes may use.
    pub cores: u32,
}

/// An order to a host. Paths are relative to the folder of the connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum Order {
    FreePorts {
        count: u32,
    },
    Write {
        path: String,
        bytes: Vec<u8>,
    },
    Copy {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Size {
        path: String,
    },
    FreeBytes {
        path: String,
    },
    Tail {
        path: String,
    },
    /// Starts a node. The coordinator chooses the process's number.
    Start {
        process: u32,
        name: String,
        node: NodeKind,
        folder: String,
        cores: Option<u32>,
    },
    /// Runs a command about a stopped node to its end.
    Run {
        command: NodeCommand,
        folder: String,
    },
    Signal {
        process: u32,
        signal: NodeSignal,
    },
    /// Kills a process, and waits until it is gone.
    Kill {
        process: u32,
    },
    Look {
        process: Option<u32>,
        with_children: bool,
        folder: Option<String>,
        log: Option<String>,
    },
}

/// The answer to an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum Answer {
    Done,
    Ports(Vec<u16>),
    Size(DiskUse),
    Bytes(u64),
    Text(String),
    Output(Vec<u8>),
    /// The exit status as the system encodes it; `None` if the process had ended before, and was reported.
    Killed(Option<i32>),
    Seen(Seen),
}

/// A change of a process, which a host reports by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum ProcessEvent {
    /// It was ready this long after its start.
    Ready { after_us: u64 },
    /// It has ended by itself, with this exit status as the system encodes it.
    Ended { status: i32 },
}

/// Why a host did not perform an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum Trouble {
    System { what: String, message: String },
    Failed { message: String },
    Refused { message: String },
}

impl From<HostError> for Trouble {
    fn from(error: HostError) -> Self {
        match error {
            HostError::System { what, source, .. } => Trouble::System {
                what,
                message: source.to_string(),
            },
            HostError::Failed { message, .. } => Trouble::Failed { message },
            HostError::Refused { message, .. } => Trouble::Refused { message },
            lost @ HostError::Lost { .. } => Trouble::Refused {
                message: lost.to_string(),
            },
        }
    }
}

impl Trouble {
    /// Returns the error of a host with this name.
    pub fn at(self, host: &str) -> HostError {
        let host = host.to_owned();
        match self {
            Trouble::System { what, message } => HostError::System {
                host,
                what,
                source: std::io::Error::other(message),
            },
            Trouble::Failed { message } => HostError::Failed { host, message },
            Trouble::Refused { message } => HostError::Refused { host, message },
        }
    }
}
