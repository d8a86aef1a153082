//! A node's deciding core: events in, rounds out.
//!
//! ```text
//!  Gossip, Submit ──► intake ──► pool ──────┬──► forging, bundling ──┐
//!  Gossip (block) ──► announced ► assembly ─┤                        ├──► chain's end ──► rows (one batch a round)
//!  Answered ─► following, contest ► download ─┴► switch ─────────────┘         │
//!  Asked ───────────► serve                                                   └──► actions, after the batch is durable
//! ```
//! [`Core::handle`] handles events. [`Core::flush`] ends a round and performs the work that is due. Between rounds the core reads
//! its own changes before they are durable, but no message or answer leaves the node before they are.
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
mod announced;
mod answered;
mod assembly;
mod bundling;
mod chain_end;
mod compare;
mod contest;
#[allow(clippy::module_inception)]
mod core;
mod download;
mod equivocation;
mod event;
mod evidence;
mod figures;
mod follow;
mod forged;
mod forging;
mod held;
mod intake;
mod left;
pub mod limits;
mod open;
mod orders;
mod peers;
mod prune;
mod questions;
mod rates;
mod relay;
mod remembered;
mod round;
mod serve;
mod serving_budget;
mod settings;
mod side;
mod silence;
mod stuck;
mod switch;

pub use action::{Action, Notice, Verdict};
pub use core::Core;
pub use event::{Event, PeerId, RequestFailure, Ticket};
pub use evidence::{EVIDENCE_PLACE_BYTES, Equivocation, equivocations};
pub use figures::{BundlerFigures, Figures, ForgerFigures};
pub use left::why_left;
pub use rates::UsableRate;
pub use round::Round;
pub use settings::Settings;
pub use stuck::Stuck;
