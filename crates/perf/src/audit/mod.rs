//! The audit, through the public API alone: every vault and the notary agree, value is conserved, every participant has
//! recorded every acknowledged transaction, and no state is consumed twice.

mod books;
mod collect;
mod judge;
mod sample;
mod verdict;

pub use books::{Acknowledged, Books, NodeBooks, Spend, StateId};
pub use collect::{CollectError, consumed, node_books, spends, token_label};
pub use judge::judge;
pub use sample::Sample;
pub use verdict::Verdict;
