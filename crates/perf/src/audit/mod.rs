//! The audit, through the public API alone: every vault and the notary agree, value is conserved, what was acknowledged is
//! recorded by all, no state is consumed twice.

mod books;
mod collect;
mod judge;
mod sample;

pub use books::{Acknowledged, Books, NodeBooks, Spend, StateId};
pub use collect::{CollectError, consumed, node_books, spends, token_label};
pub use judge::{Verdict, judge};
pub use sample::Sample;
