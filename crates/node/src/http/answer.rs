//! The end of a ticket: the answer about a start, a wait or an order of a client.

use std::sync::Arc;

use api::{FlowStatus, RawJson};
use flow::FlowId;
use ledger::TxId;

use super::refusal::Refusal;

/// The end of a [`Ticket`](super::Ticket).
#[derive(Debug)]
pub enum Answer {
    /// The start is durable.
    Accepted {
        /// The flow, which is the earlier one when the client id was known.
        flow_id: FlowId,
    },
    /// The flow has not ended, and no waiting was asked for.
    Running {
        /// The flow.
        flow_id: FlowId,
        /// Its last step, or why it is parked.
        step: String,
        /// The state of the flow.
        status: FlowStatus,
    },
    /// The flow ended.
    Ended(Box<Ended>),
    /// The request was refused: no flow was started, or there is no flow to wait for.
    Refused(Refusal),
    /// A client id was deleted.
    Done,
}

impl Answer {
    /// Returns the flow that the answer is about.
    pub(super) fn flow_id(&self) -> Option<FlowId> {
        match self {
            Answer::Accepted { flow_id } | Answer::Running { flow_id, .. } => Some(*flow_id),
            Answer::Ended(ended) => Some(ended.flow_id),
            Answer::Refused(_) | Answer::Done => None,
        }
    }
}

/// An ended flow.
#[derive(Debug)]
pub struct Ended {
    /// The flow.
    pub flow_id: FlowId,
    /// The output, or the failure.
    pub output: Result<Output, ledger::Rejection>,
    /// The transactions it recorded.
    pub transactions: Vec<TxId>,
    /// Whether every participant has recorded them.
    pub delivered: bool,
    /// Refusals of these transactions by participants.
    pub refused: Vec<kernel::DeliveryRefusal>,
    /// Participants that have not answered for these transactions yet, by legal name.
    pub undelivered: Vec<String>,
}

/// A flow's output.
#[derive(Debug)]
pub enum Output {
    /// The output in JSON.
    Json(RawJson),
    /// As the flow encoded it; becomes JSON on a thread of the API, by [`FlowService::output_to_json`](super::FlowService::output_to_json).
    Encoded {
        /// The flow's registered name.
        flow: Arc<str>,
        /// The version that ran.
        version: u32,
        /// The encoding.
        bytes: Vec<u8>,
    },
    /// An output of so many bytes is too large for the history, which tells of this flow.
    NotKept(u64),
}
