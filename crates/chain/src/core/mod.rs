//! A node's deciding core: events in, rounds out.
//!
//! ```text
//!  Gossip, Submit ──► mempool ──► pool ─────┬──► forging, bundling ──┐
//!  Gossip (block) ──► blocks: announce, assemble ────────────────────┼──► blocks: tip ──► rows (one batch a round)
//!  Answered ─► sync: headers, bodies ─► fork_choice: reorg ──────────┘        │
//!  Asked ───► peers: serve                                                   └──► actions, after the batch is durable
//! ```
//! [`Core::handle`] handles events. [`Core::flush`] ends a round and performs the work that is due. Between rounds the core reads
//! its own changes before they are durable, but no message or answer leaves the node before they are.
//!
//! Each folder holds a part of the core. Files with a noun as name define the part's types, which own its fields. Files with a verb
//! as name hold the steps of [`Core`] that use them. `parts.rs` lists the fields that get the common events.
//!
//! # Invariants
//! - The tip is always a valid chain from genesis: each block is applied or undone as a whole.
//! - No block is rolled back for a branch unless its headers show at least as much work as our own blocks, by forgers with known
//!   stake. Headers of forgers whose stake cannot be bounded have no weight, and no claim of a peer stops this node.
//! - No block joins the chain before its time by this node's clock.
//! - Of two blocks by one forger on one parent the first one stays, and no local key signs a second one.
//! - Every question has a timeout, and no single peer is needed: parts that one peer does not deliver are requested from another.
//! - All collections are bounded by [`limits`].

mod action;
mod blocks;
mod bounded_set;
mod bundling;
mod checks;
#[allow(clippy::module_inception)]
mod core;
mod counters;
mod event;
mod figures;
mod forging;
mod fork_choice;
pub mod limits;
mod mempool;
mod orders;
mod part;
mod parts;
mod peers;
mod restore;
mod round;
mod settings;
mod sync;

pub use action::{Action, Notice, Verdict};
pub use bundling::UsableRate;
pub use core::Core;
pub use event::{Event, PeerId, RequestFailure, Ticket};
pub use figures::{BundlerFigures, Figures, ForgerFigures};
pub use fork_choice::{DeepFork, EVIDENCE_CURSOR_BYTES, Equivocation, equivocations};
pub use mempool::removal_reason;
pub use orders::OrderDone;
pub use round::Round;
pub use settings::Settings;
