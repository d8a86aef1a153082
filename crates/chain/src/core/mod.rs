//! A node's deciding core: events in, actions out.

mod action;
mod event;

pub use action::{Action, Notice, Verdict};
pub use event::{Event, PeerId, RequestFailure, Ticket};
