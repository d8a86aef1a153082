//! The runtime of a deciding core: its mailbox, its thread, its commits, and the actions that durable commits release.
//!
//! ```text
//!  Handle ──► mailbox ──take all──► Core::handle … Core::end_round ──► commit ──► committer ──durable──► Shell::perform
//!                ▲                                                                    │
//!                └────────────────────────────── Committed ◄──────────────────────────┘
//! ```
//! A [`Core`] decides, and performs nothing. A [`Shell`] performs actions, and decides nothing. The runtime connects the two: it
//! takes all waiting events at once, lets the core handle them in one round, submits the round's commit, and performs the
//! actions of the commit once it is durable. Rounds do not wait for commits.
//!
//! # Invariants
//! - Events are handled in the order of their arrival, by one thread.
//! - The actions of a commit are performed after its rows and those of all earlier commits are durable, in the order of the commits.
//! - After a panic or a failure of the store, no round begins and no action is performed. The shell is told, so that all callers
//!   that wait for an answer get the failure.

mod commit;
mod core;
mod failure;
mod handle;
mod mailbox;
pub mod metrics;
mod running;
mod thread;
mod waiters;
mod workers;

pub use commit::RoundMetrics;
pub use core::{Commit, Core, EventOf, Messages, Output, QueryOf, Shell};
pub use failure::panic_text;
pub use handle::{Handle, QUERIES_MAX, Stopped};
pub use mailbox::{Mailbox, Weigh};
pub use running::{Parts, Running, start};
pub use thread::ROUND_EVENTS_MAX;
pub use waiters::Waiters;
pub use workers::{WorkerMetrics, WorkerPool};
