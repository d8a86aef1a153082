//! The flows of obligations.

mod end;
mod issue;
mod net;
mod pass;
mod result;
mod settle;

pub use end::{DefaultArgs, DefaultObligation, ExitObligation, ObligationArgs};
pub use issue::{IssueObligation, IssueObligationArgs};
pub use net::{NetObligations, NetObligationsArgs, NetResult, NetsObligations};
pub use pass::{MoveObligation, MoveObligationArgs};
pub use result::ObligationResult;
pub use settle::{SettleObligation, SettleObligationArgs};
