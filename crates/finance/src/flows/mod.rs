//! The cash flows. Their arguments are JSON objects: party names are strings like `O=Bank A, L=London, C=GB`, quantities
//! whole numbers of minor units.

mod arguments;
mod exit;
mod issue;
mod issue_and_pay;
mod pay;
mod reissue;

pub use arguments::{CashResult, TokenChoice};
pub use exit::{ExitArgs, ExitCash};
pub use issue::{IssueArgs, IssueCash};
pub use issue_and_pay::{IssueAndPayArgs, IssueAndPayCash, IssueAndPayResult};
pub use pay::{PayArgs, PayCash, Payment};
pub use reissue::{ReissueArgs, ReissueCash, ReissueCashResponder, Reissued};
