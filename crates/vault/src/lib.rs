//! The states that concern our keys, and the selection of the states that a flow may spend.
//!
//! - [`changes`] computes the changes of a recorded transaction to the vault: our outputs and the consumed
//!   states.
//! - [`Selection`] locks states for flows and chooses them, on a bounded working set in memory.
//!
//! Pure: the vault's rows are kept outside, in a view that can be rebuilt. [`RefillRequest`]s ask the view for
//! missing rows. This crate knows no database.

mod coin;
mod error;
mod options;
mod output;
mod relevancy;
mod selection;

pub use coin::{CoinPosition, CoinRow};
pub use error::{ERRORS, QUARANTINED, SelectionError};
pub use options::SelectionOptions;
pub use output::{FlowKey, Lock, RefillRequest, SelectionFigures, SelectionOutput};
pub use relevancy::{Consumed, Produced, ViewChange, changes, is_relevant};
pub use selection::Selection;
