//! The audit, through the public API alone: every vault and the notary agree, value is conserved, what was acknowledged is
//! recorded by all, no state is consumed twice.

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
