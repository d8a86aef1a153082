//! The state of a chain: balances, stakes, leases, blocks and their indexes, as rows behind the storage port.
//!
//! - [`Overlay`] reads through rows that are not yet durable, and collects the changes of a round in one batch.
//! - [`apply_block`] checks a block against the state and applies it as a whole or not at all. [`undo_block`] undoes the last one
//!   and restores every row.
//! - [`Branch`] judges the headers of a branch without touching the state.
//!
//! Signatures are checked before, in batches and each only once: [`apply_block`] takes a [`crate::block::CheckedBlock`].

mod apply;
mod branch;
mod check;
mod examine;
mod fault;
mod hash;
mod header;
mod held;
pub mod leases;
mod memory;
mod mend;
mod overlay;
mod point;
mod prune;
pub mod read;
mod recent;
mod replay;
pub mod rows;
mod stake;
mod touched;
mod undo;
mod verify;
mod window;

pub use apply::{AppliedBlock, apply_block, check_shape};
pub use branch::{Branch, Judged};
pub use check::{BlockContext, check_anchor, check_form, check_times, check_transaction, fee_min};
pub use examine::{Depth, Examined, Mending, examine};
pub use fault::{BlockFault, Fault};
pub use hash::{StateHash, state_hash};
pub use header::{check_clock, check_header, next_header, turn};
pub use memory::MemoryStore;
pub use overlay::Overlay;
pub use point::Point;
pub use prune::{Pruned, prunable, prune};
pub use stake::{effective_tokens, recent_forgers};
pub use touched::Touched;
pub use undo::{carried_block, undo_block};
pub use verify::{Verified, verify_store};
