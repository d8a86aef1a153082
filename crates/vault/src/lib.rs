//! What concerns our keys, and which of it a flow may spend.
//!
//! - [`changes`] says what a recorded transaction changes in the vault: which outputs are ours, what it consumed.
//! - [`Selection`] locks states for flows and chooses them, on a bounded working set in memory.
//!
//! Pure: the vault's rows are elsewhere (a view that can be rebuilt); what is missing here is asked for by
//! [`RefillRequest`]s. Nothing here knows a database.

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
