//! The service of starting flows and waiting for their ends.

use std::sync::Arc;

use api::openapi::FlowFacts;
use api::{RawJson, Wait};
use flow::FlowId;
use schemars::SchemaGenerator;

use crate::http::followers::Followers;
use crate::http::pending::Pending;
use crate::http::refusal::Refusal;
use crate::http::start_capacity::StartCapacity;
use crate::http::start_request::StartRequest;
use crate::http::ticket::Ticket;

/// An ended flow of the history.
#[derive(Clone, Debug)]
pub struct EndedRow {
    /// The row.
    pub row: kernel::HistoryRow,
    /// Its start and its end, for users.
    pub record: api::FlowRecord,
}

/// The port through which flows are started and awaited. No method blocks. An answered change is durable.
///
/// # Correctness
/// Every ticket is answered at most once: by [`Ticket::answer`], or by being dropped, but not after [`detach`](FlowService::detach).
pub trait FlowService: Send + Sync + 'static {
    /// Returns the room for starts. Starts without room are refused before they cost anything.
    fn start_capacity(&self) -> StartCapacity {
        StartCapacity::UNLIMITED
    }

    /// Notes that this many starts were refused for lack of room.
    fn turned_away(&self, _count: u64) {}

    /// Returns the flows that can be started, with schemas by this generator.
    fn described_flows(&self, _generator: &mut SchemaGenerator) -> Vec<FlowFacts> {
        Vec::new()
    }

    /// Starts flows, in this order. Arguments that do not fit and starts without room are answered through their tickets too.
    fn start(&self, starts: Vec<StartRequest<'_>>);

    /// Answers with the state of a flow, or (unless `wait` is none) with its end.
    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket);

    /// Returns an ended flow, if the history has it.
    fn ended(&self, flow_id: FlowId) -> Pending<'_, Option<Box<EndedRow>>>;

    /// Answers about a flow of the history as [`attach`](FlowService::attach) does.
    fn recall(&self, ended: &EndedRow, wait: Wait, ticket: Ticket);

    /// Detaches tickets, given by [`Ticket::id`]. Their clients no longer wait.
    fn detach(&self, tickets: &[u64]);

    /// Cancels a flow. Answers with its state or end once the cancellation is durable.
    fn cancel(&self, flow_id: FlowId, ticket: Ticket);

    /// Forgets a client id of a user and the outcome kept for it.
    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket);

    /// Returns a flow's output as JSON.
    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal>;

    /// Returns the followers of flows. The node publishes the steps of flows there.
    fn followers(&self) -> &Arc<Followers>;
}
