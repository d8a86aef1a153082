//! The flows of commercial paper.

mod decode;
mod issue;
mod pass;
mod redeem;

pub use issue::{IssuePaper, IssuePaperArgs};
pub use pass::{MovePaper, MovePaperArgs};
pub use redeem::{HoldsPaper, RedeemPaper, RedeemPaperArgs};
