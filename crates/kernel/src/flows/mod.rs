//! Flows and their clients: starts, effects, waits, outcomes, and flows that take no step.

pub(crate) mod admission;
pub(crate) mod caller;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod effects;
pub(crate) mod filter;
pub(crate) mod hospital;
pub(crate) mod look_ups;
pub(crate) mod orders;
pub(crate) mod outcomes;
pub(crate) mod queue;
pub(crate) mod revive;
pub(crate) mod runner;
pub(crate) mod starting;
pub(crate) mod starts;
pub(crate) mod steps;
pub(crate) mod transitions;
pub(crate) mod view_questions;
pub(crate) mod waits;
pub(crate) mod wake;
pub(crate) mod waking;
