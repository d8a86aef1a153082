//! The operations of a chain node's API, one row each, like [`crate::operations`].

mod forging;
mod orders;
mod parts;
mod reads;
mod transactions;

use crate::operations::Operation;

pub use forging::*;
pub use orders::*;
pub use reads::*;
pub use transactions::*;

/// Returns every operation of a chain node, in the order of the description.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    [
        reads::OPERATIONS,
        transactions::OPERATIONS,
        forging::OPERATIONS,
        orders::OPERATIONS,
    ]
    .into_iter()
    .flatten()
    .copied()
}
