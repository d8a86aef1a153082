//! The request to start a flow.

use std::sync::Arc;

use api::Wait;
use flow::FlowId;
use primitives::Seed;

use super::ticket::Ticket;

/// A client's request to start a flow. It borrows, because its arguments are taken out of their JSON at once.
#[derive(Debug)]
pub struct StartRequest<'a> {
    /// Fresh and random; has no meaning when the client id is known already.
    pub flow_id: FlowId,
    /// Fresh and random: everything random in the flow is derived from it.
    pub seed: Seed,
    /// The flow's registered name.
    pub flow: &'a str,
    /// A version, or the newest.
    pub version: Option<u32>,
    /// The arguments' JSON, well-formed.
    pub args: &'a str,
    /// The user that starts it.
    pub user: &'a Arc<str>,
    /// Makes the start exactly once for this user; 1 to 128 characters.
    pub client_id: Option<&'a str>,
    /// The event that the answer waits for.
    pub wait: Wait,
    /// The ticket that the answer ends.
    pub ticket: Ticket,
}
