//! A flow to run on a site, and how it is started.

use api::StartFlow;
use client::Client;

use crate::load::Coroutines;
use crate::workload::books::Token;

/// One flow of a preparation.
#[derive(Clone, Debug)]
pub struct Step {
    /// The flow.
    pub start: StartFlow,
    /// Its issue, if any.
    pub issues: Option<(Token, u64)>,
    /// Positions of the banks that record its transactions.
    pub participants: Vec<u32>,
}

/// The API by which a flow is started.
#[derive(Clone, Copy)]
pub(in crate::workload) enum Way<'a> {
    /// Over a stream of the bank's.
    Stream,
    /// By a separate request.
    Request(&'a Client),
    /// From a Python coroutine.
    Coroutines(&'a Coroutines),
}
