//! The history of flows: one row for each flow that has ended, for a limited time.
//!
//! ```text
//!   end ──put──► table `flow_history`, by kind and number ──► pages for the API, newest first
//!                      │ over a limit
//!                      ▼
//!       LookUpHistory ──► HistoryLookedUp ──delete──► the oldest rows, at most LOOKED_UP_MAX in one round
//! ```
//! # Invariants
//! - The row of a flow is in the batch in which the flow ends. So no crash loses a row or writes it twice.
//! - The rows of a kind have consecutive numbers. Only the first ones are deleted, so two numbers tell how many there are.
//! - No round reads a row. The shell reads the oldest ones, which are seldom in memory.
//! - A peer cannot push out the history of this node's own flows: failed responders are a kind of their own, with their own limit.

pub(crate) mod bounds;
pub(crate) mod look_up;
pub(crate) mod page;
pub(crate) mod part;
pub(crate) mod prune;
pub(crate) mod row;
