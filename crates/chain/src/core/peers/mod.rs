//! Peers: their table, requests and answers in both directions, status, timeouts and penalties.

mod exchange;
mod requests;
mod serve;
mod serving_budget;
mod status;
mod table;
mod timeouts;

pub(super) use requests::{InFlightRequests, Purpose};
pub(super) use serving_budget::ServingBudget;
pub(super) use table::Peers;
